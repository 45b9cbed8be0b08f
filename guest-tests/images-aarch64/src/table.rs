//! A register of a [`checks!`](guest_runtime::checks) table.

use core::ops::RangeInclusive;

use guest_runtime::{
    Exception, check_eq, fw_cfg,
    protocol::{Needs, files},
    registers, skip,
};

use crate::pmu::{need_counter, read, write};

/// A register of a table whose checks need the set `NEEDS` of [`Needs`].
#[derive(Debug, Clone, Copy)]
pub struct Row<const NEEDS: u32> {
    /// The register, in Linux' packed form.
    pub register: u32,
    /// Its number among those of its name.
    pub n: u32,
}

/// A register of any PMUv3.
pub type Register = Row<{ Needs::PMU.bits() }>;

impl<const NEEDS: u32> Row<NEEDS> {
    /// What every check of a table needs.
    pub const NEEDS: Needs = Needs::from_bits_retain(NEEDS);

    /// Number `n` of those that begin at `first` and lie side by side.
    #[must_use]
    pub const fn new(first: u32, n: u32) -> Self {
        Self { register: first + (n << 5), n }
    }

    /// The register itself, for rows whose number means something else.
    #[must_use]
    pub const fn alone(self) -> Self {
        Self { register: self.register - (self.n << 5), n: self.n }
    }

    /// Skips unless there is an event counter of this number.
    pub fn of_counter(&self) -> &Self {
        need_counter(self.n);
        self
    }

    /// MRS, which must work.
    #[track_caller]
    #[must_use]
    pub fn read(&self) -> u64 {
        read(self.register)
    }

    /// MSR, which must work.
    #[track_caller]
    pub fn write(&self, value: u64) {
        write(self.register, value);
    }

    /// Each of these bits can be set and cleared, alone and all together, and nothing else changes.
    #[track_caller]
    pub fn keeps(&self, bits: RangeInclusive<u32>) {
        let all = mask(bits.clone());
        let rest = self.read() & !all;
        let alone = bits.map(|bit| 1 << bit);
        for value in alone.clone().chain(alone.map(|bit| all & !bit)).chain([all, 0]) {
            self.write(rest | value);
            check_eq!(self.read(), rest | value, "after writing {:#x}", rest | value);
        }
    }

    /// These bits read as zero, whatever is written, and writing them changes nothing else.
    ///
    /// RES0 allows bits that keep what is written and do nothing; where they do, the check is skipped. Our VMM's do
    /// not.
    #[track_caller]
    pub fn reads_zero(&self, bits: RangeInclusive<u32>) {
        let before = self.read();
        check_eq!(before & mask(bits.clone()), 0, "before any write");
        let ones = before | mask(bits.clone());
        self.write(ones);
        if !is_vpmu() && self.read() != before && (self.read() ^ before) & !mask(bits) == 0 {
            skip!("RES0 bits keep what is written here");
        }
        check_eq!(self.read(), before, "after writing ones");
    }

    /// These bits do not change, whatever is written.
    #[track_caller]
    pub fn is_constant(&self, bits: RangeInclusive<u32>) {
        let before = self.read();
        self.write(before ^ mask(bits));
        check_eq!(self.read(), before, "after writing the opposite");
    }

    /// MSR is UNDEFINED.
    #[track_caller]
    pub fn is_read_only(&self) {
        let value = self.read();
        check_eq!(registers::write(self.register, value), Err(Exception::UNDEFINED));
        check_eq!(self.read(), value);
    }

    /// MRS is UNDEFINED.
    #[track_caller]
    pub fn is_write_only(&self) {
        check_eq!(registers::read(self.register), Err(Exception::UNDEFINED));
        self.write(0);
    }

    /// MRS and MSR are UNDEFINED.
    #[track_caller]
    pub fn is_absent(&self) {
        check_eq!(registers::read(self.register), Err(Exception::UNDEFINED));
        check_eq!(registers::write(self.register, 0), Err(Exception::UNDEFINED));
    }

    /// Bit [`n`](Self::n) of a pair of registers: `self` sets what `clear` clears, both read the same word, and zeros
    /// change nothing.
    #[track_caller]
    pub fn sets_what_clears(&self, clear: u32) {
        let set = self.alone().register;
        let bit = 1 << self.n;
        let both = || (read(set) & bit, read(clear) & bit);
        write(clear, bit);
        check_eq!(both(), (0, 0), "after clearing");
        write(set, 0);
        check_eq!(both(), (0, 0), "after writing zero to set");
        write(set, bit);
        check_eq!(both(), (bit, bit), "after setting");
        write(clear, 0);
        check_eq!(both(), (bit, bit), "after writing zero to clear");
        write(clear, bit);
        check_eq!(both(), (0, 0), "after clearing again");
    }

    /// Skips unless `condition` holds.
    pub fn when(&self, condition: bool, otherwise: &str) -> &Self {
        if !condition {
            skip!("{otherwise}");
        }
        self
    }
}

/// True on our own VMM, of which it is known what the architecture leaves open.
#[must_use]
pub fn is_vpmu() -> bool {
    fw_cfg::has_file(files::PROFILE)
}

/// True on QEMU's machine, whose PMU leaves some things out.
#[must_use]
pub fn is_qemu() -> bool {
    fw_cfg::is_present() && !is_vpmu()
}

fn mask(bits: RangeInclusive<u32>) -> u64 {
    bits.fold(0, |mask, bit| mask | 1 << bit)
}
