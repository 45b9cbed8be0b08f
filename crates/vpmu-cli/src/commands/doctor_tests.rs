//! What `vpmu doctor` says; the machine under test may have anything.

use super::*;
use crate::args::words;

fn diagnosis(usable_with: &'static str) -> Diagnosis {
    let missing = Check {
        status: "missing",
        what: "no permission for /dev/kvm".to_owned(),
        next_step: Some("join its group".to_owned()),
    };
    Diagnosis {
        kvm: vec![missing.clone()],
        host_pmu: vec![Check::ok("hardware PMU `cpu`"), Check::warn("a watchdog", "switch it off")],
        engines: vec![Choice { name: word(&EngineChoice::Kvm), check: missing }],
        counts: vec![Choice { name: "synthetic".to_owned(), check: Check::ok("works") }],
        usable_with,
    }
}

#[test]
fn looks_like_this() {
    insta::assert_snapshot!(anstream::adapter::strip_str(&render(&diagnosis("--engine soft"))));
}

#[test]
fn the_last_line_is_the_command_that_works() {
    let text = render(&diagnosis("--engine kvm"));
    assert!(text.contains("`vpmu run IMAGE` works here and uses --engine kvm"), "{text}");
}

#[test]
fn every_engine_of_the_command_line_is_examined() {
    let engines: Vec<_> = examine().engines.into_iter().map(|choice| choice.name).collect();
    let values: Vec<_> = words::<EngineChoice>().into_iter().filter(|name| name != "auto").collect();
    assert_eq!(engines, values);
}

#[test]
fn a_cpu_with_vt_x_does_not_interpret() {
    let path = std::env::temp_dir().join(format!("vpmu-cpuinfo-{}", std::process::id()));
    fs::write(&path, "processor\t: 0\nflags\t\t: fpu vmx sse\n").expect("a file can be written");
    assert!(interpreted_ring_0(&path).is_none());
    fs::write(&path, "processor\t: 0\nflags\t\t: fpu sse\n").expect("a file can be written");
    assert!(interpreted_ring_0(&path).is_some());
    fs::remove_file(&path).expect("the file is ours");
    assert!(interpreted_ring_0(&path).is_none());
}

#[test]
fn a_missing_permission_has_its_remedy_and_the_way_around() {
    let error = EngineError::Kvm(vmm::engine::kvm::KvmError::Permission { group: Some("kvm".to_owned()) });
    let check = Check::missing(RunError::Engine(error));
    assert_eq!(check.what, "no permission for /dev/kvm");
    let step = check.next_step.expect("a next step");
    assert!(step.contains("usermod -aG kvm $USER") && step.contains("--engine soft"), "{step}");
    assert!(!step.contains("vpmu doctor"), "{step}");
}

#[test]
fn a_profile_that_kvm_cannot_show_has_a_line_with_the_bit() {
    use vmm::engine::kvm::{CpuidBits, KvmError};
    let bits = CpuidBits { leaf: 7, subleaf: Some(1), register: "EAX", shown: 0x30, wanted: 0x130 };
    let error = EngineError::Kvm(KvmError::Profile { profile: "lunar-lake-p".to_owned(), bits });
    let checks = profile_checks([RunError::Engine(error)].into_iter());
    assert_eq!((checks.len(), checks[0].status), (1, "warn"));
    assert!(checks[0].what.contains("lunar-lake-p"), "{}", checks[0].what);
    assert!(checks[0].what.contains("CPUID.07H.1:EAX bit 8 is 0"), "{}", checks[0].what);
    let none: Vec<_> = profile_checks(std::iter::empty()).iter().map(|check| check.status).collect();
    assert_eq!(none, ["ok"]);
}
