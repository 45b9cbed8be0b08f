//! The machine that every case runs in: guest physical memory with page tables, descriptors, handlers,
//! and a few pages for the code and data of a case. Both sides start from the same bytes.
//!
//! | address | page | user mode may |
//! | --- | --- | --- |
//! | 1000-4FFF | page tables | nothing |
//! | 5000 | GDT | nothing |
//! | 6000 | IDT | nothing |
//! | 7000 | TSS | nothing |
//! | 8000 | exception handlers, one HLT each | nothing |
//! | 9000 | stack of ring 0 | nothing |
//! | 10000-11FFF | code | read, execute |
//! | 20000 | constants | read |
//! | 21000-22FFF | data | read, write |
//! | 24000 | a supervisor page | nothing |
//! | 25000 | stack | read, write |
//!
//! Everything else is not present. The same pages are mapped a second time from [`HIGH`] on.

/// Bytes of guest RAM.
pub const RAM: usize = 0x4_0000;
/// Page size in bytes.
pub const PAGE: u64 = 0x1000;
/// Distance of the second mapping of all pages: an address that does not fit into 32 bits.
pub const HIGH: u64 = 0x7F00_0000_0000;

/// Root of the page tables (CR3).
pub const PML4: u64 = 0x1000;
const PDPT: u64 = 0x2000;
const DIRECTORY: u64 = 0x3000;
const TABLE: u64 = 0x4000;
/// Global descriptor table.
pub const GDT: u64 = 0x5000;
/// Bytes in the GDT minus 1.
pub const GDT_LIMIT: u16 = 0x3F;
/// Interrupt descriptor table.
pub const IDT: u64 = 0x6000;
/// Bytes in the IDT minus 1.
pub const IDT_LIMIT: u16 = 0xFFF;
/// 64-bit task state segment.
pub const TSS: u64 = 0x7000;
/// Handler of vector n is at `HANDLERS + n * HANDLER_SIZE`.
pub const HANDLERS: u64 = 0x8000;
/// Bytes per handler.
pub const HANDLER_SIZE: u64 = 8;
/// An IRETQ, with which the native side starts a case.
pub const IRET: u64 = HANDLERS + 256 * HANDLER_SIZE;
/// Top of the stack of ring 0; an exception pushes its frame below.
pub const RING0_STACK: u64 = 0xA000;

/// First byte of the code pages.
pub const CODE: u64 = 0x1_0000;
/// Bytes of the code pages.
pub const CODE_LEN: usize = 0x2000;
/// What a case can read and write starts here: constants, data, and the stack are inside.
pub const SCRATCH: u64 = 0x2_0000;
/// Bytes from the first constant to the end of the stack.
pub const SCRATCH_LEN: usize = 0x6000;
/// First byte of the writable data.
pub const DATA: u64 = 0x2_1000;
/// Bytes of writable data.
pub const DATA_LEN: u64 = 0x2000;
/// What FXRSTOR accepts.
pub const FXSAVE_IMAGE: u64 = DATA + 0x800;
/// What XRSTOR accepts, where there is XSAVE.
pub const XSAVE_IMAGE: u64 = DATA + 0xC00;
/// First byte of the stack page.
pub const STACK: u64 = 0x2_5000;

/// Ring 3 selectors.
pub const USER_DATA: u16 = 0x18 | 3;
/// Ring 3 64-bit code.
pub const USER_CODE: u16 = 0x20 | 3;
/// Ring 0 64-bit code.
pub const KERNEL_CODE: u16 = 0x08;
/// Ring 0 data.
pub const KERNEL_DATA: u16 = 0x10;
/// Busy 64-bit TSS.
pub const TASK: u16 = 0x30;
/// Base of FS.
pub const FS_BASE: u64 = 0x40;
/// Base of GS.
pub const GS_BASE: u64 = 0x1000;

/// PE, MP, ET, NE, WP, AM, PG.
pub const CR0: u64 = 0x8005_0033;
/// SCE, LME, LMA, NXE.
pub const EFER: u64 = 0xD01;

const PRESENT: u64 = 1;
const WRITE: u64 = 2;
const USER: u64 = 4;
const ACCESSED_DIRTY: u64 = 0x60;
const NO_EXECUTE: u64 = 1 << 63;

fn put(ram: &mut [u8], at: u64, value: u64) {
    ram[at as usize..at as usize + 8].copy_from_slice(&value.to_le_bytes());
}

/// RAM before the first case.
#[must_use]
pub fn initial_ram() -> Vec<u8> {
    let mut ram = vec![0; RAM];
    let table = PRESENT | WRITE | USER | ACCESSED_DIRTY;
    put(&mut ram, PML4, PDPT | table);
    put(&mut ram, PML4 + (HIGH >> 39) * 8, PDPT | table);
    put(&mut ram, PDPT, DIRECTORY | table);
    put(&mut ram, DIRECTORY, TABLE | table);
    let supervisor = PRESENT | WRITE | ACCESSED_DIRTY;
    let pages = [
        (PML4, 9, supervisor),
        (CODE, 2, PRESENT | USER | ACCESSED_DIRTY),
        (SCRATCH, 1, PRESENT | USER | ACCESSED_DIRTY | NO_EXECUTE),
        (DATA, 2, PRESENT | WRITE | USER | ACCESSED_DIRTY | NO_EXECUTE),
        (0x2_4000, 1, supervisor),
        (STACK, 1, PRESENT | WRITE | USER | ACCESSED_DIRTY | NO_EXECUTE),
    ];
    for (first, count, rights) in pages {
        for page in first / PAGE..first / PAGE + count {
            put(&mut ram, TABLE + page * 8, (page * PAGE) | rights);
        }
    }
    let descriptors = [
        0,
        0x00AF_9B00_0000_FFFF, // 08: ring 0 code, 64-bit
        0x00CF_9300_0000_FFFF, // 10: ring 0 data
        0x00CF_F300_0000_FFFF, // 18: ring 3 data
        0x00AF_FB00_0000_FFFF, // 20: ring 3 code, 64-bit
        0,
        0x0000_8B00_0000_0067 | TSS << 16, // 30: busy TSS
        0,
    ];
    for (n, descriptor) in (0..).zip(descriptors) {
        put(&mut ram, GDT + 8 * n, descriptor);
    }
    put(&mut ram, TSS + 4, RING0_STACK);
    for vector in 0..256 {
        let handler = HANDLERS + vector * HANDLER_SIZE;
        // Interrupt gate; INT3 may come from ring 3.
        let kind: u64 = if vector == 3 { 0xEE } else { 0x8E };
        put(
            &mut ram,
            IDT + vector * 16,
            handler & 0xFFFF | u64::from(KERNEL_CODE) << 16 | kind << 40 | (handler >> 16 & 0xFFFF) << 48,
        );
        // HLT; JMP to itself.
        ram[handler as usize..handler as usize + 3].copy_from_slice(&[0xF4, 0xEB, 0xFE]);
    }
    ram[IRET as usize..IRET as usize + 2].copy_from_slice(&[0x48, 0xCF]);
    ram[CODE as usize..CODE as usize + CODE_LEN].fill(0xCC);
    ram
}

/// Whether an exception pushes an error code (SDM volume 3, table 6-1).
#[must_use]
pub fn has_error_code(vector: u8) -> bool {
    matches!(vector, 8 | 10..=14 | 17 | 21)
}
