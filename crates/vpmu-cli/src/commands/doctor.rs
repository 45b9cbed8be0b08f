//! `vpmu doctor`: what this machine can do, and what to do about the rest.
//!
//! Whatever can be tried is tried with the code that a run uses, so the answers cannot differ.

use crate::args::word;
use crate::error::{CliError, chain};
use crate::exit;
use crate::output::{BAD, DIM, GOOD, HEADING, WARN, paint, print, print_json, report};
use clap::ValueEnum as _;
use host_perf::{Finding, HostPmu, Status};
use kvm_bindings::{KVM_API_VERSION, KVM_CAP_PMU_CAPABILITY, KVM_MAX_CPUID_ENTRIES};
use kvm_ioctls::Kvm;
use platform::memory::{GuestMemory, MIN_SIZE_MIB, MemoryConfig};
use platform::x86::apic::ApicConfig;
use platform::x86::memory::LAYOUT;
use serde::Serialize;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use vmm::counts::model::Retired;
use vmm::counts::{self, CountsChoice};
use vmm::engine::kvm::{KvmConfig, KvmEngine, kick_signal};
use vmm::engine::{EngineChoice, EngineError};
use vmm::run::RunError;
use vpmu::Profile;
use vpmu::profile::{Architecture, SAPPHIRE_RAPIDS};

/// One fact about this machine.
#[derive(Debug, Clone, Serialize)]
struct Check {
    /// `ok`, `warn` or `missing`.
    status: &'static str,
    what: String,
    next_step: Option<String>,
}

impl Check {
    fn ok(what: impl Into<String>) -> Self {
        Self { status: "ok", what: what.into(), next_step: None }
    }

    fn warn(what: impl Into<String>, next_step: impl Into<String>) -> Self {
        Self { status: "warn", what: what.into(), next_step: Some(next_step.into()) }
    }

    /// What an error of a run says.
    fn missing(error: impl Into<RunError>) -> Self {
        let error = CliError::from(error.into());
        Self { status: "missing", what: error.line(), next_step: error.next_step() }
    }
}

impl From<Finding> for Check {
    fn from(finding: Finding) -> Self {
        let status = match finding.status {
            Status::Ok => "ok",
            Status::Warn => "warn",
            Status::Missing => "missing",
        };
        Self { status, what: finding.what, next_step: finding.advice.map(|advice| advice.to_string()) }
    }
}

/// A value of `--engine` or `--counts`, and whether it works here.
#[derive(Debug, Clone, Serialize)]
struct Choice {
    name: String,
    #[serde(flatten)]
    check: Check,
}

/// Everything.
#[derive(Debug, Serialize)]
struct Diagnosis {
    kvm: Vec<Check>,
    host_pmu: Vec<Check>,
    engines: Vec<Choice>,
    counts: Vec<Choice>,
    /// What `--engine auto` comes to here.
    usable_with: &'static str,
}

pub(super) fn doctor(json: bool) -> Result<u8, CliError> {
    let diagnosis = examine();
    if json {
        print_json(&diagnosis)?;
    } else {
        print(&render(&diagnosis))?;
    }
    Ok(exit::PASS)
}

fn examine() -> Diagnosis {
    let engine = try_engine(&SAPPHIRE_RAPIDS);
    let tsc_hz = engine.as_ref().ok().copied();
    let kvm = kvm_checks(&engine);
    let engine = match engine {
        Ok(_) => Check::ok("works"),
        Err(error) => Check::missing(error),
    };
    let host_counts = tsc_hz
        .is_some_and(|hz| counts::choose(&CountsChoice::Host, &SAPPHIRE_RAPIDS, hz, kick_signal()).is_ok());
    let counts = CountsChoice::value_variants().iter().map(|choice| {
        let tried = match choice {
            // What `--engine auto` takes where the host cannot count, and what the soft engine has.
            CountsChoice::Auto if !host_counts => {
                counts::choose_soft(choice, &SAPPHIRE_RAPIDS, Retired::default())
            }
            CountsChoice::Model => counts::choose_soft(choice, &SAPPHIRE_RAPIDS, Retired::default()),
            _ => counts::choose(choice, &SAPPHIRE_RAPIDS, tsc_hz.unwrap_or(0), kick_signal()),
        };
        let needs_kvm = matches!(choice, CountsChoice::Host | CountsChoice::Synthetic { .. });
        let check = match tried {
            // A run meets that first.
            _ if needs_kvm && engine.status != "ok" => engine.clone(),
            Ok(source) => Check::ok(format!("works: counts are {}", report::worth(source.label()))),
            Err(error) => Check::missing(error),
        };
        Choice { name: word(choice), check }
    });
    let counts = counts.collect();
    Diagnosis {
        kvm,
        host_pmu: HostPmu::detect().findings().into_iter().map(Check::from).collect(),
        engines: vec![
            Choice { name: word(&EngineChoice::Kvm), check: engine },
            Choice {
                name: word(&EngineChoice::Soft),
                check: Check::ok("works everywhere: exact counts, no KVM needed"),
            },
        ],
        counts,
        usable_with: if host_counts { "--engine kvm" } else { "--engine soft" },
    }
}

/// Why KVM cannot run guests here on `profile` with counts from `choice`; `None` when it can.
pub(super) fn kvm_missing(profile: &Profile, choice: &CountsChoice) -> Option<String> {
    let tried = try_engine(profile)
        .and_then(|tsc_hz| counts::choose(choice, profile, tsc_hz, kick_signal()).map_err(RunError::from));
    tried.err().map(|error| CliError::Run(error).line())
}

