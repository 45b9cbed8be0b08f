//! Units that uops take in turn, of which instructions and schedulers know.

/// Units that uops take in turn, a bit each; none if they do not.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct UnitsInTurn {
    pub(crate) all: u32,
    /// Those of a jump that is one uop with an operation that has a result; none if these are those of all jumps.
    pub(crate) jumps: u32,
}

impl UnitsInTurn {
    /// True if uops that can go to these units wait for their turn.
    #[inline(always)]
    pub(crate) fn include(self, units: u32) -> bool {
        units & !self.all == 0 && units != 0
    }

    /// The turns that uops of these units can have, a bit each.
    #[inline(always)]
    pub(crate) fn turns(self, units: u32) -> u8 {
        ((units & self.all) >> (self.first() & 31)) as u8
    }

    /// The unit that has the first turn; the others follow it.
    #[inline(always)]
    pub(crate) fn first(self) -> u32 {
        self.all.trailing_zeros()
    }
}
