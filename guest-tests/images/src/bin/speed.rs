//! How fast an engine executes loops of one kind of instruction each: see [`guest_runtime::speed`].
//!
//! With `pmu` on the command line eight counters run, and the LBR stack if there is one. The first counts instructions.
//! With `pebs` one counter samples instructions, one in 10,000, into a debug store that has room for all records, and
//! another counts them: what sampling costs without a handler.
#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "instructions that the image is about")]

use core::arch::asm;

use guest_images::{
    debug_store::DebugStore,
    msr::{DEBUGCTL, GLOBAL_CTRL, PEBS_ENABLE, event, select},
    pmu::{all_gp, gp, gp_counters, has_arch_lbr, preset, program, read, write},
};
use guest_runtime::{
    PerfMon, boot, check, println,
    speed::{self, Counters, Mix},
    vector, wrmsr,
};

guest_runtime::image!(program_main);

/// What the counters count. Loads and stores fit counters 0 to 3 only.
const EVENTS: [u64; 8] = [
    event::INSTRUCTIONS,
    0x81D0, // MEM_INST_RETIRED.ALL_LOADS
    0x82D0, // MEM_INST_RETIRED.ALL_STORES
    event::BRANCHES,
    0x11C4, // BR_INST_RETIRED.COND
    0x02C4, // BR_INST_RETIRED.NEAR_CALL
    0x08C4, // BR_INST_RETIRED.NEAR_RETURN
    event::CYCLES,
];
/// Occurrences until an armed counter overflows: the most that one write can say.
const PERIOD: u32 = 1 << 31;
/// IA32_LBR_CTL: enabled in both rings, all branches.
const LBR_CTL: (u32, u64) = (0x14CE, 0x7F_0007);

/// A loop in assembly: `rdi` is memory of 256 KiB, `rcx` the iterations. Lines may use every register that a call may.
macro_rules! assembly {
    ($name:ident: $($line:literal),*) => {
        #[inline(never)]
        fn $name(memory: &mut [u64], iterations: u64) {
            // SAFETY: the loops write to the first pages of the memory only, and to the stack below.
            unsafe {
                asm!(
                    ".p2align 4",
                    "2:",
                    $($line,)*
                    "dec rcx",
                    "jnz 2b",
                    inout("rcx") iterations => _,
                    in("rdi") memory.as_mut_ptr(),
                    clobber_abi("sysv64"),
                );
            }
        }
    };
}

assembly!(load_store:
    "mov rax, [rdi]", "mov rdx, [rdi + 8]", "add rax, rdx", "mov [rdi + 16], rax",
    "and edx, 1023", "mov esi, [rdi + rdx * 4 + 64]", "add [rdi + 24], rsi",
    "movzx r8d, byte ptr [rdi + 32]", "mov [rdi + 40], r8d");
assembly!(calls:
    "call 3f", "call 4f", "jmp 5f",
    "3: push rax", "mov rax, rcx", "pop rax", "ret",
    "4: lea rdx, [rax + rcx]", "ret",
    "5:");
assembly!(float:
    "movsd xmm0, [rdi]", "addsd xmm1, xmm0", "mulsd xmm1, [rdi + 8]", "subsd xmm2, xmm1",
    "movsd [rdi + 16], xmm2", "addss xmm3, xmm0", "cvtsi2sd xmm4, ecx", "mulsd xmm4, xmm0");
assembly!(vector:
    "movdqu xmm0, [rdi]", "paddd xmm1, xmm0", "pxor xmm2, xmm1", "pshufd xmm3, xmm2, 27",
    "movdqa xmm4, xmm3", "pcmpeqb xmm4, xmm0", "pmovmskb eax, xmm4", "movdqu [rdi + 32], xmm2");
assembly!(string:
    "mov r8, rcx", "mov r9, rdi", "lea rsi, [rdi + 8192]", "mov ecx, 1000", "rep movsb",
    "mov rdi, r9", "xor eax, eax", "mov ecx, 125", "rep stosq",
    "mov rdi, r9", "mov rcx, r8");

assembly!(avx2_integer:
    "vmovdqu ymm0, [rdi]", "vpaddd ymm1, ymm1, ymm0", "vpxor ymm2, ymm2, ymm1", "vpshufb ymm3, ymm2, ymm0",
    "vpcmpeqb ymm4, ymm3, ymm0", "vpmovmskb eax, ymm4", "vpsrld ymm5, ymm2, 3", "vmovdqu [rdi + 32], ymm2");
assembly!(avx_float_loop:
    "vmovups ymm0, [rdi + 8192]", "vaddps ymm1, ymm1, ymm0", "vmulps ymm2, ymm0, [rdi + 8224]",
    "vsubps ymm3, ymm2, ymm1", "vmovupd ymm4, [rdi + 8256]", "vaddpd ymm5, ymm5, ymm4", "vmulpd ymm6, ymm5, ymm4",
    "vmovups [rdi + 32], ymm3");
assembly!(fma_loop:
    "vmovups ymm0, [rdi + 8192]", "vfmadd231ps ymm1, ymm0, [rdi + 8224]", "vfmadd231ps ymm2, ymm0, ymm0",
    "vmovupd ymm4, [rdi + 8256]", "vfmadd231pd ymm5, ymm4, [rdi + 8288]", "vfnmadd231pd ymm6, ymm4, ymm4",
    "vfmsub132ps ymm0, ymm1, ymm2", "vmovups [rdi + 32], ymm0");

