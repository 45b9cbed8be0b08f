//! Each device as a QEMU user expects it, and garbage.

use std::io::{self, Write};

use guest_protocol::{control as protocol, files, ports};
use proptest::prelude::*;

use super::*;
use crate::devices::fw_cfg::key;
use crate::devices::{Capture, FwCfgError, Uart as _, control};

const COM1: u16 = ports::COM1;

struct Bench {
    devices: Devices,
    console: Capture,
    debug: Capture,
}

fn bench() -> Bench {
    let (console, debug) = (Capture::new(1000), Capture::new(1000));
    let mut fw_cfg = FwCfg::new(1, 512 << 20);
    fw_cfg.add_file(files::PROFILE, b"sapphire-rapids".to_vec()).unwrap();
    fw_cfg.add_file(files::COUNTS, b"model".to_vec()).unwrap();
    let devices = Devices::new(Box::new(console.clone()), Box::new(debug.clone()), fw_cfg);
    Bench { devices, console, debug }
}

impl Bench {
    fn inb(&mut self, port: u16) -> u8 {
        let mut data = [0xA5];
        self.devices.read_port(port, &mut data);
        data[0]
    }

    fn inl(&mut self, port: u16) -> u32 {
        let mut data = [0xA5; 4];
        self.devices.read_port(port, &mut data);
        u32::from_le_bytes(data)
    }

    fn outb(&mut self, port: u16, value: u8) {
        assert_eq!(self.devices.write_port(port, &[value]), Effect::None, "OUT {port:#x}");
    }

    fn outw(&mut self, port: u16, value: u16) {
        assert_eq!(self.devices.write_port(port, &value.to_le_bytes()), Effect::None);
    }

    fn item(&mut self, key: u16, length: usize) -> Vec<u8> {
        self.outw(ports::FW_CFG_SELECTOR, key);
        (0..length).map(|_| self.inb(ports::FW_CFG_DATA)).collect()
    }
}

#[test]
fn serial_prints_polled_output() {
    let mut bench = bench();
    // The initialization of kvm-unit-tests: divisor 1, 8n1, no FIFO, no interrupts.
    for (register, value) in [(3, 0x80), (0, 1), (1, 0), (3, 3), (2, 0), (4, 3), (1, 0)] {
        bench.outb(COM1 + register, value);
    }
    for byte in *b"hello\n" {
        assert_eq!(bench.inb(COM1 + 5) & 0x60, 0x60, "transmitter ready");
        bench.outb(COM1, byte);
    }
    assert_eq!(bench.console.text(), "hello\n");
    assert!(!bench.devices.console().uart.interrupt());
}

#[test]
fn serial_is_detected_as_16550a() {
    let mut bench = bench();
    bench.outb(COM1 + 1, 0x0F);
    assert_eq!(bench.inb(COM1 + 1), 0x0F);
    bench.outb(COM1 + 1, 0);
    bench.outb(COM1 + 2, 1);
    assert_eq!(bench.inb(COM1 + 2) >> 6, 3);
    bench.outb(COM1 + 7, 0x5A);
    assert_eq!(bench.inb(COM1 + 7), 0x5A);
}

#[test]
fn serial_interrupt_follows_its_conditions() {
    let mut bench = bench();
    bench.outb(COM1 + 1, 2);
    assert!(bench.devices.console().uart.interrupt(), "transmitter empty");
    assert_eq!(bench.inb(COM1 + 2) & 0xF, 2);
    assert!(!bench.devices.console().uart.interrupt(), "reading IIR acknowledges it");
    bench.outb(COM1, b'x');
    assert!(bench.devices.console().uart.interrupt(), "and the next byte is sent");
    bench.outb(COM1 + 1, 1);
    assert!(!bench.devices.console().uart.interrupt(), "disabled source");
    assert_eq!(bench.devices.console_mut().uart.enqueue(b"ab"), 2);
    assert!(bench.devices.console().uart.interrupt(), "data waits");
    assert_eq!((bench.inb(COM1 + 5) & 1, bench.inb(COM1)), (1, b'a'));
    assert!(bench.devices.console().uart.interrupt(), "one byte is left");
    bench.outb(COM1 + 1, 0);
    assert!(!bench.devices.console().uart.interrupt(), "a polling driver is left alone");
    assert_eq!(bench.inb(COM1), b'b');
    assert_eq!((bench.inb(COM1 + 5) & 1, bench.devices.console().uart.interrupt()), (0, false));
}

