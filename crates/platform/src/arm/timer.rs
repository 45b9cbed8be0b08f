//! The generic timer: system counter, EL1 physical timer, virtual timer.
//!
//! Source: Arm ARM (DDI 0487) chapter D12 and the register descriptions in D24.10. There is no EL2, so that the virtual
//! count is the physical one. The counter stands at guest time; the timer holds no clock.

use super::system_register::{Refused, encoding};
use crate::convert::{low_u32, scale};
use crate::time::GuestTime;
use serde::{Deserialize, Serialize};

const CNTFRQ: u32 = encoding(3, 3, 14, 0, 0);
const CNTPCT: u32 = encoding(3, 3, 14, 0, 1);
const CNTVCT: u32 = encoding(3, 3, 14, 0, 2);
const CNTKCTL: u32 = encoding(3, 0, 14, 1, 0);
const CNTP_TVAL: u32 = encoding(3, 3, 14, 2, 0);
const CNTP_CTL: u32 = encoding(3, 3, 14, 2, 1);
const CNTP_CVAL: u32 = encoding(3, 3, 14, 2, 2);
const CNTV_TVAL: u32 = encoding(3, 3, 14, 3, 0);
const CNTV_CTL: u32 = encoding(3, 3, 14, 3, 1);
const CNTV_CVAL: u32 = encoding(3, 3, 14, 3, 2);

/// CNTKCTL_EL1: EL0 reads CNTPCT; CNTVCT; uses the virtual timer; the physical one.
const EL0PCTEN: u64 = 1 << 0;
const EL0VCTEN: u64 = 1 << 1;
const EL0VTEN: u64 = 1 << 8;
const EL0PTEN: u64 = 1 << 9;
/// Those, and EVNTEN, EVNTDIR and EVNTI of the event stream, which wakes WFE: that never waits here.
const CNTKCTL_MASK: u64 = 0x3FF;

/// CNTP_CTL and CNTV_CTL: the timer is enabled; its interrupt is masked; its condition is met, read-only.
const ENABLE: u64 = 1 << 0;
const IMASK: u64 = 1 << 1;
const ISTATUS: u64 = 1 << 2;

const NS_PER_SECOND: u64 = 1_000_000_000;

/// One of the timers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Timer {
    /// ENABLE and IMASK.
    control: u64,
    compare: u64,
}

impl Timer {
    fn is_met(&self, count: u64) -> bool {
        self.control & ENABLE != 0 && count >= self.compare
    }

    fn interrupts(&self, count: u64) -> bool {
        self.is_met(count) && self.control & IMASK == 0
    }

    fn read_control(&self, count: u64) -> u64 {
        self.control | if self.is_met(count) { ISTATUS } else { 0 }
    }

    /// TVAL: what is left, as a signed number of 32 bits.
    fn read_value(&self, count: u64) -> u64 {
        low_u32(self.compare.wrapping_sub(count)).into()
    }

    fn write_value(&mut self, value: u64, count: u64) {
        let left = i64::from(low_u32(value).cast_signed());
        self.compare = count.wrapping_add_signed(left);
    }
}

/// The registers of the generic timer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GenericTimer {
    /// Rate of the counter in Hz.
    hz: u64,
    /// CNTFRQ_EL0: what firmware says the rate is. The highest exception level writes it, which is EL1 here.
    frequency: u32,
    /// CNTKCTL_EL1.
    control: u64,
    physical: Timer,
    virtual_: Timer,
}

impl GenericTimer {
    /// After reset; the counter runs at `hz`, which is more than 0.
    #[must_use]
    pub fn new(hz: u32) -> Self {
        Self {
            hz: hz.into(),
            frequency: hz,
            control: 0,
            physical: Timer::default(),
            virtual_: Timer::default(),
        }
    }

    /// A copy of a saved timer; `None` if it is of another rate, or has bits that do not exist.
    #[must_use]
    pub fn resume(&self, saved: &Self) -> Option<Self> {
        let timers = [&saved.physical, &saved.virtual_];
        let possible = saved.hz == self.hz
            && saved.control & !CNTKCTL_MASK == 0
            && timers.iter().all(|timer| timer.control & !(ENABLE | IMASK) == 0);
        possible.then(|| saved.clone())
    }

    /// True for the registers of the generic timer, also for those of EL2 and those that are not there.
    #[must_use]
    pub fn owns_register(register: u32) -> bool {
        matches!(register & !0xFFF, base if base == CNTFRQ & !0xFFF || base == CNTKCTL & !0xFFF)
    }

    /// The counter at a point in guest time.
    fn count(&self, now: GuestTime) -> u64 {
        scale(now.0, self.hz, NS_PER_SECOND)
    }

    /// The interrupts of the physical and of the virtual timer, as levels.
    #[must_use]
    pub fn interrupts(&self, now: GuestTime) -> (bool, bool) {
        let count = self.count(now);
        (self.physical.interrupts(count), self.virtual_.interrupts(count))
    }