/// Loops of packed floating point read 16 singles and 8 doubles from here on, between 1 and 2.
const NUMBERS: usize = 8192 / size_of::<u64>();

fn on_numbers(body: fn(&mut [u64], u64), memory: &mut [u64], iterations: u64) {
    for (word, n) in memory.iter_mut().skip(NUMBERS).take(16).zip(0_u64..) {
        // 1.0 with bits of a fraction that differ.
        let single = 0x3F80_0000 | n << 18 | 0x1235;
        *word = if n < 8 {
            single << 32 | (single ^ 0x4_4321)
        } else {
            0x3FF0_0000_0000_0000 | n << 48 | 0x1234_5677
        };
    }
    body(memory, iterations);
}

fn workload(name: &str, memory: &mut [u64], iterations: u64) {
    check!(workloads::run(name, memory, iterations), "there is no workload `{name}` for this memory");
}

/// Those with AVX2 and FMA come last. They are shorter than the others: QEMU calls a function for each element, for FMA
/// a slow one.
const WITHOUT_AVX2: usize = 9;
const MIXES: [Mix; WITHOUT_AVX2 + 3] = [
    Mix { name: "alu", iterations: 714_000, run: |m, n| workload("alu", m, n) },
    Mix { name: "load-store", iterations: 910_000, run: load_store },
    Mix { name: "call-return", iterations: 910_000, run: calls },
    Mix { name: "branches", iterations: 556_000, run: |m, n| workload("branches", m, n) },
    Mix { name: "chase-l2", iterations: 2_500_000, run: |m, n| workload("chase-l2", m, n) },
    Mix { name: "mixed", iterations: 666_000, run: |m, n| workload("mixed", m, n) },
    Mix { name: "sse-scalar", iterations: 1_000_000, run: float },
    Mix { name: "sse-vector", iterations: 1_000_000, run: vector },
    Mix { name: "string", iterations: 20_000, run: string },
    Mix { name: "avx2-int", iterations: 500_000, run: avx2_integer },
    Mix { name: "avx-float", iterations: 250_000, run: |m, n| on_numbers(avx_float_loop, m, n) },
    Mix { name: "fma", iterations: 60_000, run: |m, n| on_numbers(fma_loop, m, n) },
];

/// Programs the counters, and starts the LBR stack.
fn start_counters() {
    check!(gp_counters() >= 8, "there are {} counters, not 8", gp_counters());
    write(GLOBAL_CTRL, 0);
    for (n, code) in (0..).zip(EVENTS) {
        program(n, code, select::ALWAYS | select::INT);
        preset(n, PERIOD);
    }
    let lbr = if has_arch_lbr() {
        wrmsr(LBR_CTL.0, LBR_CTL.1).is_ok()
    } else {
        wrmsr(DEBUGCTL, 1).is_ok() && read(DEBUGCTL) & 1 != 0
    };
    println!("# LBR {}", if lbr { "on" } else { "absent" });
}

const COUNTERS: Counters = Counters {
    prepare: start_counters,
    start: || {
        preset(0, PERIOD);
        write(GLOBAL_CTRL, all_gp());
    },
    stop: || {
        write(GLOBAL_CTRL, 0);
        (gp(0) & u64::from(u32::MAX)) - u64::from(PERIOD)
    },
};

/// Instructions from one record to the next.
const SAMPLE_PERIOD: u64 = 10_000;

/// Room for 20,000 records.
type Buffer = DebugStore<{ 1 << 19 }>;

static STORE: Buffer = Buffer::new();

/// One counter fills the debug store, another one counts.
const SAMPLES: Counters = Counters {
    prepare: || {
        write(GLOBAL_CTRL, 0);
        STORE.prepare(Buffer::BYTES, Buffer::BYTES, SAMPLE_PERIOD);
        program(0, event::INSTRUCTIONS, select::ALWAYS);
        program(1, event::INSTRUCTIONS, select::ALWAYS);
        write(PEBS_ENABLE, 1);
    },
    start: || {
        STORE.clear();
        preset(0, SAMPLE_PERIOD as u32);
        preset(1, PERIOD);
        write(GLOBAL_CTRL, 3);
    },
    stop: || {
        write(GLOBAL_CTRL, 0);
        let instructions = (gp(1) & u64::from(u32::MAX)) - u64::from(PERIOD);
        let bytes = STORE.filled();
        // The smallest record has 32 bytes, and the sample is taken after the overflow.
        let enough = bytes >= instructions / (SAMPLE_PERIOD + 2) * 32;
        check!(enough, "{bytes} bytes of records for {instructions} instructions");
        instructions
    },
};

fn program_main() {
    let avx2 = vector::has_avx2() && vector::enable(vector::AVX).is_ok();
    let mixes = if avx2 { &MIXES[..] } else { &MIXES[..WITHOUT_AVX2] };
    let counters = [("pmu", COUNTERS), ("pebs", SAMPLES)];
    let wanted = counters.into_iter().find(|(word, _)| boot::flag(word)).map(|(_, counters)| counters);
    speed::measure(mixes, wanted.filter(|_| PerfMon::discover().version >= 2));
}
