//! Which instruction a precise sample is about, and what memory it accessed.

use super::*;
use soft_cpu::{Sampled, Sampling};

/// Runs instruction by instruction; what each was.
fn samples(guest: &mut Guest, count: usize) -> Vec<Option<Sampled>> {
    let mut cpu = guest.cpu();
    cpu.set_sampling(Sampling::All);
    (0..count)
        .map(|_| {
            let _ = cpu.run(&mut guest.bus, budget(1));
            cpu.sampled()
        })
        .collect()
}

/// Where each was, and its data.
fn steps(guest: &mut Guest, count: usize) -> Vec<Option<(u64, Option<u64>)>> {
    let brief = |sampled: Sampled| (sampled.rip, sampled.data.map(|data| data.address));
    samples(guest, count).into_iter().map(|sampled| sampled.map(brief)).collect()
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
        expected.push(Some((at, data)));
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
    assert_eq!(steps(&mut guest, 1), [Some((handler, None))]);
}

#[test]
fn longer_runs_remember_the_last_instruction_of_their_budgets() {
    let mut guest = Guest::new(&code! { nop(); nop(); mov(rbx, qword_ptr(DATA)); nop(); hlt() });
    let mut cpu = guest.cpu();
    cpu.set_sampling(Sampling::All);
    let _ = cpu.run(&mut guest.bus, budget(3));
    let sampled = cpu.sampled().expect("it retires");
    assert_eq!((sampled.rip, sampled.data.map(|data| data.address)), (CODE + 2, Some(DATA)));
    // It ends before its budget does.
    assert_eq!(cpu.run(&mut guest.bus, budget(3)), Exit::Halted);
    assert_eq!(cpu.sampled(), None);
}

#[test]
fn where_only_the_address_is_wanted_nothing_else_is_worked_out() {
    let code = code! { nop(); mov(rbx, qword_ptr(DATA)) };
    let mut guest = Guest::new(&code);
    let mut cpu = guest.cpu();
    cpu.set_sampling(Sampling::Address);
    for rip in [CODE, CODE + 1] {
        let _ = cpu.run(&mut guest.bus, budget(1));
        let sampled = cpu.sampled().expect("it retires");
        assert_eq!((sampled.rip, sampled.linear, sampled.length, sampled.data), (rip, rip, 0, None));
    }
    cpu.set_sampling(Sampling::Off);
    let _ = cpu.run(&mut guest.bus, budget(1));
    assert_eq!(cpu.sampled(), None);
}

#[test]
fn it_says_what_the_access_and_the_branch_are() {
    let code = code! {
        mov(rbx, DATA);
        db(&[0xF0, 0x66, 0x83, 0x03, 0x01]);
        xchg(qword_ptr(rbx + 8), rax);
        mov(byte_ptr(rbx + 3), al);
        movups(xmm0, xmmword_ptr(rbx));
        prefetcht0(byte_ptr(rbx));
        call(CODE + 40)
    };
    let mut guest = Guest::new(&code);
    guest.state.gpr[4] = STACK;
    let found: Vec<_> =
        samples(&mut guest, 7).into_iter().map(|sampled| sampled.expect("it retires")).collect();
    let access = |n: usize| {
        let data = found[n].data.expect("it accesses memory");
        (data.bytes, data.load, data.store, data.locked, data.prefetch)
    };
    assert_eq!(found[0].data, None);
    assert_eq!(access(1), (2, true, true, true, false), "LOCK ADD");
    assert_eq!(access(2), (8, true, true, true, false), "XCHG");
    assert_eq!(access(3), (1, false, true, false, false), "MOV");
    assert_eq!(access(4), (16, true, false, false, false), "MOVUPS");
    assert_eq!((access(5).1, access(5).2, access(5).4), (false, false, true), "PREFETCHT0");
    assert_eq!(access(6), (8, false, true, false, false), "CALL");
    assert_eq!(found[5].branch, None);
    assert_eq!(found[6].branch, Some(retire::BranchKind::DirectCall));
    // Identity-mapped, by large pages or small ones.
    for sampled in found {
        assert_eq!(sampled.physical.map(|place| place.address), Some(sampled.linear));
    }
}
