//! Execution of one instruction, with its accesses to memory.

use crate::machine::{Executed, Execution, Machine, NEVER};
use crate::memory::{Asker, Found, Level, Purpose, Store};
use crate::prepared::{Prepared, Traits};
use crate::step::MemoryAccess;
use crate::totals::CoreTotals;

/// Cycles that the second half of an access across lines takes.
const SPLIT: u64 = 4;

/// What a load met.
#[derive(Debug, Clone, Copy)]
struct Loaded {
    /// Cycles in addition to a hit of the first level.
    delay: u64,
    level: Level,
    /// Waited for a store, a translation or a device.
    held: bool,
    /// Waited until this cycle for the value of a store that it is forwarded from: that is no wait for memory.
    data: u64,
    walked: bool,
    early: bool,
}

impl Machine {
    /// Executes; nothing begins before `earliest`.
    #[inline(always)]
    pub(crate) fn execute(
        &mut self,
        totals: &mut CoreTotals,
        prepared: &Prepared,
        execution: &Execution<'_>,
        earliest: u64,
    ) -> Executed {
        if self.ports_only {
            return self.execute_as_llvm(prepared, earliest);
        }
        let traits = prepared.traits;
        let mut address = self.back_end.address_ready(prepared).max(earliest);
        let mut value = self.back_end.sources_ready(prepared).max(earliest);
        let load = u64::from(prepared.load);
        let rare = traits.any(Traits::RARE);
        if rare {
            if traits.any(Traits::MANY_REGISTERS) {
                address = self.back_end.ready(prepared.rest.address).max(earliest);
                value = self.back_end.ready(prepared.rest.sources).max(earliest);
            }
            address = self.order(traits, address);
        }
        let (load_groups, groups) = prepared.split_groups();
        let (mut memory_from, mut clear) = (NEVER, false);
        // The load goes ahead of the rest.
        let mut from = address;
        if traits.any(Traits::LOAD | Traits::PREFETCH) {
            let issued = self.back_end.issue(load_groups, address.max(self.back_end.loads_after));
            from = issued + load;
            if !execution.memory.is_empty() && !traits.any(Traits::STRING) {
                let loaded = self.loads(totals, prepared, execution, issued, load);
                from += loaded.delay;
                // Intel counts any unfinished demand load while nothing executes (TMA: L1 bound). A hit that
                // waited for its address is in such a chain; others only keep the load ports busy.
                if loaded.level > Level::L1 || loaded.held || address > earliest {
                    memory_from = issued.max(loaded.data);
                }
                clear = loaded.early;
            }
        }
        let mut start = value.max(from);
        if rare && prepared.divider > 0 {
            start = self.back_end.divide(start, prepared.divider, traits.any(Traits::INTEGER_DIVIDER));
        }
        let issued = self.back_end.issue(groups, start);
        let mut completed = issued + u64::from(prepared.compute);
        // A plain load computes nothing.
        let mut computes = if groups.is_empty() { 0 } else { completed - from.min(completed) };
        if traits.any(Traits::STRING) && !execution.memory.is_empty() {
            let loaded = self.string(totals, prepared, execution, issued);
            completed = issued + loaded.delay;
            if loaded.level > Level::L1 {
                memory_from = issued;
                computes = 0;
            }
        }
        if traits.any(Traits::LOCK) {
            computes = 0;
            memory_from = from.saturating_sub(load);
            completed = completed.max(memory_from + u64::from(self.core.flows.lock));
            // Its load is outstanding until the store is done.
            self.back_end.outstanding(memory_from, completed, 0);
        }
        Executed { issued, addressed: address + 1, completed, memory_from, computes, clear }
    }

    /// What locked and serialising instructions wait for.
    fn order(&self, traits: Traits, start: u64) -> u64 {
        let mut start = start;
        if traits.any(Traits::SERIALISING | Traits::FENCE) {
            start = start.max(self.back_end.last_completed);
        }
        if traits.any(Traits::LOCK | Traits::FENCE) {
            start = start.max(self.stores.drained());
        }
        start
    }

    /// The loads of an instruction that has a few.
    #[inline]
    fn loads(
        &mut self,
        totals: &mut CoreTotals,
        prepared: &Prepared,
        execution: &Execution<'_>,
        issued: u64,
        latency: u64,
    ) -> Loaded {
        let mut all =
            Loaded { delay: 0, level: Level::L1, held: false, data: 0, walked: false, early: false };
        if prepared.traits.any(Traits::PREFETCH) {
            for access in execution.memory {
                self.software_prefetch(totals, prepared, access, issued);
            }
            return all;
        }
        let mut any = false;
        for access in execution.memory.iter().filter(|access| !access.write) {
            any = true;
            let loaded = self.load(totals, execution.rip, access, issued, latency);
            all.delay = all.delay.max(loaded.delay);
            all.level = all.level.max(loaded.level);
            all.held |= loaded.held;
            all.data = all.data.max(loaded.data);
            all.walked |= loaded.walked;
            all.early |= loaded.early;
            if crosses_line(access) {
                totals.split_loads += 1;
                totals.split_locks += u64::from(prepared.traits.any(Traits::LOCK));
                let second = (access.physical >> 6) + 1;
                let (level, arrival) = self.caches.access(totals, second, issued, Asker::Load);
                let delay = arrival.saturating_sub(issued + if level > Level::L1 { latency } else { 0 });
                all.delay = all.delay.max(delay) + SPLIT;
                all.level = all.level.max(level);
            }
        }
        if any {
            self.classify(totals, &all);
            let missed = match all.level {
                Level::L1 => 0,
                Level::FillBuffer | Level::L2 => 1,
                Level::L3 => 2,
                Level::Memory => 3,
            };
            self.back_end.outstanding(issued.max(all.data), issued + latency + all.delay, missed);
        }
        all
    }

