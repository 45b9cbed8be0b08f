//! Vector registers of the guest in those of the host: what is loaded when, and how that is stored again.
//!
//! A CPU whose upper halves are not 0 makes SSE instructions wait for each other, so that no more is loaded than what
//! has been used since code was entered, and upper halves are 0 again when it is left.

use crate::emit::Emitter;
use crate::frame::{
    ALL_VECTORS, FLOATS, HOST_MXCSR, LOADED, PASSED, PASSED_MASKS, PASSED_MXCSR, PASSED_VECTORS, T1, T2,
    VECTORS, at, local,
};
use iced_x86::{Code, MemoryOperand, Register};
use soft_cpu::compiled::{OPERATIONS, VECTOR};

/// Vector registers, each with those before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Vectors {
    /// None.
    None,
    /// XMM0 to XMM15.
    Sse,
    /// All bits of these that the CPU has.
    Avx,
    /// ZMM16 to ZMM31 and K0 to K7.
    Avx512,
}

impl Vectors {
    /// Those of this host.
    pub(crate) fn of_host() -> Self {
        if !is_x86_feature_detected!("avx") {
            Self::Sse
        } else if !(is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw")) {
            Self::Avx
        } else {
            Self::Avx512
        }
    }
}

/// Functions that load what has not been loaded yet, by what there is then.
pub(crate) const LOADED_BY: [Vectors; 3] = [Vectors::Sse, Vectors::Avx, Vectors::Avx512];

/// A function that code calls when it needs more: vector registers up to `wanted` become the guest's, and MXCSR does.
/// It uses the last two of the temporary registers, and leaves ZF if it has done so. Otherwise nothing has happened:
/// a host with 256 bits cannot have registers whose upper halves are not 0.
pub(crate) fn load(e: &mut Emitter, wanted: Vectors, widest: Vectors) {
    // Above the return address.
    let local = |offset: i64| local(offset + 8);
    e.rm(Code::Mov_r64_rm64, T2, local(PASSED));
    e.rm(Code::Mov_r64_rm64, T1, at(T2, PASSED_VECTORS));
    if wanted > widest {
        e.ri(Code::Test_rm64_imm32, Register::RSP, -1);
        e.bare(Code::Retnq);
        return;
    }
    let (has_sse, has_avx, fresh) = (e.label(), e.label(), e.label());
    if wanted > Vectors::Sse {
        e.mi(Code::Cmp_rm32_imm8, local(LOADED), Vectors::Sse as i32);
        e.jump_if(7, has_avx);
        e.jump_if(5, fresh);
        for number in 0..VECTORS {
            e.mr(Code::Movups_xmmm128_xmm, register(number), Register::XMM0 + number);
        }
        e.place(fresh);
    }
    if wanted == Vectors::Avx && widest == Vectors::Avx {
        let fits = e.label();
        e.rm(Code::VEX_Vmovups_ymm_ymmm256, Register::YMM0, at(T1, 32));
        for number in 1..VECTORS {
            let upper = at(T1, i64::from(number) * VECTOR as i64 + 32);
            e.rrm(Code::VEX_Vorps_ymm_ymm_ymmm256, Register::YMM0, Register::YMM0, upper);
        }
        e.rr(Code::VEX_Vptest_ymm_ymmm256, Register::YMM0, Register::YMM0);
        e.bare(Code::VEX_Vzeroupper);
        e.jump_if(4, fits);
        e.rm(Code::Movups_xmm_xmmm128, Register::XMM0, register(0));
        e.ri(Code::Test_rm64_imm32, Register::RSP, -1);
        e.bare(Code::Retnq);
        e.place(fits);
    }
    e.mi(Code::Cmp_rm32_imm8, local(LOADED), Vectors::None as i32);
    e.jump_if(5, has_sse);
    e.m(Code::Stmxcsr_m32, local(HOST_MXCSR));
    e.m(Code::Ldmxcsr_m32, at(T2, PASSED_MXCSR));
    for number in 0..OPERATIONS as i64 {
        e.mi(Code::Mov_rm64_imm32, local(FLOATS + 8 * number), 0);
    }
    e.place(has_sse);
    for number in 0..VECTORS {
        if wanted == Vectors::Sse {
            e.rm(Code::Movups_xmm_xmmm128, Register::XMM0 + number, register(number));
        } else {
            load_whole(e, number, widest);
        }
    }
    e.place(has_avx);
    if wanted == Vectors::Avx512 {
        for number in VECTORS..ALL_VECTORS {
            load_whole(e, number, widest);
        }
        e.rm(Code::Mov_r64_rm64, T1, at(T2, PASSED_MASKS));
        for number in 0..8 {
            e.rm(Code::VEX_Kmovq_kr_km64, Register::K0 + number, at(T1, 8 * i64::from(number)));
        }
    }
    e.mi(Code::Mov_rm32_imm32, local(LOADED), wanted as i32);
    e.rr(Code::Cmp_r64_rm64, T1, T1);
    e.bare(Code::Retnq);
}

/// What is loaded goes back to memory; something is. The pointer to what was passed is in the last temporary register.
pub(crate) fn store(e: &mut Emitter, widest: Vectors) {
    let (whole, done) = (e.label(), e.label());
    e.rm(Code::Mov_r64_rm64, T1, at(T2, PASSED_VECTORS));
    if widest > Vectors::Sse {
        e.mi(Code::Cmp_rm32_imm8, local(LOADED), Vectors::Avx as i32);
        e.jump_if(3, whole);
    }
    for number in 0..VECTORS {
        e.mr(Code::Movups_xmmm128_xmm, register(number), Register::XMM0 + number);
    }
    e.jump(done);
    e.place(whole);
    if widest > Vectors::Sse {
        let lower = e.label();
        if widest == Vectors::Avx512 {
            e.jump_if(4, lower);
            for number in VECTORS..ALL_VECTORS {
                store_whole(e, number, widest);
            }
            e.rm(Code::Mov_r64_rm64, Register::RCX, at(T2, PASSED_MASKS));
            for number in 0..8 {
                e.mr(Code::VEX_Kmovq_m64_kr, at(Register::RCX, 8 * i64::from(number)), Register::K0 + number);
            }
        }
        e.place(lower);
        for number in 0..VECTORS {
            store_whole(e, number, widest);
        }
        e.bare(Code::VEX_Vzeroupper);
    }
    e.place(done);
}

fn load_whole(e: &mut Emitter, number: u32, widest: Vectors) {
    if widest == Vectors::Avx512 {
        e.rm(Code::EVEX_Vmovups_zmm_k1z_zmmm512, Register::ZMM0 + number, register(number));
    } else {
        e.rm(Code::VEX_Vmovups_ymm_ymmm256, Register::YMM0 + number, register(number));
    }
}

fn store_whole(e: &mut Emitter, number: u32, widest: Vectors) {
    if widest == Vectors::Avx512 {
        e.mr(Code::EVEX_Vmovups_zmmm512_k1z_zmm, register(number), Register::ZMM0 + number);
    } else {
        e.mr(Code::VEX_Vmovups_ymmm256_ymm, register(number), Register::YMM0 + number);
    }
}

/// Where a vector register is in memory.
fn register(number: u32) -> MemoryOperand {
    at(T1, i64::from(number) * VECTOR as i64)
}
