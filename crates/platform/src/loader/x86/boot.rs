//! Places an image, its modules and its boot information in guest memory, and says how the vCPU starts.

use crate::convert::low_u32;
use std::ops::Range;

use super::state::{BootState, SegmentState};
use super::{acpi, linux, multiboot, pvh};
use crate::loader::architecture::Architecture;
use crate::loader::error::LoadError;
use crate::loader::image::Image;
use crate::loader::params::{BootParams, Content, LoadedRange};
use crate::loader::place::{check_initrd, check_params, place_image, place_modules, write_image};
use crate::loader::placement::Placement;
use crate::loader::plan::Plan;
use crate::loader::protocol::Protocol;
use crate::memory::GuestMemory;
use crate::x86::memory::{HIGH_RAM_START, LOW_RAM_END, low_end, memory_map};

const PAGE: u64 = 4096;
/// Where boot information goes if it can: above the real-mode vectors, the BIOS data area and where
/// kernels like to put their start-up code for other CPUs, below the EBDA.
const INFO_WINDOW: Range<u64> = 0x9000..LOW_RAM_END;
/// The second choice. Page 0 stays free so that a null pointer in the guest finds nothing of ours.
const LOW_WINDOW: Range<u64> = PAGE..0x9000;
/// Modules stay below this address, which every 32-bit guest and Linux (`initrd_addr_max`) can reach.
const MODULE_CEILING: u64 = 1 << 31;

/// Puts `image` into `memory`, which should be fresh: only the places that are used are written,
/// bss included. Nothing is written if there is an error.
///
/// # Errors
/// The image or a module does not fit this guest's memory, or a parameter is out of its bounds.
pub fn load(image: &Image, memory: &GuestMemory, params: &BootParams) -> Result<BootState, LoadError> {
    let plan = image.plan(Architecture::X86, params.protocol)?;
    let cmdline = match (plan.protocol, params.cmdline.as_str()) {
        (Protocol::Pvh | Protocol::Linux, cmdline) => cmdline.to_owned(),
        (Protocol::Multiboot, "") => image.name().to_owned(),
        (Protocol::Multiboot, cmdline) => format!("{} {cmdline}", image.name()),
    };
    check_params(&cmdline, &params.modules)?;
    if plan.protocol == Protocol::Linux {
        check_initrd(&params.modules)?;
    }
    let mut placement = place_image(plan, memory)?;
    let window = HIGH_RAM_START..low_end(memory).min(MODULE_CEILING);
    let modules = place_modules(&params.modules, &mut placement, &window, memory)?;
    // An image in the firmware's place gets no tables: it would be the first that wants them.
    let acpi_at = placement.lowest(acpi::tables(0).len() as u64, acpi::ALIGN, acpi::WINDOW);
    let rsdp = acpi_at.unwrap_or(0);
    let setup_header = linux::is_bzimage(image.bytes()).then(|| linux::setup_header(image.bytes()));
    let map = memory_map(memory);
    let build_info = |base: u64| match plan.protocol {
        Protocol::Pvh => pvh::start_info(base, &cmdline, &modules, &map, rsdp),
        Protocol::Linux => linux::info(base, &cmdline, &modules, &map, rsdp, setup_header.as_ref()),
        Protocol::Multiboot => multiboot::info(base, &cmdline, &modules, memory),
    };
    let size = build_info(0).len();
    let info_at = place_info(size as u64, &mut placement, memory);
    let Some((info_at, info_pointer)) = info_at.and_then(|at| Some((at, u32::try_from(at).ok()?))) else {
        return Err(LoadError::NoRoomForBootInfo { size });
    };
    let info = build_info(info_at);

    let mut loaded = write_image(image, plan, &modules, memory)?;
    memory.write(info_at, &info)?;
    loaded.push(LoadedRange { content: Content::BootInfo, start: info_at, end: info_at + info.len() as u64 });
    if let Some(at) = acpi_at {
        let tables = acpi::tables(at);
        memory.write(at, &tables)?;
        loaded.push(LoadedRange { content: Content::Acpi, start: at, end: at + tables.len() as u64 });
    }
    Ok(first_state(plan, info_pointer, loaded))
}

fn place_info(size: u64, placement: &mut Placement, memory: &GuestMemory) -> Option<u64> {
    placement
        .lowest(size, PAGE, INFO_WINDOW)
        .or_else(|| placement.lowest(size, PAGE, LOW_WINDOW))
        .or_else(|| placement.highest(size, PAGE, HIGH_RAM_START..low_end(memory)))
}

/// Plans of x86 start below 4 GiB.
fn first_state(plan: &Plan, info: u32, loaded: Vec<LoadedRange>) -> BootState {
    let flat = BootState { protocol: plan.protocol, loaded, ..BootState::flat(low_u32(plan.entry)) };
    match plan.protocol {
        Protocol::Pvh => BootState { ebx: info, ..flat },
        Protocol::Multiboot => BootState { eax: multiboot::BOOT_MAGIC, ebx: info, ..flat },
        Protocol::Linux => {
            let linux::Entry { cr3, gdt, gdt_limit } = linux::Entry::at(info.into());
            BootState {
                esi: info,
                // PG.
                cr0: flat.cr0 | 1 << 31,
                cr3,
                // PAE.
                cr4: 1 << 5,
                // LME and LMA.
                efer: 1 << 8 | 1 << 10,
                gdt: (gdt, gdt_limit),
                // __BOOT_CS and __BOOT_DS.
                code: SegmentState { selector: 0x10, default_32: false, long: true, ..flat.code },
                data: SegmentState { selector: 0x18, ..flat.data },
                ..flat
            }
        }
    }
}
