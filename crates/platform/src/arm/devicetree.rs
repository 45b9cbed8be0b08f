//! The devicetree: what the guest is told of the machine.
//!
//! Source: the Devicetree Specification 0.4, and Linux' bindings (`Documentation/devicetree/bindings/`) that each node
//! names. Nodes are those of QEMU's `virt` machine (`hw/arm/virt.c`) as far as the devices are here.

use guest_protocol::mmio;
use std::ops::Range;
use vm_fdt::{Error, FdtWriter};

/// Bytes of each frame of the GIC.
const GIC_FRAME: u64 = 0x1_0000;
/// Bytes of fw_cfg's registers.
const FW_CFG_SIZE: u64 = 0x18;
/// Clock of the UART in Hz.
const UART_CLOCK: u32 = 24_000_000;
const GIC: u32 = 1;
const CLOCK: u32 = 2;
/// First cell of an interrupt (`arm,gic-v3.yaml`): shared or private to the CPU.
const SPI: u32 = 0;
const PPI: u32 = 1;
/// Third cell: level, active high.
const LEVEL_HIGH: u32 = 4;
/// INTIDs at which the numbers of the second cell begin.
const FIRST_PPI: u32 = 16;
/// Number of the UART's interrupt among the SPIs.
pub const UART_SPI: u32 = 1;
/// Interrupt of the secure physical timer, which nothing raises: the binding wants it.
const SECURE_TIMER_INTID: u32 = 29;
/// Of the timer of EL2, likewise.
const HYPERVISOR_TIMER_INTID: u32 = 26;
/// Bytes that Linux mixes into its random numbers. Always the same, so that runs repeat.
const RNG_SEED: [u8; 32] = *b"the same bytes on every machine.";

/// What the boot loader chooses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen<'a> {
    /// Command line, without a NUL.
    pub cmdline: &'a str,
    /// Guest physical addresses of the initrd.
    pub initrd: Option<Range<u64>>,
}

/// The tree in its flattened form, for a machine with this RAM.
///
/// # Errors
/// The command line has a NUL.
pub fn build(ram: &Range<u64>, chosen: &Chosen<'_>) -> Result<Vec<u8>, Error> {
    let mut tree = FdtWriter::new()?;
    let root = tree.begin_node("")?;
    tree.property_string("compatible", "linux,dummy-virt")?;
    tree.property_string("model", "vpmu")?;
    tree.property_u32("#address-cells", 2)?;
    tree.property_u32("#size-cells", 2)?;
    tree.property_u32("interrupt-parent", GIC)?;
    self::chosen(&mut tree, chosen)?;
    memory(&mut tree, ram)?;
    cpu(&mut tree)?;
    gic(&mut tree)?;
    uart(&mut tree)?;
    simple(&mut tree, "fw-cfg", mmio::FW_CFG_DATA, FW_CFG_SIZE, "qemu,fw-cfg-mmio")?;
    simple(&mut tree, "control", mmio::control::BASE, mmio::control::SIZE, mmio::control::COMPATIBLE)?;
    tree.end_node(root)?;
    tree.finish()
}

fn chosen(tree: &mut FdtWriter, chosen: &Chosen<'_>) -> Result<(), Error> {
    let node = tree.begin_node("chosen")?;
    tree.property_string("bootargs", chosen.cmdline)?;
    tree.property_string("stdout-path", &format!("/pl011@{:x}", mmio::PL011))?;
    tree.property("rng-seed", &RNG_SEED)?;
    if let Some(initrd) = &chosen.initrd {
        tree.property_u64("linux,initrd-start", initrd.start)?;
        tree.property_u64("linux,initrd-end", initrd.end)?;
    }
    tree.end_node(node)
}

fn memory(tree: &mut FdtWriter, ram: &Range<u64>) -> Result<(), Error> {
    let node = tree.begin_node(&format!("memory@{:x}", ram.start))?;
    tree.property_string("device_type", "memory")?;
    tree.property_array_u64("reg", &[ram.start, ram.end - ram.start])?;
    tree.end_node(node)
}

