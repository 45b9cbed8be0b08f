//! Upper bits of vector registers, which legacy SSE instructions keep: some cores merge them into the result, which
//! then depends on the destination, for as long as upper bits of any register are in use. Which instructions that
//! makes slower follows from program order alone.

use retire::{Block, BlockId, Instruction, Renaming, UpperBits};

/// Whether upper bits are in use, and what that makes of blocks.
#[derive(Debug, Default)]
pub(crate) struct UpperBitsTracker {
    in_use: bool,
    /// By [`BlockId::index`].
    blocks: Vec<Tracked>,
}

#[derive(Debug, Default)]
struct Tracked {
    /// The definition of the block for when they are in use before it, if it is another one.
    merging: Option<BlockId>,
    /// Instructions by their position in the block, and whether upper bits are in use behind them.
    changes: Box<[(u8, bool)]>,
}

impl UpperBitsTracker {
    /// A block was defined, `merging` for when upper bits are in use.
    pub(crate) fn define(&mut self, id: BlockId, merging: Option<BlockId>, instructions: &[Instruction]) {
        let change = |(number, instruction): (u8, &Instruction)| Some((number, changed(instruction)?));
        let changes = (0..).zip(instructions).filter_map(change).collect();
        let index = id.index as usize;
        if index >= self.blocks.len() {
            self.blocks.resize_with(index + 1, Tracked::default);
        }
        self.blocks[index] = Tracked { merging, changes };
    }

    /// A block was released, and with it the definition that this returns.
    pub(crate) fn release(&mut self, id: BlockId) -> Option<BlockId> {
        self.blocks.get_mut(id.index as usize).and_then(|tracked| tracked.merging.take())
    }

    /// The definition of a block that has retired, or of a part of it, as upper bits were before that.
    #[inline(always)]
    pub(crate) fn retire(&mut self, block: &Block<'_>) -> BlockId {
        let Some(tracked) = self.blocks.get(block.id.index as usize) else { return block.id };
        let id = tracked.merging.filter(|_| self.in_use).unwrap_or(block.id);
        let retired = u32::from(block.first)..u32::from(block.first) + u32::from(block.count);
        let last = tracked.changes.iter().rfind(|(number, _)| retired.contains(&u32::from(*number)));
        if let Some((_, in_use)) = last {
            self.in_use = *in_use;
        }
        id
    }
}

/// Whether upper bits are in use behind an instruction that changes it.
fn changed(instruction: &Instruction) -> Option<bool> {
    match instruction.encoding.upper_bits {
        UpperBits::Written => Some(true),
        UpperBits::Cleared => Some(false),
        UpperBits::None | UpperBits::Kept(_) => None,
    }
}

/// The instructions of a block on a core that merges, if upper bits are in use before it or not.
pub(crate) fn merge(instructions: &[Instruction], in_use: bool) -> Vec<Instruction> {
    let merge = |in_use: &mut bool, instruction: &Instruction| {
        *in_use = changed(instruction).unwrap_or(*in_use);
        Some(match instruction.encoding.upper_bits {
            UpperBits::Kept(register) if *in_use => Instruction {
                sources: instruction.sources | 1 << register,
                // What is merged is computed.
                renaming: Renaming::None,
                ..*instruction
            },
            _ => *instruction,
        })
    };
    instructions.iter().scan(in_use, merge).collect()
}
