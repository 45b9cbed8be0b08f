//! The taken branches of a program, found without asking the engine: one instruction at a time, from where it was
//! and where it is then.

use super::Setting;
use super::guest::{DISABLE, Guest, Program, UD_HANDLER, enable_at};
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic};
use vpmu::Profile;

/// Kinds of branches as the filters tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Conditional,
    RelativeJump,
    IndirectJump,
    RelativeCall,
    IndirectCall,
    Return,
    Far,
}

impl Kind {
    pub(super) const ALL: [Self; 7] = [
        Self::Conditional,
        Self::RelativeJump,
        Self::IndirectJump,
        Self::RelativeCall,
        Self::IndirectCall,
        Self::Return,
        Self::Far,
    ];

    /// Bit in MSR_LBR_SELECT and in IA32_LBR_CTL (SDM volume 3B).
    pub(super) fn bits(self) -> (u32, u32) {
        match self {
            Self::Conditional => (2, 16),
            Self::RelativeJump => (7, 17),
            Self::IndirectJump => (6, 18),
            Self::RelativeCall => (3, 19),
            Self::IndirectCall => (4, 20),
            Self::Return => (5, 21),
            Self::Far => (8, 22),
        }
    }

    /// BR_TYPE in IA32_LBR_x_INFO.
    pub(super) fn arch_type(self) -> u64 {
        match self {
            Self::Conditional => 0,
            Self::IndirectJump => 1,
            Self::RelativeJump => 2,
            Self::IndirectCall => 3,
            Self::RelativeCall => 4,
            Self::Return => 5,
            Self::Far => 8,
        }
    }
}

/// A taken branch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taken {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) kind: Kind,
    pub(super) from_ring: u8,
    pub(super) to_ring: u8,
    /// Instructions retired before it.
    pub(super) retired: u64,
    /// Instructions and branches retired up to it, itself included if it is one.
    pub(super) through: [u64; 2],
}

/// The branches between the WRMSR that begins recording and the one that ends it.
pub(super) fn trace(profile: &Profile, program: &Program) -> Vec<Taken> {
    let setting = Setting::of(&[]);
    let mut guest = Guest::new(profile, program, &setting);
    let mut taken = Vec::new();
    let mut recording = false;
    let mut branches = 0;
    for retired in 0.. {
        assert!(retired < 100_000, "program {} does not end", program.seed);
        let from = guest.rip();
        let from_ring = guest.ring();
        let instruction = decode(&guest, from);
        if !guest.step() {
            break;
        }
        if instruction.mnemonic() == Mnemonic::Wrmsr {
            recording = match from {
                from if from == enable_at() => true,
                from if from == DISABLE => false,
                _ => recording,
            };
        } else if recording {
            let faults = instruction.mnemonic() == Mnemonic::Ud2;
            branches += u64::from(kind(&instruction).is_some() && !faults);
            let through = [retired + u64::from(!faults), branches];
            let branch = |to, kind, to_ring| Taken { from, to, kind, from_ring, to_ring, retired, through };
            if faults {
                // It does not retire: the step was the first instruction of its handler.
                assert_eq!(decode(&guest, UD_HANDLER).flow_control(), FlowControl::Next);
                taken.push(branch(UD_HANDLER, Kind::Far, 0));
            } else if let Some(kind) = kind(&instruction)
                && guest.rip() != instruction.next_ip()
            {
                taken.push(branch(guest.rip(), kind, guest.ring()));
            }
        }
    }
    taken
}

fn decode(guest: &Guest, at: u64) -> Instruction {
    let mut bytes = [0; 15];
    guest.read(at, &mut bytes);
    Decoder::with_ip(32, &bytes, at, DecoderOptions::NONE).decode()
}

fn kind(instruction: &Instruction) -> Option<Kind> {
    Some(match instruction.flow_control() {
        FlowControl::ConditionalBranch => Kind::Conditional,
        FlowControl::UnconditionalBranch => Kind::RelativeJump,
        FlowControl::IndirectBranch => Kind::IndirectJump,
        FlowControl::Call => Kind::RelativeCall,
        FlowControl::IndirectCall => Kind::IndirectCall,
        FlowControl::Return if instruction.mnemonic() == Mnemonic::Ret => Kind::Return,
        FlowControl::Return | FlowControl::Interrupt => Kind::Far,
        _ => return None,
    })
}
