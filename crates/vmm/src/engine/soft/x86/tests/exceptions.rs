//! Exceptions and interrupts: the trace, and why a guest crashed.

use super::*;
use crate::machine::exceptions::Details;
use crate::machine::exceptions::{Cause, ExceptionTracer, MsrAccess};
use serde_json::{Value, json};

const IDT: u64 = 0x3000;
const GDT: u64 = 0x4000;
const STACK: u64 = 0x8000;
const HANDLERS: u32 = CODE + 0x400;

/// A guest with a GDT, a stack and an IDT of these handlers, 32 bytes each from [`HANDLERS`] on.
fn guest(code: &[u8], handlers: &[(u8, &[u8])], detail: Detail) -> Guest {
    let mut guest = Guest::with_detail(code, detail);
    let memory = guest.machine.memory.clone();
    for (n, (vector, handler)) in handlers.iter().enumerate() {
        let at = u64::from(HANDLERS) + n as u64 * 32;
        memory.write(at, handler).expect("RAM");
        let gate = at | 8 << 16 | 0x8E00 << 32;
        memory.write(IDT + u64::from(*vector) * 8, &gate.to_le_bytes()).expect("RAM");
    }
    memory.write(GDT + 8, &0x00CF_9B00_0000_FFFF_u64.to_le_bytes()).expect("RAM");
    guest.engine.state.idtr = DescriptorTable { base: IDT, limit: 0x7FF };
    guest.engine.state.gdtr = DescriptorTable { base: GDT, limit: 0xF };
    guest.engine.state.gpr[4] = STACK;
    guest
}

fn cause(guest: &Guest, outcome: &Outcome) -> Option<Cause> {
    let code = |rip| guest.engine.instruction_at(&guest.machine, rip);
    guest.machine.exceptions.cause(outcome, guest.machine.pmu.profile(), code)
}

#[test]
fn a_triple_fault_names_the_rule_that_a_pmu_access_broke() {
    let code = wrmsr(0x38F, 1 << 8);
    let at = u64::from(CODE) + code.len() as u64 - 2;
    for detail in [Detail::Counts, Detail::Timing] {
        let mut guest = guest(&code, &[], detail);
        assert_eq!(guest.run(), Outcome::TripleFault);
        let cause = cause(&guest, &Outcome::TripleFault).expect("a cause");
        let chain: Vec<_> = cause
            .exceptions
            .iter()
            .map(|raised| (raised.title.as_str(), raised.delivery_raised.as_deref()))
            .collect();
        let expected = [
            ("#GP(0x0)", Some("#GP(0x6b: IDT gate 13 (#GP))")),
            ("#DF(0x0)", Some("#GP(0x43: IDT gate 8 (#DF))")),
        ];
        assert_eq!(chain, expected);
        let first = &cause.exceptions[0];
        assert!(matches!(first.details, Details::X86 { rip, cpl: 0, .. } if rip == at), "{first:?}");
        assert_eq!(first.instruction.as_deref(), Some("wrmsr"));
        let rule = "WRMSR IA32_PERF_GLOBAL_CTRL (0x38f) = 0x100: reserved bits 0x100 are set";
        assert_eq!(first.refused.as_deref(), Some(rule));
    }
}

#[test]
fn a_guest_that_halts_in_a_handler_has_its_newest_exception() {
    let code = [0x31, 0xC9, 0xF7, 0xF1]; //         xor ecx, ecx; div ecx
    let mut guest = guest(&code, &[(0, &[0xFA, 0xF4])], Detail::Counts); // cli; hlt
    assert_eq!(guest.run(), Outcome::Halted);
    let cause = cause(&guest, &Outcome::Halted).expect("a cause");
    let [divide] = &cause.exceptions[..] else { panic!("{cause:?}") };
    assert_eq!((divide.title.as_str(), divide.instruction.as_deref()), ("#DE", Some("div %ecx")));
}

/// INT 0x80, UD2 that its handler skips, a timer interrupt, and an NMI gate that is missing.
fn busy() -> Vec<u8> {
    let mut code = vec![0xCD, 0x80]; //             int 0x80
    code.extend([0x0F, 0x0B]); //                   ud2
    code.extend(wrmsr(0x1B, 0xFEE0_0D00)); //       x2APIC
    code.extend(wrmsr(0x80F, 0x1FF)); //            spurious vector, enabled
    code.extend(wrmsr(0x832, 0x30)); //             timer, one-shot
    code.extend(wrmsr(0x838, 25_000)); //           initial count: 50 µs
    code.extend([0xFB, 0xF4]); //                   sti; hlt
    code.extend(wrmsr(0x830, 4 << 8 | 1 << 18)); // NMI to itself
    code.push(0x90); //                             nop
    code
}

