//! Bochs boots no kernel by itself, so the image gets onto a CD with GRUB.

use super::console::Lines;
use super::{Run, failed, installed};
use crate::cargo::{capture, line, run};
use crate::error::TaskError;
use crate::images::GuestImage;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// GRUB's modules for a PC with a BIOS (Debian: grub-pc-bin).
const GRUB: &str = "/usr/lib/grub/i386-pc";
/// Debian's Bochs uses the firmware of SeaBIOS.
const BIOS: [&str; 2] = ["/usr/share/seabios/bios.bin", "/usr/share/seabios/vgabios-stdvga.bin"];

/// A CD and a configuration, removed when dropped.
#[derive(Debug)]
pub(super) struct Bochs {
    folder: PathBuf,
}

impl Bochs {
    /// Makes the CD. The error says what is missing.
    pub(super) fn prepare(image: &GuestImage, append: &str) -> Result<Self, String> {
        let tools = [
            ("bochs-bin", "bochs"),
            ("grub-mkrescue", "grub-common"),
            ("xorriso", "xorriso"),
            ("mformat", "mtools"),
            ("mkfifo", "coreutils"),
        ];
        for (program, package) in tools {
            if !installed(program) {
                return Err(format!("{program} is not installed (Debian: {package})"));
            }
        }
        for (file, package) in [(GRUB, "grub-pc-bin"), (BIOS[0], "seabios"), (BIOS[1], "seabios")] {
            if !Path::new(file).exists() {
                return Err(format!("there is no {file} (Debian: {package})"));
            }
        }
        let bochs = Self { folder: std::env::temp_dir().join(format!("vpmu-bochs-{}", std::process::id())) };
        bochs.write(image, append).map_err(|error| error.to_string())?;
        Ok(bochs)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn write(&self, image: &GuestImage, append: &str) -> Result<(), TaskError> {
        let grub = self.path("cd/boot/grub");
        fs::create_dir_all(&grub).map_err(failed)?;
        fs::copy(&image.path, self.path("cd/boot/image")).map_err(failed)?;
        let menu = format!("terminal_output console\nmultiboot /boot/image {append}\nboot\n");
        fs::write(grub.join("grub.cfg"), menu).map_err(failed)?;
        let mut mkrescue = Command::new("grub-mkrescue");
        mkrescue.args(["-d", GRUB, "--fonts=", "--themes=", "--locales="]);
        mkrescue.arg("--install-modules=multiboot iso9660 biosdisk normal boot minicmd");
        mkrescue.arg("-o").arg(self.path("cd.iso")).arg(self.path("cd"));
        if !capture(&mut mkrescue)?.status.success() {
            return Err(TaskError::Command { command: line(&mkrescue) });
        }
        let settings = format!(
            "config_interface: textconfig\n\
             display_library: rfb, options=\"timeout=0\"\n\
             romimage: file={}\n\
             vgaromimage: file={}\n\
             cpu: model=corei7_skylake_x, ips=100000000\n\
             memory: guest=128, host=128\n\
             ata0-master: type=cdrom, path={}, status=inserted\n\
             boot: cdrom\n\
             com1: enabled=1, mode=file, dev={}\n\
             log: /dev/null\n\
             sound: driver=dummy\n\
             speaker: enabled=0\n",
            BIOS[0],
            BIOS[1],
            self.path("cd.iso").display(),
            self.path("console").display(),
        );
        fs::write(self.path("bochsrc"), settings).map_err(failed)
    }

    /// Boots the CD and reads the image's console.
    pub(super) fn run(&self) -> Result<Run, TaskError> {
        // A new pipe for each run: the reader of an old one may still be there.
        let _ = fs::remove_file(self.path("console"));
        run(Command::new("mkfifo").arg(self.path("console")))?;
        // Open for writing too, because opening would wait for Bochs otherwise, which may have failed.
        let console = File::options().read(true).write(true).open(self.path("console")).map_err(failed)?;
        let mut command = Command::new("bochs-bin");
        command.arg("-q").arg("-f").arg(self.path("bochsrc"));
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let start = |source| TaskError::Start { program: "bochs-bin".to_owned(), source };
        let mut child = command.spawn().map_err(start)?;
        // Debian's Bochs has the debugger built in, and waits for a command.
        if let Some(debugger) = &mut child.stdin {
            let _ = debugger.write_all(b"continue\n");
        }
        let loops = Lines::of(&child, console).loops();
        let _ = child.kill();
        child.wait().map_err(failed)?;
        loops
    }
}

impl Drop for Bochs {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
