//! The questions of Linux's `arch/x86/events/intel`: are the registers there, do they keep what is written, are
//! counters as wide as they say, do they freeze.

use crate::msr::Msr;
use linux_guest::checks::{Checks, ensure, spin};
use std::fs;

const PMC0: u32 = 0xC1;
const PERFEVTSEL0: u32 = 0x186;
const MISC_ENABLE: u32 = 0x1A0;
const DEBUGCTL: u32 = 0x1D9;
const PERF_CAPABILITIES: u32 = 0x345;
const FIXED_CTR_CTRL: u32 = 0x38D;
const GLOBAL_STATUS: u32 = 0x38E;
const GLOBAL_CTRL: u32 = 0x38F;
const GLOBAL_STATUS_RESET: u32 = 0x390;
const GLOBAL_STATUS_SET: u32 = 0x391;
const A_PMC0: u32 = 0x4C1;
const LBR_TOS: u32 = 0x1C9;
const LBR_FROM0: u32 = 0x680;
const LBR_TO0: u32 = 0x6C0;
const ARCH_LBR_DEPTH: u32 = 0x14CF;
const ARCH_LBR_FROM0: u32 = 0x1500;
const ARCH_LBR_TO0: u32 = 0x1600;

/// PERF_CAPABILITIES: full-width writes.
const FULL_WIDTH: u64 = 1 << 13;
/// PERF_CAPABILITIES: LBR format, bits 5:0; 3FH is architectural.
const LBR_FORMAT: u64 = 0x3F;
/// DEBUGCTL: freeze while in SMM.
const FREEZE_IN_SMM: u64 = 1 << 14;
/// GLOBAL_STATUS: counters are frozen.
const CTR_FRZ: u64 = 1 << 59;
/// Instructions retired, in user mode, enabled.
const INSTRUCTIONS_USER: u64 = 0xC0 | 1 << 16 | 1 << 22;
const ENABLED: u64 = 1 << 22;

/// Number of general counters and their width, from CPUID leaf 0AH.
fn counters() -> (u32, u32) {
    let eax = std::arch::x86_64::__cpuid(0xA).eax;
    (eax >> 8 & 0xFF, eax >> 16 & 0xFF)
}

pub(crate) fn check(msr: &Msr, checks: &mut Checks) {
    checks.check("every event select is readable and off", selects(msr));
    checks.check("a counter keeps what is written", counter(msr));
    checks.check("a legacy write extends the sign of 32 bits", legacy(msr));
    checks.check("a full-width write is as wide as CPUID says", full_width(msr));
    checks.check("the controls are readable", controls(msr));
    checks.check("branch records keep what is written", branch_records(msr));
    checks.check("counters freeze and go on", freeze(msr));
    checks.check("freeze_on_smi sets its bit", freeze_on_smi(msr));
}

fn selects(msr: &Msr) -> Result<String, String> {
    let (count, _) = counters();
    for n in 0..count {
        let select = msr.read(PERFEVTSEL0 + n)?;
        if select & ENABLED != 0 {
            return Err(format!("PERFEVTSEL{n} is on: {select:#x}"));
        }
    }
    Ok(format!("{count} of {count}"))
}

fn counter(msr: &Msr) -> Result<String, String> {
    let (count, _) = counters();
    msr.keeps(PMC0 + count - 1, 0xFFFF)?;
    msr.keeps(A_PMC0 + count - 1, 0xFFFF)?;
    Ok(String::new())
}

fn legacy(msr: &Msr) -> Result<String, String> {
    let (count, width) = counters();
    let index = PMC0 + count - 1;
    let mask = (1_u64 << width) - 1;
    msr.write(index, 0x8000_0000)?;
    let (negative, wanted) = (msr.read(index)?, 0xFFFF_FFFF_8000_0000 & mask);
    msr.write(index, 0x7FFF_FFFF)?;
    let positive = msr.read(index)?;
    msr.write(index, 0)?;
    ensure(negative == wanted && positive == 0x7FFF_FFFF, format!("{negative:#x}, {positive:#x}"))
}

