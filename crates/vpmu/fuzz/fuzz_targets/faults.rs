//! Files of planned faults (`--inject`), and a PMU that has them: what follows a line `---` is accesses.
#![no_main]

mod drive;

use libfuzzer_sys::fuzz_target;
use vmm::inject::FaultPlan;

fuzz_target!(|bytes: &[u8]| {
    const BEHIND: &[u8] = b"\n---\n";
    let text_ends = bytes.windows(BEHIND.len()).position(|window| window == BEHIND);
    let (text, accesses) = match text_ends {
        Some(at) => (&bytes[..at], &bytes[at + BEHIND.len()..]),
        None => (bytes, &[][..]),
    };
    let Ok(text) = std::str::from_utf8(text) else { return };
    for profile in drive::profiles() {
        if let Ok(plan) = FaultPlan::parse(text, profile) {
            let mut pmu = drive::pmu(profile);
            pmu.inject(plan.faults(), None);
            drive::accesses(&mut pmu, accesses);
        }
    }
});
