//! The host's CPU as oracle: user-mode instructions run natively and in the interpreter, on the same
//! registers, flags and memory, and must agree. Flags that the SDM leaves undefined are masked per
//! instruction.

use super::{AF, CF, Case, FLAGS, Inputs, OF, PF, SF, ZF, assemble, cases, check};

#[test]
fn arithmetic_and_logic() {
    let mut list = Vec::new();
    cases! { list:
        0 => "add rax, rcx" "add eax, ecx" "add ax, cx" "add al, cl" "add ah, cl" "add bl, dh" "add r8b, r9b"
             "add rax, [rsi]" "add [rsi], eax" "add word ptr [rsi + 3], ax"
             "add byte ptr [rsi + 1], bh" "add rax, 0x7fffffff"
             "add eax, -1" "add ax, 0x1234" "add al, 0x80" "add dword ptr [rsi], 1" "add qword ptr [rsi + 8], -2"
             "adc rax, rcx" "adc eax, ecx" "adc ax, cx" "adc al, cl" "adc [rsi], rax" "adc ecx, [rsi]" "adc eax, -1"
             "sub rax, rcx" "sub eax, ecx" "sub ax, cx" "sub al, cl" "sub [rsi], rax" "sub ecx, [rsi]" "sub rax, 5"
             "sbb rax, rcx" "sbb eax, ecx" "sbb ax, cx" "sbb al, cl" "sbb [rsi], rax" "sbb ecx, [rsi]" "sbb eax, eax"
             "cmp rax, rcx" "cmp eax, ecx" "cmp ax, cx" "cmp al, cl"
             "cmp [rsi], rax" "cmp ecx, [rsi]" "cmp byte ptr [rsi], 9"
             "inc rax" "inc eax" "inc ax" "inc al" "inc dword ptr [rsi]"
             "dec rax" "dec ecx" "dec dx" "dec bh" "dec byte ptr [rsi]"
             "neg rax" "neg ecx" "neg dx" "neg bl" "neg word ptr [rsi]"
             "not rax" "not ecx" "not dx" "not bl" "not qword ptr [rsi]"
             "xadd rax, rcx" "xadd eax, ecx" "xadd [rsi], rax" "xadd [rsi], cl" "xadd rax, rax" "lock xadd [rsi], ecx"
             "cmpxchg rcx, rdx" "cmpxchg ecx, edx" "cmpxchg [rsi], rcx"
             "cmpxchg [rsi], cl" "mov rax, [rsi]; lock cmpxchg [rsi], rcx"
             "cmpxchg8b [rsi]" "cmpxchg16b [rsi]" "mov rax, [rsi]; mov rdx, [rsi + 8]; cmpxchg16b [rsi]"
             "xchg rax, rcx" "xchg eax, ecx" "xchg al, ch" "xchg [rsi], rdx" "xchg [rsi], bh";
        AF => "and rax, rcx" "and eax, ecx" "and ax, cx" "and al, ch" "and [rsi], rax" "and eax, [rsi]" "and eax, 0xff"
              "or rax, rcx" "or eax, ecx" "or ax, cx" "or al, ch" "or [rsi], rax" "or eax, [rsi]" "or rax, -16"
              "xor rax, rcx" "xor eax, ecx" "xor ax, cx" "xor al, ch" "xor [rsi], rax" "xor eax, [rsi]" "xor eax, eax"
              "test rax, rcx" "test eax, ecx" "test ax, cx" "test al, ch" "test [rsi], rax" "test eax, 0xff";
        SF | ZF | AF | PF => "mul rcx" "mul ecx" "mul cx" "mul cl"
              "mul qword ptr [rsi]" "mul bh" "imul rcx" "imul ecx" "imul cx" "imul cl"
              "imul rax, rcx" "imul eax, ecx" "imul ax, cx" "imul rax, [rsi]"
              "imul rax, rcx, 1000" "imul eax, [rsi], -3" "imul dx, cx, 7";
    }
    check(&list, Inputs::Integers);
}

#[test]
fn division() {
    let mut list = Vec::new();
    cases! { list:
        FLAGS => "div rcx" "div ecx" "div cx" "div cl" "idiv rcx" "idiv ecx" "idiv cx" "cqo; idiv rcx" "cdq; idiv ecx"
             "neg rax; cqo; idiv rcx" "neg eax; cdq; idiv ecx" "neg ax; cwd; idiv cx" "mov rdx, 3; div rcx";
    }
    // 8-bit divisors are 8 at least, so that quotients of 10 bits fit.
    check(&list[..3], Inputs::Dividend);
    check(&list[4..12], Inputs::Dividend);
}

