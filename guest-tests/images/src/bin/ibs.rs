//! AMD's instruction-based sampling: what announces it, its registers, and what samples of a known loop say.
#![no_std]
#![no_main]
#![expect(unsafe_code, reason = "the loop and its data have known addresses")]

use core::{
    arch::global_asm,
    ptr::{read_volatile, write_volatile},
    sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
};

use guest_images::{
    checks, pmi,
    pmu::{is_absent, read, write},
};
use guest_runtime::{
    Frame, apic, check, check_eq, cpuid, guest_test, power_on_value, protocol::Needs, rdmsr, set_handler,
    traps,
};

guest_runtime::image!();

const FETCH_CTL: u32 = 0xC001_1030;
const FETCH_LINADDR: u32 = 0xC001_1031;
const FETCH_PHYSADDR: u32 = 0xC001_1032;
const OP_CTL: u32 = 0xC001_1033;
const OP_RIP: u32 = 0xC001_1034;
const IBS_CTL: u32 = 0xC001_103A;
const BR_TARGET: u32 = 0xC001_103B;

const FETCH_ENABLE: u64 = 1 << 48;
const FETCH_VALID: u64 = 1 << 49;
const FETCH_COMPLETE: u64 = 1 << 50;
const FETCH_PHYSICAL: u64 = 1 << 52;
const FETCH_RANDOM: u64 = 1 << 57;
const OP_ENABLE: u64 = 1 << 17;
const OP_VALID: u64 = 1 << 18;
/// Count ops instead of cycles.
const OPS: u64 = 1 << 19;
/// Drop what did not miss the L3.
const OP_L3_MISS: u64 = 1 << 16;
const FETCH_L3_MISS: u64 = 1 << 59;
const COUNT: u64 = 0x7FF_FFFF << 32;

/// First entry of the extended local vector table.
const EXTENDED_LVT: u32 = 0x500;
const AS_NMI: u32 = 0x400;
const MASKED: u32 = 1 << 16;
const VECTOR: u8 = 0x53;

/// A maximum count, in units of 16: longer than the way from WRMSR in ring 0 to the loop.
const PERIOD: u64 = 0x60;
/// Rounds of the loop: longer than the period.
const ROUNDS: u64 = 400;
/// How often a collection begins anew, each time an op later.
const SHOTS: u64 = 60;
/// Samples that are kept.
const MOST: usize = 100;

#[repr(C, align(64))]
struct Data {
    words: [u64; 16],
}

static mut DATA: Data = Data { words: [0; 16] };

// RDI: how often. Every label is an instruction with a known access or branch.
global_asm!(
    ".pushsection .text.ibs_loop, \"ax\"",
    ".global ibs_loop, ibs_load, ibs_store, ibs_lock, ibs_wide, ibs_prefetch, ibs_call, ibs_nop, ibs_branch, ibs_ret",
    "ibs_loop:",
    "    mov rax, rdi",
    "ibs_load:",
    "    mov rcx, qword ptr [rsi]",
    "ibs_store:",
    "    mov dword ptr [rsi + 16], ecx",
    "ibs_lock:",
    "    lock add word ptr [rsi + 64], 1",
    "ibs_wide:",
    "    movups xmm0, xmmword ptr [rsi + 24]",
    "ibs_prefetch:",
    "    prefetcht0 byte ptr [rsi]",
    "ibs_call:",
    "    call ibs_ret",
    "ibs_nop:",
    "    nop",
    "    dec rax",
    "ibs_branch:",
    "    jnz ibs_load",
    "ibs_ret:",
    "    ret",
    ".popsection",
);

unsafe extern "C" {
    fn ibs_loop(rounds: u64, data: *mut Data);
    static ibs_load: u8;
    static ibs_store: u8;
    static ibs_lock: u8;
    static ibs_wide: u8;
    static ibs_prefetch: u8;
    static ibs_call: u8;
    static ibs_nop: u8;
    static ibs_branch: u8;
    static ibs_ret: u8;
}

/// Address of an instruction of the loop.
macro_rules! at {
    ($label:ident) => {
        &raw const $label as u64
    };
}

fn data() -> u64 {
    &raw const DATA as u64
}

fn run() {
    // SAFETY: it uses RAX, RCX, RDI, RSI and XMM0, as functions may, and the data.
    unsafe { ibs_loop(ROUNDS, &raw mut DATA) }
}

