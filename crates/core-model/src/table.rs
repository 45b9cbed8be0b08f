//! What instructions cost, as data.

use iced_x86::Code;
use std::collections::HashMap;
use std::fmt;

/// Ports and other units that a table can name.
pub(crate) const MAX_UNITS: usize = 32;

/// Whether the instruction's register-or-memory operand is memory; an instruction without one is
/// [`Register`](Self::Register).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Form {
    /// No memory operand.
    Register,
    /// A memory operand.
    Memory,
}

/// Some uops that can go to the same units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uops {
    /// Bit n: unit n of the table.
    pub units: u32,
    /// Cycles that a unit is taken, in total.
    pub cycles: u16,
}

/// Cost of one instruction in one form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cost {
    /// Slots that it takes at dispatch.
    pub slots: u16,
    /// Cycles from its last source to its result; for loads with the first-level cache's latency.
    pub latency: u16,
    /// What it needs of the units.
    pub uops: Vec<Uops>,
}

/// Costs of all instructions on one core.
#[derive(Debug, Clone)]
pub struct UopTable {
    units: Vec<String>,
    costs: HashMap<(Code, Form), Cost>,
}

/// A table that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the uop table: {what}")]
pub struct TableError {
    /// From 1.
    pub line: usize,
    /// What is wrong, with the text.
    pub what: String,
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Register => "r",
            Self::Memory => "m",
        })
    }
}

impl UopTable {
    /// Reads a table. Lines that start with `#` are comments, except that `#units` names the units. All others have
    /// five fields separated by tabs: iced-x86's name of the instruction, `r` or `m`, slots, latency, and uops as
    /// `cycles*unit,unit...` joined by `+`, `-` for none.
    ///
    /// # Errors
    /// [`TableError`] names the first line that is wrong.
    pub fn parse(text: &str) -> Result<Self, TableError> {
        let names: HashMap<String, Code> = Code::values().map(|code| (format!("{code:?}"), code)).collect();
        let mut table = Self { units: Vec::new(), costs: HashMap::new() };
        for (number, line) in text.lines().enumerate() {
            let error = |what: String| TableError { line: number + 1, what };
            if let Some(units) = line.strip_prefix("#units\t") {
                table.units = units.split('\t').map(str::to_owned).collect();
                if table.units.len() > MAX_UNITS {
                    return Err(error(format!("more than {MAX_UNITS} units")));
                }
                continue;
            }
            if line.starts_with('#') || line.is_empty() {
                continue;
            }
            let fields: Vec<&str> = line.split('\t').collect();
            let &[name, form, slots, latency, uops] = fields.as_slice() else {
                return Err(error(format!("{} fields instead of 5", fields.len())));
            };
            let code = *names.get(name).ok_or_else(|| error(format!("{name} is no instruction")))?;
            let form = match form {
                "r" => Form::Register,
                "m" => Form::Memory,
                _ => return Err(error(format!("form {form} is neither r nor m"))),
            };
            let number = |text: &str| text.parse().map_err(|_| error(format!("{text} is no number")));
            let cost = Cost {
                slots: number(slots)?,
                latency: number(latency)?,
                uops: table.uops(uops).map_err(error)?,
            };
            if table.costs.insert((code, form), cost).is_some() {
                return Err(error(format!("{name} {form} is there twice")));
            }
        }
        Ok(table)
    }

    /// Replaces what `other` has too. Both must name the same units.
    pub(crate) fn correct(&mut self, other: Self) {
        self.costs.extend(other.costs);
    }

    fn uops(&self, text: &str) -> Result<Vec<Uops>, String> {
        if text == "-" {
            return Ok(Vec::new());
        }
        let group = |group: &str| {
            let (cycles, units) = group.split_once('*').ok_or_else(|| format!("{group} has no *"))?;
            let cycles = cycles.parse().map_err(|_| format!("{cycles} is no number of cycles"))?;
            let mut mask = 0;
            for unit in units.split(',') {
                let index = self.units.iter().position(|name| name == unit);
                mask |= 1 << index.ok_or_else(|| format!("{unit} is no unit"))?;
            }
            Ok(Uops { units: mask, cycles })
        };
        text.split('+').map(group).collect()
    }

    /// Names of the units, in the order of the bits in [`Uops::units`].
    #[must_use]
    pub fn units(&self) -> &[String] {
        &self.units
    }

    /// Cost of an instruction; `None` if the table does not have it.
    #[must_use]
    pub fn cost(&self, code: Code, form: Form) -> Option<&Cost> {
        self.costs.get(&(code, form))
    }

    /// The units that plain loads go to.
    pub(crate) fn load_units(&self) -> u32 {
        let load = self.cost(Code::Mov_r64_rm64, Form::Memory);
        load.map_or(0, |cost| cost.uops.iter().fold(0, |units, uops| units | uops.units))
    }

    /// Entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.costs.len()
    }

    /// True if there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.costs.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read() {
        let table =
            UopTable::parse("# c\n#units\tp0\tp1\tp23\nAdd_r64_rm64\tm\t2\t6\t1*p0,p1+1*p23\n").unwrap();
        let cost = table.cost(Code::Add_r64_rm64, Form::Memory).unwrap();
        assert_eq!((cost.slots, cost.latency), (2, 6));
        assert_eq!(cost.uops, [Uops { units: 3, cycles: 1 }, Uops { units: 4, cycles: 1 }]);
        assert_eq!(table.cost(Code::Add_r64_rm64, Form::Register), None);
    }

    #[test]
    fn a_wrong_line_is_named() {
        let wrong = |text: &str| UopTable::parse(text).unwrap_err().to_string();
        assert_eq!(
            wrong("#units\tp0\nAdd_r64\tr\t1\t1\t-"),
            "line 2 of the uop table: Add_r64 is no instruction"
        );
        assert_eq!(
            wrong("#units\tp0\nAdd_r64_rm64\tr\t1\t1\t1*p9"),
            "line 2 of the uop table: p9 is no unit"
        );
        assert_eq!(wrong("Nopw\tr"), "line 1 of the uop table: 2 fields instead of 5");
    }
}
