//! Generated basic blocks.

use iced_x86::{Code, IcedError, Instruction, MemoryOperand, OpCodeOperandKind, Register};

/// What a block is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Chain,
    Wide,
    Loads,
    Stores,
    Sse,
    Mixed,
    /// VEX encodings of YMM registers.
    Avx,
    /// EVEX encodings of ZMM and upper YMM registers, some under a mask.
    Avx512,
}

/// What every CPU executes.
pub(crate) const KINDS: [Kind; 6] =
    [Kind::Chain, Kind::Wide, Kind::Loads, Kind::Stores, Kind::Sse, Kind::Mixed];

/// The kinds for a core with AVX2, and with AVX-512 or without.
pub(crate) fn kinds(avx512: bool) -> Vec<Kind> {
    KINDS.into_iter().chain([Kind::Avx]).chain(avx512.then_some(Kind::Avx512)).collect()
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Chain => "dependency chains",
            Self::Wide => "wide integer",
            Self::Loads => "loads",
            Self::Stores => "stores",
            Self::Sse => "SSE",
            Self::Mixed => "mixed",
            Self::Avx => "AVX",
            Self::Avx512 => "AVX-512",
        }
    }
}

const INTEGER: [Code; 12] = [
    Code::Add_r64_rm64,
    Code::Sub_r64_rm64,
    Code::And_r64_rm64,
    Code::Or_r64_rm64,
    Code::Xor_r32_rm32,
    Code::Imul_r64_rm64,
    Code::Cmp_r64_rm64,
    Code::Mov_r64_rm64,
    Code::Adc_r64_rm64,
    Code::Popcnt_r64_rm64,
    Code::Cmovb_r64_rm64,
    Code::Movsxd_r64_rm32,
];
const VECTOR: [Code; 16] = [
    Code::Addpd_xmm_xmmm128,
    Code::Mulpd_xmm_xmmm128,
    Code::Addsd_xmm_xmmm64,
    Code::Mulss_xmm_xmmm32,
    Code::Divsd_xmm_xmmm64,
    Code::Sqrtsd_xmm_xmmm64,
    Code::Paddd_xmm_xmmm128,
    Code::Pmulld_xmm_xmmm128,
    Code::Pmaddwd_xmm_xmmm128,
    Code::Pxor_xmm_xmmm128,
    Code::Pshufb_xmm_xmmm128,
    Code::Punpcklbw_xmm_xmmm128,
    Code::Minps_xmm_xmmm128,
    Code::Pcmpeqd_xmm_xmmm128,
    Code::Andps_xmm_xmmm128,
    Code::Movaps_xmm_xmmm128,
];
/// The same of three operands: destination, source, and a source that may be memory.
const AVX: [Code; 18] = [
    Code::VEX_Vaddps_ymm_ymm_ymmm256,
    Code::VEX_Vmulpd_ymm_ymm_ymmm256,
    Code::VEX_Vfmadd231ps_ymm_ymm_ymmm256,
    Code::VEX_Vfnmadd213pd_ymm_ymm_ymmm256,
    Code::VEX_Vdivps_ymm_ymm_ymmm256,
    Code::VEX_Vmaxpd_ymm_ymm_ymmm256,
    Code::VEX_Vpaddd_ymm_ymm_ymmm256,
    Code::VEX_Vpmulld_ymm_ymm_ymmm256,
    Code::VEX_Vpmaddwd_ymm_ymm_ymmm256,
    Code::VEX_Vpxor_ymm_ymm_ymmm256,
    Code::VEX_Vpshufb_ymm_ymm_ymmm256,
    Code::VEX_Vpunpckhbw_ymm_ymm_ymmm256,
    Code::VEX_Vpermd_ymm_ymm_ymmm256,
    Code::VEX_Vpsllvd_ymm_ymm_ymmm256,
    Code::VEX_Vpcmpeqb_ymm_ymm_ymmm256,
    Code::VEX_Vandps_ymm_ymm_ymmm256,
    Code::VEX_Vaddsd_xmm_xmm_xmmm64,
    Code::VEX_Vfmadd231ss_xmm_xmm_xmmm32,
];
/// The same of AVX-512; those without a destination of 512 bits are of 256.
const AVX512: [Code; 18] = [
    Code::EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er,
    Code::EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er,
    Code::EVEX_Vfmadd231ps_zmm_k1z_zmm_zmmm512b32_er,
    Code::EVEX_Vfnmadd213pd_zmm_k1z_zmm_zmmm512b64_er,
    Code::EVEX_Vdivpd_zmm_k1z_zmm_zmmm512b64_er,
    Code::EVEX_Vminps_zmm_k1z_zmm_zmmm512b32_sae,
    Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32,
    Code::EVEX_Vpmuludq_zmm_k1z_zmm_zmmm512b64,
    Code::EVEX_Vpmaddwd_zmm_k1z_zmm_zmmm512,
    Code::EVEX_Vpxorq_zmm_k1z_zmm_zmmm512b64,
    Code::EVEX_Vpshufb_zmm_k1z_zmm_zmmm512,
    Code::EVEX_Vpermd_zmm_k1z_zmm_zmmm512b32,
    Code::EVEX_Vpsllvd_zmm_k1z_zmm_zmmm512b32,
    Code::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32,
    Code::EVEX_Vaddps_ymm_k1z_ymm_ymmm256b32,
    Code::EVEX_Vfmadd231pd_ymm_k1z_ymm_ymmm256b64,
    Code::EVEX_Vpaddq_ymm_k1z_ymm_ymmm256b64,
    Code::EVEX_Vpermd_ymm_k1z_ymm_ymmm256b32,
];
/// Base registers that no block writes.
const BASES: [Register; 2] = [Register::RSI, Register::RDI];
const GPR: [Register; 10] = [
    Register::RAX,
    Register::RCX,
    Register::RDX,
    Register::RBX,
    Register::R8,
    Register::R9,
    Register::R10,
    Register::R11,
    Register::R12,
    Register::R13,
];

