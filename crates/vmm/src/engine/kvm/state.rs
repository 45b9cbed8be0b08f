//! The vCPU's registers as those of the interpreter, and back.

use kvm_bindings::*;
use platform::convert::{low_u32, low_u64};
use soft_cpu::{DescriptorTable, Segment, State};

/// The general and system registers that KVM shares without further ioctls; the rest as after RESET.
pub(super) fn visible(regs: &kvm_regs, sregs: &kvm_sregs) -> State {
    State {
        gpr: [
            regs.rax, regs.rcx, regs.rdx, regs.rbx, regs.rsp, regs.rbp, regs.rsi, regs.rdi, regs.r8, regs.r9,
            regs.r10, regs.r11, regs.r12, regs.r13, regs.r14, regs.r15,
        ],
        rip: regs.rip,
        rflags: regs.rflags,
        segments: [&sregs.es, &sregs.cs, &sregs.ss, &sregs.ds, &sregs.fs, &sregs.gs].map(segment),
        ldtr: segment(&sregs.ldt),
        tr: segment(&sregs.tr),
        gdtr: table(&sregs.gdt),
        idtr: table(&sregs.idt),
        cr0: sregs.cr0,
        cr2: sregs.cr2,
        cr3: sregs.cr3,
        cr4: sregs.cr4,
        efer: sregs.efer,
        ..State::default()
    }
}

fn segment(from: &kvm_segment) -> Segment {
    let bit = |set: u8, position: u32| u16::from(set & 1) << position;
    // The privilege level is in SS even when that is unusable.
    let dpl = u16::from(from.dpl & 3) << 5;
    let usable = u16::from(from.type_ & 0xF)
        | bit(from.s, 4)
        | bit(from.present, 7)
        | bit(from.avl, 12)
        | bit(from.l, 13)
        | bit(from.db, 14)
        | bit(from.g, 15);
    Segment {
        selector: from.selector,
        base: from.base,
        limit: from.limit,
        rights: dpl | if from.unusable == 0 { usable } else { 0 },
    }
}

fn table(from: &kvm_dtable) -> DescriptorTable {
    DescriptorTable { base: from.base, limit: from.limit }
}

/// MSRs of [`State`] that are in neither register set, in the order of [`msr_values`].
pub(super) const MSRS: [u32; 10] = [
    0xC000_0081,
    0xC000_0082,
    0xC000_0083,
    0xC000_0084,
    0xC000_0102,
    0xC000_0103,
    0x174,
    0x175,
    0x176,
    0x277,
];

/// The values of [`MSRS`].
pub(super) fn msr_values(state: &State) -> [u64; MSRS.len()] {
    let [cs, esp, eip] = state.sysenter;
    let tsc_aux = u64::from(state.tsc_aux);
    [
        state.star,
        state.lstar,
        state.cstar,
        state.fmask,
        state.kernel_gs_base,
        tsc_aux,
        cs,
        esp,
        eip,
        state.pat,
    ]
}

/// Takes over the values of [`MSRS`].
pub(super) fn set_msr_values(state: &mut State, values: [u64; MSRS.len()]) {
    let [star, lstar, cstar, fmask, kernel_gs_base, tsc_aux, cs, esp, eip, pat] = values;
    state.sysenter = [cs, esp, eip];
    (state.star, state.lstar, state.cstar, state.fmask) = (star, lstar, cstar, fmask);
    // The upper half of IA32_TSC_AUX is reserved.
    (state.kernel_gs_base, state.tsc_aux, state.pat) = (kernel_gs_base, low_u32(tsc_aux), pat);
}

/// The general registers.
pub(super) fn to_regs(state: &State) -> kvm_regs {
    let [rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15] = state.gpr;
    kvm_regs {
        rax,
        rbx,
        rcx,
        rdx,
        rsi,
        rdi,
        rsp,
        rbp,
        r8,
        r9,
        r10,
        r11,
        r12,
        r13,
        r14,
        r15,
        rip: state.rip,
        rflags: state.rflags,
    }
}

/// `old` with the system registers of `state`; what the interpreter does not have stays.
pub(super) fn to_sregs(state: &State, old: &kvm_sregs) -> kvm_sregs {
    let [es, cs, ss, ds, fs, gs] = state.segments.map(|segment| to_segment(&segment));
    let to_table =
        |from: &DescriptorTable| kvm_dtable { base: from.base, limit: from.limit, padding: [0; 3] };
    kvm_sregs {
        cs,
        ds,
        es,
        fs,
        gs,
        ss,
        tr: to_segment(&state.tr),
        ldt: to_segment(&state.ldtr),
        gdt: to_table(&state.gdtr),
        idt: to_table(&state.idtr),
        cr0: state.cr0,
        cr2: state.cr2,
        cr3: state.cr3,
        cr4: state.cr4,
        efer: state.efer,
        ..*old
    }
}

