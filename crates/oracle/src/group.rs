//! Extensions, for the report.

use iced_x86::{Code, CpuidFeature as F, EncodingKind, Mnemonic, OpCodeOperandKind as Kind};

/// The name of a group.
pub(crate) const X87: &str = "x87, FXSAVE";

/// The extension that an instruction belongs to.
pub(crate) fn of(code: Code) -> &'static str {
    let info = code.op_code();
    let mmx = |kind: &Kind| matches!(kind, Kind::mm_reg | Kind::mm_rm | Kind::mm_or_mem);
    if info.op_kinds().iter().any(mmx) || code == Code::Emms {
        return "MMX, and conversions from and to it";
    }
    if code.mnemonic() == Mnemonic::Wait {
        return X87;
    }
    let features = code.cpuid_features();
    match info.encoding() {
        EncodingKind::EVEX => features.iter().find_map(evex).unwrap_or("AVX-512 F"),
        EncodingKind::VEX => features.iter().find_map(vex).unwrap_or("AVX"),
        _ => features.iter().find_map(legacy).unwrap_or("integer"),
    }
}

const CRYPTO: &str = "AES, PCLMULQDQ, SHA, GFNI";

fn legacy(feature: &F) -> Option<&'static str> {
    match feature {
        F::FPU | F::FPU287 | F::FPU287XL_ONLY | F::FPU387 | F::FXSR => Some(X87),
        F::SSE => Some("SSE"),
        F::SSE2 | F::CLFSH => Some("SSE2"),
        F::SSE3 | F::SSSE3 => Some("SSE3, SSSE3"),
        F::SSE4_1 | F::SSE4_2 => Some("SSE4"),
        F::BMI1 | F::BMI2 | F::ADX | F::LZCNT | F::POPCNT | F::MOVBE => Some(BMI),
        F::AES | F::PCLMULQDQ | F::SHA | F::GFNI => Some(CRYPTO),
        F::XSAVE | F::XSAVEC | F::XSAVEOPT => Some("XSAVE"),
        _ => None,
    }
}

const BMI: &str = "BMI1, BMI2, ADX, LZCNT, POPCNT, MOVBE";

fn vex(feature: &F) -> Option<&'static str> {
    match feature {
        F::BMI1 | F::BMI2 => Some(BMI),
        F::AVX2 => Some("AVX2"),
        F::FMA => Some("FMA, F16C"),
        F::F16C => Some("FMA, F16C"),
        F::AES | F::PCLMULQDQ | F::VAES | F::VPCLMULQDQ | F::GFNI => Some("VEX: AES, PCLMULQDQ, GFNI"),
        F::AVX_VNNI | F::AVX_IFMA | F::AVX_VNNI_INT8 | F::AVX_VNNI_INT16 | F::AVX_NE_CONVERT => {
            Some("AVX-VNNI, AVX-IFMA and the like")
        }
        F::SHA512 | F::SM3 | F::SM4 => Some("SHA512, SM3, SM4"),
        F::AVX512F | F::AVX512BW | F::AVX512DQ => Some("AVX-512: mask registers"),
        _ => None,
    }
}

fn evex(feature: &F) -> Option<&'static str> {
    match feature {
        F::AVX512BW => Some("AVX-512 BW"),
        F::AVX512CD => Some("AVX-512 CD"),
        F::AVX512DQ => Some("AVX-512 DQ"),
        F::AVX512_FP16 => Some("AVX-512 FP16"),
        F::AVX512_BF16 => Some("AVX-512 BF16"),
        F::AVX512_VBMI | F::AVX512_VBMI2 | F::AVX512_BITALG | F::AVX512_VPOPCNTDQ => {
            Some("AVX-512 VBMI, VBMI2, BITALG, VPOPCNTDQ")
        }
        F::AVX512_IFMA | F::AVX512_VNNI => Some("AVX-512 IFMA, VNNI"),
        F::VAES | F::VPCLMULQDQ | F::GFNI => Some("EVEX: AES, PCLMULQDQ, GFNI"),
        F::AVX512_VP2INTERSECT => Some("AVX-512 VP2INTERSECT"),
        _ => None,
    }
}
