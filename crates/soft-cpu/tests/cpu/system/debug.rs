//! Breakpoints and single steps. The handler of #DB counts in RBX and keeps the last DR6 in R12 and the
//! address that it returns to in R13.

use super::*;

/// inc rbx; mov rax, dr6; mov r12, rax; mov r13, [rsp]; iretq.
const HANDLER: [u8; 15] =
    [0x48, 0xFF, 0xC3, 0x0F, 0x21, 0xF0, 0x49, 0x89, 0xC4, 0x4C, 0x8B, 0x2C, 0x24, 0x48, 0xCF];
const ALWAYS: u64 = 0xFFFF_0FF0;
const GLOBAL_0: u64 = 0x402;

pub(super) struct Seen {
    pub(super) count: u64,
    dr6: u64,
    rip: u64,
    state: State,
}

/// Runs `code` to its HLT at the end.
#[track_caller]
pub(super) fn run(guest: &mut Guest, code: &[u8]) -> Seen {
    guest.handler(1, &HANDLER);
    guest.bus.write(CODE, code);
    let mut cpu = guest.cpu();
    assert_eq!(cpu.run(&mut guest.bus, budget(1000)), Exit::Halted);
    let state = cpu.state();
    assert_eq!(state.rip, CODE + code.len() as u64, "{state:#x?}");
    Seen { count: state.gpr[3], dr6: state.gpr[12], rip: state.gpr[13], state }
}

#[test]
fn an_instruction_breakpoint_comes_before_its_instruction_and_once() {
    // nop; 1: inc rcx; nop; hlt. With the breakpoint at 1, at the first byte, and where no instruction starts.
    for (address, count) in [(CODE + 1, 1), (CODE, 1), (CODE + 2, 0), (CODE + 4, 1)] {
        let mut guest = Guest::new(&[]);
        guest.state.dr[0] = address;
        guest.state.dr7 = GLOBAL_0;
        let seen = run(&mut guest, &[0x90, 0x48, 0xFF, 0xC1, 0x90, 0xF4]);
        assert_eq!((seen.count, seen.state.gpr[1]), (count, 1), "{address:#x}");
        if count == 1 {
            assert_eq!((seen.rip, seen.dr6), (address, ALWAYS | 1));
        }
    }
}

#[test]
fn an_instruction_breakpoint_in_a_loop_is_hit_each_time_round() {
    // mov ecx, 5; 1: dec ecx; jnz 1b; hlt
    let code = [0xB9, 5, 0, 0, 0, 0xFF, 0xC9, 0x75, 0xFC, 0xF4];
    let mut guest = Guest::new(&[]);
    guest.state.dr[3] = CODE + 7;
    guest.state.dr7 = 0x400 | 1 << 6;
    let seen = run(&mut guest, &code);
    assert_eq!((seen.count, seen.rip, seen.dr6), (5, CODE + 7, ALWAYS | 8));
}

#[test]
fn data_breakpoints_trap_after_the_access() {
    let store = [0x48, 0x89, 0x04, 0x25, 0, 0, 8, 0, 0xF4]; // mov [DATA], rax
    let load = [0x48, 0x8B, 0x04, 0x25, 0, 0, 8, 0, 0xF4]; // mov rax, [DATA]
    let update = [0x48, 0x83, 0x04, 0x25, 0, 0, 8, 0, 1, 0xF4]; // add qword [DATA], 1
    let (write, access) = (1 << 16, 3 << 16);
    let (one, eight) = (0, 2 << 18);
    // (code, DR0, condition and length, hit)
    let table: [(&[u8], u64, u64, bool); 9] = [
        (&store, DATA, write | eight, true),
        (&store, DATA + 7, write | one, true),
        (&store, DATA + 8, write | eight, false),
        // The low bits of the address do not count.
        (&store, DATA + 5, write | eight, true),
        (&load, DATA, write | eight, false),
        (&load, DATA, access | eight, true),
        (&update, DATA, write | eight, true),
        (&store, DATA, access | eight, true),
        // An I/O breakpoint is none on data.
        (&store, DATA, 2 << 16 | eight, false),
    ];
    for (code, address, condition, hit) in table {
        let mut guest = Guest::new(&[]);
        guest.state.cr4 |= 8;
        guest.state.dr[0] = address;
        guest.state.dr7 = GLOBAL_0 | condition;
        let seen = run(&mut guest, code);
        assert_eq!(seen.count, u64::from(hit), "{code:x?} {address:#x} {condition:#x}");
        if hit {
            assert_eq!((seen.rip, seen.dr6), (CODE + code.len() as u64 - 1, ALWAYS | 1));
        }
    }
}