/// All instructions of the loop.
fn in_loop(address: u64) -> bool {
    let before_branch = at!(ibs_branch) - 3;
    [
        at!(ibs_load),
        at!(ibs_store),
        at!(ibs_lock),
        at!(ibs_wide),
        at!(ibs_prefetch),
        at!(ibs_call),
        at!(ibs_nop),
        before_branch,
        at!(ibs_branch),
        at!(ibs_ret),
    ]
    .contains(&address)
}

/// The L3 miss filter of Zen 4.
fn filters() -> bool {
    cpuid(0x8000_001B, 0).eax >> 11 & 1 != 0
}

/// The registers from a control on, as they were at an interrupt.
type Sample = [u64; 9];

static mut SAMPLES: [Sample; MOST] = [[0; 9]; MOST];
static SAMPLED: AtomicUsize = AtomicUsize::new(0);
static FIRST: AtomicU64 = AtomicU64::new(0);

/// Keeps what the registers hold.
fn keep(frame: &mut Frame) {
    let first = FIRST.load(Relaxed) as u32;
    let n = SAMPLED.fetch_add(1, Relaxed);
    let mut sample = [0; 9];
    for (offset, word) in (0..).zip(&mut sample) {
        // Behind IBS_DC_LINADDR the branch target is what matters.
        let msr = match first + offset {
            msr if offset < 6 => msr,
            _ if first == FETCH_CTL => continue,
            msr if offset < 7 => msr,
            _ if offset == 7 => BR_TARGET,
            _ => continue,
        };
        *word = rdmsr(msr).unwrap_or(u64::MAX);
    }
    if n < MOST {
        // SAFETY: within the array; one interrupt at a time.
        unsafe { write_volatile(&raw mut SAMPLES[n], sample) }
    }
    pmi::arrived(frame);
}

fn sample(n: usize) -> Sample {
    // SAFETY: within the array.
    unsafe { read_volatile(&raw const SAMPLES[n]) }
}

fn kept() -> usize {
    SAMPLED.load(Relaxed).min(MOST)
}

/// Samples the loop once by this control. Interrupts are NMIs.
fn once(control: u32, value: u64) -> usize {
    SAMPLED.store(0, Relaxed);
    shoot(control, value);
    kept()
}

/// The same many times, from different counts on.
fn collect(control: u32, value: u64) -> usize {
    SAMPLED.store(0, Relaxed);
    for shot in 0..SHOTS {
        shoot(control, if control == OP_CTL { value | shot << 32 } else { value });
    }
    kept()
}

fn shoot(control: u32, value: u64) {
    FIRST.store(control.into(), Relaxed);
    set_handler(traps::NMI, Some(keep));
    apic::write(EXTENDED_LVT, AS_NMI);
    write(control, value);
    run();
    write(control, 0);
    apic::write(EXTENDED_LVT, MASKED);
}

/// Samples of the loop with IBS_OP_RIP at this address, of those collected.
fn of(address: u64) -> impl Iterator<Item = Sample> {
    (0..kept()).map(sample).filter(move |sample| sample[1] == address)
}

/// Every sample of this instruction satisfies the check, and there are some.
#[track_caller]
fn every(name: &str, address: u64, check: impl Fn(&Sample) -> bool) {
    let mut found = 0;
    for sample in of(address) {
        check!(check(&sample), "{name}: {sample:x?}");
        found += 1;
    }
    check!(found > 0, "no sample of {name}");
}

/// An MSR of the table.
struct Register {
    msr: u32,
}

impl Register {
    const NEEDS: Needs = Needs::AMD;

    fn new(first: u32, n: u32) -> Self {
        Self { msr: first + n }
    }

    #[track_caller]
    fn resets_to(&self, value: u64) {
        let found = power_on_value(self.msr).or_else(|| rdmsr(self.msr).ok());
        check_eq!(found, Some(value), "{:#x} at power-on", self.msr);
    }

    /// Of everything that is written these bits stay.
    #[track_caller]
    fn keeps_only(&self, bits: u64, without: u64) {
        let before = read(self.msr);
        write(self.msr, !without);
        check_eq!(read(self.msr), bits & !without, "{:#x} after WRMSR of {:#x}", self.msr, !without);
        write(self.msr, 0x5555_5555_5555_5555 & !without);
        check_eq!(read(self.msr), 0x5555_5555_5555_5555 & bits & !without, "{:#x}", self.msr);
        write(self.msr, before);
    }
}

const PHYSICAL: u64 = (1 << 52) - 1;

