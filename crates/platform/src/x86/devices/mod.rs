//! Devices: everything a guest reaches with IN and OUT, and the I/O APIC ([`ioapic`], at 0xFEC00000).
//!
//! | ports | device | file |
//! | --- | --- | --- |
//! | 0x20, 0x21, 0xA0, 0xA1 | 8259 pair, absent: writes (masks, EOIs) vanish, reads are all ones | here |
//! | 0x40-0x43, 0x61 | 8254 timer, for calibration | [`pit`] |
//! | 0x64 | keyboard controller: only its reset command (FEH); reads are all ones | here |
//! | 0x70, 0x71 | CMOS: reads 0, so that "update in progress" is never set | here |
//! | 0x80 | POST code, used for delays: writes vanish | here |
//! | 0xE0-0xE3, 0x2000-0x2017 | test device of kvm-unit-tests, with memory at 0xFF000000 | [`testdev`] |
//! | 0xE9 | debug console | [`crate::devices::debug_console`] |
//! | 0xF4-0xF7 | exit port | [`exit_status`] |
//! | 0x3F8-0x3FF | COM1 | [`serial`] |
//! | 0x505 | `pvpanic` | [`power`] |
//! | 0x510, 0x511 | fw_cfg | [`crate::devices::fw_cfg`] |
//! | 0x5E0-0x5E7 | program port of our VMM | [`crate::devices::program`] |
//! | 0x5F0-0x5F4 | control port of our VMM | [`crate::devices::control`] |
//! | 0x600-0x605 | ACPI PM1 event and control blocks: power-off | [`power`] |
//! | 0xCF9 | reset control register: only the reset; reads are all ones | here |
//! | others | all ones; counted in [`Devices::unknown_ports`] | `bus.rs` |
//!
//! As on an ISA bus, an access wider than the device is one byte access per consecutive port; so is
//! a 16-bit IN at 0x511, which gives a data byte and whatever port 0x512 has. Devices hold no clock:
//! [`Devices::advance`] tells them guest time. They start no threads; what the machine has to do comes back as an
//! [`Effect`].

mod bus;
pub mod ioapic;
pub mod pit;
pub mod power;
pub mod serial;
pub mod testdev;
#[cfg(test)]
mod tests;

pub use self::bus::{PortAccesses, UnknownPorts};
pub use self::ioapic::{InterruptMessage, IoApic};
pub use self::pit::Pit;
pub use self::power::Power;
pub use self::serial::Serial;
pub use self::testdev::TestDevice;

use self::power::PowerEffect;
use crate::devices::control::Control;
use crate::devices::program::ProgramPort;
use crate::devices::{Console, DebugConsole, Effect, FwCfg, Output, debug_console, exit_status};
use crate::time::GuestTime;
use guest_protocol::ports;
use serde::{Deserialize, Serialize};

/// Command and data ports of the absent interrupt controllers.
const PIC_PORTS: [u16; 4] = [0x20, 0x21, 0xA0, 0xA1];
/// CMOS index and data.
const CMOS_PORTS: [u16; 2] = [0x70, 0x71];
/// Debug console.
const DEBUGCON: u16 = ports::DEBUGCON;
/// First port of the exit device (QEMU `isa-debug-exit`, `iobase=0xf4,iosize=4`).
const EXIT: u16 = ports::EXIT;
/// Its number of ports; a write to any of them ends the run.
const EXIT_PORTS: u16 = 4;
/// What reading them gives, as in QEMU.
const EXIT_READ: u8 = 0;
/// POST code.
const POST_PORT: u16 = 0x80;
/// Command port of the keyboard controller.
const KEYBOARD_COMMAND: u16 = 0x64;
/// Keyboard controller command: pulse the CPU's reset line.
const KEYBOARD_RESET: u8 = 0xFE;
/// Reset control register of chipsets.
pub const RESET_CONTROL: u16 = 0xCF9;
/// Address register of PCI configuration; 32 bits wide, narrower accesses go to other devices.
const PCI_ADDRESS: u16 = 0xCF8;
/// Reset control register: "reset CPU", which starts a reset when it goes from 0 to 1.
pub const RESET_CPU: u8 = 1 << 2;
/// fw_cfg's selector register, 16-bit writes. Byte reads of this port also return data, as in QEMU.
const FW_CFG_SELECTOR: u16 = ports::FW_CFG_SELECTOR;
/// fw_cfg's data register, byte reads.
const FW_CFG_DATA: u16 = ports::FW_CFG_DATA;
/// First port of the control device's 32-bit command and status register.
const CONTROL: u16 = ports::CONTROL;
/// Its number of ports.
const CONTROL_PORTS: u16 = 4;
/// The control device's label port, one byte wide.
const CONTROL_LABEL: u16 = ports::CONTROL_LABEL;
/// What an absent port reads.
const ABSENT: u8 = 0xFF;

