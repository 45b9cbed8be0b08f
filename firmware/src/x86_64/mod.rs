//! The shim in ring 0.
//!
//! It brings the machine from the PVH or multiboot entry to long mode, enters ring 3 at
//! `guest_main`, offers it the few privileged instructions that a PMU test needs, and turns
//! interrupts and exceptions of ring 3 into upcalls. All of it is assembly; this file only names
//! what both sides must agree on.
//!
//! # Why so little runs in ring 0
//!
//! Some KVM hosts interpret ring 0, at about a microsecond per instruction and without SSE, and
//! run ring 3 natively. So ring 0 is integer-only and short, and everything else is ring 3. The same
//! hosts know no INT n and no IOPL, hence INT3 for the calls, an I/O bitmap for the ports, and a
//! call for the interrupt flag.
//!
//! # What the image supplies
//!
//! * `guest_main(&BootInfo) -> !`, entered in ring 3 with interrupts off;
//! * `guest_upcall`, entered in ring 3 with RSP at an upcall frame (see `traps.S`): vector,
//!   error code, CR2, then an IRETQ frame. It must keep every register and end with IRETQ;
//! * a linker script that defines `__image_start`, `__load_end`, `__image_end` and the stacks;
//!   `firmware/x86_64.ld` does.
//!
//! # Memory
//!
//! The low 4 GiB are mapped one to one and open to ring 3, page 0 and the page below the ring-3
//! stack excepted. Physical page 0 is at [`LOW_PAGE_ALIAS`]. Everything from 0xFE00_0000 up is
//! uncached.

use core::arch::global_asm;

/// [`BootInfo::protocol`]: entered through the Xen PVH note; the information is `hvm_start_info`.
pub const BOOT_PVH: u32 = 1;
/// [`BootInfo::protocol`]: entered through the multiboot 1 header; the information is its `mbi`.
pub const BOOT_MULTIBOOT: u32 = 2;

/// How the image was entered; the argument of `guest_main`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct BootInfo {
    /// [`BOOT_PVH`] or [`BOOT_MULTIBOOT`].
    pub protocol: u32,
    reserved: u32,
    /// Address of the loader's information structure (EBX at entry).
    pub information: u64,
}

/// Virtual address of physical page 0, which is not mapped at 0. Loaders put information there (QEMU
/// its `hvm_start_info`). The page lies in the VGA hole, where there is no RAM to lose.
pub const LOW_PAGE_ALIAS: u32 = 0xA_0000;

/// EAX of an INT3 in ring 3: RDMSR. ECX = index; RAX = value.
pub const CALL_RDMSR: u32 = 0;
/// WRMSR. ECX = index, EDX:ESI = value.
pub const CALL_WRMSR: u32 = 1;
/// RDPMC in ring 0. ECX = counter; RAX = value.
pub const CALL_RDPMC: u32 = 2;
/// RAX = CR0.
pub const CALL_READ_CR0: u32 = 3;
/// RAX = CR4.
pub const CALL_READ_CR4: u32 = 4;
/// CR4 = RSI.
pub const CALL_WRITE_CR4: u32 = 5;
/// The counting loop in ring 0. RDI = iterations, at least 1, lost.
pub const CALL_LOOP: u32 = 6;
/// The counting loop in ring 0 with interrupts enabled. RDI = iterations, at least 1, lost.
pub const CALL_LOOP_INTERRUPTIBLE: u32 = 7;
/// WRMSR, the counting loop, WRMSR. ECX = index, EDX:ESI = first value, RDI = iterations,
/// R9D:R8D = second value; RDI is lost.
pub const CALL_WINDOW: u32 = 8;
/// Enable interrupts and halt until one or an NMI arrives.
pub const CALL_HALT: u32 = 9;
/// The interrupt flag of ring 3 becomes that of RSI, which is 0 or [`RFLAGS_IF`].
pub const CALL_SET_INTERRUPT_FLAG: u32 = 10;
/// CPUID in ring 0. ECX = leaf, ESI = sub-leaf; EAX and EBX in RAX, ECX and EDX in RSI, low half
/// first; RCX is lost. KVM hosts that run ring 3 natively show the host's CPU there.
pub const CALL_CPUID: u32 = 11;
/// XCR0 = EDX:ESI; RCX is lost.
pub const CALL_XSETBV: u32 = 12;
/// CR0 = RSI.
pub const CALL_WRITE_CR0: u32 = 13;
/// XSAVES64 of the components in EDI to the area at RSI.
pub const CALL_XSAVES: u32 = 14;
/// XRSTORS64 of the components in EDI from the area at RSI.
pub const CALL_XRSTORS: u32 = 15;

/// RFLAGS.IF
pub const RFLAGS_IF: u64 = 1 << 9;

