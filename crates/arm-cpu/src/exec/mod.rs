//! Handlers: one function per operation, width and operand form, chosen when a block is decoded.

pub(crate) mod address;
pub(crate) mod alu;
pub(crate) mod bits;
pub(crate) mod branch;
pub(crate) mod chain;
pub(crate) mod exclusive;
pub(crate) mod maintenance;
pub(crate) mod memory;
pub(crate) mod path;
pub(crate) mod register;
pub(crate) mod system;

use crate::block::Position;
use crate::bus::Bus;
use crate::context::Core;
use crate::exception::{Done, Exception};
use retire::BranchKind;

/// Executes one instruction.
pub(crate) type Handler<B> = fn(&mut Core, &mut B, &Operands) -> Done;

/// Operands of an instruction. Register numbers as `Core::regs` has them, those of vector registers below 32.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Operands {
    /// Immediate operand, shifted and extended; of what is relative to the PC its distance from the start of the
    /// block.
    pub(crate) imm: u64,
    /// The instruction.
    pub(crate) word: u32,
    /// Rd, Rt.
    pub(crate) rd: u8,
    /// Rn.
    pub(crate) rn: u8,
    /// Rm.
    pub(crate) rm: u8,
    /// Ra, Rt2, Rs.
    pub(crate) ra: u8,
    /// What else the handler needs: a shift amount, a condition, an extension.
    pub(crate) aux: u8,
    /// And more of that.
    pub(crate) more: u8,
    /// What an FP or Advanced SIMD instruction does that has no handler of its own.
    pub(crate) vector: VectorFunction,
}

/// Executes an instruction that works on registers and flags only.
pub(crate) type Apply = fn(&mut Core, &Operands);

/// An [`Apply`] among operands; at first one that does nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VectorFunction(pub(crate) Apply);

impl Default for VectorFunction {
    fn default() -> Self {
        Self(|_, _| {})
    }
}

/// A decoded instruction.
pub(crate) struct Insn<B> {
    /// Executes what follows.
    pub(crate) next: chain::Chain<B>,
    /// Executes it.
    pub(crate) run: Handler<B>,
    pub(crate) position: Position,
    pub(crate) operands: Operands,
}

/// What the decoder has chosen for an instruction.
pub(crate) struct Code<B> {
    pub(crate) run: Handler<B>,
    pub(crate) chain: chain::Chain<B>,
    /// It reads memory.
    pub(crate) loads: bool,
    /// It writes memory.
    pub(crate) stores: bool,
    /// It is an FP or Advanced SIMD instruction.
    pub(crate) vector: bool,
    /// The block ends with it: it branches, or changes what is translated or may interrupt.
    pub(crate) ends: bool,
    /// The branch that it is.
    pub(crate) branch: Option<BranchKind>,
}

impl<B: Bus> Code<B> {
    pub(crate) fn new(run: Handler<B>, chain: chain::Chain<B>) -> Self {
        Self { run, chain, loads: false, stores: false, vector: false, ends: false, branch: None }
    }

    /// Of an instruction that is rare, and has no chain of its own.
    pub(crate) fn rare(run: Handler<B>) -> Self {
        Self::new(run, chain::any)
    }

    pub(crate) fn loads(self) -> Self {
        Self { loads: true, ..self }
    }

    pub(crate) fn stores(self) -> Self {
        Self { stores: true, ..self }
    }

    pub(crate) fn vector(self) -> Self {
        Self { vector: true, ..self }
    }

    /// It is a branch, with which the block ends.
    pub(crate) fn branches(self, kind: BranchKind) -> Self {
        Self { branch: Some(kind), ..self.ends() }
    }

    pub(crate) fn ends(self) -> Self {
        Self { ends: true, ..self }
    }
}

/// [`Code`] of `f(&mut Core, &Operands)`, which works on general-purpose registers and flags only: it cannot fault,
/// stop or call the bus.
macro_rules! plain {
    ($f:expr) => {
        $crate::exec::Code::new(
            |c, _b, i| {
                $f(c, i);
                Ok(())
            },
            |c, b, rest| $crate::exec::chain::plain(c, b, rest, $f),
        )
    };
}
pub(crate) use plain;

/// [`Code`] of `f(&mut Core, &Operands)`, which works on vector registers: as [`plain!`], and traps if FP and Advanced
/// SIMD are not enabled.
macro_rules! vector {
    ($f:expr) => {
        $crate::exec::Code::new(
            |c, _b, i| {
                c.require_fp()?;
                $f(c, i);
                Ok(())
            },
            |c, b, rest| $crate::exec::chain::vector(c, b, rest, $f),
        )
        .vector()
    };
}
pub(crate) use vector;

/// [`Code`] of `f(&mut Core, &mut B, &Operands) -> Done`, which may access memory, fault and stop, and is worth a
/// chain of its own.
macro_rules! full {
    ($f:expr) => {
        $crate::exec::Code::new($f, |c, b, rest| $crate::exec::chain::full(c, b, rest, $f))
    };
}
pub(crate) use full;

/// [`Code`] of a load or store `f::<..., P: Path, B: Bus>`, whose chain has the quick path.
macro_rules! access {
    ($($f:ident)::+ < $($t:ty),* >) => {
        $crate::exec::Code::new(
            $($f)::+::<$($t,)* $crate::exec::path::Full, B>,
            |c, b, rest| {
                $crate::exec::chain::quick(c, b, rest, |c, b, i| {
                    $($f)::+::<$($t,)* $crate::exec::path::Quick, B>(c, b, i).is_ok()
                })
            },
        )
    };
}
pub(crate) use access;

/// Raises an UNDEFINED exception: not an instruction, or not one of this CPU.
pub(crate) fn undefined<B: Bus>(c: &mut Core, _b: &mut B, _i: &Operands) -> Done {
    Err(c.raise(Exception::undefined()))
}

/// The same, and asks the run loop to note what is missing.
pub(crate) fn unimplemented<B: Bus>(c: &mut Core, _b: &mut B, _i: &Operands) -> Done {
    c.unimplemented = true;
    Err(c.raise(Exception::undefined()))
}
