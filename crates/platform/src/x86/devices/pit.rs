//! 8254 interval timer at ports 0x40 to 0x43, and its part of system control port B (0x61): what kernels calibrate
//! their clocks with. Intel 8254 data sheet, "Operational Description".
//!
//! Plain state; the counts follow from guest time. Channel 0 is not wired to an interrupt line: a guest takes
//! its ticks from the local APIC timer. No BCD counting.

use crate::convert::{low_u16, scale};
use crate::time::GuestTime;
use serde::{Deserialize, Serialize};

/// Clock of all channels in Hz: 105/88 MHz.
pub const CLOCK_HZ: u64 = 1_193_182;
/// First port: channels 0 to 2, then the control word.
pub const BASE: u16 = 0x40;
/// Number of ports.
pub const PORTS: u16 = 4;
/// System control port B.
pub const CONTROL_B: u16 = 0x61;

const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;
/// Bits of system control port B.
mod control_b {
    pub(super) const GATE_2: u8 = 1 << 0;
    pub(super) const WRITABLE: u8 = 0xF;
    pub(super) const REFRESH: u8 = 1 << 4;
    pub(super) const OUT_2: u8 = 1 << 5;
}
/// DRAM refresh toggles a bit about every 15 microseconds.
const REFRESH_NS: u64 = 15_085;

/// How the bytes of a count are read and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Access {
    Low,
    High,
    LowThenHigh,
}

/// One counter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Channel {
    /// 0 to 5.
    mode: u8,
    access: Access,
    /// Initial count, 1 to 65536; 0 before the first.
    reload: u32,
    /// When counting began, for a gate that is high.
    start: u64,
    /// Ticks counted when the gate went low.
    paused: Option<u64>,
    gate: bool,
    low_byte: Option<u8>,
    latched_count: Option<u16>,
    latched_status: Option<u8>,
    /// The next read gives the high byte.
    read_high: bool,
}

impl Channel {
    fn new(gate: bool) -> Self {
        Self {
            mode: 0,
            access: Access::LowThenHigh,
            reload: 0,
            start: 0,
            paused: None,
            gate,
            low_byte: None,
            latched_count: None,
            latched_status: None,
            read_high: false,
        }
    }

    fn periodic(&self) -> bool {
        matches!(self.mode, 2 | 3)
    }

    /// The gate's rising edge starts the count.
    fn triggered(&self) -> bool {
        matches!(self.mode, 1 | 5)
    }

    fn ticks(&self, now: GuestTime) -> u64 {
        self.paused
            .unwrap_or_else(|| scale(now.since(GuestTime(self.start)), CLOCK_HZ, NANOSECONDS_PER_SECOND))
    }

    fn restart(&mut self, now: GuestTime) {
        self.start = now.0;
        self.paused = (!self.gate && !self.triggered()).then_some(0);
    }

    fn count(&self, now: GuestTime) -> u16 {
        let (ticks, reload) = (self.ticks(now), u64::from(self.reload));
        let count = match self.mode {
            _ if reload == 0 => 0,
            2 => reload - ticks % reload,
            // Counts down in steps of two, twice per period.
            3 => reload - 2 * ticks % reload / 2 * 2,
            _ => reload.wrapping_sub(ticks),
        };
        low_u16(count)
    }

    fn out(&self, now: GuestTime) -> bool {
        let (ticks, reload) = (self.ticks(now), u64::from(self.reload));
        match self.mode {
            _ if reload == 0 => self.mode != 0,
            0 | 1 => ticks >= reload,
            2 => ticks % reload != reload - 1,
            3 => ticks % reload < reload.div_ceil(2),
            _ => ticks != reload,
        }
    }

    fn set_gate(&mut self, gate: bool, now: GuestTime) {
        let rising = gate && !self.gate;
        let falling = !gate && self.gate;
        if rising && (self.periodic() || self.triggered()) {
            self.gate = true;
            self.restart(now);
        } else if rising {
            let ticks = self.paused.take().unwrap_or(0);
            self.start = now.0.saturating_sub(scale(ticks, NANOSECONDS_PER_SECOND, CLOCK_HZ));
        } else if falling && !self.triggered() {
            self.paused = Some(self.ticks(now));
        }
        self.gate = gate;
    }

    fn control(&mut self, access: Access, mode: u8) {
        *self = Self { mode, access, ..Self::new(self.gate) };
    }

    fn latch_count(&mut self, now: GuestTime) {
        let count = self.count(now);
        self.latched_count.get_or_insert(count);
    }

    fn latch_status(&mut self, now: GuestTime) {
        let access = match self.access {
            Access::Low => 1,
            Access::High => 2,
            Access::LowThenHigh => 3,
        };
        let no_count = u8::from(self.reload == 0);
        let status = u8::from(self.out(now)) << 7 | no_count << 6 | access << 4 | self.mode << 1;
        self.latched_status.get_or_insert(status);
    }

    fn read(&mut self, now: GuestTime) -> u8 {
        if let Some(status) = self.latched_status.take() {
            return status;
        }
        let [low, high] = self.latched_count.unwrap_or_else(|| self.count(now)).to_le_bytes();
        let high_now = match self.access {
            Access::Low => false,
            Access::High => true,
            Access::LowThenHigh => {
                self.read_high = !self.read_high;
                !self.read_high
            }
        };
        if high_now || self.access == Access::Low {
            self.latched_count = None;
        }
        if high_now { high } else { low }
    }

