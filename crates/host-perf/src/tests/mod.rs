//! Tests on simulated hosts: a sysfs tree from `fixtures/`, and [`FakeKernel`] as the kernel.

mod counter;
mod errors;
mod event;
mod group;
mod probe;
mod slots;
mod user_page;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::fake::{FakeConfig, FakeKernel};
use crate::{HostPmu, Level, Roots};

/// The id of the thread that runs first on a fake kernel.
const TID: i32 = 100;

const ICELAKE: &str = include_str!("../../fixtures/icelake-sp.txt");
const SAPPHIRE_RAPIDS: &str = include_str!("../../fixtures/sapphire-rapids.txt");
const ALDERLAKE: &str = include_str!("../../fixtures/alderlake-hybrid.txt");
const SKYLAKE: &str = include_str!("../../fixtures/skylake.txt");
const ZEN4: &str = include_str!("../../fixtures/zen4.txt");
const NO_PMU: &str = include_str!("../../fixtures/no-pmu.txt");

/// A private directory, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("host-perf-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn write(path: &Path, content: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("{content}\n")).unwrap();
}

/// Builds the sysfs tree of a fixture (`path = content` lines; `extra` has the same form and wins) and the
/// procfs files that match `config`, and probes the host.
fn probe(fixture: &str, extra: &str, config: FakeConfig) -> (HostPmu, FakeKernel) {
    let scratch = Scratch::new();
    let roots = Roots { sysfs: scratch.0.join("sys"), procfs: scratch.0.join("proc") };
    for line in fixture.lines().chain(extra.lines()).filter(|line| !line.starts_with('#')) {
        let (path, content) = line.split_once(" = ").unwrap();
        match path.strip_prefix("proc/") {
            Some(path) => write(&roots.procfs.join(path), content),
            None => write(&roots.sysfs.join(path), content),
        }
    }
    write(&roots.procfs.join("sys/kernel/perf_event_paranoid"), &config.paranoid.to_string());
    let held = config.privileges;
    let mask = u64::from(held.perfmon) << 38 | u64::from(held.sys_admin) << 21;
    write(&roots.procfs.join("self/status"), &format!("Name:\ttest\nCapEff:\t{mask:016x}\nSeccomp:\t0"));
    let kernel = FakeKernel::new(config);
    (HostPmu::detect_in(&roots, Arc::new(kernel.clone())), kernel)
}

/// A Sapphire Rapids host with a privileged caller.
fn sapphire_rapids() -> (HostPmu, FakeKernel) {
    probe(SAPPHIRE_RAPIDS, "", FakeConfig::default())
}

/// An Ice Lake host with a privileged caller.
fn icelake() -> (HostPmu, FakeKernel) {
    probe(ICELAKE, "", FakeConfig { topdown: Some(Level::One), ..FakeConfig::default() })
}