fn to_segment(from: &Segment) -> kvm_segment {
    let bit = |position: u32| (from.rights >> position & 1) as u8;
    kvm_segment {
        base: from.base,
        limit: from.limit,
        selector: from.selector,
        type_: (from.rights & 0xF) as u8,
        present: bit(7),
        dpl: (from.rights >> 5 & 3) as u8,
        db: bit(14),
        s: bit(4),
        l: bit(13),
        g: bit(15),
        avl: bit(12),
        unusable: 1 - bit(7),
        padding: 0,
    }
}

/// Bytes of the FXSAVE area at the start of the XSAVE area (SDM volume 1, "FXSAVE Area").
const FXSAVE: usize = 512;
/// Where ST0 and XMM0 are in it; 16 bytes each.
const ST: usize = 32;
const XMM: usize = 160;
/// XSTATE_BV bits of x87 and SSE state.
const X87_AND_SSE: u32 = 3;

/// Takes over x87 and SSE state.
pub(super) fn take_xsave(state: &mut State, area: &kvm_xsave) {
    let mut bytes = [0; FXSAVE];
    for (chunk, word) in bytes.chunks_exact_mut(4).zip(area.region) {
        chunk.copy_from_slice(&word.to_le_bytes());
    }
    let field = |offset: usize, size: usize| {
        bytes[offset..offset + size].iter().rev().fold(0, |value, byte| value << 8 | u128::from(*byte))
    };
    let word = |offset: usize| u16::from_le_bytes([bytes[offset], bytes[offset + 1]]);
    let quad = |offset: usize| low_u64(field(offset, 8));
    state.fcw = word(0);
    state.fsw = word(2);
    state.ftw = bytes[4];
    state.x87_pointers = (word(6), quad(8), quad(16));
    state.mxcsr = low_u32(quad(24));
    for (n, register) in state.st.iter_mut().enumerate() {
        *register = field(ST + 16 * n, 10);
    }
    for (n, register) in state.xmm.iter_mut().enumerate() {
        *register = field(XMM + 16 * n, 16);
    }
}

/// Puts x87 and SSE state into an area; its other components stay.
pub(super) fn put_xsave(state: &State, area: &mut kvm_xsave) {
    let mut bytes = [0; FXSAVE];
    for (chunk, word) in bytes.chunks_exact_mut(4).zip(area.region) {
        chunk.copy_from_slice(&word.to_le_bytes());
    }
    let mut field = |offset: usize, size: usize, value: u128| {
        bytes[offset..offset + size].copy_from_slice(&value.to_le_bytes()[..size]);
    };
    field(0, 2, state.fcw.into());
    field(2, 2, state.fsw.into());
    field(4, 1, state.ftw.into());
    let (opcode, instruction, operand) = state.x87_pointers;
    field(6, 2, opcode.into());
    field(8, 8, instruction.into());
    field(16, 8, operand.into());
    field(24, 4, state.mxcsr.into());
    for (n, register) in state.st.iter().enumerate() {
        field(ST + 16 * n, 10, *register);
    }
    for (n, register) in state.xmm.iter().enumerate() {
        field(XMM + 16 * n, 16, *register);
    }
    for (chunk, word) in bytes.chunks_exact(4).zip(&mut area.region) {
        *word = chunk.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte));
    }
    // Without these the CPU would take the components for being in their initial state.
    area.region[FXSAVE / 4] |= X87_AND_SSE;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_to_kvm_comes_back() {
        let mut state = State { rip: 0x1234, rflags: 0x246, cr2: 7, efer: 0x500, ..State::default() };
        state.gpr = std::array::from_fn(|n| n as u64 + 100);
        state.segments[1].rights = 0xA09B;
        state.segments[2].rights = 3 << 5;
        state.idtr = DescriptorTable { base: 0xFFFF_8000_0000_0000, limit: 0xFFF };
        assert_eq!(visible(&to_regs(&state), &to_sregs(&state, &kvm_sregs::default())), state);
    }

    #[test]
    fn every_msr_comes_back_to_its_place() {
        let values = std::array::from_fn(|n| n as u64 + 0x100);
        let mut state = State::default();
        set_msr_values(&mut state, values);
        assert_eq!(msr_values(&state), values);
        let at = MSRS.iter().position(|index| *index == 0xC000_0103);
        assert_eq!(at.map(|at| values[at]), Some(state.tsc_aux.into()));
    }

    #[test]
    fn vector_registers_go_through_the_xsave_area() {
        let mut state = State { mxcsr: 0x1FA0, fcw: 0x27F, fsw: 0x3800, ftw: 0x81, ..State::default() };
        state.x87_pointers = (0x123, 0x4567_89AB_CDEF, 0xFEDC_BA98);
        state.st = std::array::from_fn(|n| 0x3FFF_8000_0000_0000_0000 + n as u128);
        state.xmm = std::array::from_fn(|n| u128::MAX - n as u128);
        let mut area = kvm_xsave::default();
        area.region[200] = 0x5555_5555;
        put_xsave(&state, &mut area);
        assert_eq!((area.region[128], area.region[200]), (3, 0x5555_5555));
        let mut back = State::default();
        take_xsave(&mut back, &area);
        assert_eq!(back, state);
    }
}
