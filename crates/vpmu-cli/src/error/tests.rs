//! What errors say, and which exit code they have.

use super::*;
use platform::loader::LoadError;
use std::path::PathBuf;
use vmm::engine::EngineError;

fn missing_image() -> CliError {
    let source = io::Error::from(io::ErrorKind::NotFound);
    CliError::Image { path: PathBuf::from("a.elf"), source: ImageError::Read(source) }
}

#[test]
fn a_cause_is_said_once() {
    let line = missing_image().line();
    assert_eq!(line.matches("a.elf").count(), 1, "{line}");
    assert!(line.contains("not found"), "{line}");
    let source = io::Error::from(io::ErrorKind::PermissionDenied);
    let line = CliError::from(RunError::Trace { path: PathBuf::from("t"), source }).line();
    assert_eq!(line.matches("permission denied").count(), 1, "{line}");
}

#[test]
fn a_missing_host_pmu_offers_synthetic_counts_once() {
    let reason = host_perf::HostPerfError::NoPmu;
    let error = CliError::from(RunError::Counts(CountsError::NoHostCounts(reason)));
    let step = error.next_step().expect("a next step");
    assert_eq!(step.matches("synthetic").count(), 1, "{step}");
    assert!(!error.line().contains("synthetic"), "{}", error.line());
    assert_eq!(error.exit_code(), exit::HOST);
}

#[test]
fn missing_memory_says_how_much_is_needed() {
    let load = LoadError::NotEnoughMemory { start: 0, end: 1, needed_mib: 77, size_mib: 4 };
    let error = CliError::from(RunError::Load(load));
    assert_eq!(error.next_step().as_deref(), Some("add --memory 77"));
    assert_eq!(error.exit_code(), exit::USAGE);
}

#[test]
fn what_to_do_about_an_image_follows_from_what_it_is() {
    let step = |bytes: &[u8]| {
        let source = platform::loader::Image::parse(bytes.to_vec()).expect_err("no image");
        let error = CliError::Image { path: PathBuf::from("a"), source };
        (error.line(), error.next_step().expect("a next step"))
    };
    let (line, next) = step(b"\x1F\x8B\x08");
    assert!(line.ends_with("it is gzip-compressed"), "{line}");
    assert_eq!(next, "unpack it first (gunzip)");
    assert_eq!(step(b"!<arch>\n").1, "link it into an executable");
    assert_eq!(step(b"#!/bin/sh").1, "`cargo xtask images` builds images that boot");
}

#[test]
fn what_to_do_about_memory_has_the_bound() {
    let step = |error| CliError::from(RunError::Memory(error)).next_step().expect("a next step");
    assert_eq!(step(MemoryError::TooSmall { size_mib: 1 }), "raise --memory to 4 or more");
    let next = step(MemoryError::HostTooSmall { size_mib: 900, available_mib: 800 });
    assert_eq!(next, "lower --memory to 800 or less, or free memory of the host");
}

#[test]
fn what_the_user_typed_is_a_usage_error_and_the_host_is_not() {
    assert_eq!(missing_image().exit_code(), exit::USAGE);
    let memory = |error| CliError::from(RunError::Memory(error)).exit_code();
    assert_eq!(memory(MemoryError::TooSmall { size_mib: 1 }), exit::USAGE);
    assert_eq!(memory(MemoryError::HostTooSmall { size_mib: 2, available_mib: 1 }), exit::HOST);
    let kvm = EngineError::Kvm(vmm::engine::kvm::KvmError::Missing);
    assert_eq!(CliError::from(RunError::Engine(kvm)).exit_code(), exit::HOST);
}

#[test]
fn a_profile_that_kvm_cannot_show_has_the_soft_engine_as_its_next_step() {
    use vmm::engine::kvm::{CpuidBits, KvmError};
    let bits = CpuidBits { leaf: 0xA, subleaf: None, register: "EDX", shown: 3, wanted: 0x603 };
    let error =
        CliError::from(RunError::Engine(KvmError::Profile { profile: "zen9".to_owned(), bits }.into()));
    assert!(error.line().contains("profile zen9"), "{}", error.line());
    assert!(error.line().contains("CPUID.0AH:EDX is 0x3 instead of 0x603"), "{}", error.line());
    assert!(error.next_step().is_some_and(|step| step.contains("--engine soft")));
    assert_eq!(error.exit_code(), exit::HOST);
}

#[test]
fn only_a_closed_pipe_is_quiet() {
    assert!(CliError::from(io::Error::from(io::ErrorKind::BrokenPipe)).is_closed_pipe());
    assert!(!CliError::from(io::Error::from(io::ErrorKind::StorageFull)).is_closed_pipe());
}
