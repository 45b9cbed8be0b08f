//! State component 15 of the XSAVE feature set: the architectural last branch records.

use super::{Access, GeneralProtection};
use core::convert::Infallible;

/// 64-bit words of the component with 32 records: five registers, then FROM, TO and INFO of each record.
pub const LBR_COMPONENT_WORDS: usize = 5 + 3 * 32;

/// The architectural last branch records as a supervisor state component: an optional part of a
/// [`Bus`](crate::Bus).
pub trait LbrState {
    /// 64-bit words of the component, at most [`LBR_COMPONENT_WORDS`].
    fn words(&self) -> usize;
    /// What XSAVES stores.
    fn save(&mut self, words: &mut [u64; LBR_COMPONENT_WORDS], access: &Access<'_>);
    /// What XRSTORS has loaded; `None` for the initial configuration.
    ///
    /// # Errors
    /// #GP(0); nothing has changed.
    fn restore(
        &mut self,
        words: Option<&[u64; LBR_COMPONENT_WORDS]>,
        access: &Access<'_>,
    ) -> Result<(), GeneralProtection>;
}

impl LbrState for Infallible {
    fn words(&self) -> usize {
        match *self {}
    }
    fn save(&mut self, _words: &mut [u64; LBR_COMPONENT_WORDS], _access: &Access<'_>) {
        match *self {}
    }
    fn restore(
        &mut self,
        _words: Option<&[u64; LBR_COMPONENT_WORDS]>,
        _access: &Access<'_>,
    ) -> Result<(), GeneralProtection> {
        match *self {}
    }
}
