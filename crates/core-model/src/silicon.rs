//! How far the model of a core is off the CPU that it stands for.

use crate::core::Core;

/// A comparison of a core with a CPU, made by `cargo xtask silicon` on basic blocks of real programs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// The core.
    pub core: &'static str,
    /// The CPU.
    pub cpu: &'static str,
    /// When the CPU was measured, year and month.
    pub measured: &'static str,
    /// Blocks in loops, and the mean error of their cycles in percent.
    pub loops: (u32, f32),
    /// The 90th percentile of these errors in percent.
    pub loops_ninetieth: f32,
    /// Blocks without a loop, one copy behind the other, and the mean error of their cycles in percent.
    pub unrolled: (u32, f32),
}

/// All that were made; docs/silicon.md has the commands.
const COMPARISONS: [Comparison; 6] = [
    Comparison {
        core: "Cascade Lake",
        cpu: "Intel Xeon, family 6, model 85, stepping 7, 3.10 GHz",
        measured: "2026-11",
        loops: (1453, 1.2),
        loops_ninetieth: 3.0,
        unrolled: (1464, 3.0),
    },
    Comparison {
        core: "Raptor Cove",
        cpu: "Intel Emerald Rapids, a virtual machine",
        measured: "2026-11",
        loops: (1417, 2.6),
        loops_ninetieth: 7.3,
        unrolled: (1449, 4.4),
    },
    Comparison {
        core: "Redwood Cove",
        cpu: "Intel Granite Rapids, a virtual machine",
        measured: "2026-11",
        loops: (1389, 5.1),
        loops_ninetieth: 14.0,
        unrolled: (1442, 5.8),
    },
    Comparison {
        core: "Zen 3",
        cpu: "AMD EPYC 7003, a virtual machine",
        measured: "2026-11",
        loops: (1414, 3.7),
        loops_ninetieth: 11.2,
        unrolled: (1431, 6.2),
    },
    Comparison {
        core: "Zen 4",
        cpu: "AMD EPYC 9004, a virtual machine",
        measured: "2026-11",
        loops: (1431, 2.9),
        loops_ninetieth: 8.9,
        unrolled: (1453, 4.1),
    },
    Comparison {
        core: "Zen 5",
        cpu: "AMD EPYC 9005, a virtual machine, 4.17 GHz",
        measured: "2026-11",
        loops: (1428, 2.9),
        loops_ninetieth: 9.6,
        unrolled: (1449, 5.0),
    },
];

/// The comparison of a core with silicon; `None` if there is none.
#[must_use]
pub fn comparison(core: &Core) -> Option<&'static Comparison> {
    COMPARISONS.iter().find(|comparison| comparison.core == core.name)
}
