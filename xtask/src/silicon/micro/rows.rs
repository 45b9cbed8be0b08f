//! The rows of the table of latencies and penalties.

use super::{SAMPLES, kernels};

/// Where the next of a chain of pointers is kept.
pub(super) const PLACE: u64 = super::BUFFER - 4096;

/// What the buffer holds at first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Contents {
    Zeros,
    /// A random cycle through nodes so many bytes apart. In pages of their own they are on different lines.
    Pointers {
        nodes: u64,
        stride: u64,
    },
    /// Bytes below a number, at random, that repeat after some.
    Bytes {
        below: u64,
        period: u64,
    },
}

/// What is executed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Code {
    /// The kernel of this name.
    Kernel(&'static str),
    /// These bytes so many times, then a loop of all of them.
    Repeated(&'static [u8], usize),
    /// So many jumps between two kernels, then a loop of all of it.
    Apart(&'static str, usize, &'static str),
}

/// One row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) code: Code,
    /// Bytes of the buffer, in pages of 2 MiB or of 4 KiB.
    pub(super) buffer: u64,
    pub(super) large_pages: bool,
    /// Counts that the code is run with: its cycles are the difference.
    pub(super) counts: [u64; 2],
    /// A count that puts caches and predictors into the state in which it begins.
    pub(super) warm: u64,
    /// How often the model runs the code before it counts.
    pub(super) repeats: usize,
    pub(super) parameter: u64,
    /// Executions of what the row is about, for each of the count.
    pub(super) per: f64,
    pub(super) contents: Contents,
}

impl Row {
    const fn new(name: &'static str, code: &'static str, counts: [u64; 2]) -> Self {
        Self {
            name,
            code: Code::Kernel(code),
            buffer: 4 * KIB,
            large_pages: false,
            counts,
            warm: if counts[0] < 50 { 1 } else { 40 },
            repeats: 2,
            parameter: 0,
            per: 1.0,
            contents: Contents::Zeros,
        }
    }

    const fn with(self, parameter: u64) -> Self {
        Self { parameter, ..self }
    }

    /// Runs as often as for samples on silicon, where a predictor goes on learning.
    const fn learning(self) -> Self {
        Self { repeats: 2 * SAMPLES, ..self }
    }

    const fn per(self, per: u32) -> Self {
        Self { per: per as f64, ..self }
    }

    const fn buffer(self, buffer: u64) -> Self {
        Self { buffer, ..self }
    }

    pub(super) const fn large(self) -> Self {
        Self { large_pages: true, ..self }
    }

    const fn bytes(self, below: u64) -> Self {
        Self { parameter: below, ..self.in_turn(below, self.buffer) }
    }

    /// Such bytes that repeat after some.
    const fn in_turn(self, below: u64, period: u64) -> Self {
        Self { contents: Contents::Bytes { below, period }, ..self }
    }

    /// Jumps to one of 16 targets.
    const fn indirect(name: &'static str) -> Self {
        Self::new(name, "silicon_indirect", [16_384, 32_768]).buffer(16 * KIB).learning()
    }

    /// A chain of pointers.
    pub(super) const fn chase(name: &'static str, nodes: u64, stride: u64) -> Self {
        let few = nodes < 8192;
        let row = Self::new(name, "silicon_chase", if few { [8_000, 40_000] } else { [16_000, 64_000] });
        let buffer = (nodes * stride + 4 * KIB).next_multiple_of(4 * KIB);
        Self { warm: 800, buffer, contents: Contents::Pointers { nodes, stride }, parameter: PLACE, ..row }
    }

    /// Accesses of so many lines at random.
    const fn random(name: &'static str, kernel: &'static str, lines: u64) -> Self {
        let row = Self::new(name, kernel, [2_000, 10_000]).with(lines - 1);
        Self { warm: 800, ..row.buffer(lines * 64) }
    }

