//! Machine code that several tests write.

/// WRMSR of a 64-bit value, behind three MOVs of five bytes.
pub(crate) fn wrmsr(index: u32, value: u64) -> Vec<u8> {
    let mut code = vec![0xB9]; //                   mov ecx, index
    code.extend(index.to_le_bytes());
    code.push(0xB8); //                             mov eax, low
    code.extend((value as u32).to_le_bytes());
    code.push(0xBA); //                             mov edx, high
    code.extend(((value >> 32) as u32).to_le_bytes());
    code.extend([0x0F, 0x30]); //                   wrmsr
    code
}