/// All port devices of the machine.
#[derive(Debug)]
pub struct Devices {
    console: Console<Serial>,
    debug_console: DebugConsole,
    fw_cfg: FwCfg,
    control: Control,
    program: ProgramPort,
    pit: Pit,
    power: Power,
    ioapic: IoApic,
    test: TestDevice,
    unknown: UnknownPorts,
    now: GuestTime,
}

/// The saved state of [`Devices`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DevicesState {
    serial: serial::UartState,
    fw_cfg: FwCfg,
    control: Control,
    program: ProgramPort,
    pit: Pit,
    power: Power,
    ioapic: IoApic,
    test: TestDevice,
    unknown: UnknownPorts,
    now: GuestTime,
}

impl Devices {
    /// Devices with `console` behind COM1 and `debug_console` behind port 0xE9. Both may be clones of
    /// one [`Capture`](crate::devices::Capture).
    #[must_use]
    pub fn new(console: Output, debug_console: Output, fw_cfg: FwCfg) -> Self {
        Self {
            console: Console::new(Serial::new(console)),
            debug_console: DebugConsole::new(debug_console),
            fw_cfg,
            control: Control::default(),
            program: ProgramPort::default(),
            pit: Pit::default(),
            power: Power::default(),
            ioapic: IoApic::default(),
            test: TestDevice::default(),
            unknown: UnknownPorts::default(),
            now: GuestTime::default(),
        }
    }

    /// Guest time is now `now`.
    pub fn advance(&mut self, now: GuestTime) {
        self.now = now;
    }

    /// The next interrupt message for the local APIC, after the devices' lines have been looked at.
    pub fn take_interrupt(&mut self) -> Option<InterruptMessage> {
        self.ioapic.set_line(usize::from(serial::IRQ), self.console.uart.interrupt());
        self.ioapic.take_message()
    }

    /// The I/O APIC, for its register page and the end of level-triggered interrupts.
    pub fn ioapic_mut(&mut self) -> &mut IoApic {
        &mut self.ioapic
    }

    /// The test device, for its memory.
    pub fn test_mut(&mut self) -> &mut TestDevice {
        &mut self.test
    }

    /// Takes a copy of everything that the guest can notice.
    #[must_use]
    pub fn save(&self) -> DevicesState {
        // Without `..`: a new device has to be saved too.
        // The debug console's output and the console's input come from outside.
        let Self {
            console,
            debug_console: _,
            fw_cfg,
            control,
            program,
            pit,
            power,
            ioapic,
            test,
            unknown,
            now,
        } = self;
        DevicesState {
            serial: console.uart.save(),
            fw_cfg: fw_cfg.clone(),
            control: control.clone(),
            program: program.clone(),
            pit: pit.clone(),
            power: power.clone(),
            ioapic: ioapic.clone(),
            test: test.clone(),
            unknown: unknown.clone(),
            now: *now,
        }
    }

