//! SSE3 to SSE4.2 and the reciprocals of SSE against the host's CPU.

use super::{Case, Inputs, assemble, cases, check, outputs};

/// Each as register-register and register-memory.
macro_rules! both {
    ($list:ident: $($name:literal)*) => {
        $( $list.push(Case {
            text: $name,
            bytes: assemble!(concat!($name, " xmm0, xmm1; ", $name, " xmm2, xmmword ptr [rsi]")),
            undefined: 0,
        }); )*
    };
}

/// Each immediate with a register and a memory source.
macro_rules! immediates {
    ($list:ident: $memory:literal, $values:expr, $($name:literal)*) => {
        $( {
            let register = assemble!(concat!($name, " xmm0, xmm1, 0"));
            let memory = assemble!(concat!($name, " xmm2, ", $memory, " ptr [rsi], 0"));
            for value in $values {
                let value: u8 = value;
                for bytes in [register, memory] {
                    let mut bytes = bytes.to_vec();
                    *bytes.last_mut().unwrap() = value;
                    let text = format!("{} {value:#x}", $name);
                    $list.push(Case { text: text.leak(), bytes: bytes.leak(), undefined: 0 });
                }
            }
        } )*
    };
}

#[test]
fn integer() {
    let mut list = Vec::new();
    both! { list: "phaddw" "phaddd" "phaddsw" "phsubw" "phsubd" "phsubsw" "pmaddubsw" "pshufb" "pabsb" "pabsw" "pabsd"
    "psignb" "psignw" "psignd" "pmulhrsw" "pmulld" "pmuldq"
    "packusdw" "phminposuw" "pcmpeqq" "pcmpgtq" "pminsb" "pmaxsb"
    "pminuw" "pmaxuw" "pminsd" "pmaxsd" "pminud" "pmaxud" "movshdup"
    "movsldup" "ptest" "pblendvb" "blendvps" "blendvpd" }
    cases! { list:
        0 => "movddup xmm0, xmm1" "movddup xmm0, [rsi + 3]" "lddqu xmm0, [rsi + 5]" "movntdqa xmm0, [rsi]"
             "pmovsxbw xmm0, xmm1" "pmovsxbd xmm0, xmm1" "pmovsxbq xmm0, xmm1"
             "pmovsxwd xmm0, xmm1" "pmovsxwq xmm0, xmm1" "pmovsxdq xmm0, xmm1"
             "pmovzxbw xmm0, xmm1" "pmovzxbd xmm0, xmm1" "pmovzxbq xmm0, xmm1"
             "pmovzxwd xmm0, xmm1" "pmovzxwq xmm0, xmm1" "pmovzxdq xmm0, xmm1"
             "pmovsxbw xmm0, [rsi + 1]" "pmovsxbd xmm0, [rsi + 1]" "pmovsxbq xmm0, [rsi + 1]"
             "pmovsxwd xmm0, [rsi + 1]" "pmovsxwq xmm0, [rsi + 1]"
             "pmovsxdq xmm0, [rsi + 1]" "pmovzxbw xmm0, [rsi + 1]" "pmovzxbd xmm0, [rsi + 1]"
             "pmovzxbq xmm0, [rsi + 1]" "pmovzxwd xmm0, [rsi + 1]"
             "pmovzxwq xmm0, [rsi + 1]" "pmovzxdq xmm0, [rsi + 1]"
             "pinsrb xmm0, ecx, 13" "pinsrb xmm0, [rsi + 1], 18" "pinsrd xmm0, ecx, 3"
             "pinsrd xmm0, [rsi + 1], 6" "pinsrq xmm0, rcx, 1" "pinsrq xmm0, [rsi + 1], 2"
             "pextrb ecx, xmm0, 13" "pextrb rcx, xmm0, 2" "pextrb [rsi + 1], xmm0, 31"
             "pextrw [rsi + 1], xmm0, 7" ".byte 0x66, 0x0f, 0x3a, 0x15, 0xc1, 5"
             "pextrd ecx, xmm0, 2" "pextrd [rsi + 1], xmm0, 5" "pextrq rcx, xmm0, 1" "pextrq [rsi + 1], xmm0, 0"
             "extractps ecx, xmm1, 3" "extractps rcx, xmm1, 2" "extractps [rsi + 1], xmm1, 1"
             "crc32 eax, cl" "crc32 eax, ch" "crc32 eax, cx" "crc32 eax, ecx"
             "crc32 rax, cl" "crc32 rax, rcx" "crc32 eax, byte ptr [rsi]"
             "crc32 eax, word ptr [rsi + 1]" "crc32 eax, dword ptr [rsi + 1]" "crc32 rax, qword ptr [rsi + 1]"
             "pand xmm0, xmm1; ptest xmm1, xmm0" "pandn xmm0, xmm1; ptest xmm2, xmm0";
    }
    check(&list, Inputs::Integers);
}

