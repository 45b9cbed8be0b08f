//! FLDENV, FNSTENV, FRSTOR and FNSAVE in their protected-mode formats (SDM volume 1, figures 8-9 and 8-10). The
//! selectors of both pointers are stored as 0.

use super::float::{Class, F80};
use crate::bus::Bus;
use crate::context::Core;
use crate::exception::{Done, Fault};
use crate::exec::Insn;
use crate::exec::operand::{self, is_stack};
use crate::exec::x87;
use crate::low::Low;

/// Bytes of the environment with 16-bit and 32-bit operands.
const fn environment_size(wide: bool) -> u64 {
    if wide { 28 } else { 14 }
}

/// Two tag bits per physical register: valid, zero, special, empty.
fn full_tags(c: &Core) -> u16 {
    let tag = |register: usize| match F80::from_bits(c.st[register]) {
        _ if c.ftw >> register & 1 == 0 => 3,
        value => match value.class() {
            Class::Zero => 1,
            Class::Finite if !value.number().denormal => 0,
            _ => 2,
        },
    };
    (0..8).map(|register| tag(register) << (2 * register)).sum()
}

fn store_environment<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>, linear: u64, wide: bool) -> Done {
    let stack = is_stack(i);
    let (opcode, ip, dp) = c.x87_pointers;
    let words = [c.fcw, c.fsw, full_tags(c)];
    if wide {
        let values = [
            u32::from(words[0]) | 0xFFFF_0000,
            u32::from(words[1]) | 0xFFFF_0000,
            u32::from(words[2]) | 0xFFFF_0000,
            ip.low_u32(),
            u32::from(opcode) << 16,
            dp.low_u32(),
            0xFFFF_0000,
        ];
        for (n, value) in (0..).zip(values) {
            c.store(b, linear.wrapping_add(4 * n), value, stack)?;
        }
    } else {
        let values = [words[0], words[1], words[2], ip.low_u16(), 0, dp.low_u16(), 0];
        for (n, value) in (0..).zip(values) {
            c.store(b, linear.wrapping_add(2 * n), value, stack)?;
        }
    }
    Ok(())
}

fn load_environment<B: Bus>(
    c: &mut Core,
    b: &mut B,
    i: &Insn<B>,
    linear: u64,
    wide: bool,
) -> Result<[u32; 7], Fault> {
    let stack = is_stack(i);
    let mut values = [0; 7];
    for (n, value) in (0..).zip(values.iter_mut()) {
        *value = if wide {
            c.load(b, linear.wrapping_add(4 * n), stack)?
        } else {
            u32::from(c.load::<u16, B>(b, linear.wrapping_add(2 * n), stack)?)
        };
    }
    Ok(values)
}

/// Puts a loaded environment into effect; the tags only say which registers are empty.
fn set_environment(c: &mut Core, values: [u32; 7], wide: bool) {
    c.fcw = x87::control_word(values[0].low_u16());
    c.fsw = values[1].low_u16();
    c.ftw = (0..8).filter(|n| values[2] >> (2 * n) & 3 != 3).map(|n| 1 << n).sum();
    let opcode = if wide { (values[4] >> 16) as u16 & 0x7FF } else { 0 };
    c.x87_pointers = (opcode, u64::from(values[3]), u64::from(values[5]));
    c.update_x87_summary();
}

pub(crate) fn fnstenv<B: Bus, const WIDE: bool>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_x87()?;
    let linear = operand::linear(c, i, environment_size(WIDE).low_usize(), true)?;
    operand::probe(c, b, i, linear, environment_size(WIDE))?;
    store_environment(c, b, i, linear, WIDE)?;
    c.fcw |= 0x3F;
    c.update_x87_summary();
    Ok(())
}

pub(crate) fn fldenv<B: Bus, const WIDE: bool>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_x87_settled()?;
    let linear = operand::linear(c, i, environment_size(WIDE).low_usize(), false)?;
    let values = load_environment(c, b, i, linear, WIDE)?;
    set_environment(c, values, WIDE);
    Ok(())
}

/// Linear addresses of the environment and of ST(0); ten bytes per register follow.
fn save_area<B: Bus>(c: &mut Core, i: &Insn<B>, wide: bool, write: bool) -> Result<(u64, u64), Fault> {
    let size = environment_size(wide);
    let linear = operand::linear(c, i, size.low_usize() + 80, write)?;
    Ok((linear, linear.wrapping_add(size)))
}

pub(crate) fn fnsave<B: Bus, const WIDE: bool>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_x87()?;
    let (linear, registers) = save_area(c, i, WIDE, true)?;
    operand::probe(c, b, i, linear, environment_size(WIDE) + 80)?;
    store_environment(c, b, i, linear, WIDE)?;
    for n in 0..8 {
        let value = c.st(n);
        let at = registers.wrapping_add(10 * u64::from(n));
        c.store(b, at, value.significand, is_stack(i))?;
        c.store(b, at.wrapping_add(8), value.high, is_stack(i))?;
    }
    c.reset_x87();
    Ok(())
}

pub(crate) fn frstor<B: Bus, const WIDE: bool>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    c.require_x87_settled()?;
    let (linear, registers) = save_area(c, i, WIDE, false)?;
    let values = load_environment(c, b, i, linear, WIDE)?;
    let mut st = [0; 8];
    for (n, value) in (0..).zip(st.iter_mut()) {
        let at = registers.wrapping_add(10 * n);
        let significand: u64 = c.load(b, at, is_stack(i))?;
        let high: u16 = c.load(b, at.wrapping_add(8), is_stack(i))?;
        *value = F80 { high, significand }.bits();
    }
    set_environment(c, values, WIDE);
    c.set_x87_stack(st);
    Ok(())
}