#[test]
fn shifts_rotates_and_bits() {
    let mut list = Vec::new();
    cases! { list:
        AF => "shl rax, 1" "shl eax, 1" "shl ax, 1" "shl al, 1" "shr rax, 1" "shr eax, 1" "shr ax, 1" "shr al, 1"
              "sar rax, 1" "sar eax, 1" "sar ax, 1" "sar al, 1" "shl dword ptr [rsi], 1" "shr byte ptr [rsi], 1";
        OF | AF => "shl rax, 13" "shl eax, 31" "shr rax, 63" "shr eax, 7" "sar rax, 62" "sar eax, 9"
              "shl rax, cl" "shl eax, cl" "shr rax, cl" "shr eax, cl"
              "sar rax, cl" "sar eax, cl" "sar ax, cl" "sar al, cl"
              "shl qword ptr [rsi], cl" "sar dword ptr [rsi + 2], cl"
              "shld rax, rdx, 9" "shld eax, edx, 9" "shld rax, rdx, cl"
              "shld eax, edx, cl" "shrd rax, rdx, 9" "shrd eax, edx, 31"
              "shrd rax, rdx, cl" "shrd eax, edx, cl" "shld [rsi], rdx, cl"
              "shrd [rsi], edx, 3" "shld ax, dx, 5" "shrd ax, dx, 11";
        // CF is undefined when the count exceeds the width.
        OF | AF | CF => "shl ax, cl" "shl al, cl" "shr ax, cl" "shr al, cl";
        0 => "rol rax, 1" "rol eax, 1" "rol ax, 1" "rol al, 1" "ror rax, 1" "ror eax, 1" "ror ax, 1" "ror al, 1"
             "rcl rax, 1" "rcl eax, 1" "rcl ax, 1" "rcl al, 1" "rcr rax, 1"
             "rcr eax, 1" "rcr ax, 1" "rcr al, 1" "shl rax, 0";
        OF => "rol rax, cl" "rol eax, cl" "rol ax, cl" "rol al, cl"
              "ror rax, cl" "ror eax, cl" "ror ax, cl" "ror al, cl"
              "rcl rax, cl" "rcl eax, cl" "rcl ax, cl" "rcl al, cl"
              "rcr rax, cl" "rcr eax, cl" "rcr ax, cl" "rcr al, cl"
              "rol rax, 9" "ror eax, 16" "rcl eax, 5" "rcr rax, 40" "rol dword ptr [rsi], 3" "rcr word ptr [rsi], cl";
        OF | SF | AF | PF => "bt rax, rcx" "bt eax, ecx" "bt ax, cx"
              "bt rax, 63" "bt eax, 5" "bts rax, rcx" "bts eax, 7" "btr rax, rcx"
              "btr eax, ecx" "btc rax, rcx" "btc ax, cx" "bts dword ptr [rsi], 9"
              "btr qword ptr [rsi], 40" "btc word ptr [rsi], 3"
              "movsx rcx, cl; bt [rsi], rcx" "movsx rcx, cl; bts [rsi], rcx"
              "movsx ecx, cl; btr [rsi], ecx" "movsx cx, cl; btc [rsi], cx";
        CF | OF | SF | AF | PF => "bsf rax, rcx" "bsf eax, ecx" "bsf ax, cx"
                                  "bsr rax, rcx" "bsr eax, ecx" "bsr ax, cx" "bsf rax, [rsi]";
        0 => "popcnt rax, rcx" "popcnt eax, [rsi]" "popcnt ax, cx";
    }
    check(&list, Inputs::Integers);
}

#[test]
fn moves_conditions_and_stack() {
    let mut list = Vec::new();
    cases! { list:
        0 => "mov rax, rcx" "mov eax, ecx" "mov ax, cx" "mov al, ch"
             "mov ah, bl" "mov [rsi], rcx" "mov [rsi], ch" "mov eax, [rsi + 5]"
             "mov rax, 0x123456789abcdef0" "mov rax, -5" "mov dword ptr [rsi], 7"
             "movzx eax, cl" "movzx eax, ch" "movzx rax, cx"
             "movzx ax, cl" "movzx eax, byte ptr [rsi]" "movsx rax, cl" "movsx eax, cx" "movsx ax, ch" "movsxd rax, ecx"
             "movsx rax, word ptr [rsi]" "movsxd rax, dword ptr [rsi]"
             "lea rax, [rcx + rdx * 4 + 12]" "lea eax, [rcx + rdx * 8 - 1]"
             "lea ax, [rcx + 3]" "lea rax, [ecx + edx]" "bswap rax" "bswap ecx"
             "cbw" "cwde" "cdqe" "cwd" "cdq" "cqo" "lahf" "sahf" "clc" "stc" "cmc"
             "movbe rax, [rsi]" "movbe [rsi], ecx" "movbe ax, [rsi]"
             "movnti [rsi], rax" "nop" "endbr64" "pause" "lfence" "prefetcht0 [rsi]"
             "cmovo rax, rcx" "cmovno eax, ecx" "cmovb ax, cx" "cmovae rax, rcx"
             "cmove eax, [rsi]" "cmovne rax, [rsi]" "cmovbe rax, rcx"
             "cmova eax, ecx" "cmovs rax, rcx" "cmovns eax, ecx" "cmovp rax, rcx"
             "cmovnp eax, ecx" "cmovl rax, rcx" "cmovge eax, ecx"
             "cmovle rax, rcx" "cmovg eax, ecx" "seto al" "setno cl"
             "setb ah" "setae [rsi]" "sete al" "setne al" "setbe al" "seta al"
             "sets al" "setns al" "setp al" "setnp al" "setl al" "setge al" "setle al" "setg al"
             "push rax; pop rcx" "push 5; pop rax" "push -1; pop rdx"
             "push qword ptr [rsi]; pop rbx" "push cx; pop ax" "pushfq; popfq"
             "push rax; pop qword ptr [rsi]"
             "mov r9, rsp; mov rax, rcx; push rsp; pop rax; sub rax, r9; xor r9d, r9d; cmp rax, 1"
             "lea rbx, [rsi]; and al, 31; xlatb; xor ebx, ebx";
    }
    check(&list, Inputs::Integers);
}

