//! The file of a recording of forms.

use core_model::Form;
use std::fmt;

/// Names of the columns.
pub(crate) const HEADER: &str = "form\toperand\tcycles\tlatency";

/// Figures of one form.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) form: String,
    /// A register or memory.
    pub(crate) operand: Form,
    /// Cycles of one of many independent copies.
    pub(crate) cycles: Option<f64>,
    /// Cycles of chains, each through this operand.
    pub(crate) latencies: Vec<(u32, f64)>,
}

impl Row {
    /// Number of figures.
    pub(super) fn count(&self) -> usize {
        usize::from(self.cycles.is_some()) + self.latencies.len()
    }

    fn parse(line: &str) -> Result<Self, String> {
        let fields: Vec<&str> = line.split('\t').collect();
        let [form, operand, cycles, latencies] = fields[..] else {
            return Err(format!("{} fields instead of 4", fields.len()));
        };
        let operand = Form::from_letter(operand)
            .filter(|form| matches!(form, Form::Register | Form::Memory))
            .ok_or_else(|| format!("{operand} is no form of an operand"))?;
        let number = |text: &str| match text.parse::<f64>() {
            Ok(cycles) if cycles > 0.0 && cycles.is_finite() => Ok(cycles),
            _ => Err(format!("{text} is no number of cycles")),
        };
        let latency = |part: &str| {
            let (operand, cycles) = part.split_once(':').ok_or_else(|| format!("{part} is no latency"))?;
            Ok((operand.parse().map_err(|_| format!("{operand} is no operand"))?, number(cycles)?))
        };
        let latencies: Result<_, String> = match latencies {
            "-" => Ok(Vec::new()),
            _ => latencies.split(',').map(latency).collect(),
        };
        Ok(Self {
            form: form.to_owned(),
            operand,
            cycles: if cycles == "-" { None } else { Some(number(cycles)?) },
            latencies: latencies?,
        })
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { form, operand, cycles, latencies } = self;
        let cycles = cycles.map_or("-".to_owned(), |cycles| format!("{cycles:.4}"));
        let latencies: Vec<String> =
            latencies.iter().map(|(operand, cycles)| format!("{operand}:{cycles:.4}")).collect();
        let latencies = if latencies.is_empty() { "-".to_owned() } else { latencies.join(",") };
        write!(f, "{form}\t{operand}\t{cycles}\t{latencies}")
    }
}

/// The rows of a file, or the first line that is wrong, and why.
pub(crate) fn parse(text: &str) -> Result<Vec<Row>, (usize, String)> {
    let lines = text.lines().enumerate();
    let wanted = lines.filter(|(_, line)| !line.starts_with('#') && *line != HEADER);
    wanted.map(|(number, line)| Row::parse(line).map_err(|what| (number + 1, what))).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "test code")]
    use super::*;

    #[test]
    fn rows_of_forms_are_read_and_written_alike_and_wrong_ones_named() {
        let lines = "Add_rm8_r8\tr\t0.1900\t0:1.0000,1:1.0100\nNop\tr\t-\t-";
        let rows = parse(&format!("# host\n{HEADER}\n{lines}")).unwrap();
        let back: Vec<String> = rows.iter().map(Row::to_string).collect();
        assert_eq!((back.join("\n").as_str(), rows[0].count()), (lines, 3));
        let wrong = |text: &str| parse(text).unwrap_err();
        assert_eq!(wrong("A\tr\t0\t-"), (1, "0 is no number of cycles".to_owned()));
        assert_eq!(wrong("#\nA\tr\t1\t1"), (2, "1 is no latency".to_owned()));
        assert_eq!(wrong("A\tz\t1\t-"), (1, "z is no form of an operand".to_owned()));
        assert_eq!(wrong("\n"), (1, "1 fields instead of 4".to_owned()));
    }
}
