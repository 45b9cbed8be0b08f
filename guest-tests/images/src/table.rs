//! A register of a [`checks!`](guest_runtime::checks) table, and what decides whether it is there.

use core::ops::RangeInclusive;

use guest_runtime::{
    PerfMon, check_eq, cpu, cpuid, fw_cfg, power_on_value,
    protocol::{Needs, files},
    rdmsr, skip,
};

use crate::{
    msr::global,
    pmu::{has_arch_lbr, has_debug_store, has_perfmon_ext, is_absent, keeps, read, refuses, write},
};

/// What decides which registers and bits there are (SDM volume 3B, "Performance Monitoring").
#[derive(Debug, Clone, Copy)]
pub struct Cpu {
    /// Version of architectural performance monitoring.
    pub version: u32,
    /// General-purpose counters.
    pub general: u32,
    /// Fixed counters, one bit each.
    pub fixed: u32,
    /// IA32_PERF_CAPABILITIES.
    pub capabilities: u64,
    /// CPUID.0AH:EDX bit 15.
    pub any_thread_deprecated: bool,
    /// CPUID.07H:EBX bits 4 and 11: transactional memory.
    pub transactions: bool,
    /// CPUID.07H:EBX bit 25: Processor Trace.
    pub processor_trace: bool,
    /// CPUID.01H:EDX bit 21.
    pub debug_store: bool,
    /// CPUID.07H:EDX bit 19.
    pub arch_lbr: bool,
    /// CPUID.(07H,1):EAX bit 8: leaf 23H.
    pub perfmon_ext: bool,
}

impl Cpu {
    /// Asks CPUID.
    #[must_use]
    pub fn discover() -> Self {
        let perfmon = PerfMon::discover();
        let features = cpuid(7, 0).ebx;
        Self {
            version: perfmon.version,
            general: perfmon.general,
            fixed: perfmon.fixed,
            capabilities: perfmon.capabilities,
            any_thread_deprecated: perfmon.version >= 5 && cpuid(0xA, 0).edx & 1 << 15 != 0,
            transactions: features & (1 << 4 | 1 << 11) != 0,
            processor_trace: features & 1 << 25 != 0,
            debug_store: has_debug_store(),
            arch_lbr: has_arch_lbr(),
            perfmon_ext: has_perfmon_ext(),
        }
    }

    /// A bit of IA32_PERF_CAPABILITIES.
    #[must_use]
    pub fn capability(&self, bit: u32) -> bool {
        self.capabilities >> bit & 1 != 0
    }

    /// Fixed counter `n` exists.
    #[must_use]
    pub fn has_fixed(&self, n: u32) -> bool {
        self.version >= 2 && self.fixed >> n & 1 != 0
    }

    /// PERF_CAPABILITIES bit 13: the full-width counter addresses exist.
    #[must_use]
    pub fn full_width(&self) -> bool {
        self.capability(13)
    }

    /// PERF_CAPABILITIES bit 14: adaptive PEBS.
    #[must_use]
    pub fn pebs_baseline(&self) -> bool {
        self.capability(14)
    }

    /// PERF_CAPABILITIES bit 15: PERF_METRICS.
    #[must_use]
    pub fn metrics(&self) -> bool {
        self.capability(15)
    }

    /// The model-specific branch records: LBR_FMT is neither 0 nor "architectural only".
    #[must_use]
    pub fn legacy_lbr(&self) -> bool {
        !matches!(self.capabilities & 0x3F, 0 | 0x3F)
    }

    /// Any branch records.
    #[must_use]
    pub fn lbr(&self) -> bool {
        self.arch_lbr || self.legacy_lbr()
    }
}

/// A register of a table, on this CPU.
#[derive(Debug, Clone, Copy)]
pub struct Register {
    /// MSR index.
    pub msr: u32,
    /// Its number among those of its name.
    pub n: u32,
    /// The CPU.
    pub cpu: Cpu,
}

impl Register {
    /// What every check of a table needs.
    pub const NEEDS: Needs = Needs::PMU;

    /// Number `n` of those that begin at `first`.
    #[must_use]
    pub fn new(first: u32, n: u32) -> Self {
        Self { msr: first + n, n, cpu: Cpu::discover() }
    }

    /// The same facts about number `n` of registers that lie `step` apart.
    #[must_use]
    pub fn apart(self, step: u32) -> Self {
        Self { msr: self.msr - self.n + step * self.n, ..self }
    }

