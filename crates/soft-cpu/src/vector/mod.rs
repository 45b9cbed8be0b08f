//! AVX to AVX-512. An operation is a function over [`Operands`]: lanes × element × operation. `description` says how
//! an instruction's operands and mask go with it, `execute` fetches them, masks and writes back; nothing of an
//! operation depends on the bus.

#[allow(clippy::cast_possible_truncation, reason = "counts of bits, and halves of shifts")]
pub(crate) mod bits;
pub(crate) mod crypto;
pub(crate) mod description;
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "sums are cut to the size of elements"
)]
pub(crate) mod dot;
pub(crate) mod encoded;
pub(crate) mod execute;
pub(crate) mod float;
pub(crate) mod gather;
pub(crate) mod hot;
#[allow(clippy::cast_possible_truncation, reason = "sizes of elements, and elements that are narrowed")]
pub(crate) mod integer;
pub(crate) mod intersect;
pub(crate) mod lanes;
#[allow(clippy::cast_possible_truncation, reason = "sizes of elements")]
pub(crate) mod mask;
mod memory;
pub(crate) mod moves;
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "the elements are narrowed and widened"
)]
pub(crate) mod narrow;
pub(crate) mod operands;
#[allow(clippy::cast_possible_truncation, reason = "numbers of elements")]
pub(crate) mod permute;
pub(crate) mod quick;
pub(crate) mod registers;
#[allow(clippy::cast_possible_truncation, reason = "sizes of elements, and counts modulo a power of two")]
pub(crate) mod shift;
pub(crate) mod shuffle;
pub(crate) mod special;

pub(crate) use description::Description;
pub(crate) use operands::Operands;
pub(crate) use registers::{Element, Vector};

use crate::context::{CR0_TS, CR4_OSXSAVE, Core};
use crate::exception::{self, Done, Exception};

/// [`Core::vector`]: the state of AVX is enabled.
pub(crate) const AVX: u8 = 1;
/// [`Core::vector`]: that of AVX-512 too.
pub(crate) const AVX512: u8 = 1 << 1;
/// SSE and AVX in XCR0.
const XCR0_AVX: u64 = 0b110;
/// Those, opmask, ZMM_Hi256 and Hi16_ZMM in XCR0.
const XCR0_AVX512: u64 = XCR0_AVX | 0b111 << 5;

impl Core {
    /// Works out which vector instructions are enabled; after a change of CR0, CR4 or XCR0.
    pub(crate) fn update_vector(&mut self) {
        let on = self.cr4 & CR4_OSXSAVE != 0 && self.cr0 & CR0_TS == 0 && self.xsave;
        let enabled = |components: u64| on && self.xcr0 & components == components;
        let bit = |holds: bool, bit: u8| if holds { bit } else { 0 };
        self.vector = bit(enabled(XCR0_AVX), AVX) | bit(enabled(XCR0_AVX512), AVX512);
    }

    /// #UD or #NM unless these instructions are enabled (SDM volume 2, section 2.4 and 2.8, "Exception Types").
    #[inline(always)]
    pub(crate) fn require_vector(&mut self, needed: u8) -> Done {
        if self.vector & needed != 0 { Ok(()) } else { self.vector_off(needed) }
    }

    #[cold]
    #[inline(never)]
    fn vector_off(&mut self, needed: u8) -> Done {
        if !self.xsave {
            // The state is the embedder's.
            self.unimplemented = true;
            return Err(self.ud());
        }
        let components = if needed == AVX { XCR0_AVX } else { XCR0_AVX512 };
        if self.cr4 & CR4_OSXSAVE == 0 || self.xcr0 & components != components {
            return Err(self.ud());
        }
        Err(self.raise(Exception::plain(exception::NM)))
    }
}
