//! How runs end.

use super::super::exit::Exit;
use super::*;

#[test]
fn an_endless_loop_times_out() {
    let Some(mut guest) = Guest::protected(&[0xEB, 0xFE]) else { return }; // jmp $
    assert_eq!(guest.run_for(Duration::from_millis(30)), Outcome::TimedOut);
    assert_eq!(guest.register("rip"), CODE);
}

#[test]
fn an_endless_loop_of_exits_times_out() {
    let code = [
        0xE4, 0x80, // 1: in al, 0x80
        0xEB, 0xFC, // jmp 1b
    ];
    let Some(mut guest) = Guest::protected(&code) else { return };
    assert_eq!(guest.run_for(Duration::from_millis(30)), Outcome::TimedOut);
    assert!(guest.exits("io") > 1);
}

#[test]
fn an_exception_without_an_idt_is_a_triple_fault() {
    let Some(mut guest) = Guest::protected(&[0x0F, 0x0B]) else { return }; // ud2
    assert_eq!(guest.run(), Outcome::TripleFault);
}

#[test]
fn hlt_with_interrupts_off_is_the_end() {
    let Some(mut guest) = Guest::protected(&[0xF4]) else { return }; // hlt
    assert_eq!(guest.run(), Outcome::Halted);
}

#[test]
fn hlt_with_nothing_to_wait_for_is_the_end() {
    let Some(mut guest) = Guest::protected(&[0xFB, 0xF4]) else { return }; // sti; hlt
    assert_eq!(guest.run(), Outcome::Halted);
    assert_eq!(guest.register("rip"), CODE + 2);
}

/// A string instruction is where it was until KVM is entered again.
#[test]
fn the_exit_instruction_is_complete_when_the_run_ends() {
    let code = concat(&[
        &[0xBE], // mov esi, CODE
        &(CODE as u32).to_le_bytes(),
        &[0x66, 0xBA, 0xF4, 0x00], // mov dx, 0xF4
        &[0x6E],                   // outsb
        &[0xF4],                   // hlt
    ]);
    let Some(mut guest) = Guest::protected(&code) else { return };
    guest.exits_with(0xBE);
    assert_eq!((guest.register("rip"), guest.register("rsi")), (CODE + 10, CODE + 1));
}

#[test]
fn an_answered_rdmsr_can_be_completed_without_running_on() {
    let code = [
        0xB9, 0xC1, 0x00, 0x00, 0x00, // mov ecx, 0xC1
        0x0F, 0x32, // rdmsr
        0xF4, // hlt
    ];
    let Some(mut guest) = Guest::protected(&code) else { return };
    let vcpu = &mut guest.engine.vcpu;
    assert_eq!(vcpu.run().unwrap(), Exit::Rdmsr { index: 0xC1 });
    vcpu.answer_msr(Some(0x77));
    assert_eq!(vcpu.regs().rip, CODE + 5);
    vcpu.complete().unwrap();
    assert_eq!((vcpu.regs().rip, vcpu.regs().rax), (CODE + 7, 0x77));
}

#[test]
fn the_register_dump_shows_the_code_at_rip() {
    let code = [0xBB, 0x78, 0x56, 0x34, 0x12, 0xF4, 0x90]; // mov ebx, 0x12345678; hlt; nop
    let Some(mut guest) = Guest::protected(&code) else { return };
    assert_eq!(guest.run(), Outcome::Halted);
    assert_eq!(guest.register("rbx"), 0x1234_5678);
    assert_eq!(guest.engine.registers(&guest.machine).code[0], 0x90);
}
