//! The protocol as GDB speaks it, over a connection to a guest of a few instructions.

mod arm;

use super::*;
use crate::engine::{Debugging as _, Detail, Engine, RunLimits};
use crate::machine::Outcome;
use crate::test_code::wrmsr;
use crate::test_guest::{CODE, Guest};
use platform::x86::apic::ApicConfig;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread::JoinHandle;
use std::time::Duration;

const DATA: u32 = 0x2000;

/// What a run left behind.
#[derive(Debug, PartialEq, Eq)]
struct Ran {
    outcome: Outcome,
    instructions: Option<u64>,
    trace: String,
    now: u64,
}

/// Counts down in EBX from 100, stores each number, and ends with 0; a PMU counter runs meanwhile.
fn program() -> Vec<u8> {
    let mut code = wrmsr(0x38D, 0xB);
    code.extend(wrmsr(0x38F, 1 << 32));
    code.extend([0xBB, 100, 0, 0, 0]); //           mov ebx, 100
    code.extend([0x89, 0x1D, 0, 0x20, 0, 0]); // 1: mov [0x2000], ebx
    code.push(0x4B); //                             dec ebx
    code.extend([0x75, 0xF7]); //                   jnz 1b
    code.extend(wrmsr(0x38F, 0));
    code.extend([0xB9, 9, 3, 0, 0, 0x0F, 0x32]); // mov ecx, 0x309; rdmsr
    code.extend([0x31, 0xC0, 0xE6, 0xF4]); //       xor eax, eax; out 0xf4, al
    code
}

/// Address of the loop: behind two WRMSRs and a MOV.
const LOOP: u32 = CODE + 2 * 17 + 5;
/// Of the DEC in it.
const DEC: u32 = LOOP + 6;

fn run(code: &[u8], detail: Detail, gdb: Option<GdbServer>, stop: &StopRequest) -> Ran {
    let Guest { mut engine, mut machine, trace } = Guest::with(code, detail, ApicConfig::default());
    machine.set_stop_request(stop.clone());
    if let Some(gdb) = gdb {
        engine.attach(gdb.into_debugger::<Guest64>(stop.clone()));
    }
    let limits = RunLimits { timeout: Duration::from_secs(60) };
    let outcome = engine.run(&mut machine, limits).expect("the engine does not fail");
    machine.pmu.finish_trace().expect("the trace goes to memory");
    Ran { outcome, instructions: engine.report().instructions, trace: trace.text(), now: machine.now().0 }
}

/// GDB's side of a connection.
struct Client {
    stream: TcpStream,
    guest: JoinHandle<Ran>,
}

/// Starts a guest that waits for GDB, and connects.
fn debug(code: Vec<u8>, detail: Detail, stop: &StopRequest) -> Client {
    let stop = stop.clone();
    connect(move |server| run(&code, detail, Some(server), &stop))
}

/// Connects to a guest that waits for GDB.
fn connect(run: impl FnOnce(GdbServer) -> Ran + Send + 'static) -> Client {
    let server = GdbServer::listen("0", true).expect("a free port");
    let address = server.address();
    let guest = std::thread::spawn(move || run(server));
    let stream = TcpStream::connect(address).expect("the stub listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a time-out");
    Client { stream, guest }
}

impl Client {
    fn byte(&mut self) -> u8 {
        let mut byte = [0];
        self.stream.read_exact(&mut byte).expect("the stub answers");
        byte[0]
    }

    fn send(&mut self, packet: &str) {
        let sum = packet.bytes().fold(0_u8, u8::wrapping_add);
        write!(self.stream, "${packet}#{sum:02x}").expect("the stub reads");
    }

    /// The next packet, acknowledged, with runs of equal characters written out.
    fn receive(&mut self) -> String {
        while self.byte() != b'$' {}
        let mut text = String::new();
        loop {
            match self.byte() {
                b'#' => break,
                b'*' => {
                    let count = usize::from(self.byte()) - 29;
                    let last = text.chars().last().expect("a character to repeat");
                    text.extend(std::iter::repeat_n(last, count));
                }
                byte => text.push(char::from(byte)),
            }
        }
        let _ = (self.byte(), self.byte());
        self.stream.write_all(b"+").expect("the stub reads");
        text
    }

    fn ask(&mut self, packet: &str) -> String {
        self.send(packet);
        self.receive()
    }

    /// A register by GDB's number, of up to eight bytes.
    fn register(&mut self, number: usize) -> u64 {
        number_of(&self.ask(&format!("p{number:x}")))
    }

