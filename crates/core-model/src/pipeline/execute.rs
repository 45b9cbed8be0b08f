//! Execution of one instruction, with its accesses to memory.

use crate::core::LinearTags;
use crate::instruction::{Executed, Execution, NEVER, Prepared, Traits};
use crate::memory::{Destination, Level, LoadFlags, Loaded, Loads, MemoryPort, StoreTimes};
use crate::pipeline::{Origin, Pipeline};
use crate::table::Uops;
use crate::totals::CoreTotals;
use retire::RegisterFile;

impl Pipeline {
    /// Executes; nothing begins before `earliest`. `QUIRKS`, `RARE` and `MEMORY`: see [`complete`](Self::complete).
    #[inline(always)]
    pub(crate) fn execute<const QUIRKS: bool, const RARE: bool, const MEMORY: bool>(
        &mut self,
        port: &mut impl MemoryPort,
        totals: &mut CoreTotals,
        prepared: &Prepared,
        execution: &Execution<'_>,
        earliest: u64,
    ) -> Executed {
        let traits = prepared.traits;
        if !RARE && !MEMORY {
            let crossing = self.back_end.crossing(prepared);
            let ready = self.back_end.sources_ready(prepared).max(crossing);
            let ready = ready.max(self.back_end.distant(prepared));
            // What renaming does waits for no dispatch.
            let executes = prepared.has_groups();
            let early = if QUIRKS { self.select_early(prepared, prepared.groups(), earliest) } else { 0 };
            let ready = ready.max(early);
            let value = if executes { self.back_end.woken(ready, earliest) } else { ready.max(earliest) };
            if crossing > 0 {
                self.back_end.add_constant::<QUIRKS>(prepared, earliest);
            }
            let issued = self.back_end.issue::<QUIRKS>(prepared.groups(), value);
            let completed = issued + u64::from(prepared.compute);
            let prompt = QUIRKS
                && executes
                && prepared.compute == 1
                && self.is_prompt(prepared, prepared.groups(), earliest);
            return Executed {
                prompt,
                issued,
                addressed: earliest + 1,
                completed,
                memory_from: NEVER,
                computes: if executes { completed - earliest } else { 0 },
                clear: false,
            };
        }
        let mut address = self.back_end.woken(self.back_end.address_ready(prepared), earliest);
        let ready = self.back_end.sources_ready(prepared).max(self.back_end.crossing(prepared));
        let mut value = self.back_end.woken(ready, earliest);
        let near = traits.intersects(Traits::NEAR)
            && self.marked >> (prepared.address_registers[0] & 15) & 1 == 1
            && prepared.load > 0;
        let latency = prepared.load - u16::from(near);
        let load = u64::from(latency);
        let rare = RARE && traits.intersects(Traits::RARE);
        let mut drains_from = NEVER;
        let mut store_address = address;
        if rare {
            if traits.intersects(Traits::MANY_REGISTERS) {
                address = self.back_end.woken(self.back_end.ready(prepared.rest.address), earliest);
                value = self.back_end.woken(self.back_end.ready(prepared.rest.sources), earliest);
            }
            store_address = address;
            (drains_from, address) = self.order(port, traits, address);
        }
        let (load_groups, address_groups, groups) = prepared.split_groups();
        let (mut memory_from, mut clear) = (NEVER, false);
        // The load goes ahead of the rest.
        let mut from = address;
        if traits.intersects(Traits::LOAD) || RARE && traits.intersects(Traits::PREFETCH) {
            let issued = self.back_end.issue::<QUIRKS>(load_groups, address);
            from = issued + load;
            let loaded = if RARE && traits.intersects(Traits::STRING) {
                None
            } else if RARE && traits.intersects(Traits::PREFETCH) {
                port.prefetch(totals, prepared, execution, issued);
                (!execution.memory.is_empty()).then_some(Loaded::NOTHING)
            } else {
                let lock = RARE && traits.intersects(Traits::LOCK);
                let follow = self.back_end.follow(prepared);
                let written = self.written.filter(|_| QUIRKS);
                let since = written.map_or(0, |written| written.stores_since(prepared.address_registers));
                let destination = match prepared.register_file {
                    RegisterFile::General if traits.intersects(Traits::STORE) => Destination::Update,
                    RegisterFile::General if groups.is_empty() => Destination::Register,
                    RegisterFile::General => Destination::Operand,
                    _ => Destination::Vector,
                };
                port.loads(totals, execution, Loads { latency, lock, destination, follow, since, issued })
            };
            if let Some(loaded) = loaded {
                if loaded.is(LoadFlags::ANY) {
                    let missed = loaded.level.misses();
                    self.back_end.outstanding(issued + loaded.data, issued + load + loaded.delay, missed);
                }
                from += loaded.delay;
                if loaded.is(LoadFlags::CONFLICT)
                    || loaded.level > Level::L1 && self.core.memory.replays_loads
                {
                    from = self.back_end.replay(load_groups, from - load) + load;
                }
                let twice = u8::from(loaded.is(LoadFlags::TWICE));
                let mixed = QUIRKS && self.mixes(prepared, groups);
                let dependent = QUIRKS && !mixed && address > earliest && self.loads_again(prepared);
                for _ in 0..twice + u8::from(dependent) + u8::from(mixed) {
                    // The value does not wait for that.
                    self.back_end.replay(load_groups, issued + 1);
                }
                let waits = !matches!(self.core.memory.linear_tags, LinearTags::LoadAgain(_));
                for _ in 0..loaded.again {
                    let replayed = self.back_end.replay(load_groups, issued + 1) + load;
                    from = if waits { from.max(replayed) } else { from };
                }
                if loaded.is(LoadFlags::RENAMED) {
                    from = if loaded.data > 0 { issued + loaded.data } else { earliest };
                }
                // Intel counts any unfinished demand load while nothing executes (TMA: L1 bound). A hit that
                // waited for its address is in such a chain; others only keep the load ports busy.
                if loaded.level > Level::L1 || loaded.is(LoadFlags::HELD) || address > earliest {
                    memory_from = issued + loaded.data;
                }
                clear = loaded.is(LoadFlags::EARLY);
            }
        }
        let mut start = value.max(from);
        let mut compute = prepared.compute;
        if rare && traits.intersects(Traits::INTEGER_DIVIDER | Traits::FP_DIVIDER) {
            let integer = traits.intersects(Traits::INTEGER_DIVIDER);
            let mut cycles = prepared.rest.divider;
            if integer && execution.repetitions > 1 {
                let [busy, latency] = self.core.flows.divider.long_integer;
                (cycles, compute) = (cycles.max(busy), compute.max(latency));
            }
            start = self.back_end.divide(start, cycles, integer);
        }
        // The address of a store waits neither for its value nor for what is older.
        let addressed = self.back_end.issue::<QUIRKS>(address_groups, store_address) + 1;
        let loaded = start == from;
        if QUIRKS {
            start = start.max(self.select_early(prepared, groups, from.max(earliest)));
        }
        let issued = self.back_end.issue::<QUIRKS>(groups, start);
        let mut completed = issued + u64::from(compute);
        // A plain load computes nothing.
        let mut computes = if groups.is_empty() { 0 } else { completed - from.min(completed) };
        if RARE && traits.intersects(Traits::STRING) && !execution.memory.is_empty() {
            // It has moved while its uops were allocated.
            let passed = super::string_slots(prepared, execution) / self.core.dispatch_width.max(1);
            let begun = issued.saturating_sub(passed.into());
            let (delay, level) = port.string(totals, prepared, execution, begun);
            completed = (begun + delay).max(issued);
            if level > Level::L1 {
                memory_from = issued;
                computes = 0;
            }
        }
        if RARE && traits.intersects(Traits::LOCK) {
            computes = 0;
            let begun = from.saturating_sub(load);
            // The next one can begin a cycle after this one has retired. An exchange has no operation of its own.
            let cycles = self.core.flows.lock.saturating_sub(1 + u32::from(prepared.compute == 0));
            completed = completed.max(begun + u64::from(cycles));
            // Its load is outstanding until the store is done.
            self.back_end.outstanding(begun, completed, 0);
            // That it waits for older stores and locks is a wait for memory too.
            memory_from = begun.min(drains_from);
        }
        let prompt = QUIRKS && prepared.compute == 1 && loaded && self.is_prompt(prepared, groups, earliest);
        Executed { issued, addressed, completed, memory_from, computes, clear, prompt }
    }

