//! Places an image, its modules and its boot information in guest memory, and says how the vCPU starts.

use crate::convert::host_size;
use std::ops::Range;

use super::state::{BootState, SegmentState};
use super::{acpi, linux, multiboot, pvh};
use crate::loader::elf::Segment;
use crate::loader::error::LoadError;
use crate::loader::image::Image;
use crate::loader::params::{BootParams, Content, LoadedRange, Module, PlacedModule};
use crate::loader::placement::Placement;
use crate::loader::plan::Plan;
use crate::loader::protocol::Protocol;
use crate::memory::{GuestMemory, HIGH_RAM_START, LOW_RAM_END};

/// Longest command line in bytes without its 0: what an x86 Linux kernel reads (`COMMAND_LINE_SIZE`
/// is 2048). The limit counts the image's name where the guest gets that too.
pub const MAX_CMDLINE: usize = 2047;
/// Most modules. kvm-unit-tests and Linux use one.
pub const MAX_MODULES: usize = 32;

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
    let plan = choose(image, params.protocol)?;
    let cmdline = match (plan.protocol, params.cmdline.as_str()) {
        (Protocol::Pvh | Protocol::Linux, cmdline) => cmdline.to_owned(),
        (Protocol::Multiboot, "") => image.name().to_owned(),
        (Protocol::Multiboot, cmdline) => format!("{} {cmdline}", image.name()),
    };
    check_cmdline("command line", &cmdline)?;
    if params.modules.len() > MAX_MODULES {
        return Err(LoadError::TooManyModules { count: params.modules.len(), limit: MAX_MODULES });
    }
    if plan.protocol == Protocol::Linux && params.modules.len() > 1 {
        return Err(LoadError::OneInitrd { count: params.modules.len() });
    }
    for module in &params.modules {
        check_cmdline("module's command line", &module.cmdline)?;
    }

    let mut placement = Placement::default();
    for segment in &plan.segments {
        check_in_ram(segment, memory)?;
        placement.take(segment.paddr..segment.end());
    }
    let modules = place_modules(&params.modules, &mut placement, memory)?;
    // An image in the firmware's place gets no tables: it would be the first that wants them.
    let acpi_at = placement.lowest(acpi::tables(0).len() as u64, acpi::ALIGN, acpi::WINDOW);
    let rsdp = acpi_at.unwrap_or(0);
    let setup_header = plan.setup_header.as_deref();
    let build_info = |base: u64| match plan.protocol {
        Protocol::Pvh => pvh::start_info(base, &cmdline, &modules, &memory.map(), rsdp),
        Protocol::Linux => linux::info(base, &cmdline, &modules, &memory.map(), rsdp, setup_header),
        Protocol::Multiboot => multiboot::info(base, &cmdline, &modules, memory),
    };
    let size = build_info(0).len();
    let info_at = place_info(size as u64, &mut placement, memory);
    let Some((info_at, info_pointer)) = info_at.and_then(|at| Some((at, u32::try_from(at).ok()?))) else {
        return Err(LoadError::NoRoomForBootInfo { size });
    };
    let info = build_info(info_at);

    let mut loaded = Vec::new();
    for segment in &plan.segments {
        write_segment(image, segment, memory)?;
        loaded.push(LoadedRange { content: Content::Image, start: segment.paddr, end: segment.end() });
    }
    for (index, module) in modules.iter().enumerate() {
        memory.write(module.start, module.data)?;
        loaded.push(LoadedRange { content: Content::Module(index), start: module.start, end: module.end() });
    }
    memory.write(info_at, &info)?;
    loaded.push(LoadedRange { content: Content::BootInfo, start: info_at, end: info_at + info.len() as u64 });
    if let Some(at) = acpi_at {
        let tables = acpi::tables(at);
        memory.write(at, &tables)?;
        loaded.push(LoadedRange { content: Content::Acpi, start: at, end: at + tables.len() as u64 });
    }
    Ok(first_state(plan, info_pointer, loaded))
}

fn choose(image: &Image, asked: Option<Protocol>) -> Result<&Plan, LoadError> {
    let plans = image.plans();
    let plan = plans.iter().find(|plan| asked.is_none_or(|asked| asked == plan.protocol));
    plan.ok_or_else(|| {
        let asked = asked.unwrap_or(Protocol::Pvh);
        let offered = plans.first().map_or(asked, |plan| plan.protocol);
        LoadError::Protocol { asked, offered }
    })
}

fn check_cmdline(what: &'static str, cmdline: &str) -> Result<(), LoadError> {
    if cmdline.len() > MAX_CMDLINE {
        return Err(LoadError::CmdlineTooLong { len: cmdline.len(), limit: MAX_CMDLINE });
    }
    match cmdline.find('\0') {
        Some(position) => Err(LoadError::CmdlineNul { what, position }),
        None => Ok(()),
    }
}

fn check_in_ram(segment: &Segment, memory: &GuestMemory) -> Result<(), LoadError> {
    let (start, end) = (segment.paddr, segment.end());
    if memory.contains(start, end) {
        return Ok(());
    }
    Err(match GuestMemory::size_needed_mib(start, end) {
        Some(needed_mib) => {
            LoadError::NotEnoughMemory { start, end, needed_mib, size_mib: memory.size_mib() }
        }
        None => LoadError::NoRamThere { start, end },
    })
}

/// At the top of the low RAM, so that they are out of the way of a guest that takes the memory
/// behind itself without asking.
fn place_modules<'a>(
    modules: &'a [Module],
    placement: &mut Placement,
    memory: &GuestMemory,
) -> Result<Vec<PlacedModule<'a>>, LoadError> {
    let window = HIGH_RAM_START..memory.low_end().min(MODULE_CEILING);
    let mut placed = Vec::new();
    // From the last one down, so that they end up in ascending order.
    for (index, Module { cmdline, data }) in modules.iter().enumerate().rev() {
        let start = placement.highest(data.len() as u64, PAGE, window.clone()).ok_or_else(|| {
            LoadError::NoRoomForModule { index, size: data.len(), size_mib: memory.size_mib() }
        })?;
        placed.push(PlacedModule { cmdline, data, start });
    }
    placed.reverse();
    Ok(placed)
}

fn place_info(size: u64, placement: &mut Placement, memory: &GuestMemory) -> Option<u64> {
    placement
        .lowest(size, PAGE, INFO_WINDOW)
        .or_else(|| placement.lowest(size, PAGE, LOW_WINDOW))
        .or_else(|| placement.highest(size, PAGE, HIGH_RAM_START..memory.low_end()))
}

fn write_segment(image: &Image, segment: &Segment, memory: &GuestMemory) -> Result<(), LoadError> {
    let data = image.bytes().get(segment.file.clone()).unwrap_or_default();
    memory.write(segment.paddr, data)?;
    let bss = segment.mem_size - data.len() as u64;
    memory.zero(segment.paddr + data.len() as u64, host_size(bss))?;
    Ok(())
}

fn first_state(plan: &Plan, info: u32, loaded: Vec<LoadedRange>) -> BootState {
    let flat = BootState { protocol: plan.protocol, loaded, ..BootState::flat(plan.entry) };
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
