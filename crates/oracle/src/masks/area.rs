//! What XSAVE and its like leave in memory of a component that is in its initial state: the CPU may take it for in use
//! or not (SDM volume 1, section 13.6), so that its bit in XSTATE_BV is 1 or 0, and XSAVEOPT and XSAVEC have written it
//! or not. Either way is made the same: the bit 0 and the bytes as before, if what was written is the initial state.
//! All else is compared: the other components, their places in both formats, XCOMP_BV, MXCSR, and what stays.

use crate::case::{Case, Outcome};
use crate::layout::{HIGH, SCRATCH};
use crate::machine::Machine;
use crate::start::{Start, images};
use crate::vectors::Vectors;
use iced_x86::{Instruction, Mnemonic, OpKind, Register};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

/// Where XSTATE_BV is.
const XSTATE_BV: usize = 512;
/// Where the compacted format has the components behind the header.
const EXTENDED: usize = 576;
/// MXCSR as after RESET.
const MXCSR_INIT: u32 = 0x1F80;

/// A component: its number, its size behind the header, and where Intel's standard format has it.
struct Component(u32, usize, usize);

/// AVX, opmask, ZMM_Hi256, Hi16_ZMM (SDM volume 1, section 13.5; the places by CPUID leaf 0DH of Intel's CPUs).
const COMPONENTS: [Component; 4] =
    [Component(2, 256, 576), Component(5, 64, 1088), Component(6, 512, 1152), Component(7, 1024, 1664)];

/// Memory before a case.
static IMAGES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| images(Machine::Xsave));

/// Whether a mnemonic is one of those.
pub(super) fn saves(mnemonic: Mnemonic) -> bool {
    use Mnemonic as M;
    matches!(mnemonic, M::Xsave | M::Xsave64 | M::Xsaveopt | M::Xsaveopt64 | M::Xsavec | M::Xsavec64)
}

/// The instruction, if the case is one of those behind a MOV to EAX at most, and the components that it is about.
fn saving<'a>(case: &Case, start: &Start, list: &'a [Instruction]) -> Option<(&'a Instruction, u64)> {
    let (first, eax) = match list {
        [mov, next, ..] if mov.mnemonic() == Mnemonic::Mov && mov.op0_register() == Register::EAX => {
            (next, (mov.op1_kind() == OpKind::Immediate32).then(|| u64::from(mov.immediate32()))?)
        }
        [first, ..] => (first, start.gpr[0]),
        [] => return None,
    };
    saves(first.mnemonic()).then_some((first, eax & case.machine.xcr0()))
}

/// Makes both ways the same in one side's outcome.
pub(super) fn clear(case: &Case, list: &[Instruction], outcome: &mut Outcome) {
    let start = Start::from_seed(case.seed);
    let Some((instruction, requested)) = saving(case, &start, list) else { return };
    if outcome.rip <= instruction.ip() {
        return;
    }
    let Some(address) = instruction.virtual_address(0, 0, |register, _, _| Some(start.register(register)))
    else {
        return;
    };
    let at = (address & !HIGH).wrapping_sub(SCRATCH) as usize;
    // Effect::Pointers.
    let masked = |byte: usize| (6..24).contains(&byte) || (28..32).contains(&byte);
    outcome.memory.retain(|(offset, _)| !usize::from(*offset).checked_sub(at).is_some_and(masked));
    let image = &IMAGES[start.image];
    if at.saturating_add(4096) > image.len() {
        return;
    }
    let compacted = matches!(instruction.mnemonic(), Mnemonic::Xsavec | Mnemonic::Xsavec64);
    let all = !compacted && !matches!(instruction.mnemonic(), Mnemonic::Xsaveopt | Mnemonic::Xsaveopt64);
    let mut memory: BTreeMap<u16, u8> = outcome.memory.iter().copied().collect();
    let byte = |memory: &BTreeMap<u16, u8>, n: usize| {
        memory.get(&((at + n) as u16)).copied().unwrap_or(image[at + n])
    };
    let put = |memory: &mut BTreeMap<u16, u8>, n: usize, value: u8| {
        if image[at + n] == value {
            memory.remove(&((at + n) as u16));
        } else {
            memory.insert((at + n) as u16, value);
        }
    };
    let initial = initial(case, &start, compacted);
    let mut place = EXTENDED;
    for number in [0, 1, 2, 5, 6, 7] {
        let component = COMPONENTS.iter().find(|Component(own, ..)| *own == number);
        let own = place;
        if requested >> number & 1 != 0 {
            place += component.map_or(0, |Component(_, size, _)| *size);
        }
        let used = byte(&memory, XSTATE_BV) >> number & 1 != 0;
        if requested & initial >> number & 1 == 0 || !used {
            continue;
        }
        let bytes: Vec<usize> = match component {
            Some(Component(_, size, standard)) => {
                let first = if compacted { own } else { *standard };
                (first..first + size).collect()
            }
            // Without the pointers and MXCSR_MASK.
            None if number == 0 => (0..6).chain(32..160).collect(),
            None if compacted => (24..28).chain(160..416).collect(),
            None => (160..416).collect(),
        };
        let value = |n: usize| match n {
            0..2 if number == 0 => 0x037F_u16.to_le_bytes()[n],
            24..28 => MXCSR_INIT.to_le_bytes()[n - 24],
            _ => 0,
        };
        // What is written is the initial state, or else a difference.
        if !bytes.iter().all(|n| byte(&memory, *n) == value(*n)) {
            continue;
        }
        if !all {
            bytes.into_iter().for_each(|n| put(&mut memory, n, image[at + n]));
        }
        let cleared = byte(&memory, XSTATE_BV) & !(1 << number);
        put(&mut memory, XSTATE_BV, cleared);
    }
    outcome.memory = memory.into_iter().collect();
}

