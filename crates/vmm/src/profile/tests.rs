//! What a profile file may say, and how it is refused.

use super::*;
use proptest::prelude::*;
use vpmu::cpuid::leaf_0a;

fn problem(text: &str) -> String {
    parse(text).expect_err("must be refused").to_string()
}

#[test]
fn what_is_not_given_comes_from_the_base() {
    let profile = parse("base = 'sapphire-rapids'\nname = 'mine'").expect("a profile");
    let base = Profile::by_name("sapphire-rapids").expect("built in");
    assert_eq!(profile.name, "mine");
    assert_eq!(profile.core, base.core);
    assert_eq!(leaf_0a(&profile), leaf_0a(base));
    let capabilities = |profile: &Profile| profile.intel().map(|pmu| pmu.perf_capabilities.0);
    assert_eq!(capabilities(&profile), capabilities(base));
}

/// A combination that a public cloud shows: version 2 with PERF_METRICS.
#[test]
fn a_cloud_s_view_of_a_cpu_can_be_written_down() {
    let profile = parse(
        "base = 'granite-rapids'\nname = 'cloud'\nlbr = 'none'\n\
         [intel]\nversion = 2\nmetrics-level = 2\nfreeze-while-smm = false\n",
    )
    .expect("a profile");
    assert_eq!(leaf_0a(&profile).eax & 0xFF, 2);
    assert_eq!(profile.intel().map(|pmu| pmu.perf_capabilities.0), Some(1 << 13 | 1 << 15));
}

#[test]
fn an_arm_cpu_can_be_changed_within_what_it_can_be() {
    let on = |rest: &str| parse(&format!("base = 'falkor'\nname = 'x'\n{rest}"));
    let changed = on("gp-counters = 6\n[arm]\nversion = 'v8.1'\naarch32 = true\npoison = 7\n\
                      selected-beyond = 'undefined'")
    .expect("a profile");
    let pmu = changed.arm().expect("an Arm CPU");
    assert_eq!((changed.gp_counters, pmu.version, pmu.aarch32, pmu.poison), (6, 4, true, Some(7)));
    assert_eq!((pmu.selected_beyond, pmu.direct_beyond), (BeyondLast::Undefined, BeyondLast::Undefined));
    let problem = |rest: &str| on(rest).expect_err("must be refused").to_string();
    assert_eq!(problem("[intel]\nversion = 2"), "[intel] needs an Intel CPU as base");
    assert_eq!(problem("[amd]\nv2 = true"), "[amd] needs an AMD CPU as base");
    assert_eq!(problem("gp-width = 48"), "gp-width of an Arm CPU is 32");
    assert!(problem("lbr = 'legacy'").contains("no branch records"));
    assert_eq!(problem("[arm]\nmatrix = false\npoison = 1"), "poison needs the matrix");
    assert_eq!(problem("[arm]\nid-code = 256"), "id-code = 256 is not between 0 and 255");
    let x86 = parse("base = 'zen4'\nname = 'x'\n[arm]\nmatrix = true").expect_err("must be refused");
    assert_eq!(x86.to_string(), "[arm] needs an Arm CPU as base");
}

#[test]
fn a_file_can_lower_the_instruction_sets() {
    let with = |base: &str, rest: &str| parse(&format!("base = '{base}'\nname = 'x'\n{rest}"));
    let isa = |rest: &str| with("icelake-sp", rest).expect("a profile").isa;
    assert_eq!(
        [isa(""), isa("isa = 'v4'"), isa("isa = 'v3'"), isa("isa = 'v2'")],
        [Isa::V4, Isa::V4, Isa::V3, Isa::V2]
    );
    assert!(problem("base = 'zen4'\nname = 'x'\nisa = 'v5'").contains("v5"));
    let arm = with("falkor", "isa = 'v3'").expect_err("must be refused");
    assert_eq!(arm.to_string(), "isa needs an x86-64 CPU as base");
}

#[test]
fn the_format_of_branch_records_follows_their_kind() {
    let format = |lbr: &str| {
        let profile = parse(&format!("base = 'icelake-sp'\nname = 'x'\nlbr = {lbr}")).expect("a profile");
        (profile.lbr, profile.intel().map(|pmu| pmu.perf_capabilities.0 & 0x3F))
    };
    assert_eq!(format("'none'"), (LbrKind::None, Some(0)));
    assert_eq!(format("'legacy'"), (LbrKind::Legacy, Some(5)));
    assert_eq!(format("[8, 32]"), (LbrKind::Architectural { depths: 0b1001 }, Some(0x3F)));
}

#[test]
fn what_cannot_be_is_refused_with_the_reason() {
    let on = |rest: &str| problem(&format!("base = 'icelake-sp'\nname = 'x'\n{rest}"));
    assert_eq!(problem("base = 'i486'\nname = 'x'"), "base \"i486\" is no built-in profile");
    assert!(problem("base = 'icelake-sp'\nname = 'Not a name'").contains("lower-case"));
    assert!(problem("base = 'icelake-sp'\nname = 'skylake-sp'").contains("built-in"));
    assert_eq!(on("gp-counters = 11"), "gp-counters = 11 is not between 1 and 10");
    assert_eq!(on("[intel]\nversion = 300"), "version = 300 is not between 1 and 6");
    assert_eq!(on("[intel]\numask2 = true"), "umask2 needs version 6");
    assert!(on("[intel]\nfixed-counters = 3").contains("fixed counter 3 counts the slots"));
    assert!(on("lbr = [9]").contains("multiples of 8"));
    assert!(on("lbr = []").contains("names no depth"));
    assert!(on("gp-countres = 4").contains("gp-countres"));
    assert!(problem("base = ").contains("TOML parse error"));
}

#[test]
fn an_amd_cpu_can_be_changed_too() {
    let zen2 = |rest: &str| parse(&format!("base = 'zen2'\nname = 'x'\n{rest}"));
    let profile = zen2("gp-counters = 4\n[amd]\next-core = false\nmerge = false").expect("a profile");
    assert_eq!(profile.amd().map(|pmu| (pmu.ext_core, pmu.merge)), Some((false, false)));
    for wrong in
        ["[intel]\nversion = 2", "[amd]\nfreeze = true\nv2 = false", "[amd]\next-core = false", "lbr = [8]"]
    {
        assert!(zen2(wrong).is_err(), "{wrong}");
    }
}

proptest! {
    /// Whatever a file says, the CPU that it gives announces only what can be built.
    #[test]
    fn an_accepted_profile_makes_a_pmu(
        counters in 0_u64..12, width in 20_u64..80, version in 0_u64..8, fixed in 0_u64..6,
        level in 0_u64..4, depth in 0_u64..6,
    ) {
        let text = format!(
            "base = 'sapphire-rapids'\nname = 'x'\ngp-counters = {counters}\ngp-width = {width}\nlbr = [{}]\n\
             [intel]\nversion = {version}\nfixed-counters = {fixed}\nmetrics-level = {level}\n",
            depth * 8
        );
        if let Ok(profile) = parse(&text) {
            let pmu = vpmu::Vpmu::new(profile.clone());
            prop_assert_eq!(u64::from(pmu.profile().gp_counters), counters);
            prop_assert_eq!(u64::from(pmu.profile().gp_width), width);
            prop_assert_eq!(leaf_0a(&profile).eax & 0xFF, version as u32);
            // PERF_CAPABILITIES has no bit of PEBS.
            let capabilities = profile.intel().map_or(0, |pmu| pmu.perf_capabilities.0);
            prop_assert_eq!(capabilities & (0b11 << 6 | 0xF << 8 | 1 << 14 | 0b11 << 16), 0);
        }
    }
}
