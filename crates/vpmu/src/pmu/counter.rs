//! One counter: a value, and where the source's total stood when the value was last brought up to date.

use crate::bits::low_bits;
use crate::event::EventCode;
use crate::source::{Active, CounterId, CountsSource, EventRequest, PrivilegeFilter, Provenance, Running};

#[derive(Debug, Clone)]
pub(super) struct Counter {
    pub(super) id: CounterId,
    /// Up to date as of `mark`; always below 2^width.
    pub(super) value: u64,
    /// The source's total at the last update; `None` while the counter stands still.
    mark: Option<u64>,
    pub(super) request: EventRequest,
    pub(super) filter: PrivilegeFilter,
    /// It counts every 2^prescale-th occurrence of all that the source has had.
    pub(super) prescale: u32,
    /// A fault makes it stand still whatever the enables say.
    pub(super) stuck: bool,
    /// It stands still for no other reason.
    held: bool,
    /// The enables say count, whether or not the source knows the event.
    pub(super) enabled: bool,
    /// Occurrences since the ledger last took them.
    pub(super) tally: u64,
    /// Occurrences since the newest branch record with logged events, as of the last update; wraps.
    pub(super) logged: u64,
    /// Enabled at least once since the ledger last looked.
    pub(super) touched: bool,
}

impl Counter {
    pub(super) fn new(id: CounterId, request: EventRequest) -> Self {
        Self {
            id,
            value: 0,
            mark: None,
            request,
            filter: PrivilegeFilter::default(),
            prescale: 0,
            stuck: false,
            held: false,
            enabled: false,
            tally: 0,
            logged: 0,
            touched: false,
        }
    }

    pub(super) fn is_running(&self) -> bool {
        self.mark.is_some()
    }

    /// Counts something else from now on; the value stays. It does not run until [`run`](Self::run) says so.
    pub(super) fn reprogram(&mut self, request: EventRequest) {
        *self = Self { value: self.value, stuck: self.stuck, ..Self::new(self.id, request) };
    }

    /// Brings the value up to date. Returns how often it wrapped.
    pub(super) fn sync(&mut self, width: u32, source: &mut dyn CountsSource) -> u64 {
        let Some(mark) = self.mark else { return 0 };
        let now = source.total(&self.request, self.filter).max(mark);
        self.mark = Some(now);
        self.add((now >> self.prescale) - (mark >> self.prescale), width)
    }

    /// Counts so many. Returns how often the value wrapped.
    pub(super) fn add(&mut self, count: u64, width: u32) -> u64 {
        self.tally = self.tally.wrapping_add(count);
        self.logged = self.logged.wrapping_add(count);
        let (sum, wrapped) = self.value.overflowing_add(count);
        self.value = sum & low_bits(width);
        match wrapped {
            false => sum.checked_shr(width).unwrap_or(0),
            true => sum.checked_shr(width).unwrap_or(0) + (1 << (u64::BITS - width)),
        }
    }

    /// The value changes without being counted, and nothing overflows.
    pub(super) fn jump(&mut self, by: i64, width: u32) {
        self.value = self.value.wrapping_add_signed(by) & low_bits(width);
    }

    /// The value as of now if it has not wrapped, without storing anything.
    pub(super) fn peek(&self, width: u32, source: &mut dyn CountsSource) -> Option<u64> {
        let Some(mark) = self.mark else { return Some(self.value) };
        let now = source.total(&self.request, self.filter).max(mark);
        let sum = self.value.checked_add((now >> self.prescale) - (mark >> self.prescale))?;
        (sum <= low_bits(width)).then_some(sum)
    }

    /// Occurrences since the newest branch record, which gets one that they are logged with. The value need not be up
    /// to date.
    pub(super) fn take_logged(&mut self, source: &mut dyn CountsSource) -> u64 {
        let pending = match self.mark {
            Some(mark) => source.total(&self.request, self.filter).max(mark) - mark,
            None => 0,
        };
        // They come with the next update, and belong to this record.
        core::mem::replace(&mut self.logged, pending.wrapping_neg()).wrapping_add(pending)
    }

