//! RDRAND and RDSEED. The numbers are the same in every run: a generator with a fixed seed, which a snapshot keeps.

use super::Insn;
use crate::bus::Bus;
use crate::context::Core;
use crate::exception::Done;
use crate::flags::{CF, Flags};
use crate::width::Width;

impl Core {
    /// The next number of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators").
    fn next_random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.random ^ self.random >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }
}

/// Both: there is always a number (CF is 1), and the other flags are 0.
pub(crate) fn random<B: Bus, T: Width>(c: &mut Core, _b: &mut B, i: &Insn<B>) -> Done {
    let number = c.next_random();
    T::low(number).set_reg(c, i.dst);
    c.flags = Flags::from_bits(CF);
    Ok(())
}