    /// When the next interrupt is due that is not there yet.
    #[must_use]
    pub fn next_deadline(&self, now: GuestTime) -> Option<GuestTime> {
        let count = self.count(now);
        let awaited = |timer: &&Timer| timer.control & (ENABLE | IMASK) == ENABLE && timer.compare > count;
        let next =
            [&self.physical, &self.virtual_].into_iter().filter(awaited).map(|timer| timer.compare).min()?;
        let ns = (u128::from(next) * u128::from(NS_PER_SECOND)).div_ceil(self.hz.max(1).into());
        // A time after centuries is none.
        u64::try_from(ns).ok().map(GuestTime)
    }

    /// What EL0 needs of CNTKCTL_EL1 to access a register: one of these bits; `None` for registers that EL0 never has.
    fn permission(register: u32) -> Option<u64> {
        match register {
            CNTFRQ => Some(EL0PCTEN | EL0VCTEN),
            CNTPCT => Some(EL0PCTEN),
            CNTVCT => Some(EL0VCTEN),
            CNTP_TVAL | CNTP_CTL | CNTP_CVAL => Some(EL0PTEN),
            CNTV_TVAL | CNTV_CTL | CNTV_CVAL => Some(EL0VTEN),
            _ => None,
        }
    }

    fn check(&self, register: u32, el: u8) -> Result<(), Refused> {
        match Self::permission(register) {
            _ if el > 0 => Ok(()),
            None => Err(Refused::Undefined),
            Some(bits) if self.control & bits == 0 => Err(Refused::Trapped),
            Some(_) => Ok(()),
        }
    }

    /// MRS at exception level `el`.
    ///
    /// # Errors
    /// There is no such register at this level, or EL1 traps it.
    pub fn read_register(&self, register: u32, el: u8, now: GuestTime) -> Result<u64, Refused> {
        self.check(register, el)?;
        let count = self.count(now);
        Ok(match register {
            CNTFRQ => self.frequency.into(),
            CNTPCT | CNTVCT => count,
            CNTKCTL => self.control,
            CNTP_TVAL => self.physical.read_value(count),
            CNTP_CTL => self.physical.read_control(count),
            CNTP_CVAL => self.physical.compare,
            CNTV_TVAL => self.virtual_.read_value(count),
            CNTV_CTL => self.virtual_.read_control(count),
            CNTV_CVAL => self.virtual_.compare,
            _ => return Err(Refused::Undefined),
        })
    }

