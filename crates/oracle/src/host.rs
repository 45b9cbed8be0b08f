//! What a CPU has: the one of this host, or one with everything.

use crate::machine::Machine;
use iced_x86::{Code, CpuidFeature, CpuidFeature as F, EncodingKind};
use soft_cpu::{CpuidLeaf, Features};

/// Instructions and register state.
#[derive(Debug, Clone, Copy)]
pub struct Host {
    features: Features,
    machine: Machine,
}

impl Host {
    /// The CPU of this host, as far as its kernel enables it.
    #[must_use]
    pub fn this() -> Self {
        #[cfg(target_arch = "x86_64")]
        let leaf = |leaf, subleaf| {
            let answer = std::arch::x86_64::__cpuid_count(leaf, subleaf);
            CpuidLeaf { eax: answer.eax, ebx: answer.ebx, ecx: answer.ecx, edx: answer.edx }
        };
        #[cfg(not(target_arch = "x86_64"))]
        let leaf = |_, _| CpuidLeaf::default();
        Self { features: Features::of(leaf), machine: Machine::host() }
    }

    /// A CPU with everything.
    #[must_use]
    pub fn complete() -> Self {
        Self { features: Features::ALL, machine: Machine::Avx512 }
    }

    /// The same CPU with less enabled.
    #[must_use]
    pub fn with_machine(self, machine: Machine) -> Self {
        Self { machine: machine.min(self.machine), ..self }
    }

    /// The most that can be enabled.
    #[must_use]
    pub fn machine(&self) -> Machine {
        self.machine
    }

    /// Whether it has an instruction. Where no bit of CPUID says so, every CPU of interest has it.
    #[must_use]
    pub fn has(&self, code: Code) -> bool {
        self.machine >= needed(code)
            && !code.cpuid_features().iter().any(|feature| self.features.lacks(*feature))
    }
}

/// What has to be enabled for an instruction.
fn needed(code: Code) -> Machine {
    let info = code.op_code();
    let features = code.cpuid_features();
    let any = |kinds: &[CpuidFeature]| features.iter().any(|feature| kinds.contains(feature));
    match info.encoding() {
        EncodingKind::Legacy if any(&[F::XSAVE, F::XSAVEC, F::XSAVEOPT, F::FSGSBASE]) => Machine::Xsave,
        EncodingKind::Legacy => Machine::Sse,
        EncodingKind::VEX if any(&[F::BMI1, F::BMI2]) => Machine::Sse,
        EncodingKind::VEX if !any(&[F::AVX512F, F::AVX512BW, F::AVX512DQ]) => Machine::Avx,
        _ => Machine::Avx512,
    }
}