fn traced(detail: Detail) -> (Vec<Value>, String) {
    const IRET: &[u8] = &[0xCF];
    const SKIP: &[u8] = &[0x83, 0x04, 0x24, 2, 0xCF]; // add dword [esp], 2; iret
    let mut guest = guest(&busy(), &[(0x80, IRET), (6, SKIP), (0x30, IRET)], detail);
    // The gate of INT 0x80 is for everybody.
    guest.machine.memory.write(IDT + 0x80 * 8 + 5, &[0xEE]).expect("RAM");
    let lines = Capture::new(1 << 16);
    guest.machine.exceptions.set_tracer(Some(ExceptionTracer::new(Box::new(lines.clone()))));
    assert_eq!(guest.run(), Outcome::TripleFault);
    guest.machine.exceptions.finish_trace().expect("the trace goes to memory");
    let text = lines.text();
    (text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect(), text)
}

#[test]
fn the_trace_has_every_exception_and_interrupt() {
    for detail in [Detail::Counts, Detail::Timing] {
        let (lines, text) = traced(detail);
        let column = |key: &str| lines.iter().map(|line| line[key].clone()).collect::<Vec<_>>();
        assert_eq!(
            column("event"),
            ["software", "exception", "interrupt", "nmi", "exception", "exception"],
            "{text}"
        );
        assert_eq!(column("vector"), [0x80, 6, 0x30, 2, 13, 8], "{text}");
        assert_eq!(column("instructions")[..2], [0, 2], "INT and IRET");
        assert_eq!(lines[0]["rip"], "0x1000");
        assert_eq!(lines[0]["handler"], json!({"cpl": 0, "cs": "0x8", "rip": "0x1400"}));
        assert_eq!((&lines[1]["name"], &lines[1]["rip"]), (&json!("#UD"), &json!("0x1002")));
        assert!(lines[2]["t_ns"].as_u64() >= Some(50_000), "{text}");
        let nmi = &lines[3];
        assert_eq!((&nmi["handler"], &nmi["name"]), (&Value::Null, &Value::Null));
        assert_eq!(nmi["delivery_raised"], "#GP(0x13: IDT gate 2 (NMI))");
        assert_eq!((&lines[4]["error"], &lines[4]["meaning"]), (&json!("0x13"), &json!("IDT gate 2 (NMI)")));
    }
}

#[test]
fn the_trace_repeats_byte_for_byte() {
    for detail in [Detail::Counts, Detail::Timing] {
        assert_eq!(traced(detail).1, traced(detail).1);
    }
}

#[test]
fn unknown_msrs_say_where_they_were_accessed_first() {
    const SKIP: &[u8] = &[0x83, 0xC4, 4, 0x83, 0x04, 0x24, 2, 0xCF]; // add esp, 4; add dword [esp], 2; iret
    let mut code = wrmsr(0xC000_1234, 0x55);
    code.extend([0x0F, 0x32]); //                   rdmsr
    code.extend([0xB9, 0, 0, 1, 0]); //             mov ecx, 0x10000
    let scan = code.len() as u32;
    code.extend([0x0F, 0x32]); //                   1: rdmsr
    code.push(0x41); //                             inc ecx
    code.extend([0x81, 0xF9, 80, 0, 1, 0]); //      cmp ecx, 0x10000 + 80
    code.extend([0x75, 0xF5]); //                   jne 1b
    code.extend(EXIT);
    let mut guest = guest(&code, &[(13, SKIP)], Detail::Counts);
    assert!(matches!(guest.run(), Outcome::Exit { .. }));
    let unknown = guest.machine.unknown_msrs();
    assert_eq!((unknown.seen.len(), unknown.further_accesses), (64, 80 - 63));
    let first = unknown.seen[0];
    assert_eq!((first.count, first.rip), (2, Some(u64::from(CODE) + 15)));
    assert_eq!(first.first, MsrAccess::Wrmsr { index: 0xC000_1234, value: 0x55 });
    assert_eq!(unknown.seen[1].rip, Some(u64::from(CODE + scan)));
    guest.machine.pmu.finish_trace().expect("the trace goes to memory");
    let trace = guest.trace.text();
    assert_eq!(trace.lines().count(), 82, "the trace has all");
    let line: Value = serde_json::from_str(trace.lines().next().expect("a line")).expect("JSON");
    assert_eq!((&line["op"], &line["value"]), (&json!("wrmsr"), &json!("0x55")));
    assert_eq!((&line["fault"], &line["rip"]), (&json!("this MSR is not implemented"), &json!("0x100f")));
}
