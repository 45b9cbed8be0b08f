//! The CPUs under test, with what their registers' declarations say.

use crate::Latched;
use crate::model::{Kind, Model};
use std::sync::LazyLock;
use vpmu::Profile;
use vpmu::event::{Event, FixedEvent};
use vpmu::profile::{Architecture, ICELAKE_SP, IntelPmu, SAPPHIRE_RAPIDS, SKYLAKE_SP, Vendor, ZEN2, ZEN4};
use vpmu::register::intel::PerfCapabilities;
use vpmu::register::{Access, OnWrite, Register, RegisterId, amd, intel, registers, trapped_ranges};

/// One register instance that the profile has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot {
    /// Its MSR index.
    pub(crate) index: u32,
    /// Which instance.
    pub(crate) instance: u32,
    /// The register.
    pub(crate) id: RegisterId,
    /// What an access does.
    pub(crate) access: Access,
    /// Bits that a WRMSR may have set.
    pub(crate) accepted: u64,
    /// Bits that it stores.
    pub(crate) stored: u64,
    /// Bits that it may not change.
    pub(crate) unchangeable: u64,
    /// Bits that can ever be read as 1.
    pub(crate) readable: u64,
}

/// A profile under test.
#[derive(Debug)]
pub(crate) struct Subject {
    /// The profile.
    pub(crate) profile: Profile,
    /// A vPMU in its RESET state.
    pub(crate) pristine: Latched,
    /// Every register instance, by MSR index.
    pub(crate) slots: Vec<Slot>,
    /// The same by register: first slot and number of them. A register with many instances counts once.
    pub(crate) registers: Vec<Vec<Slot>>,
    /// A naive model at power-on, to compare with.
    pub(crate) model: Option<Box<dyn Model>>,
    /// Event codes as bits of the event select, with the event that they count; the first few are the usual ones.
    pub(crate) codes: Vec<(u64, Option<Event>)>,
    /// Its engine runs through the instructions that PEBS records are about.
    pub(crate) through: bool,
    /// Groups of MSR indices that are one register.
    pub(crate) aliases: Vec<Vec<u32>>,
    /// MSR ranges of the PMUs of all vendors.
    claimed: Vec<(u32, u32)>,
}

/// The built-in profiles, made-up CPUs for rules that those share, then CPUs with a model. A kept sequence names its
/// CPU by the place in this list; a new profile gives it to another CPU, where it is a sequence as good as any.
pub(crate) static SUBJECTS: LazyLock<Vec<Subject>> = LazyLock::new(|| {
    let built_in = Architecture::X86_64.profiles().cloned();
    let alone = built_in.chain(made_up()).map(|profile| Subject::new(profile, None));
    let modelled = modelled().into_iter().map(|(kind, profile)| Subject::new(profile, Some(kind)));
    let precise = precise().map(|profile| Subject::new(profile, None));
    let through = through().map(|profile| Subject { through: true, ..Subject::new(profile, None) });
    alone.chain(modelled).chain(precise).chain(through).collect()
});

fn named(name: &'static str, profile: Profile) -> Profile {
    Profile { name: name.into(), ..profile }
}

fn made_up() -> [Profile; 5] {
    [
        // Freezing clears the enables.
        named("version 2", SKYLAKE_SP).with_intel(|pmu| pmu.version = 2),
        named("version 3", SKYLAKE_SP).with_intel(|pmu| pmu.version = 3),
        named("narrow", Profile { gp_counters: 3, gp_width: 32, ..SAPPHIRE_RAPIDS })
            .with_intel(|pmu| pmu.fixed_width = 44),
        named("wide", Profile { gp_width: 63, ..ICELAKE_SP }).with_intel(|pmu| pmu.fixed_width = 52),
        named("legacy addresses only", Profile { gp_counters: 4, ..ZEN2 })
            .with_amd(|pmu| pmu.ext_core = false),
    ]
}

/// CPUs with PEBS or IBS.
fn precise() -> impl Iterator<Item = Profile> {
    let named = |name, profile: &Profile| named(name, profile.clone().with_precise_sampling());
    [
        named("skylake-sp, precise", &SKYLAKE_SP),
        named("icelake-sp, precise", &ICELAKE_SP),
        named("sapphire-rapids, precise", &SAPPHIRE_RAPIDS),
        named("zen2, precise", &ZEN2),
        named("zen4, precise", &ZEN4),
    ]
    .into_iter()
}

/// CPUs with PEBS whose engine looks at the instruction in which each run ends.
fn through() -> impl Iterator<Item = Profile> {
    let named = |name, profile: &Profile| named(name, profile.clone().with_precise_sampling());
    [named("skylake-sp, run through", &SKYLAKE_SP), named("sapphire-rapids, run through", &SAPPHIRE_RAPIDS)]
        .into_iter()
}

