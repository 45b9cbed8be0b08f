//! A guest that counts with PMIs through an NMI handler and prints; cut at many points.

use super::*;
use crate::counts::model::ModelSource;
use crate::engine::soft::x86::SoftEngine;
use crate::engine::{Engine, RunLimits};
use crate::machine::Outcome;
use crate::machine::pmu::PmuDevice;
use crate::machine::pmu::trace::Tracer;
use crate::machine::x86::Pc;
use crate::test_code::wrmsr;
use platform::devices::{Capture, FwCfg};
use platform::loader::x86::BootState;
use platform::memory::MemoryConfig;
use platform::x86::apic::{ApicConfig, LocalApic};
use platform::x86::devices::Devices;
use platform::x86::memory::LAYOUT;
use proptest::prelude::*;
use std::sync::OnceLock;
use std::time::Duration;
use vpmu::profile::{ICELAKE_SP, SAPPHIRE_RAPIDS};

const CODE: u32 = 0x1000;
const HANDLER: u32 = 0x2000;
const IDT: u32 = 0x3000;
const GDT: u32 = 0x4000;
const SIZE_MIB: u64 = 4;

/// Fixed counter 0 overflows every 97 instructions; the NMI handler re-arms it, prints and counts in EDI.
fn program() -> (Vec<u8>, Vec<u8>) {
    const NMI_ON_PMI: u64 = 0x400;
    let mut main = vec![0xBC, 0, 0x80, 0, 0]; //    mov esp, 0x8000
    main.extend([0x31, 0xFF]); //                   xor edi, edi
    main.extend([0x68, 0, 0x30, 0, 0]); //          push IDT (base)
    main.extend([0x66, 0x68, 0xFF, 0x07]); //       push word 0x7ff
    main.extend([0x0F, 0x01, 0x1C, 0x24]); //       lidt [esp]
    main.extend([0x68, 0, 0x40, 0, 0]); //          push GDT (base)
    main.extend([0x66, 0x68, 0x17, 0]); //          push word 23
    main.extend([0x0F, 0x01, 0x14, 0x24]); //       lgdt [esp]
    main.extend(wrmsr(0x1B, 0xFEE0_0D00)); //       x2APIC
    main.extend(wrmsr(0x80F, 0x1FF));
    main.extend(wrmsr(0x834, NMI_ON_PMI));
    main.extend(wrmsr(0x309, (1 << 48) - 97));
    main.extend(wrmsr(0x38D, 0xB));
    main.extend(wrmsr(0x38F, 1 << 32));
    main.push(0x46); //                        1:   inc esi
    main.extend([0x89, 0x35, 0, 0x50, 0, 0]); //    mov [0x5000], esi
    main.extend([0x83, 0xFF, 8]); //                cmp edi, 8
    main.extend([0x72, 0xF4]); //                   jb 1b
    main.extend(wrmsr(0x38F, 0));
    main.extend([0xB9, 0x09, 0x03, 0, 0]); //       mov ecx, 0x309
    main.extend([0x0F, 0x32]); //                   rdmsr
    main.extend([0x31, 0xC0, 0xE6, 0xF4]); //       xor eax, eax; out 0xf4, al
    let mut handler = wrmsr(0x390, 1 << 32);
    handler.extend(wrmsr(0x309, (1 << 48) - 97));
    handler.extend(wrmsr(0x834, NMI_ON_PMI));
    handler.extend([0x8D, 0x47, 0x41]); //          lea eax, [edi + 'A']
    handler.extend([0x66, 0xBA, 0xF8, 0x03, 0xEE]); // mov dx, 0x3f8; out dx, al
    handler.extend([0x47, 0xCF]); //                inc edi; iret
    (main, handler)
}

/// What the snapshots say that they are of.
fn kernel() -> Booted {
    Booted { image: "test".to_owned(), linux: true }
}

struct Guest {
    engine: SoftEngine,
    machine: Machine<Pc>,
    console: Capture,
    trace: Capture,
}

