//! The page of instructions in the documentation.

use super::{Form, Support, forms};
use crate::bus::Bus;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Mnemonics with the same cells share a row.
type Rows = BTreeMap<([&'static str; 3], String), BTreeSet<String>>;

/// docs/instructions.md.
#[must_use]
pub fn markdown<B: Bus>() -> String {
    let mut page = String::from(
        "# Instructions of the soft engine\n\n\
         Generated from the decoder's choice of handlers by `cargo xtask docs`; do not edit.\n\n\
         What is executed in 64-bit, 32-bit and 16-bit code segments, by the extension that an instruction \
         belongs to. *partly*: the notes name the forms that are missing. *#UD*: as on a CPU that does not \
         announce the instruction. *–*: no encoding in that mode. An instruction that is missing raises #UD \
         as well, and the run names it in a warning.\n",
    );
    let mut groups = BTreeMap::<Vec<String>, Vec<Form>>::new();
    for form in forms::<B>() {
        groups.entry(form.features.clone()).or_default().push(form);
    }
    let (there, absent): (Vec<_>, Vec<_>) = groups
        .into_iter()
        .partition(|(_, forms)| forms.iter().any(|form| form.modes().contains(&Support::Implemented)));
    for (features, forms) in there {
        let announced = forms.iter().all(|form| form.announced);
        let remark = if announced { "" } else { " (not announced)" };
        let _ = write!(page, "\n## {}{remark}\n\n", name(&features));
        page.push_str(
            "| Instructions | 64-bit | 32-bit | 16-bit | Notes |\n| --- | --- | --- | --- | --- |\n",
        );
        for (([bits64, bits32, bits16], note), mnemonics) in rows(&forms) {
            let mnemonics = mnemonics.into_iter().collect::<Vec<_>>().join(" ");
            let _ = writeln!(page, "| {mnemonics} | {bits64} | {bits32} | {bits16} | {note} |");
        }
    }
    page.push_str(
        "\n## Extensions without any instruction\n\n\
         CPUID announces none of them.\n\n| Extension | Instructions | Why |\n| --- | --- | --- |\n",
    );
    for (features, forms) in absent {
        let mnemonics: BTreeSet<_> = forms.iter().map(|form| &form.mnemonic).collect();
        let why = features.iter().find_map(|feature| reason(feature)).unwrap_or_default();
        let _ = writeln!(page, "| {} | {} | {why} |", name(&features), mnemonics.len());
    }
    page
}

/// Why what the silicon of a profile has is not here.
fn reason(feature: &str) -> Option<&'static str> {
    Some(match feature {
        "RDPRU" => "reads MPERF and APERF (APM volume 3), which the machine does not have",
        "AMX_TILE" | "AMX_BF16" | "AMX_INT8" | "AMX_FP16" | "AMX_COMPLEX" => {
            "the tiles (XSAVE components 17 and 18) are not kept"
        }
        _ => return None,
    })
}

/// Features as manuals write them.
fn name(features: &[String]) -> String {
    if features.is_empty() {
        return "Every x86-64 CPU".to_owned();
    }
    let pretty = |feature: &String| match feature.as_str() {
        "SSE4_1" => "SSE4.1".to_owned(),
        "SSE4_2" => "SSE4.2".to_owned(),
        other => other.to_owned(),
    };
    features.iter().map(pretty).collect::<Vec<_>>().join(" and ")
}

fn rows(forms: &[Form]) -> Rows {
    let mut mnemonics = BTreeMap::<&str, Vec<&Form>>::new();
    for form in forms {
        mnemonics.entry(&form.mnemonic).or_default().push(form);
    }
    let mut rows = Rows::new();
    for (mnemonic, forms) in mnemonics {
        let cells = [0, 1, 2].map(|mode| cell(forms.iter().map(|form| form.modes()[mode])));
        let missing = |form: &&&Form| form.modes().contains(&Support::Missing);
        let mut notes: Vec<&str> = Vec::new();
        if cells.contains(&"partly") {
            notes.push("missing:");
            notes.extend(forms.iter().filter(missing).map(|form| form.text));
        }
        let announced = forms.iter().filter(|form| form.announced);
        if let Some(excuse) = announced.filter(missing).find_map(|form| form.excuse()) {
            notes.push(excuse);
        }
        rows.entry((cells, notes.join(" "))).or_default().insert(mnemonic.to_owned());
    }
    rows
}

/// All forms of a mnemonic in one mode.
fn cell(support: impl Iterator<Item = Support>) -> &'static str {
    let all: BTreeSet<Support> = support.filter(|support| *support != Support::NoEncoding).collect();
    match (all.first(), all.last()) {
        (None, _) | (_, None) => "–",
        (Some(Support::Implemented), Some(Support::Implemented)) => "yes",
        (Some(Support::Implemented), _) => "partly",
        (_, Some(Support::Undefined)) => "#UD",
        _ => "no",
    }
}