#[test]
fn serial_input_is_bounded() {
    let mut bench = bench();
    assert_eq!(bench.devices.console_mut().uart.enqueue(&[7; 100]), 64);
    assert_eq!(bench.devices.console_mut().uart.enqueue(&[7; 100]), 0);
    bench.inb(COM1);
    assert_eq!(bench.devices.console_mut().uart.enqueue(&[8; 100]), 1);
}

#[test]
fn broken_outputs_are_counted_and_the_guest_goes_on() {
    struct Broken;
    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut devices = Devices::new(Box::new(Broken), Box::new(Broken), FwCfg::new(1, 0));
    for port in [COM1, COM1, ports::DEBUGCON] {
        assert_eq!(devices.write_port(port, b"x"), Effect::None);
    }
    assert_eq!((devices.console().uart.lost(), devices.debug_console().lost()), (2, 1));
}

#[test]
fn debug_console_prints_and_identifies_itself() {
    let mut bench = bench();
    for byte in *b"boot" {
        bench.outb(ports::DEBUGCON, byte);
    }
    assert_eq!((bench.debug.text().as_str(), bench.inb(ports::DEBUGCON)), ("boot", 0xE9));
    assert_eq!(bench.console.text(), "");
}

#[test]
fn exit_port_gives_the_status_of_qemu() {
    // Bytes written, process status: QEMU calls exit((value << 1) | 1).
    let table: [(&[u8], u8); 6] = [
        (&[0], 1),
        (&[1], 3),
        (&[0x10, 0], 33),
        (&[2, 0, 0, 0], 5),
        (&[0x80, 0, 0, 0], 1),
        (&[0, 1, 0, 0], 1),
    ];
    for (data, status) in table {
        assert_eq!(bench().devices.write_port(ports::EXIT, data), Effect::Exit { status }, "{data:x?}");
    }
    assert_eq!(bench().devices.write_port(ports::EXIT + 3, &[1]), Effect::Exit { status: 3 });
    assert_eq!(bench().devices.write_port(ports::EXIT - 2, &[9, 9, 1, 7]), Effect::Exit { status: 3 });
    assert_eq!(bench().inl(ports::EXIT), 0);
}

#[test]
fn fw_cfg_answers_the_numeric_keys() {
    let mut bench = bench();
    assert_eq!(bench.item(key::SIGNATURE, 4), b"QEMU");
    assert_eq!(bench.item(key::ID, 4), [1, 0, 0, 0], "ports only, no DMA");
    assert_eq!(bench.item(key::NB_CPUS, 2), [1, 0]);
    assert_eq!(bench.item(key::MAX_CPUS, 2), [1, 0]);
    assert_eq!(bench.item(key::RAM_SIZE, 8), (512_u64 << 20).to_le_bytes());
    assert_eq!(bench.item(0x11, 8), [0; 8], "unknown keys read 0: no RAM limit");
    assert_eq!(bench.item(0x8000, 4), [0; 4], "no architecture-specific items");
    assert_eq!(bench.item(0x4000 | key::SIGNATURE, 4), b"QEMU", "the write channel bit is ignored");
}

#[test]
fn fw_cfg_data_ends_in_zeros_and_restarts_on_select() {
    let mut bench = bench();
    assert_eq!(bench.item(key::SIGNATURE, 6), b"QEMU\0\0");
    assert_eq!(bench.item(key::SIGNATURE, 2), b"QE");
    assert_eq!(bench.inb(ports::FW_CFG_DATA), b'M');
    bench.outb(ports::FW_CFG_DATA, 0x55);
    assert_eq!(bench.inb(ports::FW_CFG_DATA), b'U', "writes have no effect");
}

