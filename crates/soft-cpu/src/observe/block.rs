//! What an observer has made of a block.

use crate::context::Mode;
use crate::{decode, describe};
use iced_x86::{FlowControl, Instruction, InstructionInfoFactory};
use retire::{BlockId, BranchKind, Observer};

/// How a block's last instruction goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// With the next instruction.
    Next,
    /// To a target or to the next instruction.
    Conditional,
    /// To a target.
    Near(BranchKind),
    /// To a target, if it retires as a branch: INTO need not.
    Far,
}

/// An instruction for which the run loop has more to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Special {
    No,
    /// REP: its iterations are counted.
    Repeats,
    /// Its operand is not accessed, only hinted at.
    Prefetch,
}

/// The instructions of a block as an observer wants them.
#[derive(Debug)]
pub(crate) struct Observed {
    /// What the observer knows it by.
    pub(crate) id: BlockId,
    pub(crate) specials: Box<[Special]>,
    pub(crate) ending: Ending,
    /// The near branch at its end.
    pub(crate) branch: Option<BranchKind>,
    /// The instructions are about registers and memory only, and may be reported in a batch.
    pub(crate) batched: bool,
    /// Where its last instruction begins, in bytes from the start.
    pub(crate) last: u16,
    /// Log2 of the size of the page that it was fetched from when it was decoded.
    pub(crate) page: u8,
}

impl Observed {
    /// The `count` instructions at the start of `bytes`.
    pub(crate) fn new<O: Observer>(
        observer: &mut O,
        bytes: &[u8],
        mode: Mode,
        count: usize,
        page: u8,
    ) -> Self {
        let mut ending = Ending::Next;
        let mut batched = true;
        let mut decoder = decode::decoder(bytes, mode);
        let mut instruction = Instruction::default();
        let mut info = InstructionInfoFactory::new();
        let described = (0..count).map(|_| {
            let start = decoder.position();
            decoder.decode_out(&mut instruction);
            let code = bytes.get(start..decoder.position()).unwrap_or_default();
            ending = Ending::new(&instruction);
            let special = Special::new(&instruction);
            batched &= special == Special::No && ending != Ending::Far && !is_single(&instruction);
            (describe::instruction(&instruction, code, &mut info), special)
        });
        let (described, specials): (Vec<_>, Vec<_>) = described.unzip();
        // Where execution goes on does not show whether that has jumped.
        batched &= ending != Ending::Conditional || instruction.near_branch_target() != instruction.next_ip();
        let last = described.last().map_or(0, |last| last.offset);
        let id = observer.define(&described);
        let branch = match ending {
            Ending::Conditional => Some(BranchKind::Conditional),
            Ending::Near(kind) => Some(kind),
            Ending::Next | Ending::Far => None,
        };
        Self { id, specials: specials.into(), ending, branch, batched, last, page }
    }
}

/// True if the instruction may call the bus for something else than RAM, changes what is translated, or accesses
/// memory many times.
fn is_single(instruction: &Instruction) -> bool {
    use iced_x86::Mnemonic as M;
    let control = |operand| {
        let register = instruction.op_register(operand);
        register.is_cr() || register.is_dr() || register.is_segment_register()
    };
    instruction.is_privileged()
        || instruction.is_save_restore_instruction()
        || instruction.is_string_instruction()
        || !matches!(
            instruction.flow_control(),
            FlowControl::Next
                | FlowControl::ConditionalBranch
                | FlowControl::UnconditionalBranch
                | FlowControl::IndirectBranch
                | FlowControl::Call
                | FlowControl::IndirectCall
                | FlowControl::Return
        )
        || instruction.stack_pointer_increment().abs() > 8
        || instruction.op_count() > 0 && control(0)
        || instruction.op_count() > 1 && control(1)
        || matches!(
            instruction.mnemonic(),
            M::Rdtsc
                | M::Rdtscp
                | M::Rdpmc
                | M::Rdpid
                | M::Cpuid
                | M::Xgetbv
                | M::Popf
                | M::Popfd
                | M::Popfq
                | M::Enter
                | M::Lds
                | M::Les
                | M::Lfs
                | M::Lgs
                | M::Lss
                | M::Clflush
                | M::Clflushopt
                | M::Clwb
                | M::Pause
                | M::Fldenv
                | M::Fnstenv
                | M::Fstenv
                | M::Maskmovq
                | M::Maskmovdqu
                | M::Rdfsbase
                | M::Rdgsbase
                | M::Wrfsbase
                | M::Wrgsbase
        )
}

impl Ending {
    fn new(instruction: &Instruction) -> Self {
        match instruction.flow_control() {
            FlowControl::ConditionalBranch => Self::Conditional,
            FlowControl::UnconditionalBranch if instruction.is_jmp_short_or_near() => {
                Self::Near(BranchKind::DirectJump)
            }
            FlowControl::IndirectBranch if instruction.is_jmp_near_indirect() => {
                Self::Near(BranchKind::IndirectJump)
            }
            FlowControl::Call if instruction.is_call_near() => Self::Near(BranchKind::DirectCall),
            FlowControl::IndirectCall if instruction.is_call_near_indirect() => {
                Self::Near(BranchKind::IndirectCall)
            }
            FlowControl::Return if instruction.mnemonic() == iced_x86::Mnemonic::Ret => {
                Self::Near(BranchKind::Return)
            }
            FlowControl::Next | FlowControl::XbeginXabortXend | FlowControl::Exception => Self::Next,
            _ => Self::Far,
        }
    }
}

impl Special {
    fn new(instruction: &Instruction) -> Self {
        use iced_x86::Mnemonic as M;
        let repeats = instruction.has_rep_prefix() || instruction.has_repne_prefix();
        match instruction.mnemonic() {
            M::Prefetchnta | M::Prefetcht0 | M::Prefetcht1 | M::Prefetcht2 | M::Prefetchw | M::Prefetch => {
                Self::Prefetch
            }
            _ if repeats && instruction.is_string_instruction() => Self::Repeats,
            _ => Self::No,
        }
    }
}
