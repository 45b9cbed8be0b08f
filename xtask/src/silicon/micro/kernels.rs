//! Pieces of code that are about one latency or penalty each, as functions of a buffer (RDI), a count (RSI) and a
//! parameter (RDX) that keep to the System V calling convention.
//!
//! They are copied to where both sides execute them, to the same place in their line of 64 bytes as here: branches at
//! the boundary of 32 bytes cost more on some cores.
#![expect(unsafe_code, reason = "reads code of this program as bytes")]

use std::arch::global_asm;

/// Declares kernels: a symbol, how far behind a boundary of 64 bytes it begins, and its code.
macro_rules! kernels {
    ($($name:ident $skip:literal $code:expr;)*) => {
        $(global_asm!(
            ".p2align 6",
            concat!(".skip ", $skip, " + 64 - 8"),
            ".quad 78f - 77f",
            concat!(stringify!($name), ": 77:"),
            $code,
            "78:",
        );)*
        mod symbols {
            unsafe extern "C" {
                $(pub(super) static $name: u8;)*
            }
        }
        /// The bytes of a kernel, and how far behind a boundary of 64 bytes they begin.
        pub(super) fn bytes(name: &str) -> Option<(&'static [u8], u64)> {
            // SAFETY: the length of each kernel is in front of it, and nothing writes there.
            let bytes = |at: *const u8| unsafe {
                std::slice::from_raw_parts(at, at.cast::<u64>().sub(1).read_unaligned() as usize)
            };
            match name {
                $(stringify!($name) => Some((bytes(&raw const symbols::$name), $skip)),)*
                _ => None,
            }
        }
    };
}

/// Calls of a function with this code.
macro_rules! calls {
    ($code:literal) => {
        concat!(
            "1: .rept 8; call 2f; .p2align 5; .endr; sub rsi, 8; jne 1b; xor eax, eax; ret; .p2align 6; 2:;",
            $code,
            "; ret"
        )
    };
}

/// Stores to lines at random, each before some to these lines behind them.
macro_rules! scattered {
    ($lines:literal) => {
        concat!(
            "mov r8, rdx; mov eax, 12345; movabs r9, 6364136223846793005; .p2align 6
            1: imul rax, r9; add rax, 12345; mov rdx, rax; shr rdx, 30; and rdx, r8; shl rdx, 6; mov [rdi + rdx], rax
            .irp line,",
            $lines,
            "; mov [rdi + 0x80000 + 64 * \\line], rax; .endr; sub rsi, 1; jne 1b; xor eax, eax; ret"
        )
    };
}

/// A branch of a random direction, and so many jumps.
macro_rules! random {
    ($branch:literal, $jumps:literal) => {
        concat!(
            "mov rax, [rdi]; xor ecx, ecx; movabs r8, 6364136223846793005; .p2align 6
            1: imul rax, r8; add rax, 12345; ",
            $branch,
            " 2f; add rcx, 1; 2: .rept ",
            $jumps,
            "; jmp 3f; .p2align 6; 3:; .endr; sub rsi, 1; jne 1b; mov [rdi], rax; xor eax, eax; ret"
        )
    };
}

