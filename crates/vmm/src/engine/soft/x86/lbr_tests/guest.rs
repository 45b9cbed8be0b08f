//! Guests in 32-bit protected mode: a random program in ring 3, handlers of its interrupts in ring 0.

use super::Setting;
use super::oracle::Kind;
use crate::counts::model::ModelSource;
use crate::engine::soft::x86::SoftEngine;
use crate::engine::{Engine as _, RunLimits, Snapshots as _};
use crate::machine::pmu::PmuDevice;
use crate::machine::x86::Pc;
use crate::machine::{Machine, Outcome};
use crate::test_code::wrmsr;
use platform::devices::FwCfg;
use platform::loader::x86::BootState;
use platform::memory::{GuestMemory, MemoryConfig};
use platform::x86::apic::{ApicConfig, LocalApic};
use platform::x86::devices::Devices;
use platform::x86::memory::LAYOUT;
use std::io;
use std::time::Duration;
use vpmu::Profile;
use vpmu::profile::LbrKind;

const BOOT: u64 = 0x1000;
const GDT: u64 = 0x3000;
/// GDTR, then IDTR.
const POINTERS: u64 = 0x3100;
const TSS: u64 = 0x3200;
const IDT: u64 = 0x4000;
/// Where indirect branches through memory find their target.
const TARGET: u32 = 0x6000;
const RESULTS: u64 = 0x7000;
/// Handler of vector 0x81: the end.
const STOP: u64 = 0x1_0000;
/// Its WRMSR, behind three MOVs of five bytes.
pub(super) const DISABLE: u64 = STOP + 15;
/// Handler of vector 0x80.
const SERVICE: u64 = 0x1_8000;
/// Handler of #UD.
pub(super) const UD_HANDLER: u64 = 0x1_9000;
const PROGRAM: u64 = 0x2_0000;
const STACK_0: u32 = 0x8_0000;
const STACK_3: u32 = 0x9_0000;

const LIMITS: RunLimits = RunLimits { timeout: Duration::from_secs(60) };

/// Numbers that are the same on every machine (xorshift64*).
#[derive(Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

pub(super) fn is_arch(profile: &Profile) -> bool {
    matches!(profile.lbr, LbrKind::Architectural { .. })
}

/// Functions that call each other: a chain that leads to the end, and others that return.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) seed: u64,
    code: Vec<u8>,
    chain: usize,
}

/// A place that holds a function's address: relative to its own end, or absolute.
struct Fixup {
    at: usize,
    function: usize,
    relative: bool,
}

struct Writer {
    random: Random,
    code: Vec<u8>,
    fixups: Vec<Fixup>,
}

impl Program {
    /// Functions that return.
    const OTHERS: usize = 6;