fn parts(devices: impl FnOnce(Capture) -> Devices) -> Guest {
    let memory =
        GuestMemory::new(MemoryConfig { size_mib: SIZE_MIB }, &LAYOUT).expect("4 MiB of guest memory");
    let engine = SoftEngine::new(&memory, &ICELAKE_SP);
    let source = Box::new(ModelSource::new(&ICELAKE_SP, engine.retired()));
    let (console, trace) = (Capture::new(1 << 16), Capture::new(1 << 20));
    let pmu = PmuDevice::new(ICELAKE_SP, source, Some(Tracer::new(Box::new(trace.clone()))));
    let apic = LocalApic::new(ApicConfig::default()).expect("a valid APIC");
    let machine = Machine::new(memory, Pc::new(devices(console.clone()), apic, engine.tsc_hz()), pmu);
    Guest { engine, machine, console, trace }
}

fn booted() -> Guest {
    let fw_cfg = FwCfg::new(1, SIZE_MIB << 20);
    let mut guest = parts(|console| Devices::new(Box::new(console), Box::new(std::io::sink()), fw_cfg));
    let (main, handler) = program();
    let put = |address: u32, bytes: &[u8]| guest.machine.memory.write(address.into(), bytes).expect("RAM");
    put(CODE, &main);
    put(HANDLER, &handler);
    put(GDT + 8, &0x00CF_9B00_0000_FFFF_u64.to_le_bytes());
    put(GDT + 16, &0x00CF_9300_0000_FFFF_u64.to_le_bytes());
    put(IDT + 16, &(u64::from(HANDLER) | 8 << 16 | 0x8E00 << 32).to_le_bytes());
    guest.engine.boot(&BootState::flat(CODE)).expect("a valid state");
    guest
}

fn resumed(snapshot: &Snapshot) -> Result<Guest, SnapshotError> {
    let mut guest = parts(|console| {
        let sink = Box::new(std::io::sink());
        let BoardState::X86(saved) = snapshot.board() else { panic!("an x86 machine") };
        Devices::resume(Box::new(console), sink, &saved.devices).expect("devices of a real machine")
    });
    snapshot.fill(&guest.machine.memory)?;
    snapshot.resume(&mut guest.engine, &mut guest.machine)?;
    Ok(guest)
}

const LIMITS: RunLimits = RunLimits { timeout: Duration::from_secs(20) };

/// Everything that a user sees at the end.
#[derive(Debug, PartialEq)]
struct Seen {
    console: String,
    trace: String,
    registers: String,
    counted: Vec<String>,
    windows: String,
    stats: String,
}

impl Guest {
    fn finish(&mut self) -> Seen {
        let outcome = self.engine.run(&mut self.machine, LIMITS).expect("the engine does not fail");
        assert_eq!(outcome, Outcome::Exit { status: 1 });
        self.machine.pmu.finish_trace().expect("the trace goes to memory");
        Seen {
            console: self.console.text(),
            trace: self.trace.text(),
            registers: format!("{:x?}", self.engine.registers(&self.machine)),
            counted: self.machine.pmu.ledger().entries().map(|entry| format!("{entry:?}")).collect(),
            windows: serde_json::to_string(self.machine.pmu.windows()).expect("JSON"),
            stats: format!("{:?} {:?}", self.machine.pmu.stats(), self.machine.now()),
        }
    }

    /// Stops after `at` instructions; false if the run ends before.
    fn run_to(&mut self, at: u64) -> bool {
        self.engine.run_until(&mut self.machine, LIMITS, at).is_none()
    }

    fn snapshot(&mut self) -> Snapshot {
        let state = self.engine.save();
        Snapshot::take(state, &mut self.machine, &kernel()).expect("RAM is readable")
    }
}

