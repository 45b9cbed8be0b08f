//! Which instruction a precise sample is about, and what memory it accessed.

use super::*;
use soft_cpu::Sampled;

/// Runs instruction by instruction; what each was.
fn steps(guest: &mut Guest, count: usize) -> Vec<Option<Sampled>> {
    let mut cpu = guest.cpu();
    cpu.set_sampling(true);
    (0..count)
        .map(|_| {
            let _ = cpu.run(&mut guest.bus, budget(1));
            cpu.sampled()
        })
        .collect()
}

#[test]
fn a_run_of_one_instruction_knows_which_it_was_and_its_data() {
    let code = code! {
        mov(rbx, DATA);
        mov(rbx, qword_ptr(rbx + 0x10));
        push(rbx);
        add(dword_ptr(DATA + 8), 1);
        nop()
    };
    let lengths = [10, 4, 1, 8, 1];
    assert_eq!(code.len(), lengths.iter().sum::<usize>());
    let mut at = CODE;
    let mut expected = Vec::new();
    // The second loads the register that its address is made of; PUSH has an implicit operand.
    for (length, data) in
        lengths.into_iter().zip([None, Some(DATA + 0x10), Some(STACK - 8), Some(DATA + 8), None])
    {
        expected.push(Some(Sampled { rip: at, data }));
        at += length as u64;
    }
    let mut guest = Guest::new(&code);
    guest.state.gpr[4] = STACK;
    assert_eq!(steps(&mut guest, 5), expected);
}

#[test]
fn after_an_exception_it_is_the_handlers_first_instruction() {
    // ud2; its handler is a HLT, which retires.
    let mut guest = Guest::new(&[0x0F, 0x0B]);
    let handler = HANDLERS + 6 * 16;
    assert_eq!(steps(&mut guest, 1), [Some(Sampled { rip: handler, data: None })]);
}

#[test]
fn longer_runs_remember_nothing() {
    let mut guest = Guest::new(&[0x90, 0x90, 0x90]);
    let mut cpu = guest.cpu();
    cpu.set_sampling(true);
    let _ = cpu.run(&mut guest.bus, budget(2));
    assert_eq!(cpu.sampled(), None);
}
