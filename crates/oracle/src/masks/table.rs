//! The table.

use super::{Effect as E, Mask, When as W, Which};
use iced_x86::{Code as C, Mnemonic as M};

const CF: u64 = 1;
const PF: u64 = 1 << 2;
const AF: u64 = 1 << 4;
const ZF: u64 = 1 << 6;
const SF: u64 = 1 << 7;
const OF: u64 = 1 << 11;
const STATUS: u64 = CF | PF | AF | ZF | SF | OF;

const C0: u16 = 1 << 8;
const C1: u16 = 1 << 9;
const C2: u16 = 1 << 10;
const C3: u16 = 1 << 14;

const fn row(mnemonics: &'static [M], when: W, effect: E, why: &'static str) -> Mask {
    Mask { which: Which::Mnemonics(mnemonics), when, effect, why }
}

const fn omit(mnemonics: &'static [M], why: &'static str) -> Mask {
    row(mnemonics, W::Always, E::Omit, why)
}

const fn forms(codes: &'static [C], why: &'static str) -> Mask {
    Mask { which: Which::Codes(codes), when: W::Always, effect: E::Omit, why }
}

const fn any(effect: E, why: &'static str) -> Mask {
    Mask { which: Which::Any, when: W::Always, effect, why }
}

/// Everything in which the two sides may differ.
pub const MASKS: &[Mask] = &[
    // Flags that the SDM leaves undefined.
    row(
        &[M::And, M::Or, M::Xor, M::Test],
        W::Always,
        E::Flags(AF),
        "undefined: SDM volume 2, Flags Affected of AND, OR, XOR, TEST",
    ),
    row(
        &[M::Shl, M::Sal, M::Shr, M::Sar, M::Shld, M::Shrd],
        W::Always,
        E::Flags(AF),
        "undefined for a count other than 0: SDM volume 2, Flags Affected of SAL/SAR/SHL/SHR, SHLD, SHRD",
    ),
    row(
        &[M::Shl, M::Sal, M::Shr, M::Sar, M::Shld, M::Shrd, M::Rol, M::Ror, M::Rcl, M::Rcr],
        W::NotByOne,
        E::Flags(OF),
        "undefined for a count above 1: SDM volume 2, Flags Affected of SAL/SAR/SHL/SHR, RCL/RCR/ROL/ROR, SHLD, SHRD",
    ),
    row(
        &[M::Shl, M::Sal, M::Shr],
        W::NotByOne,
        E::Flags(CF),
        "undefined for a count of the operand size or more, but for SAR: SDM volume 2, Flags Affected of \
         SAL/SAR/SHL/SHR",
    ),
    row(
        &[M::Shld, M::Shrd],
        W::NotByOne,
        E::Flags(CF | SF | ZF | PF),
        "undefined for a count above the operand size: SDM volume 2, Flags Affected of SHLD, SHRD",
    ),
    row(
        &[M::Mul, M::Imul],
        W::Always,
        E::Flags(SF | ZF | AF | PF),
        "undefined: SDM volume 2, Flags Affected of MUL, IMUL",
    ),
    row(
        &[M::Div, M::Idiv],
        W::Always,
        E::Flags(STATUS),
        "undefined: SDM volume 2, Flags Affected of DIV, IDIV",
    ),
    row(
        &[M::Bsf, M::Bsr],
        W::Always,
        E::Flags(CF | OF | SF | AF | PF),
        "undefined: SDM volume 2, Flags Affected of BSF, BSR",
    ),
    row(
        &[M::Bt, M::Bts, M::Btr, M::Btc],
        W::Always,
        E::Flags(OF | SF | AF | PF),
        "undefined: SDM volume 2, Flags Affected of BT, BTC, BTR, BTS",
    ),
    row(
        &[M::Andn, M::Blsi, M::Blsmsk, M::Blsr, M::Bzhi],
        W::Always,
        E::Flags(AF | PF),
        "undefined: SDM volume 2, Flags Affected of ANDN, BLSI, BLSMSK, BLSR, BZHI",
    ),
    row(&[M::Bextr], W::Always, E::Flags(AF | SF | PF), "undefined: SDM volume 2, Flags Affected of BEXTR"),
    row(
        &[M::Lzcnt, M::Tzcnt],
        W::Always,
        E::Flags(OF | SF | AF | PF),
        "undefined: SDM volume 2, Flags Affected of LZCNT, TZCNT",
    ),
    // x87 and MMX: Intel and AMD differ.
    row(
        &[M::Fcomi, M::Fcomip, M::Fucomi, M::Fucomip],
        W::Always,
        E::Status(C1),
        "Intel clears C1 (SDM volume 2, FPU Flags Affected of FCOMI); AMD does so only for a stack underflow",
    ),
    row(
        &[M::Fcom, M::Fcomp, M::Fcompp, M::Fucom, M::Fucomp, M::Fucompp, M::Ficom, M::Ficomp, M::Ftst],
        W::Unmasked,
        E::Status(C0 | C2 | C3),
        "Intel does not set the condition codes when the exception is not masked: SDM volume 2 says so of an invalid \
         operand of FCOM and FUCOM, volume 1 of both exceptions that results stay away (Invalid Arithmetic Operand \
         Exception, Denormal Operand Exception); AMD sets them",
    ),
    row(
        &[M::Fcomi, M::Fcomip, M::Fucomi, M::Fucomip],
        W::Unmasked,
        E::Flags(STATUS),
        "Intel does not set the flags when an invalid operand is not masked (SDM volume 2, FCOMI); AMD does",
    ),
    row(
        &[M::Cvtps2pi, M::Cvttps2pi, M::Cvtpd2pi, M::Cvttpd2pi, M::Cvtpi2ps, M::Cvtpi2pd],
        W::Vector(19),
        E::MmxState,
        "they change from x87 to MMX (SDM volume 2, CVTPI2PS and the others), but whether before #XM is not said; \
         AMD has",
    ),
    row(
        &[M::Fsin, M::Fcos, M::Fsincos, M::Fptan, M::Fpatan, M::F2xm1, M::Fyl2x, M::Fyl2xp1],
        W::Always,
        E::LastPlace,
        "may be off by one unit in the last place: SDM volume 1, Transcendental Instruction Accuracy",
    ),
    row(
        &[M::F2xm1],
        W::Always,
        E::Domain(0x3FFF_8000_0000_0000_0000),
        "undefined for operands beyond -1 to 1: SDM volume 2, F2XM1",
    ),
    row(
        &[M::Fyl2xp1],
        W::Always,
        E::Domain(0x3FFD_95F6_1998_0C43_36F7),
        "undefined for operands beyond -(1 - sqrt(1/2)) to 1 - sqrt(1/2): SDM volume 2, FYL2XP1",
    ),
    row(
        &[M::Movq],
        W::Protection,
        E::MmxState,
        "para-virtual KVM hands a MOVQ from an MMX register to its instruction emulator, which reads the register \
         and so changes to MMX before the #GP or #SS",
    ),
    row(
        &[
            M::Fldenv,
            M::Frstor,
            M::Fnstenv,
            M::Fnsave,
            M::Fxsave,
            M::Fxsave64,
            M::Fxrstor,
            M::Fxrstor64,
            M::Xsave,
            M::Xsave64,
            M::Xsavec,
            M::Xsavec64,
            M::Xsaveopt,
            M::Xsaveopt64,
            M::Xrstor,
            M::Xrstor64,
        ],
        W::Vector(14),
        E::FaultAddress,
        "an operand longer than a quadword may be accessed in several steps, of which some may complete before \
         another faults (SDM volume 3, Guaranteed Atomic Operations); their order is not said, so the #PF may be \
         about any of its bytes",
    ),
    row(
        &[
            M::Fnstenv,
            M::Fnsave,
            M::Fxsave,
            M::Fxsave64,
            M::Xsave,
            M::Xsave64,
            M::Xsavec,
            M::Xsavec64,
            M::Xsaveopt,
            M::Xsaveopt64,
        ],
        W::Always,
        E::Pointers,
        "AMD stores the pointers and the opcode for exceptions that are not masked only (Linux about FXSAVE: \
         X86_BUG_FXSAVE_LEAK); newer Intel CPUs treat FDP so (SDM volume 1, x87 FPU Instruction and Data (Operand) \
         Pointers). MXCSR_MASK has AMD's MM",
    ),
    // Faults.
    row(
        &[M::Maskmovdqu, M::Maskmovq, M::Vmaskmovdqu],
        W::Always,
        E::MayFault,
        "whether a mask of zeros can fault is implementation dependent: SDM volume 2, MASKMOVDQU, MASKMOVQ",
    ),
    Mask {
        which: Which::Codes(&[C::Movsxd_r16_rm16]),
        when: W::Always,
        effect: E::MayFault,
        why: "the source is a word on Intel (SDM volume 2, MOVSXD); AMD reads four bytes, which may cross \
              into a page that is not mapped",
    },
    row(
        &[
            M::Vgatherdps,
            M::Vgatherdpd,
            M::Vgatherqps,
            M::Vgatherqpd,
            M::Vpgatherdd,
            M::Vpgatherdq,
            M::Vpgatherqd,
            M::Vpgatherqq,
        ],
        W::Memory,
        E::GatherRest,
        "when an element faults those before it are in the destination and no more in the mask (SDM volume 2, \
         VPGATHERDD); when the rest of the destination becomes 0, and a mask in a vector register zeros and ones, is \
         not said, and differs from case to case on Granite Rapids",
    ),
    row(
        &[M::Xsave, M::Xsave64, M::Xsavec, M::Xsavec64, M::Xsaveopt, M::Xsaveopt64],
        W::Always,
        E::InitialState,
        "the CPU may take a component for in use that is in its initial state (SDM volume 1, XSAVE-Managed Features \
         and XINUSE); what is then written has to be that state",
    ),
    row(
        &[M::Xsave, M::Xsave64, M::Xsavec, M::Xsavec64, M::Xsaveopt, M::Xsaveopt64, M::Xrstor, M::Xrstor64],
        W::Vector(14),
        E::HostComponents,
        "para-virtual KVM keeps the host's XCR0 in ring 3, so that an area has PKRU's and AMX's components too, if \
         EDX:EAX asks for them, and reaches further",
    ),
    any(
        E::Emulated,
        "para-virtual KVM hands what raises #GP(0) or #SS(0) in ring 3 to its instruction emulator, and raises #UD \
         for what that does not know",
    ),
    any(
        E::LowerEnd,
        "an operand of up to 64 bytes that begins in the last bytes of the lower half of the address space and ends \
         beyond it raises #GP(0) or #SS(0), on AMD Zen 5 without KVM too, and before a #PF of its first byte; the \
         instruction emulator of para-virtual KVM, which gets those, only asks whether the address of the first byte \
         is canonical, and raises its #PF",
    ),
    any(
        E::EmulatedStack,
        "Zen 3 and Zen 5 raise #GP(0) for an operand in the stack segment that is neither aligned nor canonical; the \
         instruction emulator of para-virtual KVM, which gets it, asks first whether the address is canonical, and \
         raises #SS(0)",
    ),
    row(
        &[M::Cmpsb, M::Cmpsw, M::Cmpsd, M::Cmpsq],
        W::Vector(13),
        E::EmulatedOrder,
        "the instruction emulator of para-virtual KVM, which gets the #GP of the operand at RDI, reads the one at \
         RSI first, and raises its #PF or #SS",
    ),
    row(
        &[M::Movsb, M::Movsw, M::Movsd, M::Movsq],
        W::Always,
        E::AliasedMemory,
        "a fast string operation may read ahead of its stores (SDM volume 3, Fast-String Operation and Out-of-Order \
         Stores), and looks for an overlap by linear addresses: seen on Emerald Rapids where source and destination \
         are the same memory, mapped at two addresses",
    ),
    row(
        &[M::Call],
        W::Vector(13),
        E::EmulatedTarget,
        "a CPU that stores the return address before it looks at the target may have stored it over the target; the \
         instruction emulator of para-virtual KVM, which gets the #GP, then reads that",
    ),
    any(
        E::UpperHalf,
        "para-virtual KVM keeps the upper half of the address space to itself: a #PF there may have P and RSVD in \
         its error code, although no page is mapped and no reserved bit set in the page tables of the cases",
    ),
    any(
        E::Unsupported,
        "TF and AC that POPF sets: para-virtual KVM does not let ring 3 have them but for a #DB now and then, and \
         soft-cpu does not check alignment",
    ),
    any(
        E::Unsupported,
        "MXCSR bit 17 (MM) that LDMXCSR sets: AMD has it (APM volume 1, MXCSR Register), on Intel it is reserved and \
         raises #GP (SDM volume 1, MXCSR Control and Status Register)",
    ),
    any(
        E::Unsupported,
        "VPERMQ and VPERMPD with VEX.W 0: #UD (SDM volume 2, under each, W1), which soft-cpu raises; Zen 3 and Zen 5 \
         execute them",
    ),
    any(
        E::Unsupported,
        "EVEX.b without a memory operand, rounding or suppressed exceptions, EVEX.z without a mask, VEX.R and the \
         uppermost bit of VEX.vvvv with mask registers: #UD (SDM volume 2, Instruction Format), which soft-cpu raises; \
         Zen 4 executes the instruction without them, and is not asked",
    ),
    row(
        &[M::Fxsave, M::Fxsave64, M::Fxrstor, M::Fxrstor64],
        W::Always,
        E::Misaligned,
        "an area that is not aligned to 16 bytes raises #GP or, with alignment checks, #AC as the CPU likes (SDM \
         volume 2, FXSAVE); AMD accepts it",
    ),
    // Not generated.
    omit(
        &[M::Cpuid, M::Rdtsc, M::Rdtscp, M::Rdpmc, M::Rdrand, M::Rdseed, M::Rdpid, M::Xgetbv],
        "the answer depends on the CPU or on time: SDM volume 2, under each",
    ),
    omit(
        &[M::Syscall, M::Sysenter, M::Sysexit, M::Sysret, M::Int, M::Int1, M::Iret, M::Iretd, M::Iretq],
        "leaves ring 3 (SDM volume 2, under each), which para-virtual KVM does by other means",
    ),
    omit(
        &[M::Sgdt, M::Sidt, M::Sldt, M::Str, M::Smsw, M::Lar, M::Lsl, M::Verr, M::Verw],
        "shows selectors or descriptors (SDM volume 2, under each); para-virtual KVM has its own of them in ring 3",
    ),
    omit(&[M::Lds, M::Les, M::Lfs, M::Lgs, M::Lss, M::Retf], SELECTORS),
    forms(
        &[C::Shld_rm16_r16_CL, C::Shrd_rm16_r16_CL],
        "the result is undefined for a count above the operand size, and Intel and AMD differ; forms with an \
         immediate get smaller counts (SDM volume 2, SHLD, SHRD)",
    ),
    forms(
        &[C::Jmp_m1616, C::Jmp_m1632, C::Jmp_m1664, C::Call_m1616, C::Call_m1632, C::Call_m1664],
        SELECTORS,
    ),
    Mask { which: Which::SegmentRegister, when: W::Always, effect: E::Omit, why: SELECTORS },
    omit(
        &[M::In, M::Out, M::Insb, M::Insw, M::Insd, M::Outsb, M::Outsw, M::Outsd, M::Cli, M::Sti],
        "depends on IOPL and the I/O permission bitmap (SDM volume 1, Protected-Mode I/O), which para-virtual KVM \
         does not show to ring 3",
    ),
    omit(
        &[M::Rcpss, M::Rcpps, M::Rsqrtss, M::Rsqrtps, M::Vrcpss, M::Vrcpps, M::Vrsqrtss, M::Vrsqrtps],
        "an approximation with a relative error of up to 1.5 * 2^-12, which each CPU makes in its own way (SDM \
         volume 2, RCPPS, RSQRTPS)",
    ),
    omit(
        &[M::Ud0, M::Ud1],
        "#UD, with or without a ModR/M byte and its operand as the CPU likes: SDM volume 2, UD",
    ),
    omit(
        &[M::Reservednop, M::Wbnoinvd],
        "no user-mode instruction of all profiles: SDM volume 2, opcode map and WBNOINVD",
    ),
    omit(
        &[M::Xbegin, M::Xabort, M::Xend, M::Xtest, M::Umwait, M::Tpause, M::Umonitor, M::Monitorx, M::Mwaitx],
        "the host's CPU does not have it, or Intel's does not: SDM volume 2, XBEGIN, TPAUSE, UMONITOR, UMWAIT; APM \
         volume 3, MONITORX",
    ),
];

const SELECTORS: &str =
    "loads or shows selectors (SDM volume 2, under each); para-virtual KVM has its own of them in ring 3";

type Ranges = &'static [(u64, u64)];

/// Bytes that [`Effect::Pointers`](E::Pointers) means: the first, and the one behind the last.
pub(super) const POINTERS: &[(&[C], Ranges)] = &[
    (&[C::Fxsave_m512byte, C::Fxsave64_m512byte], &[(6, 24), (28, 32)]),
    (&[C::Fnstenv_m14byte, C::Fnsave_m94byte], &[(6, 14)]),
    (&[C::Fnstenv_m28byte, C::Fnsave_m108byte], &[(12, 28)]),
];
