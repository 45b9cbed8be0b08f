//! Precise samples: what the interpreter knows of the instruction that has retired, for PEBS and for IBS, and the
//! guest's debug store.

use crate::counts::timing::Probe;
use crate::engine::paging::Paging;
use crate::engine::soft::ram::Ram;
use platform::convert::host_size;
use platform::memory::GuestMemory;
use retire::BranchKind;
use soft_cpu::{Bus, Cpu, Physical, Sampled, SampledData};
use std::ops::Range;
use vpmu::ibs::{IbsBranch, IbsSample};
use vpmu::pebs::{DebugStore, NotMapped, PebsSample};
use vpmu::precise::{MemoryAccess, Page};

/// The instruction that has retired.
pub(super) struct Retired {
    sampled: Sampled,
    /// Linear address of the one behind it.
    next: u64,
    /// What the model of the core says of it.
    known: Option<Probe>,
}

/// What a record says of the CPU after the sampled instruction. Without a model of the core the source and the latency
/// of its data are unknown. What nothing was looked at for is the WRMSR by which the counter began to count.
pub(super) fn pebs(
    retired: Option<&Retired>,
    last_wrmsr: u64,
    cpu: &Cpu<impl Bus>,
    tsc: u64,
    memory: &GuestMemory,
) -> PebsSample {
    PebsSample {
        event_ip: retired.map_or(last_wrmsr, |retired| retired.sampled.rip),
        rip: cpu.rip(),
        rflags: cpu.rflags(),
        gpr: cpu.gpr(),
        xmm: cpu.xmm(),
        tsc,
        memory: retired.and_then(|retired| retired.access(memory)),
    }
}

impl Retired {
    pub(super) fn new(sampled: Sampled, next: u64, known: Option<Probe>) -> Self {
        Self { sampled, next, known }
    }

    /// One uop with the instruction before it.
    pub(super) fn is_fused(&self) -> bool {
        self.known.is_some_and(|known| known.is_fused())
    }

    /// A branch that may be one uop with the instruction before it.
    pub(super) fn may_fuse_with_next(&self) -> bool {
        self.known.is_some() && self.sampled.branch.is_none()
    }

    /// What IBS says of it.
    pub(super) fn ibs(&self, memory: &GuestMemory) -> IbsSample {
        let Self { sampled, next, known } = self;
        let branch = sampled.branch.map(|kind| {
            let behind = sampled.linear.wrapping_add(sampled.length.into());
            let taken = kind != BranchKind::Conditional || *next != behind;
            IbsBranch {
                returned: kind == BranchKind::Return,
                target: taken.then_some(*next),
                mispredicted: known.is_some_and(|known| known.is_mispredicted()),
                fused: self.is_fused(),
            }
        });
        IbsSample {
            address: sampled.linear,
            physical: sampled.physical.map(|place| place.address),
            page: page(sampled.physical),
            fetch: known.map(|known| known.fetched()).unwrap_or_default(),
            branch,
            access: self.access(memory),
            ..IbsSample::default()
        }
    }

    fn access(&self, memory: &GuestMemory) -> Option<MemoryAccess> {
        let SampledData { address, physical, bytes, load, store, locked, prefetch } = self.sampled.data?;
        let in_ram = |place: Physical| memory.contains(place.address, place.address.saturating_add(1));
        Some(MemoryAccess {
            address,
            physical: physical.map(|place| place.address),
            page: page(physical),
            bytes,
            load,
            store,
            locked,
            prefetch,
            uncacheable: !physical.is_none_or(in_ram),
            served: self.known.filter(|_| !prefetch).map(|known| known.served(load)),
        })
    }
}

fn page(place: Option<Physical>) -> Page {
    match place.map(|place| place.page) {
        Some(21) => Page::Large,
        Some(30) => Page::Huge,
        _ => Page::Small,
    }
}

/// The debug store is supervisor memory that software keeps mapped (SDM volume 3B, "Setting Up the DS Save Area"): the
/// rights of its pages are not looked at. A record and what belongs to it are in two pages mostly, each of which is
/// translated once.
pub(super) struct Store<'a, B: Bus> {
    cpu: &'a mut Cpu<B>,
    ram: &'a Ram<0>,
    paging: Paging,
    /// Linear and physical addresses of the pages last come to, the last one first.
    pages: [Option<(u64, u64)>; 2],
}

impl<'a, B: Bus> Store<'a, B> {
    pub(super) fn new(cpu: &'a mut Cpu<B>, ram: &'a Ram<0>) -> Self {
        let [cr0, cr3, cr4, efer] = cpu.paging();
        Self { cpu, ram, paging: Paging::new(cr0, cr3, cr4, efer), pages: [None; 2] }
    }

    fn translate(&mut self, linear: u64) -> Result<u64, NotMapped> {
        let (page, offset) = (linear & !(PAGE - 1), linear % PAGE);
        let known = |place: &Option<(u64, u64)>| place.filter(|(of, _)| *of == page);
        if let Some((_, physical)) = self.pages.iter().find_map(known) {
            return Ok(physical + offset);
        }
        let physical = self.paging.translate(self.ram, page).ok_or(NotMapped)?;
        self.pages = [Some((page, physical)), self.pages[0]];
        Ok(physical + offset)
    }
}

const PAGE: u64 = 0x1000;

impl<B: Bus> Store<'_, B> {
    /// Goes through the pages of so many bytes: where each part is in RAM, and which bytes it has. Ends at the first
    /// page that is not mapped, or with which `each` could do nothing.
    fn each_page(
        &mut self,
        address: u64,
        len: usize,
        mut each: impl FnMut(&mut Self, u64, Range<usize>) -> bool,
    ) -> Result<(), NotMapped> {
        let mut done = 0;
        while done < len {
            let at = address.wrapping_add(done as u64);
            let end = len.min(done + host_size(PAGE - at % PAGE));
            let physical = self.translate(at)?;
            if !each(self, physical, done..end) {
                return Err(NotMapped);
            }
            done = end;
        }
        Ok(())
    }
}

impl<B: Bus> DebugStore for Store<'_, B> {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), NotMapped> {
        let len = bytes.len();
        self.each_page(address, len, |store, physical, part| store.ram.read_bytes(physical, &mut bytes[part]))
    }

    /// Nothing is written if a part cannot be.
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), NotMapped> {
        let len = bytes.len();
        if address % PAGE + len as u64 > PAGE {
            self.each_page(address, len, |store, physical, part| {
                store.ram.has_bytes(physical, part.len() as u64)
            })?;
        }
        self.each_page(address, len, |store, physical, part| {
            let count = part.len() as u64;
            let written = store.ram.write_bytes(physical, &bytes[part]);
            if written {
                store.cpu.memory_changed(physical, count);
            }
            written
        })
    }
}
