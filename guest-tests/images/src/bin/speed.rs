//! Loops of one kind of instruction each, for measuring how fast an engine executes them. What watches the
//! console takes the time from a loop's `begin` line to its `end` line.
//!
//! Command line: `scale=N` sets the length of each loop, in about ten million instructions (default 1); `pmu` has
//! eight counters run, with their overflow interrupts armed, and the LBR stack if there is one.
//! The first counter counts instructions, which the `end` lines then tell.
#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "instructions that the image is about")]

use core::{arch::asm, hint::black_box};

use guest_images::{
    msr::{DEBUGCTL, GLOBAL_CTRL, event, select},
    pmu::{all_gp, gp, gp_counters, has_arch_lbr, preset, program, read, write},
};
use guest_runtime::{PerfMon, boot, check, println, wrmsr};

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

/// Words of memory that the loops use.
const WORDS: usize = 1 << 15;

struct Mix {
    name: &'static str,
    /// Iterations that make about ten million instructions.
    iterations: u64,
    run: fn(&mut [u64], u64),
}

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

/// A loop of the workloads that are measured elsewhere.
fn workload(name: &str, memory: &mut [u64], iterations: u64) {
    let prepared = workloads::find(name).and_then(|workload| workload.prepare(memory));
    check!(prepared.is_some(), "there is no workload `{name}` for this memory");
    if let Some(mut prepared) = prepared {
        black_box(prepared.run(iterations));
    }
}

const MIXES: [Mix; 9] = [
    Mix { name: "alu", iterations: 714_000, run: |m, n| workload("alu", m, n) },
    Mix { name: "load-store", iterations: 910_000, run: load_store },
    Mix { name: "call-return", iterations: 910_000, run: calls },
    Mix { name: "branches", iterations: 556_000, run: |m, n| workload("branches", m, n) },
    Mix { name: "chase-l2", iterations: 2_500_000, run: |m, n| workload("chase-l2", m, n) },
    Mix { name: "mixed", iterations: 666_000, run: |m, n| workload("mixed", m, n) },
    Mix { name: "sse-scalar", iterations: 1_000_000, run: float },
    Mix { name: "sse-vector", iterations: 1_000_000, run: vector },
    Mix { name: "string", iterations: 20_000, run: string },
];

/// Starts the counters and the LBR stack.
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

fn measure(mix: &Mix, memory: &mut [u64], scale: u64, counting: bool) {
    memory.fill(0);
    // 1.0, so that floating-point numbers stay in range.
    memory[..2].fill(0x3FF0_0000_0000_0000);
    // An engine that translates code has done it before the measurement.
    (mix.run)(memory, 1000);
    println!("begin {}", mix.name);
    if counting {
        preset(0, PERIOD);
        write(GLOBAL_CTRL, all_gp());
    }
    (mix.run)(memory, mix.iterations * scale);
    if counting {
        write(GLOBAL_CTRL, 0);
        let instructions = gp(0) & u64::from(u32::MAX);
        println!("end {} instructions={}", mix.name, instructions - u64::from(PERIOD));
    } else {
        println!("end {}", mix.name);
    }
}

fn program_main() {
    let scale = boot::option("scale").and_then(|scale| scale.parse().ok()).unwrap_or(1);
    let counting = boot::flag("pmu") && PerfMon::discover().version >= 2;
    if counting {
        start_counters();
    }
    let done = boot::with_scratch(WORDS, |memory| {
        MIXES.iter().for_each(|mix| measure(mix, memory, scale, counting));
    });
    check!(done.is_some(), "this machine has no free memory");
    println!("done");
}
