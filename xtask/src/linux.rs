//! `cargo xtask linux`: boots the distribution's kernel on the soft engine.
//!
//! Kernel and busybox come from the distribution's own client (`apt-get download`, which needs no root) and stay
//! under `target/linux`. Where that is not possible, the task says why and succeeds.

use crate::cargo::{capture, root, run};
use crate::error::TaskError;
use crate::suite::profiles;
use crate::vpmu_cli::{EngineFlags, Vpmu};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const META_PACKAGE: &str = "linux-image-cloud-amd64";
const OPTIONS: &str = "console=ttyS0 cryptomgr.notests nopti reboot=t panic=-1 nokaslr";

/// The first process: shows what perf sees, sleeps once so that the timer has to work, and passes.
const INIT: &str = "#!/bin/busybox sh
busybox mount -t proc none /proc
busybox mount -t sysfs none /sys
echo \"init: $(busybox uname -r) up\"
busybox sleep 1
echo \"init: slept\"
/pass
";

/// A static program: iopl(3), then 0 to the exit port.
const PASS: [u8; 18] = [
    0xBF, 3, 0, 0, 0, // mov edi, 3
    0xB8, 172, 0, 0, 0, // mov eax, 172: iopl
    0x0F, 0x05, // syscall
    0x31, 0xC0, // xor eax, eax
    0xE6, 0xF4, // out 0xF4, al
    0xEB, 0xFE, // jmp .
];

/// Fetches what is missing, and boots on every profile.
pub(crate) fn linux() -> Result<(), TaskError> {
    let directory = root().join("target/linux");
    let (kernel, initrd) = match files(&directory)? {
        Ok(files) => files,
        Err(reason) => {
            anstream::println!("skipped: {reason}");
            return Ok(());
        }
    };
    let vpmu = Vpmu::build()?;
    let mut failed = 0;
    for profile in profiles() {
        let mut command = vpmu.on_image("run", &kernel, profile, EngineFlags::Soft);
        command.arg("--initrd").arg(&initrd).args([
            "--memory",
            "512M",
            "--timeout",
            "300",
            "--append",
            OPTIONS,
        ]);
        let report = vpmu.json(&mut command)?;
        let console = report["console"].as_str().unwrap_or_default();
        for line in console.lines().filter(|l| l.contains("Performance Events") || l.starts_with("init:")) {
            anstream::println!("  {line}");
        }
        let passed = report["exit_code"] == 0 && console.contains("Performance Events");
        failed += usize::from(!passed);
        let word = if passed { "ok" } else { "FAILED" };
        let seconds = report["run_ns"].as_f64().unwrap_or_default() / 1e9;
        anstream::println!("{word} {profile}: {} in {seconds:.1} s", report["outcome"]["kind"]);
    }
    if failed == 0 { Ok(()) } else { Err(TaskError::Failed(format!("{failed} boots"))) }
}

/// Kernel and initrd, or why there are none.
fn files(directory: &Path) -> Result<Result<(PathBuf, PathBuf), String>, TaskError> {
    if let Some(kernel) = find_kernel(directory) {
        return Ok(Ok((kernel, directory.join("initrd.cpio"))));
    }
    let Ok(depends) = capture(Command::new("apt-cache").args(["depends", META_PACKAGE])) else {
        return Ok(Err("this host has no apt".into()));
    };
    let depends = String::from_utf8_lossy(&depends.stdout).into_owned();
    let Some(image) =
        depends.split_whitespace().find(|word| word.starts_with("linux-image-") && *word != META_PACKAGE)
    else {
        return Ok(Err(format!("apt does not know {META_PACKAGE}")));
    };
    create(directory)?;
    let mut download = Command::new("apt-get");
    download.args(["download", image, "busybox-static"]).current_dir(directory);
    if run(&mut download).is_err() {
        return Ok(Err("apt-get cannot download the packages".into()));
    }
    let unpacked = directory.join("root");
    let entries = fs::read_dir(directory).map_err(|source| file_error(directory, source))?;
    for package in
        entries.flatten().map(|entry| entry.path()).filter(|p| p.extension().is_some_and(|e| e == "deb"))
    {
        run(Command::new("dpkg-deb").arg("-x").arg(&package).arg(&unpacked))?;
    }
    let busybox_path = unpacked.join("bin/busybox");
    let busybox = fs::read(&busybox_path).map_err(|source| file_error(&busybox_path, source))?;
    let initrd = directory.join("initrd.cpio");
    fs::write(&initrd, archive(&busybox)).map_err(|source| file_error(&initrd, source))?;
    Ok(find_kernel(directory).map(|kernel| (kernel, initrd)).ok_or_else(|| format!("{image} has no kernel")))
}