fn full_width(msr: &Msr) -> Result<String, String> {
    let (count, width) = counters();
    if msr.read(PERF_CAPABILITIES)? & FULL_WIDTH == 0 {
        return Ok("not announced".to_owned());
    }
    let index = A_PMC0 + count - 1;
    let value = 1 << (width - 1) | 0x1_2345_6789;
    msr.write(index, value)?;
    let both = [msr.read(index)?, msr.read(PMC0 + count - 1)?];
    let refused = msr.write(index, 1 << width).is_err();
    msr.write(index, 0)?;
    ensure(
        both == [value; 2] && refused,
        format!("{:#x} and {:#x}, bit {width} refused: {refused}", both[0], both[1]),
    )
}

fn controls(msr: &Msr) -> Result<String, String> {
    for index in [FIXED_CTR_CTRL, GLOBAL_CTRL, GLOBAL_STATUS, MISC_ENABLE, DEBUGCTL] {
        msr.read(index)?;
    }
    let read_only = msr.write(GLOBAL_STATUS, 0).is_err();
    ensure(read_only, format!("GLOBAL_STATUS refuses a write: {read_only}"))
}

fn branch_records(msr: &Msr) -> Result<String, String> {
    let format = msr.read(PERF_CAPABILITIES)? & LBR_FORMAT;
    let (from, to, depth) = if format == LBR_FORMAT {
        (ARCH_LBR_FROM0, ARCH_LBR_TO0, msr.read(ARCH_LBR_DEPTH)? as u32)
    } else {
        msr.keeps(LBR_TOS, 3)?;
        (LBR_FROM0, LBR_TO0, 32)
    };
    for n in 0..depth {
        msr.keeps(from + n, 0xFFFF)?;
        msr.keeps(to + n, 0xFFFF)?;
    }
    Ok(format!("format {format:#x}, {depth} records"))
}

/// Streamlined freezing (version 4): a set CTR_FRZ stops counters, clearing it lets them go on.
fn freeze(msr: &Msr) -> Result<String, String> {
    const ROUNDS: u64 = 10_000;
    let (count, _) = counters();
    let n = count - 1;
    let index = A_PMC0 + n;
    let ctrl = msr.read(GLOBAL_CTRL)?;
    let passed = || {
        let before = msr.read(index)?;
        spin(ROUNDS);
        Ok::<_, String>(msr.read(index)? - before)
    };
    msr.write(index, 0)?;
    msr.write(PERFEVTSEL0 + n, INSTRUCTIONS_USER)?;
    msr.write(GLOBAL_CTRL, ctrl | 1 << n)?;
    let running = passed()?;
    msr.write(GLOBAL_STATUS_SET, CTR_FRZ)?;
    let frozen = passed()?;
    let status = msr.read(GLOBAL_STATUS)?;
    msr.write(GLOBAL_STATUS_RESET, CTR_FRZ)?;
    let again = passed()?;
    msr.write(PERFEVTSEL0 + n, 0)?;
    msr.write(GLOBAL_CTRL, ctrl)?;
    let right = running >= 2 * ROUNDS && frozen == 0 && status & CTR_FRZ != 0 && again >= 2 * ROUNDS;
    ensure(right, format!("{running} instructions, frozen {frozen}, then {again}; status {status:#x}"))
}

fn freeze_on_smi(msr: &Msr) -> Result<String, String> {
    let path = "/sys/bus/event_source/devices/cpu/freeze_on_smi";
    let write = |value: &str| fs::write(path, value).map_err(|e| format!("{path}: {e}"));
    write("1")?;
    let set = msr.read(DEBUGCTL)? & FREEZE_IN_SMM != 0;
    write("0")?;
    let cleared = msr.read(DEBUGCTL)? & FREEZE_IN_SMM == 0;
    ensure(set && cleared, format!("set {set}, cleared {cleared}"))
}