#[test]
fn controls() {
    let mut list = Vec::new();
    immediates! { list: "xmmword", (0..=40).step_by(3), "palignr" }
    immediates! { list: "xmmword", (0..=255).step_by(15), "blendps" "blendpd" "pblendw" "mpsadbw" }
    immediates! { list: "dword", (0..=255).step_by(7), "insertps" }
    check(&list, Inputs::Integers);
}

#[test]
fn float() {
    let mut list = Vec::new();
    both! { list: "addsubps" "addsubpd" "haddps" "haddpd" "hsubps" "hsubpd" "blendvps" "blendvpd" }
    check(&list, Inputs::Doubles);
    check(&list, Inputs::Singles);
}

#[test]
fn rounding() {
    let mut list = Vec::new();
    immediates! { list: "xmmword", 0..16, "roundpd" }
    immediates! { list: "qword", 0..16, "roundsd" }
    check(&list, Inputs::Doubles);
    list.clear();
    immediates! { list: "xmmword", 0..16, "roundps" }
    immediates! { list: "dword", 0..16, "roundss" }
    check(&list, Inputs::Singles);
}

#[test]
fn dot_products() {
    let mut list = Vec::new();
    immediates! { list: "xmmword", [0xFF, 0x31, 0x3F, 0x13, 0x23, 0x00], "dppd" }
    check(&list, Inputs::Doubles);
    list.clear();
    immediates! { list: "xmmword", [0xFF, 0xF1, 0x7F, 0xB6, 0x81, 0x3C, 0x5A, 0x0F], "dpps" }
    check(&list, Inputs::Singles);
}

#[test]
fn text() {
    let mut list = Vec::new();
    immediates! { list: "xmmword", 0..128, "pcmpistri" "pcmpistrm" "pcmpestri" "pcmpestrm" }
    check(&list, Inputs::Text);
    list.clear();
    // Lengths from the whole registers.
    cases! { list:
        0 => ".byte 0x66, 0x48, 0x0f, 0x3a, 0x61, 0xc1, 0x0c" ".byte 0x66, 0x48, 0x0f, 0x3a, 0x60, 0xc1, 0x41"
             "pcmpistri xmm0, [rsi + 1], 0x1a" "pcmpestrm xmm0, [rsi + 3], 0x44";
    }
    check(&list, Inputs::Text);
    check(&list, Inputs::Integers);
}

/// Vendors approximate differently; both are within 1.5 * 2^-12 of the exact value.
#[test]
fn reciprocals() {
    let mut list = Vec::new();
    both! { list: "rcpps" "rsqrtps" }
    cases! { list: 0 => "rcpss xmm0, xmm1" "rcpss xmm0, dword ptr [rsi]"
    "rsqrtss xmm0, xmm1" "rsqrtss xmm0, dword ptr [rsi]"; }
    for case in &list {
        for (native, ours) in outputs(case, 400, Inputs::Singles) {
            assert_eq!(native.mxcsr, ours.mxcsr, "{}", case.text);
            for (a, b) in native.xmm.iter().zip(ours.xmm) {
                for lane in 0..4 {
                    let (a, b) = ((a >> (lane * 32)) as u32, (b >> (lane * 32)) as u32);
                    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
                    let near = x.is_normal() && ((x - y) / x).abs() < 3.0 / 4096.0;
                    assert!(a == b || near, "{}: {x:e} and {y:e}", case.text);
                }
            }
        }
    }
}
