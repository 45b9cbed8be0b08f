//! What the loader told: a devicetree.

use firmware::BootInfo;
use guest_protocol::mmio;

use super::{devices, devicetree::Devicetree};

/// End of the identity map.
pub(crate) const MAPPED_END: u64 = mmio::RAM + (1 << 30);

/// Offers each piece of RAM, by start and length in bytes, and returns the bytes of the command line. Notes whether
/// there is a control device.
pub(crate) fn read(info: &BootInfo, mut offer: impl FnMut(u64, u64)) -> impl Iterator<Item = u8> {
    // A loader of ELF files leaves X0 at 0, and the tree at the start of RAM.
    let address = if info.devicetree == 0 { mmio::RAM } else { info.devicetree };
    // SAFETY: it lies in RAM, which is mapped, and below the image.
    let tree = unsafe { Devicetree::at(address) };
    let mut command_line: &[u8] = &[];
    tree.and_then(|tree| {
        tree.properties(|depth, node, name, value| match (depth, name) {
            (2, "bootargs") if node == "chosen" => command_line = value,
            (2, "compatible") if value.split(|byte| *byte == 0).any(is_control) => devices::note_control(),
            // Two cells for an address and two for a size, as both machines have it.
            (2, "reg") if node.starts_with("memory@") => {
                let (pieces, _) = value.as_chunks::<16>();
                for piece in pieces {
                    let piece = u128::from_be_bytes(*piece);
                    offer((piece >> 64) as u64, piece as u64);
                }
            }
            _ => {}
        })
    });
    command_line.iter().copied().take_while(|byte| *byte != 0)
}

fn is_control(compatible: &[u8]) -> bool {
    compatible == mmio::control::COMPATIBLE.as_bytes()
}