#[test]
fn a_resumed_run_continues_byte_for_byte_from_anywhere() {
    let whole = booted().finish();
    assert_eq!(whole.console, "ABCDEFGH");
    let mut pending = 0;
    let mut at = 0;
    loop {
        let mut first = booted();
        if !first.run_to(at) {
            break;
        }
        let snapshot = first.snapshot();
        assert_eq!(snapshot.instructions(), at);
        pending += u32::from(first.machine.board.apic.pending().nmi);
        first.machine.pmu.finish_trace().expect("the trace goes to memory");
        let (console, trace) = (first.console.text(), first.trace.text());
        let read = Snapshot::from_bytes(&snapshot.to_bytes().expect("JSON")).expect("what was written");
        assert_eq!(read.booted(), &kernel());
        let mut rest = resumed(&read).expect("a state of this machine").finish();
        rest.console.insert_str(0, &console);
        rest.trace.insert_str(0, &trace);
        assert_eq!(rest, whole, "cut after {at}");
        // The run from which the snapshot was taken goes on the same way.
        if at % 16 == 0 {
            assert_eq!(first.finish(), whole, "taken after {at}");
        }
        at += 1;
    }
    assert!(at > 700, "{at} instructions");
    assert!(pending >= 8, "{pending} cuts with a PMI pending");
}

/// A good file.
fn bytes() -> Vec<u8> {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    let make = || {
        let mut guest = booted();
        assert!(guest.run_to(200));
        guest.snapshot().to_bytes().expect("JSON")
    };
    BYTES.get_or_init(make).clone()
}

/// Makes the checksum right again.
fn seal(bytes: &mut [u8]) {
    let checksum = crc32fast::hash(&bytes[16..]);
    bytes[12..16].copy_from_slice(&checksum.to_le_bytes());
}

#[test]
fn foreign_files_are_told_apart() {
    let good = bytes();
    assert!(matches!(Snapshot::from_bytes(b"\x7FELF"), Err(SnapshotError::Magic)));
    let mut newer = good.clone();
    newer[8] = 99;
    assert!(matches!(Snapshot::from_bytes(&newer), Err(SnapshotError::Version(99))));
    let mut other = Snapshot::from_bytes(&good).expect("a good file");
    other.header.profile = SAPPHIRE_RAPIDS.name.to_string();
    let error = resumed(&other).err().expect("another profile");
    assert!(error.to_string().contains("sapphire-rapids"), "{error}");
    other.header.profile = "i486".to_owned();
    assert!(matches!(other.profile(), Err(SnapshotError::UnknownProfile(_))));
    let mut outside = Snapshot::from_bytes(&good).expect("a good file");
    outside.pages[0].0 = SIZE_MIB << 20;
    assert!(matches!(resumed(&outside), Err(SnapshotError::Memory(_))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn damaged_files_are_refused(position: prop::sample::Index, flip in 1..=255_u8, cut: bool) {
        let mut bytes = bytes();
        let position = position.index(bytes.len());
        if cut {
            bytes.truncate(position);
        } else {
            bytes[position] ^= flip;
        }
        prop_assert!(Snapshot::from_bytes(&bytes).is_err());
    }

    /// A forged header with a correct checksum gives an error or a machine, never a panic.
    #[test]
    fn forged_headers_do_no_harm(position: prop::sample::Index, digit in b'0'..=b'9', length in 1..12_usize) {
        let mut bytes = bytes();
        let header = u64::from_le_bytes(bytes[16..24].try_into().expect("eight bytes")) as usize;
        let position = 24 + position.index(header - length);
        bytes[position..position + length].fill(digit);
        seal(&mut bytes);
        if let Ok(snapshot) = Snapshot::from_bytes(&bytes)
            && let BoardState::X86(board) = snapshot.board()
            && Devices::resume(Box::new(std::io::sink()), Box::new(std::io::sink()), &board.devices).is_some()
            && let Ok(mut guest) = resumed(&snapshot)
        {
            let limits = RunLimits { timeout: Duration::from_millis(20) };
            guest.engine.run(&mut guest.machine, limits).expect("whatever the guest does is an outcome");
        }
    }
}