fn find_kernel(directory: &Path) -> Option<PathBuf> {
    let boot = fs::read_dir(directory.join("root/boot")).ok()?;
    let complete = directory.join("initrd.cpio").is_file();
    let is_kernel = |path: &PathBuf| path.to_string_lossy().contains("/vmlinuz-");
    boot.flatten().map(|entry| entry.path()).find(is_kernel).filter(|_| complete)
}

fn create(directory: &Path) -> Result<(), TaskError> {
    fs::create_dir_all(directory).map_err(|source| file_error(directory, source))
}

fn file_error(path: &Path, source: std::io::Error) -> TaskError {
    TaskError::File { path: path.to_owned(), source }
}

/// The initial RAM disk: an uncompressed cpio archive ("newc", Linux
/// `Documentation/driver-api/early-userspace/buffer-format.rst`).
fn archive(busybox: &[u8]) -> Vec<u8> {
    const DIRECTORY: u32 = 0o040_755;
    const PROGRAM: u32 = 0o100_755;
    const CHARACTER_DEVICE: u32 = 0o020_600;
    let mut cpio = Vec::new();
    for name in ["bin", "dev", "proc", "sys"] {
        member(&mut cpio, name, DIRECTORY, (0, 0), &[]);
    }
    member(&mut cpio, "dev/console", CHARACTER_DEVICE, (5, 1), &[]);
    member(&mut cpio, "bin/busybox", PROGRAM, (0, 0), busybox);
    member(&mut cpio, "init", PROGRAM, (0, 0), INIT.as_bytes());
    member(&mut cpio, "pass", PROGRAM, (0, 0), &pass());
    member(&mut cpio, "TRAILER!!!", 0, (0, 0), &[]);
    cpio
}

fn member(cpio: &mut Vec<u8>, name: &str, mode: u32, device: (u32, u32), data: &[u8]) {
    let number = cpio.len() as u32 + 1;
    let fields =
        [number, mode, 0, 0, 1, 0, data.len() as u32, 0, 0, device.0, device.1, name.len() as u32 + 1, 0];
    cpio.extend_from_slice(b"070701");
    for field in fields {
        cpio.extend_from_slice(format!("{field:08x}").as_bytes());
    }
    for part in [format!("{name}\0").as_bytes(), data] {
        cpio.extend_from_slice(part);
        cpio.resize(cpio.len().next_multiple_of(4), 0);
    }
}

/// [`PASS`] as an ELF64 executable of one segment.
fn pass() -> Vec<u8> {
    const BASE: u64 = 0x40_0000;
    const HEADERS: u64 = 64 + 56;
    let size = HEADERS + PASS.len() as u64;
    let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
    elf.resize(16, 0);
    // ET_EXEC, EM_X86_64, version 1, entry, program headers at 64.
    elf.extend([2_u16, 62].iter().flat_map(|v| v.to_le_bytes()));
    elf.extend(1_u32.to_le_bytes());
    elf.extend([BASE + HEADERS, 64, 0].iter().flat_map(|v| v.to_le_bytes()));
    elf.extend(0_u32.to_le_bytes());
    elf.extend([64_u16, 56, 1, 0, 0, 0].iter().flat_map(|v| v.to_le_bytes()));
    // PT_LOAD, read and execute.
    elf.extend([1_u32, 5].iter().flat_map(|v| v.to_le_bytes()));
    elf.extend([0, BASE, BASE, size, size, 4096].iter().flat_map(|v| v.to_le_bytes()));
    elf.extend(PASS);
    elf
}
