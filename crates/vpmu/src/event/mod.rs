//! Events: what can be counted, and which event select code asks for it on which core.
//!
//! Three layers, from names to registers:
//!
//! - [`Event`] is the vocabulary. A counts source keeps one running total per event, indexed by
//!   [`Event::index`], and may fold names of the same quantity together with [`Event::counts_as`].
//! - [`EventTable`] maps codes to events for one core: `0D/01` counts recovery cycles on Ice
//!   Lake-SP and nothing on Sapphire Rapids, which has them at `AD/01`.
//!   Names and tables are made by `cargo xtask events` from `data/events.tsv` and the vendors' lists.
//! - [`ArchEvent`] and [`FixedEvent`] are what CPUID leaf 0AH enumerates, the same on every core.
//!
//! ```
//! use vpmu::event::{Event, EventCode, EventTable};
//!
//! // A guest writes PERFEVTSEL: C2/02, CMASK 1, INV, OS, USR, EN.
//! let code = EventCode::from_evtsel(0x01C3_02C2);
//! let resolved = EventTable::ICELAKE_SP.resolve(code);
//! assert_eq!(resolved.exact, Some(Event::UopsRetiredStalls));
//! assert_eq!(resolved.base, Some(Event::UopsRetiredSlots));
//! assert_eq!(code.to_string(), "cpu/event=0xc2,umask=0x2,cmask=0x1,inv/");
//! ```

mod alias;
mod architectural;
mod encoding;
mod encodings;
mod identity;
mod matrix;
mod offcore;
mod table;
mod union;
mod vocabulary;

#[cfg(test)]
mod tests;

pub use architectural::{ArchEvent, FixedEvent};
pub use encoding::{
    Encoding, EventCode, ExtraRegister, MSR_OFFCORE_RSP_0, MSR_OFFCORE_RSP_1, MSR_PEBS_FRONTEND,
    MSR_PEBS_LD_LAT,
};
pub use identity::{IDENTITIES, Identity};
pub(crate) use matrix::REGIONS;
pub use matrix::{MatrixError, MatrixEvent};
pub use table::{EventTable, Resolved};
pub use union::EventUnion;
pub use vocabulary::Event;
