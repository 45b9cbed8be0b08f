//! Embedding [`Vpmu`] in a VMM of your own.
//!
//! ```text
//! cargo run -p vpmu --example embed
//! ```
//!
//! The vPMU does not run guests, trap instructions or deliver interrupts; its embedder does:
//!
//! 1. trap RDMSR and WRMSR of [`trapped_ranges`](vpmu::Profile::trapped_ranges), RDPMC and CPUID,
//!    and pass them on (the example `kvm` does);
//! 2. supply counts, here from a [`ScriptedSource`]; a real VMM implements
//!    [`CountsSource`](vpmu::CountsSource) for its own counters;
//! 3. stop the guest where the next overflow that interrupts would be, and call `sync`;
//! 4. look for a PMI after each of these, and send it through LVTPC of its local APIC;
//! 5. save and restore the state with the rest of the vCPU.
//!
//! The guest below is a list of exits instead of machine code, and samples itself every 1000
//! instructions while it measures its top-down metrics.

use vpmu::cpuid::{self, CpuidResult};
use vpmu::event::Event;
use vpmu::source::ScriptedSource;
use vpmu::{
    CountsSource, EventRequest, Fault, Level, PmiRequests, PrivilegeFilter, RdpmcContext, ReadOutcome,
    TopdownSlots, Vpmu, WriteOutcome, decode, profile,
};

/// What makes the guest exit to this VMM.
#[derive(Debug, Clone, Copy)]
enum Exit {
    Cpuid {
        leaf: u32,
    },
    Rdmsr {
        index: u32,
    },
    Wrmsr {
        index: u32,
        value: u64,
    },
    Rdpmc {
        ecx: u32,
        cpl: u8,
        pce: bool,
    },
    /// The guest ran this many instructions in ring 3 before the next exit.
    Ran {
        instructions: u64,
    },
}

/// The part of a vCPU that this example needs.
struct Vcpu {
    pmu: Vpmu,
    source: ScriptedSource,
    /// LVTPC of the local APIC: masked until the guest's handler unmasks it.
    lvtpc_masked: bool,
    pmis: u32,
    log: Vec<String>,
}

impl Vcpu {
    fn new() -> Self {
        Self {
            pmu: Vpmu::new(profile::SAPPHIRE_RAPIDS),
            source: ScriptedSource::new(),
            lvtpc_masked: false,
            pmis: 0,
            log: Vec::new(),
        }
    }

    fn handle(&mut self, exit: Exit) {
        let pmis = match exit {
            Exit::Cpuid { leaf } => {
                // The VMM's own CPUID policy goes in; the PMU's bits come out changed.
                let own = CpuidResult::default();
                let r = cpuid::patch(self.pmu.profile(), leaf, 0, own);
                self.log.push(format!("cpuid {leaf:#x}: {:x} {:x} {:x} {:x}", r.eax, r.ebx, r.ecx, r.edx));
                PmiRequests::NONE
            }
            Exit::Rdmsr { index } => {
                let (outcome, pmis) =
                    self.pmu.read_register(Level::Kernel, index, &mut self.source).into_parts();
                self.log_read(&format!("rdmsr {}", name(index)), outcome);
                pmis
            }
            Exit::Wrmsr { index, value } => {
                let (outcome, pmis) =
                    self.pmu.write_register(Level::Kernel, index, value, &mut self.source).into_parts();
                let end = match outcome {
                    WriteOutcome::Done => String::from("done"),
                    WriteOutcome::Fault(fault) => inject_gp(fault),
                    WriteOutcome::NotHandled => String::from("for the VMM's other MSRs"),
                };
                let fields = decode::one_line(self.pmu.profile(), index, value);
                self.log.push(format!("wrmsr {} = {value:#x} [{fields}]: {end}", name(index)));
                pmis
            }
            Exit::Rdpmc { ecx, cpl, pce } => {
                let context = RdpmcContext { cpl, pce, protected_mode: true };
                let (outcome, pmis) = self.pmu.rdpmc(ecx, context, &mut self.source).into_parts();
                self.log_read(&format!("rdpmc {ecx:#x} at CPL {cpl}"), outcome);
                pmis
            }
            Exit::Ran { instructions } => return self.run(instructions),
        };
        pmis.deliver(|| self.pmi());
    }

    fn log_read(&mut self, what: &str, outcome: ReadOutcome) {
        self.log.push(match outcome {
            ReadOutcome::Value(value) => format!("{what}: {value:#x}"),
            ReadOutcome::Fault(fault) => format!("{what}: {}", inject_gp(fault)),
            ReadOutcome::NotHandled => format!("{what}: for the VMM's other MSRs"),
        });
    }

    /// Runs the guest, but never past an overflow that interrupts.
    fn run(&mut self, mut instructions: u64) {
        while instructions > 0 {
            self.pmu.sync(&mut self.source).deliver(|| self.pmi());
            let stretch = instructions.min(self.instructions_to_overflow());
            self.execute(stretch);
            instructions -= stretch;
        }
        self.pmu.sync(&mut self.source).deliver(|| self.pmi());
    }

