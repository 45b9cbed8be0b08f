//! Looking into guests: real GDB (skipped where it is not installed), and the trace of exceptions.

mod support;

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};
use support::{BASE, Ran, TempFile, command, flat_image, json, vpmu};

/// Where the code starts in the file and, from [`BASE`], in memory.
const START: u32 = 0x100;

/// An ELF64 image with a PVH entry point at its first byte of code, and these symbols `(name, offset in the code)`.
fn elf_with_symbols(code: &[u8], symbols: &[(&str, u64)]) -> Vec<u8> {
    let base = u64::from(BASE);
    let entry = base + u64::from(START);
    let mut strings = vec![0];
    let mut table = vec![0; 24];
    for (name, offset) in symbols {
        table.extend((strings.len() as u32).to_le_bytes());
        // A global function of section 1.
        table.extend([0x12, 0, 1, 0]);
        table.extend((entry + offset).to_le_bytes());
        table.extend(0_u64.to_le_bytes());
        strings.extend(name.bytes().chain([0]));
    }
    let section_names = b"\0.text\0.symtab\0.strtab\0.shstrtab\0";
    let code_end = u64::from(START) + code.len() as u64;
    let table_at = code_end.next_multiple_of(8);
    let strings_at = table_at + table.len() as u64;
    let names_at = strings_at + strings.len() as u64;
    let headers_at = (names_at + section_names.len() as u64).next_multiple_of(8);

    let mut image = b"\x7FELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    let words =
        |image: &mut Vec<u8>, values: &[u64]| values.iter().for_each(|v| image.extend(v.to_le_bytes()));
    image.extend([2, 0, 62, 0, 1, 0, 0, 0]); // ET_EXEC, EM_X86_64
    words(&mut image, &[entry, 64, headers_at]);
    image.extend([0, 0, 0, 0, 64, 0, 56, 0, 2, 0, 64, 0, 5, 0, 4, 0]);
    image.extend([1, 0, 0, 0, 7, 0, 0, 0]); // PT_LOAD
    words(&mut image, &[0, base, base, code_end, code_end, 0x1000]);
    image.extend([4, 0, 0, 0, 4, 0, 0, 0]); // PT_NOTE
    words(&mut image, &[176, base + 176, base + 176, 20, 20, 4]);
    image.extend([4, 0, 0, 0, 4, 0, 0, 0, 18, 0, 0, 0]); // XEN_ELFNOTE_PHYS32_ENTRY
    image.extend(b"Xen\0");
    image.extend((entry as u32).to_le_bytes());
    image.resize(START as usize, 0);
    image.extend(code);
    image.resize(table_at as usize, 0);
    image.extend(table);
    image.extend(&strings);
    image.extend(section_names);
    image.resize(headers_at as usize, 0);
    let mut section = |name: u32, kind: u32, flags: u64, at: [u64; 3], link: u32, info: u32, entry: u64| {
        image.extend(name.to_le_bytes());
        image.extend(kind.to_le_bytes());
        words(&mut image, &[flags, at[0], at[1], at[2]]);
        image.extend(link.to_le_bytes());
        image.extend(info.to_le_bytes());
        words(&mut image, &[8, entry]);
    };
    section(0, 0, 0, [0; 3], 0, 0, 0);
    section(1, 1, 6, [entry, u64::from(START), code.len() as u64], 0, 0, 0);
    section(7, 2, 0, [0, table_at, 24 * (symbols.len() as u64 + 1)], 3, 1, 24);
    section(15, 3, 0, [0, strings_at, strings.len() as u64], 0, 0, 0);
    section(23, 3, 0, [0, names_at, section_names.len() as u64], 0, 0, 0);
    image
}

/// Counts down from 5, stores each number, and passes. What it does is the same in 32- and 64-bit mode.
fn countdown() -> Vec<u8> {
    let symbols: &[(&str, u64)] = &[("begin", 0), ("countdown", 7), ("finish", 13)];
    let code = [
        &[0xBF, 0, 0x80, 0, 0][..], //  begin:      mov edi, 0x8000
        &[0xB3, 5],                 //              mov bl, 5
        &[0x88, 0x1F],              //  countdown:  mov [edi], bl
        &[0xFE, 0xCB],              //              dec bl
        &[0x75, 0xFA],              //              jnz countdown
        &[0xB0, 0, 0xE6, 0xF4],     //  finish:     mov al, 0; out 0xf4, al
    ]
    .concat();
    elf_with_symbols(&code, symbols)
}

fn has_gdb(test: &str) -> bool {
    let found =
        Command::new("gdb").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    if !found {
        println!("SKIP {test}: gdb is not installed");
    }
    found
}

/// Runs the image under `vpmu run -S --gdb=0` and lets GDB do this; what it printed, and the guest's report.
fn debug(image: &TempFile, commands: &[&str]) -> (String, serde_json::Value) {
    let args = ["run", image.as_str(), "--gdb=0", "-S", "--json", "--timeout", "60"];
    let mut guest =
        command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("vpmu starts");
    let mut errors = BufReader::new(guest.stderr.take().expect("stderr is a pipe"));
    let mut line = String::new();
    errors.read_line(&mut line).expect("stderr is UTF-8");
    let address = line.strip_prefix("gdb: listening on ").and_then(|rest| rest.split(": ").next());
    let connect = format!("target remote {}", address.expect(&line));
    let mut gdb = Command::new("gdb");
    gdb.args(["-nx", "-q", "-batch", image.as_str()]).env_remove("DEBUGINFOD_URLS").stdin(Stdio::null());
    for command in ["set confirm off", "set remotetimeout 60", &connect].iter().chain(commands) {
        gdb.args(["-ex", command]);
    }
    let output = gdb.output().expect("gdb starts");
    let mut report = String::new();
    guest.stdout.take().expect("stdout is a pipe").read_to_string(&mut report).expect("stdout is UTF-8");
    let code = guest.wait().expect("vpmu ends").code();
    let printed =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let report = json(&Ran { code, stdout: report, stderr: printed.clone() });
    (printed, report)
}