/// CPUs that a model knows too; Intel's without branch records.
fn modelled() -> Vec<(Kind, Profile)> {
    let sunny = |name, change: fn(&mut IntelPmu)| {
        (Kind::SunnyCove, named(name, ICELAKE_SP.without_lbr()).with_intel(change))
    };
    let golden = |name, change: fn(&mut IntelPmu)| {
        (Kind::GoldenCove, named(name, SAPPHIRE_RAPIDS.without_lbr()).with_intel(change))
    };
    let with = |(kind, profile): (Kind, Profile), gp_counters, gp_width| {
        (kind, Profile { gp_counters, gp_width, ..profile })
    };
    let version_1 = sunny("version 1, modelled", |pmu| {
        pmu.version = 1;
        pmu.any_thread_deprecated = false;
        pmu.perf_capabilities = PerfCapabilities(0);
        pmu.metrics_level = 0;
        (pmu.offcore_rsp_mask, pmu.ld_lat_mask, pmu.frontend_mask) = (0, 0, 0);
    });
    // As KVM offers it on older hosts: legacy freeze, no AnyThread.
    let version_2 = sunny("version 2, modelled", |pmu| {
        pmu.version = 2;
        pmu.fixed_counters = 3;
        pmu.any_thread_deprecated = false;
        pmu.perf_capabilities = PerfCapabilities(FREEZE_WHILE_SMM | FULL_WIDTH);
        pmu.metrics_level = 0;
    });
    vec![
        sunny("icelake-sp, modelled", |_| ()),
        golden("sapphire-rapids, modelled", |_| ()),
        // No global registers, no fixed counters, no event registers.
        with(version_1, 2, 40),
        with(version_2, 4, 48),
        sunny("version 3, modelled", |pmu| {
            pmu.version = 3;
            pmu.fixed_counters = 3;
            pmu.any_thread_deprecated = false;
            pmu.perf_capabilities = PerfCapabilities(FULL_WIDTH);
            pmu.metrics_level = 0;
        }),
        // Streamlined freeze with AnyThread.
        golden("version 4, modelled", |pmu| (pmu.version, pmu.any_thread_deprecated) = (4, false)),
        // CPUID can say that AnyThread is deprecated only from version 5 on.
        golden("version 4 of 5, modelled", |pmu| pmu.version = 4),
        golden("no metrics, modelled", |pmu| {
            pmu.perf_capabilities = PerfCapabilities(FREEZE_WHILE_SMM | FULL_WIDTH);
            pmu.metrics_level = 0;
        }),
        sunny("no full-width writes, modelled", |pmu| pmu.perf_capabilities = PerfCapabilities(METRICS)),
        golden("metrics clear, modelled", |pmu| {
            pmu.perf_capabilities = PerfCapabilities(FREEZE_WHILE_SMM | FULL_WIDTH | METRICS | METRICS_CLEAR);
        }),
        with(golden("narrow, modelled", |pmu| pmu.fixed_width = 44), 3, 32),
        with(sunny("wide, modelled", |pmu| pmu.fixed_width = 52), ICELAKE_SP.gp_counters, 63),
        (Kind::Zen, named("zen2, modelled", ZEN2)),
        (Kind::Zen, named("zen4, modelled", ZEN4)),
    ]
}

/// PERF_CAPABILITIES: FREEZE_WHILE_SMM, FW_WRITE, PERF_METRICS_AVAILABLE.
const FREEZE_WHILE_SMM: u64 = 1 << 12;
const FULL_WIDTH: u64 = 1 << 13;
const METRICS: u64 = 1 << 15;
/// PERF_CAPABILITIES: RDPMC_METRICS_CLEAR.
const METRICS_CLEAR: u64 = 1 << 19;
/// Codes that sequences prefer, so that several counters count the same.
pub(crate) const USUAL_CODES: usize = 8;

impl Subject {
    /// Works out what the declarations say for a profile.
    pub(crate) fn new(profile: Profile, model: Option<Kind>) -> Self {
        let model = model.map(|kind| kind.power_on(&profile));
        let mut slots = Vec::new();
        let mut by_register = Vec::new();
        for register in registers(profile.vendor()) {
            let of_register: Vec<Slot> =
                (0..register.instances(&profile)).map(|n| Slot::new(register, n, &profile)).collect();
            slots.extend(&of_register);
            if !of_register.is_empty() {
                by_register.push(of_register);
            }
        }
        slots.sort_unstable_by_key(|slot: &Slot| slot.index);
        let mut subject = Self {
            pristine: Latched::new(profile.clone()),
            codes: model.as_ref().map_or_else(|| codes(&profile), |model| model.codes()),
            model,
            through: false,
            aliases: Vec::new(),
            slots,
            registers: by_register,
            claimed: trapped_ranges(),
            profile,
        };
        subject.aliases = subject.alias_groups();
        subject
    }

    /// The register at an MSR index, if the profile has it.
    pub(crate) fn slot(&self, index: u32) -> Option<&Slot> {
        self.slots.binary_search_by_key(&index, |slot| slot.index).ok().map(|at| &self.slots[at])
    }

    /// Whether sequences make an event happen; a model knows no others.
    pub(crate) fn happens(&self, event: Event) -> bool {
        self.codes.iter().any(|(_, known)| known.is_some_and(|known| known.counts_as() == event))
    }