    #[inline]
    fn classify(&mut self, totals: &mut CoreTotals, loaded: &Loaded) {
        totals.second_level_tlb_miss_loads += u64::from(loaded.walked);
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

    /// One load.
    #[inline]
    fn load(
        &mut self,
        totals: &mut CoreTotals,
        rip: u64,
        access: &MemoryAccess,
        issued: u64,
        latency: u64,
    ) -> Loaded {
        let (translation, walked) =
            self.tlbs.translate(totals, Purpose::Load, access.linear, access.page, issued);
        let mut loaded = Loaded {
            delay: translation,
            level: Level::L1,
            held: translation > 0,
            data: 0,
            walked,
            early: false,
        };
        let memory = &self.core.memory;
        if access.uncached {
            loaded.delay += u64::from(memory.uncached_latency);
            loaded.held = true;
            return loaded;
        }
        let at = issued + translation;
        match self.stores.find(access.linear, access.size, at) {
            Found::Nothing => {}
            Found::Forward { data, addressed } => {
                // Forwarding takes as long as a hit of the cache, once the data are there.
                let mut from = data;
                if addressed > at {
                    if self.stores.is_careful(rip) {
                        from = from.max(addressed);
                    } else {
                        self.stores.be_careful(rip);
                        loaded.early = true;
                    }
                }
                let ready = from.max(at) + u64::from(memory.store_forward);
                loaded.data = from;
                loaded.delay = loaded.delay.max(ready.saturating_sub(issued + latency));
                // The line is used, but nobody waits for it.
                if self.caches.holds(access.physical >> 6) {
                    return loaded;
                }
                self.caches.access(totals, access.physical >> 6, at, Asker::Store);
                return loaded;
            }
            Found::Blocked { committed } => {
                totals.store_forward_blocks += 1;
                let block = committed.max(at) + u64::from(memory.store_forward_block) - at;
                loaded.delay += block;
                loaded.held = true;
                return loaded;
            }
            Found::Alias => {
                totals.alias_blocks += 1;
                loaded.delay += u64::from(memory.alias_block);
                loaded.held = true;
            }
        }
        let line = access.physical >> 6;
        self.caches.stride(totals, rip, access.physical, at);
        let (level, arrival) = self.caches.access(totals, line, at, Asker::Load);
        loaded.level = level;
        if level > Level::L1 {
            loaded.delay = loaded.delay.max(arrival.saturating_sub(issued + latency));
        }
        loaded
    }

    fn software_prefetch(
        &mut self,
        totals: &mut CoreTotals,
        prepared: &Prepared,
        access: &MemoryAccess,
        at: u64,
    ) {
        let (delay, _) = self.tlbs.translate(totals, Purpose::Load, access.linear, access.page, at);
        let line = access.physical >> 6;
        if prepared.prefetch == 2 {
            self.caches.prefetch_outer(totals, line, at + delay);
        } else {
            self.caches.prefetch_first(totals, line, at + delay, Asker::Software);
        }
    }

    /// A string instruction with REP: its lines one after the other, overlapping as far as buffers allow.
    fn string(
        &mut self,
        totals: &mut CoreTotals,
        prepared: &Prepared,
        execution: &Execution<'_>,
        issued: u64,
    ) -> Loaded {
        let flows = &self.core.flows;
        let mut all =
            Loaded { delay: 0, level: Level::L1, held: false, data: 0, walked: false, early: false };
        let start = issued + u64::from(flows.string_start);
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
            let at = start + moved / u64::from(flows.string_bytes.max(1));
            let purpose = if access.write { Purpose::Store } else { Purpose::Load };
            let (translation, _) = self.tlbs.translate(totals, purpose, access.linear, access.page, at);
            if access.uncached {
                done = done.max(at) + u64::from(self.core.memory.uncached_latency);
                continue;
            }
            let asker = if access.write { Asker::Store } else { Asker::Load };
            let (level, arrival) = self.caches.access(totals, line, at + translation, asker);
            all.level = all.level.max(level);
            done = done.max(arrival);
        }
        let compares = prepared.traits.any(Traits::COMPARES);
        let work =
            if compares { 2 * execution.repetitions } else { moved / u64::from(flows.string_bytes.max(1)) };
        all.delay = done.max(start + work) - issued;
        all
    }

    /// The stores of an instruction, after it has retired.
    #[inline]
    pub(crate) fn store(
        &mut self,
        totals: &mut CoreTotals,
        prepared: &Prepared,
        memory: &[MemoryAccess],
        addressed: u64,
        data: u64,
        retired: u64,
    ) {
        if prepared.traits.any(Traits::STRING) {
            return;
        }
        for access in memory.iter().filter(|access| access.write) {
            let (translation, walked) =
                self.tlbs.translate(totals, Purpose::Store, access.linear, access.page, addressed);
            totals.second_level_tlb_miss_stores += u64::from(walked);
            let at = retired.max(addressed + translation);
            let mut arrival = at;
            if access.uncached {
                arrival += u64::from(self.core.memory.uncached_latency);
            } else {
                let line = access.physical >> 6;
                arrival = arrival.max(self.caches.access(totals, line, at, Asker::Store).1);
                if crosses_line(access) {
                    totals.split_stores += 1;
                    arrival = arrival.max(self.caches.access(totals, line + 1, at, Asker::Store).1);
                }
            }
            let store = Store { linear: access.linear, size: access.size, addressed, data };
            self.stores.add(&store, retired, arrival);
        }
    }
}

/// True if an access touches two lines.
#[inline]
fn crosses_line(access: &MemoryAccess) -> bool {
    (access.linear & 63) + u64::from(access.size) > 64
}
