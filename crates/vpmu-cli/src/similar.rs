//! "Did you mean".

/// The candidate that a mistyped name most likely means.
pub(crate) fn most_similar<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    /// As clap does for its own names.
    const MIN_SIMILARITY: f64 = 0.7;
    let name = name.to_ascii_lowercase();
    candidates
        .map(|candidate| (strsim::jaro(&name, &candidate.to_ascii_lowercase()), candidate))
        .filter(|(similarity, _)| *similarity > MIN_SIMILARITY)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_finds_the_name() {
        let names = ["counts_instructions", "overflow_sets_status"];
        assert_eq!(most_similar("count_instruction", names.into_iter()).as_deref(), Some(names[0]));
        assert_eq!(most_similar("zzz", names.into_iter()), None);
    }
}
