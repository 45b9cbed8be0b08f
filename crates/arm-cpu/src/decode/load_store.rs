//! Loads and stores of registers and pairs (Arm ARM C4.1.94).

use super::fields::{base_alignment, bit, bits, number, or_stack_pointer, signed, source, target};
use crate::bus::Bus;
use crate::context::BLOCK;
use crate::exec::address::{ExtendedIndex, Index, Offset, PostIndex, PreIndex};
use crate::exec::memory::{self, Sign32, Sign64, Zero};
use crate::exec::{Code, Operands, access, exclusive, plain, system};
use crate::simd::memory as vector;
use disarm64_defn::InsnClass;
use soft_base::Low;

/// The bit that says that the register is one of FP and Advanced SIMD.
const V: u32 = 26;

/// How an address is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Offset,
    Pre,
    Post,
    Index,
    ExtendedIndex,
}

pub(super) fn select<B: Bus>(word: u32, offset: u8, class: InsnClass, o: &mut Operands) -> Option<Code<B>> {
    use InsnClass as C;
    o.rn = or_stack_pointer(word, 5);
    o.more = base_alignment(o.rn);
    match class {
        C::LOADLIT => literal(word, offset, o),
        C::LDSTPAIR_OFF | C::LDSTPAIR_INDEXED | C::LDSTNAPAIR_OFFS => pair(word, o),
        C::LDSTEXCL => exclusive(word, o),
        C::LDST_UNPRIV => {
            o.imm = signed(word, 12, 9, 0);
            unprivileged(word, o)
        }
        C::LDST_POS => {
            o.imm = u64::from(bits(word, 10, 12)) << scale(word);
            single(word, Mode::Offset, o)
        }
        C::LDST_UNSCALED => {
            o.imm = signed(word, 12, 9, 0);
            single(word, Mode::Offset, o)
        }
        C::LDST_IMM9 => {
            o.imm = signed(word, 12, 9, 0);
            single(word, if bit(word, 11) { Mode::Pre } else { Mode::Post }, o)
        }
        C::LDST_REGOFF => {
            o.rm = source(word, 16);
            let option = bits(word, 13, 3).low_u8();
            // Extensions of less than 32 bits are reserved.
            if option & 2 == 0 {
                return None;
            }
            o.ra = option;
            o.aux = if bit(word, 12) { scale(word).low_u8() } else { 0 };
            single(word, if option & 3 == 3 { Mode::Index } else { Mode::ExtendedIndex }, o)
        }
        _ => None,
    }
}

macro_rules! by_mode {
    ($mode:expr, $A:ident => $e:expr) => {
        match $mode {
            Mode::Offset => {
                type $A = Offset;
                $e
            }
            Mode::Pre => {
                type $A = PreIndex;
                $e
            }
            Mode::Post => {
                type $A = PostIndex;
                $e
            }
            Mode::Index => {
                type $A = Index;
                $e
            }
            Mode::ExtendedIndex => {
                type $A = ExtendedIndex;
                $e
            }
        }
    };
}

/// log2 of the bytes of a single register.
fn scale(word: u32) -> u32 {
    let size = bits(word, 30, 2);
    // Of size 0, opc 1 of FP and Advanced SIMD says that it is 4.
    if bit(word, V) && bit(word, 23) { size + 4 } else { size }
}

/// A load, a store or a prefetch by size and opc.
fn single<B: Bus>(word: u32, mode: Mode, o: &mut Operands) -> Option<Code<B>> {
    if bit(word, V) {
        return single_vector(word, mode, o);
    }
    o.rd = target(word, 0);
    let (size, opc) = (bits(word, 30, 2), bits(word, 22, 2));
    if opc == 0 {
        o.rd = source(word, 0);
        let code = by_mode!(mode, A => match size {
            0 => access!(memory::store<u8, A>),
            1 => access!(memory::store<u16, A>),
            2 => access!(memory::store<u32, A>),
            _ => access!(memory::store<u64, A>),
        });
        return Some(code.stores());
    }
    let code = by_mode!(mode, A => match (size, opc) {
        (0, 1) => access!(memory::load<u8, Zero, A>),
        (1, 1) => access!(memory::load<u16, Zero, A>),
        (2, 1) => access!(memory::load<u32, Zero, A>),
        (3, 1) => access!(memory::load<u64, Zero, A>),
        (0, 2) => access!(memory::load<u8, Sign64, A>),
        (1, 2) => access!(memory::load<u16, Sign64, A>),
        (2, 2) => access!(memory::load<u32, Sign64, A>),
        (0, 3) => access!(memory::load<u8, Sign32, A>),
        (1, 3) => access!(memory::load<u16, Sign32, A>),
        // PRFM has no form with write-back.
        (3, 2) if !matches!(mode, Mode::Pre | Mode::Post) => return Some(plain!(system::nop)),
        _ => return None,
    });
    Some(code.loads())
}

