//! The event names, declared once.
//!
//! A row is a variant, its name in Intel's event lists, and what it counts. Names and meanings are
//! those of the public event files (`intel/perfmon`: Ice Lake-SP, Sapphire Rapids; Linux
//! `tools/perf/pmu-events`: AMD Zen) and, for the architectural events, of the SDM volume 3 chapter on
//! performance monitoring. Where two cores of a vendor name the same thing differently, the newer name
//! stands here and the other is an alias.
//!
//! The rows are in a file for each area. Each file is a macro that adds its rows to those it gets and hands them on;
//! `events!` at the end makes the type of all.

mod memory;
mod pipeline;
mod zen;
mod zen_front_end;
mod zen_memory;

use memory::memory;
use pipeline::pipeline;
use zen::zen;
use zen_front_end::zen_front_end;
use zen_memory::zen_memory;

macro_rules! events {
    ([$(#[doc = $description:literal] $variant:ident = $name:literal,)+]) => {
        /// A countable event.
        ///
        /// The order is that of the declaration; it is not an ABI, so store [`Event::name`], never
        /// [`Event::index`].
        #[non_exhaustive]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[repr(u16)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Event {
            $(
                #[doc = concat!("`", $name, "`:")]
                #[doc = $description]
                #[cfg_attr(feature = "serde", serde(rename = $name))]
                $variant,
            )+
        }

        impl Event {
            /// Every event, in the order of [`Event::index`].
            pub const ALL: [Self; Self::COUNT] = [$(Self::$variant),+];

            /// How many events there are; one more than the largest [`Event::index`].
            pub const COUNT: usize = [$($name),+].len();

            const NAMES: [&'static str; Self::COUNT] = [$($name),+];

            const DESCRIPTIONS: [&'static str; Self::COUNT] = [$($description.trim_ascii()),+];
        }
    };
}
pipeline! { [] memory zen zen_memory zen_front_end events }

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
