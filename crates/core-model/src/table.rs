//! What instructions cost, as data.

use crate::core::WideUnits;
use retire::FormId;
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
    /// A memory operand of index, register and displacement, where that is another matter.
    Complex,
    /// A memory operand of a multiplied index, where that is another matter.
    Scaled,
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
    /// How much of that the load takes, where it is known; without a load, how much only what waits for distant sources
    /// takes ([`Instruction::distant`](retire::Instruction::distant)).
    pub load: Option<u16>,
    /// Cycles by which the second general register that it writes, in the order of their numbers, comes later.
    pub second: u16,
    /// What it needs of the units.
    pub uops: Vec<Uops>,
}

/// What an instruction waits for, and what waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Order {
    /// Nothing.
    #[default]
    Free,
    /// Nothing younger is allocated while it lasts; older ones go on.
    Holding,
    /// Everything older has to be complete first, and nothing younger starts before it is complete itself.
    Serialising,
    /// As [`Serialising`](Self::Serialising), and older stores have reached the cache too.
    Fence,
}

/// Cost of a system instruction, which is microcode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SystemCost {
    pub(crate) slots: u16,
    pub(crate) cycles: u16,
    pub(crate) order: Order,
}

/// Costs of all instructions on one core.
#[derive(Debug, Clone, Default)]
pub struct UopTable {
    units: Vec<String>,
    costs: HashMap<(FormId, Form), Cost>,
    system: HashMap<FormId, SystemCost>,
    /// A plain load.
    load: Option<FormId>,
    /// What operations on the second byte of a register have the units and the latency of.
    high_byte: Option<FormId>,
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

impl Form {
    const ALL: [Self; 4] = [Self::Register, Self::Memory, Self::Complex, Self::Scaled];

    fn letter(self) -> &'static str {
        match self {
            Self::Register => "r",
            Self::Memory => "m",
            Self::Complex => "x",
            Self::Scaled => "s",
        }
    }

    /// The form that a table has under a letter, as it is displayed; `None` if no form has it.
    #[must_use]
    pub fn from_letter(letter: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.letter() == letter)
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.letter())
    }
}

impl UopTable {
    /// Reads a table. `form` resolves names of forms, as the producer of the retirement stream numbers them. Lines
    /// that start with `#` are comments, except that `#units` names the units, `#load` the form of a plain load, and
    /// `#high byte` that which operations on the second byte of a register are like.
    /// All others have five fields separated by tabs: name of the form, `r`, `m`, `x` or `s` ([`Form`]),
    /// slots, latency, and uops as
    /// `cycles*unit,unit...` joined by `+`, `-` for none. A latency may be that of the load, or of the way from distant
    /// sources, and that of the rest, joined by `+`; behind a comma comes the latter to the second register that is
    /// written, if that is another one.
    ///
    /// # Errors
    /// [`TableError`] names the first line that is wrong.
    pub fn parse(text: &str, form: impl Fn(&str) -> Option<FormId>) -> Result<Self, TableError> {
        Self::parse_wide(text, &[], form)
    }

    /// [`parse`](Self::parse), with other units for uops of 512 bits.
    pub(crate) fn parse_wide(
        text: &str,
        wide: &[WideUnits],
        form: impl Fn(&str) -> Option<FormId>,
    ) -> Result<Self, TableError> {
        let mut table = Self::default();
        for (number, line) in text.lines().enumerate() {
            table.parse_line(line, wide, &form).map_err(|what| TableError { line: number + 1, what })?;
        }
        Ok(table)
    }

    fn parse_line(
        &mut self,
        line: &str,
        wide: &[WideUnits],
        form: impl Fn(&str) -> Option<FormId>,
    ) -> Result<(), String> {
        if let Some(units) = line.strip_prefix("#units\t") {
            self.units = units.split('\t').map(str::to_owned).collect();
            let few = self.units.len() <= MAX_UNITS;
            return if few { Ok(()) } else { Err(format!("more than {MAX_UNITS} units")) };
        }
        if let Some(load) = line.strip_prefix("#load\t") {
            self.load = Some(resolve(load, form)?);
            return Ok(());
        }
        if let Some(operation) = line.strip_prefix("#high byte\t") {
            self.high_byte = Some(resolve(operation, form)?);
            return Ok(());
        }
        if line.starts_with('#') || line.is_empty() {
            return Ok(());
        }
        let [name, operand, slots, latency, uops] = fields(line)?;
        let id = resolve(name, form)?;
        let operand =
            Form::from_letter(operand).ok_or_else(|| format!("form {operand} is neither r, m, x nor s"))?;
        let (latency, second) =
            latency.split_once(',').map_or((latency, None), |(one, two)| (one, Some(two)));
        let (load, latency) = match latency.split_once('+') {
            Some((load, rest)) => (Some(number(load)?), number(load)?.saturating_add(number(rest)?)),
            None => (None, number(latency)?),
        };
        let compute = latency.saturating_sub(load.unwrap_or_default());
        let second = second.map(number).transpose()?.map_or(0, |second| second.saturating_sub(compute));
        let mut uops = self.uops(uops)?;
        if name.contains("_zmm") {
            self.widen(name, wide, &mut uops)?;
        }
        let cost = Cost { slots: number(slots)?, latency, load, second, uops };
        match self.costs.insert((id, operand), cost) {
            None => Ok(()),
            Some(_) => Err(format!("{name} {operand} is there twice")),
        }
    }