// APM volume 2, section 13.3, and the bits that Linux (`asm/amd-ibs.h`) names.
checks! {
    "IBS_FETCH_CTL" - @ 0xC001_1030 {
        "reset" => |r| r.resets_to(0);
        "keeps" => |r| r.keeps_only(if filters() { (1 << 62) - 1 } else { (1 << 59) - 1 }, FETCH_ENABLE);
    }
    "IBS_FETCH_LINADDR" - @ 0xC001_1031 {
        "reset" => |r| r.resets_to(0);
        "keeps" => |r| r.keeps_only(u64::MAX, 0);
    }
    "IBS_FETCH_PHYSADDR" - @ 0xC001_1032 {
        "reset" => |r| r.resets_to(0);
        "keeps" => |r| r.keeps_only(PHYSICAL, 0);
    }
    "IBS_OP_CTL" - @ 0xC001_1033 {
        "reset" => |r| r.resets_to(0);
        "keeps" => |r| r.keeps_only(0x7FF_FFFF << 32 | 0x7FE_FFFF | if filters() { OP_L3_MISS } else { 0 }, OP_ENABLE);
    }
    "IBS_OP_RIP" - @ 0xC001_1034 {
        "reset" => |r| r.resets_to(0);
        "keeps" => |r| r.keeps_only(u64::MAX, 0);
    }
    "IBS_OP_DATA" - @ 0xC001_1035 {
        "reset" => |r| r.resets_to(0);
        "keeps" => |r| r.keeps_only(0x1FC_FFFF_FFFF, 0);
    }
    "IBS_OP_DATA2" - @ 0xC001_1036 {
        "reset" => |r| r.resets_to(0);
        "keeps" => |r| r.keeps_only(if filters() { 0xF7 } else { 0x37 }, 0);
    }
    "IBS_OP_DATA3" - @ 0xC001_1037 {
        "reset" => |r| r.resets_to(0);
        "keeps" => |r| r.keeps_only(0xFFFF_FFFF_FFFF_E1FF, 0);
    }
    "IBS_DC_LINADDR" - @ 0xC001_1038 {
        "reset" => |r| r.resets_to(0);
        "keeps" => |r| r.keeps_only(u64::MAX, 0);
    }
    "IBS_DC_PHYSADDR" - @ 0xC001_1039 {
        "reset" => |r| r.resets_to(0);
        "keeps" => |r| r.keeps_only(PHYSICAL, 0);
    }
    "IBS_CTL" - @ 0xC001_103A {
        "reset" => |r| r.resets_to(0x100);
        "keeps" => |r| r.keeps_only(0x10F, 0);
    }
    "IBS_BR_TARGET" - @ 0xC001_103B {
        "reset" => |r| r.resets_to(0);
        "keeps" => |r| r.keeps_only(u64::MAX, 0);
    }
    "IBS_FETCH_CTL_EXT" - @ 0xC001_103C {
        "reset" => |r| r.resets_to(0);
        "is_read_only" => |r| check!(guest_runtime::wrmsr(r.msr, 0).is_err());
    }
    "IBS_OP_DATA4" - @ 0xC001_103D {
        "is_absent" => |r| is_absent(r.msr);
    }
}

/// Leaf 8000_0001H, 8000_001BH and the maximum leaf agree.
#[guest_test(needs(amd))]
fn it_is_announced() {
    check!(cpuid(0x8000_0000, 0).eax >= 0x8000_001B);
    check_eq!(cpuid(0x8000_0001, 0).ecx >> 10 & 1, 1, "IBS");
    check_eq!(cpuid(0x8000_0001, 0).ecx >> 3 & 1, 1, "ExtApicSpace");
    let caps = cpuid(0x8000_001B, 0).eax;
    check_eq!(caps & 0x3FF, 0x3FF, "what all have since Zen 2");
    check_eq!(caps & !0xBFF, 0, "nothing that is not there");
}

/// The APIC says that it has the extended space, with four entries that are masked.
#[guest_test(needs(amd))]
fn the_apic_has_four_more_entries() {
    check_eq!(apic::read(0x30) >> 31, 1, "version register");
    check_eq!(apic::read(0x400), 4 << 16, "four entries, no IER, no SEOI");
    for n in 0..4 {
        let entry = EXTENDED_LVT + 0x10 * n;
        check_eq!(apic::read(entry), MASKED, "entry {n}");
        apic::write(entry, MASKED | 0x777);
        check_eq!(apic::read(entry), MASKED | 0x777, "entry {n}");
        apic::write(entry, MASKED);
    }
}

