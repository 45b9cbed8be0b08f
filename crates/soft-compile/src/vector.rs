//! SSE instructions: the same ones, on the same registers, which are the guest's from the first of them on.
//!
//! MXCSR of the host is the guest's too while code runs whose exceptions are all masked, so that rounding, denormals
//! and the flags of exceptions are what the CPU makes of them. With an unmasked exception whatever looks at MXCSR is
//! the interpreter's, and so are estimates (RCPPS, RSQRTPS), whose bits differ among CPUs, and what works on MMX.

use crate::address::Access;
use crate::frame::{T1, T2};
use crate::translate::{Done, Left, Translation};
use iced_x86::{Instruction, Mnemonic as M, OpKind};
use soft_cpu::compiled::operations;

/// What an instruction needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It works on bits and integers.
    Integers,
    /// It looks at MXCSR, or changes it.
    Floats,
}

impl Translation<'_> {
    /// None: it is no SSE instruction that is compiled.
    pub(crate) fn vector(&mut self, instruction: &Instruction) -> Option<Done> {
        kind(instruction).map(|kind| self.vector_of(instruction, kind))
    }

    fn vector_of(&mut self, instruction: &Instruction, kind: Kind) -> Done {
        let operands = instruction.op_count();
        for n in 0..operands {
            let register = instruction.op_register(n);
            match instruction.op_kind(n) {
                OpKind::Register if register.is_xmm() && register.number() < 16 => {}
                OpKind::Register if matches!(register.size(), 4 | 8) && register.is_gpr() => {}
                OpKind::Memory | OpKind::Immediate8 => {}
                _ => return Err(Left),
            }
        }
        self.load_vectors(kind == Kind::Floats);
        let mut changed = *instruction;
        if (0..operands).any(|n| instruction.op_kind(n) == OpKind::Memory) {
            let bytes = instruction.memory_size().size();
            if bytes == 0 {
                return Err(Left);
            }
            let written = instruction.op0_kind() == OpKind::Memory;
            let access = if written { Access::Write } else { Access::Read };
            let memory = if bytes == 16 && is_aligned(instruction) {
                self.aligned_memory(instruction, access)?
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
}

/// An operand of 16 bytes has to be aligned (SDM volume 1, section 4.1.1).
fn is_aligned(instruction: &Instruction) -> bool {
    !matches!(instruction.mnemonic(), M::Movups | M::Movupd | M::Movdqu | M::Lddqu)
}

fn kind(instruction: &Instruction) -> Option<Kind> {
    let string = |n| !matches!(instruction.op_kind(n), OpKind::Register | OpKind::Memory);
    let vector = (0..instruction.op_count())
        .any(|n| instruction.op_kind(n) == OpKind::Register && instruction.op_register(n).is_xmm());
    // MOVSD and CMPSD are string instructions too.
    if !vector || string(0) {
        return None;
    }
    Some(match instruction.mnemonic() {
        M::Movaps | M::Movapd | M::Movups | M::Movupd | M::Movdqa | M::Movdqu | M::Lddqu => Kind::Integers,
        M::Movss | M::Movsd | M::Movd | M::Movq | M::Movlps | M::Movhps | M::Movlpd | M::Movhpd => {
            Kind::Integers
        }
        M::Movhlps | M::Movlhps | M::Movmskps | M::Movmskpd | M::Pmovmskb => Kind::Integers,
        M::Movddup | M::Movshdup | M::Movsldup => Kind::Integers,
        M::Movntdq | M::Movntps | M::Movntpd => Kind::Integers,
        M::Andps | M::Andpd | M::Andnps | M::Andnpd | M::Orps | M::Orpd | M::Xorps | M::Xorpd => {
            Kind::Integers
        }
        M::Pand | M::Pandn | M::Por | M::Pxor => Kind::Integers,
        M::Paddb | M::Paddw | M::Paddd | M::Paddq | M::Psubb | M::Psubw | M::Psubd | M::Psubq => {
            Kind::Integers
        }
        M::Paddsb | M::Paddsw | M::Paddusb | M::Paddusw => Kind::Integers,
        M::Psubsb | M::Psubsw | M::Psubusb | M::Psubusw => Kind::Integers,
        M::Pmullw | M::Pmulhw | M::Pmulhuw | M::Pmuludq | M::Pmaddwd | M::Psadbw => Kind::Integers,
        M::Pavgb | M::Pavgw | M::Pmaxub | M::Pmaxsw | M::Pminub | M::Pminsw => Kind::Integers,
        M::Pcmpeqb | M::Pcmpeqw | M::Pcmpeqd | M::Pcmpgtb | M::Pcmpgtw | M::Pcmpgtd => Kind::Integers,
        M::Psllw | M::Pslld | M::Psllq | M::Psrlw | M::Psrld | M::Psrlq | M::Psraw | M::Psrad => {
            Kind::Integers
        }
        M::Pslldq | M::Psrldq => Kind::Integers,
        M::Packsswb | M::Packssdw | M::Packuswb => Kind::Integers,
        M::Punpcklbw | M::Punpcklwd | M::Punpckldq | M::Punpcklqdq => Kind::Integers,
        M::Punpckhbw | M::Punpckhwd | M::Punpckhdq | M::Punpckhqdq => Kind::Integers,
        M::Unpcklps | M::Unpcklpd | M::Unpckhps | M::Unpckhpd => Kind::Integers,
        M::Pshufd | M::Pshuflw | M::Pshufhw | M::Shufps | M::Shufpd | M::Pinsrw | M::Pextrw => Kind::Integers,
        // SSSE3.
        M::Pshufb | M::Palignr | M::Pabsb | M::Pabsw | M::Pabsd | M::Pmaddubsw | M::Pmulhrsw => {
            Kind::Integers
        }
        M::Phaddw | M::Phaddd | M::Phaddsw | M::Phsubw | M::Phsubd | M::Phsubsw => Kind::Integers,
        M::Psignb | M::Psignw | M::Psignd => Kind::Integers,
        // SSE4.1 and SSE4.2.
        M::Pinsrb | M::Pinsrd | M::Pinsrq | M::Pextrb | M::Pextrd | M::Pextrq => Kind::Integers,
        M::Insertps | M::Extractps | M::Blendps | M::Blendpd | M::Pblendw => Kind::Integers,
        M::Pblendvb | M::Blendvps | M::Blendvpd | M::Ptest => Kind::Integers,
        M::Pmaxsb | M::Pmaxsd | M::Pmaxuw | M::Pmaxud => Kind::Integers,
        M::Pminsb | M::Pminsd | M::Pminuw | M::Pminud => Kind::Integers,
        M::Pmovsxbw | M::Pmovsxbd | M::Pmovsxbq | M::Pmovsxwd | M::Pmovsxwq | M::Pmovsxdq => Kind::Integers,
        M::Pmovzxbw | M::Pmovzxbd | M::Pmovzxbq | M::Pmovzxwd | M::Pmovzxwq | M::Pmovzxdq => Kind::Integers,
        M::Pmuldq | M::Pmulld | M::Pcmpeqq | M::Pcmpgtq | M::Packusdw | M::Phminposuw => Kind::Integers,
        // AES, PCLMULQDQ, SHA.
        M::Aesenc | M::Aesenclast | M::Aesdec | M::Aesdeclast | M::Aesimc | M::Aeskeygenassist => {
            Kind::Integers
        }
        M::Pclmulqdq | M::Sha1rnds4 | M::Sha1nexte | M::Sha1msg1 | M::Sha1msg2 => Kind::Integers,
        M::Sha256rnds2 | M::Sha256msg1 | M::Sha256msg2 => Kind::Integers,
        // Floats.
        M::Addps | M::Addpd | M::Addss | M::Addsd | M::Subps | M::Subpd | M::Subss | M::Subsd => Kind::Floats,
        M::Mulps | M::Mulpd | M::Mulss | M::Mulsd | M::Divps | M::Divpd | M::Divss | M::Divsd => Kind::Floats,
        M::Sqrtps | M::Sqrtpd | M::Sqrtss | M::Sqrtsd => Kind::Floats,
        M::Maxps | M::Maxpd | M::Maxss | M::Maxsd | M::Minps | M::Minpd | M::Minss | M::Minsd => Kind::Floats,
        M::Cmpps | M::Cmppd | M::Cmpss | M::Cmpsd => Kind::Floats,
        M::Comiss | M::Comisd | M::Ucomiss | M::Ucomisd => Kind::Floats,
        M::Cvtdq2ps | M::Cvtdq2pd | M::Cvtps2dq | M::Cvtpd2dq | M::Cvttps2dq | M::Cvttpd2dq => Kind::Floats,
        M::Cvtps2pd | M::Cvtpd2ps | M::Cvtss2sd | M::Cvtsd2ss => Kind::Floats,
        M::Cvtsi2ss | M::Cvtsi2sd | M::Cvtss2si | M::Cvtsd2si | M::Cvttss2si | M::Cvttsd2si => Kind::Floats,
        M::Addsubps | M::Addsubpd | M::Haddps | M::Haddpd | M::Hsubps | M::Hsubpd => Kind::Floats,
        M::Roundps | M::Roundpd | M::Roundss | M::Roundsd => Kind::Floats,
        _ => return None,
    })
}