fn single_vector<B: Bus>(word: u32, mode: Mode, o: &mut Operands) -> Option<Code<B>> {
    o.rd = number(word, 0);
    let code = by_mode!(mode, A => match (scale(word), bit(word, 22)) {
        (0, false) => access!(vector::store<u8, A>).stores(),
        (1, false) => access!(vector::store<u16, A>).stores(),
        (2, false) => access!(vector::store<u32, A>).stores(),
        (3, false) => access!(vector::store<u64, A>).stores(),
        (4, false) => access!(vector::store<u128, A>).stores(),
        (0, true) => access!(vector::load<u8, A>).loads(),
        (1, true) => access!(vector::load<u16, A>).loads(),
        (2, true) => access!(vector::load<u32, A>).loads(),
        (3, true) => access!(vector::load<u64, A>).loads(),
        (4, true) => access!(vector::load<u128, A>).loads(),
        _ => return None,
    });
    Some(code.vector())
}

fn literal<B: Bus>(word: u32, offset: u8, o: &mut Operands) -> Option<Code<B>> {
    (o.rd, o.rn, o.more) = (target(word, 0), BLOCK, 0);
    o.imm = signed(word, 5, 19, 2).wrapping_add(u64::from(offset));
    if bit(word, V) {
        o.rd = number(word, 0);
        let code = match bits(word, 30, 2) {
            0 => access!(vector::load<u32, Offset>),
            1 => access!(vector::load<u64, Offset>),
            2 => access!(vector::load<u128, Offset>),
            _ => return None,
        };
        return Some(code.loads().vector());
    }
    let code = match bits(word, 30, 2) {
        0 => access!(memory::load<u32, Zero, Offset>),
        1 => access!(memory::load<u64, Zero, Offset>),
        2 => access!(memory::load<u32, Sign64, Offset>),
        // PRFM.
        _ => return Some(plain!(system::nop)),
    };
    Some(code.loads())
}

fn unprivileged<B: Bus>(word: u32, o: &mut Operands) -> Option<Code<B>> {
    if bit(word, V) {
        return None;
    }
    o.rd = target(word, 0);
    let (size, opc) = (bits(word, 30, 2), bits(word, 22, 2));
    if opc == 0 {
        o.rd = source(word, 0);
        let code = Code::rare(match size {
            0 => memory::store_unprivileged::<u8, B>,
            1 => memory::store_unprivileged::<u16, B>,
            2 => memory::store_unprivileged::<u32, B>,
            _ => memory::store_unprivileged::<u64, B>,
        });
        return Some(code.stores());
    }
    let code = Code::rare(match (size, opc) {
        (0, 1) => memory::load_unprivileged::<u8, Zero, B>,
        (1, 1) => memory::load_unprivileged::<u16, Zero, B>,
        (2, 1) => memory::load_unprivileged::<u32, Zero, B>,
        (3, 1) => memory::load_unprivileged::<u64, Zero, B>,
        (0, 2) => memory::load_unprivileged::<u8, Sign64, B>,
        (1, 2) => memory::load_unprivileged::<u16, Sign64, B>,
        (2, 2) => memory::load_unprivileged::<u32, Sign64, B>,
        (0, 3) => memory::load_unprivileged::<u8, Sign32, B>,
        (1, 3) => memory::load_unprivileged::<u16, Sign32, B>,
        _ => return None,
    });
    Some(code.loads())
}

