//! AMD's branch records: one of the last branch, and the stack of LbrExtV2.
//!
//! The two are independent. DBG_CTL_MSR.LBR switches the first on, DBG_EXTN_CFG.LBRV2EN the second. Entry 0 of
//! the stack is the newest; there is no top-of-stack register.

use super::ring::Ring;
use super::{BranchFilter, BranchKind, BranchRecord, LbrEntry, MAX_DEPTH};
use crate::profile::LbrKind;
use crate::register::amd::{DbgExtnCfg, LbrSelect, RegisterId};

/// DBG_EXTN_CFG.LBRV2EN.
const STACK_ENABLE: u64 = 1 << 6;
/// SAMP_BR_FROM: mispredicted.
const MISPREDICTED: u64 = 1 << 63;
/// SAMP_BR_TO: the record holds a branch. With SPEC clear: it retired.
const VALID: u64 = 1 << 63;
/// SAMP_BR_FROM: the address and the copies of its sign.
const FROM_ADDRESS: u64 = (1 << 63) - 1;
/// SAMP_BR_TO: the address and the copies of its sign.
const TO_ADDRESS: u64 = (1 << 61) - 1;

/// The branch records of one AMD vCPU.
#[derive(Debug, Clone)]
pub(crate) struct AmdLbr {
    kind: LbrKind,
    last: LbrEntry,
    /// `last` as of the last interrupt or exception.
    last_interrupt: LbrEntry,
    select: u64,
    config: u64,
    /// Not used without a stack.
    ring: Ring,
    // What the registers ask for, as of the last [`update`](Self::update).
    records_last: bool,
    stack_filter: BranchFilter,
}

/// The saved branch records of an AMD vCPU.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
pub struct AmdLbrState {
    /// LastBranchFromIP.
    pub last_from: u64,
    /// LastBranchToIP.
    pub last_to: u64,
    /// LastIntFromIP.
    pub last_int_from: u64,
    /// LastIntToIP.
    pub last_int_to: u64,
    /// LBR_SELECT.
    pub select: u64,
    /// DBG_EXTN_CFG.
    pub config: u64,
    /// SAMP_BR_FROM and SAMP_BR_TO, newest first; those beyond the stack's depth are 0.
    pub entries: [(u64, u64); MAX_DEPTH],
}

impl AmdLbr {
    /// The records in their RESET state.
    pub(crate) fn new(kind: LbrKind) -> Self {
        Self {
            kind,
            last: LbrEntry::default(),
            last_interrupt: LbrEntry::default(),
            select: 0,
            config: 0,
            ring: Ring::new(kind.max_depth().max(1)),
            records_last: false,
            stack_filter: BranchFilter::EMPTY,
        }
    }

    /// What is recorded from now on.
    pub(crate) fn update(&mut self, debugctl_lbr: bool, frozen: bool) -> BranchFilter {
        self.records_last = debugctl_lbr && self.kind != LbrKind::None;
        let records_stack = DbgExtnCfg(self.config).lbr_v2_enable() && !frozen;
        self.stack_filter = if records_stack { self.selected() } else { BranchFilter::EMPTY };
        if self.records_last {
            self.stack_filter.or(BranchFilter::of(|_| true, true, true))
        } else {
            self.stack_filter
        }
    }

    fn selected(&self) -> BranchFilter {
        let select = LbrSelect(self.select);
        let admits = |kind| !match kind {
            BranchKind::Conditional => select.jcc(),
            BranchKind::IndirectJump => select.near_ind_jmp(),
            BranchKind::RelativeJump => select.near_rel_jmp(),
            BranchKind::IndirectCall => select.near_ind_call(),
            BranchKind::RelativeCall => select.near_rel_call(),
            BranchKind::Return => select.near_ret(),
            BranchKind::Other => select.far_branch(),
        };
        BranchFilter::of(admits, !select.cpl_eq_0(), !select.cpl_neq_0())
    }

    /// Records a branch that the filter of the last [`update`](Self::update) admits.
    pub(crate) fn record(&mut self, branch: &BranchRecord) {
        if self.records_last {
            self.last = LbrEntry { from: branch.from, to: branch.to, info: 0 };
        }
        if self.stack_filter.admits(branch.kind, branch.cpl) {
            let mispredicted = if branch.mispredicted { MISPREDICTED } else { 0 };
            let entry = LbrEntry {
                from: branch.from & FROM_ADDRESS | mispredicted,
                to: branch.to & TO_ADDRESS | VALID,
                info: 0,
            };
            self.ring.push(entry, branch.cycle);
        }
    }

    /// The newest branches of both recorders are not the newest ones of the stack.
    pub(crate) fn needs_every_branch(&self) -> bool {
        self.records_last && !self.stack_filter.is_empty()
    }

    /// LastBranchFromIP and LastBranchToIP.
    pub(crate) fn last(&self) -> (u64, u64) {
        (self.last.from, self.last.to)
    }

    /// An interrupt or exception other than #DB.
    pub(crate) fn interrupted(&mut self) {
        if self.records_last {
            self.last_interrupt = self.last;
        }
    }

    /// LastIntFromIP and LastIntToIP.
    pub(crate) fn last_interrupt(&self) -> (u64, u64) {
        (self.last_interrupt.from, self.last_interrupt.to)
    }

    /// Clears DBG_EXTN_CFG.LBRV2EN.
    pub(crate) fn disable_stack(&mut self) {
        self.config &= !STACK_ENABLE;
    }

    /// The word behind a register that software writes; `None` for others.
    pub(crate) fn word_mut(&mut self, id: RegisterId, n: usize) -> Option<&mut u64> {
        let index = self.ring.back(n as u64 % self.ring.depth);
        let entry = &mut self.ring.entries[index];
        Some(match id {
            RegisterId::LbrSelect => &mut self.select,
            RegisterId::DbgExtnCfg => &mut self.config,
            RegisterId::SampBrFrom => &mut entry.from,
            RegisterId::SampBrTo => &mut entry.to,
            _ => return None,
        })
    }

    pub(crate) fn save(&self) -> AmdLbrState {
        let mut entries = [(0, 0); MAX_DEPTH];
        for (age, entry) in (0..self.kind.max_depth()).zip(&mut entries) {
            let saved = self.ring.entries[self.ring.back(age)];
            *entry = (saved.from, saved.to);
        }
        AmdLbrState {
            last_from: self.last.from,
            last_to: self.last.to,
            last_int_from: self.last_interrupt.from,
            last_int_to: self.last_interrupt.to,
            select: self.select,
            config: self.config,
            entries,
        }
    }

    /// The records that a state describes. Its registers have been checked.
    pub(crate) fn restored(kind: LbrKind, state: &AmdLbrState) -> Self {
        let mut lbr = Self::new(kind);
        lbr.last = LbrEntry { from: state.last_from, to: state.last_to, info: 0 };
        lbr.last_interrupt = LbrEntry { from: state.last_int_from, to: state.last_int_to, info: 0 };
        (lbr.select, lbr.config) = (state.select, state.config);
        for (age, &(from, to)) in (0..kind.max_depth()).zip(&state.entries) {
            let index = lbr.ring.back(age);
            lbr.ring.entries[index] = LbrEntry { from, to, info: 0 };
        }
        lbr
    }
}
