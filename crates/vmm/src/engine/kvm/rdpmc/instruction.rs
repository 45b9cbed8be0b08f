//! Telling an RDPMC from other instructions.

/// Longest instruction (SDM volume 2A, 2.3.11).
pub(super) const MAX_LENGTH: usize = 15;

/// Length of the RDPMC (0F 33) at the start of `bytes`; `None` for any other instruction.
///
/// Prefixes that RDPMC ignores count. LOCK does not: with it the CPU raises #UD, so such an
/// instruction never arrives at the #GP handler by itself. `long`: 64-bit code, where 40H-4FH are
/// REX prefixes, and count as such only right before the opcode.
pub(super) fn rdpmc_length(bytes: &[u8], long: bool) -> Option<u64> {
    let legacy = bytes.iter().take_while(|byte| is_ignored_prefix(**byte)).count();
    let rex = usize::from(long && bytes.get(legacy).is_some_and(|byte| byte & 0xF0 == 0x40));
    let opcode = legacy + rex;
    let end = opcode + 2;
    (bytes.get(opcode..end)? == [0x0F, 0x33] && end <= MAX_LENGTH).then_some(end as u64)
}

/// Operand and address size, repeat, segment override.
fn is_ignored_prefix(byte: u8) -> bool {
    matches!(byte, 0x66 | 0x67 | 0xF2 | 0xF3 | 0x26 | 0x2E | 0x36 | 0x3E | 0x64 | 0x65)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_count_towards_the_length() {
        assert_eq!(rdpmc_length(&[0x0F, 0x33, 0x90], true), Some(2));
        assert_eq!(rdpmc_length(&[0x48, 0x0F, 0x33], true), Some(3), "REX.W");
        assert_eq!(rdpmc_length(&[0x66, 0x2E, 0x41, 0x0F, 0x33], true), Some(5));
        assert_eq!(rdpmc_length(&[0xF3, 0x0F, 0x33], false), Some(3));
    }

    #[test]
    fn other_instructions_are_not_taken_for_rdpmc() {
        assert_eq!(rdpmc_length(&[0x0F, 0x32], true), None, "rdmsr");
        assert_eq!(rdpmc_length(&[0x48, 0x0F, 0x33], false), None, "dec eax; rdpmc");
        assert_eq!(rdpmc_length(&[0x48, 0x66, 0x0F, 0x33], true), None, "REX not before the opcode");
        assert_eq!(rdpmc_length(&[0xF0, 0x0F, 0x33], true), None, "lock");
        assert_eq!(rdpmc_length(&[0x0F], true), None, "cut off");
        assert_eq!(rdpmc_length(&[], true), None);
    }

    #[test]
    fn fifteen_bytes_are_the_limit() {
        let mut bytes = [0x66; 18];
        bytes[13..15].copy_from_slice(&[0x0F, 0x33]);
        assert_eq!(rdpmc_length(&bytes, true), Some(15));
        bytes[13..16].copy_from_slice(&[0x66, 0x0F, 0x33]);
        assert_eq!(rdpmc_length(&bytes, true), None);
    }
}
