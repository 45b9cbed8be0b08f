//! Vector instructions, SSE to AVX-512: the same ones, on the same registers, which are the guest's from the first of
//! them on.
//!
//! MXCSR of the host is the guest's too while code runs whose exceptions are all masked, so that rounding, denormals
//! and the flags of exceptions are what the CPU makes of them. With an unmasked exception whatever looks at MXCSR is
//! the interpreter's. An access that crosses a page is too, so that all of a masked one may be accessed.

use crate::frame::{T1, T2};
use crate::kinds::{Kind, kind};
use crate::plan::Access;
use crate::registers::Vectors;
use crate::translate::{Done, Left, Translation};
use iced_x86::{Code, EncodingKind, Instruction, Mnemonic as M, OpKind};
use soft_cpu::compiled::operations;

impl Translation<'_> {
    /// None: it is no vector instruction that is compiled.
    pub(crate) fn vector(&mut self, instruction: &Instruction) -> Option<Done> {
        kind(instruction).map(|kind| self.vector_of(instruction, kind))
    }

    fn vector_of(&mut self, instruction: &Instruction, kind: Kind) -> Done {
        let operands = instruction.op_count();
        for n in 0..operands {
            let register = instruction.op_register(n);
            match instruction.op_kind(n) {
                OpKind::Register if register.is_vector_register() || register.is_k() => {}
                OpKind::Register if matches!(register.size(), 4 | 8) && register.is_gpr() => {}
                OpKind::Memory | OpKind::Immediate8 => {}
                _ => return Err(Left),
            }
        }
        if kind == Kind::IntelFloats && !self.around.intel {
            return Err(Left);
        }
        let needed = self.needed(instruction)?;
        self.load_vectors(needed, kind != Kind::Integers);
        let mut changed = *instruction;
        if (0..operands).any(|n| instruction.op_kind(n) == OpKind::Memory) {
            let bytes = instruction.memory_size().size();
            if bytes == 0 {
                return Err(Left);
            }
            let written = instruction.op0_kind() == OpKind::Memory;
            let access = if written { Access::Write } else { Access::Read };
            let memory = if is_aligned(instruction, bytes) {
                changed.set_code(unaligned(instruction.code()));
                self.aligned_memory(instruction, bytes, access)?
            } else {
                self.memory(instruction, bytes, access)?
            };
            self.with_memory(&mut changed, memory);
        }
        for n in 0..operands {
            let register = instruction.op_register(n);
            if instruction.op_kind(n) == OpKind::Register && register.is_gpr() {
                let host = match n {
                    0 => self.write(register, T1, false),
                    _ => self.read(register, T2),
                };
                changed.set_op_register(n, host);
            }
        }
        self.e.any(&changed);
        if instruction.rflags_modified() != 0 {
            self.host_made_flags();
        }
        if instruction.op0_kind() == OpKind::Register && instruction.op0_register().is_gpr() {
            self.written(instruction.op0_register(), T1);
        }
        for (sum, count) in self.operations.iter_mut().zip(operations(instruction)) {
            *sum += u16::from(count);
        }
        Ok(())
    }

    /// The registers that an instruction needs, if guest and host have it.
    fn needed(&self, instruction: &Instruction) -> Result<Vectors, Left> {
        if instruction.encoding() == EncodingKind::Legacy {
            return Ok(Vectors::Sse);
        }
        // Those without a bit of CPUID do not exist.
        if !self.source.features.allow(instruction) || !self.around.host.allow(instruction) {
            return Err(Left);
        }
        let masks = (0..instruction.op_count())
            .any(|n| instruction.op_kind(n) == OpKind::Register && instruction.op_register(n).is_k());
        let evex = instruction.encoding() == EncodingKind::EVEX;
        Ok(if evex || masks { Vectors::Avx512 } else { Vectors::Avx })
    }
}

/// Whether a memory operand has to be aligned to its size (SDM volume 1, sections 4.1.1 and 14.9).
fn is_aligned(instruction: &Instruction, bytes: usize) -> bool {
    match instruction.mnemonic() {
        M::Movups | M::Movupd | M::Movdqu | M::Lddqu => false,
        M::Vmovaps | M::Vmovapd | M::Vmovdqa | M::Vmovdqa32 | M::Vmovdqa64 => true,
        M::Vmovntps | M::Vmovntpd | M::Vmovntdq | M::Vmovntdqa => true,
        _ => bytes == 16 && instruction.encoding() == EncodingKind::Legacy,
    }
}

