//! What the compiler expects of a C library.

use core::arch::asm;

#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, len: usize) -> *mut u8 {
    // SAFETY: the caller vouches for both ranges, which do not overlap.
    unsafe { asm!("rep movsb", inout("rcx") len => _, inout("rdi") to => _, inout("rsi") from => _) };
    to
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, len: usize) -> *mut u8 {
    if (to as usize).wrapping_sub(from as usize) >= len {
        // SAFETY: copying upwards does not overwrite what is still to be read.
        return unsafe { memcpy(to, from, len) };
    }
    // SAFETY: the caller vouches for both ranges; the direction flag is clear again behind it.
    unsafe {
        let (last_to, last_from) =
            (to.wrapping_add(len).wrapping_sub(1), from.wrapping_add(len).wrapping_sub(1));
        asm!("std", "rep movsb", "cld",
             inout("rcx") len => _, inout("rdi") last_to => _, inout("rsi") last_from => _);
    }
    to
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut u8, value: i32, len: usize) -> *mut u8 {
    // SAFETY: the caller vouches for the range.
    unsafe { asm!("rep stosb", inout("rcx") len => _, inout("rdi") to => _, in("al") value as u8) };
    to
}

#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(one: *const u8, other: *const u8, len: usize) -> i32 {
    for index in 0..len {
        // SAFETY: the caller vouches for both ranges. Volatile, or this would become a call of itself.
        let pair = unsafe { (one.add(index).read_volatile(), other.add(index).read_volatile()) };
        if pair.0 != pair.1 {
            return i32::from(pair.0) - i32::from(pair.1);
        }
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(one: *const u8, other: *const u8, len: usize) -> i32 {
    // SAFETY: as here.
    unsafe { memcmp(one, other, len) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn strlen(text: *const u8) -> usize {
    let mut len = 0;
    // SAFETY: the caller vouches for a 0 at the end.
    while unsafe { text.add(len).read_volatile() } != 0 {
        len += 1;
    }
    len
}

/// Named by `core`, which is compiled for unwinding; here a panic ends the process.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}
