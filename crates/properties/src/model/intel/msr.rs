//! RDMSR and WRMSR, one register after the other.

use super::{Intel, bit, ones};
use vpmu::{Fault, ReadOutcome, WriteOutcome};

/// #GP if any of the `reserved` bits is set.
fn reserved(value: u64, reserved: u64) -> Option<WriteOutcome> {
    (value & reserved != 0).then_some(WriteOutcome::Fault(Fault::ReservedBits(value & reserved)))
}

impl Intel {
    pub(super) fn read(&self, index: u32) -> Option<ReadOutcome> {
        let cpu = &self.cpu;
        let v2 = cpu.version >= 2;
        let v4 = cpu.version >= 4;
        let n = |base: u32| (index - base) as usize;
        Some(ReadOutcome::Value(match index {
            0x0C1..=0x0C8 if index - 0x0C1 < cpu.gp => self.pmc[n(0x0C1)],
            0x4C1..=0x4C8 if index - 0x4C1 < cpu.gp && cpu.full_width_writes() => self.pmc[n(0x4C1)],
            0x186..=0x18D if index - 0x186 < cpu.gp => self.evtsel[n(0x186)],
            0x309..=0x30F if index - 0x309 < cpu.fixed => self.fixed[n(0x309)],
            0x329 if cpu.metrics() => self.metrics.read(self.fixed[3], cpu.metric_fields),
            0x345 => cpu.capabilities,
            0x38D if v2 => self.fixed_ctr_ctrl,
            0x38E if v2 => self.global_status,
            0x38F if v2 => self.global_ctrl,
            0x390 if v2 => 0,
            0x391 if v4 => 0,
            0x392 if v4 => self.in_use(),
            0x1A0 => self.misc_enable,
            0x1A6 if cpu.offcore_mask != 0 => self.offcore_rsp[0],
            0x1A7 if cpu.offcore_mask != 0 => self.offcore_rsp[1],
            0x1D9 => self.debugctl,
            0x3F6 if cpu.ld_lat_mask != 0 => self.ld_lat,
            0x3F7 if cpu.frontend_mask != 0 => self.frontend,
            _ => return is_absent(index).then_some(ReadOutcome::Fault(Fault::Absent)),
        }))
    }

    pub(super) fn write(&mut self, index: u32, value: u64) -> Option<WriteOutcome> {
        let cpu = self.cpu;
        let v2 = cpu.version >= 2;
        let v4 = cpu.version >= 4;
        let n = |base: u32| (index - base) as usize;
        match index {
            // 32 bits, sign-extended; the upper half of the operand is ignored.
            0x0C1..=0x0C8 if index - 0x0C1 < cpu.gp => {
                let low = value & 0xFFFF_FFFF;
                let extended = if bit(low, 31) { low | 0xFFFF_FFFF_0000_0000 } else { low };
                self.pmc[n(0x0C1)] = extended & ones(cpu.gp_width);
            }
            0x4C1..=0x4C8 if index - 0x4C1 < cpu.gp && cpu.full_width_writes() => {
                if let Some(gp) = reserved(value, !ones(cpu.gp_width)) {
                    return Some(gp);
                }
                self.pmc[n(0x4C1)] = value;
            }
            0x186..=0x18D if index - 0x186 < cpu.gp => {
                // Bits 63:32 need TSX, PEBS or leaf 23H.
                let mut forbidden = 0xFFFF_FFFF_0000_0000;
                if !cpu.any_thread() && !cpu.any_thread_deprecated {
                    forbidden |= 1 << 21;
                }
                if let Some(gp) = reserved(value, forbidden) {
                    return Some(gp);
                }
                self.evtsel[n(0x186)] = if cpu.any_thread() { value } else { value & !(1 << 21) };
            }
            0x309..=0x30F if index - 0x309 < cpu.fixed => {
                if index == 0x30C {
                    self.metrics.keep(self.fixed[3], cpu.metric_fields);
                }
                self.fixed[n(0x309)] = value & ones(cpu.fixed_width);
            }
            0x329 if cpu.metrics() => self.metrics.write(value, self.fixed[3], cpu.metric_fields),
            0x345 => return Some(WriteOutcome::Fault(Fault::ReadOnly)),
            0x38D if v2 => {
                let mut allowed = 0;
                for n in 0..cpu.fixed {
                    allowed |= if cpu.any_thread() { 0xF } else { 0xB } << (4 * n);
                }
                if cpu.metrics_clear() {
                    allowed |= 1 << 14;
                }
                if let Some(gp) = reserved(value, !allowed) {
                    return Some(gp);
                }
                self.fixed_ctr_ctrl = value;
            }
            0x38E if v2 => return Some(WriteOutcome::Fault(Fault::ReadOnly)),
            0x38F if v2 => {
                if let Some(gp) = reserved(value, !self.enables()) {
                    return Some(gp);
                }
                self.global_ctrl = value;
            }
            0x390 if v2 => {
                // Bit 63 can be cleared, and nothing sets it.
                if let Some(gp) = reserved(value, !(self.status_bits() | 1 << 63)) {
                    return Some(gp);
                }
                self.global_status &= !value;
            }
            0x391 if v4 => {
                if let Some(gp) = reserved(value, !self.status_bits()) {
                    return Some(gp);
                }
                self.global_status |= value;
            }
            0x392 if v4 => return Some(WriteOutcome::Fault(Fault::ReadOnly)),
            0x1A0 => {
                let kept = 1 << 7 | 1 << 11 | 1 << 12;
                let storable = 1 << 0 | 1 << 3 | 1 << 16 | 1 << 18 | 1 << 22 | 1 << 23 | 1 << 34 | 1 << 38;
                if let Some(gp) = reserved(value, !(kept | storable)) {
                    return Some(gp);
                }
                let changed = (value ^ self.misc_enable) & (1 << 11 | 1 << 12);
                if changed != 0 {
                    return Some(WriteOutcome::Fault(Fault::FixedBits(changed)));
                }
                self.misc_enable = value & storable | self.misc_enable & kept;
            }
            0x1A6 | 0x1A7 if cpu.offcore_mask != 0 => {
                if let Some(gp) = reserved(value, !cpu.offcore_mask) {
                    return Some(gp);
                }
                self.offcore_rsp[n(0x1A6)] = value;
            }
            0x1D9 => {
                let dropped = 1 << 0 | 1 << 1 | 1 << 11;
                let mut storable = 0;
                if v2 {
                    storable |= 1 << 12;
                }
                if cpu.freeze_while_smm() {
                    storable |= 1 << 14;
                }
                if let Some(gp) = reserved(value, !(dropped | storable)) {
                    return Some(gp);
                }
                self.debugctl = value & !dropped;
            }
            0x3F6 if cpu.ld_lat_mask != 0 => {
                if let Some(gp) = reserved(value, !cpu.ld_lat_mask) {
                    return Some(gp);
                }
                self.ld_lat = value;
            }
            0x3F7 if cpu.frontend_mask != 0 => {
                if let Some(gp) = reserved(value, !cpu.frontend_mask) {
                    return Some(gp);
                }
                self.frontend = value;
            }
            _ => return is_absent(index).then_some(WriteOutcome::Fault(Fault::Absent)),
        }
        Some(WriteOutcome::Done)
    }

