//! What this host can execute, before it is measured.
#![expect(unsafe_code, reason = "runs generated code in a process of its own")]

use super::image::Image;
use super::native::Host;
use iced_x86::{EncodingKind, Instruction};
use soft_cpu::{CpuidLeaf, Features};
use std::arch::asm;
use std::arch::x86_64::{__cpuid_count, CpuidResult};
use std::io::{self, ErrorKind};

/// Seconds for a first look at images.
const LONGEST: libc::c_uint = 5;

/// Clears what FXRSTOR leaves of vector registers, so that blocks do not begin with what others have left there.
pub(crate) fn clear_upper() {
    if std::arch::is_x86_feature_detected!("avx") {
        // SAFETY: it is there.
        unsafe { asm!("vzeroupper", clobber_abi("C")) };
    }
}

/// True if this host executes an instruction, and its operating system keeps the registers.
pub(crate) fn executes(instruction: &Instruction) -> bool {
    let kept = match instruction.code().op_code().encoding() {
        EncodingKind::Legacy => true,
        EncodingKind::VEX => std::arch::is_x86_feature_detected!("avx"),
        EncodingKind::EVEX => std::arch::is_x86_feature_detected!("avx512f"),
        _ => false,
    };
    kept && !Features::are_lacking(instruction, cpuid)
}

#[allow(unused_unsafe, reason = "older compilers have it as unsafe")]
fn cpuid(leaf: u32, subleaf: u32) -> CpuidLeaf {
    // SAFETY: in every x86-64.
    let CpuidResult { eax, ebx, ecx, edx } = unsafe { __cpuid_count(leaf, subleaf) };
    CpuidLeaf { eax, ebx, ecx, edx }
}

/// True if images end in a process of their own, which a signal may end: for code that this CPU may not have.
pub(crate) fn survives(images: &[Image]) -> bool {
    // SAFETY: the child calls no more than the images and three system calls, so it needs nothing that another
    // thread of its parent may have locked.
    let status = unsafe {
        let child = libc::fork();
        if child == 0 {
            libc::alarm(LONGEST);
            libc::prctl(libc::PR_SET_DUMPABLE, 0);
            images.iter().for_each(|image| {
                Host::ticks(image, 1);
            });
            libc::_exit(0);
        }
        let mut status = -1;
        while child > 0 && libc::waitpid(child, &raw mut status, 0) < 0 {
            if io::Error::last_os_error().kind() != ErrorKind::Interrupted {
                break;
            }
        }
        status
    };
    libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
}
