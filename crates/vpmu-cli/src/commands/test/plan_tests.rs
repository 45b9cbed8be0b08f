//! Which tests a command line comes to.

use super::*;
use crate::args::{Cli, Command};
use crate::commands::test::manifest::Expect;
use clap::Parser as _;
use std::path::PathBuf;

fn entry(name: &str) -> Entry {
    Entry {
        name: name.to_owned(),
        path: PathBuf::from(format!("/images/{name}.elf")),
        architecture: Some(Architecture::X86_64),
        manifest: None,
        area: name.to_owned(),
        groups: Vec::new(),
        append: String::new(),
        timeout: 60,
        memory: 128,
        profiles: None,
        engines: None,
        needs: Vec::new(),
        inject: None,
        skid: None,
        expect: Expect::Pass,
        checks: Vec::new(),
        skip: None,
    }
}

fn cases(entries: Vec<Entry>, args: &[&str]) -> Result<Vec<Case>, TestError> {
    let cli = Cli::try_parse_from([&["vpmu", "test", "x"], args].concat()).unwrap();
    let Command::Test(args) = cli.command else { panic!("not test") };
    let shard = args.shard.and_then(|shard| shard.resolve(&|_| None).unwrap());
    plan(entries, &args, &chosen_profiles(&args).unwrap(), shard, &KvmMissing::new()).map(|plan| plan.cases)
}

fn names(entries: Vec<Entry>, args: &[&str]) -> Vec<String> {
    cases(entries, args).unwrap().iter().map(ToString::to_string).collect()
}

const TWO: &str = "icelake-sp,sapphire-rapids";

#[test]
fn the_matrix_goes_by_image_then_profile_then_engine() {
    let found = names(vec![entry("a"), entry("b")], &["--profile", TWO, "--engine", "all"]);
    assert_eq!(
        found,
        [
            "a@icelake-sp/soft",
            "a@icelake-sp/kvm",
            "a@sapphire-rapids/soft",
            "a@sapphire-rapids/kvm",
            "b@icelake-sp/soft",
            "b@icelake-sp/kvm",
            "b@sapphire-rapids/soft",
            "b@sapphire-rapids/kvm",
        ]
    );
    assert_eq!(
        names(vec![entry("a")], &[]).len(),
        Architecture::X86_64.profiles().count(),
        "all profiles, one engine"
    );
}

#[test]
fn an_image_runs_on_cpus_of_its_instruction_set() {
    let arm = || Entry { architecture: Some(Architecture::Aarch64), ..entry("a") };
    assert_eq!(
        names(vec![arm(), entry("b")], &["--profile", "falkor,zen4"]),
        ["a@falkor/soft", "b@zen4/soft"]
    );
    assert_eq!(names(vec![arm()], &[]).len(), Architecture::Aarch64.profiles().count(), "all profiles");
    let both = cases(vec![arm()], &["--profile", "falkor", "--engine", "all"]).unwrap();
    let skipped: Vec<bool> = both.iter().map(|case| case.skip.is_some()).collect();
    assert_eq!(skipped, [false, true], "not under KVM");
}

#[test]
fn a_manifest_can_restrict_profiles_and_engines() {
    let only = Entry {
        profiles: Some(vec!["icelake-sp".to_owned()]),
        engines: Some(vec![Engine::Kvm]),
        ..entry("a")
    };
    assert_eq!(names(vec![only, entry("b")], &["--profile", TWO, "--engine", "all"]).len(), 1 + 4);
}

#[test]
fn the_detail_is_for_the_soft_engine() {
    let found =
        names(vec![entry("a")], &["--profile", "icelake-sp", "--engine", "all", "--detail", "counts"]);
    assert_eq!(found, ["a@icelake-sp/soft:counts", "a@icelake-sp/kvm"]);
}

#[test]
fn every_guest_is_shown_the_instruction_sets_that_are_asked_for() {
    let asked = cases(vec![entry("a")], &["--profile", TWO, "--isa", "v3"]).unwrap();
    assert_eq!(asked.len(), 2);
    for case in &asked {
        assert!(case.command_line().contains(" --isa v3 "), "{}", case.command_line());
        assert_eq!(case.shown.profile.isa, vpmu::profile::Isa::V3);
    }
    let as_they_are = cases(vec![entry("a")], &[]).unwrap();
    assert!(as_they_are.iter().all(|case| !case.command_line().contains("--isa")));
}