/// The CPU, and what is in it: timer, PMU, PSCI.
fn cpu(tree: &mut FdtWriter) -> Result<(), Error> {
    let cpus = tree.begin_node("cpus")?;
    tree.property_u32("#address-cells", 1)?;
    tree.property_u32("#size-cells", 0)?;
    let cpu = tree.begin_node("cpu@0")?;
    tree.property_string("device_type", "cpu")?;
    tree.property_string("compatible", "arm,armv8")?;
    tree.property_string("enable-method", "psci")?;
    tree.property_u32("reg", 0)?;
    tree.end_node(cpu)?;
    tree.end_node(cpus)?;

    let psci = tree.begin_node("psci")?;
    strings(tree, "compatible", &["arm,psci-1.0", "arm,psci-0.2"])?;
    tree.property_string("method", "hvc")?;
    tree.end_node(psci)?;

    let timer = tree.begin_node("timer")?;
    tree.property_string("compatible", "arm,armv8-timer")?;
    tree.property_null("always-on")?;
    let timers =
        [SECURE_TIMER_INTID, mmio::PHYSICAL_TIMER_INTID, mmio::VIRTUAL_TIMER_INTID, HYPERVISOR_TIMER_INTID];
    tree.property_array_u32("interrupts", timers.map(ppi).as_flattened())?;
    tree.end_node(timer)?;

    let pmu = tree.begin_node("pmu")?;
    tree.property_string("compatible", "arm,armv8-pmuv3")?;
    tree.property_array_u32("interrupts", &ppi(mmio::PMU_INTID))?;
    tree.end_node(pmu)
}

fn gic(tree: &mut FdtWriter) -> Result<(), Error> {
    let node = tree.begin_node(&format!("intc@{:x}", mmio::GICD))?;
    tree.property_string("compatible", "arm,gic-v3")?;
    tree.property_phandle(GIC)?;
    tree.property_u32("#interrupt-cells", 3)?;
    tree.property_null("interrupt-controller")?;
    tree.property_u32("#redistributor-regions", 1)?;
    tree.property_array_u64("reg", &[mmio::GICD, GIC_FRAME, mmio::GICR, 2 * GIC_FRAME])?;
    tree.end_node(node)
}

fn uart(tree: &mut FdtWriter) -> Result<(), Error> {
    let clock = tree.begin_node("apb-pclk")?;
    tree.property_string("compatible", "fixed-clock")?;
    tree.property_u32("#clock-cells", 0)?;
    tree.property_u32("clock-frequency", UART_CLOCK)?;
    tree.property_string("clock-output-names", "clk24mhz")?;
    tree.property_phandle(CLOCK)?;
    tree.end_node(clock)?;

    let node = tree.begin_node(&format!("pl011@{:x}", mmio::PL011))?;
    strings(tree, "compatible", &["arm,pl011", "arm,primecell"])?;
    tree.property_array_u64("reg", &[mmio::PL011, 0x1000])?;
    tree.property_array_u32("interrupts", &[SPI, UART_SPI, LEVEL_HIGH])?;
    tree.property_array_u32("clocks", &[CLOCK, CLOCK])?;
    strings(tree, "clock-names", &["uartclk", "apb_pclk"])?;
    tree.end_node(node)
}

/// A device with nothing but registers.
fn simple(tree: &mut FdtWriter, name: &str, base: u64, size: u64, compatible: &str) -> Result<(), Error> {
    let node = tree.begin_node(&format!("{name}@{base:x}"))?;
    tree.property_string("compatible", compatible)?;
    tree.property_array_u64("reg", &[base, size])?;
    tree.end_node(node)
}

fn strings(tree: &mut FdtWriter, name: &str, values: &[&str]) -> Result<(), Error> {
    tree.property_string_list(name, values.iter().map(|value| (*value).to_owned()).collect())
}

fn ppi(intid: u32) -> [u32; 3] {
    [PPI, intid - FIRST_PPI, LEVEL_HIGH]
}
