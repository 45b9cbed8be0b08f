//! Caches, translations, and stores to forward from, together.

use super::aliases::{self, Aliases};
use super::banks::Banks;
use super::caches::{Asker, Caches, Level};
use super::code::CodeCaches;
use super::disambiguation::Disambiguation;
use super::interface::{Destination, Entered, Entry, LoadFlags, Loaded, Loads, MemoryPort, Stored};
use super::renaming::{Connections, Follow};
use super::store_buffer::StoreBuffer;
use super::stores::{ANYWHERE, Found, StoreTimes, Stores};
use super::translation::{Purpose, Tlbs};
use crate::core::{Core, LinearTags, Memory, MemoryRenaming, RenamedAccesses};
use crate::instruction::{Execution, Prepared};
use crate::predictor::Outcome;
use crate::totals::CoreTotals;
use retire::{Branch, MemoryAccess, Prefetch};

/// Bytes of the smallest pages: an access across two of them is two.
const PAGE: u64 = 4096;
/// Cycles from a load to the value of a store that is made of it: see `Memory::forward_interval`.
const CLOSE: u64 = 2;

#[derive(Debug)]
pub(crate) struct MemorySystem {
    core: &'static Core,
    pub(crate) tlbs: Tlbs,
    pub(crate) caches: Caches,
    pub(crate) code: CodeCaches,
    stores: Stores,
    disambiguation: Disambiguation,
    connections: Connections,
    /// Linear addresses of the first level, where they matter.
    aliases: Option<Aliases>,
    /// Of the first level, where that matters.
    banks: Option<Banks>,
    store_buffer: StoreBuffer,
    /// When the newest locked instruction is done, and whether anything was loaded since.
    locked_until: u64,
    loads_since_lock: bool,
    /// Stores since then, its own among them.
    stores_since_lock: u32,
    /// Counts loads of what stores have: see [`Memory::forwarded_loads`].
    forwarded: u8,
    /// Loads of more cycles are slow.
    pub(crate) slow_load: u64,
}

/// A store of an instruction, by its number among them, and whether another one follows.
#[inline(always)]
fn store_of<'a>(execution: &Execution<'a>, index: u8) -> Option<(&'a MemoryAccess, bool)> {
    match execution.memory {
        [access] if index == 0 => access.write.then_some((access, false)),
        _ => store_among(execution, index),
    }
}

/// The same of an instruction with several accesses.
fn store_among<'a>(execution: &Execution<'a>, index: u8) -> Option<(&'a MemoryAccess, bool)> {
    let mut stores = execution.memory.iter().filter(|access| access.write).skip(usize::from(index));
    stores.next().map(|store| (store, stores.next().is_some()))
}

impl MemoryPort for MemorySystem {
    #[inline]
    fn enter(&mut self, totals: &mut CoreTotals, entry: &Entry) -> Entered {
        let Entry { linear, physical, page, at, new_page, new_line, switch, ahead, decoded, goes_on } =
            *entry;
        let translation =
            if new_page { self.tlbs.translate(totals, Purpose::Fetch, linear, page, at).0 } else { 0 };
        let hit = !goes_on && self.code.has_uops(physical) && !decoded;
        let wait = if hit || !new_line {
            0
        } else {
            self.code.fetch(totals, physical >> 6, (at + translation + switch, ahead), &mut self.caches)
        };
        Entered { translation, hit, wait }
    }

    #[inline]
    fn store_room(&mut self, at: u64) -> u64 {
        self.store_buffer.room().saturating_sub(at)
    }

    fn drain(&mut self, at: u64) -> u64 {
        self.store_buffer.drained().saturating_sub(at)
    }

