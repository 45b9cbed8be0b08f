//! Runs the real command, and makes small guests for it.

#![allow(dead_code, reason = "each test binary uses a part")]
#![allow(clippy::panic, reason = "this is test code, which clippy cannot see outside of test functions")]

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// What a command left behind.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs `vpmu` with these arguments and an environment that does not change its output.
pub(crate) fn vpmu(args: &[&str]) -> Ran {
    let output: Output = command(args).output().expect("vpmu starts");
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("stdout is UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("stderr is UTF-8"),
    }
}

pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vpmu"));
    command.args(args).env_remove("RUST_LOG").env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    command.stdin(Stdio::null());
    command
}

/// Parses the one document that `--json` prints.
pub(crate) fn json(ran: &Ran) -> serde_json::Value {
    serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|error| panic!("{error} in {:?}, stderr {:?}", ran.stdout, ran.stderr))
}

/// True when guests can run under KVM here. Otherwise says that the test is skipped.
pub(crate) fn have_kvm(test: &str) -> bool {
    let reason = vmm::engine::kvm::check_host().err().map(|error| error.to_string()).or_else(refused);
    if let Some(reason) = &reason {
        println!("SKIP {test}: {reason}");
    }
    reason.is_none()
}

/// Why this KVM does not take the default profile: some fill in CPUID by themselves.
fn refused() -> Option<String> {
    // `mov al, 0; out 0xF4, al`.
    let image = TempFile::new("probe", &flat_image(&[0xB0, 0, 0xE6, 0xF4, 0xF4]));
    let ran = vpmu(&["run", image.as_str(), "--engine", "kvm", "--counts", "synthetic"]);
    ran.stderr.contains("this KVM cannot show profile").then_some(ran.stderr)
}

/// A file that is removed at the end of the test.
pub(crate) struct TempFile(PathBuf);

impl TempFile {
    pub(crate) fn new(name: &str, content: &[u8]) -> Self {
        // A directory of its own: tests of one process run side by side, and some choose the same name.
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let directory = std::env::temp_dir().join(format!("vpmu-cli-{}-{number}", std::process::id()));
        fs::create_dir_all(&directory).expect("the temporary directory can be written");
        let path = directory.join(name);
        fs::write(&path, content).expect("the temporary directory can be written");
        Self(path)
    }

    pub(crate) fn as_str(&self) -> &str {
        self.0.to_str().expect("the path is UTF-8")
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        if let Some(directory) = self.0.parent() {
            let _ = fs::remove_dir_all(directory);
        }
    }
}

/// Where images are loaded.
pub(crate) const BASE: u32 = 0x10_0000;
/// Bytes of the multiboot header with its address fields.
const HEADER: u32 = 32;

/// A flat multiboot 1 image whose 32-bit code starts right behind the header.
pub(crate) fn flat_image(code: &[u8]) -> Vec<u8> {
    const MAGIC: u32 = 0x1BAD_B002;
    const HAS_ADDRESSES: u32 = 1 << 16;
    let end = BASE + HEADER + code.len() as u32;
    let checksum = 0_u32.wrapping_sub(MAGIC).wrapping_sub(HAS_ADDRESSES);
    let header = [MAGIC, HAS_ADDRESSES, checksum, BASE, BASE, end, end, BASE + HEADER];
    let mut image: Vec<u8> = header.iter().flat_map(|word| word.to_le_bytes()).collect();
    image.extend(code);
    image
}

/// An ELF32 multiboot image with code and a list of tests `(name, line)` in `src/guest.rs`.
///
/// Layout in the file and, from [`BASE`], in memory: multiboot header, code, texts, test descriptors.
pub(crate) fn elf_with_tests(code: &[u8], tests: &[(&str, u32)]) -> Vec<u8> {
    const ELF_HEADER: u32 = 52;
    const PROGRAM_HEADER: u32 = 32;
    const FILE: &str = "src/guest.rs";
    let start = ELF_HEADER + PROGRAM_HEADER;
    let mut body: Vec<u8> = Vec::new();
    for word in [0x1BAD_B002_u32, 0, 0_u32.wrapping_sub(0x1BAD_B002)] {
        body.extend(word.to_le_bytes());
    }
    let entry = BASE + body.len() as u32;
    body.extend(code);
    let mut put = |text: &str| {
        let at = u64::from(BASE) + body.len() as u64;
        body.extend(text.as_bytes());
        [at, text.len() as u64]
    };
    let file = put(FILE);
    let mut descriptors: Vec<u8> = Vec::new();
    for (name, line) in tests {
        let name = put(name);
        // Name, file, summary, function, needs and line: guest_protocol::TestDescriptor.
        for word in [name[0], name[1], file[0], file[1], 0, 0, u64::from(entry), u64::from(*line) << 32] {
            descriptors.extend(word.to_le_bytes());
        }
    }
    let section = start + body.len() as u32;
    body.extend(&descriptors);
    let names = b"\0.guest_tests\0.shstrtab\0";
    let names_at = start + body.len() as u32;
    let sections_at = names_at + names.len() as u32;

    let mut image = b"\x7FELF\x01\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    let half = |image: &mut Vec<u8>, value: u16| image.extend(value.to_le_bytes());
    let words =
        |image: &mut Vec<u8>, values: &[u32]| values.iter().for_each(|v| image.extend(v.to_le_bytes()));
    half(&mut image, 2); // ET_EXEC
    half(&mut image, 3); // EM_386
    words(&mut image, &[1, entry, ELF_HEADER, sections_at, 0]);
    for value in [ELF_HEADER as u16, PROGRAM_HEADER as u16, 1, 40, 3, 2] {
        half(&mut image, value);
    }
    let size = body.len() as u32;
    words(&mut image, &[1, start, BASE, BASE, size, size, 7, 4]); // PT_LOAD
    image.extend(&body);
    image.extend(names);
    words(&mut image, &[0; 10]);
    words(&mut image, &[1, 1, 0, 0, section, descriptors.len() as u32, 0, 0, 8, 0]); // SHT_PROGBITS
    words(&mut image, &[14, 3, 0, 0, names_at, names.len() as u32, 0, 0, 1, 0]); // SHT_STRTAB
    image
}

/// A directory of images that is removed at the end of the test.
pub(crate) struct Images(pub(crate) PathBuf);

impl Images {
    pub(crate) fn new(test: &str, images: &[(&str, Vec<u8>)]) -> Self {
        let path = std::env::temp_dir().join(format!("vpmu-test-{}-{test}", std::process::id()));
        fs::create_dir_all(&path).expect("the temporary directory can be written");
        let directory = Self(path);
        images.iter().for_each(|(name, code)| directory.put(name, &flat_image(code)));
        directory
    }

    pub(crate) fn put(&self, name: &str, content: &[u8]) {
        fs::write(self.0.join(name), content).expect("the temporary directory can be written");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).expect("vpmu wrote it")
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().expect("the path is UTF-8")
    }

    /// `vpmu test` of the directory on one profile.
    pub(crate) fn test(&self, args: &[&str]) -> Ran {
        vpmu(&[&["test", self.path(), "--profile", "icelake-sp"], args].concat())
    }
}

impl Drop for Images {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Prints on COM1, then writes `value` to the exit port.
pub(crate) fn say(text: &str, value: u8) -> Vec<u8> {
    let mut code = vec![0x66, 0xBA, 0xF8, 0x03];
    code.extend(text.bytes().flat_map(|byte| [0xB0, byte, 0xEE]));
    code.extend([0xB0, value, 0xE6, 0xF4, 0xF4]);
    code
}