    /// A store to one of 8,192 lines at random, and others to lines behind them.
    const fn scattered(name: &'static str, kernel: &'static str) -> Self {
        Self::random(name, kernel, 8192).buffer(516 * KIB)
    }

    /// Loads behind stores, one of so many of which conflicts.
    const fn conflicts(name: &'static str, period: u64) -> Self {
        Self::new(name, "silicon_conflicts", [4_800, 24_000]).with(period)
    }

    /// A jump whose target a branch decides that is so many jumps before, behind branches of random directions. It has
    /// learnt after a third of the runs on silicon: with all of them no figure changes by more than 0.6 %.
    const fn decided(name: &'static str, jumps: usize) -> Self {
        let code = Code::Apart("silicon_decides", jumps, "silicon_decided");
        Self { code, repeats: 16, ..Self::new(name, "", [2_000, 10_000]).buffer(4 * KIB) }
    }

    const fn repeated(name: &'static str, code: &'static [u8], times: usize, counts: [u64; 2]) -> Self {
        Self { code: Code::Repeated(code, times), ..Self::new(name, "", counts) }.per(times as u32)
    }

    /// The code, and how far behind a boundary of 64 bytes it begins.
    pub(super) fn code(&self) -> (Vec<u8>, u64) {
        match self.code {
            Code::Kernel(name) => {
                let (bytes, offset) = kernels::bytes(name).unwrap_or_default();
                (bytes.to_vec(), offset)
            }
            Code::Repeated(unit, times) => (looped(unit.repeat(times)), 0),
            Code::Apart(head, jumps, tail) => {
                let kernel = |name| kernels::bytes(name).unwrap_or_default().0;
                (looped([kernel(head), &JUMP_8.repeat(jumps), kernel(tail)].concat()), 0)
            }
        }
    }
}

/// Code that is repeated as often as RSI says.
fn looped(mut bytes: Vec<u8>) -> Vec<u8> {
    // DEC RSI; JNZ to the beginning; XOR EAX, EAX; RET
    bytes.extend([0x48, 0xFF, 0xCE, 0x0F, 0x85]);
    let back = -(bytes.len() as i32 + 4);
    bytes.extend(back.to_le_bytes());
    bytes.extend([0x31, 0xC0, 0xC3]);
    bytes
}

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// LEA EDX, [RAX + 1]
const LEA: &[u8] = &[0x48, 0x8D, 0x50, 0x01];
/// NOP of 8 bytes
const NOP8: &[u8] = &[0x0F, 0x1F, 0x84, 0, 0, 0, 0, 0];
/// A jump across 6 bytes, 30, and 62.
const JUMP_8: &[u8] = &jump::<8>();
const JUMP_32: &[u8] = &jump::<32>();
const JUMP_64: &[u8] = &jump::<64>();

const fn jump<const BYTES: usize>() -> [u8; BYTES] {
    let mut bytes = [0xCC; BYTES];
    (bytes[0], bytes[1]) = (0xEB, BYTES as u8 - 2);
    bytes
}