#[test]
fn data_breakpoints_can_be_set_and_cleared_at_run_time() {
    let store = [0x48, 0x89, 0x04, 0x25, 0, 0, 8, 0];
    let mut code = store.to_vec(); // The page is in the TLB now.
    code.extend([0xB8, 0, 0, 8, 0, 0x0F, 0x23, 0xC0]); // mov eax, DATA; mov dr0, rax
    code.extend([0xB8, 2, 4, 9, 0, 0x0F, 0x23, 0xF8]); // mov eax, 0x90402; mov dr7, rax
    code.extend(store);
    code.extend([0x31, 0xC0, 0x0F, 0x23, 0xF8]); // xor eax, eax; mov dr7, rax
    code.extend(store);
    code.push(0xF4);
    let seen = run(&mut Guest::new(&[]), &code);
    assert_eq!((seen.count, seen.rip), (1, CODE + 32));
}

#[test]
fn a_data_breakpoint_stops_a_string_instruction_between_iterations() {
    // mov edi, DATA; mov ecx, 64; rep stosb; hlt. Watched: four bytes at DATA + 8.
    let code = [0xBF, 0, 0, 8, 0, 0xB9, 64, 0, 0, 0, 0xF3, 0xAA, 0xF4];
    let mut guest = Guest::new(&[]);
    guest.state.dr[1] = DATA + 8;
    guest.state.dr7 = 0x400 | 1 << 3 | 0xD << 20;
    let seen = run(&mut guest, &code);
    assert_eq!((seen.count, seen.rip), (4, CODE + 10), "it goes on where it was");
    assert_eq!((seen.state.gpr[1], seen.state.gpr[7]), (0, DATA + 64));
}

#[test]
fn a_single_step_of_a_string_instruction_is_an_iteration() {
    // pushf; pushf; or qword [rsp], 0x100; popf; rep lodsb; popf; hlt
    let code = [0x9C, 0x9C, 0x48, 0x81, 0x0C, 0x24, 0, 1, 0, 0, 0x9D, 0xF3, 0xAC, 0x9D, 0xF4];
    for (count, df) in [(0, 0), (1, 0), (4, 0), (4, 0x400)] {
        let mut guest = Guest::new(&[]);
        guest.state.gpr[1] = count;
        guest.state.gpr[6] = DATA;
        guest.state.rflags |= df;
        let seen = run(&mut guest, &code);
        // The second POPF is a step too.
        assert_eq!((seen.count, seen.state.gpr[1]), (count.max(1) + 1, 0), "{count} iterations, DF {df:#x}");
        assert_eq!((seen.rip, seen.dr6), (CODE + 14, ALWAYS | 1 << 14));
    }
    // Between two of them it returns to the instruction: inc rbx; mov r13, [rsp]; hlt.
    let mut guest = Guest::new(&code);
    guest.handler(1, &[0x48, 0xFF, 0xC3, 0x4C, 0x8B, 0x2C, 0x24, 0xF4]);
    guest.state.gpr[1] = 4;
    guest.state.gpr[6] = DATA;
    let state = expect_vector(&mut guest, 1).state();
    assert_eq!((state.gpr[1], state.gpr[6], state.gpr[13]), (3, DATA + 1, CODE + 11));
}

#[test]
fn port_breakpoints_need_debug_extensions() {
    let code = [0xE6, 0x80, 0xF4]; // out 0x80, al
    for (cr4, address, count) in [(8, 0x80, 1), (0, 0x80, 0), (8, 0x81, 0)] {
        let mut guest = Guest::new(&[]);
        guest.state.cr4 |= cr4;
        guest.state.dr[0] = address;
        guest.state.dr7 = GLOBAL_0 | 2 << 16;
        assert_eq!(run(&mut guest, &code).count, count, "CR4.DE {cr4} port {address:#x}");
    }
}