    fn write(&mut self, byte: u8, now: GuestTime) {
        let count = match (self.access, self.low_byte.take()) {
            (Access::Low, _) => u16::from(byte),
            (Access::High, _) => u16::from(byte) << 8,
            (Access::LowThenHigh, Some(low)) => u16::from_le_bytes([low, byte]),
            (Access::LowThenHigh, None) => {
                self.low_byte = Some(byte);
                return;
            }
        };
        self.reload = if count == 0 { 0x1_0000 } else { u32::from(count) };
        self.restart(now);
    }
}

/// The timer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pit {
    channels: [Channel; 3],
    control_b: u8,
}

impl Default for Pit {
    fn default() -> Self {
        Self { channels: [Channel::new(true), Channel::new(true), Channel::new(false)], control_b: 0 }
    }
}

impl Pit {
    /// IN of one byte at [`BASE`] plus `register`; the control word reads as all ones.
    pub fn read(&mut self, register: u16, now: GuestTime) -> u8 {
        self.channels.get_mut(usize::from(register)).map_or(0xFF, |channel| channel.read(now))
    }

    /// OUT of one byte at [`BASE`] plus `register`.
    pub fn write(&mut self, register: u16, byte: u8, now: GuestTime) {
        match self.channels.get_mut(usize::from(register)) {
            Some(channel) => channel.write(byte, now),
            None => self.control_word(byte, now),
        }
    }

    fn control_word(&mut self, word: u8, now: GuestTime) {
        let select = word >> 6;
        if select == 3 {
            // Read-back: bits 5 and 4 are active low.
            for (index, channel) in self.channels.iter_mut().enumerate() {
                if word >> (index + 1) & 1 != 0 {
                    if word & 1 << 5 == 0 {
                        channel.latch_count(now);
                    }
                    if word & 1 << 4 == 0 {
                        channel.latch_status(now);
                    }
                }
            }
            return;
        }
        let Some(channel) = self.channels.get_mut(usize::from(select)) else { return };
        let access = match word >> 4 & 3 {
            0 => return channel.latch_count(now),
            1 => Access::Low,
            2 => Access::High,
            _ => Access::LowThenHigh,
        };
        // Modes 6 and 7 are 2 and 3.
        let mode = word >> 1 & 7;
        channel.control(access, if mode > 5 { mode - 4 } else { mode });
    }

    /// IN at [`CONTROL_B`].
    #[must_use]
    pub fn read_control_b(&self, now: GuestTime) -> u8 {
        let refresh = if !(now.0 / REFRESH_NS).is_multiple_of(2) { control_b::REFRESH } else { 0 };
        let out = if self.channels[2].out(now) { control_b::OUT_2 } else { 0 };
        self.control_b | refresh | out
    }

    /// OUT at [`CONTROL_B`].
    pub fn write_control_b(&mut self, byte: u8, now: GuestTime) {
        self.control_b = byte & control_b::WRITABLE;
        self.channels[2].set_gate(byte & control_b::GATE_2 != 0, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn channel_2_times_50_ms_as_linux_calibrates_the_tsc() {
        let mut pit = Pit::default();
        let at = |ms: u64| GuestTime(ms * MS);
        // Gate on, speaker off; mode 0, low then high byte; CLOCK_HZ / 20 ticks.
        pit.write_control_b(0x01, at(1));
        pit.write(3, 0xB0, at(1));
        pit.write(2, (59_659 & 0xFF) as u8, at(1));
        pit.write(2, (59_659 >> 8) as u8, at(1));
        assert_eq!(pit.read_control_b(at(50)) & 0x20, 0);
        assert_eq!(pit.read_control_b(at(52)) & 0x20, 0x20);
        // Without latching the count runs on, low byte first.
        let (low, high) = (pit.read(2, at(26)), pit.read(2, at(26)));
        assert_eq!(u16::from_le_bytes([low, high]), 59_659 - 29_829);
    }

    #[test]
    fn a_latched_count_stands_still_until_it_is_read() {
        let mut pit = Pit::default();
        for (register, byte) in [(3, 0x34), (0, 0), (0, 0)] {
            pit.write(register, byte, GuestTime(0));
        }
        pit.write(3, 0x00, GuestTime(MS));
        let later = GuestTime(20 * MS);
        assert_eq!([pit.read(0, later), pit.read(0, later)], (0_u16.wrapping_sub(1193)).to_le_bytes());
        assert_ne!([pit.read(0, later), pit.read(0, later)], (0_u16.wrapping_sub(1193)).to_le_bytes());
    }

    #[test]
    fn a_closed_gate_pauses_mode_0() {
        let mut pit = Pit::default();
        for (register, byte) in [(3, 0xB0), (2, 0xFF), (2, 0xFF)] {
            pit.write(register, byte, GuestTime(0));
        }
        let read = |pit: &mut Pit, ms| {
            u16::from_le_bytes([pit.read(2, GuestTime(ms * MS)), pit.read(2, GuestTime(ms * MS))])
        };
        assert_eq!(read(&mut pit, 10), 0xFFFF);
        pit.write_control_b(1, GuestTime(10 * MS));
        assert_eq!(read(&mut pit, 11), 0xFFFF - 1193);
        pit.write_control_b(0, GuestTime(11 * MS));
        assert_eq!(read(&mut pit, 30), 0xFFFF - 1193);
    }

    #[test]
    fn read_back_gives_mode_and_output() {
        let mut pit = Pit::default();
        for (register, byte) in [(3, 0x36), (0, 100), (0, 0), (3, 0xE2)] {
            pit.write(register, byte, GuestTime(0));
        }
        assert_eq!(pit.read(0, GuestTime(0)), 0xB6);
    }
}