/// All rows. Names are those of the recordings.
pub(super) const ROWS: &[Row] = &[
    Row::chase("chase 4K", 64, 64),
    Row::chase("chase 16K", 256, 64),
    Row::chase("chase 28K", 448, 64),
    Row::chase("chase 64K", 1024, 64),
    Row::chase("chase 256K 4k pages", 4096, 64),
    Row::chase("chase 256K 2M pages", 4096, 64).buffer(2 * MIB).large(),
    Row::chase("chase 768K 4k", 12_288, 64),
    Row::chase("pages 32", 32, 4096),
    Row::chase("pages 60", 60, 4096),
    Row::chase("pages 96", 96, 4096),
    Row::chase("pages 256", 256, 4096),
    Row::chase("pages 1024", 1024, 4096),
    Row::chase("pages 1400", 1400, 4096),
    Row::chase("pages 3072", 3072, 4096),
    Row::chase("pages 8192", 8192, 4096),
    Row::new("branch, predictable", "silicon_branch", [1000, 5000]).learning(),
    Row::new("branch, random bit", "silicon_branch", [1000, 5000]).with(1).learning(),
    Row::new("branch, 1 in 4", "silicon_branch", [1000, 5000]).with(3).learning(),
    Row::new("branch on load, constant", "silicon_branch_load", [16_384, 32_768]).buffer(16 * KIB).learning(),
    Row::new("branch on load, random", "silicon_branch_load", [16_384, 32_768])
        .buffer(16 * KIB)
        .bytes(2)
        .learning(),
    Row::indirect("indirect, 1 target"),
    Row::indirect("indirect, 2 random").bytes(2),
    Row::indirect("indirect, 4 random").bytes(4),
    Row::indirect("indirect, 16 random").bytes(16),
    Row::indirect("indirect, 16 targets, 64 in turn").in_turn(16, 64),
    Row::indirect("indirect, 16 targets, 512 in turn").in_turn(16, 512),
    Row::indirect("indirect, 16 targets, 1024 in turn").in_turn(16, 1024),
    Row::indirect("indirect, 16 targets, 2048 in turn").in_turn(16, 2048),
    Row::indirect("indirect, 16 targets, 4096 in turn").in_turn(16, 4096),
    Row::decided("target decided 7 jumps before", 7),
    Row::decided("target decided 9 jumps before", 9),
    Row::decided("target decided 17 jumps before", 17),
    Row::decided("target decided 20 jumps before", 20),
    Row::decided("target decided 33 jumps before", 33),
    Row::decided("target decided 40 jumps before", 40),
    Row::decided("target decided 193 jumps before", 193),
    Row::decided("target decided 196 jumps before", 196),
    Row::new("call+ret, 32 B apart", "silicon_calls", [1600, 8000]),
    Row::new("call, 1 jump, ret", "silicon_calls_1_jump", [1600, 8000]),
    Row::new("call, 2 jumps, ret", "silicon_calls_2_jumps", [1600, 8000]),
    Row::new("call, 4 jumps, ret", "silicon_calls_4_jumps", [1600, 8000]),
    Row::new("call, next line, ret", "silicon_calls_1_line", [1600, 8000]),
    Row::new("call, 2 more lines, ret", "silicon_calls_2_lines", [1600, 8000]),
    Row::new("call, 4 more lines, ret", "silicon_calls_4_lines", [1600, 8000]),
    Row::new("call of register + ret", "silicon_calls_indirect", [1600, 8000]),
    Row::new("calls 8 deep", "silicon_deep", [200, 1000]).with(8).per(8),
    Row::new("calls 15 deep", "silicon_deep", [200, 1000]).with(15).per(15),
    Row::new("calls 20 deep", "silicon_deep", [200, 1000]).with(20).per(20),
    Row::new("calls 40 deep", "silicon_deep", [200, 1000]).with(40).per(40),
    Row::repeated("jumps 8 of 32 B", JUMP_32, 8, [200, 1000]),
    Row::repeated("jumps 32 of 32 B", JUMP_32, 32, [100, 500]),
    Row::repeated("jumps 128 of 32 B", JUMP_32, 128, [50, 250]),
    Row::repeated("jumps 512 of 32 B", JUMP_32, 512, [20, 100]),
    Row::repeated("jumps 2048 of 32 B", JUMP_32, 2048, [10, 50]),
    Row::repeated("jumps 8192 of 32 B", JUMP_32, 8192, [4, 20]),
    Row::repeated("jumps 32 of 64 B", JUMP_64, 32, [100, 500]),
    Row::repeated("jumps 512 of 64 B", JUMP_64, 512, [20, 100]),
    Row::new("inner loop 4", "silicon_loops", [500, 2500]).with(4),
    Row::new("inner loop 16", "silicon_loops", [500, 2500]).with(16),
    Row::new("inner loop 32", "silicon_loops", [500, 2500]).with(32),
    Row::new("inner loop 64", "silicon_loops", [200, 1000]).with(64),
    Row::new("inner loop 200", "silicon_loops", [100, 500]).with(200),
    Row::new("aligned inner loop 4", "silicon_loops_aligned", [500, 2500]).with(4),
    Row::new("aligned inner loop 16", "silicon_loops_aligned", [500, 2500]).with(16),
    Row::new("aligned inner loop 64", "silicon_loops_aligned", [200, 1000]).with(64),
    Row::new("aligned inner loop 200", "silicon_loops_aligned", [100, 500]).with(200),
    Row::new("rep movsb 64", "silicon_movsb", [200, 1000]).with(64).buffer(256 * KIB),
    Row::new("rep movsb 256", "silicon_movsb", [200, 1000]).with(256).buffer(256 * KIB),
    Row::new("rep movsb 1K", "silicon_movsb", [100, 500]).with(KIB).buffer(256 * KIB),
    Row::new("rep movsb 4K", "silicon_movsb", [50, 250]).with(4 * KIB).buffer(256 * KIB),
    Row::new("rep movsb 16K", "silicon_movsb", [20, 100]).with(16 * KIB).buffer(256 * KIB),
    Row::new("rep stosb 64", "silicon_stosb", [200, 1000]).with(64).buffer(256 * KIB),
    Row::new("rep stosb 256", "silicon_stosb", [200, 1000]).with(256).buffer(256 * KIB),
    Row::new("rep stosb 1K", "silicon_stosb", [100, 500]).with(KIB).buffer(256 * KIB),
    Row::new("rep stosb 4K", "silicon_stosb", [50, 250]).with(4 * KIB).buffer(256 * KIB),
    Row::new("rep stosb 16K", "silicon_stosb", [20, 100]).with(16 * KIB).buffer(256 * KIB),
    Row::new("read 16K, per line", "silicon_read", [20, 100]).with(16 * KIB).per(256).buffer(64 * KIB),
    Row::new("read 256K, per line", "silicon_read", [3, 12]).with(256 * KIB).per(4096).buffer(256 * KIB),
    Row::new("write 16K, per line", "silicon_write", [20, 100]).with(16 * KIB).per(256).buffer(64 * KIB),
    Row::new("write 256K, per line", "silicon_write", [3, 12]).with(256 * KIB).per(4096).buffer(256 * KIB),
    Row::new("copy 8K, per line", "silicon_copy", [20, 100]).with(8 * KIB).per(128).buffer(64 * KIB),
    Row::new("copy 128K, per line", "silicon_copy", [3, 12]).with(128 * KIB).per(2048).buffer(512 * KIB),
    Row::random("random loads 16K", "silicon_gather", 256),
    Row::random("random loads 512K", "silicon_gather", 8192),
    Row::random("random stores 16K", "silicon_scatter", 256).per(2),
    Row::random("random stores 512K", "silicon_scatter", 8192).per(2),
    Row::scattered("random store 512K and 1 other", "silicon_scatter_1"),
    Row::scattered("random store 512K and 2 others", "silicon_scatter_2"),
    Row::scattered("random store 512K and 4 others", "silicon_scatter_4"),
    Row::scattered("random store 512K and 8 others", "silicon_scatter_8"),
    Row::conflicts("load behind late stores", 1 << 32),
    Row::conflicts("load behind late stores, all conflict", 1),
    Row::conflicts("load behind late stores, 1 of 32", 32),
    Row::conflicts("load behind late stores, 1 of 96", 96),
    Row::conflicts("load behind late stores, 1 of 200", 200),
    Row::conflicts("load behind late stores, 1 of 400", 400),
    Row::new("random branch", "silicon_random_0", [2_000, 10_000]),
    Row::new("random branch, 2 jumps", "silicon_random_2", [2_000, 10_000]),
    Row::new("random branch, 4 jumps", "silicon_random_4", [2_000, 10_000]),
    Row::new("random branch, 8 jumps", "silicon_random_8", [2_000, 10_000]),
    Row::new("random branch, 1 in 8", "silicon_random_of_8", [20_000, 100_000]),
    Row::new("random branch, 1 in 32", "silicon_random_of_32", [20_000, 100_000]),
    Row::repeated("code 4K of LEA, per instr", LEA, 1000, [10, 50]),
    Row::repeated("code 16K", LEA, 4000, [4, 20]),
    Row::repeated("code 64K", LEA, 16_000, [2, 10]),
    Row::repeated("code 256K", LEA, 64_000, [2, 6]),
    Row::repeated("nop8 1K", NOP8, 128, [20, 100]),
    Row::repeated("nop8 16K", NOP8, 2000, [4, 20]),
    Row::repeated("nop8 64K", NOP8, 8000, [2, 10]),
    Row::new("lock add", "silicon_lock_add", [200, 1000]),
    Row::new("lock add, 4 lines", "silicon_lock_four", [200, 1000]),
    Row::new("lock add + 40 add", "silicon_lock_work", [200, 1000]),
    Row::new("lock add + 20 loads", "silicon_lock_loads", [200, 1000]),
    Row::new("lock cmpxchg ... mov 0 (spin lock)", "silicon_spin_lock", [200, 1000]),
    Row::new("xchg", "silicon_xchg", [200, 1000]),
    Row::new("pause", "silicon_pause", [50, 250]),
    Row::new("spin: pause, load, test", "silicon_spin_load", [50, 250]),
    Row::new("sfence", "silicon_sfence", [200, 1000]),
    Row::new("mfence", "silicon_mfence", [200, 1000]),
    Row::new("lfence + 4 add", "silicon_lfence", [200, 1000]),
    Row::new("rdtsc", "silicon_rdtsc", [200, 1000]),
    Row::new("fld1, fdiv, fstp", "silicon_x87", [200, 1000]),
    Row::new("div r32, chain", "silicon_div32", [200, 1000]),
    Row::new("div r64 of small values, chain", "silicon_div64_small", [200, 1000]),
    Row::new("div r64 of 128 bits, chain", "silicon_div64_large", [200, 1000]),
    Row::new("idiv r32, chain", "silicon_idiv32", [200, 1000]),
    Row::new("load", "silicon_load_at", [800, 4000]),
    Row::new("load across lines", "silicon_load_at", [800, 4000]).with(60),
    Row::new("load across pages", "silicon_load_at", [800, 4000]).with(4092).buffer(8 * KIB),
    Row::new("load chain across lines", "silicon_load_chain_at", [800, 4000]).with(60),
    Row::new("load chain across pages", "silicon_load_chain_at", [800, 4000]).with(4092).buffer(8 * KIB),
    Row::new("store", "silicon_store_at", [800, 4000]),
    Row::new("store across lines", "silicon_store_at", [800, 4000]).with(60),
    Row::new("store across pages", "silicon_store_at", [800, 4000]).with(4092).buffer(8 * KIB),
    Row::new("load chain behind aliasing stores", "silicon_alias", [800, 4000]).buffer(8 * KIB),
    Row::new("store and load, chain", "silicon_forward", [800, 4000]),
    Row::new("byte store and load around it, chain", "silicon_forward_blocked", [800, 4000]),
    Row::new("read-modify-write, chain", "silicon_read_modify_write", [800, 4000]),
];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "test code")]
    use super::*;
    use iced_x86::{Decoder, DecoderOptions, Mnemonic};

    #[test]
    fn each_row_is_code_that_returns() {
        for row in ROWS {
            let (code, offset) = row.code();
            assert!(offset < 64 && !code.is_empty(), "{}", row.name);
            let all: Vec<_> = Decoder::new(64, &code, DecoderOptions::NONE).iter().collect();
            assert!(all.iter().any(|one| one.mnemonic() == Mnemonic::Ret), "{}", row.name);
            assert!(ROWS.iter().filter(|other| other.name == row.name).count() == 1, "{}", row.name);
        }
    }
}