/// Builds a small machine, which needs every capability that a run needs, and returns its TSC rate.
fn try_engine(profile: &Profile) -> Result<u64, RunError> {
    let memory = GuestMemory::new(MemoryConfig { size_mib: MIN_SIZE_MIB }, &LAYOUT)?;
    let apic = ApicConfig::default();
    // As in a run: KVM sees no branches.
    let profile = &profile.clone().without_lbr();
    let config = KvmConfig { memory: &memory, profile, apic: &apic };
    Ok(KvmEngine::new(&config).map_err(EngineError::from)?.tsc_hz())
}

fn kvm_checks(engine: &Result<u64, RunError>) -> Vec<Check> {
    // What opens need not be KVM: another file may stand in its place.
    let version = KVM_API_VERSION as i32;
    let Some(kvm) = Kvm::new().ok().filter(|kvm| kvm.get_api_version() == version) else {
        let check = match engine {
            Err(RunError::Engine(EngineError::Kvm(error))) => Check {
                status: "missing",
                what: chain(error),
                next_step: error.advice().map(|advice| advice.to_string()),
            },
            _ => Check { status: "missing", what: "/dev/kvm cannot be opened".to_owned(), next_step: None },
        };
        return vec![check];
    };
    let mut checks = vec![Check::ok(format!("/dev/kvm opens, API version {version}"))];
    match engine {
        Ok(0) => checks.push(Check::warn(
            "KVM does not know the rate of the guest's TSC",
            "trust no guest that computes time from TSC ticks on this host",
        )),
        Ok(tsc_hz) => checks.push(Check::ok(format!(
            "a machine with all trapped PMU registers can be built; its TSC runs at {} MHz",
            tsc_hz / 1_000_000
        ))),
        // Said where the engines are listed.
        Err(_) => {}
    }
    if engine.is_ok() {
        checks.extend(profile_checks(
            Architecture::X86_64.profiles().filter_map(|profile| try_engine(profile).err()),
        ));
    }
    checks.extend(interpreted_ring_0(Path::new("/proc/cpuinfo")));
    checks.push(own_pmu(&kvm));
    checks
}

/// A profile each that KVM cannot show, or one line for all.
fn profile_checks(errors: impl Iterator<Item = RunError>) -> Vec<Check> {
    let missing = errors.map(|error| Check::warn(CliError::Run(error).line(), "use --engine soft for it"));
    let missing: Vec<Check> = missing.collect();
    if missing.is_empty() { vec![Check::ok("CPUID shows every profile as it is")] } else { missing }
}

/// KVM without VT-x or SVM is a para-virtual one, which has no hardware to run ring 0 in.
fn interpreted_ring_0(cpuinfo: &Path) -> Option<Check> {
    let cpuinfo = fs::read_to_string(cpuinfo).ok()?;
    let flags = cpuinfo.lines().find_map(|line| line.strip_prefix("flags"))?;
    let has_hardware = flags.split_whitespace().any(|flag| matches!(flag, "vmx" | "svm"));
    (!has_hardware).then(|| {
        Check::warn(
            "no VT-x and no SVM: KVM is para-virtual, its ring 0 is slow, CPUID in ring 3 shows the host's CPU",
            "use images with hot code in ring 3 and CPUID in ring 0, as ours are; or nested virtualisation",
        )
    })
}

/// KVM's own PMU is not used; users ask for it because it is the one that other VMMs have.
fn own_pmu(kvm: &Kvm) -> Check {
    let can_switch_off = kvm.check_extension_raw(KVM_CAP_PMU_CAPABILITY.into()) > 0;
    let leaf = kvm
        .get_supported_cpuid(KVM_MAX_CPUID_ENTRIES)
        .ok()
        .and_then(|table| table.as_slice().iter().find(|entry| entry.function == 0xA).map(|entry| entry.eax));
    let (version, counters) = leaf.map_or((0, 0), |eax| (eax & 0xFF, eax >> 8 & 0xFF));
    let what = match version {
        0 => "KVM's own virtual PMU: none announced".to_owned(),
        _ => format!("KVM's own virtual PMU: version {version} with {counters} counters"),
    };
    let switch = if can_switch_off { "" } else { ", no KVM_CAP_PMU_CAPABILITY" };
    Check::ok(format!("{what}{switch}; vpmu does not use it"))
}

fn render(diagnosis: &Diagnosis) -> String {
    let mut text = String::new();
    for (title, checks) in [("KVM", &diagnosis.kvm), ("Host PMU", &diagnosis.host_pmu)] {
        let _ = writeln!(text, "{}", paint(HEADING, title));
        for check in checks {
            text += &render_check("", check);
        }
        text.push('\n');
    }
    for (title, choices) in [("--engine", &diagnosis.engines), ("--counts", &diagnosis.counts)] {
        let _ = writeln!(text, "{}", paint(HEADING, title));
        for Choice { name, check } in choices {
            text += &render_check(&format!("{name:<11}"), check);
        }
        text.push('\n');
    }
    let flags = diagnosis.usable_with;
    let _ = writeln!(text, "{} `vpmu run IMAGE` works here and uses {flags}", paint(GOOD, "ok"));
    text
}

fn render_check(name: &str, check: &Check) -> String {
    let style = match check.status {
        "ok" => GOOD,
        "warn" => WARN,
        _ => BAD,
    };
    let mut text = format!("  {} {name}{}\n", paint(style, format_args!("{:<7}", check.status)), check.what);
    if let Some(step) = &check.next_step {
        let _ = writeln!(text, "          {} {step}", paint(DIM, "next:"));
    }
    text
}

#[cfg(test)]
#[path = "doctor_tests.rs"]
mod tests;
