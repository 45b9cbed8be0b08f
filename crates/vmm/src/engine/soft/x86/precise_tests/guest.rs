//! A guest with instructions of all kinds, and what each of them has done.

use super::Setup;
use crate::engine::soft::x86::Goal;
use crate::engine::{Detail, RunLimits};
use crate::machine::Outcome;
use crate::test_code::wrmsr;
use crate::test_guest::{CODE, Guest};
use platform::x86::apic::ApicConfig;
use std::time::Duration;
use vpmu::Profile;
use vpmu::source::EventRequest;

/// Of the work.
const ROUNDS: u32 = 60;
/// Lines of 64 bytes with a RET each, more than a level-1 cache of instructions holds.
const RETURNS: u64 = 0x20_0000;
const LIMITS: RunLimits = RunLimits { timeout: Duration::from_secs(300) };

/// A round has a load that walks through 256 KiB, accesses of all kinds, and branches that are predicted well and not.
fn work() -> Vec<u8> {
    let mut code = vec![0xBC, 0x00, 0x80, 0x00, 0x00]; //                 mov esp, 0x8000
    code.push(0xBD); //                                                   mov ebp, ROUNDS
    code.extend(ROUNDS.to_le_bytes());
    code.extend([0x31, 0xF6]); //                                         xor esi, esi
    code.extend([0xBB, 0x01, 0x00, 0x00, 0x00]); //                       mov ebx, 1
    code.extend([0x81, 0xC6, 0x40, 0x10, 0x00, 0x00]); //              1: add esi, 0x1040
    code.extend([0x81, 0xE6, 0xFF, 0xFF, 0x03, 0x00]); //                 and esi, 0x3ffff
    code.extend([0x8B, 0x86, 0x00, 0x00, 0x10, 0x00]); //                 mov eax, [esi + 0x100000]
    code.extend([0x01, 0x05, 0x00, 0x90, 0x00, 0x00]); //                 add [0x9000], eax
    code.extend([0xF0, 0xFF, 0x05, 0x10, 0x90, 0x00, 0x00]); //           lock inc dword [0x9010]
    code.extend([0x8B, 0x15, 0x3E, 0x90, 0x00, 0x00]); //                 mov edx, [0x903e]
    code.extend([0x89, 0x15, 0x7E, 0x90, 0x00, 0x00]); //                 mov [0x907e], edx
    code.extend([0x69, 0xDB, 0x6D, 0x4E, 0xC6, 0x41]); //                 imul ebx, ebx, 1103515245
    code.extend([0x81, 0xC3, 0x39, 0x30, 0x00, 0x00]); //                 add ebx, 12345
    code.extend([0xF7, 0xC3, 0x00, 0x00, 0x01, 0x00]); //                 test ebx, 0x10000
    code.extend([0x74, 0x01]); //                                         jz 2f
    code.push(0x90); //                                                   nop
    code.extend([0x89, 0xE9]); //                                      2: mov ecx, ebp
    code.extend([0x81, 0xE1, 0xFF, 0x03, 0x00, 0x00]); //                 and ecx, 0x3ff
    code.extend([0xC1, 0xE1, 0x06]); //                                   shl ecx, 6
    code.extend([0x81, 0xC1, 0x00, 0x00, 0x20, 0x00]); //                 add ecx, RETURNS
    code.extend([0xFF, 0xD1]); //                                         call ecx
    code.extend([0xE8, 0x02, 0x00, 0x00, 0x00]); //                       call 3f
    code.extend([0xEB, 0x03]); //                                         jmp 4f
    code.extend([0x50, 0x58, 0xC3]); //                                3: push eax; pop eax; ret
    code.push(0x4D); //                                                4: dec ebp
    code.extend([0x75, 0xA0]); //                                         jnz 1b
    code
}

/// The address of an instruction's first access, by its first bytes and the registers before it.
pub(super) fn address(code: &[u8], gpr: &[u64; 16]) -> Option<u64> {
    Some(match code {
        [0x8B, 0x86, ..] => gpr[6] + 0x10_0000,
        [0x01, 0x05, ..] => 0x9000,
        [0xF0, 0xFF, ..] => 0x9010,
        [0x8B, 0x15, ..] => 0x903E,
        [0x89, 0x15, ..] => 0x907E,
        [0xFF, 0xD1, ..] | [0xE8 | 0x50, ..] => gpr[4] - 4,
        [0x58 | 0xC3, ..] => gpr[4],
        _ => return None,
    })
}

/// One instruction with the counters enabled.
pub(super) struct Step {
    pub(super) rip: u64,
    pub(super) code: [u8; 2],
    /// Registers before and behind it.
    pub(super) before: [u64; 16],
    pub(super) after: [u64; 16],
    pub(super) next: u64,
    /// Occurrences of each event.
    pub(super) counts: Vec<u64>,
}

/// A guest that counts and samples as set up, while it works.
pub(super) fn guest(profile: &Profile, detail: Detail, setup: &Setup) -> Guest {
    let mut code: Vec<u8> = setup.registers.iter().flat_map(|(index, value)| wrmsr(*index, *value)).collect();
    let (switch, on) = setup.switch;
    code.extend(wrmsr(switch, on));
    code.extend(work());
    code.extend(wrmsr(switch, 0));
    code.extend([0x31, 0xC0, 0xE6, 0xF4]); //                             xor eax, eax; out 0xf4, al
    let guest = Guest::of(profile, &code, detail, ApicConfig::default());
    for line in 0..1_024 {
        guest.machine.memory.write(RETURNS + 64 * line, &[0xC3]).expect("RAM");
    }
    for (place, word) in &setup.memory {
        guest.machine.memory.write(*place, &word.to_le_bytes()).expect("RAM");
    }
    guest
}

/// Runs to the end.
pub(super) fn run(mut guest: Guest) -> Guest {
    guest.engine = guest.engine.with_compiler(true);
    let outcome = guest.engine.run_to(&mut guest.machine, LIMITS, &Goal::default());
    assert_eq!(outcome, Some(Outcome::Exit { status: 1 }));
    guest
}

/// Runs so many instructions.
pub(super) fn advance(guest: &mut Guest, instructions: u64) -> Option<Outcome> {
    let instructions = guest.engine.instructions() + instructions;
    guest.engine.run_to(&mut guest.machine, LIMITS, &Goal { instructions, ..Goal::default() })
}

/// What each instruction does, from the WRMSR that enables to the one that disables, which is not in it: one
/// instruction at a time, with nothing that samples.
pub(super) fn trace(guest: &mut Guest, setup: &Setup, events: &[EventRequest]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let totals = |guest: &mut Guest| -> Vec<u64> {
        events.iter().map(|event| guest.machine.pmu.totals(event).iter().sum()).collect()
    };
    let mut now = totals(guest);
    loop {
        let state = guest.engine.state();
        let (rip, before) = (state.rip, state.gpr);
        let mut code = [0; 2];
        guest.machine.memory.read(rip, &mut code).expect("RAM");
        let writes = code == [0x0F, 0x30] && before[1] == u64::from(setup.switch.0);
        let enables = writes && before[0] | before[2] != 0;
        if writes && !steps.is_empty() {
            return steps;
        }
        assert_eq!(advance(guest, 1), None, "at {:#x}", rip.wrapping_sub(CODE.into()));
        let then = std::mem::replace(&mut now, totals(guest));
        if enables || !steps.is_empty() {
            let state = guest.engine.state();
            let counts = now.iter().zip(then).map(|(now, then)| now - then).collect();
            steps.push(Step { rip, code, before, after: state.gpr, next: state.rip, counts });
        }
    }
}
