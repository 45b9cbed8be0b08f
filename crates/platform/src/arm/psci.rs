//! Power State Coordination Interface 1.0 for one CPU.
//!
//! Source: Arm DEN 0022 (PSCI) chapter 5; functions are called by DEN 0028 (SMC Calling Convention).

use crate::convert::low_u32;

const VERSION: u32 = 0x8400_0000;
const CPU_SUSPEND: u32 = 0x8400_0001;
const CPU_OFF: u32 = 0x8400_0002;
const CPU_ON: u32 = 0x8400_0003;
const AFFINITY_INFO: u32 = 0x8400_0004;
const MIGRATE_INFO_TYPE: u32 = 0x8400_0006;
const SYSTEM_OFF: u32 = 0x8400_0008;
const SYSTEM_RESET: u32 = 0x8400_0009;
const FEATURES: u32 = 0x8400_000A;
/// Function identifiers with 64-bit arguments.
const SMC64: u32 = 1 << 30;

const VERSION_1_0: u64 = 1 << 16;
/// There is no trusted OS that would have to be migrated.
const NO_MIGRATION: u64 = 2;
const ON: u64 = 0;

const NOT_SUPPORTED: i64 = -1;
const INVALID_PARAMETERS: i64 = -2;
const DENIED: i64 = -3;
const ALREADY_ON: i64 = -4;

/// What comes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// It returns this in X0.
    Value(u64),
    /// The guest has switched the machine off.
    Off,
    /// The guest resets the machine.
    Reset,
}

/// Carries out a call with the function identifier in W0 and the first arguments from X1 on.
#[must_use]
pub fn call(function: u64, arguments: [u64; 2]) -> Answer {
    let error = |code: i64| Answer::Value(code.cast_unsigned());
    let function = low_u32(function);
    // 32-bit calls have 32-bit arguments.
    let wide = function & SMC64 != 0;
    let [target, level] = arguments.map(|value| if wide { value } else { low_u32(value).into() });
    match function {
        VERSION => Answer::Value(VERSION_1_0),
        FEATURES if is_implemented(low_u32(target)) => Answer::Value(0),
        _ if !is_implemented(function) || function == FEATURES => error(NOT_SUPPORTED),
        MIGRATE_INFO_TYPE => Answer::Value(NO_MIGRATION),
        SYSTEM_OFF => Answer::Off,
        SYSTEM_RESET => Answer::Reset,
        // The only CPU stays on.
        CPU_OFF => error(DENIED),
        _ => match function & !SMC64 {
            CPU_ON if target == 0 => error(ALREADY_ON),
            AFFINITY_INFO if (target, level) == (0, 0) => Answer::Value(ON),
            // No other CPU, and no state to suspend to.
            _ => error(INVALID_PARAMETERS),
        },
    }
}

fn is_implemented(function: u32) -> bool {
    match function {
        VERSION | CPU_OFF | MIGRATE_INFO_TYPE | SYSTEM_OFF | SYSTEM_RESET | FEATURES => true,
        _ => matches!(function & !SMC64, CPU_SUSPEND | CPU_ON | AFFINITY_INFO),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(function: u32, arguments: [u64; 2]) -> i64 {
        match call(function.into(), arguments) {
            Answer::Value(value) => value.cast_signed(),
            other => panic!("{function:#x}: {other:?}"),
        }
    }

    #[test]
    fn each_function_answers_as_the_only_cpu_of_its_machine() {
        let cases = [
            (VERSION, [0, 0], 0x1_0000),
            (FEATURES, [SYSTEM_OFF.into(), 0], 0),
            (FEATURES, [(CPU_ON | SMC64).into(), 0], 0),
            (FEATURES, [0x8400_000E, 0], NOT_SUPPORTED),
            (FEATURES | SMC64, [VERSION.into(), 0], NOT_SUPPORTED),
            (MIGRATE_INFO_TYPE, [0, 0], 2),
            (CPU_OFF, [0, 0], DENIED),
            (CPU_ON, [0, 0], ALREADY_ON),
            // Only the low halves are arguments.
            (CPU_ON, [1 << 32, 0], ALREADY_ON),
            (CPU_ON | SMC64, [1 << 32, 0], INVALID_PARAMETERS),
            (CPU_ON | SMC64, [1, 0], INVALID_PARAMETERS),
            (AFFINITY_INFO | SMC64, [0, 0], 0),
            (AFFINITY_INFO, [0, 1], INVALID_PARAMETERS),
            (AFFINITY_INFO, [1, 0], INVALID_PARAMETERS),
            (CPU_SUSPEND, [0, 0], INVALID_PARAMETERS),
            // SMCCC_VERSION and SYSTEM_RESET2.
            (0x8000_0000, [0, 0], NOT_SUPPORTED),
            (0x8400_0012, [0, 0], NOT_SUPPORTED),
            (0, [0, 0], NOT_SUPPORTED),
        ];
        for (function, arguments, answer) in cases {
            assert_eq!(code(function, arguments), answer, "{function:#x} {arguments:x?}");
        }
    }

    #[test]
    fn the_machine_ends_by_off_and_reset() {
        assert_eq!(call(0xFFFF_FFFF_8400_0008, [0; 2]), Answer::Off);
        assert_eq!(call(SYSTEM_RESET.into(), [0; 2]), Answer::Reset);
    }
}
