//! Advanced SIMD and scalar floating point (Arm ARM chapters C3.6 and C7).
//!
//! An instruction is an [operation](form::Op) on elements, in a [form](form): element by element, pairwise, from
//! narrow elements to wide ones, across all of them; the second operand is a register, one of its elements, or an
//! immediate. Operations are defined once in [`integer`], [`saturating`], [`shift`] and [`float`], for all elements
//! that they have. What is no such thing has files of its own: [`permute`], [`general`] (transfers to and from
//! general-purpose registers), [`condition`] (comparisons with flags), [`crypto`], [`memory`].

pub(crate) mod condition;
pub(crate) mod crypto;
pub(crate) mod float;
pub(crate) mod form;
pub(crate) mod general;
pub(crate) mod integer;
pub(crate) mod memory;
pub(crate) mod permute;
pub(crate) mod saturating;
pub(crate) mod shift;