    /// What the stub says of the registers.
    fn description(&mut self) -> String {
        let mut description = String::new();
        loop {
            let part = self.ask(&format!("qXfer:features:read:target.xml:{:x},800", description.len()));
            description += &part[1..];
            if part.starts_with('l') {
                return description;
            }
        }
    }

    fn rip(&mut self) -> u64 {
        self.register(16)
    }

    fn end(self) -> Ran {
        self.guest.join().expect("the guest's thread ends")
    }
}

/// Little-endian hexadecimal bytes.
fn number_of(text: &str) -> u64 {
    let byte = |at: usize| u64::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal");
    (0..text.len()).step_by(2).rev().fold(0, |value, at| value << 8 | byte(at))
}

const EBX: usize = 1;
const EFER: usize = 64;
const XMM0: usize = 40;

#[test]
fn breakpoints_steps_and_watchpoints_leave_counts_and_trace_as_they_are() {
    for detail in [Detail::Counts, Detail::Timing] {
        let stop = StopRequest::default();
        let alone = run(&program(), detail, None, &stop);
        assert_eq!(alone.outcome, Outcome::Exit { status: 1 });
        let mut gdb = debug(program(), detail, &stop);
        assert!(gdb.ask("?").starts_with("T05"));
        assert_eq!(gdb.rip(), u64::from(CODE), "before the first instruction");
        // A software breakpoint, twice.
        assert_eq!(gdb.ask(&format!("Z0,{DEC:x},1")), "OK");
        for ebx in [100, 99] {
            assert!(gdb.ask("c").contains("swbreak"));
            assert_eq!((gdb.rip(), gdb.register(EBX)), (u64::from(DEC), ebx));
        }
        assert_eq!(gdb.ask(&format!("m{CODE:x},2")), "b98d", "nothing is patched");
        assert_eq!(gdb.ask(&format!("m{DEC:x},1")), "4b", "nothing is patched");
        assert_eq!(gdb.ask(&format!("z0,{DEC:x},1")), "OK");
        // Steps: DEC, JNZ, MOV.
        for rip in [DEC + 1, LOOP, DEC] {
            assert!(gdb.ask("s").starts_with("S05"));
            assert_eq!(gdb.rip(), u64::from(rip));
        }
        // The range of the loop's last two instructions.
        assert!(gdb.ask(&format!("vCont;r{DEC:x},{:x}:1", DEC + 3)).starts_with("S05"));
        assert_eq!(gdb.rip(), u64::from(LOOP));
        // A watchpoint stops behind the MOV.
        assert_eq!(gdb.ask(&format!("Z2,{DATA:x},4")), "OK");
        let stopped = gdb.ask("c");
        assert!(stopped.contains(&format!("watch:{DATA:x}")), "{stopped}");
        assert_eq!((gdb.rip(), gdb.ask(&format!("m{DATA:x},4"))), (u64::from(DEC), "61000000".to_owned()));
        assert_eq!(gdb.ask(&format!("z2,{DATA:x},4")), "OK");
        // A hardware breakpoint behind the loop.
        assert_eq!(gdb.ask(&format!("Z1,{:x},1", DEC + 3)), "OK");
        assert!(gdb.ask("c").contains("hwbreak"));
        assert_eq!(gdb.register(EBX), 0);
        assert_eq!(gdb.ask("c"), "W00");
        assert_eq!(gdb.end(), alone, "{detail:?}");
    }
}

#[test]
fn registers_and_memory_can_be_read_and_written() {
    let stop = StopRequest::default();
    let mut gdb = debug(program(), Detail::Counts, &stop);
    let description = gdb.description();
    assert!(description.contains("org.gnu.gdb.i386.sse") && description.contains("fs_base"), "{description}");
    let all = gdb.ask("g");
    assert_eq!(all.len(), 2 * 0x218);
    assert_eq!(number_of(&all[2 * 0x80..2 * 0x88]), u64::from(CODE), "RIP");
    assert_eq!(gdb.ask(&format!("P{XMM0:x}=000102030405060708090a0b0c0d0e0f")), "OK");
    assert_eq!(gdb.ask(&format!("p{XMM0:x}")), "000102030405060708090a0b0c0d0e0f");
    assert_eq!(gdb.ask("P11=d7080000"), "OK", "EFLAGS");
    assert_eq!(gdb.register(17), 0x8D7);
    assert!(gdb.ask(&format!("P{EFER:x}=0000000000000000")).starts_with('E'), "the guest's alone");
    // Another number to count from: the operand of the MOV, whose block has been decoded.
    assert_eq!(gdb.ask(&format!("Z0,{LOOP:x},1")), "OK");
    assert!(gdb.ask("c").contains("swbreak"));
    assert_eq!(gdb.ask(&format!("M{:x},4:03000000", LOOP - 4)), "OK");
    assert_eq!(gdb.ask(&format!("P10={:02x}10000000000000", (LOOP - 5) as u8)), "OK", "RIP");
    assert!(gdb.ask("c").contains("swbreak"));
    assert_eq!(gdb.register(EBX), 3);
    // The page behind the RAM.
    assert!(gdb.ask("m400000,4").starts_with('E'));
    assert_eq!(gdb.ask("mffffe,2").len(), 4);
    assert_eq!(gdb.ask(&format!("z0,{LOOP:x},1")), "OK");
    assert_eq!(gdb.ask("c"), "W00");
    assert_eq!(gdb.end().outcome, Outcome::Exit { status: 1 });
}