/// A move of the same bytes that need not be aligned: RAM is in the host's memory by 16 bytes only.
fn unaligned(code: Code) -> Code {
    macro_rules! moves {
        ($code:expr, $($aligned:ident $unaligned:ident;)*) => {
            pastey::paste! {
                match $code {
                    $(
                        Code::[<VEX_ $aligned _xmm_xmmm128>] => Code::[<VEX_ $unaligned _xmm_xmmm128>],
                        Code::[<VEX_ $aligned _ymm_ymmm256>] => Code::[<VEX_ $unaligned _ymm_ymmm256>],
                        Code::[<VEX_ $aligned _xmmm128_xmm>] => Code::[<VEX_ $unaligned _xmmm128_xmm>],
                        Code::[<VEX_ $aligned _ymmm256_ymm>] => Code::[<VEX_ $unaligned _ymmm256_ymm>],
                    )*
                    same => same,
                }
            }
        };
    }
    macro_rules! masked_moves {
        ($code:expr, $($aligned:ident $unaligned:ident;)*) => {
            pastey::paste! {
                match $code {
                    $(
                        Code::[<EVEX_ $aligned _xmm_k1z_xmmm128>] => Code::[<EVEX_ $unaligned _xmm_k1z_xmmm128>],
                        Code::[<EVEX_ $aligned _ymm_k1z_ymmm256>] => Code::[<EVEX_ $unaligned _ymm_k1z_ymmm256>],
                        Code::[<EVEX_ $aligned _zmm_k1z_zmmm512>] => Code::[<EVEX_ $unaligned _zmm_k1z_zmmm512>],
                        Code::[<EVEX_ $aligned _xmmm128_k1z_xmm>] => Code::[<EVEX_ $unaligned _xmmm128_k1z_xmm>],
                        Code::[<EVEX_ $aligned _ymmm256_k1z_ymm>] => Code::[<EVEX_ $unaligned _ymmm256_k1z_ymm>],
                        Code::[<EVEX_ $aligned _zmmm512_k1z_zmm>] => Code::[<EVEX_ $unaligned _zmmm512_k1z_zmm>],
                    )*
                    same => same,
                }
            }
        };
    }
    macro_rules! stores {
        ($code:expr, $($aligned:ident)*) => {
            pastey::paste! {
                match $code {
                    $(
                        Code::[<VEX_ $aligned _m128_xmm>] => Code::VEX_Vmovdqu_xmmm128_xmm,
                        Code::[<VEX_ $aligned _m256_ymm>] => Code::VEX_Vmovdqu_ymmm256_ymm,
                        Code::[<EVEX_ $aligned _m128_xmm>] => Code::EVEX_Vmovdqu32_xmmm128_k1z_xmm,
                        Code::[<EVEX_ $aligned _m256_ymm>] => Code::EVEX_Vmovdqu32_ymmm256_k1z_ymm,
                        Code::[<EVEX_ $aligned _m512_zmm>] => Code::EVEX_Vmovdqu32_zmmm512_k1z_zmm,
                    )*
                    Code::VEX_Vmovntdqa_xmm_m128 => Code::VEX_Vmovdqu_xmm_xmmm128,
                    Code::VEX_Vmovntdqa_ymm_m256 => Code::VEX_Vmovdqu_ymm_ymmm256,
                    Code::EVEX_Vmovntdqa_xmm_m128 => Code::EVEX_Vmovdqu32_xmm_k1z_xmmm128,
                    Code::EVEX_Vmovntdqa_ymm_m256 => Code::EVEX_Vmovdqu32_ymm_k1z_ymmm256,
                    Code::EVEX_Vmovntdqa_zmm_m512 => Code::EVEX_Vmovdqu32_zmm_k1z_zmmm512,
                    same => same,
                }
            }
        };
    }
    let code = moves!(code, Vmovaps Vmovups; Vmovapd Vmovupd; Vmovdqa Vmovdqu;);
    let code =
        masked_moves!(code, Vmovaps Vmovups; Vmovapd Vmovupd; Vmovdqa32 Vmovdqu32; Vmovdqa64 Vmovdqu64;);
    stores!(code, Vmovntps Vmovntpd Vmovntdq)
}
