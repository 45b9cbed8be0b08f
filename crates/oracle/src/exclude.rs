//! Instructions that are not compared, and why.

use iced_x86::{Code, CpuidFeature, EncodingKind, Mnemonic as M, OpCodeOperandKind as Kind};

const OTHER_CPU: &str = "answers differ between any two CPUs";
const LEAVES: &str = "leaves ring 3, which para-virtual KVM does by other means";
const SELECTORS: &str =
    "loads or shows selectors or descriptors; para-virtual KVM has its own of them in ring 3";
const PORTS: &str = "depends on IOPL, which para-virtual KVM does not show to ring 3";
const POINTERS: &str = "stores the x87 pointers, which AMD keeps only for exceptions";
const IMAGE: &str = "wants a valid image, which random memory is not";
const APPROXIMATE: &str = "approximates, each CPU in its way, within an error bound";
const NO_MODRM: &str = "#UD with or without fetching the operands, as the CPU likes";
const RESULT: &str = "leaves its result undefined";
const RARE: &str = "not every CPU has it";

/// Instructions by mnemonic.
pub const EXCLUDED: &[(&[M], &str)] = &[
    (&[M::Cpuid, M::Rdtsc, M::Rdtscp, M::Rdpmc, M::Rdrand, M::Rdseed, M::Rdpid, M::Xgetbv], OTHER_CPU),
    (&[M::Syscall, M::Sysenter, M::Sysexit, M::Sysret, M::Int, M::Int1, M::Iret, M::Iretd, M::Iretq], LEAVES),
    (&[M::Sgdt, M::Sidt, M::Sldt, M::Str, M::Smsw, M::Lar, M::Lsl, M::Verr, M::Verw], SELECTORS),
    (&[M::Lds, M::Les, M::Lfs, M::Lgs, M::Lss, M::Retf], SELECTORS),
    (&[M::In, M::Out, M::Insb, M::Insw, M::Insd, M::Outsb, M::Outsw, M::Outsd, M::Cli, M::Sti], PORTS),
    (&[M::Fxsave, M::Fxsave64, M::Fnsave, M::Fsave, M::Fnstenv, M::Fstenv], POINTERS),
    (&[M::Fxrstor, M::Fxrstor64], IMAGE),
    (&[M::Rcpss, M::Rcpps, M::Rsqrtss, M::Rsqrtps], APPROXIMATE),
    (&[M::Ud0, M::Ud1], NO_MODRM),
    (&[M::Reservednop, M::Xbegin, M::Xabort, M::Xend, M::Xtest, M::Wbnoinvd], RARE),
    (&[M::Umwait, M::Tpause, M::Umonitor, M::Monitorx, M::Mwaitx], RARE),
];

/// Single forms of an instruction.
pub const EXCLUDED_FORMS: &[(&[Code], &str)] = &[
    // For a count above 16; the immediate forms are only given smaller ones.
    (&[Code::Shld_rm16_r16_CL, Code::Shrd_rm16_r16_CL, Code::Bswap_r16], RESULT),
    (&[Code::Jmp_m1616, Code::Jmp_m1632, Code::Jmp_m1664], SELECTORS),
    (&[Code::Call_m1616, Code::Call_m1632, Code::Call_m1664], SELECTORS),
];

/// Why an instruction that user mode may execute is left out; `None` when it is compared.
#[must_use]
pub fn reason(code: Code) -> Option<&'static str> {
    let info = code.op_code();
    if !info.is_instruction() || !info.mode64() || !info.intel_decoder64() {
        return Some("does not exist in 64-bit mode");
    }
    if !matches!(info.encoding(), EncodingKind::Legacy | EncodingKind::VEX) {
        return Some("XOP, EVEX and later encodings are not implemented");
    }
    if info.is_privileged() {
        return Some("belongs to ring 0");
    }
    if info.op_kinds().iter().any(|kind| {
        matches!(kind, Kind::seg_reg | Kind::es | Kind::cs | Kind::ss | Kind::ds | Kind::fs | Kind::gs)
    }) {
        return Some(SELECTORS);
    }
    if code.cpuid_features().iter().any(of_one_vendor) {
        return Some(RARE);
    }
    let by_name = EXCLUDED.iter().find(|(mnemonics, _)| mnemonics.contains(&code.mnemonic()));
    let by_form = EXCLUDED_FORMS.iter().find(|(codes, _)| codes.contains(&code));
    by_name.map(|(_, reason)| *reason).or(by_form.map(|(_, reason)| *reason))
}

/// Whether an instruction uses the x87 registers: x87 itself and MMX.
#[must_use]
pub fn is_x87(code: Code) -> bool {
    let info = code.op_code();
    let operand = |kind: &Kind| matches!(kind, Kind::mm_reg | Kind::mm_rm | Kind::mm_or_mem);
    code.mnemonic() == M::Wait
        || info.op_kinds().iter().any(operand)
        || code.cpuid_features().iter().any(|feature| format!("{feature:?}").starts_with("FPU"))
}

fn of_one_vendor(feature: &CpuidFeature) -> bool {
    use CpuidFeature as F;
    matches!(
        feature,
        F::CYRIX_FPU
            | F::CYRIX_EMMI
            | F::CYRIX_DMI
            | F::CYRIX_DDI
            | F::CYRIX_SHR
            | F::CYRIX_SMINT
            | F::CYRIX_SMM
    ) || matches!(feature, F::D3NOW | F::D3NOWEXT)
}