    #[inline]
    fn store(
        &mut self,
        totals: &mut CoreTotals,
        execution: &Execution<'_>,
        index: u8,
        times: StoreTimes,
    ) -> Option<Stored> {
        let StoreTimes { addressed, retired, .. } = times;
        let (access, more) = store_of(execution, index)?;
        let (translation, walked) =
            self.tlbs.translate(totals, Purpose::Store, access.linear, access.page, addressed);
        totals.second_level_tlb_miss_stores += u64::from(walked);
        let at = retired.max(addressed + translation);
        let mut arrival = at;
        let Memory { store_fill, store_prefetch, .. } = self.core.memory;
        let mut missed = false;
        // A store that is relative to the stack pointer goes alone if its line is known by another address (measured on
        // Zen 3).
        let (mut alone, mut twice) = (false, false);
        if access.uncached {
            arrival += u64::from(self.core.memory.uncached_latency);
        } else {
            let line = access.physical >> 6;
            let asked = if store_prefetch > 0 { at.max(self.store_buffer.among(store_prefetch)) } else { at };
            let (level, ready) = self.caches.access(totals, line, asked, Asker::Store);
            arrival = arrival.max(ready);
            missed = level > Level::FillBuffer;
            if missed && store_fill[0] > 0 {
                arrival = arrival.max(self.store_buffer.filled(store_fill));
            }
            let stores_miss =
                level == Level::L1 && !matches!(self.core.memory.linear_tags, LinearTags::LoadAgain(_));
            if let Some(aliases) = self.aliases.as_mut().filter(|_| stores_miss) {
                let (known, again) = aliases.known(line, access, at);
                arrival = arrival.max(known);
                let apart = self.core.memory.linear_tags == LinearTags::StackApart;
                alone = apart && known > at && times.follow == Follow::STACK;
                twice = !apart && again > 0;
            }
            if crosses_line(access) {
                totals.split_stores += 1;
                arrival = arrival.max(self.caches.access(totals, line + 1, at, Asker::Store).1);
            }
        }
        let crosses = u64::from(Stores::crosses(access, self.core.memory.joins_stores));
        let page = access.linear.is_multiple_of(PAGE) && goes_on(execution.memory, access);
        if page {
            totals.split_stores += 1;
        }
        let Memory { joins_stores, joins_runs, .. } = self.core.memory;
        let joins = self.stores.joins(access, joins_stores, joins_runs) && !alone;
        let partial = self.core.memory.partial_store;
        let partial = if partial > 0 && self.stores.is_partial(access) { partial } else { 0 };
        let split = if page { u64::from(self.core.memory.page_split_store) } else { 0 };
        // Where any two stores go together, both halves of one do.
        let halves = if self.core.memory.joins_stores >= ANYWHERE && crosses > 0 {
            1
        } else {
            u64::from(!joins) + crosses
        };
        let writes = halves + u64::from(partial) + split + self.caches.take_filling();
        let committed = self.store_buffer.add(writes, retired, arrival);
        if store_fill[0] > 0 {
            self.store_buffer.note_line(access.physical >> 6, missed);
        }
        self.stores_since_lock = self.stores_since_lock.saturating_add(1);
        totals.store_latency += committed.saturating_sub(at);
        self.stores.keep(access.linear, access.size, times, committed);
        Some(Stored { more, room: self.store_buffer.room() <= times.allocated, twice })
    }

    fn bar(&mut self, _: u64, physical: u64) {
        self.code.bar(physical);
    }

    #[inline(always)]
    fn branch(&mut self, _: &Branch, _: Outcome) {}

    fn flush_lines(&mut self, accesses: &[MemoryAccess]) {
        accesses.iter().for_each(|access| self.caches.flush_line(access.physical >> 6));
    }

    fn prefetch(&mut self, totals: &mut CoreTotals, prepared: &Prepared, execution: &Execution<'_>, at: u64) {
        for access in execution.memory {
            let (delay, _) = self.tlbs.translate(totals, Purpose::Load, access.linear, access.page, at);
            let line = access.physical >> 6;
            if prepared.rest.prefetch == Prefetch::Outer {
                self.caches.prefetch_outer(totals, line, at + delay);
            } else {
                self.caches.prefetch_first(totals, line, at + delay);
            }
        }
    }

    fn string(
        &mut self,
        totals: &mut CoreTotals,
        prepared: &Prepared,
        execution: &Execution<'_>,
        issued: u64,
    ) -> (u64, Level) {
        let flows = &self.core.flows;
        let mut deepest = Level::L1;
        let compares = prepared.rest.compares;
        let curve = match execution.memory.iter().any(|access| !access.write) {
            true => flows.string_moves,
            false => flows.string_stores,
        };
        let curve = if compares { &[] } else { curve };
        let start = issued + if curve.is_empty() { u64::from(flows.string_start) } else { 0 };
        let bytes = |write| execution.memory.iter().filter(move |access| access.write >= write);
        let bytes = |write| bytes(write).map(|access| u64::from(access.size)).sum::<u64>();
        let work = match curve {
            _ if compares => 2 * execution.repetitions,
            [] => bytes(false) / u64::from(flows.string_bytes.max(1)),
            _ => along(curve, bytes(true)),
        };
        let all = bytes(false).max(1);
        let mut moved = 0;
        let mut done = start;
        let mut last = [u64::MAX; 2];
        for access in execution.memory {
            moved += u64::from(access.size);
            let line = access.physical >> 6;
            let write = usize::from(access.write);
            if last[write] == line {
                continue;
            }
            last[write] = line;
            let at = start + moved.min(all) * work / all;
            let purpose = if access.write { Purpose::Store } else { Purpose::Load };
            let (translation, _) = self.tlbs.translate(totals, purpose, access.linear, access.page, at);
            if access.uncached {
                done = done.max(at) + u64::from(self.core.memory.uncached_latency);
                continue;
            }
            let asker = if access.write { Asker::Store } else { Asker::Load };
            let (level, arrival) = self.caches.access(totals, line, at + translation, asker);
            deepest = deepest.max(level);
            done = done.max(arrival);
        }
        (done.max(start + work) - issued, deepest)
    }