/// The components that a case starts with in their initial state.
fn initial(case: &Case, start: &Start, compacted: bool) -> u64 {
    let Vectors { zmm, k, .. } = Vectors::of(case);
    let x87 = (start.fcw, start.fsw, start.ftw) == (0x37F, 0, 0) && start.st == [0; 8];
    let quarters = |range: Range<usize>| {
        zmm[..16].iter().all(|register| register[range.clone()].iter().all(|q| *q == 0))
    };
    let sse = quarters(0..1) && (!compacted || start.mxcsr == MXCSR_INIT);
    let bit = |holds: bool, number: u32| u64::from(holds) << number;
    bit(x87, 0)
        | bit(sse, 1)
        | bit(quarters(1..2), 2)
        | bit(k == [0; 8], 5)
        | bit(quarters(2..4), 6)
        | bit(zmm[16..].iter().all(|register| *register == [0; 4]), 7)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Verdict, compare};
    use crate::layout::XSAVE_IMAGE;
    use crate::soft::Soft;
    use soft_cpu::silicon::Silicon;

    /// MOV EAX, 0E7H; XSAVEOPT or XSAVEC [XSAVE_IMAGE].
    fn case(seed: u64, compacted: bool) -> Case {
        let modrm = if compacted { [0xC7, 0x24, 0x25] } else { [0xAE, 0x34, 0x25] };
        let mut code = vec![0xB8, 0xE7, 0, 0, 0, 0x0F];
        code.extend(modrm);
        code.extend((XSAVE_IMAGE as u32).to_le_bytes());
        Case { code, offset: 0x100, seed, machine: Machine::Avx512 }
    }

    #[test]
    fn a_component_in_its_initial_state_may_be_saved_and_no_other() {
        let mut soft = Soft::new(Silicon::Intel);
        let at = (XSAVE_IMAGE - SCRATCH) as usize;
        let mut seen = 0;
        for seed in 0..400 {
            for compacted in [false, true] {
                let case = case(seed, compacted);
                let Vectors { k, .. } = Vectors::of(&case);
                let end = soft.run(&case).expect("an end");
                assert_eq!(end.vector, 3, "{end:x?}");
                let image = &IMAGES[Start::from_seed(seed).image];
                let mut other = end.clone();
                // The opmask, as a CPU would have it that takes it for in use.
                let place = if compacted { 576 + 256 } else { 1088 };
                let mut memory: BTreeMap<u16, u8> = other.memory.iter().copied().collect();
                let header = (at + XSTATE_BV) as u16;
                let bits = memory.get(&header).copied().unwrap_or(image[at + XSTATE_BV]);
                memory.insert(header, bits ^ 1 << 5);
                for n in place..place + 64 {
                    memory.insert((at + n) as u16, 0);
                    if image[at + n] == 0 {
                        memory.remove(&((at + n) as u16));
                    }
                }
                other.memory = memory.into_iter().collect();
                let verdict = compare(&case, &other, &end);
                if k == [0; 8] {
                    assert_eq!(verdict, Verdict::Undefined, "seed {seed}");
                    seen += 1;
                    // Not with anything else in it.
                    let byte = ((at + place + 3) as u16, 0x55);
                    other.memory.retain(|(offset, _)| *offset != byte.0);
                    other.memory.push(byte);
                    other.memory.sort_unstable();
                    assert!(matches!(compare(&case, &other, &end), Verdict::Different(_)), "seed {seed}");
                } else {
                    assert!(matches!(verdict, Verdict::Different(_)), "seed {seed}");
                }
            }
        }
        assert!(seen > 10, "{seen}");
    }
}
