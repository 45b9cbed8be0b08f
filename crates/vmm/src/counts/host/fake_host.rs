//! Hosts for tests: a sysfs tree in a directory of its own, and host-perf's model of the kernel.

use super::VcpuThread;
use host_perf::fake::{FakeConfig, FakeKernel};
use host_perf::{HostPmu, Roots};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The guest's thread on every fake host, and the signal that it wants.
const TID: i32 = 100;
const SIGNAL: i32 = 40;

/// `path = content` lines below sysfs.
pub(in crate::counts) const NO_PMU: &str = "bus/event_source/devices/software/type = 1\n";

pub(super) const ICELAKE: &str = "
bus/event_source/devices/cpu/type = 4
bus/event_source/devices/cpu/caps/pmu_name = icelake
bus/event_source/devices/cpu/format/event = config:0-7
bus/event_source/devices/cpu/format/umask = config:8-15
bus/event_source/devices/cpu/format/edge = config:18
bus/event_source/devices/cpu/format/inv = config:23
bus/event_source/devices/cpu/format/cmask = config:24-31
bus/event_source/devices/cpu/events/slots = event=0x00,umask=0x4
bus/event_source/devices/cpu/events/topdown-retiring = event=0x00,umask=0x80
bus/event_source/devices/cpu/events/topdown-bad-spec = event=0x00,umask=0x81
bus/event_source/devices/cpu/events/topdown-fe-bound = event=0x00,umask=0x82
bus/event_source/devices/cpu/events/topdown-be-bound = event=0x00,umask=0x83
";

pub(super) const LEVEL2_EVENTS: &str = "
bus/event_source/devices/cpu/events/topdown-heavy-ops = event=0x00,umask=0x84
bus/event_source/devices/cpu/events/topdown-br-mispredict = event=0x00,umask=0x85
bus/event_source/devices/cpu/events/topdown-fetch-lat = event=0x00,umask=0x86
bus/event_source/devices/cpu/events/topdown-mem-bound = event=0x00,umask=0x87
";

pub(super) const ZEN: &str = "
bus/event_source/devices/cpu/type = 4
bus/event_source/devices/cpu/format/event = config:0-7,32-35
bus/event_source/devices/cpu/format/umask = config:8-15
";

/// A simulated host. Its directory goes when it is dropped.
pub(in crate::counts) struct FakeHost {
    pub(super) kernel: FakeKernel,
    directory: PathBuf,
}

impl FakeHost {
    pub(in crate::counts) fn new(sysfs: &str, change: impl FnOnce(&mut FakeConfig)) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let mut config = FakeConfig { threads: vec![TID], ..FakeConfig::default() };
        change(&mut config);
        let unique = format!("vmm-counts-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let directory = std::env::temp_dir().join(unique);
        let write = |path: PathBuf, content: &str| {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        };
        for (path, content) in sysfs.lines().filter_map(|line| line.split_once(" = ")) {
            write(directory.join("sys").join(path), content);
        }
        let proc = directory.join("proc");
        write(proc.join("sys/kernel/perf_event_paranoid"), &config.paranoid.to_string());
        let mask = u64::from(config.privileges.perfmon) << 38 | u64::from(config.privileges.sys_admin) << 21;
        write(proc.join("self/status"), &format!("CapEff:\t{mask:016x}\n"));
        Self { kernel: FakeKernel::new(config), directory }
    }

    pub(in crate::counts) fn icelake(change: impl FnOnce(&mut FakeConfig)) -> Self {
        Self::new(ICELAKE, |config| {
            config.topdown = Some(host_perf::Level::One);
            change(config);
        })
    }

    pub(super) fn sapphire_rapids() -> Self {
        let sysfs = ICELAKE.replace("= icelake", "= sapphire_rapids") + LEVEL2_EVENTS;
        Self::new(&sysfs, |_| {})
    }

    pub(in crate::counts) fn detect(&self) -> HostPmu {
        let roots = Roots { sysfs: self.directory.join("sys"), procfs: self.directory.join("proc") };
        HostPmu::detect_in(&roots, Arc::new(self.kernel.clone()))
    }

    pub(in crate::counts) fn thread(&self) -> VcpuThread {
        VcpuThread { tid: TID, signal: SIGNAL }
    }
}

impl Drop for FakeHost {
    fn drop(&mut self) {
        // Best effort: a directory that stays behind does no harm.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}
