//! Reading a flattened devicetree (Devicetree Specification 0.4, chapter 5).

const MAGIC: u32 = 0xD00D_FEED;
const BEGIN_NODE: u32 = 1;
const END_NODE: u32 = 2;
const PROPERTY: u32 = 3;
const NOP: u32 = 4;

/// A devicetree in memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Devicetree<'a>(&'a [u8]);

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|word| u32::from_be_bytes(*word))
}

/// Text that ends with a zero.
fn text(bytes: &[u8], at: usize) -> Option<&str> {
    let rest = bytes.get(at..)?;
    let length = rest.iter().position(|byte| *byte == 0)?;
    core::str::from_utf8(&rest[..length]).ok()
}

impl Devicetree<'static> {
    /// The one at `address`; `None` if there is none.
    ///
    /// # Safety
    /// From there on must lie mapped RAM, which nothing writes.
    pub(super) unsafe fn at(address: u64) -> Option<Self> {
        // SAFETY: by the caller.
        let header = unsafe { core::slice::from_raw_parts(address as *const u8, 8) };
        (word(header, 0)? == MAGIC).then_some(())?;
        let size = word(header, 4)? as usize;
        // SAFETY: by the caller; the tree is as long as its header says.
        Some(Self(unsafe { core::slice::from_raw_parts(address as *const u8, size) }))
    }
}

impl<'a> Devicetree<'a> {
    /// Tells every property: depth of its node (the root's is 1), the node's name, the property's name and value.
    /// `None` if the tree breaks off.
    pub(super) fn properties(self, mut tell: impl FnMut(usize, &'a str, &'a str, &'a [u8])) -> Option<()> {
        let Self(blob) = self;
        let mut at = word(blob, 8)? as usize;
        let strings = word(blob, 12)? as usize;
        let (mut depth, mut node) = (0, "");
        loop {
            let token = word(blob, at)?;
            at += 4;
            match token {
                BEGIN_NODE => {
                    node = text(blob, at)?;
                    at = (at + node.len() + 1).next_multiple_of(4);
                    depth += 1;
                }
                END_NODE => {
                    // A node's properties stand before its children.
                    depth -= 1;
                    if depth == 0 {
                        return Some(());
                    }
                }
                PROPERTY => {
                    let length = word(blob, at)? as usize;
                    let name = text(blob, strings + word(blob, at + 4)? as usize)?;
                    tell(depth, node, name, blob.get(at + 8..at + 8 + length)?);
                    at = (at + 8 + length).next_multiple_of(4);
                }
                NOP => {}
                _ => return None,
            }
        }
    }
}
