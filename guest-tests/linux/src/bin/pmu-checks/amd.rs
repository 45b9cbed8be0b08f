//! The questions of Linux's `arch/x86/events/amd`.

use crate::msr::Msr;
use linux_guest::checks::{Checks, ensure, spin};
use std::arch::x86_64::__cpuid;

const LEGACY_PERF_CTL0: u32 = 0xC001_0000;
const LEGACY_PERF_CTR0: u32 = 0xC001_0004;
/// The legacy addresses reach so many counters.
const LEGACY_COUNTERS: u32 = 4;
const PERF_CTL0: u32 = 0xC001_0200;
const PERF_CTR0: u32 = 0xC001_0201;
const GLOBAL_STATUS: u32 = 0xC000_0300;
const GLOBAL_CTL: u32 = 0xC000_0301;
const GLOBAL_STATUS_CLEAR: u32 = 0xC000_0302;
const DBG_EXTN_CFG: u32 = 0xC000_010F;
const LBR_SELECT: u32 = 0xC000_010E;
const LBR_FROM0: u32 = 0xC001_0300;
const WIDTH: u32 = 48;
const COUNTERS: u32 = 6;
/// The last counter, which the kernel takes last.
const COUNTER: u32 = PERF_CTR0 + 2 * (COUNTERS - 1);
/// Its control.
const CONTROL: u32 = PERF_CTL0 + 2 * (COUNTERS - 1);

const ENABLED: u64 = 1 << 22;
/// Instructions retired, in user mode, enabled.
const INSTRUCTIONS_USER: u64 = 0xC0 | 1 << 16 | ENABLED;

/// CPUID leaf 8000_0022H: EAX and EBX, 0 where there is no such leaf.
fn perf_mon_v2() -> (u32, u32) {
    let leaf = 0x8000_0022;
    if __cpuid(0x8000_0000).eax < leaf {
        return (0, 0);
    }
    let features = __cpuid(leaf);
    (features.eax, features.ebx)
}

pub(crate) fn check(msr: &Msr, checks: &mut Checks) {
    let (features, numbers) = perf_mon_v2();
    checks.check("every control is readable and off", controls(msr));
    checks.check("a counter keeps what is written", msr.keeps(COUNTER, 0xFFFF).map(|()| String::new()));
    checks.check("a counter is 48 bits wide", wraps(msr));
    checks.check("the legacy addresses are the first four counters", legacy(msr));
    checks.check("a counter counts while its control says so", counts(msr));
    if features & 1 != 0 {
        checks.check(
            "CPUID tells the number of counters",
            ensure(numbers & 0xF == COUNTERS, numbers.to_string()),
        );
        checks.check("the global control stops and starts counters", global(msr));
    } else {
        let refused = [GLOBAL_STATUS, GLOBAL_CTL].iter().all(|index| msr.read(*index).is_err());
        checks.check("there are no global registers", ensure(refused, String::new()));
    }
    if features & 2 != 0 {
        checks.check("branch records are readable", branch_records(msr, numbers >> 4 & 0x3F));
    }
}

fn controls(msr: &Msr) -> Result<String, String> {
    for n in 0..COUNTERS {
        let control = msr.read(PERF_CTL0 + 2 * n)?;
        if control & ENABLED != 0 {
            return Err(format!("PERF_CTL{n} is on: {control:#x}"));
        }
    }
    Ok(format!("{COUNTERS} of {COUNTERS}"))
}

/// Runs `body` with the last counter enabled in the global control, where there is one.
fn enabled<T>(msr: &Msr, body: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    if perf_mon_v2().0 & 1 == 0 {
        return body();
    }
    let before = msr.read(GLOBAL_CTL)?;
    msr.write(GLOBAL_CTL, before | 1 << (COUNTERS - 1))?;
    let result = body();
    msr.write(GLOBAL_CTL, before)?;
    result
}

/// From its highest value a counter goes on at 0.
fn wraps(msr: &Msr) -> Result<String, String> {
    let value = enabled(msr, || {
        msr.write(COUNTER, (1 << WIDTH) - 1)?;
        msr.write(CONTROL, INSTRUCTIONS_USER)?;
        spin(ROUNDS);
        msr.write(CONTROL, 0)?;
        msr.read(COUNTER)
    })?;
    ensure((2 * ROUNDS..10 * ROUNDS).contains(&value), value.to_string())
}

fn legacy(msr: &Msr) -> Result<String, String> {
    for n in 0..LEGACY_COUNTERS {
        let value = 0x1234_5678_9ABC + u64::from(n);
        msr.write(LEGACY_PERF_CTR0 + n, value)?;
        let seen = [msr.read(PERF_CTR0 + 2 * n)?, msr.read(LEGACY_PERF_CTR0 + n)?];
        if seen != [value; 2] || msr.read(LEGACY_PERF_CTL0 + n)? != msr.read(PERF_CTL0 + 2 * n)? {
            return Err(format!("counter {n}: {seen:x?} after writing {value:#x}"));
        }
        msr.write(PERF_CTR0 + 2 * n, 0)?;
    }
    Ok(String::new())
}

const ROUNDS: u64 = 10_000;

/// What the last counter counts in a loop.
fn passed(msr: &Msr) -> Result<u64, String> {
    let before = msr.read(COUNTER)?;
    spin(ROUNDS);
    Ok(msr.read(COUNTER)? - before)
}

fn counts(msr: &Msr) -> Result<String, String> {
    let (on, off) = enabled(msr, || {
        msr.write(CONTROL, INSTRUCTIONS_USER)?;
        let on = passed(msr)?;
        msr.write(CONTROL, INSTRUCTIONS_USER & !ENABLED)?;
        let off = passed(msr)?;
        msr.write(CONTROL, 0)?;
        Ok((on, off))
    })?;
    ensure(on >= 2 * ROUNDS && off == 0, format!("{on} instructions, then {off}"))
}

/// The kernel's start-up: control off, status cleared; and the control is what it says.
fn global(msr: &Msr) -> Result<String, String> {
    let before = msr.read(GLOBAL_CTL)?;
    msr.write(GLOBAL_CTL, 0)?;
    msr.write(GLOBAL_STATUS_CLEAR, 0x0400_0000_0000_003F)?;
    let status = msr.read(GLOBAL_STATUS)?;
    msr.write(CONTROL, INSTRUCTIONS_USER)?;
    let off = passed(msr)?;
    msr.write(GLOBAL_CTL, 1 << (COUNTERS - 1))?;
    let on = passed(msr)?;
    msr.write(CONTROL, 0)?;
    msr.write(GLOBAL_CTL, before)?;
    ensure(
        status == 0 && off == 0 && on >= 2 * ROUNDS,
        format!("status {status:#x}; {off} instructions when off, {on} when on"),
    )
}

fn branch_records(msr: &Msr, depth: u32) -> Result<String, String> {
    for index in [DBG_EXTN_CFG, LBR_SELECT] {
        msr.read(index)?;
    }
    for n in 0..2 * depth {
        msr.read(LBR_FROM0 + n)?;
    }
    let refused = msr.read(LBR_FROM0 + 2 * depth).is_err();
    ensure(depth == 16 && refused, format!("{depth} records, one more is refused: {refused}"))
}