    /// True when the index belongs to a PMU register of any vendor.
    pub(crate) fn is_claimed(&self, index: u32) -> bool {
        let next = self.claimed.partition_point(|&(first, _)| first <= index);
        next > 0 && index - self.claimed[next - 1].0 < self.claimed[next - 1].1
    }

    /// Branch records hold how often events of counters have occurred.
    pub(crate) fn logs_events(&self) -> bool {
        self.profile.intel().is_some_and(|pmu| pmu.lbr_event_logging != 0)
    }

    /// An address of a general-purpose counter's event select.
    pub(crate) fn select_of(&self, n: u32) -> u32 {
        match self.profile.amd() {
            None => 0x186 + n,
            Some(amd) if amd.ext_core => 0xC001_0200 + 2 * n,
            Some(_) => 0xC001_0000 + n,
        }
    }

    /// An address of a general-purpose counter.
    pub(crate) fn counter_of(&self, n: u32) -> u32 {
        match self.profile.amd() {
            None => 0xC1 + n,
            Some(amd) if amd.ext_core => 0xC001_0201 + 2 * n,
            Some(_) => 0xC001_0004 + n,
        }
    }

    /// The alias groups with more than one address on this CPU.
    fn alias_groups(&self) -> Vec<Vec<u32>> {
        let candidates: Vec<Vec<u32>> = match self.profile.vendor() {
            Vendor::Intel => (0..10)
                .flat_map(|n| {
                    [
                        vec![0xC1 + n, 0x4C1 + n, 0x1900 + 4 * n],
                        vec![0x186 + n, 0x1901 + 4 * n],
                        vec![0x309 + n, 0x1980 + 4 * n],
                    ]
                })
                .collect(),
            Vendor::Qualcomm => Vec::new(),
            Vendor::Amd => (0..4)
                .flat_map(|n| {
                    [vec![0xC001_0000 + n, 0xC001_0200 + 2 * n], vec![0xC001_0004 + n, 0xC001_0201 + 2 * n]]
                })
                .collect(),
        };
        let present = |group: Vec<u32>| -> Vec<u32> {
            group.into_iter().filter(|&index| self.slot(index).is_some()).collect()
        };
        candidates.into_iter().map(present).filter(|group| group.len() > 1).collect()
    }
}

impl Slot {
    fn new(register: &Register, instance: u32, profile: &Profile) -> Self {
        let stored = register.stored(profile);
        // Bits that no write changes read as RESET left them.
        let constant =
            register.bits(OnWrite::FaultOnChange, profile) | register.bits(OnWrite::Ignore, profile);
        let readable = match register.id {
            RegisterId::Intel(intel::RegisterId::MiscEnable) => stored | constant,
            // Any value can be written, and it reads back until slots are counted.
            RegisterId::Intel(intel::RegisterId::PerfMetrics) => u64::MAX,
            _ => stored,
        };
        Self {
            index: register.index_of(instance),
            instance,
            id: register.id,
            access: register.access,
            accepted: register.accepted(profile),
            stored,
            unchangeable: register.bits(OnWrite::FaultOnChange, profile),
            readable,
        }
    }

    /// True for the registers that hold a count.
    pub(crate) fn is_counter(&self) -> bool {
        use amd::RegisterId as A;
        use intel::RegisterId as I;
        matches!(
            self.id,
            RegisterId::Intel(I::Pmc | I::APmc | I::GpCtr | I::FixedCtr | I::FxCtr)
                | RegisterId::Amd(A::PerfCtr | A::LegacyPerfCtr)
        )
    }

    /// True for event selects.
    pub(crate) fn is_select(&self) -> bool {
        use amd::RegisterId as A;
        use intel::RegisterId as I;
        matches!(
            self.id,
            RegisterId::Intel(I::PerfEvtSel | I::GpCfgA) | RegisterId::Amd(A::PerfCtl | A::LegacyPerfCtl)
        )
    }
}

/// What sequences program: a few usual events that every profile has, the merge event of AMD, then all others.
fn codes(profile: &Profile) -> Vec<(u64, Option<Event>)> {
    let table = profile.events;
    let mut codes: Vec<(u64, Option<Event>)> = Vec::new();
    let usual =
        [(0xC0, 0), (0x3C, 0), (0x76, 0), (0xC4, 0), (0xC2, 0), (0x03, 0xFF), (0x03, 0x1F), (0xA4, 1)];
    for (select, umask) in usual {
        let event = table.by_select_umask(select, umask).find(|encoding| encoding.code.is_plain());
        codes.extend(event.map(|encoding| (encoding.code.to_evtsel_bits(), Some(encoding.event))));
    }
    if profile.amd().is_some() {
        codes.push((0xF_0000_00FF, None));
        codes.push((0xF_0000_00FF, None));
    }
    while codes.len() < USUAL_CODES {
        codes.push(codes[0]);
    }
    codes.truncate(USUAL_CODES);
    codes.extend(
        table.encodings().iter().map(|encoding| (encoding.code.to_evtsel_bits(), Some(encoding.event))),
    );
    codes
        .extend((0..profile.fixed_counters()).filter_map(FixedEvent::event).map(|event| (0xEE, Some(event))));
    codes
}