#[test]
fn strings() {
    let mut list = Vec::new();
    cases! { list:
        0 => "lea rdi, [rsi + 64]; movsb; xor edi, edi"
             "lea rdi, [rsi + 64]; movsq; xor edi, edi" "lodsb" "lodsw" "lodsd" "lodsq"
             "lea rdi, [rsi + 64]; mov ecx, 37; rep movsb; xor edi, edi"
             "lea rdi, [rsi + 3]; mov ecx, 9; rep movsq; xor edi, edi"
             "lea rdi, [rsi + 64]; mov ecx, 37; rep stosb; xor edi, edi"
             "lea rdi, [rsi + 64]; mov ecx, 5; rep stosd; xor edi, edi"
             "mov rdi, rsi; mov ecx, 40; repne scasb; mov rdx, rdi; xor edi, edi; cmp rdx, 5"
             "mov rdi, rsi; mov ecx, 40; repe scasw; xor edi, edi"
             "lea rdi, [rsi + 2]; mov ecx, 20; repe cmpsb; xor edi, edi"
             "lea rdi, [rsi + 256]; mov ecx, 40; repne cmpsd; xor edi, edi"
             "lea rdi, [rsi + 64]; std; mov ecx, 20; rep movsb; cld; xor edi, edi"
             "xor ecx, ecx; rep stosb" "lea rdi, [rsi + 0x7f0]; mov ecx, 30; rep stosq; xor edi, edi";
    }
    check(&list, Inputs::Integers);
}

#[test]
fn sse_integer() {
    let mut list = Vec::new();
    macro_rules! both {
        ($($name:literal)*) => {
            $(
                list.push(Case {
                    text: $name,
                    bytes: assemble!(concat!($name, " xmm0, xmm1; ", $name, " xmm2, xmmword ptr [rsi]")),
                    undefined: 0,
                });
            )*
        };
    }
    both! { "paddb" "paddw" "paddd" "paddq" "psubb" "psubw" "psubd"
    "psubq" "paddsb" "paddsw" "paddusb" "paddusw" "psubsb" "psubsw"
    "psubusb" "psubusw" "pmullw" "pmulhw" "pmulhuw" "pmuludq" "pmaddwd" "psadbw" "pavgb" "pavgw" "pminub" "pmaxub"
    "pminsw" "pmaxsw" "pand" "pandn" "por" "pxor" "pcmpeqb"
    "pcmpeqw" "pcmpeqd" "pcmpgtb" "pcmpgtw" "pcmpgtd" "psllw" "pslld"
    "psllq" "psrlw" "psrld" "psrlq" "psraw" "psrad" "packsswb" "packssdw" "packuswb" "punpcklbw" "punpcklwd" "punpckldq"
    "punpcklqdq" "punpckhbw" "punpckhwd" "punpckhdq" "punpckhqdq" "andps" "andnpd" "orps" "xorpd" "unpcklps" "unpckhps"
    "unpcklpd" "unpckhpd" "movaps" "movups" "movdqa" "movdqu" }
    cases! { list:
        0 => "psllw xmm0, 3" "pslld xmm0, 31" "psllq xmm0, 40" "psrlw xmm0, 16"
             "psrld xmm0, 1" "psrlq xmm0, 63" "psraw xmm0, 20" "psrad xmm0, 5"
             "pslldq xmm0, 5" "psrldq xmm0, 15" "psrldq xmm0, 16" "pshufd xmm0, xmm1, 0x1b"
             "pshuflw xmm0, xmm1, 0x93" "pshufhw xmm0, [rsi], 0x4e"
             "shufps xmm0, xmm1, 0xc6" "shufpd xmm0, xmm1, 1" "shufpd xmm0, [rsi], 2"
             "movd xmm0, eax" "movq xmm0, rax" "movd eax, xmm1" "movq rax, xmm1"
             "movd xmm0, dword ptr [rsi]" "movq xmm0, qword ptr [rsi]"
             "movd dword ptr [rsi], xmm0" "movq qword ptr [rsi], xmm0" "movq xmm0, xmm1"
             "movss xmm0, xmm1" "movsd xmm0, xmm1" "movss xmm0, [rsi]" "movsd xmm0, [rsi + 3]"
             "movss [rsi], xmm0" "movsd [rsi], xmm0" "movlps xmm0, [rsi]"
             "movhps xmm0, [rsi]" "movlpd [rsi], xmm0" "movhpd [rsi], xmm0"
             "movlhps xmm0, xmm1" "movhlps xmm0, xmm1" "pmovmskb eax, xmm0"
             "movmskps eax, xmm0" "movmskpd eax, xmm1" "pinsrw xmm0, eax, 5"
             "pinsrw xmm0, [rsi], 2" "pextrw eax, xmm0, 3" "movups [rsi + 1], xmm1"
             "movntdq [rsi], xmm2" "movaps [rsi], xmm3" "lea rdi, [rsi + 32]; maskmovdqu xmm0, xmm1; xor edi, edi";
    }
    check(&list, Inputs::Integers);
}

