//! Rows on the core model.

use super::rows::{Contents, PLACE, Row};
use super::{BUFFER, CODE, STACK, contents, random};
use crate::silicon::machine::{Board, Refusal, start, until_exception};
use core_model::{Core, Model};
use soft_cpu::{Cpu, describe};

const PAGE: u64 = 4096;
const LARGE: u64 = 1 << 21;
/// Physical addresses, above those of the page tables.
const CODE_PHYSICAL: u64 = 0x100_0000;
const OTHER_PHYSICAL: u64 = CODE_PHYSICAL + 0x20_0000;
const BUFFER_PHYSICAL: u64 = OTHER_PHYSICAL + 0x20_0000;
/// What calls the code: CALL; UD2.
const CALLER: u64 = CODE - PAGE;
/// Instructions of one run at most.
const BUDGET: u64 = 10_000_000;

/// Where the pages of the buffer are. As on a host, pages of 4 KiB are anywhere, so that they share the sets of caches.
fn frames(row: &Row) -> Vec<u64> {
    let size = if row.large_pages { LARGE } else { PAGE };
    let mut frames: Vec<u64> = (0..row.buffer.div_ceil(size)).collect();
    let mut state = 0x1234_5678_9ABC_DEF1;
    for number in (1..frames.len()).rev() {
        frames.swap(number, (random(&mut state) % (number as u64 + 1)) as usize);
    }
    frames
}

struct Machine {
    board: Board,
    cpu: Cpu<Board>,
}

/// Cycles of the model for what a row is about.
pub(super) fn measure(core: &'static Core, row: &Row) -> Result<f64, Refusal> {
    let model = Model::new(core, &describe::X86).map_err(|_| Refusal::Shape)?;
    let mut machine = Machine::new(model, row);
    let [first, second] = row.counts;
    for _ in 0..row.repeats {
        machine.run(row, second)?;
    }
    let mut cycles = [0, 0];
    for (count, cycles) in [first, second].into_iter().zip(&mut cycles) {
        machine.run(row, row.warm)?;
        *cycles = machine.run(row, count)?;
    }
    let [less, more] = cycles.map(|cycles| cycles as f64);
    Ok((more - less) / (second - first) as f64 / row.per)
}

impl Machine {
    fn new(model: Model, row: &Row) -> Self {
        let (code, offset) = row.code();
        let mut board = Board::new(model, BUFFER_PHYSICAL + row.buffer.next_multiple_of(LARGE));
        let entry = CODE + offset;
        for at in (CALLER..entry + code.len() as u64).step_by(PAGE as usize) {
            board.map(at, CODE_PHYSICAL + (at - CALLER));
        }
        board.map(STACK, OTHER_PHYSICAL);
        board.map(PLACE, OTHER_PHYSICAL + PAGE);
        let frames = frames(row);
        let size = if row.large_pages { LARGE } else { PAGE };
        for (number, &frame) in (0..).zip(&frames) {
            let (linear, physical) = (BUFFER + number * size, BUFFER_PHYSICAL + frame * size);
            if row.large_pages {
                board.map_large(linear, physical);
            } else {
                board.map(linear, physical);
            }
        }
        board.write(CODE_PHYSICAL + (entry - CALLER), &code);
        let mut caller = vec![0xE8];
        caller.extend(((entry - CALLER) as u32 - 5).to_le_bytes());
        caller.extend([0x0F, 0x0B]);
        board.write(CODE_PHYSICAL, &caller);
        contents(row, |at, bytes| {
            let mut at = at;
            for bytes in bytes.chunks(size.min(PAGE) as usize) {
                board.write(BUFFER_PHYSICAL + frames[(at / size) as usize] * size + at % size, bytes);
                at += bytes.len() as u64;
            }
        });
        if matches!(row.contents, Contents::Pointers { .. }) {
            board.write(OTHER_PHYSICAL + PAGE, &BUFFER.to_le_bytes());
        }
        Self { board, cpu: Cpu::default() }
    }

    /// The code with this count; its cycles.
    fn run(&mut self, row: &Row, count: u64) -> Result<u64, Refusal> {
        let mut state = start(CALLER);
        state.gpr[4] = STACK + PAGE - 64;
        (state.gpr[7], state.gpr[6], state.gpr[2]) = (BUFFER, count, row.parameter);
        self.cpu.set_state(&state);
        let cycles = until_exception(&mut self.cpu, &mut self.board, BUDGET)?;
        if self.cpu.state().rip != CALLER + 5 {
            return Err(Refusal::Exception);
        }
        Ok(cycles)
    }
}
