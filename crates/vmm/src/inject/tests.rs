use super::*;
use vpmu::profile::{FALKOR, ICELAKE_SP, SAPPHIRE_RAPIDS, ZEN2, ZEN4};

fn problem(text: &str, profile: &Profile) -> String {
    FaultPlan::parse(text, profile).expect_err(text).to_string()
}

fn only(text: &str, profile: &Profile) -> Fault {
    let plan = FaultPlan::parse(text, profile).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(plan.faults().len(), 1);
    plan.faults()[0].fault
}

fn fault(keys: &str) -> String {
    format!("[[fault]]\n{keys}\n")
}

#[test]
fn every_kind_of_fault_and_trigger() {
    let counter = CounterId::Gp(0);
    for (keys, effect) in [
        ("do = \"lose-pmi\"", Effect::LosePmi),
        ("do = \"delay-pmi\"\nby = 500", Effect::DelayPmi(500)),
        ("do = \"double-pmi\"", Effect::DoublePmi(0)),
        ("do = \"double-pmi\"\nby = 9", Effect::DoublePmi(9)),
        ("do = \"add-pmi\"", Effect::AddPmi),
        ("do = \"spurious-nmi\"", Effect::SpuriousNmi),
        ("do = \"lose-counts\"\ncounter = \"PMC0\"\nby = 10", Effect::LoseCounts { counter, by: 10 }),
        ("do = \"freeze\"\ncounter = \"IA32_PMC0\"", Effect::Freeze { counter, instructions: None }),
        (
            "do = \"freeze\"\ncounter = \"FIXED_CTR1\"\nfor = 7",
            Effect::Freeze { counter: CounterId::Fixed(1), instructions: NonZeroU64::new(7) },
        ),
        ("do = \"jump\"\ncounter = \"pmc0\"\nby = -3", Effect::Jump { counter, by: -3 }),
        ("do = \"status-bit\"\nbit = 62", Effect::StatusBit(62)),
        ("do = \"lose-branches\"\nrecords = 4", Effect::LoseBranches(4)),
        ("do = \"truncate-pebs\"\nbytes = 40", Effect::TruncatePebs(40)),
    ] {
        let text = fault(&format!("pmi = 3\n{keys}"));
        let planned = only(&text, &SAPPHIRE_RAPIDS.with_pebs());
        assert_eq!(planned.effect, effect, "{text}");
        assert_eq!((planned.when.trigger, planned.when.first.get()), (Trigger::Pmi, 3));
    }
    for (keys, trigger, first) in [
        ("read = \"PERF_METRICS\"\nnth = 2\ndo = \"stale\"", Trigger::Read(0x329), 2),
        ("write = \"IA32_PERF_GLOBAL_CTRL\"\ndo = \"add-pmi\"", Trigger::Write(0x38F), 1),
        ("instruction = 1_000_000\ndo = \"add-pmi\"", Trigger::Instruction, 1_000_000),
    ] {
        let When { trigger: is, first: at, .. } = only(&fault(keys), &SAPPHIRE_RAPIDS).when;
        assert_eq!((is, at.get()), (trigger, first), "{keys}");
    }
    let again = only(&fault("pmi = 2\nevery = 3\ntimes = 4\ndo = \"lose-pmi\""), &ICELAKE_SP).when;
    assert_eq!((again.every, again.times), (NonZeroU64::new(3), NonZeroU64::new(4)));
}

/// Names are the profile's own, on AMD and Arm CPUs too.
#[test]
fn registers_and_counters_of_other_vendors() {
    let zen = only(&fault("read = \"PERF_CTR1\"\ndo = \"stale\""), &ZEN4);
    assert_eq!(zen.when.trigger, Trigger::Read(0xC001_0203));
    let zen = only(&fault("pmi = 1\ndo = \"jump\"\ncounter = \"PMC5\"\nby = 1"), &ZEN2);
    assert_eq!(zen.effect, Effect::Jump { counter: CounterId::Gp(5), by: 1 });
    for name in ["PMCCNTR", "PMCCNTR_EL0"] {
        let arm = only(&fault(&format!("pmi = 1\ndo = \"freeze\"\ncounter = \"{name}\"")), &FALKOR);
        assert_eq!(arm.effect, Effect::Freeze { counter: CounterId::Fixed(0), instructions: None });
    }
    let arm = only(&fault("write = \"PMCR_EL0\"\ndo = \"status-bit\"\nbit = 31"), &FALKOR);
    assert_eq!(arm.effect, Effect::StatusBit(31));
}

