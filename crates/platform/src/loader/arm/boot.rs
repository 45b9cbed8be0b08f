//! Places an image, its initrd and its devicetree, and says how the vCPU starts.

use crate::arm::devicetree::{self, Chosen};
use crate::loader::architecture::Architecture;
use crate::loader::error::LoadError;
use crate::loader::image::Image;
use crate::loader::params::{BootParams, Content, LoadedRange};
use crate::loader::place::{check_initrd, check_params, place_image, place_modules, write_image};
use crate::memory::GuestMemory;
use guest_protocol::mmio;

/// Modules stay within this distance from the start of RAM: an initrd has to lie in the same 32 GiB as the kernel.
const MODULE_CEILING: u64 = mmio::RAM + (31 << 30);
/// Where a devicetree may begin; Linux wants a multiple of 8.
const ALIGN: u64 = 4096;

/// The first state of the vCPU: EL1 with SP_EL1, interrupts masked, MMU off; X1 to X3 are 0. All that is not listed is
/// as after a reset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootState {
    /// First instruction.
    pub pc: u64,
    /// X0: physical address of the devicetree.
    pub devicetree: u64,
    /// What lies where, in the order it was written. The ranges do not overlap.
    pub loaded: Vec<LoadedRange>,
}

/// Puts `image` into `memory`, which should be fresh, with a devicetree at the start of RAM, or as low
/// as the image lets it. Nothing is written if there is an error.
///
/// # Errors
/// The image is for other CPUs, it or a module does not fit this guest's memory, or a parameter is out of its bounds.
pub fn load(image: &Image, memory: &GuestMemory, params: &BootParams) -> Result<BootState, LoadError> {
    let plan = image.plan(Architecture::Aarch64, params.protocol)?;
    check_params(&params.cmdline, &params.modules)?;
    check_initrd(&params.modules)?;
    let ram = memory.regions().next();
    let ram = ram.map_or(mmio::RAM..mmio::RAM, |region| region.guest_phys..region.end());
    let mut placement = place_image(plan, memory)?;
    // The tree's size does not depend on where the initrd is.
    let tree = |initrd| devicetree::build(&ram, &Chosen { cmdline: &params.cmdline, initrd });
    let placeholder = params.modules.first().map(|_| 0..u64::MAX);
    let size = tree(placeholder)?.len();
    let at = placement.lowest(size as u64, ALIGN, ram.clone());
    let at = at.ok_or(LoadError::NoRoomForBootInfo { size })?;
    let window = ram.start..ram.end.min(MODULE_CEILING);
    let modules = place_modules(&params.modules, &mut placement, &window, memory)?;
    let tree = tree(modules.first().map(|initrd| initrd.start..initrd.end()))?;

    let mut loaded = write_image(image, plan, &modules, memory)?;
    memory.write(at, &tree)?;
    loaded.push(LoadedRange { content: Content::BootInfo, start: at, end: at + tree.len() as u64 });
    Ok(BootState { pc: plan.entry, devicetree: at, loaded })
}
