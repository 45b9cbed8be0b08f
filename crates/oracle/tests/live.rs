//! A short run of the oracle.
#![allow(missing_docs)]

use oracle::cpu::CpuId;
use oracle::generator::Generator;
use oracle::host::Host;
use oracle::machine::Machine;
use oracle::native::NativeError;
use oracle::run::{Difference, Oracle};
use soft_cpu::silicon::Silicon;
use std::fmt::Write as _;

const CASES: u64 = 10_000;

/// `None`, with a line that says so, on a host without KVM.
fn built(oracle: Result<Oracle, NativeError>) -> Option<Oracle> {
    oracle.inspect_err(|error| println!("SKIP oracle: {error}")).ok()
}

/// The instructions that are compared: of AVX and AVX-512 only on a core of which there is a recording of them.
fn instructions() -> Generator {
    let host = Host::this();
    let recorded = CpuId::host().and_then(|cpu| cpu.core()).is_some_and(|core| core.name == "granite-rapids");
    if recorded {
        return Generator::new(&host);
    }
    println!(
        "SKIP AVX and AVX-512: recorded on Granite Rapids only; `cargo xtask oracle` compares them here"
    );
    Generator::new(&host.with_machine(Machine::Sse))
}

/// The first of them.
fn text(differences: &[Difference]) -> String {
    let mut text = String::new();
    for difference in differences.iter().take(10) {
        let _ = writeln!(text, "{difference}");
    }
    text
}

#[test]
fn the_cpu_and_the_interpreter_agree() {
    let Some(mut oracle) = built(Oracle::new()) else { return };
    let generator = instructions();
    let report = oracle.run(&generator, 1, CASES, |_, _| {});
    if report.open != 0 {
        let cpu = oracle.cpu();
        println!("{} differences in what the manuals leave open; {cpu} is not recorded", report.open);
        println!("{}", text(&report.open_differences));
    }
    assert_eq!(report.different, 0, "{}", text(&report.differences));
    assert!(report.cases > CASES * 9 / 10, "{} of {CASES} cases compared", report.cases);
    assert!(report.vectors.len() >= 6, "too few kinds of exceptions: {:?}", report.vectors);
}

#[test]
fn the_cpu_and_compiled_blocks_agree() {
    let Some(oracle) = built(Oracle::new()) else { return };
    let mut oracle = match oracle.compiling() {
        Ok(oracle) => oracle,
        Err(error) => return println!("SKIP compiled blocks: {error}"),
    };
    let report = oracle.run(&instructions(), 2, CASES, |_, _| {});
    assert_eq!(report.different, 0, "{}", text(&report.differences));
    let (all, compiled) = oracle.executed();
    assert!(compiled > all / 20, "{compiled} of {all} instructions in compiled code");
}

#[test]
fn on_an_unrecorded_core_what_other_cores_do_does_not_fail() {
    let generator = Generator::new(&Host::this().with_machine(Machine::Sse));
    // Each with rules that this host's CPU does not follow in full, unless it is one of these.
    for (amd, family) in [(false, 6), (true, 23), (true, 27)] {
        let cpu = CpuId { amd, family, model: 0xFF, stepping: 0 };
        assert_eq!(cpu.core(), None);
        let Some(mut oracle) = built(Oracle::with_cpu(cpu)) else { return };
        let report = oracle.run(&generator, 1, CASES / 2, |_, _| {});
        assert_eq!(report.different, 0, "as {cpu}: {}", text(&report.differences));
        let host = CpuId::host().map(|host| host.silicon());
        if (host, cpu.silicon()) == (Some(Silicon::Zen4), Silicon::Zen3) {
            // They hardly differ.
            continue;
        }
        let other = host.is_some_and(|host| host != cpu.silicon());
        assert_eq!(report.open > 0, other, "as {cpu}: {}", text(&report.open_differences));
    }
}

#[test]
fn the_generator_knows_the_whole_user_instruction_set() {
    let generator = Generator::new(&Host::complete());
    let has = |name: &str| generator.codes().iter().any(|code| format!("{code:?}") == name);
    for name in ["Add_rm32_r32", "Cmpxchg16b_m128", "Addps_xmm_xmmm128", "Jne_rel8_64", "Movsb_m8_m8"] {
        assert_eq!(has(name), name != "{name}");
    }
    assert!(!has("Cpuid"));
    assert!(generator.codes().len() > 800, "{}", generator.codes().len());
}