    /// Starts or stops. The value must be up to date.
    pub(super) fn run(&mut self, enabled: bool, filter: PrivilegeFilter, source: &mut dyn CountsSource) {
        if enabled == self.enabled && filter == self.filter && (self.mark.is_some() || !enabled) {
            return;
        }
        self.enabled = enabled;
        self.filter = filter;
        self.touched |= enabled;
        let asked = enabled && !self.request.is_counted_by_the_pmu();
        let known = asked && source.provenance(&self.request) != Provenance::Unknown;
        self.held = known && self.stuck;
        self.mark = (known && !self.stuck).then(|| source.total(&self.request, filter));
    }

    /// A fault stops or releases it. The value must be up to date; [`run`](Self::run) has to be called again.
    pub(super) fn set_stuck(&mut self, stuck: bool) {
        self.stuck = stuck;
        self.mark = None;
    }

    /// Only a fault keeps it from running.
    pub(super) fn is_held(&self) -> bool {
        self.held
    }

    /// The counter as a source needs to know it, while it runs.
    pub(super) fn active(&self, width: u32, interrupts: bool) -> Option<Active> {
        self.is_running().then(|| Active {
            counter: self.id,
            request: self.request,
            filter: self.filter,
            until_overflow: self.until_overflow(width),
            interrupts,
        })
    }

    /// The counter as a record needs to know it, while it runs, or would but for a fault, and each occurrence adds one.
    pub(super) fn running(&self, width: u32) -> Option<Running> {
        let Self { id: counter, request, filter, value, .. } = *self;
        ((self.is_running() || self.held) && self.prescale == 0).then_some(Running {
            counter,
            request,
            filter,
            value,
            width,
        })
    }

    /// Occurrences until the lowest `width` bits wrap, from the last update; saturates at the most that can be said.
    pub(super) fn until_overflow(&self, width: u32) -> u64 {
        let left = (low_bits(width) - (self.value & low_bits(width))).saturating_add(1);
        if self.prescale == 0 {
            return left;
        }
        let begun = self.mark.unwrap_or_default() & low_bits(self.prescale);
        left.saturating_mul(1 << self.prescale) - begun
    }
}

/// Counters, each made of its number.
pub(super) fn numbered<const N: usize>(mut make: impl FnMut(u8) -> Counter) -> [Counter; N] {
    let mut numbers = 0..;
    core::array::from_fn(|_| make(numbers.next().unwrap_or_default()))
}

/// As many counters as there mostly are: more room takes longer to fill than to look through.
const FEW: usize = 4;

/// Running counters, as a source is told of them: at most `N`.
pub(super) struct Actives<const N: usize> {
    few: [Active; FEW],
    all: Option<[Active; N]>,
    count: usize,
}

impl<const N: usize> Actives<N> {
    pub(super) fn new() -> Self {
        let nothing = Active {
            counter: CounterId::Gp(0),
            request: EventRequest::default(),
            filter: PrivilegeFilter::default(),
            until_overflow: 0,
            interrupts: false,
        };
        Self { few: [nothing; FEW], all: None, count: 0 }
    }

    #[inline]
    pub(super) fn push(&mut self, active: Active) {
        let slot = if self.count < FEW {
            self.few.get_mut(self.count)
        } else {
            let few = &self.few;
            let all = self.all.get_or_insert_with(|| {
                let mut all = [few[0]; N];
                all[..FEW].copy_from_slice(few);
                all
            });
            all.get_mut(self.count)
        };
        if let Some(slot) = slot {
            *slot = active;
            self.count += 1;
        }
    }

    /// What runs now and when it would overflow.
    pub(super) fn tell(&self, source: &mut dyn CountsSource) {
        source.rearm(&self.all.as_ref().map_or(&self.few[..], |all| &all[..])[..self.count]);
    }
}

/// Tells the source what runs now and when it would overflow; at most `N` counters.
pub(super) fn rearm<const N: usize>(running: impl Iterator<Item = Active>, source: &mut dyn CountsSource) {
    let mut actives = Actives::<N>::new();
    running.for_each(|active| actives.push(active));
    actives.tell(source);
}

/// The code of an event that a fixed counter counts, as perf writes it (Linux
/// `arch/x86/include/asm/perf_event.h`, "fixed-function pseudo encodings").
pub(super) fn fixed_code(index: u8) -> EventCode {
    EventCode { select: 0, umask: u16::from(index) + 1, cmask: 0, inv: false, edge: false }
}