/// Instructions in one iteration of the counting loop (eight NOP, DEC, JNZ).
pub const LOOP_INSTRUCTIONS: u64 = 10;
/// Branches in one iteration of the counting loop; all taken but the last.
pub const LOOP_BRANCHES: u64 = 1;
/// Instructions between the two WRMSRs of [`CALL_WINDOW`] besides the loop.
pub const WINDOW_EXTRA_INSTRUCTIONS: u64 = 2;
/// Ring-0 instructions between the INT3 of [`CALL_RDMSR`] or [`CALL_RDPMC`] and the RDMSR or RDPMC:
/// AND, JMP.
pub const INSTRUCTIONS_BEFORE_READ: u64 = 2;
/// Ring-0 instructions between the INT3 of [`CALL_WRMSR`] or [`CALL_WINDOW`] and the WRMSR: AND, JMP,
/// MOV.
pub const INSTRUCTIONS_BEFORE_WRITE: u64 = 3;
/// Branches among [`INSTRUCTIONS_BEFORE_READ`] and among [`INSTRUCTIONS_BEFORE_WRITE`].
pub const BRANCHES_BEFORE_ACCESS: u64 = 1;
/// Ring-0 instructions after the RDMSR or RDPMC: SHL, OR, MOV, JMP, CMP, JNE, IRETQ.
pub const INSTRUCTIONS_AFTER_READ: u64 = 7;
/// Ring-0 instructions after the (last) WRMSR: MOV, JMP, CMP, JNE, IRETQ.
pub const INSTRUCTIONS_AFTER_WRITE: u64 = 5;
/// Branches among [`INSTRUCTIONS_AFTER_READ`] and among [`INSTRUCTIONS_AFTER_WRITE`]: JMP, JNE
/// (not taken) and IRETQ (a far branch).
pub const BRANCHES_AFTER_ACCESS: u64 = 3;

/// Set in RDX when a call faulted. Bits 39:32 hold the vector, bits 31:0 the error code.
pub const FAULT_FLAG: u64 = 1 << 40;

/// Selector of 64-bit code in ring 3.
pub const USER_CS: u16 = 0x33;
/// Selector of data and stack in ring 3.
pub const USER_DS: u16 = 0x2B;

/// CR4.PCE: RDPMC is allowed in ring 3.
pub const CR4_PCE: u64 = 1 << 8;
/// CR4.OSXSAVE: XSAVE, XGETBV and XSETBV are allowed, and with XCR0 AVX and AVX-512.
pub const CR4_OSXSAVE: u64 = 1 << 18;
/// CR0.TS: the next vector or x87 instruction raises #NM.
pub const CR0_TS: u64 = 1 << 3;
const CR4_PAE: u32 = 1 << 5;
const CR4_OSFXSR: u32 = 1 << 9;
const CR4_OSXMMEXCPT: u32 = 1 << 10;
/// PG, WP, NE, ET, MP, PE.
const CR0_VALUE: u32 = 0x8001_0033;
const MSR_EFER: u32 = 0xC000_0080;
const EFER_LME: u32 = 1 << 8;
const KERNEL_CS: u16 = 0x10;
const KERNEL_DS: u16 = 0x18;
const TSS_SELECTOR: u16 = 0x40;
/// Present interrupt gate, DPL 0.
const GATE_RING0: u32 = 0x8E;
/// Present interrupt gate, DPL 3.
const GATE_RING3: u32 = 0xEE;
/// The bit that is always set.
const RFLAGS_RING3: u32 = 2;

global_asm!(
    include_str!("boot.S"),
    include_str!("tables.S"),
    include_str!("traps.S"),
    include_str!("calls.S"),
    include_str!("memory.S"),
    BOOT_PVH = const BOOT_PVH,
    LOW_PAGE_ALIAS = const LOW_PAGE_ALIAS,
    BOOT_MULTIBOOT = const BOOT_MULTIBOOT,
    FAULT_FLAG = const FAULT_FLAG >> 32,
    CR4_PAE = const CR4_PAE,
    CR4_OSFXSR = const CR4_OSFXSR,
    CR4_OSXMMEXCPT = const CR4_OSXMMEXCPT,
    CR0_VALUE = const CR0_VALUE,
    MSR_EFER = const MSR_EFER,
    EFER_LME = const EFER_LME,
    KERNEL_CS = const KERNEL_CS,
    KERNEL_DS = const KERNEL_DS,
    USER_CS = const USER_CS,
    USER_DS = const USER_DS,
    TSS_SELECTOR = const TSS_SELECTOR,
    GATE_RING0 = const GATE_RING0,
    GATE_RING3 = const GATE_RING3,
    RFLAGS_RING3 = const RFLAGS_RING3,
    PORT_EXIT = const guest_protocol::ports::EXIT,
    PORT_DEBUGCON = const guest_protocol::ports::DEBUGCON,
    PORT_COM1 = const guest_protocol::ports::COM1,
    EXIT_BROKEN = const guest_protocol::exit::BROKEN,
);
