//! That the CPU's side passes vector and mask registers on.
#![allow(missing_docs)]

use oracle::case::{Case, Outcome};
use oracle::machine::Machine;
use oracle::native::Native;
use oracle::vectors::Vectors;

/// Runs code on the host's CPU; `None`, with a line that says so, where that is not possible.
fn run(code: &[u8], machine: Machine) -> Option<(Vectors, Outcome)> {
    if Machine::host() < machine {
        println!("SKIP oracle: this CPU does not have {machine:?}");
        return None;
    }
    let mut native = Native::new().inspect_err(|error| println!("SKIP oracle: {error}")).ok()?;
    let case = Case { code: code.to_vec(), offset: 0x100, seed: 7, machine };
    let outcome = native.run(&case).expect("an end");
    Some((Vectors::of(&case), outcome))
}

#[test]
fn registers_reach_the_cpu_and_come_back() {
    // vmovdqa64 zmm31, zmm2; kmovq k3, k5
    let code = [0x62, 0x61, 0xFD, 0x48, 0x6F, 0xFA, 0xC4, 0xE1, 0xF8, 0x90, 0xDD];
    let Some((start, end)) = run(&code, Machine::Avx512) else { return };
    assert_eq!(end.vector, 3, "{end:?}");
    let mut expected = start.clone();
    (expected.zmm[31], expected.k[3]) = (start.zmm[2], start.k[5]);
    assert_eq!((end.zmm, end.k), (expected.zmm, expected.k));
}
