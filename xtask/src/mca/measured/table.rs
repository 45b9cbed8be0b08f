//! Lines of a uop table.

use core_model::Form;
use std::collections::HashMap;
use std::fmt;

/// A form by its letter.
pub(super) fn form(text: &str) -> Result<Form, String> {
    Form::from_letter(text).ok_or_else(|| format!("{text} is no form of an operand"))
}

/// Cycles that an instruction takes of some units, in total.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Uops {
    pub(super) cycles: u32,
    pub(super) units: Vec<String>,
}

impl Uops {
    /// From `cycles*unit,unit`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text} is no number of cycles with units");
        let (cycles, units) = text.split_once('*').ok_or_else(wrong)?;
        let cycles = cycles.parse().map_err(|_| wrong())?;
        Ok(Self { cycles, units: units.split(',').map(str::to_owned).collect() })
    }

    /// From several of them, or `-`.
    pub(super) fn parse_all(text: &str) -> Result<Vec<Self>, String> {
        if text == "-" { Ok(Vec::new()) } else { text.split('+').map(Self::parse).collect() }
    }
}

impl fmt::Display for Uops {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}*{}", self.cycles, self.units.join(","))
    }
}

/// Cycles to the result: of a load, if there is one, and of what comes behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Latency {
    pub(super) load: Option<u32>,
    pub(super) own: u32,
}

impl Latency {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let number = |part: &str| part.parse().map_err(|_| format!("{text} is no latency"));
        match text.split_once('+') {
            Some((load, own)) => Ok(Self { load: Some(number(load)?), own: number(own)? }),
            None => Ok(Self { load: None, own: number(text)? }),
        }
    }
}

impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.load {
            Some(load) => write!(f, "{load}+{}", self.own),
            None => write!(f, "{}", self.own),
        }
    }
}

/// What a form costs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) name: String,
    pub(super) form: Form,
    pub(super) slots: u32,
    pub(super) latency: Latency,
    pub(super) uops: Vec<Uops>,
}

impl Line {
    fn parse(text: &str) -> Result<Self, String> {
        let fields: Vec<&str> = text.split('\t').collect();
        let [name, letter, slots, latency, uops] = fields[..] else {
            return Err(format!("{} fields instead of 5", fields.len()));
        };
        Ok(Self {
            name: name.to_owned(),
            form: form(letter)?,
            slots: slots.parse().map_err(|_| format!("{slots} is no number of slots"))?,
            latency: Latency::parse(latency)?,
            uops: Uops::parse_all(uops)?,
        })
    }

    /// True if it has uops of a unit whose name has this part.
    pub(super) fn uses(&self, part: &str) -> bool {
        self.uops.iter().flat_map(|uops| &uops.units).any(|unit| unit.contains(part))
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, form, slots, latency, uops } = self;
        write!(f, "{name}\t{form}\t{slots}\t{latency}\t")?;
        let uops: Vec<String> = uops.iter().map(Uops::to_string).collect();
        f.write_str(if uops.is_empty() { "-" } else { "" })?;
        f.write_str(&uops.join("+"))
    }
}

/// The lines of a table, in their order.
#[derive(Debug, Default)]
pub(super) struct Lines {
    lines: Vec<Line>,
    places: HashMap<(String, Form), usize>,
}

impl Lines {
    /// Reads a table, or names the first line that is wrong.
    pub(super) fn parse(text: &str) -> Result<Self, (usize, String)> {
        let mut all = Self::default();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
            let line = Line::parse(line).map_err(|what| (number + 1, what))?;
            all.places.insert((line.name.clone(), line.form), all.lines.len());
            all.lines.push(line);
        }
        Ok(all)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter()
    }

    pub(super) fn get(&self, name: &str, form: Form) -> Option<&Line> {
        self.lines.get(*self.places.get(&(name.to_owned(), form))?)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "test code")]
    use super::*;

    #[test]
    fn measured_tables_are_read_and_written_alike() {
        let text = "Add_rm8_r8\tm\t1\t4+1\t2*A0,A1+1*S.0\nNopw\tr\t1\t0\t-";
        let lines = Lines::parse(text).unwrap();
        let back: Vec<String> = lines.iter().map(Line::to_string).collect();
        assert_eq!(back.join("\n"), text);
        assert_eq!(lines.get("Nopw", Form::Register).unwrap().uops, []);
        assert_eq!(
            Lines::parse("#\nA\tq\t1\t0\t-").unwrap_err(),
            (2, "q is no form of an operand".to_owned())
        );
    }
}
