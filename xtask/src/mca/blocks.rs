//! Generated basic blocks.

use iced_x86::{Code, IcedError, Instruction, MemoryOperand, Register};

/// What a block is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Chain,
    Wide,
    Loads,
    Stores,
    Sse,
    Mixed,
}

pub(crate) const KINDS: [Kind; 6] =
    [Kind::Chain, Kind::Wide, Kind::Loads, Kind::Stores, Kind::Sse, Kind::Mixed];

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Chain => "dependency chains",
            Self::Wide => "wide integer",
            Self::Loads => "loads",
            Self::Stores => "stores",
            Self::Sse => "SSE",
            Self::Mixed => "mixed",
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
        Kind::Sse => true,
        Kind::Chain | Kind::Mixed => random.below(3) == 0,
        Kind::Loads | Kind::Stores => random.below(4) == 0,
        Kind::Wide => false,
    };
    let memory = match kind {
        Kind::Loads => random.below(2) == 0,
        Kind::Stores => random.below(3) == 0,
        Kind::Mixed | Kind::Sse => random.below(5) == 0,
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