    /// MSR at exception level `el`. Reserved bits are ignored.
    ///
    /// # Errors
    /// There is no such register at this level, it is read-only, or EL1 traps it.
    pub fn write_register(
        &mut self,
        register: u32,
        value: u64,
        el: u8,
        now: GuestTime,
    ) -> Result<(), Refused> {
        if matches!(register, CNTPCT | CNTVCT) || register == CNTFRQ && el == 0 {
            return Err(Refused::Undefined);
        }
        self.check(register, el)?;
        let count = self.count(now);
        match register {
            CNTFRQ => self.frequency = low_u32(value),
            CNTKCTL => self.control = value & CNTKCTL_MASK,
            CNTP_TVAL => self.physical.write_value(value, count),
            CNTP_CTL => self.physical.control = value & (ENABLE | IMASK),
            CNTP_CVAL => self.physical.compare = value,
            CNTV_TVAL => self.virtual_.write_value(value, count),
            CNTV_CTL => self.virtual_.control = value & (ENABLE | IMASK),
            CNTV_CVAL => self.virtual_.compare = value,
            _ => return Err(Refused::Undefined),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HZ: u32 = 24_000_000;
    /// A tick of the counter is 41 2/3 ns.
    const MS: u64 = 24_000;
    const ALL: [u32; 10] =
        [CNTFRQ, CNTPCT, CNTVCT, CNTKCTL, CNTP_TVAL, CNTP_CTL, CNTP_CVAL, CNTV_TVAL, CNTV_CTL, CNTV_CVAL];

    fn at(ms: u64) -> GuestTime {
        GuestTime(ms * 1_000_000)
    }

    #[test]
    fn the_counter_runs_at_its_rate() {
        let timer = GenericTimer::new(HZ);
        assert_eq!(timer.read_register(CNTFRQ, 1, at(0)), Ok(HZ.into()));
        for register in [CNTPCT, CNTVCT] {
            assert_eq!(timer.read_register(register, 1, at(1000)), Ok(HZ.into()));
            assert_eq!(timer.read_register(register, 1, GuestTime(41)), Ok(0));
            assert_eq!(timer.read_register(register, 1, GuestTime(42)), Ok(1));
        }
    }

    #[test]
    fn a_timer_interrupts_from_its_compare_value_on_until_it_is_masked_or_moved() {
        for (control, value, compare, which) in
            [(CNTP_CTL, CNTP_TVAL, CNTP_CVAL, 0), (CNTV_CTL, CNTV_TVAL, CNTV_CVAL, 1)]
        {
            let mut timer = GenericTimer::new(HZ);
            let fires = |timer: &GenericTimer, now| <[bool; 2]>::from(timer.interrupts(now))[which];
            timer.write_register(value, 2 * MS, 1, at(3)).unwrap();
            assert_eq!(timer.read_register(compare, 1, at(3)), Ok(5 * MS));
            assert_eq!(timer.next_deadline(at(3)), None, "not enabled");
            timer.write_register(control, ENABLE | 0xFFF0, 1, at(3)).unwrap();
            assert_eq!(timer.next_deadline(at(3)), Some(at(5)));
            assert_eq!((fires(&timer, GuestTime(4_999_999)), fires(&timer, at(5))), (false, true));
            assert_eq!(timer.read_register(control, 1, at(5)), Ok(ENABLE | ISTATUS));
            assert_eq!(timer.read_register(value, 1, at(6)), Ok(u64::from(u32::MAX) + 1 - MS));
            assert_eq!(timer.next_deadline(at(5)), None, "it is there");
            timer.write_register(control, ENABLE | IMASK, 1, at(5)).unwrap();
            assert_eq!((fires(&timer, at(5)), timer.next_deadline(at(1))), (false, None));
            assert_eq!(timer.read_register(control, 1, at(5)), Ok(ENABLE | IMASK | ISTATUS));
            timer.write_register(control, ENABLE, 1, at(5)).unwrap();
            timer.write_register(compare, u64::MAX, 1, at(5)).unwrap();
            assert_eq!((fires(&timer, at(5)), timer.next_deadline(at(5))), (false, None), "after centuries");
            // A negative value lies in the past.
            timer.write_register(value, 0xFFFF_FFFF, 1, at(5)).unwrap();
            assert!(fires(&timer, at(5)));
        }
    }

    #[test]
    fn el0_has_what_cntkctl_gives_it() {
        for (bits, allowed) in [
            (0, &[][..]),
            (EL0PCTEN, &[CNTFRQ, CNTPCT]),
            (EL0VCTEN, &[CNTFRQ, CNTVCT]),
            (EL0VTEN, &[CNTV_TVAL, CNTV_CTL, CNTV_CVAL]),
            (EL0PTEN, &[CNTP_TVAL, CNTP_CTL, CNTP_CVAL]),
        ] {
            let mut timer = GenericTimer::new(HZ);
            timer.write_register(CNTKCTL, bits, 1, at(0)).unwrap();
            for register in ALL {
                let read = timer.read_register(register, 0, at(0));
                let expected = match register {
                    CNTKCTL => Err(Refused::Undefined),
                    _ if allowed.contains(&register) => Ok(()),
                    _ => Err(Refused::Trapped),
                };
                assert_eq!(read.map(|_| ()), expected, "{register:#x} with {bits:#x}");
                let expected = match register {
                    CNTFRQ | CNTPCT | CNTVCT => Err(Refused::Undefined),
                    _ => expected,
                };
                let written = timer.clone().write_register(register, 0, 0, at(0));
                assert_eq!(written, expected, "{register:#x} with {bits:#x}");
            }
        }
    }

    #[test]
    fn registers_of_other_levels_and_versions_are_undefined() {
        let mut timer = GenericTimer::new(HZ);
        // CNTPCTSS_EL0, CNTHCTL_EL2, CNTPS_CTL_EL1.
        for register in [encoding(3, 3, 14, 0, 5), encoding(3, 4, 14, 1, 0), encoding(3, 7, 14, 2, 1)] {
            assert_eq!(timer.read_register(register, 1, at(0)), Err(Refused::Undefined));
            assert_eq!(timer.write_register(register, 0, 1, at(0)), Err(Refused::Undefined));
        }
        assert!(ALL.iter().all(|register| GenericTimer::owns_register(*register)));
        assert!(!GenericTimer::owns_register(encoding(3, 0, 12, 12, 0)));
    }

    proptest! {
        /// At the deadline an interrupt is there, and not a nanosecond before.
        #[test]
        fn the_deadline_is_exact(
            writes in prop::collection::vec((0..ALL.len(), any::<u64>()), 0..12),
            now in 0..1_u64 << 50,
        ) {
            let mut timer = GenericTimer::new(HZ);
            for (register, value) in writes {
                // Values near the present, as guests write them.
                let value = if value & 1 == 0 { value } else { value >> 30 };
                let _ = timer.write_register(ALL[register], value, 1, GuestTime(now));
            }
            let any = |now| { let (p, v) = timer.interrupts(now); p || v };
            if let Some(then) = timer.next_deadline(GuestTime(now)) {
                prop_assert!(then.0 > now && any(then));
                prop_assert_eq!(timer.interrupts(GuestTime(then.0 - 1)), timer.interrupts(GuestTime(now)));
            }
            let text = serde_json::to_string(&timer).unwrap();
            let saved = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(GenericTimer::new(HZ).resume(&saved), Some(timer));
        }
    }
}
