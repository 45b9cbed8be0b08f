//! Stops in made-up guests without paging.

use super::*;
use platform::memory::MemoryConfig;
use platform::x86::memory::LAYOUT;

const USER_CODE: u16 = 0x33;
const TOP: u64 = 0x8000;
const BACK: u64 = 0x1234;

fn memory() -> GuestMemory {
    GuestMemory::new(MemoryConfig { size_mib: 4 }, &LAYOUT).expect("4 MiB of guest memory")
}

fn at(rip: u64, rsp: u64) -> State {
    let mut state = State { rip, ..State::default() };
    state.gpr[RSP] = rsp;
    state.segments[CS].selector = USER_CODE;
    state
}

fn roi(begin: Begin, end: End) -> Roi {
    Roi { begin, end, places: None, base: Some(0), call: None, open: false, over: false }
}

#[test]
fn numbers_are_the_program_s_own() {
    let memory = memory();
    let mut roi = roi(Begin::Number(100), End::Number(150));
    // The CPU has executed 1,000 user instructions before the program.
    assert_eq!(roi.goal(0, 1000).user, 1100);
    // Init has executed ten of these.
    assert_eq!(roi.stopped(&at(0, TOP), &memory, 90), None);
    assert_eq!(roi.goal(90, 1100).user, 1110);
    assert_eq!(roi.stopped(&at(0, TOP), &memory, 100), Some(Change::Begins));
    assert_eq!(roi.goal(100, 1110).user, 1160);
    assert_eq!(roi.stopped(&at(0, TOP), &memory, 150), Some(Change::Ends));
    assert_eq!(roi.goal(150, 1160), Goal::default(), "it comes once");
    assert_eq!(roi.stopped(&at(0, TOP), &memory, 200), None);
}

#[test]
fn a_function_ends_where_its_first_call_returns_to() {
    let memory = memory();
    memory.write(TOP, &BACK.to_le_bytes()).expect("RAM");
    let mut roi = roi(Begin::Places(vec![0x1000]), End::Return);
    roi.call = Some((BACK, TOP + 8));
    roi.open = true;
    assert_eq!(roi.goal(0, 0).stops, [BACK]);
    assert_eq!(roi.stopped(&at(BACK, TOP - 0x100), &memory, 5), None, "a deeper call returns there");
    let mut kernel = at(BACK, TOP + 8);
    kernel.segments[CS].selector = 0x10;
    assert_eq!(roi.stopped(&kernel, &memory, 5), None);
    assert_eq!(roi.stopped(&at(BACK, TOP + 8), &memory, 5), Some(Change::Ends));
    assert_eq!(roi.goal(0, 0).stops, [0x1000], "it may be called again");
}

#[test]
fn the_entry_point_is_in_the_auxiliary_vector() {
    let memory = memory();
    // Two arguments, one variable, two entries before.
    let words = [2, 1, 1, 0, 1, 0, 6, 4096, 9, 0x5555_0000_1040, 0, 0];
    let bytes: Vec<u8> = words.iter().flat_map(|word: &u64| word.to_le_bytes()).collect();
    memory.write(TOP, &bytes).expect("RAM");
    assert_eq!(entry_point(&at(0, TOP), &memory), Some(0x5555_0000_1040));
    memory.write(TOP + 8 * 8, &7_u64.to_le_bytes()).expect("RAM");
    assert_eq!(entry_point(&at(0, TOP), &memory), None);
}