#[test]
fn fw_cfg_wide_input_is_one_byte_per_port() {
    let mut bench = bench();
    bench.outw(ports::FW_CFG_SELECTOR, key::SIGNATURE);
    assert_eq!(bench.inl(ports::FW_CFG_DATA), 0xFFFF_FF00 | u32::from(b'Q'));
    assert_eq!(bench.inb(ports::FW_CFG_DATA), b'E');
}

#[test]
fn fw_cfg_directory_lists_files_by_name() {
    let mut bench = bench();
    let directory = bench.item(key::FILE_DIR, 4 + 2 * 64);
    assert_eq!(directory[..4], 2_u32.to_be_bytes());
    let expected: [(&str, &[u8]); 2] = [(files::COUNTS, b"model"), (files::PROFILE, b"sapphire-rapids")];
    for (index, (name, content)) in expected.into_iter().enumerate() {
        let entry = &directory[4 + index * 64..][..64];
        assert_eq!(entry[..4], (content.len() as u32).to_be_bytes());
        let key = u16::from_be_bytes([entry[4], entry[5]]);
        assert_eq!(entry[8..].split(|byte| *byte == 0).next(), Some(name.as_bytes()));
        assert_eq!(bench.item(key, content.len() + 1), [content, &[0]].concat());
    }
}

#[test]
fn fw_cfg_refuses_what_the_directory_cannot_hold() {
    let mut fw_cfg = FwCfg::new(1, 0);
    for bad in ["", "a\0b", &"x".repeat(56)] {
        assert_eq!(fw_cfg.add_file(bad, vec![]), Err(FwCfgError::Name(bad.to_owned())));
    }
    fw_cfg.add_file(&"x".repeat(55), vec![]).unwrap();
    assert!(matches!(fw_cfg.add_file(&"x".repeat(55), vec![]), Err(FwCfgError::Duplicate(_))));
    for index in 1..32 {
        fw_cfg.add_file(&format!("opt/{index}"), vec![]).unwrap();
    }
    let error = fw_cfg.add_file("opt/last", vec![]).unwrap_err();
    assert_eq!(error.to_string(), "fw_cfg holds at most 32 files; opt/last is one too many");
}

#[test]
fn fw_cfg_publishes_the_command_line() {
    let mut bench = bench();
    bench.devices.fw_cfg_mut().set_command_line("console=ttyS0");
    assert_eq!(bench.item(key::CMDLINE_SIZE, 4), [14, 0, 0, 0]);
    assert_eq!(bench.item(key::CMDLINE_DATA, 14), b"console=ttyS0\0");
}

#[test]
fn control_port_hands_save_restore_to_the_machine() {
    let mut bench = bench();
    assert_eq!(bench.inl(ports::CONTROL), protocol::STATUS_OK);
    let command = protocol::SAVE_RESTORE.to_le_bytes();
    for (success, status) in [(true, protocol::STATUS_OK), (false, protocol::STATUS_FAILED)] {
        assert_eq!(bench.devices.write_port(ports::CONTROL, &command), Effect::SaveRestore);
        assert_eq!(bench.inl(ports::CONTROL), protocol::STATUS_FAILED, "not carried out yet");
        bench.devices.control_done(success);
        assert_eq!(bench.inl(ports::CONTROL), status);
    }
    assert_eq!(bench.devices.write_port(ports::CONTROL, &[77, 0, 0, 0]), Effect::None);
    assert_eq!(bench.inl(ports::CONTROL), protocol::STATUS_UNKNOWN);
    bench.outb(ports::CONTROL, 1);
    assert_eq!((bench.inl(ports::CONTROL), bench.inb(ports::CONTROL)), (protocol::STATUS_UNKNOWN, 0xFF));
}

#[test]
fn labels_are_ended_by_zero_and_bounded() {
    let mut bench = bench();
    let mut send = |text: &[u8]| {
        text.iter().for_each(|byte| bench.outb(ports::CONTROL_LABEL, *byte));
        bench.devices.write_port(ports::CONTROL_LABEL, &[0])
    };
    assert_eq!(send(b"sum of squares"), Effect::Label("sum of squares".into()));
    assert_eq!(send(b""), Effect::Label(String::new()));
    assert_eq!(send(&[b'x'; 5000]), Effect::Label("x".repeat(control::MAX_LABEL)));
    assert_eq!(send(&[b'a', 0xFF]), Effect::Label("a\u{FFFD}".into()));
}

