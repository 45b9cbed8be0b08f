//! Callers by `.eh_frame` (LSB, "Exception Frames"; System V ABI for x86-64, 3.7), for code without frame pointers.

use super::Space;
use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{ExplicitModuleSectionInfo, FrameAddress, Module, Unwinder as _};
use object::read::elf::ElfFile64;
use object::{Endianness, Object as _, ObjectSection as _};
use std::fmt;
use std::ops::Range;

/// What a file says of its functions' frames. Addresses of code are those of the file.
pub(super) struct Frames {
    unwinder: UnwinderX86_64<Vec<u8>>,
    cache: CacheX86_64,
}

impl fmt::Debug for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frames").finish_non_exhaustive()
    }
}

/// The registers by which a caller is found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub(super) rsp: u64,
    pub(super) rbp: u64,
}

impl Frames {
    /// Of a file; `None` if it says nothing of them.
    pub(super) fn of(data: &[u8]) -> Option<Self> {
        let file = ElfFile64::<Endianness>::parse(data).ok()?;
        let section = |name: &str| {
            let section = file.section_by_name(name)?;
            let range = section.address()..section.address().checked_add(section.size())?;
            Some((range, section.uncompressed_data().ok()?.into_owned()))
        };
        let split = |name: &str| -> (Option<Range<u64>>, Option<Vec<u8>>) { section(name).unzip() };
        let (eh_frame_svma, eh_frame) = split(".eh_frame");
        eh_frame.as_ref()?;
        let (eh_frame_hdr_svma, eh_frame_hdr) = split(".eh_frame_hdr");
        let (text_svma, text) = split(".text");
        let (got_svma, _) = split(".got");
        let sections = ExplicitModuleSectionInfo {
            text_svma,
            text,
            got_svma,
            eh_frame_svma,
            eh_frame,
            eh_frame_hdr_svma,
            eh_frame_hdr,
            ..ExplicitModuleSectionInfo::default()
        };
        let mut unwinder = UnwinderX86_64::new();
        unwinder.add_module(Module::new(String::new(), 0..u64::MAX, 0, sections));
        Some(Self { unwinder, cache: CacheX86_64::new() })
    }

    /// The return address of the function at an address, and its caller's registers; `first` if it has not called.
    /// `None` within if nothing has called it; `None` if that is not known.
    pub(super) fn caller(
        &mut self,
        space: &Space<'_>,
        address: u64,
        first: bool,
        frame: Frame,
    ) -> Option<Option<(u64, Frame)>> {
        let at = if first {
            FrameAddress::from_instruction_pointer(address)
        } else {
            FrameAddress::from_return_address(address)?
        };
        let mut registers = UnwindRegsX86_64::new(address, frame.rsp, frame.rbp);
        let mut read = |address| space.words(address).map(|[word, _]| word).ok_or(());
        let back = self.unwinder.unwind_frame(at, &mut registers, &mut self.cache, &mut read).ok()?;
        Some(back.map(|back| (back, Frame { rsp: registers.sp(), rbp: registers.bp() })))
    }
}
