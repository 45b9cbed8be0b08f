//! Events of Granite Rapids (Redwood Cove) on the general-purpose counters.
//!
//! Source: Intel's public event list of this core, `GNR/events/graniterapids_core.json` in `intel/perfmon`, version 1.20.
//! Compared with the one of Sapphire Rapids, only FRONTEND_RETIRED differs for shared names: its unit mask is 3.

use super::encoding::Encoding;
use super::sapphire_rapids;

const COUNT: usize = sapphire_rapids::ENCODINGS.len();

/// FRONTEND_RETIRED.
const FRONTEND_SELECT: u16 = 0xC6;

/// Every event that a general-purpose counter of this core can count.
pub(super) const ENCODINGS: &[Encoding] = &{
    let mut encodings = [sapphire_rapids::ENCODINGS[0]; COUNT];
    let mut index = 0;
    while index < COUNT {
        let mut encoding = sapphire_rapids::ENCODINGS[index];
        if encoding.code.select == FRONTEND_SELECT && encoding.code.umask == 1 {
            encoding.code.umask = 3;
        }
        encodings[index] = encoding;
        index += 1;
    }
    encodings
};