/// A small generator, the same everywhere (Marsaglia's xorshift64).
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % limit.max(1)
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// A block of 4 to 16 instructions.
pub(crate) fn block(kind: Kind, random: &mut Random) -> Result<Vec<Instruction>, IcedError> {
    let len = 4 + random.below(13);
    // Few registers make chains, many make parallel work.
    let registers = match kind {
        Kind::Chain => 1 + random.below(2),
        Kind::Wide => 8 + random.below(3),
        _ => 3 + random.below(8),
    };
    (0..len).map(|position| instruction(kind, position, registers, random)).collect()
}

fn instruction(
    kind: Kind,
    position: usize,
    registers: usize,
    random: &mut Random,
) -> Result<Instruction, IcedError> {
    let vector = match kind {
        Kind::Sse | Kind::Avx | Kind::Avx512 => true,
        Kind::Chain | Kind::Mixed => random.below(3) == 0,
        Kind::Loads | Kind::Stores => random.below(4) == 0,
        Kind::Wide => false,
    };
    let memory = match kind {
        Kind::Loads => random.below(2) == 0,
        Kind::Stores => random.below(3) == 0,
        Kind::Mixed | Kind::Sse | Kind::Avx | Kind::Avx512 => random.below(5) == 0,
        Kind::Chain | Kind::Wide => false,
    };
    let store = memory && (kind == Kind::Stores || kind == Kind::Mixed && random.below(3) == 0);
    let general = |index: usize| GPR[index % GPR.len()];
    let xmm = |index: usize| Register::XMM0 + (index % 16) as u32;
    let place = |random: &mut Random| {
        MemoryOperand::with_base_displ(random.pick(&BASES), 8 * (16 * position + random.below(16)) as i64)
    };
    // Wide blocks write each register once.
    let destination = if kind == Kind::Wide { position } else { random.below(registers) };
    // Never the destination: that could be a zeroing idiom, which the models know differently.
    let source = destination + 1 + random.below(registers.max(2) - 1);
    if kind == Kind::Avx || kind == Kind::Avx512 {
        let code = random.pick(if kind == Kind::Avx { &AVX } else { &AVX512 });
        let place = memory.then(|| place(random));
        return three_operands(
            code,
            [destination, source, destination + 2 + random.below(registers)],
            place,
            random,
        );
    }
    if vector {
        if store {
            return Instruction::with2(Code::Movups_xmmm128_xmm, place(random), xmm(source));
        }
        let code = random.pick(&VECTOR);
        return if memory {
            Instruction::with2(code, xmm(destination), place(random))
        } else {
            Instruction::with2(code, xmm(destination), xmm(source))
        };
    }
    if store {
        let code = random.pick(&[Code::Mov_rm64_r64, Code::Mov_rm64_r64, Code::Add_rm64_r64]);
        return Instruction::with2(code, place(random), general(source));
    }
    let code = random.pick(&INTEGER);
    let narrow = |register: Register| match code {
        Code::Xor_r32_rm32 => Register::EAX + (register as u32 - Register::RAX as u32),
        _ => register,
    };
    let source = match code {
        Code::Movsxd_r64_rm32 => Register::EAX + (general(source) as u32 - Register::RAX as u32),
        _ => narrow(general(source)),
    };
    if memory {
        Instruction::with2(code, narrow(general(destination)), place(random))
    } else {
        Instruction::with2(code, narrow(general(destination)), source)
    }
}

/// An instruction of three vector operands, the last of which may be memory. A quarter of those with an EVEX prefix are
/// under a mask.
fn three_operands(
    code: Code,
    registers: [usize; 3],
    place: Option<MemoryOperand>,
    random: &mut Random,
) -> Result<Instruction, IcedError> {
    let op_code = code.op_code();
    let first = match op_code.op_kind(0) {
        OpCodeOperandKind::zmm_reg => Register::ZMM0,
        OpCodeOperandKind::ymm_reg => Register::YMM0,
        _ => Register::XMM0,
    };
    let [destination, source, other] = registers.map(|index| first + (index % 16) as u32);
    let mut instruction = match place {
        Some(place) => Instruction::with3(code, destination, source, place)?,
        None => Instruction::with3(code, destination, source, other)?,
    };
    if op_code.can_use_op_mask_register() && random.below(4) == 0 {
        instruction.set_op_mask(Register::K1);
        instruction.set_zeroing_masking(op_code.can_use_zeroing_masking() && random.below(2) == 0);
    }
    Ok(instruction)
}