/// `jmp` to itself.
const HANG: [u8; 2] = [0xEB, 0xFE];

#[test]
fn ctrl_c_stops_the_guest_and_k_kills_it() {
    let stop = StopRequest::default();
    let mut gdb = debug(HANG.to_vec(), Detail::Counts, &stop);
    for _ in 0..2 {
        gdb.send("c");
        gdb.stream.write_all(&[3]).expect("the stub reads");
        assert!(gdb.receive().starts_with("S02"));
        assert_eq!(gdb.rip(), u64::from(CODE));
    }
    gdb.send("k");
    assert_eq!(gdb.end().outcome, Outcome::Interrupted { signal: 9 });
}

#[test]
fn a_debugger_that_goes_lets_the_guest_go_on() {
    let stop = StopRequest::default();
    let alone = run(&program(), Detail::Counts, None, &stop);
    for detach in [true, false] {
        let mut gdb = debug(program(), Detail::Counts, &stop);
        assert_eq!(gdb.ask(&format!("Z0,{DEC:x},1")), "OK");
        assert!(gdb.ask("c").contains("swbreak"));
        if detach {
            assert_eq!(gdb.ask("D"), "OK");
        } else {
            gdb.stream.shutdown(std::net::Shutdown::Both).expect("it is open");
        }
        assert_eq!(gdb.end(), alone);
    }
}

#[test]
fn a_crash_can_be_looked_at() {
    let stop = StopRequest::default();
    let mut gdb = debug(vec![0x90, 0x0F, 0x0B], Detail::Counts, &stop); // nop; ud2, without an IDT
    assert!(gdb.ask("c").starts_with("S0b"));
    assert_eq!(gdb.rip(), u64::from(CODE) + 1);
    assert_eq!(gdb.ask("c"), "X0b");
    assert_eq!(gdb.end().outcome, Outcome::TripleFault);
}

#[test]
fn a_request_to_stop_ends_the_wait_for_gdb() {
    let stop = StopRequest::default();
    stop.request(2);
    let server = GdbServer::listen("0", true).expect("a free port");
    assert_eq!(run(&HANG, Detail::Counts, Some(server), &stop).outcome, Outcome::Interrupted { signal: 2 });
}

#[test]
fn gdb_may_connect_while_the_guest_runs() {
    let stop = StopRequest::default();
    let server = GdbServer::listen("tcp::0", false).expect("a free port");
    let address = server.address();
    let own = stop.clone();
    let guest = std::thread::spawn(move || run(&HANG, Detail::Counts, Some(server), &own));
    let stream = TcpStream::connect(address).expect("the stub listens");
    let mut gdb = Client { stream, guest };
    assert!(gdb.ask("?").starts_with("T05"));
    assert_eq!(gdb.rip(), u64::from(CODE));
    gdb.send("c");
    stop.request(15);
    assert_eq!(gdb.end().outcome, Outcome::Interrupted { signal: 15 });
}

#[test]
fn addresses_are_those_of_qemu() {
    for address in ["0", ":0", "127.0.0.1:0", "tcp::0", "tcp:127.0.0.1:0"] {
        let server = GdbServer::listen(address, false).expect(address);
        assert!(server.address().ip().is_loopback(), "{address}");
        let taken = GdbServer::listen(&server.address().to_string(), false);
        assert!(matches!(taken, Err(GdbError::Listen { .. })), "{taken:?}");
    }
    for wrong in ["", "x", "localhost", "1:2:x", "70000"] {
        assert!(matches!(GdbServer::listen(wrong, false), Err(GdbError::Address(_))), "{wrong}");
    }
}
