//! What `cargo xtask silicon --record-forms` has measured.

use crate::silicon::form_rows::{self, Row};
use core_model::Form;
use std::collections::HashMap;

/// Figures of all forms.
#[derive(Debug, Default)]
pub(super) struct Figures(HashMap<(String, Form), Row>);

impl Figures {
    /// Reads a recording, or names the first line that is wrong.
    pub(super) fn parse(text: &str) -> Result<Self, (usize, String)> {
        let rows = form_rows::parse(text)?.into_iter();
        Ok(Self(rows.map(|row| ((row.form.clone(), row.operand), row)).collect()))
    }

    /// The figures of a form.
    pub(super) fn of(&self, name: &str, form: Form) -> Option<&Row> {
        self.0.get(&(name.to_owned(), form))
    }

    /// Cycles of one of many independent copies of a form.
    pub(super) fn cycles(&self, name: &str, form: Form) -> Option<f64> {
        self.of(name, form)?.cycles
    }

    /// Cycles of the chain of a form through its destination.
    pub(super) fn through_destination(&self, name: &str, form: Form) -> Option<f64> {
        self.of(name, form)?.latencies.iter().find(|(operand, _)| *operand == 0).map(|(_, cycles)| *cycles)
    }

    /// Cycles of the chains of a form through sources that are not the destination too, or of the one through the
    /// destination if there is no other.
    pub(super) fn latencies(&self, name: &str, form: Form) -> Vec<f64> {
        let all = self.of(name, form).map_or(&[][..], |row| &row.latencies);
        let others = all.iter().any(|(operand, _)| *operand != 0);
        all.iter().filter(|(operand, _)| !others || *operand != 0).map(|(_, cycles)| *cycles).collect()
    }
}

/// The nearest whole number, the even one of two; figures are small.
pub(super) fn nearest(cycles: f64) -> u32 {
    down(cycles.round_ties_even())
}

/// The whole number below; the conversion saturates.
pub(super) fn down(cycles: f64) -> u32 {
    cycles as u32
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "test code")]
    use super::*;

    #[test]
    fn measured_latencies_are_those_of_sources_if_there_are_any() {
        let text = "Add_rm8_r8\tr\t0.19\t0:1.0,1:1.01\nInc_rm8\tr\t-\t0:1.02\n";
        let figures = Figures::parse(text).unwrap();
        let of = |name| figures.latencies(name, Form::Register);
        assert_eq!((of("Add_rm8_r8"), of("Inc_rm8"), of("Nop")), (vec![1.01], vec![1.02], vec![]));
        assert_eq!(figures.cycles("Add_rm8_r8", Form::Register), Some(0.19));
    }
}