#[test]
fn legacy_ports_do_what_a_kernel_without_them_needs() {
    let mut bench = bench();
    for port in [0x20, 0x21, 0xA0, 0xA1, 0x70, 0x71, 0x80] {
        bench.outb(port, 0x0B);
    }
    assert_eq!((bench.inb(0x70), bench.inb(0x71)), (0, 0), "no update in progress, ever");
    assert_eq!((bench.inb(0x21), bench.inb(0xA1), bench.inb(0x80)), (0xFF, 0xFF, 0xFF));
    assert_eq!(bench.devices.unknown_ports().iter().count(), 0, "these are known");
}

#[test]
fn unknown_ports_read_ones_and_are_counted_up_to_a_bound() {
    let mut bench = bench();
    assert_eq!(bench.inl(0xCF8), u32::MAX);
    bench.outb(0xCF8, 1);
    let seen: Vec<_> = bench.devices.unknown_ports().iter().collect();
    assert_eq!(seen[0], (0xCF8, PortAccesses { reads: 1, writes: 1 }));
    assert_eq!((seen.len(), seen[3]), (4, (0xCFB, PortAccesses { reads: 1, writes: 0 })));
    for port in 0x3000..0x4000 {
        bench.inb(port);
    }
    assert_eq!(bench.devices.unknown_ports().iter().count(), UnknownPorts::CAPACITY);
    let others = 0x1000 + 4 - UnknownPorts::CAPACITY as u64;
    assert_eq!(bench.devices.unknown_ports().others(), PortAccesses { reads: others, writes: 0 });
    assert_eq!(bench.inl(0xFFFE), u32::MAX, "no wrap to port 0");
}

#[test]
fn capture_keeps_the_end_and_says_how_much_is_missing() {
    let mut capture = Capture::new(8);
    capture.write_all(b"12345").unwrap();
    capture.write_all(b"6789ab").unwrap();
    assert_eq!((capture.text().as_str(), capture.dropped()), ("456789ab", 3));
    capture.write_all(b"a much longer line").unwrap();
    assert_eq!((capture.text().as_str(), capture.dropped()), ("ger line", 21));
    assert_eq!((capture.take(), capture.bytes()), (b"ger line".to_vec(), vec![]));
    let mut nothing = Capture::new(0);
    nothing.write_all(b"abc").unwrap();
    assert_eq!((nothing.text().as_str(), nothing.dropped()), ("", 3));
}

proptest! {
    /// Whatever a guest does with ports: no panic, bounded memory, labels bounded.
    #[test]
    fn random_port_access_is_harmless(
        accesses in prop::collection::vec(
            (
                any::<bool>(),
                prop_oneof![
                    Just(COM1), COM1..COM1 + 8, 0xE0_u16..0x100, 0x50C_u16..0x518,
                    Just(ports::CONTROL), 0x5EC_u16..0x5F8, any::<u16>()
                ],
                prop::collection::vec(any::<u8>(), 0..9),
            ),
            1..400,
        )
    ) {
        let mut bench = bench();
        for (write, port, mut data) in accesses {
            if write {
                match bench.devices.write_port(port, &data) {
                    Effect::Exit { status } => prop_assert_eq!(status & 1, 1),
                    // A byte of the guest becomes at most one three-byte U+FFFD.
                    Effect::Label(label) => prop_assert!(label.len() <= 3 * control::MAX_LABEL),
                    Effect::None
                    | Effect::Reset
                    | Effect::SaveRestore
                    | Effect::Program(_)
                    | Effect::IntervalBegin
                    | Effect::PowerOff
                    | Effect::Panicked
                    | Effect::IntervalEnd => {}
                }
            } else {
                bench.devices.read_port(port, &mut data);
            }
            prop_assert!(bench.console.bytes().len() <= 1000);
            prop_assert!(bench.devices.unknown_ports().iter().count() <= UnknownPorts::CAPACITY);
            prop_assert!(bench.devices.console_mut().uart.enqueue(&[0; 100]) <= 64);
        }
    }
}

