//! What precise sampling needs of the CPU: which instruction was the last one, and what memory it accessed.

use crate::bus::Bus;
use crate::context::{CR0_PG, CS, Core, Mode};
use crate::cpu::{Cpu, fetch};
use crate::mmu::{Intent, PAGE, is_canonical};
use crate::sampled::Sampled;
use iced_x86::{Decoder, DecoderOptions, InstructionInfoFactory, OpAccess, Register, UsedMemory};

/// The longest instruction, in bytes (SDM volume 2, section 2.3.11).
const LONGEST: usize = 15;

impl<B: Bus> Cpu<B> {
    /// From now on runs of a single instruction remember which it was: [`sampled`](Self::sampled).
    pub fn set_sampling(&mut self, on: bool) {
        self.sampling = on;
    }

    /// The instruction in which the last run ended, if it had a budget of one, and that has retired.
    #[must_use]
    pub fn sampled(&self) -> Option<Sampled> {
        self.sampled
    }

    /// The next instruction, before it changes what its address is made of.
    #[cold]
    pub(crate) fn next_sample(&mut self, bus: &mut B) -> Sampled {
        let rip = self.core.rip;
        let mut bytes = [0; LONGEST];
        let linear = self.core.wrap_linear(rip.wrapping_add(self.core.bases[CS]));
        let mut len = 0;
        for (at, from, to) in parts(linear, LONGEST) {
            let gpa = self.core.code_address(bus, at);
            if !gpa.is_some_and(|gpa| fetch(bus, gpa, &mut bytes[from..to])) {
                break;
            }
            len = to;
        }
        Sampled { rip, data: self.core.data_address(rip, &bytes[..len]) }
    }
}

impl Core {
    /// Physical address of code; none if fetching it would fault.
    fn code_address<B: Bus>(&mut self, bus: &mut B, linear: u64) -> Option<u64> {
        if self.cr0 & CR0_PG == 0 {
            return Some(linear & 0xFFFF_FFFF);
        }
        let possible = !self.long_mode() || is_canonical(linear);
        let found = possible.then(|| self.walk_and_check(bus, linear, Intent::Fetch, self.user));
        found?.ok().map(|(gpa, _)| gpa)
    }

    /// Linear address of the first memory operand of an instruction that is about to execute.
    fn data_address(&self, rip: u64, bytes: &[u8]) -> Option<u64> {
        let bits = match self.mode {
            Mode::Bits16 => 16,
            Mode::Bits32 => 32,
            Mode::Bits64 => 64,
        };
        let instruction = Decoder::with_ip(bits, bytes, rip, DecoderOptions::NONE).decode();
        let mut factory = InstructionInfoFactory::new();
        let operands = factory.info(&instruction).used_memory();
        let accessed =
            |operand: &&UsedMemory| !matches!(operand.access(), OpAccess::None | OpAccess::NoMemAccess);
        let address =
            operands.iter().find(accessed)?.virtual_address(0, |register, _, _| self.part(register))?;
        Some(self.wrap_linear(address))
    }

    /// A register as addresses are made of it: a segment's base, or the number.
    fn part(&self, register: Register) -> Option<u64> {
        if register.is_segment_register() {
            return self.bases.get(register.number()).copied();
        }
        let value = register.is_gpr().then(|| self.regs[register.full_register().number()])?;
        Some(match register.size() {
            2 => value & 0xFFFF,
            4 => value & 0xFFFF_FFFF,
            _ => value,
        })
    }
}

/// Ranges within pages: where each is, and which bytes it has.
fn parts(linear: u64, len: usize) -> impl Iterator<Item = (u64, usize, usize)> {
    let mut from = 0;
    core::iter::from_fn(move || {
        let at = linear.wrapping_add(from as u64);
        let in_page = usize::try_from(PAGE - at % PAGE).unwrap_or(usize::MAX);
        let part = (from < len).then(|| (at, from, len.min(from.saturating_add(in_page))))?;
        from = part.2;
        Some(part)
    })
}
