//! Everything that a guest reaches by address and that is not the GIC.
//!
//! | address | device |
//! | --- | --- |
//! | 0x0900_0000 | PL011, the console ([`super::pl011`]) |
//! | 0x0902_0000 | fw_cfg, without DMA ([`crate::devices::fw_cfg`]) |
//! | 0x0A80_0000 | control device of our VMM ([`guest_protocol::mmio::control`]) |
//!
//! At other addresses there is nothing: an access ends in an external abort.

use super::pl011::{Pl011, Pl011State};
use crate::devices::control::Control;
use crate::devices::{Console, DebugConsole, Effect, FwCfg, Output, debug_console, exit_status};
use guest_protocol::mmio::{self, control};
use serde::{Deserialize, Serialize};

/// Bytes of each device's page.
const PAGE: u64 = 0x1000;
/// Offset of fw_cfg's selector.
const SELECTOR: u64 = mmio::FW_CFG_SELECTOR - mmio::FW_CFG_DATA;

/// A device's page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Uart(u64),
    FwCfg(u64),
    Control(u64),
}

impl Place {
    fn of(address: u64) -> Option<Self> {
        let offset = address % PAGE;
        match address - offset {
            mmio::PL011 => Some(Self::Uart(offset)),
            mmio::FW_CFG_DATA => Some(Self::FwCfg(offset)),
            control::BASE => Some(Self::Control(offset)),
            _ => None,
        }
    }
}

/// The devices.
#[derive(Debug)]
pub struct Devices {
    console: Console<Pl011>,
    debug_console: DebugConsole,
    fw_cfg: FwCfg,
    control: Control,
}

/// The saved state of [`Devices`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DevicesState {
    uart: Pl011State,
    fw_cfg: FwCfg,
    control: Control,
}

impl Devices {
    /// Devices with `console` behind the UART and `debug_console` behind the register of that name. Both may be clones
    /// of one [`Capture`](crate::devices::Capture).
    #[must_use]
    pub fn new(console: Output, debug_console: Output, fw_cfg: FwCfg) -> Self {
        Self {
            console: Console::new(Pl011::new(console)),
            debug_console: DebugConsole::new(debug_console),
            fw_cfg,
            control: Control::default(),
        }
    }

    /// Takes a copy of everything that the guest can notice.
    #[must_use]
    pub fn save(&self) -> DevicesState {
        // Without `..`: a new device has to be saved too.
        // The debug console's output and the console's input come from outside.
        let Self { console, debug_console: _, fw_cfg, control } = self;
        DevicesState { uart: console.uart.save(), fw_cfg: fw_cfg.clone(), control: control.clone() }
    }

    /// Devices in a saved state, with the consoles of [`new`](Self::new); `None` if no guest could have brought them
    /// there.
    #[must_use]
    pub fn resume(console: Output, debug_console: Output, saved: &DevicesState) -> Option<Self> {
        Some(Self {
            console: Console::new(Pl011::resume(console, &saved.uart)?),
            debug_console: DebugConsole::new(debug_console),
            fw_cfg: saved.fw_cfg.clone(),
            control: saved.control.clone(),
        })
    }

    /// The UART and its input.
    #[must_use]
    pub fn console(&self) -> &Console<Pl011> {
        &self.console
    }

    /// The UART, to pass on input.
    pub fn console_mut(&mut self) -> &mut Console<Pl011> {
        &mut self.console
    }

    /// The machine has carried out the last command; the guest reads the result.
    pub fn control_done(&mut self, success: bool) {
        self.control.done(success);
    }

    /// Reads from a device. False if there is none.
    pub fn read(&mut self, address: u64, data: &mut [u8]) -> bool {
        let Some(place) = Place::of(address) else { return false };
        data.fill(0);
        match (place, data) {
            (Place::Uart(offset), data) => self.console.uart.read(offset, data),
            // A read of any width takes as many bytes, in their order.
            (Place::FwCfg(0), data) => data.fill_with(|| self.fw_cfg.read()),
            (Place::Control(control::CONTROL), data @ [_, _, _, _]) => {
                data.copy_from_slice(&self.control.status().to_le_bytes());
            }
            (Place::Control(control::DEBUGCON), [signature, _, _, _]) => {
                *signature = debug_console::SIGNATURE;
            }
            (Place::FwCfg(_) | Place::Control(_), _) => {}
        }
        true
    }