    /// True if what waits for the operation is selected too early, on cores where that matters: its last source was
    /// there when it was allocated, or has come from a load.
    #[inline(always)]
    fn is_prompt(&self, prepared: &Prepared, groups: &[Uops], earliest: u64) -> bool {
        if self.origin != Origin::Prompt || groups.is_empty() {
            return false;
        }
        let waits = prepared.rest.sources & !self.loaded;
        self.back_end.ready(waits) <= earliest
    }

    /// On cores where that matters, selects an operation that waits for what a prompt one makes before that is there:
    /// it takes a port in vain. When it can be selected again.
    #[inline(always)]
    fn select_early(&mut self, prepared: &Prepared, groups: &[Uops], earliest: u64) -> u64 {
        if self.origin != Origin::Prompt {
            return 0;
        }
        let Some(&uops) = groups.last() else { return 0 };
        let ready = self.back_end.ready(prepared.rest.sources & self.prompt);
        if ready <= earliest {
            return 0;
        }
        let others = self.back_end.ready(prepared.rest.sources & !self.prompt);
        self.back_end.select(uops, others.max(earliest), ready)
    }

    /// When locked and serialising instructions can begin but for older stores, and when with them.
    fn order(&self, port: &mut impl MemoryPort, traits: Traits, start: u64) -> (u64, u64) {
        let mut start = start;
        if traits.intersects(Traits::SERIALISING | Traits::FENCE) {
            start = start.max(self.back_end.last_completed);
        }
        if traits.intersects(Traits::LOCK) {
            // It begins when everything older has retired. Younger loads do not wait for it (docs/silicon.md).
            start = start.max(self.back_end.retired());
        }
        let drains = traits.intersects(Traits::LOCK | Traits::FENCE);
        (start, start + if drains { port.drain(start) } else { 0 })
    }

    /// When there is room for a store.
    #[inline]
    pub(crate) fn store_room(&mut self, port: &mut impl MemoryPort) -> u64 {
        if self.store_fits {
            return 0;
        }
        let now = self.cycles();
        now + port.store_room(now)
    }

    /// The stores of an instruction, after it has retired.
    #[inline]
    pub(crate) fn store(
        &mut self,
        port: &mut impl MemoryPort,
        totals: &mut CoreTotals,
        prepared: &Prepared,
        execution: &Execution<'_>,
        times: StoreTimes,
    ) {
        if prepared.traits.intersects(Traits::STRING) {
            return;
        }
        let mut index = 0;
        while let Some(stored) = port.store(totals, execution, index, times) {
            self.store_fits = stored.room;
            if stored.twice {
                self.back_end.store_again(times.addressed);
            }
            if !stored.more {
                break;
            }
            index += 1;
        }
    }
}
