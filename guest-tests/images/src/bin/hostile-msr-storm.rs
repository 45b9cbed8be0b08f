//! A guest that reads, writes and counts at random: every MSR of the PMU and its neighbours, every kind
//! of value, PMIs as they come. The VMM has to survive it with every answer a value or #GP.
#![no_std]
#![no_main]

use guest_images::{
    pmi,
    storm::{msr, rdpmc_index, value_for},
};
use guest_runtime::{
    Exception, Frame, apic, check, println, random::Random, rdmsr, rdpmc, rdpmc_ring0, set_pce, wrmsr,
};

guest_runtime::image!(program);

/// Some KVM hosts take a hundred microseconds for one that is refused.
const ACCESSES: u64 = 20_000;

/// Asks for more.
fn unmask(frame: &mut Frame) {
    pmi::arrived(frame);
    apic::set_lvtpc(apic::Pmi::Nmi);
}

fn is_orderly<T>(result: Result<T, Exception>) -> bool {
    // QEMU's interpreter has no RDPMC.
    result.map_or_else(
        |exception| exception == Exception::GP0 || exception.vector == Exception::INVALID_OPCODE,
        |_| true,
    )
}

fn program() {
    pmi::as_nmi_to(unmask);
    let mut random = Random::new(0xBAD_5EED);
    let mut refused = 0_u64;
    for access in 0..ACCESSES {
        let (msr, index) = (msr(&mut random), rdpmc_index(&mut random));
        let value = value_for(msr, &mut random);
        let result = match random.below(8) {
            0..=2 => rdmsr(msr).map(|_| ()),
            3..=5 => wrmsr(msr, value),
            6 => rdpmc_ring0(index).map(|_| ()),
            _ => rdpmc(index).map(|_| ()),
        };
        check!(is_orderly(result), "access {access} ended in {result:?}: MSR {msr:#x}, value {value:#x}");
        refused += u64::from(result.is_err());
        if random.below(1000) == 0 {
            let _ = set_pce(random.below(2) == 0);
        }
    }
    println!("# {ACCESSES} accesses, {refused} refused, {} PMIs", pmi::arrivals());
}
