//! A register of CPUID: what a profile announces there, or what a value would.

use super::fields;
use crate::error::CliError;
use crate::output::{BAD, HEADING, number, paint, print, print_json};
use serde::Serialize;
use std::fmt::Write as _;
use vpmu::Profile;
use vpmu::cpuid::{CpuidResult, patch};
use vpmu::decode::{Decoded, decode_cpuid};
use vpmu::register::cpuid::{WORDS, Word};

/// A register of CPUID taken apart.
#[derive(Debug, Serialize)]
struct Explained {
    profile: String,
    leaf: u32,
    subleaf: Option<u32>,
    value: u32,
    /// The value is what the profile's CPU announces, of the bits that are about its PMU.
    announced: bool,
    #[serde(flatten)]
    decoded: Decoded,
}

/// The names of all.
pub(super) fn all_names() -> impl Iterator<Item = String> {
    WORDS.iter().map(Word::name)
}

pub(super) fn show(profile: &Profile, word: &Word, text: Option<&str>, json: bool) -> Result<(), CliError> {
    let value = text
        .map(|text| {
            let value = number::parse(text).and_then(|value| u32::try_from(value).ok());
            value.ok_or_else(|| CliError::Number { text: text.to_owned(), bits: 32 })
        })
        .transpose()?;
    let explained = explain(profile, word, value);
    if json { print_json(&explained) } else { print(&render(&explained)) }
}

fn explain(profile: &Profile, word: &Word, value: Option<u32>) -> Explained {
    let announced = || {
        let leaf = patch(profile, word.leaf, word.subleaf.unwrap_or(0), CpuidResult::default());
        word.output.of(leaf)
    };
    let shown = value.unwrap_or_else(announced);
    Explained {
        profile: profile.name.to_string(),
        leaf: word.leaf,
        subleaf: word.subleaf,
        value: shown,
        announced: value.is_none(),
        decoded: decode_cpuid(profile, word, shown),
    }
}

fn render(explained: &Explained) -> String {
    let Explained { profile, value, announced, decoded, .. } = explained;
    let of = if *announced { "announced by" } else { "on" };
    let name = paint(HEADING, &decoded.register);
    let mut text = format!("{name} = {value:#x} {of} {profile}\n{}\n\n", decoded.summary);
    if decoded.fields.is_empty() {
        text += "no field is set\n";
    } else {
        text += &fields(&decoded.fields, false);
    }
    if !decoded.exists {
        let foreign = format_args!("{profile} is another vendor's CPU: the bits mean something else there");
        let _ = write!(text, "\n{}\n", paint(BAD, foreign));
    }
    if decoded.reserved != 0 {
        let _ = write!(text, "\nother     {:#x}: not about the PMU\n", decoded.reserved);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::names;
    use super::*;
    use vpmu::profile::{SAPPHIRE_RAPIDS, SKYLAKE_SP, ZEN4};

    fn shown(profile: &Profile, name: &str, value: Option<u32>) -> String {
        let word = Word::by_name(name).expect("a register of CPUID");
        anstream::adapter::strip_str(&render(&explain(profile, word, value))).to_string()
    }

    #[test]
    fn a_profile_says_what_it_announces() {
        insta::assert_snapshot!(shown(&SAPPHIRE_RAPIDS, "CPUID.0AH:EAX", None));
        let edx = shown(&ZEN4, "cpuid.80000022h:ebx", None);
        assert!(edx.contains("NumPerfCtrCore") && edx.contains("0x106 announced by zen4"), "{edx}");
        assert!(shown(&SKYLAKE_SP, "CPUID.07H:EDX", None).contains("no field is set"));
    }

    #[test]
    fn a_value_is_taken_apart() {
        let edx = shown(&SAPPHIRE_RAPIDS, "cpuid.7.0.edx", Some(1 << 19 | 1 << 4));
        assert!(edx.contains("Arch LBR") && edx.contains("other     0x10: not about the PMU"), "{edx}");
        let foreign = shown(&ZEN4, "CPUID.0AH:EAX", Some(0x0830_0805));
        assert!(foreign.contains("zen4 is another vendor's CPU"), "{foreign}");
    }

    #[test]
    fn every_name_finds_its_register() {
        for word in WORDS {
            let found = Word::by_name(&word.name().to_lowercase()).map(Word::name);
            assert_eq!(found, Some(word.name()));
        }
        for wrong in ["CPUID", "CPUID.0AH", "CPUID.0AH:ESI", "CPUID.99H:EAX", "CPUID.7.9:EAX", "0AH:EAX"] {
            assert!(Word::by_name(wrong).is_none(), "{wrong}");
        }
        assert!(names().iter().any(|name| name == "CPUID.0AH:EAX"));
    }
}
