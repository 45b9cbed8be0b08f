//! Words to blocks of handlers. disarm64 says which instruction a word is; the modules by class choose the handler, and
//! refuse what is reserved.

mod branch;
mod fields;
mod fp;
mod load_store;
mod processing;
mod simd;
mod system;
mod vector;

use crate::block::{MAX_INSNS, Position};
use crate::bus::Bus;
use crate::exec::chain::{self, Chain};
use crate::exec::{self, Code, Handler, Insn, Operands, plain};
use crate::register::Identification;
use disarm64::{InsnOpcode, decoder};
use disarm64_defn::{InsnClass, InsnFeatureSet};
use retire::BranchKind;

/// What was decoded.
pub(crate) struct Decoded<B> {
    pub(crate) insns: Box<[Insn<B>]>,
    /// Executes them.
    pub(crate) chain: Chain<B>,
    /// What retires.
    pub(crate) end: Position,
    /// The branch that the last instruction is.
    pub(crate) branch: Option<BranchKind>,
}

/// Decodes a block from the words up to the end of a page, of which there is at least one.
pub(crate) fn block<B: Bus>(words: impl Iterator<Item = u32>, identification: &Identification) -> Decoded<B> {
    let mut insns: Vec<Insn<B>> = Vec::new();
    let mut end = Position::default();
    let mut branch = None;
    for (word, offset) in words.take(MAX_INSNS).zip((0_u8..).step_by(4)) {
        let mut operands = Operands { word, ..Operands::default() };
        let code = select(word, offset, &mut operands, identification)
            .unwrap_or_else(|| Code::rare(exec::undefined).ends());
        insns.push(Insn { next: code.chain, run: code.run, position: end, operands });
        end = end.and(Position::of(code.loads, code.stores, code.vector));
        branch = code.branch;
        if code.ends {
            break;
        }
    }
    let chain = link(&mut insns);
    Decoded { insns: insns.into_boxed_slice(), chain, end, branch }
}

/// Has each instruction call the next one. Returns what executes all.
fn link<B: Bus>(insns: &mut [Insn<B>]) -> Chain<B> {
    let mut next: Chain<B> = chain::end;
    for insn in insns.iter_mut().rev() {
        std::mem::swap(&mut insn.next, &mut next);
    }
    next
}

/// disarm64's name of an instruction.
pub(crate) fn name(word: u32) -> String {
    decoder::decode(word).map_or_else(|| format!("{word:#010x}"), |opcode| format!("{:?}", opcode.id()))
}

/// Whether a word has a handler that is not for what is missing.
pub(crate) fn is_defined<B: Bus>(word: u32, identification: &Identification) -> bool {
    let missing: Handler<B> = exec::unimplemented;
    select::<B>(word, 0, &mut Operands::default(), identification)
        .is_some_and(|code| !std::ptr::fn_addr_eq(code.run, missing))
}

/// The handler of an instruction so many bytes behind the start of its block; `None` if it is UNDEFINED.
pub(crate) fn select<B: Bus>(
    word: u32,
    offset: u8,
    operands: &mut Operands,
    identification: &Identification,
) -> Option<Code<B>> {
    use InsnClass as C;
    if system::is_system(word) {
        return system::system(word, operands);
    }
    // disarm64 takes some conversions to and from fixed point for those of half precision.
    if let Some(feature) = vector::feature(word)
        && is_announced(feature, identification)
        && let Some(code) = vector::select(word, operands)
    {
        return Some(code);
    }
    let definition = decoder::decode(word)?.definition();
    if !is_announced(definition.feature_set, identification) {
        return Some(Code::rare(exec::unimplemented).ends());
    }
    match definition.class {
        C::ADDSUB_IMM => processing::add_immediate(word, operands),
        C::ADDSUB_SHIFT => processing::add_shifted(word, operands),
        C::ADDSUB_EXT => processing::add_extended(word, operands),
        C::ADDSUB_CARRY => processing::add_carry(word, operands),
        C::LOG_IMM => processing::logic_immediate(word, operands),
        C::LOG_SHIFT => processing::logic_shifted(word, operands),
        C::MOVEWIDE => processing::move_wide(word, operands),
        C::PCRELADDR => processing::address(word, offset, operands),
        C::BITFIELD => processing::bit_field(word, operands),
        C::EXTRACT => processing::extract(word, operands),
        C::CONDSEL => processing::select(word, operands),
        C::CONDCMP_IMM | C::CONDCMP_REG => processing::compare_if(word, operands),
        C::DP_1SRC => processing::one_source(word, operands),
        C::DP_2SRC => processing::two_sources(word, operands),
        C::DP_3SRC => processing::three_sources(word, operands),
        C::BRANCH_IMM => branch::immediate(word, offset, operands),
        C::CONDBRANCH => branch::conditional(word, offset, operands),
        C::COMPBRANCH => branch::compare(word, offset, operands),
        C::TESTBRANCH => branch::test(word, offset, operands),
        C::BRANCH_REG => branch::register(word, operands),
        C::EXCEPTION => system::exception(word, operands),
        C::LDST_POS
        | C::LDST_UNSCALED
        | C::LDST_IMM9
        | C::LDST_REGOFF
        | C::LDST_UNPRIV
        | C::LOADLIT
        | C::LDSTPAIR_OFF
        | C::LDSTPAIR_INDEXED
        | C::LDSTNAPAIR_OFFS
        | C::LDSTEXCL => load_store::select(word, offset, definition.class, operands),
        // RPRFM, which is PRFM of a reserved kind in Armv8.0. disarm64 has the class wrong.
        C::SME_MISC => Some(plain!(exec::system::nop)),
        _ => None,
    }
}

/// Whether the CPU has the feature that an instruction needs.
fn is_announced(feature: InsnFeatureSet, identification: &Identification) -> bool {
    let field = |register: u64, shift: u32| register >> shift & 0xF;
    match feature {
        InsnFeatureSet::V8 => true,
        // 0xF in ID_AA64PFR0_EL1: there is none.
        InsnFeatureSet::FP => field(identification.pfr0, 16) != 0xF,
        InsnFeatureSet::SIMD => field(identification.pfr0, 20) != 0xF,
        InsnFeatureSet::CRC => field(identification.isar0, 16) != 0,
        InsnFeatureSet::AES => field(identification.isar0, 4) != 0,
        InsnFeatureSet::SHA2 => field(identification.isar0, 12) != 0,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
