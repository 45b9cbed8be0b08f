//! RDTSCP and RDPID: what the operating system keeps in IA32_TSC_AUX.

use super::{Insn, system};
use crate::bus::Bus;
use crate::context::{Core, RCX};
use crate::exception::Done;

pub(crate) fn rdtscp<B: Bus>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    system::rdtsc(c, b, i)?;
    c.regs[RCX] = u64::from(c.tsc_aux);
    Ok(())
}

pub(crate) fn rdpid<B: Bus>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    c.regs[usize::from(i.dst)] = u64::from(c.tsc_aux);
    Ok(())
}