    /// Devices in a saved state, with the consoles of [`new`](Self::new); `None` if no guest could have brought
    /// them there.
    #[must_use]
    pub fn resume(console: Output, debug_console: Output, saved: &DevicesState) -> Option<Self> {
        Some(Self {
            console: Console::new(Serial::resume(console, &saved.serial)?),
            debug_console: DebugConsole::new(debug_console),
            fw_cfg: saved.fw_cfg.clone(),
            control: saved.control.clone(),
            program: saved.program.clone(),
            pit: saved.pit.clone(),
            power: saved.power.clone(),
            ioapic: saved.ioapic.clone(),
            test: TestDevice::resume(&saved.test)?,
            unknown: saved.unknown.clone(),
            now: saved.now,
        })
    }

    /// The serial port and its input.
    pub fn console(&self) -> &Console<Serial> {
        &self.console
    }

    /// The serial port, to pass on input.
    pub fn console_mut(&mut self) -> &mut Console<Serial> {
        &mut self.console
    }

    /// The debug console, for lost bytes.
    pub fn debug_console(&self) -> &DebugConsole {
        &self.debug_console
    }

    /// fw_cfg, to add files before the guest runs.
    pub fn fw_cfg_mut(&mut self) -> &mut FwCfg {
        &mut self.fw_cfg
    }

    /// Ports that the guest touched and no device answered.
    pub fn unknown_ports(&self) -> &UnknownPorts {
        &self.unknown
    }

    /// The machine carried out the last [`Effect::SaveRestore`]; the guest reads the result.
    pub fn control_done(&mut self, success: bool) {
        self.control.done(success);
    }

    /// The answer to the last [`Effect::Program`].
    pub fn answer_program(&mut self, length: u32) {
        self.program.set_length(length);
    }

    /// IN of `data.len()` bytes (1, 2 or 4; other lengths do no harm). One call per element of string
    /// input.
    pub fn read_port(&mut self, port: u16, data: &mut [u8]) {
        if port == CONTROL && data.len() == 4 {
            data.copy_from_slice(&self.control.status().to_le_bytes());
            return;
        }
        if port == ports::PROGRAM_LENGTH && data.len() == 4 {
            data.copy_from_slice(&self.program.length().to_le_bytes());
            return;
        }
        for (index, byte) in data.iter_mut().enumerate() {
            *byte = match nth_port(port, index) {
                Some(port) => self.read_byte(port),
                None => ABSENT,
            };
        }
    }

    /// OUT of `data.len()` bytes (1, 2 or 4; other lengths do no harm). One call per element of
    /// string output.
    pub fn write_port(&mut self, port: u16, data: &[u8]) -> Effect {
        if in_range(port, EXIT, EXIT_PORTS) && !data.is_empty() {
            return Effect::Exit { status: exit_status(data) };
        }
        if let (FW_CFG_SELECTOR, Ok(key)) = (port, data.try_into()) {
            self.fw_cfg.select(u16::from_le_bytes(key));
            return Effect::None;
        }
        if let (CONTROL, Ok(command)) = (port, data.try_into()) {
            return self.control.command(u32::from_le_bytes(command)).into();
        }
        if let (ports::PROGRAM, Ok(command)) = (port, data.try_into()) {
            return Effect::Program(self.program.command(u32::from_le_bytes(command)));
        }
        if let (ports::PROGRAM_LENGTH, Ok(length)) = (port, data.try_into()) {
            self.program.set_length(u32::from_le_bytes(length));
            return Effect::None;
        }
        // There is no PCI: its address register must not be taken for the ports under it.
        if (port, data.len()) == (PCI_ADDRESS, 4) {
            self.unknown.record_write(port);
            return Effect::None;
        }
        let mut effect = Effect::None;
        for (index, byte) in data.iter().enumerate() {
            let Some(port) = nth_port(port, index) else { break };
            let next = self.write_byte(port, *byte);
            if effect == Effect::None {
                effect = next;
            }
        }
        effect
    }

