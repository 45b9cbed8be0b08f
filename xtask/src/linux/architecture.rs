//! What differs between the distribution's architectures.

use vpmu::profile::{Profile, Vendor};

/// An architecture of the distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Architecture {
    /// x86-64.
    Amd64,
    /// AArch64.
    Arm64,
}

impl Architecture {
    /// Of the machines that this runs on.
    pub(super) const HOST: Self = Self::Amd64;

    /// Of a built-in profile's CPU.
    pub(super) fn of(profile: &str) -> Option<Self> {
        Profile::by_name(profile).map(|profile| match profile.vendor() {
            Vendor::Intel | Vendor::Amd => Self::Amd64,
            Vendor::Qualcomm => Self::Arm64,
        })
    }

    /// Debian's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }

    /// The package that depends on the newest kernel for virtual machines.
    pub(super) fn kernel_package(self) -> &'static str {
        match self {
            Self::Amd64 => "linux-image-cloud-amd64",
            Self::Arm64 => "linux-image-cloud-arm64",
        }
    }

    /// Where Debian puts libraries, below `lib` and `usr/lib`.
    pub(super) fn libraries(self) -> &'static str {
        match self {
            Self::Amd64 => "x86_64-linux-gnu",
            Self::Arm64 => "aarch64-linux-gnu",
        }
    }

    /// The dynamic linker, which every program names by its full path, and the directory of that.
    pub(super) fn linker(self) -> (&'static str, &'static str) {
        match self {
            Self::Amd64 => ("lib64", "ld-linux-x86-64.so.2"),
            Self::Arm64 => ("lib", "ld-linux-aarch64.so.1"),
        }
    }

    /// Drivers for what our machine has, as paths in `lib/modules/VERSION`.
    pub(super) fn modules(self) -> &'static [&'static str] {
        match self {
            Self::Amd64 => &[
                "kernel/arch/x86/kernel/msr.ko",
                "kernel/drivers/misc/pvpanic/pvpanic.ko",
                "kernel/drivers/misc/pvpanic/pvpanic-mmio.ko",
            ],
            Self::Arm64 => &[],
        }
    }

    /// Rust's target for the programs of `guest-tests/linux`, with how they are linked as static executables, and
    /// those to build: all where there is no list.
    pub(super) fn programs(self) -> Programs {
        match self {
            Self::Amd64 => Programs {
                target: "x86_64-unknown-linux-gnu",
                flags: "-C target-feature=+crt-static -C relocation-model=static",
                linker: None,
                only: &[],
            },
            Self::Arm64 => Programs {
                target: "aarch64-unknown-linux-musl",
                flags: "-C link-self-contained=yes",
                linker: Some(("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER", "rust-lld")),
                only: &["call-chain", "fixed-work", "guest-exit", "workload"],
            },
        }
    }

    /// Boot options: no self-tests of the cipher modules (most of a boot otherwise), addresses that do not change,
    /// and a reboot that ends the run.
    pub(crate) fn options(self) -> &'static str {
        match self {
            Self::Amd64 => {
                "console=ttyS0 cryptomgr.notests nopti nokaslr pci=off 8250.nr_uarts=1 reboot=t panic=-1 quiet"
            }
            Self::Arm64 => "console=ttyAMA0 cryptomgr.notests kpti=off nokaslr panic=-1 quiet",
        }
    }
}

/// How the programs of `guest-tests/linux` are built.
#[derive(Debug, Clone, Copy)]
pub(super) struct Programs {
    pub(super) target: &'static str,
    /// RUSTFLAGS.
    pub(super) flags: &'static str,
    /// The linker, where it is not the host's, and the variable that names it.
    pub(super) linker: Option<(&'static str, &'static str)>,
    pub(super) only: &'static [&'static str],
}