/// The same entries in x2APIC mode.
#[guest_test(needs(amd))]
fn the_entries_are_there_in_both_modes() {
    let mode = apic::mode();
    for wanted in [apic::Mode::XApic, apic::Mode::X2Apic] {
        if wanted == apic::Mode::X2Apic && !apic::has_x2apic() {
            continue;
        }
        check!(apic::enable(wanted).is_ok());
        apic::write(EXTENDED_LVT + 0x20, MASKED | 0x44);
        check_eq!(apic::read(EXTENDED_LVT + 0x20), MASKED | 0x44, "{wanted:?}");
        apic::write(EXTENDED_LVT + 0x20, MASKED);
    }
    check!(apic::enable(mode).is_ok());
}

/// Every sampled op is an instruction of the loop, and each of them is sampled.
#[guest_test(needs(amd, exact))]
fn ops_are_instructions_of_the_loop() {
    let samples = collect(OP_CTL, PERIOD | OP_ENABLE | OPS);
    check_eq!(samples as u64, SHOTS);
    let inside = (0..samples).filter(|n| in_loop(sample(*n)[1])).count();
    check!(inside > 50, "{inside} of {samples} are in the loop");
    for n in 0..samples {
        let rip = sample(n)[1];
        let between = (at!(ibs_load)..=at!(ibs_ret)).contains(&rip);
        check!(!between || in_loop(rip), "{rip:#x} is no instruction");
        check!(sample(n)[0] & OP_VALID != 0, "sample {n} is valid");
    }
}

/// A load of 8 bytes.
#[guest_test(needs(amd, exact))]
fn a_load_has_its_address_and_size() {
    collect(OP_CTL, PERIOD | OP_ENABLE | OPS);
    every("the load", at!(ibs_load), |s| s[4] & 3 == 1 && s[4] >> 22 & 0xF == 4 && s[5] == data());
    every("the load", at!(ibs_load), |s| s[4] >> 17 & 3 == 3 && s[6] == data());
    every("the load", at!(ibs_load), |s| s[2] & 0x1C_0000_0000 << 3 == 0);
}

/// A store of 4 bytes.
#[guest_test(needs(amd, exact))]
fn a_store_has_its_address_and_size() {
    collect(OP_CTL, PERIOD | OP_ENABLE | OPS);
    every("the store", at!(ibs_store), |s| s[4] & 3 == 2 && s[4] >> 22 & 0xF == 3 && s[5] == data() + 16);
    every("the store", at!(ibs_store), |s| s[3] == 0);
}

/// LOCK ADD of 2 bytes reads and writes.
#[guest_test(needs(amd, exact))]
fn a_locked_access_is_both() {
    collect(OP_CTL, PERIOD | OP_ENABLE | OPS);
    every("LOCK ADD", at!(ibs_lock), |s| s[4] & 3 == 3 && s[4] >> 22 & 0xF == 2 && s[4] >> 15 & 1 == 1);
    every("the load", at!(ibs_load), |s| s[4] >> 15 & 1 == 0);
}

/// 16 bytes across a boundary of 32 are misaligned.
#[guest_test(needs(amd, exact))]
fn an_access_across_32_bytes_is_misaligned() {
    collect(OP_CTL, PERIOD | OP_ENABLE | OPS);
    every("MOVUPS", at!(ibs_wide), |s| s[4] >> 8 & 1 == 1 && s[4] >> 22 & 0xF == 5);
    every("the store", at!(ibs_store), |s| s[4] >> 8 & 1 == 0);
}

/// A software prefetch is neither load nor store.
#[guest_test(needs(amd, exact))]
fn a_prefetch_says_so() {
    collect(OP_CTL, PERIOD | OP_ENABLE | OPS);
    every("PREFETCHT0", at!(ibs_prefetch), |s| s[4] >> 21 & 1 == 1 && s[4] & 3 == 0 && s[5] == data());
}

/// An instruction without memory says nothing of any.
#[guest_test(needs(amd, exact))]
fn an_instruction_without_memory_has_no_address() {
    collect(OP_CTL, PERIOD | OP_ENABLE | OPS);
    every("NOP", at!(ibs_nop), |s| s[2] >> 34 == 0 && s[3] == 0 && s[4] == 0 && s[5] == 0);
}