    #[inline]
    fn loads(&mut self, totals: &mut CoreTotals, execution: &Execution<'_>, loads: Loads) -> Option<Loaded> {
        if execution.memory.is_empty() {
            return None;
        }
        let Loads { lock, issued, .. } = loads;
        if let [access] = execution.memory
            && !(access.write || lock || crosses_line(access) || access.linear.is_multiple_of(PAGE))
        {
            // As most loads are.
            let loaded = self.load(totals, execution.rip, access, loads);
            self.loads_since_lock = true;
            self.count_load(totals, &loaded, loads.latency);
            return Some(loaded);
        }
        let (latency, split) = (u64::from(loads.latency), u64::from(self.core.memory.split_load));
        let [line_ports, page_ports] = self.core.memory.split_ports;
        let mut all = Loaded::NOTHING;
        for access in execution.memory.iter().filter(|access| !access.write) {
            let loaded = self.load(totals, execution.rip, access, loads);
            all.delay = all.delay.max(loaded.delay);
            all.level = all.level.max(loaded.level);
            all.flags |= loaded.flags;
            all.data = all.data.max(loaded.data);
            all.again = all.again.max(loaded.again);
            if crosses_line(access) {
                totals.split_loads += 1;
                totals.split_locks += u64::from(lock);
                let second = (access.physical >> 6) + 1;
                let (level, arrival) = self.caches.access(totals, second, issued, Asker::Load);
                let delay = arrival.saturating_sub(issued + if level > Level::L1 { latency } else { 0 });
                all.delay = all.delay.max(delay) + split;
                all.level = all.level.max(level);
                all.again = all.again.max(line_ports);
            } else if access.linear.is_multiple_of(PAGE) && goes_on(execution.memory, access) {
                totals.split_loads += 1;
                totals.split_locks += u64::from(lock);
                all.delay += split;
                all.again = all.again.max(page_ports);
            }
        }
        if lock {
            all.delay += self.lock_delay(execution.memory, issued);
        } else {
            self.loads_since_lock |= all.is(LoadFlags::ANY);
        }
        if all.is(LoadFlags::ANY) {
            self.count_load(totals, &all, loads.latency);
        }
        Some(all)
    }
}

impl MemorySystem {
    pub(crate) fn new(core: &'static Core) -> Self {
        Self {
            core,
            tlbs: Tlbs::new(core),
            caches: Caches::new(core),
            code: CodeCaches::new(core),
            stores: Stores::new(),
            disambiguation: Disambiguation::new(),
            connections: Connections::new(core.memory.renames_memory),
            aliases: match core.memory.linear_tags {
                LinearTags::None => None,
                LinearTags::LoadAgain(_) => Some(Aliases::new(aliases::HIGH)),
                LinearTags::StackApart | LinearTags::StoreAgain { .. } => Some(Aliases::new(0)),
            },
            banks: core.memory.load_banks.then(Banks::new),
            store_buffer: StoreBuffer::new(core.store_buffer),
            locked_until: 0,
            loads_since_lock: false,
            stores_since_lock: 0,
            slow_load: u64::MAX,
            forwarded: 0,
        }
    }

    /// Cycles by which a locked instruction that could begin at `at` is late for what was accessed before.
    #[cold]
    fn lock_delay(&mut self, accesses: &[MemoryAccess], at: u64) -> u64 {
        let flows = &self.core.flows;
        let same = accesses.iter().any(|access| self.stores.wrote_last(access.linear >> 6));
        let line = u64::from(flows.lock_line[usize::from(!same)]);
        let after = self.locked_until + u64::from(flows.lock_after_load);
        let drained = self.store_buffer.drained() + u64::from(flows.lock_drain);
        let mut wait = if self.loads_since_lock { after.saturating_sub(at) } else { 0 };
        if self.stores_since_lock > 1 {
            wait = wait.max(drained.saturating_sub(at));
        }
        (self.loads_since_lock, self.stores_since_lock) = (false, 0);
        self.locked_until = at + wait + line + u64::from(flows.lock);
        wait + line
    }