    /// `active` tells what runs and how far it is from its overflow, as of the last `sync`.
    fn instructions_to_overflow(&self) -> u64 {
        let interrupting = self.pmu.active().filter(|active| active.interrupts);
        let instructions = interrupting.filter(|active| active.request.event == Some(Event::InstRetiredAnyP));
        // This guest samples instructions only; an engine looks at every event that it counts.
        instructions.map(|active| active.until_overflow).min().unwrap_or(u64::MAX)
    }

    /// One instruction a cycle: of six slots one retires, one waits for the front end, four for memory.
    fn execute(&mut self, instructions: u64) {
        self.source.add_user(Event::InstRetiredAny, instructions);
        self.source.add_user(Event::CpuClkUnhaltedThread, instructions);
        let fields = [1, 0, 1, 4, 0, 0, 1, 4].map(|share| share * instructions);
        self.source.add_user_slots(TopdownSlots { slots: 6 * instructions, fields });
    }

    /// An Intel local APIC masks LVTPC when it delivers a PMI, and loses one that comes while masked.
    fn pmi(&mut self) {
        if !self.lvtpc_masked {
            self.lvtpc_masked = true;
            self.pmis += 1;
            let at = self.source_instructions();
            self.log.push(format!("PMI {} after {at} instructions", self.pmis));
            self.guest_handler();
        }
    }

    /// What perf's handler does: acknowledge, set up the next sample, unmask.
    fn guest_handler(&mut self) {
        for exit in [
            Exit::Rdmsr { index: 0x38E },
            Exit::Wrmsr { index: 0x4C1, value: (1 << 48) - 1000 },
            // Bit 59 ends the freeze, so it comes last.
            Exit::Wrmsr { index: 0x390, value: 1 << 59 | 1 },
        ] {
            self.handle(exit);
        }
        self.lvtpc_masked = false;
    }

    fn source_instructions(&mut self) -> u64 {
        use vpmu::event::EventCode;
        let request = EventRequest::named(Event::InstRetiredAny, EventCode::default());
        self.source.total(&request, PrivilegeFilter::ALL)
    }
}

fn name(index: u32) -> String {
    decode::msr_name(&profile::ICELAKE_SP, index).unwrap_or_else(|| format!("{index:#x}"))
}

/// #GP(0) for the guest; the reason is for people.
fn inject_gp(fault: Fault) -> String {
    format!("#GP, {fault}")
}

const PROGRAM: &[Exit] = &[
    Exit::Cpuid { leaf: 0xA },
    Exit::Rdmsr { index: 0x345 },
    // Sample instructions every 1000, in both rings, with a PMI; freeze meanwhile.
    Exit::Wrmsr { index: 0x1D9, value: 1 << 12 },
    Exit::Wrmsr { index: 0x186, value: 0x53_00C0 },
    Exit::Wrmsr { index: 0x4C1, value: (1 << 48) - 1000 },
    // Slots and metrics, both from 0.
    Exit::Wrmsr { index: 0x38D, value: 0x3000 },
    Exit::Wrmsr { index: 0x30C, value: 0 },
    Exit::Wrmsr { index: 0x329, value: 0 },
    Exit::Wrmsr { index: 0x38F, value: 1 << 48 | 1 << 35 | 1 },
    Exit::Ran { instructions: 2500 },
    Exit::Rdpmc { ecx: 0x4000_0003, cpl: 3, pce: true },
    Exit::Rdpmc { ecx: 0x2000_0000, cpl: 3, pce: true },
    // Mistakes of the guest are the guest's.
    Exit::Rdpmc { ecx: 0x2000_0000, cpl: 3, pce: false },
    Exit::Wrmsr { index: 0x38F, value: 1 << 20 },
    Exit::Rdmsr { index: 0x10 },
];

fn main() {
    let mut vcpu = Vcpu::new();
    for &exit in PROGRAM {
        vcpu.handle(exit);
    }

    // Migration: a new vPMU goes on where the old one stopped.
    let (state, pmis) = vcpu.pmu.save(&mut vcpu.source).into_parts();
    pmis.deliver(|| vcpu.pmi());
    let mut pmu = Vpmu::new(profile::SAPPHIRE_RAPIDS);
    match pmu.restore(&state, &mut vcpu.source) {
        Ok(()) => vcpu.pmu = pmu,
        Err(error) => vcpu.log.push(format!("not migrated: {error}")),
    }
    vcpu.handle(Exit::Ran { instructions: 500 });
    vcpu.handle(Exit::Rdpmc { ecx: 0x4000_0003, cpl: 0, pce: false });

    println!("{}", vcpu.log.join("\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_come_every_thousand_instructions() {
        let mut vcpu = Vcpu::new();
        PROGRAM.iter().for_each(|&exit| vcpu.handle(exit));
        let pmis: Vec<_> = vcpu.log.iter().filter(|line| line.starts_with("PMI")).collect();
        assert_eq!(pmis, ["PMI 1 after 1000 instructions", "PMI 2 after 2000 instructions"]);
        // 6 slots an instruction; of 255 parts 42.5 retire, 42.5 wait for fetch, 170 for memory, and the
        // fields add up to 255.
        assert!(vcpu.log.iter().any(|line| line == "rdpmc 0x40000003 at CPL 3: 0x3a98"));
        assert!(vcpu.log.iter().any(|line| line == "rdpmc 0x20000000 at CPL 3: 0xaa2a0000aa2a002b"));
        assert_eq!(vcpu.log.iter().filter(|line| line.contains("#GP")).count(), 2);
    }
}