/// Calls, returns and conditional branches, with their targets.
#[guest_test(needs(amd, exact))]
fn branches_have_kind_and_target() {
    collect(OP_CTL, PERIOD | OP_ENABLE | OPS);
    // Return, taken, mispredicted, branch.
    every("CALL", at!(ibs_call), |s| s[2] >> 34 & 0b1011 == 0b1010 && s[7] == at!(ibs_ret));
    every("RET", at!(ibs_ret), |s| s[2] >> 34 & 0b1011 == 0b1011);
    every("JNZ", at!(ibs_branch), |s| {
        let taken = s[2] >> 35 & 1 == 1;
        s[2] >> 37 & 1 == 1 && s[7] == if taken { at!(ibs_load) } else { 0 }
    });
    every("the load", at!(ibs_load), |s| s[2] >> 34 & 0b1111 == 0 && s[7] == 0);
}

/// Counting cycles samples as well.
#[guest_test(needs(amd, exact))]
fn cycles_sample_too() {
    let samples = collect(OP_CTL, PERIOD | OP_ENABLE);
    check_eq!(samples as u64, SHOTS);
    let inside = (0..samples).filter(|n| in_loop(sample(*n)[1])).count();
    check!(inside > 5, "{inside} of {samples} are in the loop");
}

/// The upper bits of the maximum count.
#[guest_test(needs(amd, exact))]
fn a_large_maximum_takes_its_time() {
    check_eq!(collect(OP_CTL, 1 << 20 | OP_ENABLE | OPS), 0, "a million ops");
}

/// From one count to the next the sample moves: every instruction of the loop has its turn.
#[guest_test(needs(amd, exact))]
fn every_instruction_has_its_turn() {
    collect(OP_CTL, PERIOD | OP_ENABLE | OPS);
    // DEC may be one op with the branch behind it.
    for address in [at!(ibs_load), at!(ibs_lock), at!(ibs_call), at!(ibs_ret), at!(ibs_nop), at!(ibs_branch)]
    {
        check!(of(address).count() > 0, "{address:#x} is not sampled");
    }
}

/// Without a new write there is one sample only, and the count stands still.
#[guest_test(needs(amd, exact))]
fn a_valid_sample_stops_the_counter() {
    check_eq!(once(OP_CTL, PERIOD | OP_ENABLE | OPS), 1);
    once(OP_CTL, PERIOD | OP_ENABLE | OPS);
    let control = sample(0)[0];
    check_eq!(control & (OP_VALID | OP_ENABLE | OPS), OP_VALID | OP_ENABLE | OPS);
    check!((control & COUNT) >> 32 < 128, "the count begins at random below 128: {control:#x}");
}

/// The count goes on from what software wrote, in ops.
#[guest_test(needs(amd, exact))]
fn software_chooses_where_ops_begin() {
    write(OP_CTL, 0xFFFF | OP_ENABLE | OPS | 0x1234 << 32);
    let count = read(OP_CTL) >> 32;
    write(OP_CTL, 0);
    check!((0x1234..0x1234 + 2_000).contains(&count), "{count:#x}");
}

/// In cycles hardware chooses, and not always the same.
#[guest_test(needs(amd, exact))]
fn hardware_chooses_where_cycles_begin() {
    let mut all = 0;
    let mut differ = 0;
    let mut last = u64::MAX;
    for _ in 0..32 {
        write(OP_CTL, 0xFFFF | OP_ENABLE | 0x7_0000_0000_0000);
        let count = read(OP_CTL) >> 32 & 0x7FF_FFFF;
        differ += u64::from(count != last);
        last = count;
        all = count.max(all);
    }
    write(OP_CTL, 0);
    check!(all < 128 + 2_000, "{all:#x}");
    check!(differ > 16, "{differ} of 32 differ");
}

/// Disabled, the counter stands still.
#[guest_test(needs(amd, exact))]
fn a_disabled_counter_stands_still() {
    write(OP_CTL, 0x100 | OPS | 0x55 << 32);
    run();
    check_eq!(read(OP_CTL), 0x100 | OPS | 0x55 << 32);
    write(OP_CTL, 0);
}