#[test]
fn sse_double() {
    let mut list = Vec::new();
    cases! { list:
        0 => "addsd xmm0, xmm1" "subsd xmm0, xmm1" "mulsd xmm0, xmm1"
             "divsd xmm0, xmm1" "minsd xmm0, xmm1" "maxsd xmm0, xmm1" "sqrtsd xmm0, xmm1"
             "addpd xmm0, xmm1" "subpd xmm0, [rsi]" "mulpd xmm0, xmm1" "divpd xmm0, xmm1"
             "minpd xmm0, xmm1" "maxpd xmm0, [rsi]" "sqrtpd xmm0, xmm1"
             "addsd xmm0, [rsi]" "ucomisd xmm0, xmm1" "comisd xmm0, xmm1"
             "ucomisd xmm0, [rsi]" "cmpeqsd xmm0, xmm1" "cmpltsd xmm0, xmm1"
             "cmplesd xmm0, xmm1" "cmpunordsd xmm0, xmm1" "cmpneqsd xmm0, xmm1"
             "cmpnltsd xmm0, xmm1" "cmpnlesd xmm0, xmm1" "cmpordpd xmm0, xmm1"
             "cvttsd2si rax, xmm0" "cvttsd2si eax, xmm0" "cvtsd2si rax, xmm0"
             "cvtsd2si eax, [rsi]" "cvtsi2sd xmm0, rax" "cvtsi2sd xmm0, ecx"
             "cvtsi2sd xmm0, qword ptr [rsi]" "cvtsd2ss xmm0, xmm1"
             "cvtpd2ps xmm0, xmm1" "cvtdq2pd xmm0, xmm1" "cvttpd2dq xmm0, xmm1"
             "cvtpd2dq xmm0, xmm1" "cvtdq2pd xmm0, [rsi]" "cvtsi2ss xmm0, rax";
    }
    check(&list, Inputs::Doubles);
}

#[test]
fn sse_single() {
    let mut list = Vec::new();
    cases! { list:
        0 => "addss xmm0, xmm1" "subss xmm0, xmm1" "mulss xmm0, xmm1"
             "divss xmm0, xmm1" "minss xmm0, xmm1" "maxss xmm0, xmm1" "sqrtss xmm0, xmm1"
             "addps xmm0, xmm1" "subps xmm0, [rsi]" "mulps xmm0, xmm1" "divps xmm0, xmm1"
             "minps xmm0, xmm1" "maxps xmm0, [rsi]" "sqrtps xmm0, xmm1"
             "mulss xmm0, [rsi]" "ucomiss xmm0, xmm1" "comiss xmm0, [rsi]"
             "cmpeqss xmm0, xmm1" "cmpltps xmm0, xmm1" "cmpleps xmm0, xmm1"
             "cmpunordps xmm0, xmm1" "cmpneqps xmm0, xmm1" "cvttss2si rax, xmm0"
             "cvttss2si eax, xmm0" "cvtss2si eax, xmm0" "cvtss2sd xmm0, xmm1"
             "cvtps2pd xmm0, xmm1" "cvtps2pd xmm0, [rsi]" "cvtdq2ps xmm0, xmm1"
             "cvtps2dq xmm0, xmm1" "cvttps2dq xmm0, xmm1";
    }
    check(&list, Inputs::Singles);
}
