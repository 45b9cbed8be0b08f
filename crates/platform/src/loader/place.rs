//! Placing an image and its modules, whatever the architecture.

use super::elf::Segment;
use super::error::LoadError;
use super::image::Image;
use super::params::{Content, LoadedRange, Module, PlacedModule};
use super::placement::Placement;
use super::plan::Plan;
use crate::convert::host_size;
use crate::memory::GuestMemory;
use std::ops::Range;

/// Longest command line in bytes without its 0: what Linux kernels read (`COMMAND_LINE_SIZE` is 2048 on x86 and on
/// arm64). The limit counts the image's name where the guest gets that too.
pub const MAX_CMDLINE: usize = 2047;
/// Most modules. kvm-unit-tests and Linux use one.
pub const MAX_MODULES: usize = 32;

const PAGE: u64 = 4096;

/// # Errors
/// A string or the number of modules is out of bounds.
pub(super) fn check_params(cmdline: &str, modules: &[Module]) -> Result<(), LoadError> {
    check_cmdline("command line", cmdline)?;
    if modules.len() > MAX_MODULES {
        return Err(LoadError::TooManyModules { count: modules.len(), limit: MAX_MODULES });
    }
    modules.iter().try_for_each(|module| check_cmdline("module's command line", &module.cmdline))
}

/// # Errors
/// More than one module.
pub(super) fn check_initrd(modules: &[Module]) -> Result<(), LoadError> {
    if modules.len() > 1 {
        return Err(LoadError::OneInitrd { count: modules.len() });
    }
    Ok(())
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

/// What the image takes.
///
/// # Errors
/// A part of it is not in RAM.
pub(super) fn place_image(plan: &Plan, memory: &GuestMemory) -> Result<Placement, LoadError> {
    let mut placement = Placement::default();
    for segment in &plan.segments {
        check_in_ram(segment, memory)?;
        placement.take(segment.paddr..segment.end());
    }
    Ok(placement)
}

fn check_in_ram(segment: &Segment, memory: &GuestMemory) -> Result<(), LoadError> {
    let (start, end) = (segment.paddr, segment.end());
    if memory.contains(start, end) {
        return Ok(());
    }
    Err(match memory.layout().size_needed_mib(start, end) {
        Some(needed_mib) => {
            LoadError::NotEnoughMemory { start, end, needed_mib, size_mib: memory.size_mib() }
        }
        None => LoadError::NoRamThere { start, end },
    })
}

/// At the top of `window`, so that they are out of the way of a guest that takes the memory
/// behind itself without asking.
///
/// # Errors
/// They do not fit.
pub(super) fn place_modules<'a>(
    modules: &'a [Module],
    placement: &mut Placement,
    window: &Range<u64>,
    memory: &GuestMemory,
) -> Result<Vec<PlacedModule<'a>>, LoadError> {
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

/// Writes what has been placed.
///
/// # Errors
/// Some byte is not RAM, which placing has checked.
pub(super) fn write_image(
    image: &Image,
    plan: &Plan,
    modules: &[PlacedModule<'_>],
    memory: &GuestMemory,
) -> Result<Vec<LoadedRange>, LoadError> {
    let mut loaded = Vec::new();
    for segment in &plan.segments {
        write_segment(image, segment, memory)?;
        loaded.push(LoadedRange { content: Content::Image, start: segment.paddr, end: segment.end() });
    }
    for (index, module) in modules.iter().enumerate() {
        memory.write(module.start, module.data)?;
        loaded.push(LoadedRange { content: Content::Module(index), start: module.start, end: module.end() });
    }
    Ok(loaded)
}

fn write_segment(image: &Image, segment: &Segment, memory: &GuestMemory) -> Result<(), LoadError> {
    let data = image.bytes().get(segment.file.clone()).unwrap_or_default();
    memory.write(segment.paddr, data)?;
    let bss = segment.mem_size - data.len() as u64;
    memory.zero(segment.paddr + data.len() as u64, host_size(bss))?;
    Ok(())
}