/// Sampled fetches are instructions of the loop, complete, with their physical address.
#[guest_test(needs(amd, exact))]
fn fetches_are_instructions_of_the_loop() {
    let samples = collect(FETCH_CTL, PERIOD | FETCH_ENABLE | FETCH_RANDOM);
    check_eq!(samples as u64, SHOTS);
    let mut inside = 0;
    for n in 0..samples {
        let s = sample(n);
        check_eq!(s[0] & (FETCH_VALID | FETCH_COMPLETE), FETCH_VALID | FETCH_COMPLETE, "sample {n}");
        if in_loop(s[1]) {
            inside += 1;
            check!(s[0] & FETCH_PHYSICAL != 0);
            check_eq!(s[2], s[1], "the loop is mapped to itself");
        }
    }
    check!(inside > 50, "{inside} of {samples}");
}

/// At a sample the count of fetches is the maximum.
#[guest_test(needs(amd, exact))]
fn the_count_of_fetches_stays_at_its_maximum() {
    check_eq!(once(FETCH_CTL, PERIOD | FETCH_ENABLE), 1);
    check_eq!(sample(0)[0] >> 16 & 0xFFFF, PERIOD);
    check!(read(FETCH_LINADDR) != 0 && read(FETCH_PHYSADDR) != 0);
}

/// Both samplers at once.
#[guest_test(needs(amd, exact))]
fn fetches_and_ops_are_sampled_side_by_side() {
    write(FETCH_CTL, PERIOD | FETCH_ENABLE);
    check!(collect(OP_CTL, PERIOD | OP_ENABLE | OPS) > 50);
    check!(read(FETCH_CTL) & FETCH_VALID != 0);
    write(FETCH_CTL, 0);
}

/// Without a model nothing is known to miss the L3; with one nothing in the loop does.
#[guest_test(needs(amd, exact))]
fn the_filter_drops_hits() {
    if !filters() {
        guest_runtime::skip!("before Zen 4");
    }
    run();
    let inside = |samples: usize| (0..samples).filter(|n| in_loop(sample(*n)[1])).count();
    let ops = collect(OP_CTL, PERIOD | OP_ENABLE | OPS | OP_L3_MISS);
    check_eq!(inside(ops), 0, "ops");
    let fetches = collect(FETCH_CTL, PERIOD | FETCH_ENABLE | FETCH_L3_MISS);
    check_eq!(inside(fetches), 0, "fetches");
}

/// A masked entry delivers nothing; the sample is there.
#[guest_test(needs(amd, exact))]
fn a_masked_entry_delivers_nothing() {
    SAMPLED.store(0, Relaxed);
    set_handler(traps::NMI, Some(keep));
    apic::write(EXTENDED_LVT, MASKED | AS_NMI);
    write(OP_CTL, PERIOD | OP_ENABLE | OPS);
    run();
    check_eq!(kept(), 0);
    check!(read(OP_CTL) & OP_VALID != 0 && read(OP_RIP) != 0);
    write(OP_CTL, 0);
}

/// IBS_CTL chooses the entry.
#[guest_test(needs(amd, exact))]
fn the_offset_chooses_the_entry() {
    for (entry, control) in [(2, 0x102), (3, 0x103)] {
        SAMPLED.store(0, Relaxed);
        FIRST.store(OP_CTL.into(), Relaxed);
        set_handler(traps::NMI, Some(keep));
        apic::write(EXTENDED_LVT + 0x10 * entry, AS_NMI);
        write(IBS_CTL, control);
        write(OP_CTL, PERIOD | OP_ENABLE | OPS);
        run();
        write(OP_CTL, 0);
        apic::write(EXTENDED_LVT + 0x10 * entry, MASKED);
        check_eq!(kept(), 1, "entry {entry}");
    }
    // Without its valid bit there is none.
    SAMPLED.store(0, Relaxed);
    apic::write(EXTENDED_LVT, AS_NMI);
    write(IBS_CTL, 0);
    write(OP_CTL, PERIOD | OP_ENABLE | OPS);
    run();
    write(OP_CTL, 0);
    write(IBS_CTL, 0x100);
    apic::write(EXTENDED_LVT, MASKED);
    check_eq!(kept(), 0);
}

/// As a plain interrupt with a vector of its own.
#[guest_test(needs(amd, exact))]
fn it_can_be_a_vector() {
    SAMPLED.store(0, Relaxed);
    FIRST.store(OP_CTL.into(), Relaxed);
    set_handler(VECTOR, Some(keep));
    apic::write(EXTENDED_LVT, VECTOR.into());
    write(OP_CTL, PERIOD | OP_ENABLE | OPS);
    guest_runtime::with_interrupts(run);
    write(OP_CTL, 0);
    apic::write(EXTENDED_LVT, MASKED);
    check_eq!(kept(), 1);
}