    /// Books a load, or those of an instruction.
    #[inline(always)]
    fn count_load(&self, totals: &mut CoreTotals, loaded: &Loaded, latency: u16) {
        classify(totals, loaded);
        let cycles = u64::from(latency) + loaded.delay;
        totals.load_latency += cycles;
        totals.slow_loads += u64::from(cycles > self.slow_load);
    }

    /// One load, which waits until it can read its banks of the cache if it is within a line.
    fn load(&mut self, totals: &mut CoreTotals, rip: u64, access: &MemoryAccess, loads: Loads) -> Loaded {
        let issued = match &mut self.banks {
            Some(banks) if !crosses_line(access) => banks.read(access.linear, access.size, loads.issued),
            _ => loads.issued,
        };
        let late = issued - loads.issued;
        let mut loaded = self.find(totals, rip, access, Loads { issued, ..loads });
        if late > 0 {
            loaded.data += if loaded.data > 0 { late } else { 0 };
            if !loaded.is(LoadFlags::RENAMED) {
                loaded.flags |= LoadFlags::CONFLICT;
                loaded.delay += late;
            }
        }
        loaded
    }

    /// Whether a load that takes its value from a store takes a port once more.
    #[inline]
    fn forwarded_again(&mut self) -> LoadFlags {
        let among = self.core.memory.forwarded_loads;
        if among == 0 {
            return LoadFlags::empty();
        }
        self.forwarded = (self.forwarded + 1) % among;
        if self.forwarded == 0 { LoadFlags::TWICE } else { LoadFlags::empty() }
    }

    /// Finds what a load reads in a store or in the caches.
    #[inline(always)]
    fn find(
        &mut self,
        totals: &mut CoreTotals,
        rip: u64,
        access: &MemoryAccess,
        Loads { latency, lock, destination, follow, since, issued }: Loads,
    ) -> Loaded {
        let latency = u64::from(latency);
        let (translation, walked) =
            self.tlbs.translate(totals, Purpose::Load, access.linear, access.page, issued);
        let mut flags = LoadFlags::ANY;
        flags.set(LoadFlags::HELD, translation > 0);
        flags.set(LoadFlags::WALKED, walked);
        let mut loaded = Loaded { delay: translation, flags, ..Loaded::NOTHING };
        let memory = &self.core.memory;
        if access.uncached {
            loaded.delay += u64::from(memory.uncached_latency);
            loaded.flags |= LoadFlags::HELD;
            return loaded;
        }
        let ready = issued + translation;
        let careful = self.disambiguation.is_careful(rip);
        let at = if careful { ready.max(self.stores.all_addressed() + 1) } else { ready };
        if at > ready {
            loaded.delay += at - ready;
            loaded.flags |= LoadFlags::HELD;
        }
        if memory.overtaking_loads
            && destination != Destination::Vector
            && issued < self.stores.all_addressed()
        {
            loaded.flags |= LoadFlags::TWICE;
        }
        match self.stores.find(access.linear, access.size, ready) {
            Found::Nothing if careful => self.disambiguation.was_independent(rip),
            Found::Nothing => {}
            Found::Forward { data, store, .. } if self.connections.connects(rip, follow, since, store) => {
                // Renaming has connected the two: the value is there as soon as the store has it.
                loaded.data = data.saturating_sub(issued);
                loaded.flags |= LoadFlags::RENAMED | self.forwarded_again();
                // The next store to its place goes alone; where registers and displacements tell what to connect, not
                // if the load is that of an operation in place.
                if let MemoryRenaming::Predicted { accesses: RenamedAccesses::Whole, distance, .. } =
                    memory.renames_memory
                    && (distance == 0 || destination != Destination::Update)
                {
                    self.stores.was_renamed(access.linear);
                }
                return loaded;
            }
            Found::Forward { data, addressed, odd, .. } => {
                // Forwarding takes as long as a hit of the cache, once the data are there.
                let mut from = data;
                // It looks for stores in the cycle after it has its own address.
                let early = addressed > ready + 2;
                if careful {
                    from = from.max(at);
                }
                if early {
                    loaded.flags.set(LoadFlags::EARLY, !careful);
                    self.disambiguation.was_early(rip, self.stores.count());
                } else if careful {
                    self.disambiguation.was_dependent(rip);
                }
                let forward = memory.store_forward.cycles(destination);
                // It waits for the data: see `Memory::store_forward_again`.
                let waits = odd && data > at && destination != Destination::Vector;
                let again = if waits { memory.store_forward_again } else { 0 };
                let mut ready = from.max(at) + forward + u64::from(again);
                if memory.forward_interval > 0 {
                    let before = self.stores.forwarded_before(access.linear, CLOSE);
                    if let Some(before) = before
                        && (destination != Destination::Register || data > before)
                    {
                        ready = ready.max(before + u64::from(memory.forward_interval));
                    }
                    self.stores.was_forwarded(access.linear, ready);
                }
                loaded.flags |= self.forwarded_again();
                loaded.data = from.saturating_sub(issued);
                loaded.delay = loaded.delay.max(ready.saturating_sub(issued + latency));
                // The line is used, but no instruction waits for it.
                if self.caches.holds(access.physical >> 6) {
                    return loaded;
                }
                self.caches.access(totals, access.physical >> 6, at, Asker::Store);
                return loaded;
            }
            Found::Blocked { committed } => {
                totals.store_forward_blocks += 1;
                let [general, other] = memory.store_forward_block;
                let cycles = if destination == Destination::Vector { other } else { general };
                let block = committed.max(at) + u64::from(cycles) - at;
                loaded.delay += block;
                loaded.flags |= LoadFlags::HELD;
                return loaded;
            }
            Found::Alias => {
                totals.alias_blocks += 1;
                loaded.delay += u64::from(memory.alias_block);
                loaded.flags |= LoadFlags::HELD;
            }
        }
        let line = access.physical >> 6;
        self.caches.stride(totals, rip, access.physical, at);
        let (level, arrival) = self.caches.access(totals, line, at, Asker::Load);
        loaded.level = level;
        if level > Level::L1 {
            loaded.delay = loaded.delay.max(arrival.saturating_sub(issued + latency));
        } else if let (Some(aliases), LinearTags::LoadAgain(again)) = (&mut self.aliases, memory.linear_tags)
        {
            let (known, again) = aliases.switches(line, access, at, again);
            loaded.again = again;
            // Measured: locked instructions take no longer by it.
            if known > at && !lock {
                loaded.delay = loaded.delay.max(known - issued);
            }
        } else if let Some(aliases) = &mut self.aliases {
            let (mut known, again) = aliases.known(line, access, at);
            if known > at {
                loaded.level = Level::FillBuffer;
                if memory.linear_tags == LinearTags::StackApart {
                    loaded.again = again;
                } else {
                    // Each load misses by itself.
                    known = at + aliases::OWN_MISS;
                }
                loaded.delay = loaded.delay.max(known - issued);
            }
        }
        loaded
    }
}