    /// Reads the costs of system instructions, which replace those of the table. Lines that start with `#` are
    /// comments; all others have four fields separated by tabs: name of the form, slots, cycles, and `free`,
    /// `holding`, `serialising` or `fence`.
    pub(crate) fn add_system(
        &mut self,
        text: &str,
        form: impl Fn(&str) -> Option<FormId>,
    ) -> Result<(), TableError> {
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
            let error = |what| TableError { line: index + 1, what };
            let [name, slots, cycles, order] = fields(line).map_err(error)?;
            let order = match order {
                "free" => Order::Free,
                "holding" => Order::Holding,
                "serialising" => Order::Serialising,
                "fence" => Order::Fence,
                _ => return Err(error(format!("{order} is no order"))),
            };
            let (slots, cycles) = (number(slots).map_err(error)?, number(cycles).map_err(error)?);
            self.system.insert(resolve(name, &form).map_err(error)?, SystemCost { slots, cycles, order });
        }
        Ok(())
    }

    /// Replaces what `other` has too. Both must name the same units; `other` may name more behind them.
    pub(crate) fn correct(&mut self, other: Self) {
        self.costs.extend(other.costs);
        self.high_byte = other.high_byte.or(self.high_byte);
        if other.units.len() > self.units.len() {
            self.units = other.units;
        }
    }

    /// Sends the uops of an instruction of 512 bits to the units where they belong: the first rule that names theirs.
    fn widen(&self, name: &str, wide: &[WideUnits], uops: &mut [Uops]) -> Result<(), String> {
        let stem = name.split_once('_').map_or(name, |(_, stem)| stem);
        for group in uops {
            for rule in wide {
                let about = rule.of.is_empty() || rule.of.iter().any(|of| stem.starts_with(of));
                if about && group.units == self.mask(rule.from.iter().copied())? {
                    group.units = self.mask(rule.to.iter().copied())?;
                    break;
                }
            }
        }
        Ok(())
    }

    /// Units as bits.
    fn mask<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<u32, String> {
        names.into_iter().try_fold(0, |mask, unit| {
            let index = self.units.iter().position(|name| name == unit);
            Ok(mask | 1 << index.ok_or_else(|| format!("{unit} is no unit"))?)
        })
    }

    fn uops(&self, text: &str) -> Result<Vec<Uops>, String> {
        if text == "-" {
            return Ok(Vec::new());
        }
        let group = |group: &str| {
            let (cycles, units) = group.split_once('*').ok_or_else(|| format!("{group} has no *"))?;
            let cycles = cycles.parse().map_err(|_| format!("{cycles} is no number of cycles"))?;
            Ok(Uops { units: self.mask(units.split(','))?, cycles })
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
    pub fn cost(&self, id: FormId, form: Form) -> Option<&Cost> {
        self.costs.get(&(id, form))
    }

    /// Cost of a system instruction; `None` if it is none.
    pub(crate) fn system_cost(&self, id: FormId) -> Option<SystemCost> {
        self.system.get(&id).copied()
    }

    /// The longest way from distant sources.
    pub(crate) fn longest_way(&self) -> u16 {
        let ways = self.costs.iter().filter(|((_, form), _)| matches!(form, Form::Register | Form::Complex));
        ways.filter_map(|(_, cost)| cost.load).max().unwrap_or(0)
    }

    /// Cost of an operation on the second byte of a register, where that is another one.
    pub(crate) fn high_byte_cost(&self) -> Option<&Cost> {
        self.cost(self.high_byte?, Form::Register)
    }

    /// The units that plain loads go to.
    pub(crate) fn load_units(&self) -> u32 {
        let of = |load| self.cost(load, Form::Memory).or_else(|| self.cost(load, Form::Register));
        let load = self.load.and_then(of);
        load.map_or(0, |cost| cost.uops.iter().fold(0, |units, uops| units | uops.units))
    }

    /// Those of these units that the table names, as bits.
    pub(crate) fn known_units(&self, names: &[&str]) -> u32 {
        let is_named = |unit: &String| names.contains(&unit.as_str());
        (0..).zip(&self.units).map(|(index, unit)| u32::from(is_named(unit)) << index).sum()
    }

    /// The units of uops that have a choice, but for that among units of loads.
    pub(crate) fn choice_units(&self) -> u32 {
        let loads = self.load_units();
        let masks = self.costs.values().flat_map(|cost| &cost.uops).map(|uops| uops.units);
        let choices = masks.filter(|&units| units.count_ones() > 1 && units & !loads != 0);
        choices.fold(0, |all, units| all | units)
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

fn fields<const N: usize>(line: &str) -> Result<[&str; N], String> {
    let fields: Vec<&str> = line.split('\t').collect();
    fields.try_into().map_err(|fields: Vec<&str>| format!("{} fields instead of {N}", fields.len()))
}

fn number(text: &str) -> Result<u16, String> {
    text.parse().map_err(|_| format!("{text} is no number"))
}

fn resolve(name: &str, form: impl Fn(&str) -> Option<FormId>) -> Result<FormId, String> {
    form(name).ok_or_else(|| format!("{name} is no instruction"))
}

/// True if a unit is an execution port, not a divider, multiplier or queue behind one, and not LLVM's place for what
/// it does not know.
pub(crate) fn is_port(unit: &str) -> bool {
    !["Div", "Multiplier", "Invalid", "FPSt", "."].iter().any(|part| unit.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADD: FormId = FormId(7);

    fn form(name: &str) -> Option<FormId> {
        (name == "Add_r64_rm64").then_some(ADD)
    }

    #[test]
    fn a_table_is_read() {
        let table = UopTable::parse("# c\n#units\tp0\tp1\tp23\nAdd_r64_rm64\tm\t2\t6\t1*p0,p1+1*p23\n", form)
            .unwrap();
        let cost = table.cost(ADD, Form::Memory).unwrap();
        assert_eq!((cost.slots, cost.latency), (2, 6));
        assert_eq!(cost.uops, [Uops { units: 3, cycles: 1 }, Uops { units: 4, cycles: 1 }]);
        assert_eq!(table.cost(ADD, Form::Register), None);
    }

    #[test]
    fn wide_uops_go_to_other_units() {
        let rules = [
            WideUnits { from: &["p0"], to: &["p0", "p5"], of: &["Vadd", "Vmul"] },
            WideUnits { from: &["p0", "p1", "p5"], to: &["p0", "p5"], of: &[] },
        ];
        let named = |name: &str| match name {
            "EVEX_Vaddps_zmm" => Some(FormId(1)),
            "EVEX_Vpslld_zmm" => Some(FormId(2)),
            "EVEX_Vaddps_ymm" => Some(FormId(3)),
            _ => None,
        };
        let text = "#units\tp0\tp1\tp5\nEVEX_Vaddps_zmm\tr\t1\t4\t1*p0\nEVEX_Vpslld_zmm\tr\t1\t1\t1*p0\n\
                    EVEX_Vpslld_zmm\tm\t1\t1\t1*p0,p1,p5\nEVEX_Vaddps_ymm\tr\t1\t4\t1*p0";
        let table = UopTable::parse_wide(text, &rules, named).unwrap();
        let units = |id, form| table.cost(FormId(id), form).unwrap().uops[0].units;
        assert_eq!(units(1, Form::Register), 0b101);
        assert_eq!(units(2, Form::Register), 0b001, "no arithmetic that the second unit has");
        assert_eq!(units(2, Form::Memory), 0b101);
        assert_eq!(units(3, Form::Register), 0b001, "256 bits");
        let unknown = [WideUnits { from: &["p9"], ..rules[0] }];
        assert!(UopTable::parse_wide(text, &unknown, named).is_err());
    }

    #[test]
    fn a_wrong_line_is_named() {
        let wrong = |text: &str| UopTable::parse(text, form).unwrap_err().to_string();
        assert_eq!(
            wrong("#units\tp0\nAdd_r64\tr\t1\t1\t-"),
            "line 2 of the uop table: Add_r64 is no instruction"
        );
        assert_eq!(
            wrong("#units\tp0\nAdd_r64_rm64\tr\t1\t1\t1*p9"),
            "line 2 of the uop table: p9 is no unit"
        );
        assert_eq!(wrong("Nopw\tr"), "line 1 of the uop table: 2 fields instead of 5");
        assert_eq!(wrong("#load\tMov"), "line 1 of the uop table: Mov is no instruction");
    }

    #[test]
    fn system_instructions_are_read() {
        let mut table = UopTable::default();
        table.add_system("# c\nAdd_r64_rm64\t4\t33\tfence", form).unwrap();
        let cost = SystemCost { slots: 4, cycles: 33, order: Order::Fence };
        assert_eq!(table.system_cost(ADD), Some(cost));
        let error = table.add_system("#\nAdd_r64_rm64\t4\t33\tsome", form).unwrap_err();
        assert_eq!(error.to_string(), "line 2 of the uop table: some is no order");
    }
}