kernels! {
    // Follows pointers, and goes on where it stopped, which is kept at [RDX].
    silicon_chase 0x20 "mov rax, [rdx]; .skip 5, 0x90; 1: .rept 8; mov rax, [rax]; .endr; sub rsi, 8; jne 1b
        mov [rdx], rax; xor eax, eax; ret";
    // A branch on bits of a linear congruential generator that RDX masks.
    silicon_branch 0 "mov rcx, rdx; xor edi, edi; lea rax, [rdx + 12345]; movabs r8, 6364136223846793005
        1: imul rax, r8; add rax, 12345; mov rdx, rax; shr rdx, 40; test rdx, rcx; je 2f; add rdi, 3
        2: dec rsi; jne 1b; mov rax, rdi; ret";
    // A branch on bytes that are known long before.
    silicon_branch_load 0x20 "xor eax, eax; mov rcx, rax; 1: movzx edx, byte ptr [rdi + rcx]; inc rcx
        and rcx, 0x3fff; test edx, edx; je 2f; add rax, 3; 2: dec rsi; jne 1b; ret";
    // Jumps to one of 16 targets, as bytes say.
    silicon_indirect 0x30 "xor eax, eax; mov rcx, rax; lea r8, [rip + 3f]
        1: movzx edx, byte ptr [rdi + rcx]; inc rcx; and rcx, 0x3fff; shl edx, 5; add rdx, r8; jmp rdx
        .p2align 5; 3: .rept 16; add rax, 1; jmp 2f; .p2align 5; .endr; 2: dec rsi; jne 1b; ret";
    // Branches on bits of a linear congruential generator, and at last one of two ways to the end.
    silicon_decides 0 "mov rax, [rdi]; movabs r9, 6364136223846793005; imul rax, r9; add rax, 12345; mov [rdi], rax
        .irp bit, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51; bt rax, \\bit; jc 1f; nop word ptr [rax + rax]; 1:
        .endr; bt rax, 60; jc 2f; nop dword ptr [rax]; jmp 3f; nop dword ptr [rax]; 2: nop word ptr [rax + rax]
        jmp 3f; .skip 9, 0x90; 3:";
    // A jump to one of two targets, as the last of these branches went.
    silicon_decided 0 "lea rcx, [rip + 4f]; lea rdx, [rip + 5f]; bt rax, 60; cmovc rcx, rdx; jmp rcx; .skip 30, 0x90
        4: nop; jmp 6f; .skip 29, 0x90; 5: nop; nop; jmp 6f; .skip 7, 0x90; 6:";
    // Calls of a function of RET, of jumps, and of lines of code.
    silicon_calls 0x10 calls!("");
    silicon_calls_1_jump 0x10 calls!("jmp 3f; .p2align 5; 3:");
    silicon_calls_2_jumps 0x10 calls!(".rept 2; jmp 3f; .p2align 5; 3:; .endr");
    silicon_calls_4_jumps 0x10 calls!(".rept 4; jmp 3f; .p2align 5; 3:; .endr");
    silicon_calls_1_line 0x10 calls!(".rept 8; nop dword ptr [rax + rax + 0x40000000]; .endr");
    silicon_calls_2_lines 0x10 calls!(".rept 16; nop dword ptr [rax + rax + 0x40000000]; .endr");
    silicon_calls_4_lines 0x10 calls!(".rept 32; nop dword ptr [rax + rax + 0x40000000]; .endr");
    // Indirect calls of a function that adds.
    silicon_calls_indirect 0x10 "lea rdx, [rip + 2f]; 1: .rept 4; call rdx; .p2align 5; .endr; sub rsi, 4; jne 1b
        ret; .p2align 6; 2: add rax, 1; ret";
    // RDX calls, one within the other.
    silicon_deep 0x10 "mov rax, rdx; 1: mov rdx, rax; call 2f; jmp 3f; .p2align 5; 2: dec rdx; je 4f; call 2b; 4: ret
        .p2align 5; 3: dec rsi; jne 1b; xor eax, eax; ret";
    // A loop of RDX iterations; the branch that closes it lies across a boundary of 32 bytes.
    silicon_loops 0x10 "mov rcx, rdx; xor eax, eax; 1: mov rdx, rcx; 2: add rax, 1; dec rdx; jne 2b; dec rsi; jne 1b
        ret";
    // The same, not across a boundary.
    silicon_loops_aligned 0 "mov rcx, rdx; xor eax, eax; 1: mov rdx, rcx; .p2align 5; 2: add rax, 1; dec rdx; jne 2b
        dec rsi; jne 1b; ret";
    silicon_movsb 0x30 "mov r8, rdi; mov rax, rsi; lea r9, [rdi + 0x20000]; .p2align 4
        1: mov rcx, rdx; mov rdi, r8; mov rsi, r9; rep movsb; sub rax, 1; jne 1b; ret";
    silicon_stosb 0x20 "mov r8, rdi; mov eax, 1; .p2align 4; 1: mov rcx, rdx; mov rdi, r8; rep stosb; sub rsi, 1
        jne 1b; ret";
    silicon_read 0x10 "add rdx, rdi; .p2align 3; 1: mov rax, rdi
        2: movaps xmm0, [rax]; movaps xmm1, [rax + 16]; movaps xmm2, [rax + 32]; movaps xmm3, [rax + 48]
        add rax, 64; cmp rax, rdx; jb 2b; sub rsi, 1; jne 1b; ret";
    silicon_write 0 "add rdx, rdi; .p2align 3; 1: mov rax, rdi
        2: movaps [rax], xmm0; movaps [rax + 16], xmm0; movaps [rax + 32], xmm0; movaps [rax + 48], xmm0
        add rax, 64; cmp rax, rdx; jb 2b; sub rsi, 1; jne 1b; ret";
    silicon_copy 0x30 "lea rcx, [rdx + 0x1100]; add rdx, rdi; .p2align 4; 1: mov rax, rdi
        2: movaps xmm0, [rax]; movaps xmm1, [rax + 16]; movaps xmm2, [rax + 32]; movaps xmm3, [rax + 48]
        movaps [rax + rcx], xmm0; movaps [rax + rcx + 16], xmm1; movaps [rax + rcx + 32], xmm2
        movaps [rax + rcx + 48], xmm3; add rax, 64; cmp rax, rdx; jb 2b; sub rsi, 1; jne 1b; ret";
    // Loads from lines that a generator chooses, none of which waits for another one.
    silicon_gather 0 "mov r8, rdx; xor ecx, ecx; mov eax, 12345; movabs r9, 6364136223846793005; .p2align 3
        1: imul rax, r9; add rax, 12345; mov rdx, rax; shr rdx, 30; and rdx, r8; shl rdx, 6; add rcx, [rdi + rdx]
        sub rsi, 1; jne 1b; ret";
    // Stores to such lines, two of a number.
    silicon_scatter 0 "mov r8, rdx; mov eax, 12345; movabs r9, 6364136223846793005; .p2align 3
        1: imul rax, r9; add rax, 12345; mov rdx, rax; shr rdx, 30; and rdx, r8; shl rdx, 6; mov [rdi + rdx], rax
        mov rdx, rax; shr rdx, 46; and rdx, r8; shl rdx, 6; mov [rdi + rdx], rax; sub rsi, 1; jne 1b; ret";
    // One such store, and others to lines of the first level.
    silicon_scatter_1 0 scattered!("1");
    silicon_scatter_2 0 scattered!("1,2");
    silicon_scatter_4 0 scattered!("1,2,3,4");
    silicon_scatter_8 0 scattered!("1,2,3,4,5,6,7,8");
    // A chain of loads behind stores whose addresses wait for the load before. Each RDXth writes what is loaded next.
    silicon_conflicts 0 "xor eax, eax; xor r9d, r9d; mov r10d, 1024; mov r8, rdx; .p2align 6
        1: sub r8, 1; mov rcx, r10; cmovz rcx, r9; cmovz r8, rdx; mov r11, rax
        .rept 4; imul r11, r11; .endr; add rcx, r11; mov [rdi + rcx], r9; mov rax, [rdi + rax]
        sub rsi, 1; jne 1b; xor eax, eax; ret";
    // A branch on a bit of a linear congruential generator that goes on at [RDI], then jumps to lines of their own.
    silicon_random_0 0 random!("bt rax, 40; jc", "0");
    silicon_random_2 0 random!("bt rax, 40; jc", "2");
    silicon_random_4 0 random!("bt rax, 40; jc", "4");
    silicon_random_8 0 random!("bt rax, 40; jc", "8");
    // Of three bits, and of five.
    silicon_random_of_8 0 random!("mov rdx, rax; shr rdx, 40; test edx, 7; jz", "0");
    silicon_random_of_32 0 random!("mov rdx, rax; shr rdx, 40; test edx, 31; jz", "0");
    silicon_lock_add 0x30 "1: lock add qword ptr [rdi], 1; sub rsi, 1; jne 1b; ret";
    silicon_lock_four 0 "1: lock add qword ptr [rdi], 1; lock add qword ptr [rdi + 64], 1
        lock add qword ptr [rdi + 128], 1; lock add qword ptr [rdi + 192], 1; sub rsi, 1; jne 1b; ret";
    silicon_lock_work 0 "xor edx, edx; xor eax, eax; .p2align 3; 1: lock add qword ptr [rdi], 1
        .rept 20; add rax, 1; add rdx, 1; .endr; sub rsi, 1; jne 1b; ret";
    silicon_lock_loads 0 "xor eax, eax; .p2align 3; 1: lock add qword ptr [rdi], 1
        .rept 20; mov rax, [rdi + 64]; .endr; sub rsi, 1; jne 1b; ret";
    // Takes a lock, works, and gives it back by a plain store.
    silicon_spin_lock 0x30 "xor edx, edx; mov ecx, 1; .p2align 3; 1: xor eax, eax; lock cmpxchg [rdi], ecx
        .rept 10; add rdx, 1; .endr; mov dword ptr [rdi], 0; sub rsi, 1; jne 1b; ret";
    silicon_xchg 0 "1: xchg [rdi], rax; sub rsi, 1; jne 1b; ret";
    silicon_pause 0 "1: pause; sub rsi, 1; jne 1b; ret";
    silicon_spin_load 0x10 "1: pause; mov eax, [rdi]; test eax, eax; sub rsi, 1; jne 1b; ret";
    silicon_sfence 0 "1: sfence; sub rsi, 1; jne 1b; ret";
    silicon_mfence 0 "1: mfence; sub rsi, 1; jne 1b; ret";
    silicon_lfence 0 "1: lfence; add rax, 1; add rcx, 1; add rdx, 1; add r8, 1; sub rsi, 1; jne 1b; ret";
    silicon_rdtsc 0 "1: rdtsc; sub rsi, 1; jne 1b; ret";
    silicon_x87 0 "1: fld1; fdiv st(0), st(0); fstp st(0); sub rsi, 1; jne 1b; ret";
    // Divisions by 1, each of which waits for the one before.
    silicon_div32 0 "mov eax, 1000; mov r9d, 1; 1: xor edx, edx; div r9d; sub rsi, 1; jne 1b; ret";
    silicon_div64_small 0 "mov eax, 1000; mov r9d, 1; 1: xor edx, edx; div r9; sub rsi, 1; jne 1b; ret";
    silicon_idiv32 0 "mov eax, 1000; mov r9d, 1; 1: cdq; idiv r9d; sub rsi, 1; jne 1b; ret";
    // Divisions of 128 bits, each of which waits for the quotient before.
    silicon_div64_large 0 "movabs r8, 0x0123456789abcdef; movabs r9, 0x0123456789abffff; mov eax, 1000
        1: mov rdx, r8; div r9; sub rsi, 1; jne 1b; ret";
    // Loads and stores at RDI + RDX: across lines and pages.
    silicon_load_at 0 "add rdi, rdx; 1: .rept 8; mov rax, [rdi]; .endr; sub rsi, 8; jne 1b; ret";
    silicon_store_at 0 "add rdi, rdx; 1: .rept 8; mov [rdi], rax; .endr; sub rsi, 8; jne 1b; ret";
    // A chain of loads at RDI + RDX, where zeros are.
    silicon_load_chain_at 0 "add rdi, rdx; xor eax, eax; 1: .rept 8; mov rax, [rdi + rax]; .endr; sub rsi, 8
        jne 1b; ret";
    // A store, and a chain of loads from 4096 bytes behind it.
    silicon_alias 0 "xor eax, eax; 1: .rept 4; mov [rdi], rcx; mov rax, [rdi + rax + 4096]; .endr
        sub rsi, 4; jne 1b; ret";
    // A chain through memory: the value goes to a store, and from there to a load.
    silicon_forward 0 "1: .rept 4; mov [rdi], rax; mov rax, [rdi]; .endr; sub rsi, 4; jne 1b; ret";
    // A byte is stored, and the word around it loaded.
    silicon_forward_blocked 0 "xor eax, eax; 1: .rept 4; mov [rdi + 1], al; mov rax, [rdi]; .endr
        sub rsi, 4; jne 1b; ret";
    silicon_read_modify_write 0 "1: .rept 4; add qword ptr [rdi], 1; .endr; sub rsi, 4; jne 1b; ret";
}