    /// Legal bits of GLOBAL_CTRL.
    fn enables(&self) -> u64 {
        let mut bits = 0;
        for n in 0..self.cpu.gp {
            bits |= 1 << n;
        }
        for n in 0..self.cpu.fixed {
            bits |= 1 << (32 + n);
        }
        if self.cpu.metrics() {
            bits |= 1 << 48;
        }
        bits
    }

    /// Legal bits of STATUS_SET, and of OVF_CTRL / STATUS_RESET but for bit 63. Bit 62 does not depend on the
    /// debug store; without Processor Trace there is no bit 55.
    fn status_bits(&self) -> u64 {
        let mut bits = self.enables() | 1 << 62;
        if self.cpu.version >= 4 {
            bits |= 1 << 58 | 1 << 59 | 1 << 60 | 1 << 61;
        }
        bits
    }

    fn in_use(&self) -> u64 {
        let mut bits = 0;
        for n in 0..self.cpu.gp as usize {
            if self.evtsel[n] & 0xFF != 0 {
                bits |= 1 << n;
            }
            if bit(self.evtsel[n], 20) {
                bits |= 1 << 63;
            }
        }
        for n in 0..self.cpu.fixed {
            if bit(self.fixed_ctr_ctrl, 4 * n) || bit(self.fixed_ctr_ctrl, 4 * n + 1) {
                bits |= 1 << (32 + n);
            }
            if bit(self.fixed_ctr_ctrl, 4 * n + 3) {
                bits |= 1 << 63;
            }
        }
        bits
    }
}

/// An MSR of the PMU. The vPMU answers for those that this CPU does not have, so that an embedder which lets unknown
/// MSRs pass cannot let these pass.
fn is_absent(index: u32) -> bool {
    matches!(
        index,
        0x0C1..=0x0C8 | 0x4C1..=0x4C8 | 0x186..=0x18D | 0x309..=0x30F | 0x329
        | 0x38D..=0x392 | 0x1A6 | 0x1A7 | 0x3F6 | 0x3F7
        // No PEBS, no debug store, no branch records.
        | 0x3F1 | 0x3F2 | 0x600 | 0x1C8 | 0x1C9 | 0x1DD | 0x1DE | 0x1E0
        | 0x680..=0x69F | 0x6C0..=0x6DF | 0xDC0..=0xDDF | 0x14CE | 0x14CF
        | 0x1200..=0x121F | 0x1500..=0x151F | 0x1600..=0x161F
    )
}
