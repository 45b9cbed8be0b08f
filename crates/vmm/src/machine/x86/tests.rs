//! The way of a PMI from an overflow to the local APIC.

use super::*;
use crate::machine::pmu::PmuDevice;
use crate::machine::pmu::tests::Script;
use guest_protocol::{control, ports};
use platform::devices::FwCfg;
use platform::memory::{GuestMemory, MemoryConfig};
use platform::x86::apic::{ApicConfig, spec};
use platform::x86::memory::LAYOUT;
use std::io;
use vpmu::event::Event;
use vpmu::pmu::RdpmcContext;
use vpmu::profile::ICELAKE_SP;

const SVR: u64 = 0xF0;
const LVTPC: u64 = 0x340;
const DELIVER_NMI: u32 = 0x400;

/// A machine whose fixed counter 0 has just overflowed, and nothing has noticed; LVTPC asks for an NMI.
fn overflown() -> Machine<Pc> {
    let memory = GuestMemory::new(MemoryConfig { size_mib: 4 }, &LAYOUT).expect("4 MiB of guest memory");
    let devices = Devices::new(Box::new(io::sink()), Box::new(io::sink()), FwCfg::new(1, 4 << 20));
    let apic = LocalApic::new(ApicConfig::default()).expect("a valid APIC");
    let script = Script::default();
    let pmu = PmuDevice::new(ICELAKE_SP, Box::new(script.clone()), None);
    let mut machine = Machine::new(memory, Pc::new(devices, apic, ICELAKE_SP.tsc_hz), pmu);
    for (offset, value) in [(SVR, 0x1FF), (LVTPC, DELIVER_NMI)] {
        machine.mmio_write(spec::DEFAULT_BASE + offset, &u32::to_le_bytes(value));
    }
    // FIXED_CTR0 in both rings with a PMI, one instruction before its overflow.
    for (msr, value) in [(0x38F, 0), (0x38D, 0xB), (0x309, (1 << 48) - 1), (0x38F, 1 << 32)] {
        machine.wrmsr(msr, value, None).expect("a legal value");
    }
    script.user(Event::InstRetiredAny, 1);
    assert!(!machine.board.apic.pending().any(), "nothing has looked yet");
    machine
}

/// Whatever notices the overflow, the guest gets its NMI, and once.
#[test]
fn every_way_to_notice_an_overflow_delivers_the_pmi() {
    type Notice = fn(&mut Machine<Pc>);
    let ways: [(&str, Notice); 7] = [
        ("RDMSR", |machine| assert_eq!(machine.rdmsr(0x309, None), Ok(0))),
        ("WRMSR", |machine| assert_eq!(machine.wrmsr(0x186, 0, None), Ok(()))),
        ("WRMSR of GLOBAL_CTRL", |machine| assert_eq!(machine.wrmsr(0x38F, 0, None), Ok(()))),
        ("RDPMC", |machine| assert_eq!(machine.rdpmc(0x4000_0000, RdpmcContext::RING0, None), Ok(0))),
        ("a deadline", Machine::poll_pmu),
        ("saving", |machine| drop(machine.save())),
        ("saving and restoring", |machine| {
            machine.port_out(ports::CONTROL, &control::SAVE_RESTORE.to_le_bytes());
        }),
    ];
    for (way, notice) in ways {
        let mut machine = overflown();
        notice(&mut machine);
        assert!(machine.board.apic.take_nmi(), "{way}");
        machine.poll_pmu();
        assert!(!machine.board.apic.take_nmi(), "{way}: a second one");
        assert_eq!(machine.pmu.stats().pmis, 1, "{way}");
    }
}