    pub(super) fn random(seed: u64) -> Self {
        let random = Random::new(seed);
        let mut writer = Writer { random, code: Vec::new(), fixups: Vec::new() };
        // Every third chain is deeper than the records.
        let chain = 2 + writer.random.below(if seed.is_multiple_of(3) { 60 } else { 24 }) as usize;
        let mut starts = Vec::new();
        for function in 0..chain + Self::OTHERS {
            starts.push(writer.code.len());
            writer.function(function, chain);
        }
        for Fixup { at, function, relative } in writer.fixups {
            let base = if relative { at as i64 + 4 } else { -(PROGRAM as i64) };
            let value = (starts[function] as i64 - base) as u32;
            writer.code[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        Self { seed, code: writer.code, chain }
    }

    /// Calls that are open at the end: the first function of the chain is entered by IRET.
    pub(super) fn depth(&self) -> usize {
        self.chain - 1
    }
}

impl Writer {
    fn put(&mut self, bytes: &[u8]) {
        self.code.extend(bytes);
    }

    fn put32(&mut self, value: u32) {
        self.code.extend(value.to_le_bytes());
    }

    fn address(&mut self, function: usize, relative: bool) {
        self.fixups.push(Fixup { at: self.code.len(), function, relative });
        self.put32(0);
    }

    fn function(&mut self, function: usize, chain: usize) {
        let sites = self.random.below(5) + u64::from(function >= chain) * 2;
        for _ in 0..sites {
            // Only functions further down are called, so that every program ends.
            let first = (function + 1).max(chain);
            self.site((first < chain + Program::OTHERS).then_some((first, chain + Program::OTHERS)));
        }
        if function + 1 < chain {
            self.call(function + 1);
        } else if function + 1 == chain {
            self.put(&[0xCD, 0x81]); //                     int 0x81
        }
        if self.random.below(4) == 0 { self.put(&[0xC2, 0, 0]) } else { self.put(&[0xC3]) } // ret 0; ret
    }

    fn call(&mut self, function: usize) {
        match self.random.below(3) {
            0 => {
                self.put(&[0xE8]); //                       call function
                self.address(function, true);
            }
            1 => {
                self.put(&[0xB8]); //                       mov eax, function
                self.address(function, false);
                self.put(&[0xFF, 0xD0]); //                 call eax
            }
            _ => {
                self.put(&[0xC7, 0x05]); //                 mov dword [TARGET], function
                self.put32(TARGET);
                self.address(function, false);
                self.put(&[0xFF, 0x15]); //                 call [TARGET]
                self.put32(TARGET);
            }
        }
    }

    /// One to eight NOPs, to be jumped over.
    fn filler(&mut self) -> Vec<u8> {
        vec![0x90; 1 + self.random.below(8) as usize]
    }

    /// A branch, taken or not.
    fn site(&mut self, callees: Option<(usize, usize)>) {
        let filler = self.filler();
        let over = filler.len() as u8;
        let target = |writer: &Self, behind: usize| PROGRAM as u32 + (writer.code.len() + behind) as u32;
        match self.random.below(12) {
            0..=2 => {
                let (value, mask) = (self.random.next() as u32, self.random.next() as u32);
                let condition = self.random.below(16) as u8;
                self.put(&[0xB8]); //                       mov eax, value
                self.put32(value);
                self.put(&[0xA9]); //                       test eax, mask
                self.put32(mask);
                if self.random.below(2) == 0 {
                    self.put(&[0x70 | condition, over]); // jcc over
                } else {
                    self.put(&[0x0F, 0x80 | condition, over, 0, 0, 0]);
                }
            }
            3 => self.put(&[0xEB, over]), //                jmp over
            4 => self.put(&[0xE9, over, 0, 0, 0]),
            5 => {
                let target = target(self, 7 + filler.len());
                self.put(&[0xB8]); //                       mov eax, over
                self.put32(target);
                self.put(&[0xFF, 0xE0]); //                 jmp eax
            }
            6 => {
                let target = target(self, 16 + filler.len());
                self.put(&[0xC7, 0x05]); //                 mov dword [TARGET], over
                self.put32(TARGET);
                self.put32(target);
                self.put(&[0xFF, 0x25]); //                 jmp [TARGET]
                self.put32(TARGET);
            }
            7 => {
                let turns = 1 + self.random.below(5) as u32;
                self.put(&[0xB9]); //                       mov ecx, turns
                self.put32(turns);
                // 1: loop 1b, or 1: dec ecx; jnz 1b
                if self.random.below(2) == 0 {
                    self.put(&[0xE2, 0xFE]);
                } else {
                    self.put(&[0x49, 0x75, 0xFD]);
                }
            }
            8 => {
                let zero = self.random.below(2) as u32;
                self.put(&[0xB9]); //                       mov ecx, 0 or 1
                self.put32(zero);
                self.put(&[0xE3, over]); //                 jecxz over
            }
            9 => self.put(&[0xCD, 0x80]),  //                int 0x80
            10 => self.put(&[0x0F, 0x0B]), //               ud2
            _ => {
                if let Some((first, end)) = callees {
                    let callee = first + self.random.below((end - first) as u64) as usize;
                    self.call(callee);
                }
            }
        }
        self.put(&filler);
    }
}

/// The first instructions: a stack, LGDT, LIDT, LTR, and a DS that ring 3 may use.
fn tables() -> Vec<u8> {
    let mut code = vec![0xBC]; //                           mov esp, STACK_0
    code.extend(STACK_0.to_le_bytes());
    code.extend([0x0F, 0x01, 0x15]); //               lgdt [POINTERS]
    code.extend((POINTERS as u32).to_le_bytes());
    code.extend([0x0F, 0x01, 0x1D]); //                     lidt [POINTERS + 8]
    code.extend((POINTERS as u32 + 8).to_le_bytes());
    code.extend([0x66, 0xB8, 0x28, 0, 0x0F, 0x00, 0xD8]); // mov ax, 0x28; ltr ax
    code.extend([0x66, 0xB8, 0x23, 0, 0x8E, 0xD8]); //      mov ax, 0x23; mov ds, ax
    code
}

/// Address of the WRMSR that begins recording: the last of three.
pub(super) fn enable_at() -> u64 {
    let one = wrmsr(0, 0).len();
    BOOT + (tables().len() + 3 * one - 2) as u64
}

/// Index and value of what to write, the last to begin recording.
fn programming(profile: &Profile, setting: &Setting) -> [(u32, u64); 3] {
    let chosen = |kind: &Kind| setting.kinds.contains(kind);
    let (ring_0, ring_3) = setting.rings;
    let call_stack = u64::from(setting.call_stack);
    if is_arch(profile) {
        let kinds: u64 = Kind::ALL.into_iter().filter(chosen).map(|kind| 1 << kind.bits().1).sum();
        let control = kinds | 1 | u64::from(ring_0) << 1 | u64::from(ring_3) << 2 | call_stack << 3;
        [(0x14CE, 0), (0x14CF, setting.depth as u64), (0x14CE, control)]
    } else {
        let left_out: u64 =
            Kind::ALL.into_iter().filter(|kind| !chosen(kind)).map(|kind| 1 << kind.bits().0).sum();
        let select = left_out | u64::from(!ring_0) | u64::from(!ring_3) << 1 | call_stack << 9;
        [(0x1C9, 0), (0x1C8, select), (0x1D9, 1)]
    }
}

/// The registers that are read at the end: position, then FROM, TO and INFO of every entry.
fn registers(profile: &Profile, setting: &Setting) -> Vec<u32> {
    let (position, rows, depth) = if is_arch(profile) {
        (0x14CF, [0x1500, 0x1600, 0x1200], setting.depth as u32)
    } else {
        (0x1C9, [0x680, 0x6C0, 0xDC0], super::DEPTH as u32)
    };
    let entries = (0..depth).flat_map(|n| rows.map(|row| row + n));
    [position].into_iter().chain(entries).collect()
}

pub(super) struct Guest {
    engine: SoftEngine,
    machine: Machine<Pc>,
    steps: u64,
    arch: bool,
    read: usize,
}

impl Guest {
    pub(super) fn new(profile: &Profile, program: &Program, setting: &Setting) -> Self {
        let memory = GuestMemory::new(MemoryConfig { size_mib: 4 }, &LAYOUT).expect("4 MiB of guest memory");
        let registers = registers(profile, setting);
        let write = |at: u64, bytes: &[u8]| memory.write(at, bytes).expect("it fits");
        for (at, bytes) in [
            (BOOT, boot(profile, setting)),
            (STOP, stop(profile, &registers)),
            (SERVICE, service()),
            // add dword [esp], 2; iret
            (UD_HANDLER, vec![0x83, 0x04, 0x24, 0x02, 0xCF]),
            (PROGRAM, program.code.clone()),
        ] {
            write(at, &bytes);
        }
        // Null, code 0, data 0, code 3, data 3: flat; the TSS.
        let descriptors =
            [0, 0xCF_9B00_0000_FFFF, 0xCF_9300_0000_FFFF, 0xCF_FB00_0000_FFFF, 0xCF_F300_0000_FFFF];
        let tss = 0x0000_8900_0000_0067 | TSS << 16;
        for (n, descriptor) in descriptors.into_iter().chain([tss]).enumerate() {
            write(GDT + 8 * n as u64, &u64::to_le_bytes(descriptor));
        }
        write(POINTERS, &[&[47, 0][..], &(GDT as u32).to_le_bytes()].concat());
        write(POINTERS + 8, &[&[0xFF, 0x07][..], &(IDT as u32).to_le_bytes()].concat());
        // ESP0 and SS0.
        write(TSS + 4, &STACK_0.to_le_bytes());
        write(TSS + 8, &[0x10, 0]);
        for (vector, handler) in [(6, UD_HANDLER), (0x80, SERVICE), (0x81, STOP)] {
            // A 32-bit interrupt gate of DPL 3.
            let gate = handler & 0xFFFF | 0x08 << 16 | 0xEE00 << 32 | handler >> 16 << 48;
            write(IDT + 8 * vector, &gate.to_le_bytes());
        }
        let mut engine = SoftEngine::new(&memory, profile);
        let source = Box::new(ModelSource::new(profile, engine.retired()));
        let devices = Devices::new(Box::new(io::sink()), Box::new(io::sink()), FwCfg::new(1, 4 << 20));
        let apic = LocalApic::new(ApicConfig::default()).expect("a valid APIC");
        let pmu = PmuDevice::new(profile.clone(), source, None);
        let machine = Machine::new(memory, Pc::new(devices, apic, engine.tsc_hz()), pmu);
        engine.boot(&BootState::flat(BOOT as u32)).expect("a valid state");
        Self { engine, machine, steps: 0, arch: is_arch(profile), read: registers.len() }
    }

    pub(super) fn rip(&self) -> u64 {
        self.engine.state.rip
    }

    pub(super) fn ring(&self) -> u8 {
        (self.engine.state.segments[1].selector & 3) as u8
    }

    pub(super) fn read(&self, at: u64, bytes: &mut [u8]) {
        self.machine.memory.read(at, bytes).expect("RAM");
    }

    /// Executes one instruction; false when the guest has ended.
    pub(super) fn step(&mut self) -> bool {
        self.steps += 1;
        match self.engine.run_until(&mut self.machine, LIMITS, self.steps) {
            None => true,
            Some(Outcome::Exit { status: 1 }) => false,
            Some(other) => panic!("the guest ended by {other:?} at {:#x}", self.rip()),
        }
    }

    /// Runs in one go; FROM, TO and INFO as the guest read them, newest first.
    pub(super) fn run(mut self) -> Vec<[u64; 3]> {
        let outcome = self.engine.run(&mut self.machine, LIMITS).expect("the engine does not fail");
        assert_eq!(outcome, Outcome::Exit { status: 1 }, "at {:#x}", self.rip());
        let word = |n: usize| {
            let mut bytes = [0; 8];
            self.read(RESULTS + 8 * n as u64, &mut bytes);
            u64::from_le_bytes(bytes)
        };
        let entries = (self.read - 1) / 3;
        let newest = if self.arch { 0 } else { word(0) as usize };
        (0..entries)
            .map(|age| {
                let n = if self.arch { age } else { (newest + entries - age) % entries };
                [0, 1, 2].map(|row| word(1 + 3 * n + row))
            })
            .collect()
    }
}

fn boot(profile: &Profile, setting: &Setting) -> Vec<u8> {
    let mut code = tables();
    if setting.logged {
        /// IA32_PERFEVTSELx: USR, OS, EN; EN_LBR_LOG.
        const COUNT: u64 = 0x43 << 16;
        const LOG: u64 = 1 << 35;
        let (instructions, branches) = (0xC0, 0xC4);
        for (index, value) in [
            (0x38F, 0),
            (0x186, instructions | COUNT | LOG),
            (0x188, instructions | COUNT),
            (0x189, branches | COUNT | LOG),
            (0x38F, 0b1101),
        ] {
            code.extend(wrmsr(index, value));
        }
    }
    for (index, value) in programming(profile, setting) {
        code.extend(wrmsr(index, value));
    }
    // The frame of an IRET to ring 3: SS, ESP, EFLAGS, CS, EIP.
    for value in [0x23, STACK_3, 2, 0x1B, PROGRAM as u32] {
        code.push(0x68); //                                 push value
        code.extend(value.to_le_bytes());
    }
    code.push(0xCF); //                                     iret
    code
}

/// Ends recording, reads the records, and ends the run.
fn stop(profile: &Profile, registers: &[u32]) -> Vec<u8> {
    let mut code = wrmsr(if is_arch(profile) { 0x14CE } else { 0x1D9 }, 0);
    for (n, register) in registers.iter().enumerate() {
        code.push(0xB9); //                                 mov ecx, register
        code.extend(register.to_le_bytes());
        code.extend([0x0F, 0x32]); //                       rdmsr
        for (part, opcode) in [(0, &[0xA3][..]), (4, &[0x89, 0x15])] {
            code.extend(opcode); //                         mov [RESULTS + ...], eax; ..., edx
            code.extend((RESULTS as u32 + 8 * n as u32 + part).to_le_bytes());
        }
    }
    code.extend([0x31, 0xC0, 0xE6, 0xF4]); //               xor eax, eax; out 0xF4, al
    code
}

/// Branches of ring 0: a call that returns, a jump that is taken and one that is not.
fn service() -> Vec<u8> {
    vec![
        0x50, //                                            push eax
        0xE8, 0x09, 0, 0, 0, //                             call 2f
        0x31, 0xC0, //                                      xor eax, eax
        0x74, 0x01, //                                      jz 1f
        0x90, //                                            nop
        0x75, 0x00, //                                   1: jnz 1f (not taken)
        0x58, //                                            pop eax
        0xCF, //                                            iret
        0xEB, 0x01, //                                   2: jmp 3f
        0x90, //                                            nop
        0xC3, //                                         3: ret
    ]
}