#[test]
fn the_test_device_remembers_and_drives_interrupt_lines() {
    let mut bench = bench();
    assert_eq!(bench.devices.write_port(testdev::DATA, &0x1234_5678_u32.to_le_bytes()), Effect::None);
    bench.outb(testdev::DATA + 1, 0xAB);
    assert_eq!(bench.inl(testdev::DATA), 0x1234_AB78);
    // Pin 14 edge-triggered to vector 0x76.
    for (register, value) in [(0x2C_u8, 0x76_u32), (0x2D, 0)] {
        bench.devices.ioapic_mut().write(0, &[register]);
        bench.devices.ioapic_mut().write(0x10, &value.to_le_bytes());
    }
    bench.outb(testdev::LINES + 14, 1);
    assert_eq!(bench.devices.take_interrupt().map(|message| message.vector), Some(0x76));
    bench.outb(testdev::LINES + 14, 1);
    assert_eq!(bench.devices.take_interrupt(), None, "no edge");
    bench.outb(testdev::LINES + 14, 0);
    bench.outb(testdev::LINES + 14, 1);
    assert!(bench.devices.take_interrupt().is_some());
}

#[test]
fn the_test_devices_memory_ends_where_it_should() {
    assert_eq!(TestDevice::memory_offset(testdev::MEMORY - 1), None);
    assert_eq!(TestDevice::memory_offset(testdev::MEMORY + 0x1_0000), None);
    let mut bench = bench();
    let memory = bench.devices.test_mut();
    let offset = TestDevice::memory_offset(testdev::MEMORY + 0xFFFE).unwrap();
    memory.write(offset, &[1, 2, 3, 4]);
    memory.write(0x10, &[5, 6]);
    let mut read = [0; 4];
    memory.read(offset, &mut read);
    assert_eq!(read, [1, 2, 0xFF, 0xFF]);
    memory.read(0xF, &mut read);
    assert_eq!(read, [0, 5, 6, 0]);
    let mut saved = bench.devices.save();
    let resumed = |saved: &DevicesState| Devices::resume(Box::new(io::sink()), Box::new(io::sink()), saved);
    let mut again = resumed(&saved).unwrap();
    again.test_mut().read(offset, &mut read);
    assert_eq!(read[..2], [1, 2]);
    let json = serde_json::to_string(&saved.test).unwrap().replace("\"memory\":[", "\"memory\":[0,");
    saved.test = serde_json::from_str(&json).unwrap();
    assert!(resumed(&saved).is_none(), "one byte too many");
}

#[test]
fn acpi_sleep_state_s5_switches_off_and_others_do_not() {
    let mut bench = bench();
    let mut data = [0; 2];
    bench.devices.read_port(power::CONTROL, &mut data);
    assert_eq!(u16::from_le_bytes(data), 1, "ACPI mode is on");
    // SLP_TYP 1 with SLP_EN, then SLP_TYP of S5 alone, then both.
    bench.outw(power::CONTROL, 1 << 13 | 1 << 10);
    bench.outw(power::CONTROL, u16::from(power::S5) << 10);
    let off = (1_u16 << 13 | u16::from(power::S5) << 10).to_le_bytes();
    assert_eq!(bench.devices.write_port(power::CONTROL, &off), Effect::PowerOff);
}

#[test]
fn acpi_event_enables_read_back_and_no_event_is_pending() {
    let mut bench = bench();
    bench.outw(power::EVENT, 0xFFFF);
    bench.outw(power::EVENT + 2, 0x0120);
    assert_eq!(bench.inl(power::EVENT), 0x0120_0000);
}

#[test]
fn pvpanic_offers_the_panic_event_and_reports_it() {
    let mut bench = bench();
    assert_eq!(bench.inb(power::PANIC), 1);
    bench.outb(power::PANIC, 2);
    assert_eq!(bench.devices.write_port(power::PANIC, &[1]), Effect::Panicked);
}
