//! What `cargo xtask silicon --record-forms` has measured.

use super::table::Operand;
use crate::silicon::forms::HEADER;
use std::collections::HashMap;

/// Figures of one form.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Figure {
    /// Cycles of one of many independent copies.
    pub(super) cycles: Option<f64>,
    /// Cycles of chains, each through this operand.
    latencies: Vec<(u32, f64)>,
}

impl Figure {
    /// Cycles of the chains through sources that are not the destination too, or of the one through the destination if
    /// there is no other.
    pub(super) fn latencies(&self) -> impl Iterator<Item = f64> {
        let others = self.latencies.iter().any(|(operand, _)| *operand != 0);
        self.latencies.iter().filter(move |(operand, _)| !others || *operand != 0).map(|(_, cycles)| *cycles)
    }
}

/// Figures of all forms.
#[derive(Debug, Default)]
pub(super) struct Figures(HashMap<(String, Operand), Figure>);

impl Figures {
    /// Reads a recording, or names the first line that is wrong.
    pub(super) fn parse(text: &str) -> Result<Self, (usize, String)> {
        let mut all = HashMap::new();
        let wanted = |(_, line): &(usize, &str)| !line.starts_with('#') && *line != HEADER;
        for (number, line) in text.lines().enumerate().filter(wanted) {
            let (key, figure) = parse_line(line).map_err(|what| (number + 1, what))?;
            all.insert(key, figure);
        }
        Ok(Self(all))
    }

    pub(super) fn of(&self, name: &str, form: Operand) -> Option<&Figure> {
        self.0.get(&(name.to_owned(), form))
    }
}

fn parse_line(line: &str) -> Result<((String, Operand), Figure), String> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [name, form, cycles, latencies] = fields[..] else {
        return Err(format!("{} fields instead of 4", fields.len()));
    };
    let number = |text: &str| match text.parse::<f64>() {
        Ok(cycles) if cycles > 0.0 && cycles.is_finite() => Ok(cycles),
        _ => Err(format!("{text} is no number of cycles")),
    };
    let cycles = if cycles == "-" { None } else { Some(number(cycles)?) };
    let latency = |part: &str| {
        let (operand, cycles) = part.split_once(':').ok_or_else(|| format!("{part} is no latency"))?;
        Ok((operand.parse().map_err(|_| format!("{operand} is no operand"))?, number(cycles)?))
    };
    let latencies: Result<_, String> = match latencies {
        "-" => Ok(Vec::new()),
        _ => latencies.split(',').map(latency).collect(),
    };
    Ok(((name.to_owned(), Operand::parse(form)?), Figure { cycles, latencies: latencies? }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "test code")]
    use super::*;

    #[test]
    fn measured_figures_are_read_and_wrong_lines_named() {
        let text = format!("# host\n{HEADER}\nAdd_rm8_r8\tr\t0.1900\t0:1.0000,1:1.0100\nNopw\tr\t-\t-\n");
        let figures = Figures::parse(&text).unwrap();
        let add = figures.of("Add_rm8_r8", Operand::Register).unwrap();
        assert_eq!((add.cycles, add.latencies().collect()), (Some(0.19), vec![1.01]));
        assert_eq!(figures.of("Nopw", Operand::Register), Some(&Figure::default()));
        let wrong = |text: &str| Figures::parse(text).unwrap_err();
        assert_eq!(wrong("A\tr\t0\t-"), (1, "0 is no number of cycles".to_owned()));
        assert_eq!(wrong("\n"), (1, "1 fields instead of 4".to_owned()));
    }
}