#[test]
fn filters_are_alternatives_and_shards_divide_what_is_left() {
    let entries = || vec![entry("a"), entry("b"), entry("c")];
    let some = ["--profile", TWO, "-E", "image(a)", "-E", "image(c) and profile(icelake-sp)"];
    assert_eq!(names(entries(), &some), ["a@icelake-sp/soft", "a@sapphire-rapids/soft", "c@icelake-sp/soft"]);
    let part = |part| names(entries(), &[&some[..], &["--shard", part]].concat());
    assert_eq!(part("1/2"), ["a@icelake-sp/soft", "c@icelake-sp/soft"]);
    assert_eq!(part("2/2"), ["a@sapphire-rapids/soft"]);
}

#[test]
fn nothing_left_is_an_error_of_its_own() {
    let error = cases(vec![entry("a")], &["--profile", TWO, "-E", "none()"]).unwrap_err();
    assert_eq!(
        (error.to_string().as_str(), error.exit_code()),
        ("no tests to run: 2 found, none selected", 4)
    );
}

#[test]
fn names_that_do_not_exist_are_errors_with_a_suggestion() {
    let error = |filter| cases(vec![entry("lbr")], &["-E", filter]).unwrap_err();
    for (filter, next) in [
        ("profile(saphire-rapids)", "did you mean `sapphire-rapids`?"),
        ("not engine(=kwm)", "did you mean `kvm`?"),
        ("image(lbrr) or image(lbr)", "did you mean `lbr`?"),
        ("detail(xyz)", "`vpmu test DIR --list` shows what there is"),
    ] {
        assert_eq!(error(filter).next_step(), next, "{filter}");
        assert_eq!(error(filter).exit_code(), 2, "{filter}");
    }
    assert!(cases(vec![entry("a")], &["-E", "not engine(kvm)"]).is_ok(), "exists, though not chosen");
}

#[test]
fn what_a_test_needs_is_asked_of_profile_and_engine() {
    let needs = |need| Entry { needs: vec![need], ..entry("a") };
    let skips = |need| -> Vec<Option<String>> {
        let args = ["--profile", TWO, "--engine", "all"];
        cases(vec![needs(need)], &args).unwrap().into_iter().map(|case| case.skip).collect()
    };
    let because = |need: &str| Some(format!("needs {need}"));
    let l2 = because("metrics_l2");
    assert_eq!(skips(Need::MetricsL2), [l2.clone(), l2, None, None]);
    assert_eq!(skips(Need::Exact), [None, because("exact"), None, because("exact")]);
    assert_eq!(skips(Need::Lbr), [None, because("lbr"), None, because("lbr")]);
    assert_eq!(skips(Need::Metrics), [None, None, None, None]);
}

#[test]
fn without_kvm_for_a_profile_its_tests_are_skipped_with_the_reason() {
    let cli = Cli::parse_from(["vpmu", "test", "x", "--profile", TWO, "--engine", "all"]);
    let Command::Test(args) = cli.command else { panic!("not test") };
    let missing = KvmMissing::from([("icelake-sp".to_owned(), "no /dev/kvm".to_owned())]);
    let cases =
        plan(vec![entry("a")], &args, &chosen_profiles(&args).unwrap(), None, &missing).unwrap().cases;
    let skips: Vec<_> = cases.iter().map(|case| case.skip.as_deref()).collect();
    assert_eq!(skips, [None, Some("no /dev/kvm"), None, None]);
}

#[test]
fn a_test_can_be_run_by_hand() {
    let entry = Entry { append: "-x 'a b'".to_owned(), timeout: 5, ..entry("a") };
    let case = &cases(vec![entry], &["--profile", "icelake-sp", "--engine", "kvm", "--counts", "synthetic"])
        .unwrap()[0];
    assert_eq!(
        case.command_line(),
        "vpmu run /images/a.elf --profile icelake-sp --engine kvm --counts synthetic --timeout 5 --memory 128 \
         \"--append=-x 'a b'\""
    );
}
