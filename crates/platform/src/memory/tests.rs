#![expect(unsafe_code, reason = "looks at guest memory where it is mapped")]
use super::*;
use crate::x86::memory::LAYOUT;

/// RAM of `size_mib` MiB whatever this host has free; untouched pages cost nothing.
fn memory(size_mib: u64) -> GuestMemory {
    GuestMemory::with_available(MemoryConfig { size_mib }, &LAYOUT, None).unwrap()
}

fn refusal(size_mib: u64, available_mib: Option<u64>) -> String {
    GuestMemory::with_available(MemoryConfig { size_mib }, &LAYOUT, available_mib).unwrap_err().to_string()
}

#[test]
fn a_size_out_of_bounds_is_refused_with_the_bound() {
    assert_eq!(refusal(3, None), "3 MiB of guest memory is too little; the least is 4 MiB");
    assert_eq!(
        refusal(MAX_SIZE_MIB + 1, None),
        "65537 MiB of guest memory is too much; the limit is 65536 MiB (64 GiB)"
    );
    // The largest number that a user can type must not overflow on the way to bytes.
    assert!(refusal(u64::MAX, None).contains("too much"));
}

#[test]
fn a_size_that_the_host_does_not_have_is_refused() {
    assert_eq!(
        refusal(1024, Some(1023)),
        "1024 MiB of guest memory does not fit on this host, which has 1023 MiB available"
    );
    assert!(GuestMemory::with_available(MemoryConfig { size_mib: 8 }, &LAYOUT, Some(8)).is_ok());
}

#[test]
fn available_memory_is_read_from_meminfo() {
    let meminfo = "MemTotal:       24669184 kB\nMemFree:  1 kB\nMemAvailable:   12345678 kB\n";
    assert_eq!(parse_available_mib(meminfo), Some(12345678 / 1024));
    assert_eq!(parse_available_mib("MemTotal: 1 kB\n"), None);
    assert_eq!(parse_available_mib("MemAvailable: lots\n"), None);
}

#[test]
fn an_access_past_the_end_of_ram_is_an_error_with_its_address() {
    let memory = memory(4);
    let error = memory.write((4 << 20) - 1, &[1, 2]).unwrap_err();
    assert_eq!(error.to_string(), "2 bytes at guest address 0x3fffff are not all RAM");
    assert!(memory.read(u64::MAX, &mut [0; 8]).is_err());
    assert!(memory.zero(u64::MAX, 8).is_err());
    assert!(memory.zero(0, (4 << 20) + 1).is_err());
}

#[test]
fn contains_needs_every_byte() {
    let memory = memory(4 * 1024);
    assert!(memory.contains(0, 3 << 30));
    assert!(!memory.contains(0, (3 << 30) + 1));
    assert!(!memory.contains((3 << 30) - 1, 4 << 30), "a range must not jump over the hole");
    assert!(memory.contains(4 << 30, 5 << 30));
    assert!(memory.contains(u64::MAX, u64::MAX));
}

#[test]
fn zero_clears_exactly_the_range() {
    // Unaligned ends around whole pages: both the give-back and the written edges are used.
    let (start, len) = (PAGE as u64 + 123, 3 * PAGE + 456);
    let memory = memory(4);
    memory.write(0, &vec![0xAA; 6 * PAGE]).unwrap();
    memory.zero(start, len).unwrap();
    let mut after = vec![0; 6 * PAGE];
    memory.read(0, &mut after).unwrap();
    for (address, &byte) in after.iter().enumerate() {
        let inside = (start..start + len as u64).contains(&(address as u64));
        assert_eq!(byte, if inside { 0 } else { 0xAA }, "at {address:#x}");
    }
}

#[test]
fn zero_gives_whole_pages_back_to_the_host() {
    let memory = memory(4);
    let size = 4 << 20;
    let resident = || {
        let mut pages = vec![0; size / 4096];
        let start = memory.regions().next().unwrap().host as *mut libc::c_void;
        // SAFETY: the region is mapped, and `pages` has a byte for each of its pages; pages are not
        // smaller than 4096 bytes.
        let result = unsafe { libc::mincore(start, size, pages.as_mut_ptr()) };
        assert_eq!(result, 0);
        pages.iter().any(|page| page & 1 == 1)
    };
    memory.write(0, &vec![0xAA; size]).unwrap();
    assert!(resident());
    memory.zero(0, size).unwrap();
    assert!(!resident());
}

#[test]
fn a_clone_is_the_same_ram() {
    let memory = memory(4);
    memory.clone().write(0x1000, b"x").unwrap();
    let mut byte = [0];
    memory.read(0x1000, &mut byte).unwrap();
    assert_eq!(&byte, b"x");
}
