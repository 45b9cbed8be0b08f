//! The front end's state, as far as it decides what is next.

use super::{FrontEnd, Path, QUEUE, SPLIT_LONG_AGO};
use crate::state::packed::{Packer, Unpacker};
use crate::state::{Shaped, Words};

impl Shaped for FrontEnd {
    fn save(&self, now: u64, shape: &mut Vec<u64>) -> Option<()> {
        let place = self.cycle.wrapping_sub(now);
        let lead = self.cycle.saturating_sub(self.predicted).min(u64::from(self.core.prediction.lead) + 1);
        let place = u64::from(u32::try_from(place.wrapping_add(1 << 31)).ok()?);
        let predictor = u64::from(self.restarted) << 8 | self.pairs.save();
        shape.push(predictor << 48 | u64::from(self.decoded_branches) << 40 | lead << 32 | place);
        if self.decoded_branches > 0 {
            let uops = self.loop_uops.wrapping_sub(self.window_from).min(self.width + 1);
            let flags = [self.takes_lines[1], self.takes_lines[0], self.serialised];
            shape.push(flags.iter().fold(uops.into(), |word, &flag| word << 1 | u64::from(flag)));
        }
        let used = u64::from(u8::try_from(self.used).ok()?);
        let bytes = u64::from(u8::try_from(self.bytes).ok()?);
        let mut word = self.ahead << 24
            | used << 16
            | bytes << 8
            | u64::from(self.taken & 7) << 5
            | u64::from(self.wide) << 4
            | self.path as u64;
        for (cycle, count) in self.before {
            // What a run of cycles was before counts only if the run goes on.
            let gap = self.cycle.wrapping_sub(cycle);
            let live = gap <= 1 && count > 0;
            let count =
                if live { u64::from(u8::try_from(count).ok().filter(|&count| count < 128)?) } else { 0 };
            word = word << 8 | count << 1 | if live { gap } else { 0 };
        }
        shape.push(word);
        shape.extend([self.piece, self.line, self.page]);
        if self.has_room_for_few {
            let target = if self.loop_branch == u64::MAX { 0 } else { self.loop_target };
            shape.extend([self.of_line.save(self.cycle)?, self.entries.into(), self.loop_branch, target]);
        }
        if self.core.front_end.predecode_width > 0 {
            // Nothing is split while the decoders rest, and when a block was split long ago does not matter.
            let since = self.cycle.saturating_sub(self.split).min(SPLIT_LONG_AGO);
            let counts = u64::from(self.beyond.min(0xFF)) << 8 | u64::from(self.split_count);
            let split = [self.block, since << 16 | counts];
            let none = [u64::MAX, SPLIT_LONG_AGO << 16];
            shape.extend(if self.path == Path::Decoders { split } else { none });
        }
        if self.core.front_end.loop_stream {
            // What a restart leaves of a loop is not looked at. More uops than fit are too many, and the iterations of
            // a loop that is known are not counted.
            let is_loop = self.loop_branch != u64::MAX;
            let uops = self.loop_uops.min(self.core.front_end.queue + 1);
            let count = if self.loop_branch == self.replayed { 0 } else { self.loop_count };
            let word = u64::from(count) << 32 | u64::from(uops);
            let [target, word] = if is_loop { [self.loop_target, word] } else { [0; 2] };
            shape.extend([self.loop_branch, target, self.replayed, word]);
        }
        let left = (1..=self.queue).map(|n| self.left[self.entered.wrapping_sub(n) % QUEUE]);
        let mut packer = Packer::new(shape);
        packer.falling(left.map(|left| left.saturating_sub(self.cycle)).take_while(|&after| after > 0))?;
        packer.finish();
        Some(())
    }

    fn restore(&mut self, now: u64, shape: &mut Words<'_>) {
        let place = shape.next();
        self.cycle = now.wrapping_add(place & 0xFFFF_FFFF).wrapping_sub(1 << 31);
        self.predicted = self.cycle.saturating_sub(place >> 32 & 0xFF);
        self.decoded_branches = (place >> 40) as u8;
        self.pairs.restore((place >> 48) as u8);
        self.restarted = (place >> 56) as u8;
        let begun = if self.decoded_branches > 0 { shape.next() } else { 0 };
        self.serialised = begun & 1 == 1;
        self.takes_lines = [begun >> 1 & 1 == 1, begun >> 2 & 1 == 1];
        let mut word = shape.next();
        for before in self.before.iter_mut().rev() {
            let count = (word >> 1 & 0x7F) as u32;
            *before = if count > 0 { (self.cycle.wrapping_sub(word & 1), count) } else { (0, 0) };
            word >>= 8;
        }
        self.wide = word >> 4 & 1 == 1;
        self.taken = (word >> 5 & 7) as u32;
        self.path = match word & 0xF {
            0 => Path::Decoders,
            1 => Path::UopCache,
            _ => Path::Loop,
        };
        (self.bytes, self.used) = ((word >> 8 & 0xFF) as u32, (word >> 16 & 0xFF) as u32);
        self.ahead = word >> 24 & 0xFF;
        (self.piece, self.line, self.page) = (shape.next(), shape.next(), shape.next());
        (self.loop_branch, self.loop_target, self.loop_count, self.loop_uops) = (u64::MAX, 0, 0, 0);
        self.replayed = u64::MAX;
        if self.has_room_for_few {
            self.of_line.restore(self.cycle, shape.next());
            self.entries = shape.next() as u32;
            (self.loop_branch, self.loop_target) = (shape.next(), shape.next());
        }
        if self.core.front_end.predecode_width > 0 {
            let (block, word) = (shape.next(), shape.next());
            self.block = block;
            self.split = self.cycle.saturating_sub(word >> 16);
            (self.beyond, self.split_count) = ((word >> 8 & 0xFF) as u32, (word & 0xFF) as u32);
        }
        if self.core.front_end.loop_stream {
            (self.loop_branch, self.loop_target) = (shape.next(), shape.next());
            self.replayed = shape.next();
            let word = shape.next();
            (self.loop_count, self.loop_uops) = ((word >> 32) as u32, word as u32);
        }
        self.window_from = self.loop_uops.wrapping_sub((begun >> 3) as u32);
        // They left in order: before one that left long ago there are no others.
        for n in 1..=QUEUE {
            let left = &mut self.left[self.entered.wrapping_sub(n) % QUEUE];
            if *left <= self.cycle {
                break;
            }
            *left = 0;
        }
        let mut n = 0;
        Unpacker::new(shape).falling(|after| {
            n += 1;
            self.left[self.entered.wrapping_sub(n) % QUEUE] = self.cycle + after;
        });
    }
}
