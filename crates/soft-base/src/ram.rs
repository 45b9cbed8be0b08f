//! Guest RAM.

/// Guest RAM, which the embedder has. All accesses stay within one 4 KiB page.
pub trait Ram {
    /// The RAM page that starts at guest physical address `gpa`, as a position for
    /// [`ram_read`](Self::ram_read) and [`ram_write`](Self::ram_write); `None` for anything that is not RAM. The
    /// answer must stay the same until the CPU is told to flush what it knows.
    fn ram_page(&mut self, gpa: u64) -> Option<u64>;
    /// Reads RAM at a position from [`ram_page`](Self::ram_page) plus the offset in the page.
    fn ram_read<const N: usize>(&mut self, position: u64) -> [u8; N];
    /// Writes RAM.
    fn ram_write<const N: usize>(&mut self, position: u64, bytes: [u8; N]);
    /// [`ram_read`](Self::ram_read) for the fast path: `None` where it takes more than a load.
    #[inline(always)]
    fn ram_read_quick<const N: usize>(&mut self, position: u64) -> Option<[u8; N]> {
        Some(self.ram_read(position))
    }
    /// [`ram_write`](Self::ram_write) for the fast path: false, and nothing happens, where it takes more than a
    /// store.
    #[inline(always)]
    fn ram_write_quick<const N: usize>(&mut self, position: u64, bytes: [u8; N]) -> bool {
        self.ram_write(position, bytes);
        true
    }
}