#[test]
fn traps_of_mov_ss_wait_for_the_next_instruction() {
    // mov ss, [DATA]; then INT1, which takes the trap with it, or NOP, which is followed by it.
    for (next, rip) in [(0xF1, CODE + 8), (0x90, CODE + 8)] {
        let mut guest = Guest::new(&[]);
        guest.bus.write_u64(DATA, 0x10);
        guest.state.dr[2] = DATA;
        guest.state.dr7 = 0x400 | 1 << 5 | 7 << 24;
        let seen = run(&mut guest, &[0x8E, 0x14, 0x25, 0, 0, 8, 0, next, 0xF4]);
        assert_eq!((seen.count, seen.rip, seen.dr6), (1, rip, ALWAYS | 4), "{next:#x}");
    }
}

/// With DEBUGCTL.BTF a step ends with a taken branch: not with an instruction, an iteration or a branch not taken.
#[test]
fn single_steps_end_with_taken_branches_if_the_bus_says_so() {
    // pushf; or qword [rsp], 0x100; popf; nop; jmp 1f; 1: jnz +0 (not taken); rep lodsb; call 2f; 2: hlt
    let code = [
        0x9C, 0x48, 0x81, 0x0C, 0x24, 0, 1, 0, 0, 0x9D, 0x90, 0xEB, 0, 0x75, 0, 0xF3, 0xAC, 0xE8, 0, 0, 0, 0,
        0xF4,
    ];
    let mut guest = Guest::new(&[]);
    guest.bus.steps_on_branches = true;
    guest.bus.wanted_branches = u8::MAX;
    guest.state.gpr[1] = 4;
    guest.state.gpr[6] = DATA;
    guest.state.rflags |= 0x40;
    let seen = run(&mut guest, &code);
    assert_eq!((seen.count, seen.rip, seen.dr6), (2, CODE + 22, ALWAYS | 1 << 14));
    assert_eq!(seen.state.gpr[1], 0, "REP is one step");
    // JMP, IRETQ, CALL, IRETQ: #DB itself is no branch.
    assert_eq!(guest.bus.deliveries, [("#DB", 1), ("#DB", 3)]);
    assert_eq!(guest.bus.branches.len(), 4);
}

/// The bus hears of each exception and of INT n, after the branches before it and before the one that it is.
#[test]
fn interrupts_are_told_between_branches() {
    // jmp +0; ud2 (the handler steps over it); int3; hlt
    let mut guest = Guest::new(&[]);
    guest.bus.wanted_branches = u8::MAX;
    guest.handler(6, &[0x48, 0x83, 0x04, 0x24, 2, 0x48, 0xCF]);
    guest.handler(3, &[0x48, 0xCF]);
    run(&mut guest, &[0xEB, 0, 0x0F, 0x0B, 0xCC, 0xF4]);
    // JMP, #UD, IRETQ, INT3, IRETQ.
    assert_eq!(guest.bus.deliveries, [("interrupt", 1), ("interrupt", 3)]);
    assert_eq!(guest.bus.branches.len(), 5);
}

#[test]
fn a_single_step_is_lost_in_int_and_ends_hlt() {
    let stepping = |code: &[u8], instructions: u64| {
        let mut guest = Guest::new(&[]);
        guest.handler(3, &[0x48, 0xCF]);
        guest.state.rflags |= 1 << 8;
        guest.handler(1, &HANDLER);
        guest.bus.write(CODE, code);
        let mut cpu = guest.cpu();
        assert_eq!(cpu.run(&mut guest.bus, budget(instructions)), Exit::Budget);
        cpu.state()
    };
    // INT3 and IRETQ: no trap for INT3, none for the IRETQ that restores TF; then one for the NOP.
    let state = stepping(&[0xCC, 0x90, 0x90, 0xF4], 8);
    assert_eq!((state.gpr[3], state.gpr[13]), (1, CODE + 2));
    // HLT, then the trap, which wakes the CPU.
    let state = stepping(&[0xF4, 0x90, 0x90, 0x90], 11);
    assert_eq!((state.gpr[3], state.gpr[13], state.halted), (2, CODE + 2, false));
}

#[test]
fn dr7_has_no_reserved_bits() {
    // All but general detect, which would stop the read.
    let mut code = vec![0xB8, 0xFF, 0xDF, 0xFF, 0xFF, 0x0F, 0x23, 0xF8]; // mov eax, ~(1 << 13); mov dr7, rax
    code.extend([0x0F, 0x21, 0xF9, 0xF4]); // mov rcx, dr7; hlt
    let mut guest = Guest::new(&[]);
    guest.state.dr = [0x10; 4];
    assert_eq!(run(&mut guest, &code).state.gpr[1], 0xFFFF_07FF);
}
