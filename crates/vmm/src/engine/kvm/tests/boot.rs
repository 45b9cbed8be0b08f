//! The first state and CPUID.

use super::*;

#[test]
fn the_first_state_is_the_loaders() {
    let code = concat(&[
        &[0x89, 0x05], // mov [RESULTS], eax
        &(RESULTS as u32).to_le_bytes(),
        &[0x89, 0x1D], // mov [RESULTS + 8], ebx
        &(RESULTS as u32 + 8).to_le_bytes(),
        &[0xB0, 0x05], // mov al, 5
        &EXIT,
    ]);
    let Some(mut guest) = Guest::protected(&code) else { return };
    guest.exits_with(5);
    assert_eq!((guest.result(0), guest.result(1)), (0x1234_5678, 0x9ABC_DEF0));
}

/// Runs CPUID and returns EAX, EBX, ECX, EDX as the guest gets them.
fn cpuid(leaf: u32) -> Option<[u32; 4]> {
    let at = |n: u32| (RESULTS as u32 + 4 * n).to_le_bytes();
    let code = concat(&[
        &[0xB8], // mov eax, leaf
        &leaf.to_le_bytes(),
        &[0x31, 0xC9], // xor ecx, ecx
        &[0x0F, 0xA2], // cpuid
        &[0xA3],       // mov [RESULTS], eax
        &at(0),
        &[0x89, 0x1D], // mov [RESULTS + 4], ebx
        &at(1),
        &[0x89, 0x0D], // mov [RESULTS + 8], ecx
        &at(2),
        &[0x89, 0x15], // mov [RESULTS + 12], edx
        &at(3),
        &[0xB0, 0x00], // mov al, 0
        &EXIT,
    ]);
    let mut guest = Guest::protected(&code)?;
    guest.exits_with(0);
    let (low, high) = (guest.result(0), guest.result(1));
    Some([low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32])
}

#[test]
fn the_guest_finds_an_intel_pmu_in_cpuid() {
    let Some([max, b, c, d]) = cpuid(0) else { return };
    assert_eq!(max, 0x1F);
    assert_eq!([b, d, c].map(u32::to_le_bytes).concat(), b"GenuineIntel");
    assert_eq!(cpuid(0xA).unwrap(), [0x0830_0805, 0, 0xF, 0x8604]);
    let [signature, _, ecx, edx] = cpuid(1).unwrap();
    assert_eq!(signature, 0x606A6);
    assert_eq!(ecx & (1 << 15 | 1 << 24 | 1 << 31), 1 << 15 | 1 << 31, "PDCM, TSC-deadline, hypervisor");
    assert_ne!(edx & 1 << 9, 0, "APIC");
}

#[test]
fn the_guest_finds_our_hypervisor_signature() {
    let Some([max, b, c, d]) = cpuid(0x4000_0000) else { return };
    assert_eq!(max, 0x4000_0000);
    assert_eq!([b, c, d].map(u32::to_le_bytes).concat(), b"vpmuvpmuvpmu");
}

#[test]
fn the_clocks_in_cpuid_are_the_vcpus() {
    let Some([denominator, numerator, crystal, _]) = cpuid(0x15) else { return };
    if crystal == 0 {
        eprintln!("skipped: the host does not tell its TSC rate");
        return;
    }
    assert_eq!(crystal, ICELAKE_SP.crystal_hz);
    let memory = GuestMemory::new(MemoryConfig { size_mib: 4 }, &LAYOUT).unwrap();
    let tsc_hz = engine(&memory, &ApicConfig::default()).unwrap().tsc_hz();
    let told = u64::from(crystal) * u64::from(numerator) / u64::from(denominator);
    assert!(told.abs_diff(tsc_hz) < 10_000, "{told} Hz, really {tsc_hz} Hz");
}

/// A run that goes on after its first outcome's time-out would need a new machine; the same machine
/// answers at once.
#[test]
fn a_machine_with_an_outcome_does_not_run() {
    let Some(mut guest) = Guest::protected(&[0xEB, 0xFE]) else { return };
    guest.machine.stop(Outcome::Halted);
    assert_eq!(guest.run(), Outcome::Halted);
    assert_eq!(guest.register("rip"), CODE);
}
