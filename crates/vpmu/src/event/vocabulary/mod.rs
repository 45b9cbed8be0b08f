//! The event names, declared once, in `data/events.tsv`.
//!
//! An event has its name in the vendors' event lists and what it counts. Names and meanings are those of the public
//! lists (`intel/perfmon`; Linux `tools/perf/pmu-events` for AMD) and, for the architectural events, of the SDM volume
//! 3 chapter on performance monitoring. Where two cores of a vendor name the same thing differently, the newer name
//! comes first, and the others are accepted too. perf's generic events stand for what Linux
//! `arch/x86/events/intel/core.c` maps them to.

macro_rules! events {
    ($($variant:ident: $name:literal $(| $other:literal)* = $description:literal;)+) => {
        /// A countable event.
        ///
        /// The order is that of the declaration; it is not an ABI, so store [`Event::name`], never
        /// [`Event::index`].
        #[non_exhaustive]
        #[repr(u16)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Event {
            $(
                #[doc = concat!("`", $name, "`:")]
                #[doc = concat!(" ", $description)]
                $variant,
            )+
        }

        impl Event {
            /// Every event, in the order of [`Event::index`].
            pub const ALL: [Self; Self::COUNT] = [$(Self::$variant),+];

            /// How many events there are; one more than the largest [`Event::index`].
            pub const COUNT: usize = [$($name),+].len();

            pub(super) const NAMES: [&'static str; Self::COUNT] = [$($name),+];

            pub(super) const DESCRIPTIONS: [&'static str; Self::COUNT] = [$($description),+];

            /// Names that [`Event::from_name`] accepts besides the events' own.
            pub(in crate::event) const OTHER_NAMES: &[(&'static str, Self)] = &[$($(($other, Self::$variant),)*)+];
        }
    };
}

#[rustfmt::skip]
mod names;
#[cfg(feature = "serde")]
mod serial;

pub use names::Event;

impl Event {
    /// The field-standard name, for example `BR_MISP_RETIRED.ALL_BRANCHES`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        Self::NAMES[self.index()]
    }

    /// What is counted, in one sentence.
    #[must_use]
    pub const fn description(self) -> &'static str {
        Self::DESCRIPTIONS[self.index()]
    }

    /// Position in [`Event::ALL`], below [`Event::COUNT`]: the index for arrays of totals.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}
