//! RDRAND, and what stores lines as a whole.

use super::*;

const GP: u8 = 13;
const HLT: u8 = 0xF4;
const LINE: u64 = DATA + 0x40;

fn run(guest: &mut Guest) -> State {
    let mut cpu = guest.cpu();
    assert_eq!(cpu.run(&mut guest.bus, budget(100)), Exit::Halted);
    cpu.state()
}

#[test]
fn random_numbers_are_the_same_in_every_run_and_go_on_from_a_saved_state() {
    // rdrand rax; rdseed rcx; rdrand edx; rdrand bx; hlt
    let code =
        [0x48, 0x0F, 0xC7, 0xF0, 0x48, 0x0F, 0xC7, 0xF9, 0x0F, 0xC7, 0xF2, 0x66, 0x0F, 0xC7, 0xF3, HLT];
    let fresh = || {
        let mut guest = Guest::new(&code);
        (guest.state.gpr[2], guest.state.gpr[3], guest.state.rflags) = (u64::MAX, u64::MAX, 0x8D6);
        guest
    };
    let (first, second) = (run(&mut fresh()), run(&mut fresh()));
    assert_eq!(first.gpr, second.gpr);
    let [rax, rcx, rdx, rbx] = [0, 1, 2, 3].map(|n| first.gpr[n]);
    assert!(rax != rcx && rdx >> 32 == 0 && rbx >> 16 == u64::MAX >> 16, "{:x?}", first.gpr);
    // CF says that there was one; the other flags are 0.
    assert_eq!(first.rflags & 0x8D5, 1);
    let mut later = fresh();
    later.state.random = first.random;
    assert!(run(&mut later).gpr[0] != rax);
}

#[test]
fn direct_stores_move_a_register_or_a_line() {
    // movdiri [rcx], rdx; movdir64b rax, [rbx]; hlt
    let code = [0x48, 0x0F, 0x38, 0xF9, 0x11, 0x66, 0x0F, 0x38, 0xF8, 0x03, HLT];
    let mut guest = Guest::new(&code);
    let line: Vec<u8> = (1..=64).collect();
    guest.bus.write(DATA + 0x201, &line);
    (guest.state.gpr[0], guest.state.gpr[3]) = (LINE, DATA + 0x201);
    (guest.state.gpr[1], guest.state.gpr[2]) = (DATA + 0x103, 0x1122_3344_5566_7788);
    run(&mut guest);
    assert_eq!(guest.bus.ram[LINE as usize..][..64], line[..]);
    assert_eq!(guest.bus.read_u64(DATA + 0x103), 0x1122_3344_5566_7788);
    // The destination has to be a line.
    guest.state.gpr[0] = LINE + 8;
    expect_vector(&mut guest, GP);
}

#[test]
fn clzero_clears_the_line_around_an_address() {
    let mut guest = Guest::new(&[0x0F, 0x01, 0xFC, HLT]);
    guest.bus.write(DATA, &[0x5A; 256]);
    guest.state.gpr[0] = LINE + 0x2B;
    run(&mut guest);
    assert_eq!(guest.bus.ram[LINE as usize..][..64], [0; 64]);
    let around = [guest.bus.read_u64(LINE - 8), guest.bus.read_u64(LINE + 64)];
    assert_eq!(around, [0x5A5A_5A5A_5A5A_5A5A; 2]);
}