    /// Writes to a device; says what it asks of the machine. `None` if there is none.
    pub fn write(&mut self, address: u64, data: &[u8]) -> Option<Effect> {
        let mut effect = Effect::None;
        match (Place::of(address)?, data) {
            (Place::Uart(offset), _) => self.console.uart.write(offset, data),
            // The only register that is big-endian.
            (Place::FwCfg(SELECTOR), &[high, low]) => self.fw_cfg.select(u16::from_be_bytes([high, low])),
            (Place::Control(offset), &[a, b, c, d]) => {
                let word = u32::from_le_bytes([a, b, c, d]);
                match offset {
                    control::EXIT => effect = Effect::Exit { status: exit_status(data) },
                    control::DEBUGCON => self.debug_console.write(a),
                    control::CONTROL => effect = self.control.command(word).into(),
                    control::LABEL => effect = self.control.label_byte(a).map_or(Effect::None, Effect::Label),
                    _ => {}
                }
            }
            (Place::FwCfg(_) | Place::Control(_), _) => {}
        }
        Some(effect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::Capture;
    use crate::devices::control::MAX_LABEL;
    use guest_protocol::{control as command, files};
    use proptest::prelude::*;

    fn devices() -> (Devices, Capture, Capture) {
        let (console, debug) = (Capture::new(1000), Capture::new(1000));
        let mut fw_cfg = FwCfg::new(1, 512 << 20);
        fw_cfg.add_file(files::PROFILE, b"falkor".to_vec()).unwrap();
        (Devices::new(Box::new(console.clone()), Box::new(debug.clone()), fw_cfg), console, debug)
    }

    fn word(devices: &mut Devices, address: u64) -> u32 {
        let mut data = [0xA5; 4];
        assert!(devices.read(address, &mut data));
        u32::from_le_bytes(data)
    }

    fn put(devices: &mut Devices, register: u64, value: u32) -> Effect {
        devices.write(control::BASE + register, &value.to_le_bytes()).unwrap()
    }

    #[test]
    fn fw_cfg_gives_files_in_any_width() {
        let (mut devices, ..) = devices();
        // The signature, key 0, in words and bytes; then the size of RAM, key 3.
        assert_eq!(devices.write(mmio::FW_CFG_SELECTOR, &[0, 0]), Some(Effect::None));
        assert_eq!(word(&mut devices, mmio::FW_CFG_DATA).to_le_bytes(), *b"QEMU");
        assert_eq!(word(&mut devices, mmio::FW_CFG_DATA), 0, "past its end");
        assert_eq!(devices.write(mmio::FW_CFG_SELECTOR, &[0, 3]), Some(Effect::None));
        let mut size = [0; 8];
        assert!(devices.read(mmio::FW_CFG_DATA, &mut size));
        assert_eq!(u64::from_le_bytes(size), 512 << 20);
        // The first file, in bytes.
        assert_eq!(devices.write(mmio::FW_CFG_SELECTOR, &[0, 0x20]), Some(Effect::None));
        let mut byte = || {
            let mut data = [0];
            assert!(devices.read(mmio::FW_CFG_DATA, &mut data));
            data[0]
        };
        assert_eq!([byte(), byte(), byte(), byte(), byte(), byte(), byte()], *b"falkor\0");
    }

    #[test]
    fn the_control_page_does_what_the_ports_of_the_pc_do() {
        let (mut devices, _, debug) = devices();
        for (value, status) in [(0, 1), (1, 3), (0x7F, 0xFF), (0x100, 1)] {
            assert_eq!(put(&mut devices, control::EXIT, value), Effect::Exit { status });
        }
        assert_eq!(word(&mut devices, control::BASE + control::EXIT), 0);
        assert_eq!(put(&mut devices, control::DEBUGCON, 0x1234_5641), Effect::None);
        assert_eq!(
            (debug.bytes(), word(&mut devices, control::BASE + control::DEBUGCON)),
            (b"A".to_vec(), 0xE9)
        );
        let status = |devices: &mut Devices| word(devices, control::BASE + control::CONTROL);
        assert_eq!(put(&mut devices, control::CONTROL, command::SAVE_RESTORE), Effect::SaveRestore);
        assert_eq!(status(&mut devices), command::STATUS_FAILED, "not reported yet");
        devices.control_done(true);
        assert_eq!(status(&mut devices), command::STATUS_OK);
        assert_eq!(put(&mut devices, control::CONTROL, 77), Effect::None);
        assert_eq!(status(&mut devices), command::STATUS_UNKNOWN);
        assert_eq!(put(&mut devices, control::CONTROL, command::INTERVAL_BEGIN), Effect::IntervalBegin);
        assert_eq!(put(&mut devices, control::CONTROL, command::INTERVAL_END), Effect::IntervalEnd);
        for byte in [b'x'; MAX_LABEL + 5] {
            assert_eq!(put(&mut devices, control::LABEL, byte.into()), Effect::None);
        }
        assert_eq!(put(&mut devices, control::LABEL, 0), Effect::Label("x".repeat(MAX_LABEL)));
    }

    #[test]
    fn other_widths_and_offsets_of_the_control_page_do_nothing() {
        let (mut devices, ..) = devices();
        for (offset, data) in [(0, &[1][..]), (0, &[1, 0]), (0, &[1; 8]), (1, &[1; 4]), (0x10, &[1; 4])] {
            assert_eq!(devices.write(control::BASE + offset, data), Some(Effect::None), "{offset} {data:?}");
        }
        let mut data = [0xA5; 8];
        assert!(devices.read(control::BASE + control::DEBUGCON, &mut data));
        assert_eq!(data, [0; 8]);
    }

    #[test]
    fn where_no_device_is_nothing_answers() {
        let (mut devices, ..) = devices();
        for address in [0, mmio::PL011 - 1, mmio::PL011 + PAGE, mmio::GICD, mmio::RAM, u64::MAX] {
            assert!(!devices.read(address, &mut [0; 4]), "{address:#x}");
            assert_eq!(devices.write(address, &[0; 4]), None, "{address:#x}");
        }
    }

    proptest! {
        #[test]
        fn garbage_does_no_harm(
            accesses in prop::collection::vec((0..3_usize, 0..0x50_u64, 1..9_usize, any::<u64>()), 0..60),
        ) {
            let (mut devices, ..) = devices();
            for (device, offset, len, value) in accesses {
                let address = [mmio::PL011, mmio::FW_CFG_DATA, control::BASE][device] + offset;
                if let Some(Effect::Label(label)) = devices.write(address, &value.to_le_bytes()[..len]) {
                    prop_assert!(label.len() <= 3 * MAX_LABEL);
                }
                prop_assert!(devices.read(address, &mut [0; 8][..len]));
            }
            let saved = serde_json::to_string(&devices.save()).unwrap();
            let (console, debug) = (Box::new(std::io::sink()), Box::new(std::io::sink()));
            let resumed = Devices::resume(console, debug, &serde_json::from_str(&saved).unwrap()).unwrap();
            prop_assert_eq!(serde_json::to_string(&resumed.save()).unwrap(), saved);
        }
    }
}