    fn read_byte(&mut self, port: u16) -> u8 {
        match port {
            DEBUGCON => debug_console::SIGNATURE,
            FW_CFG_SELECTOR | FW_CFG_DATA => self.fw_cfg.read(),
            _ if CMOS_PORTS.contains(&port) => 0,
            pit::CONTROL_B => self.pit.read_control_b(self.now),
            _ if in_range(port, pit::BASE, pit::PORTS) => self.pit.read(port - pit::BASE, self.now),
            KEYBOARD_COMMAND | POST_PORT => ABSENT,
            _ if PIC_PORTS.contains(&port) => ABSENT,
            _ if in_range(port, EXIT, EXIT_PORTS) => EXIT_READ,
            _ if in_range(port, testdev::DATA, testdev::DATA_PORTS) => {
                self.test.read_data(port - testdev::DATA)
            }
            _ if in_range(port, testdev::LINES, testdev::LINE_PORTS) => 0,
            _ if Power::owns(port) => self.power.read(port),
            // The status register has no narrow form.
            _ if in_range(port, CONTROL, CONTROL_PORTS) || port == CONTROL_LABEL => ABSENT,
            _ => match serial_register(port) {
                Some(register) => self.console.uart.read(register),
                None => {
                    self.unknown.record_read(port);
                    ABSENT
                }
            },
        }
    }

    fn write_byte(&mut self, port: u16, byte: u8) -> Effect {
        match port {
            DEBUGCON => self.debug_console.write(byte),
            CONTROL_LABEL => {
                return self.control.label_byte(byte).map_or(Effect::None, Effect::Label);
            }
            // fw_cfg is read-only.
            FW_CFG_SELECTOR | FW_CFG_DATA => {}
            _ if CMOS_PORTS.contains(&port) || PIC_PORTS.contains(&port) || port == POST_PORT => {}
            pit::CONTROL_B => self.pit.write_control_b(byte, self.now),
            _ if in_range(port, pit::BASE, pit::PORTS) => self.pit.write(port - pit::BASE, byte, self.now),
            KEYBOARD_COMMAND if byte == KEYBOARD_RESET => return Effect::Reset,
            RESET_CONTROL if byte & RESET_CPU != 0 => return Effect::Reset,
            KEYBOARD_COMMAND | RESET_CONTROL => {}
            _ if in_range(port, EXIT, EXIT_PORTS) => {
                return Effect::Exit { status: exit_status(&[byte]) };
            }
            _ if in_range(port, testdev::DATA, testdev::DATA_PORTS) => {
                self.test.write_data(port - testdev::DATA, byte);
            }
            _ if in_range(port, testdev::LINES, testdev::LINE_PORTS) => {
                self.ioapic.set_line(usize::from(port - testdev::LINES), byte != 0);
            }
            _ if Power::owns(port) => {
                return match self.power.write(port, byte) {
                    PowerEffect::None => Effect::None,
                    PowerEffect::PowerOff => Effect::PowerOff,
                    PowerEffect::Panicked => Effect::Panicked,
                };
            }
            // The command register has no narrow form.
            _ if in_range(port, CONTROL, CONTROL_PORTS) => {}
            _ => match serial_register(port) {
                Some(register) => self.console.uart.write(register, byte),
                None => self.unknown.record_write(port),
            },
        }
        Effect::None
    }
}

fn in_range(port: u16, base: u16, ports: u16) -> bool {
    port.checked_sub(base).is_some_and(|offset| offset < ports)
}

/// Port of byte `index` of an access at `port`; `None` past the last port.
fn nth_port(port: u16, index: usize) -> Option<u16> {
    port.checked_add(u16::try_from(index).ok()?)
}

fn serial_register(port: u16) -> Option<u8> {
    let register = port.checked_sub(serial::BASE).filter(|offset| *offset < serial::PORTS)?;
    u8::try_from(register).ok()
}