/// Cycles for so many bytes, by a curve of some points.
fn along(curve: &[(u32, u32)], bytes: u64) -> u64 {
    let points = || curve.windows(2).map(|pair| [pair[0], pair[1]]);
    let beyond = points().next_back().unwrap_or_default();
    let [low, high] = points().find(|[_, high]| bytes <= high.0.into()).unwrap_or(beyond);
    let part = bytes.saturating_sub(low.0.into()) * u64::from(high.1 - low.1);
    u64::from(low.1) + part / u64::from((high.0 - low.0).max(1))
}

#[inline]
fn classify(totals: &mut CoreTotals, loaded: &Loaded) {
    totals.second_level_tlb_miss_loads += u64::from(loaded.is(LoadFlags::WALKED));
    match loaded.level {
        Level::L1 => totals.l1_hits += 1,
        Level::FillBuffer => totals.fill_buffer_hits += 1,
        Level::L2 => {
            totals.l1_misses += 1;
            totals.l2_hits += 1;
        }
        Level::L3 => {
            totals.l1_misses += 1;
            totals.l2_misses += 1;
            totals.l3_hits += 1;
        }
        Level::Memory => {
            totals.l1_misses += 1;
            totals.l2_misses += 1;
            totals.l3_misses += 1;
        }
    }
}

/// True if an access goes on where another one of the instruction ends, in the page before.
#[cold]
fn goes_on(accesses: &[MemoryAccess], access: &MemoryAccess) -> bool {
    let end = |other: &MemoryAccess| other.linear.wrapping_add(other.size.into());
    accesses.iter().any(|other| other.write == access.write && end(other) == access.linear)
}

/// True if an access touches two lines.
#[inline]
pub(super) fn crosses_line(access: &MemoryAccess) -> bool {
    (access.linear & 63) + u64::from(access.size) > 64
}
