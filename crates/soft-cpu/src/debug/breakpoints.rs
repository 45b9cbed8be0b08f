//! Debug registers: breakpoints on instructions, data and I/O ports (SDM volume 3, chapter "Debug").
//!
//! What is not armed costs nothing: pages with data breakpoints stay out of the TLB, so that only accesses to
//! them come to [`Core::watch_data`](crate::context::Core::watch_data), and only armed instruction breakpoints slow
//! the run loop down.

use crate::mmu::PAGE;

/// DR6: a MOV to or from a debug register with DR7.GD set.
pub(crate) const DR6_BD: u64 = 1 << 13;
/// DR6: single step.
pub(crate) const DR6_BS: u64 = 1 << 14;
/// DR6: which of DR0 to DR3 matched.
pub(super) const DR6_TRAPS: u64 = 0xF;
/// DR7: general detect.
pub(crate) const DR7_GD: u64 = 1 << 13;

/// What one of DR0 to DR3 waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Condition {
    #[default]
    Off,
    Execute,
    Write,
    Port,
    Access,
}

#[derive(Debug, Clone, Copy, Default)]
struct Breakpoint {
    condition: Condition,
    first: u64,
    last: u64,
}

impl Breakpoint {
    fn touches(&self, first: u64, last: u64) -> bool {
        first <= self.last && last >= self.first
    }
}

/// DR0 to DR3 and DR7, decoded.
#[derive(Debug, Default)]
pub(crate) struct Breakpoints {
    each: [Breakpoint; 4],
    /// There are instruction breakpoints.
    pub(crate) execute: bool,
    /// There are data breakpoints, or a debugger watches data.
    pub(crate) data: bool,
    /// There are I/O breakpoints.
    pub(crate) port: bool,
}

impl Breakpoints {
    pub(super) fn new(dr: [u64; 4], dr7: u64, extensions: bool) -> Self {
        let mut all = Self::default();
        for (n, (breakpoint, address)) in all.each.iter_mut().zip(dr).enumerate() {
            let enabled = dr7 >> (2 * n) & 3 != 0;
            let condition = match dr7 >> (16 + 4 * n) & 3 {
                _ if !enabled => Condition::Off,
                0 => Condition::Execute,
                1 => Condition::Write,
                // Undefined without CR4.DE.
                2 if !extensions => Condition::Off,
                2 => Condition::Port,
                _ => Condition::Access,
            };
            // The length field; 2 is eight bytes. Instruction breakpoints have a length of 1.
            let len = [1, 2, 8, 4][(dr7 >> (18 + 4 * n) & 3) as usize];
            let len = if condition == Condition::Execute { 1 } else { len };
            let first = address & !(len - 1);
            *breakpoint = Breakpoint { condition, first, last: first + (len - 1) };
            all.execute |= condition == Condition::Execute;
            all.data |= matches!(condition, Condition::Write | Condition::Access);
            all.port |= condition == Condition::Port;
        }
        all
    }

    /// DR6 bits of the breakpoints with one of the conditions that the range touches.
    pub(super) fn hits(&self, first: u64, last: u64, conditions: &[Condition]) -> u64 {
        self.each.iter().enumerate().fold(0, |bits, (n, breakpoint)| {
            let hit = conditions.contains(&breakpoint.condition) && breakpoint.touches(first, last);
            bits | u64::from(hit) << n
        })
    }

    /// Whether accesses to the page of a linear address have to be looked at one by one.
    pub(super) fn watch_page(&self, linear: u64) -> bool {
        let first = linear & !(PAGE - 1);
        self.hits(first, first + (PAGE - 1), &[Condition::Write, Condition::Access]) != 0
    }
}