#[test]
fn what_is_wrong_is_named_with_its_line_and_what_is_allowed() {
    let pmi = |keys: &str| fault(&format!("pmi = 1\n{keys}"));
    let good = "# two lines\n\n[[fault]]\npmi = 1\ndo = \"lose-pmi\"\n\n";
    for (text, parts) in [
        (format!("{good}{}", fault("do = \"lose-pmi\"")), vec!["line 7: ", "`pmi`, `read`, `write`"]),
        (fault("pmi = 1\nread = \"PMC0\"\ndo = \"lose-pmi\""), vec!["line 1: ", "one of"]),
        (fault("pmi = 0\ndo = \"lose-pmi\""), vec!["`pmi` begins at 1"]),
        (fault("pmi = 1\nnth = 2\ndo = \"lose-pmi\""), vec!["`nth` goes with"]),
        (pmi("times = 2\ndo = \"lose-pmi\""), vec!["`times` goes with `every`"]),
        (pmi("every = 0\ndo = \"lose-pmi\""), vec!["`every` begins at 1"]),
        (pmi("do = \"explode\""), vec!["line 3", "explode", "`lose-pmi`", "`truncate-pebs`"]),
        (pmi("do = \"lose-pmi\"\nwhy = 1"), vec!["why", "`instruction`"]),
        (pmi("do = \"delay-pmi\""), vec!["delay-pmi needs `by`: instructions"]),
        (pmi("do = \"delay-pmi\"\nby = -1"), vec!["`by` = -1 is not between 1 and"]),
        (pmi("do = \"jump\"\nby = 1"), vec!["jump needs `counter`"]),
        (
            pmi("do = \"jump\"\nby = 1\ncounter = \"PMC9\""),
            vec!["no counter \"PMC9\"", "PMC0, PMC1", "FIXED_CTR3"],
        ),
        (pmi("do = \"lose-pmi\"\nby = 1"), vec!["`by` does not belong to lose-pmi, which takes none"]),
        (pmi("do = \"jump\"\nbit = 1"), vec!["`bit` does not belong to jump, which takes `counter` `by`"]),
        (pmi("do = \"status-bit\"\nbit = 31"), vec!["no bit 31: 0, 1,", "62, 63"]),
        (pmi("do = \"status-bit\"\nbit = 64"), vec!["`bit` = 64 is not between 0 and 63"]),
        (pmi("do = \"stale\""), vec!["only a read can be stale"]),
        (pmi("do = \"truncate-pebs\"\nbytes = 8"), vec!["has no PEBS"]),
        (fault("read = \"PMC8\"\ndo = \"stale\""), vec!["\"PMC8\" is no register of the PMU of icelake-sp"]),
        (fault("read = \"PERF_CTL0\"\ndo = \"stale\""), vec!["no register"]),
        (String::new(), vec!["no [[fault]]"]),
        ("[[fault]\n".to_owned(), vec!["line 1"]),
        ("[fault]\npmi = 1\n".to_owned(), vec!["line 1"]),
        (fault("pmi = 1\ndo = \"lose-pmi\"").repeat(MAX_FAULTS + 1), vec!["more than 1024"]),
    ] {
        let said = problem(&text, &ICELAKE_SP);
        for part in parts {
            assert!(said.contains(part), "{part:?} in {said:?} of {text}");
        }
    }
    for (profile, keys, part) in [
        (&FALKOR, "do = \"double-pmi\"", "cannot rise twice"),
        (&FALKOR, "do = \"spurious-nmi\"", "no NMI"),
        (&FALKOR, "do = \"lose-branches\"\nrecords = 1", "no stack of branch records"),
        (&ZEN2, "do = \"status-bit\"\nbit = 0", "no overflow status register"),
    ] {
        let said = problem(&pmi(keys), profile);
        assert!(said.contains(part), "{part:?} in {said:?}");
    }
}

#[test]
fn counted_faults_are_known_as_such() {
    let counted =
        |keys: &str| FaultPlan::parse(&fault(keys), &ICELAKE_SP).expect("a plan").counts_instructions();
    assert!(counted("instruction = 5\ndo = \"add-pmi\""));
    assert!(counted("pmi = 5\ndo = \"delay-pmi\"\nby = 1"));
    assert!(counted("pmi = 5\ndo = \"freeze\"\ncounter = \"PMC0\"\nfor = 1"));
    assert!(!counted("pmi = 5\ndo = \"freeze\"\ncounter = \"PMC0\""));
    assert!(counted("pmi = 5\ndo = \"double-pmi\"\nby = 1"));
    assert!(!counted("pmi = 5\ndo = \"double-pmi\""));
    assert!(!counted("read = \"PMC0\"\ndo = \"stale\""));
}

proptest::proptest! {
    /// Whatever a file says, it is taken or refused.
    #[test]
    fn no_file_is_too_odd(
        lines in proptest::collection::vec(0_usize..24, 0..24),
        numbers in proptest::collection::vec(proptest::num::i64::ANY, 24),
    ) {
        const LINES: [&str; 24] = [
            "[[fault]]", "[[fault]]", "[[fault]]", "pmi = N", "read = \"PMC0\"", "read = \"PERF_METRICS\"",
            "write = \"PERF_GLOBAL_CTRL\"", "instruction = N", "nth = N", "every = N", "times = N",
            "do = \"lose-pmi\"", "do = \"delay-pmi\"", "do = \"freeze\"", "do = \"jump\"", "do = \"stale\"",
            "do = \"status-bit\"", "counter = \"PMC0\"", "by = N", "for = N", "bit = N", "bytes = N", "records = N",
            "do = \"truncate-pebs\"",
        ];
        let line = |(line, number): (&usize, &i64)| LINES[*line].replace('N', &number.to_string()) + "\n";
        let text: String = lines.iter().zip(&numbers).map(line).collect();
        for profile in [&ICELAKE_SP, &ZEN4, &FALKOR] {
            let _ = FaultPlan::parse(&text, profile);
        }
    }
}
