//! Instructions that raise #UD on a CPU with our CPUID and control registers, and that careful guests try for
//! that: no reason to warn.

use iced_x86::{Instruction, Mnemonic as M};

pub(super) fn is_absent(ins: &Instruction) -> bool {
    matches!(
        ins.mnemonic(),
        // CPUID.01H:ECX.MONITOR is 0.
        M::Monitor | M::Mwait
        // CR4.VMXE and SMXE cannot be set, EFER.SVME neither.
        | M::Vmcall | M::Vmclear | M::Vmfunc | M::Vmlaunch | M::Vmptrld | M::Vmptrst | M::Vmread | M::Vmresume
        | M::Vmwrite | M::Vmxoff | M::Vmxon | M::Invept | M::Invvpid | M::Getsec
        | M::Vmmcall | M::Vmrun | M::Vmload | M::Vmsave | M::Stgi | M::Clgi | M::Skinit | M::Invlpga
        // Not in system-management mode.
        | M::Rsm
    )
}
