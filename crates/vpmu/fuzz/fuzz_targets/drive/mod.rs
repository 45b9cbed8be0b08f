//! A PMU as a machine has it, and accesses of a guest made of bytes.

use vmm::counts::model::{ModelSource, Retired};
use vmm::machine::pmu::{Origin, PmuDevice};
use vpmu::profile::PROFILES;
use vpmu::register::{Register, registers};
use vpmu::{Level, Profile, pmu::RdpmcContext};

/// One of each kind of PMU.
pub(crate) fn profiles() -> impl Iterator<Item = &'static Profile> {
    const OF_A_KIND: [&str; 6] = ["skylake-sp", "icelake-sp", "sapphire-rapids", "zen2", "zen4", "falkor"];
    PROFILES.iter().copied().filter(|profile| OF_A_KIND.contains(&&*profile.name))
}

/// A PMU whose CPU does nothing but what it is asked.
pub(crate) fn pmu(profile: &Profile) -> PmuDevice {
    let source = ModelSource::new(profile, Retired::default());
    PmuDevice::new(profile.clone(), Box::new(source), None)
}

/// What a guest does: each byte says what, those behind it with what.
pub(crate) fn accesses(pmu: &mut PmuDevice, bytes: &[u8]) {
    let of = |register: &'static Register| (0..register.span).map(|instance| register.index_of(instance));
    let indices: Vec<u32> = registers(pmu.profile().vendor()).iter().flat_map(of).collect();
    let mut rest = bytes.iter().copied();
    let mut retired = 0_u64;
    while let Some(what) = rest.next() {
        let mut word =
            |bytes: u32| (0..bytes).fold(0, |word, _| word << 8 | u64::from(rest.next().unwrap_or(0)));
        let index = |word: u64| indices[usize::try_from(word).unwrap_or(0) % indices.len()];
        let level = if what & 0x80 == 0 { Level::Kernel } else { Level::User };
        match what & 7 {
            0..=2 => drop(pmu.write_register(level, index(word(2)), word(8), Origin::default())),
            3 | 4 => drop(pmu.read_register(level, index(word(2)), Origin::default())),
            5 => {
                let context = RdpmcContext { cpl: what >> 6, pce: what & 8 != 0, protected_mode: true };
                drop(pmu.rdpmc(u32::try_from(word(4)).unwrap_or(0), context, Origin::default()));
            }
            6 => {
                retired = retired.saturating_add(word(3));
                pmu.set_instructions(retired);
                drop(pmu.poll());
                drop(pmu.inject_due());
            }
            _ => drop(pmu.save_and_restore()),
        }
    }
}
