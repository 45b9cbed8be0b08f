//! Falkor by its published widths and latencies.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, reason = "test code")]

use arm_cpu::describe;
use core_model::{CoreTotals, FALKOR, Model};
use retire::{Block, Branch, BranchKind, CoreEvent, MemoryAccess, Observer};

const CODE: u64 = 0x40_0000;
const DATA: u64 = 0x80_0000;
/// SUBS X9, X9, #1 and B.NE: the end of a loop.
const SUBS: u32 = 0xF100_0529;
const B_NE: u32 = 0x54FF_FFE1;

/// A loop, in the caches, whose last instruction is its branch.
struct Loop<'a> {
    words: &'a [u32],
    /// Its accesses to memory in an iteration: positions of instructions, and whether they write.
    accesses: &'a [(u8, bool)],
}

impl Loop<'_> {
    /// Totals of so many iterations; in each the branch goes as it is told.
    fn run(&self, iterations: u64, mut taken: impl FnMut(u64) -> bool) -> CoreTotals {
        let mut model = Model::new(&FALKOR, &describe::A64).unwrap();
        let instructions: Vec<_> =
            self.words.iter().zip(0..).map(|(&word, n)| describe::instruction(word, 4 * n)).collect();
        let id = model.define(&instructions);
        let end = 4 * self.words.len() as u16;
        for n in 0..iterations {
            let memory: Vec<_> = self
                .accesses
                .iter()
                .map(|&(owner, write)| {
                    let address = DATA + n % 64 * 8 + u64::from(owner) * 4096;
                    let (linear, physical) = (address, address);
                    MemoryAccess { linear, physical, size: 8, page: 12, owner, write, uncached: false }
                })
                .collect();
            // Either way the same code follows.
            let branch = Branch { kind: BranchKind::Conditional, taken: taken(n), target: CODE };
            model.retire(&Block {
                id,
                first: 0,
                count: self.words.len() as u8,
                whole: true,
                user: true,
                fetch_page: 12,
                rip: CODE,
                fetch_pa: CODE,
                memory: &memory,
                branch: Some(branch),
                last: end - 4,
                end,
                repetitions: 1,
            });
        }
        model.event(CoreEvent::Serialise);
        *model.totals(true)
    }

    /// Cycles of an iteration in the long run.
    fn cycles(&self) -> f64 {
        let of = |iterations| self.run(iterations, |_| true).cycles as f64;
        (of(3000) - of(1000)) / 2000.0
    }
}

/// Instructions followed by SUBS and B.NE, and their cycles.
#[test]
fn loops_take_what_their_units_and_chains_take() {
    // Results in X10 and up, or V16 and up.
    let add = |n: u32| 0x8B02_0020 | (10 + n);
    let multiply = |n: u32| 0x9B02_7C20 | (10 + n);
    let fmul = |n: u32| 0x1E62_0820 | (16 + n);
    let fmul_pair = |n: u32| 0x6E62_DC20 | (16 + n);
    let many = |of: &dyn Fn(u32) -> u32, count: u32| (0..count).map(of).collect::<Vec<u32>>();
    let load_next = 0xF940_0000; // LDR X0, [X0]
    /// Name, words, accesses by instruction (true for a store), cycles.
    type Row = (&'static str, Vec<u32>, Vec<(u8, bool)>, f64);
    let rows: Vec<Row> = vec![
        ("8 ADD and SUBS, three a cycle beside the branch", many(&add, 8), vec![], 3.0),
        ("a chain of 6 ADD", vec![0x8B01_0000; 6], vec![], 6.0),
        ("4 multiplications by the one multiplier", many(&multiply, 4), vec![], 4.0),
        ("a chain of 2 MUL: 5 cycles each", vec![0x9B01_7C00; 2], vec![], 10.0),
        ("2 divisions of 64 bits: 11 cycles each", vec![0x9AC2_0C2A, 0x9AC2_0C2B], vec![], 22.0),
        ("8 FMUL of doubles by two units", many(&fmul, 8), vec![], 4.0),
        ("4 FMUL of two doubles, both units each", many(&fmul_pair, 4), vec![], 4.0),
        ("a chain of 3 FADD: 3 cycles each", vec![0x1E61_2800; 3], vec![], 9.0),
        ("a division of doubles", vec![0x1E62_182A], vec![], 14.0),
        (
            "a chain of 3 loads: 3 cycles each",
            vec![load_next; 3],
            vec![(0, false), (1, false), (2, false)],
            9.0,
        ),
        (
            "3 loads by the one load unit",
            vec![0xF940_0040, 0xF940_0041, 0xF940_0043],
            vec![(0, false), (1, false), (2, false)],
            3.0,
        ),
        ("2 stores by the one store unit", vec![0xF900_0040, 0xF900_0041], vec![(0, true), (1, true)], 2.0),
        ("LDR X2, [X0], #8: the base does not wait for memory", vec![0xF840_8402], vec![(0, false)], 1.0),
        (
            "LDR, ADD, STR: one of each unit",
            vec![0xF940_0040, add(0), 0xF900_0061],
            vec![(0, false), (2, true)],
            2.0,
        ),
        ("a chain of ADD shifted by 3: one cycle", vec![0x8B01_0C00; 4], vec![], 4.0),
        ("a chain of ADD shifted by 8: two cycles", vec![0x8B01_2000; 4], vec![], 8.0),
        ("6 MOVZ of 0: nothing to execute", vec![0xD280_000A; 5], vec![], 2.0),
    ];
    let mut wrong = String::new();
    for (what, mut words, accesses, expected) in rows {
        words.extend([SUBS, B_NE]);
        let found = Loop { words: &words, accesses: &accesses }.cycles();
        if (found / expected - 1.0).abs() > 0.03 {
            wrong += &format!("{what}: {found:.2} cycles instead of {expected}\n");
        }
    }
    assert_eq!(wrong, "");
}

/// The description's recovery and refill, and the branch's own way through the queues.
#[test]
fn a_misprediction_costs_its_penalty() {
    let words = [SUBS, B_NE];
    let code = Loop { words: &words, accesses: &[] };
    let mut state = 0x1234_5678_9ABC_DEF1_u64;
    let random = code.run(20_000, |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 40 & 1 == 1
    });
    let straight = code.run(20_000, |_| true);
    let branches = &random.branches[BranchKind::Conditional as usize];
    let mispredicted = branches.mispredicted_taken + branches.mispredicted_not_taken;
    assert!(mispredicted > 8000, "{mispredicted}");
    let each = (random.cycles - straight.cycles) as f64 / mispredicted as f64;
    let penalty = f64::from(FALKOR.prediction.recovery + FALKOR.prediction.refill);
    assert!((penalty..penalty + 4.0).contains(&each), "{each}");
}

/// Names in the tables are those of forms: the numbers of others would never be met.
#[test]
fn tables_name_forms() {
    let forms = describe::examples();
    for text in [FALKOR.table, FALKOR.system].iter().chain(FALKOR.corrections) {
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let name = line.split('\t').next().unwrap();
            assert!(forms.contains_key(name), "{name}");
        }
    }
}