    /// The register can be read, or RDMSR and WRMSR raise #GP(0).
    #[track_caller]
    pub fn exists(&self, expected: bool) {
        if expected {
            read(self.msr);
        } else {
            is_absent(self.msr);
        }
    }

    /// Neither RDMSR nor WRMSR finds anything, unless `feature` is there.
    #[track_caller]
    pub fn is_absent_without(&self, feature: bool, name: &str) {
        if feature {
            skip!("the CPU has {name}");
        }
        is_absent(self.msr);
    }

    /// Skips unless the register exists.
    pub fn present(&self, exists: bool) -> &Self {
        if !exists {
            skip!("this CPU has no such register");
        }
        self
    }

    /// Skips unless our own VMM is there, of which it is known what it leaves out.
    pub fn in_vpmu(&self) -> &Self {
        if !fw_cfg::has_file(files::PROFILE) {
            skip!("needs vpmu");
        }
        self
    }

    /// What it held before anything had written to it.
    #[track_caller]
    pub fn resets_to(&self, value: u64) {
        let found = power_on_value(self.msr).or_else(|| rdmsr(self.msr).ok());
        check_eq!(found, Some(value), "{:#x} at power-on", self.msr);
    }

    /// Each of these bits alone, added to `base`, is refused and changes nothing.
    #[track_caller]
    pub fn refuses(&self, base: u64, bits: RangeInclusive<u32>) {
        if rdmsr(self.msr).is_ok_and(|value| value != base) {
            write(self.msr, base);
        }
        bits.for_each(|bit| refuses(self.msr, base ^ 1 << bit));
    }

    /// [`refuses`](Self::refuses), unless a feature gives the bits a meaning.
    #[track_caller]
    pub fn refuses_without(&self, feature: bool, name: &str, base: u64, bits: RangeInclusive<u32>) {
        if feature {
            skip!("the CPU has {name}");
        }
        self.refuses(base, bits);
    }

    /// Each of these bits can be set and cleared, alone and all together, and nothing else changes.
    #[track_caller]
    pub fn keeps(&self, base: u64, bits: RangeInclusive<u32>) {
        let all = bits.clone().fold(base, |value, bit| value | 1 << bit);
        for bit in bits {
            keeps(self.msr, base ^ 1 << bit);
        }
        keeps(self.msr, all);
        keeps(self.msr, base);
    }

    /// Writing `value` is accepted, and `kept` is what is read then.
    #[track_caller]
    pub fn becomes(&self, value: u64, kept: u64) {
        write(self.msr, value);
        check_eq!(read(self.msr), kept, "{:#x} after WRMSR of {value:#x}", self.msr);
    }

    /// Writing anything is refused.
    #[track_caller]
    pub fn is_read_only(&self) {
        let value = read(self.msr);
        [0, 1, value, !value].into_iter().for_each(|value| refuses(self.msr, value));
    }
}

/// GLOBAL_STATUS bits that software can set and clear. Bit 62 does not depend on the debug store (SDM volume 4).
#[must_use]
pub fn status_bit_exists(cpu: &Cpu, bit: u32) -> bool {
    match 1_u64 << bit {
        global::METRICS => cpu.metrics(),
        global::LBR_FROZEN | global::CTR_FROZEN | global::ASCI | global::UNCORE => cpu.version >= 4,
        global::BUFFER => true,
        _ if bit == 55 => cpu.processor_trace,
        _ if bit < 32 => bit < cpu.general,
        _ => bit < 48 && cpu.has_fixed(bit - 32),
    }
}

/// Valid bits of OFFCORE_RSP_x and of FRONTEND on the models for which Linux lists them (
/// `intel_skl_extra_regs`, `intel_icl_extra_regs`, `intel_glc_extra_regs`).
#[must_use]
pub fn event_register_bits() -> Option<(u64, u64)> {
    match cpu::family_model() {
        (6, 0x55) => Some((0x3F_FFFF_8FFF, 0x7F_FF17)),
        (6, 0x6A | 0x6C | 0x7D | 0x7E | 0x8C | 0x8D | 0xA7) => Some((0x3F_FFFF_BFFF, 0x7F_FF17)),
        (6, 0x8F | 0x97 | 0x9A | 0xCF) => Some((0x3F_FFFF_FFFF, 0x7F_FF1F)),
        _ => None,
    }
}