fn pair<B: Bus>(word: u32, o: &mut Operands) -> Option<Code<B>> {
    let opc = bits(word, 30, 2);
    let mode = match bits(word, 23, 2) {
        0 | 2 => Mode::Offset,
        1 => Mode::Post,
        _ => Mode::Pre,
    };
    let loads = bit(word, 22);
    o.imm = signed(word, 15, 7, if opc == 2 { 3 } else { 2 });
    macro_rules! modes {
        ($A:ident => $e:expr) => {
            match mode {
                Mode::Pre => {
                    type $A = PreIndex;
                    $e
                }
                Mode::Post => {
                    type $A = PostIndex;
                    $e
                }
                _ => {
                    type $A = Offset;
                    $e
                }
            }
        };
    }
    if bit(word, V) {
        (o.rd, o.ra) = (number(word, 0), number(word, 10));
        o.imm = signed(word, 15, 7, 2 + opc);
        let code = modes!(A => match (opc, loads) {
            (0, false) => access!(vector::store_pair<u32, A>).stores(),
            (1, false) => access!(vector::store_pair<u64, A>).stores(),
            (2, false) => access!(vector::store_pair<u128, A>).stores(),
            (0, true) => access!(vector::load_pair<u32, A>).loads(),
            (1, true) => access!(vector::load_pair<u64, A>).loads(),
            (2, true) => access!(vector::load_pair<u128, A>).loads(),
            _ => return None,
        });
        return Some(code.vector());
    }
    if !loads {
        (o.rd, o.ra) = (source(word, 0), source(word, 10));
        let code = modes!(A => match opc {
            0 => access!(memory::store_pair<u32, A>),
            2 => access!(memory::store_pair<u64, A>),
            _ => return None,
        });
        return Some(code.stores());
    }
    (o.rd, o.ra) = (target(word, 0), target(word, 10));
    let code = modes!(A => match opc {
        0 => access!(memory::load_pair<u32, Zero, A>),
        // LDPSW has no form that is not temporal.
        1 if bits(word, 23, 2) != 0 => access!(memory::load_pair<u32, Sign64, A>),
        2 => access!(memory::load_pair<u64, Zero, A>),
        _ => return None,
    });
    Some(code.loads())
}

/// Exclusive and ordered accesses: o2, L, o1 and o0 in bits 23, 22, 21 and 15.
fn exclusive<B: Bus>(word: u32, o: &mut Operands) -> Option<Code<B>> {
    let size = bits(word, 30, 2);
    let loads = bit(word, 22);
    if loads {
        (o.rd, o.ra) = (target(word, 0), target(word, 10));
    } else {
        (o.rd, o.ra) = (source(word, 0), source(word, 10));
    }
    // Rs, the status.
    o.rm = target(word, 16);
    macro_rules! by_size {
        ($f:path) => {{
            use $f as handler;
            match size {
                0 => Code::rare(handler::<u8, B>),
                1 => Code::rare(handler::<u16, B>),
                2 => Code::rare(handler::<u32, B>),
                _ => Code::rare(handler::<u64, B>),
            }
        }};
    }
    Some(match (bit(word, 23), loads, bit(word, 21)) {
        (false, true, false) => by_size!(exclusive::load_exclusive).loads(),
        (false, false, false) => by_size!(exclusive::store_exclusive).stores(),
        // Pairs of 32 or 64 bits.
        (false, true, true) if size == 2 => Code::rare(exclusive::load_pair::<u64, B>).loads(),
        (false, true, true) if size == 3 => Code::rare(exclusive::load_pair::<u128, B>).loads(),
        (false, false, true) if size == 2 => Code::rare(exclusive::store_pair::<u64, B>).stores(),
        (false, false, true) if size == 3 => Code::rare(exclusive::store_pair::<u128, B>).stores(),
        // LDAR and STLR; LDLAR and STLLR are later, and have o0 0.
        (true, true, false) if bit(word, 15) => by_size!(exclusive::load).loads(),
        (true, false, false) if bit(word, 15) => by_size!(exclusive::store).stores(),
        _ => return None,
    })
}