#[test]
fn gdb_breaks_at_symbols_steps_and_looks() {
    if !has_gdb("gdb_breaks_at_symbols_steps_and_looks") {
        return;
    }
    let image = TempFile::new("countdown.elf", &countdown());
    let alone = json(&vpmu(&["run", image.as_str(), "--engine", "soft", "--json"]));
    let (printed, report) = debug(
        &image,
        &[
            "info symbol $pc",
            "break countdown",
            "continue",
            "continue",
            "printf \"bl %d\\n\", $bl",
            "printf \"stored %d\\n\", *(char *)0x8000",
            "stepi",
            "info symbol $pc",
            "printf \"now %d\\n\", *(char *)0x8000",
            "set var $rbx = 2",
            "delete",
            "watch *(char *)0x8000",
            "continue",
            "hbreak finish",
            "delete 2",
            "continue",
            "printf \"end %d, cr0 %d\\n\", $bl, $cr0 & 1",
            "info registers eflags xmm0",
            "continue",
        ],
    );
    for expected in [
        "begin in section .text",
        "Breakpoint 1, 0x0000000000100107 in countdown ()",
        "bl 4\n",
        "stored 5\n",
        "countdown + 2 in section .text",
        "now 4\n",
        "Hardware watchpoint 2",
        "New value = 1",
        "end 0, cr0 1\n",
        "uint128",
        "exited normally",
    ] {
        assert!(printed.contains(expected), "{expected:?} is not in\n{printed}");
    }
    assert!(!printed.contains("warning"), "{printed}");
    assert_eq!((&report["exit_code"], &report["outcome"]), (&alone["exit_code"], &alone["outcome"]));
    // BL was 4 when it became 2: two times round the loop fewer.
    assert_eq!(report["instructions"].as_u64(), alone["instructions"].as_u64().map(|all| all - 6));
}

#[test]
fn a_run_under_gdb_counts_what_it_counts_alone() {
    if !has_gdb("a_run_under_gdb_counts_what_it_counts_alone") {
        return;
    }
    let image = TempFile::new("countdown.elf", &countdown());
    let alone = json(&vpmu(&["run", image.as_str(), "--engine", "soft", "--json"]));
    let (printed, report) =
        debug(&image, &["break countdown", "continue", "stepi 4", "continue", "delete", "continue"]);
    assert_eq!(report["instructions"], alone["instructions"], "{printed}");
    assert_eq!(report["outcome"], alone["outcome"], "{printed}");
}

#[test]
fn gdb_needs_the_soft_engine_and_a_free_port() {
    let image = TempFile::new("pass", &flat_image(&[0xB0, 0, 0xE6, 0xF4]));
    let kvm = vpmu(&["run", image.as_str(), "--engine", "kvm", "--counts", "synthetic", "--gdb=0"]);
    assert_eq!(kvm.code, Some(2), "{}", kvm.stderr);
    assert!(kvm.stderr.contains("the kvm engine has no debugger"), "{}", kvm.stderr);
    assert!(kvm.stderr.contains("--engine soft"), "{}", kvm.stderr);

    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("an address");
    let busy = vpmu(&["run", image.as_str(), &format!("--gdb={address}")]);
    assert_eq!(busy.code, Some(2), "{}", busy.stderr);
    assert!(busy.stderr.contains(&format!("cannot listen for GDB on {address}")), "{}", busy.stderr);
    assert!(busy.stderr.contains("--gdb=PORT"), "{}", busy.stderr);

    let wrong = vpmu(&["run", image.as_str(), "--gdb=nowhere"]);
    assert_eq!(wrong.code, Some(2), "{}", wrong.stderr);
    assert!(wrong.stderr.contains("is no address for GDB"), "{}", wrong.stderr);
}

#[test]
fn exceptions_are_traced_by_the_soft_engine_only() {
    let image = TempFile::new("crash", &flat_image(&[0x0F, 0x0B])); // ud2, without an IDT
    let trace = TempFile::new("trace.jsonl", b"an earlier run's");
    let args = ["run", image.as_str(), "--trace-exceptions", trace.as_str()];
    let kvm = vpmu(&[&args[..], &["--engine", "kvm", "--counts", "synthetic"]].concat());
    assert_eq!(kvm.code, Some(2), "{}", kvm.stderr);
    assert!(kvm.stderr.contains("only the soft engine can trace them"), "{}", kvm.stderr);
    let left = std::fs::read_to_string(trace.as_str()).expect("the file is still there");
    assert_eq!(left, "an earlier run's");

    let soft = vpmu(&[&args[..], &["--json"]].concat());
    assert_eq!(soft.code, Some(4), "{}", soft.stderr);
    let report = json(&soft);
    assert_eq!(report["engine"], "soft");
    assert_eq!(report["cause"]["exceptions"][0]["title"], "#UD");
    assert_eq!(report["cause"]["exceptions"][0]["instruction"], "ud2");
    let written = std::fs::read_to_string(trace.as_str()).expect("the trace is there");
    assert!(
        written.starts_with("{\"t_ns\":0,\"instructions\":0,\"event\":\"exception\",\"vector\":6,"),
        "{written}"
    );
}
