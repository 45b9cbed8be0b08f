//! PL011 UART (Arm DDI 0183), revision r1p4 with FIFOs of 16 bytes.
//!
//! Transmission takes no time and cannot fail, so the transmit FIFO is always empty, and bytes are sent whether or not
//! the UART is enabled: there is no firmware that would have enabled it for early consoles (QEMU does the same). Not
//! emulated: DMA, modem lines, line errors, breaks, baud rates.

use crate::convert::{low_u8, low_u16};
use crate::devices::{Output, Uart};
use core::fmt;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::io::Write as _;

/// Registers (DDI 0183, table 3-1).
mod at {
    pub(super) const DR: u64 = 0x000;
    pub(super) const RSR: u64 = 0x004;
    pub(super) const FR: u64 = 0x018;
    pub(super) const ILPR: u64 = 0x020;
    pub(super) const IBRD: u64 = 0x024;
    pub(super) const FBRD: u64 = 0x028;
    pub(super) const LCR_H: u64 = 0x02C;
    pub(super) const CR: u64 = 0x030;
    pub(super) const IFLS: u64 = 0x034;
    pub(super) const IMSC: u64 = 0x038;
    pub(super) const RIS: u64 = 0x03C;
    pub(super) const MIS: u64 = 0x040;
    pub(super) const ICR: u64 = 0x044;
    pub(super) const DMACR: u64 = 0x048;
    /// UARTPeriphID0 to 3 and UARTPCellID0 to 3.
    pub(super) const IDENTIFICATION: u64 = 0xFE0;
    pub(super) const END: u64 = 0x1000;
}

/// Part 011H by Arm (41H), revision 1; a PrimeCell.
const IDENTIFICATION: [u8; 8] = [0x11, 0x10, 0x14, 0x00, 0x0D, 0xF0, 0x05, 0xB1];

/// FR: receive FIFO empty, transmit FIFO not full but empty, receive FIFO full.
const FR_RXFE: u16 = 1 << 4;
const FR_RXFF: u16 = 1 << 6;
const FR_TXFE: u16 = 1 << 7;
/// LCR_H: FIFOs are enabled.
const LCR_H_FEN: u16 = 1 << 4;
/// CR: the UART, its transmitter and its receiver are enabled; loopback.
const CR_UARTEN: u16 = 1 << 0;
const CR_LBE: u16 = 1 << 7;
const CR_TXE: u16 = 1 << 8;
const CR_RXE: u16 = 1 << 9;
/// Bits of each register that software can set; others are reserved.
const ILPR_MASK: u16 = 0xFF;
const FBRD_MASK: u16 = 0x3F;
const LCR_H_MASK: u16 = 0xFF;
const CR_MASK: u16 = 0xFF87;
const IFLS_MASK: u16 = 0x3F;
const DMACR_MASK: u16 = 7;
/// Interrupts: a receive FIFO that is full enough, a transmit FIFO that is empty enough, bytes that nothing follows.
const RX: u16 = 1 << 4;
const TX: u16 = 1 << 5;
const RT: u16 = 1 << 6;
/// All interrupts there are.
const INTERRUPTS: u16 = 0x7FF;
/// Bytes of a FIFO.
const DEPTH: usize = 16;

/// The registers of the UART.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pl011State {
    ilpr: u16,
    ibrd: u16,
    fbrd: u16,
    lcr_h: u16,
    cr: u16,
    ifls: u16,
    imsc: u16,
    ris: u16,
    dmacr: u16,
    /// Received bytes.
    received: VecDeque<u8>,
}

impl Default for Pl011State {
    /// After reset.
    fn default() -> Self {
        Self {
            ilpr: 0,
            ibrd: 0,
            fbrd: 0,
            lcr_h: 0,
            cr: CR_TXE | CR_RXE,
            // Both FIFOs half full.
            ifls: 0x12,
            imsc: 0,
            ris: 0,
            dmacr: 0,
            received: VecDeque::new(),
        }
    }
}

impl Pl011State {
    fn is_possible(&self) -> bool {
        let pairs = [
            (self.ilpr, ILPR_MASK),
            (self.fbrd, FBRD_MASK),
            (self.lcr_h, LCR_H_MASK),
            (self.cr, CR_MASK),
            (self.ifls, IFLS_MASK),
            (self.imsc, INTERRUPTS),
            (self.ris, RX | TX | RT),
            (self.dmacr, DMACR_MASK),
        ];
        pairs.iter().all(|(value, mask)| value & !mask == 0) && self.received.len() <= self.depth()
    }

    /// Bytes that the receive FIFO holds; without FIFOs one.
    fn depth(&self) -> usize {
        if self.lcr_h & LCR_H_FEN != 0 { DEPTH } else { 1 }
    }

    /// Bytes from which on the receive interrupt is raised (IFLS.RXIFLSEL; reserved values are as the last one).
    fn receive_level(&self) -> usize {
        match (self.depth(), self.ifls >> 3 & 7) {
            (1, _) => 1,
            (depth, 0) => depth / 8,
            (depth, 1) => depth / 4,
            (depth, 2) => depth / 2,
            (depth, 3) => depth * 3 / 4,
            (depth, _) => depth * 7 / 8,
        }
    }

    fn receive(&mut self, byte: u8) {
        if self.received.len() < self.depth() {
            self.received.push_back(byte);
        }
        if self.received.len() >= self.receive_level() {
            self.ris |= RX;
        }
        // Nothing follows for 32 bit times, which pass at once.
        if self.lcr_h & LCR_H_FEN != 0 {
            self.ris |= RT;
        }
    }

    fn take(&mut self) -> u8 {
        let byte = self.received.pop_front().unwrap_or(0);
        if self.received.len() < self.receive_level() {
            self.ris &= !RX;
        }
        if self.received.is_empty() {
            self.ris &= !RT;
        }
        byte
    }

    fn flags(&self) -> u16 {
        let empty = if self.received.is_empty() { FR_RXFE } else { 0 };
        let full = if self.received.len() >= self.depth() { FR_RXFF } else { 0 };
        FR_TXFE | empty | full
    }
}

/// The UART.
pub struct Pl011 {
    state: Pl011State,
    output: Output,
    lost: u64,
}

impl Pl011 {
    /// A UART after reset whose output goes to `output`, byte by byte, each followed by a flush.
    #[must_use]
    pub fn new(output: Output) -> Self {
        Self { state: Pl011State::default(), output, lost: 0 }
    }

    /// Takes a copy of the registers and of the input that the guest has not read.
    #[must_use]
    pub fn save(&self) -> Pl011State {
        self.state.clone()
    }

    /// A UART in a saved state; `None` if no guest can have brought it there.
    #[must_use]
    pub fn resume(output: Output, saved: &Pl011State) -> Option<Self> {
        saved.is_possible().then(|| Self { state: saved.clone(), ..Self::new(output) })
    }

    /// Level of the combined interrupt line.
    #[must_use]
    pub fn interrupt(&self) -> bool {
        self.state.ris & self.state.imsc != 0
    }

    /// Bytes that the output refused. The guest does not notice.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// MMIO read. Registers take accesses of 8, 16 and 32 bits at their own address; others read as zero.
    pub fn read(&mut self, offset: u64, data: &mut [u8]) {
        let value = u64::from(if data.len() <= 4 { self.read_register(offset) } else { 0 }).to_le_bytes();
        data.fill(0);
        for (to, from) in data.iter_mut().zip(value) {
            *to = from;
        }
    }

    /// MMIO write, as [`read`](Self::read).
    pub fn write(&mut self, offset: u64, data: &[u8]) {
        if (1..=4).contains(&data.len()) {
            let value = data.iter().rev().fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
            self.write_register(offset, low_u16(value));
        }
    }

    fn read_register(&mut self, offset: u64) -> u16 {
        let s = &mut self.state;
        match offset {
            at::DR => s.take().into(),
            at::FR => s.flags(),
            at::ILPR => s.ilpr,
            at::IBRD => s.ibrd,
            at::FBRD => s.fbrd,
            at::LCR_H => s.lcr_h,
            at::CR => s.cr,
            at::IFLS => s.ifls,
            at::IMSC => s.imsc,
            at::RIS => s.ris,
            at::MIS => s.ris & s.imsc,
            at::DMACR => s.dmacr,
            at::IDENTIFICATION..at::END if offset.is_multiple_of(4) => {
                let n = usize::try_from((offset - at::IDENTIFICATION) / 4).unwrap_or(usize::MAX);
                IDENTIFICATION.get(n).copied().unwrap_or(0).into()
            }
            // RSR: no errors.
            _ => 0,
        }
    }

    fn write_register(&mut self, offset: u64, value: u16) {
        let s = &mut self.state;
        match offset {
            at::DR => self.send(low_u8(value.into())),
            at::ILPR => s.ilpr = value & ILPR_MASK,
            at::IBRD => s.ibrd = value,
            at::FBRD => s.fbrd = value & FBRD_MASK,
            at::LCR_H => {
                // Switching the FIFOs empties them.
                if (value ^ s.lcr_h) & LCR_H_FEN != 0 {
                    s.received.clear();
                    s.ris &= !(RX | RT);
                }
                s.lcr_h = value & LCR_H_MASK;
            }
            at::CR => s.cr = value & CR_MASK,
            at::IFLS => s.ifls = value & IFLS_MASK,
            at::IMSC => s.imsc = value & INTERRUPTS,
            at::ICR => s.ris &= !value,
            at::DMACR => s.dmacr = value & DMACR_MASK,
            // ECR: there are no errors to clear.
            at::RSR => {}
            _ => {}
        }
    }

    fn send(&mut self, byte: u8) {
        if self.state.cr & CR_LBE != 0 {
            self.state.receive(byte);
        } else if self.output.write_all(&[byte]).and_then(|()| self.output.flush()).is_err() {
            self.lost += 1;
        }
        // The FIFO has been filled and has become empty again.
        self.state.ris |= TX;
    }

    fn is_receiving(&self) -> bool {
        self.state.cr & (CR_UARTEN | CR_RXE | CR_LBE) == CR_UARTEN | CR_RXE
    }
}

impl Uart for Pl011 {
    /// The FIFO has 16 bytes, without FIFOs it is one. Nothing is received while the receiver is disabled and in
    /// loopback mode.
    fn enqueue(&mut self, input: &[u8]) -> usize {
        if !self.is_receiving() {
            return 0;
        }
        let room = self.state.depth() - self.state.received.len().min(self.state.depth());
        let taken = input.len().min(room);
        input.iter().take(taken).for_each(|byte| self.state.receive(*byte));
        taken
    }

    fn wants_input(&self) -> bool {
        self.is_receiving() && self.state.imsc & (RX | RT) != 0 && self.state.received.is_empty()
    }
}

impl fmt::Debug for Pl011 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pl011").field("state", &self.state).field("lost", &self.lost).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::Capture;
    use proptest::prelude::*;

    fn uart() -> (Pl011, Capture) {
        let capture = Capture::new(1000);
        (Pl011::new(Box::new(capture.clone())), capture)
    }

    fn read(uart: &mut Pl011, offset: u64) -> u32 {
        let mut data = [0xA5; 4];
        uart.read(offset, &mut data);
        u32::from_le_bytes(data)
    }

    fn write(uart: &mut Pl011, offset: u64, value: u32) {
        uart.write(offset, &value.to_le_bytes());
    }

    /// As Linux sets it up, with these interrupts.
    fn enabled(interrupts: u16) -> Pl011 {
        let (mut uart, _) = uart();
        write(&mut uart, at::LCR_H, 0x70);
        write(&mut uart, at::CR, (CR_UARTEN | CR_TXE | CR_RXE).into());
        write(&mut uart, at::IMSC, interrupts.into());
        uart
    }

    #[test]
    fn reset_values_and_reserved_bits_are_those_of_the_manual() {
        let cases = [
            (at::RSR, 0, 0),
            (at::FR, 0x90, 0x90),
            (at::ILPR, 0, 0xFF),
            (at::IBRD, 0, 0xFFFF),
            (at::FBRD, 0, 0x3F),
            (at::LCR_H, 0, 0xFF),
            (at::CR, 0x300, 0xFF87),
            (at::IFLS, 0x12, 0x3F),
            (at::IMSC, 0, 0x7FF),
            (at::RIS, 0, 0),
            (at::MIS, 0, 0),
            (at::ICR, 0, 0),
            (at::DMACR, 0, 7),
            (0x04C, 0, 0),
        ];
        for (register, reset, ones) in cases {
            let (mut uart, _) = uart();
            assert_eq!(read(&mut uart, register), reset, "{register:#x}");
            write(&mut uart, register, u32::MAX);
            assert_eq!(read(&mut uart, register), ones, "{register:#x}");
        }
        let (mut uart, _) = uart();
        let identification = [0, 1, 2, 3, 4, 5, 6, 7].map(|n| read(&mut uart, at::IDENTIFICATION + 4 * n));
        assert_eq!(identification, IDENTIFICATION.map(u32::from));
    }

    #[test]
    fn bytes_are_sent_at_once_with_an_interrupt() {
        let (mut uart, output) = uart();
        uart.write(at::DR, b"O");
        write(&mut uart, at::DR, u32::from(b'K') | 0xF00);
        assert_eq!(output.bytes(), b"OK");
        assert_eq!((read(&mut uart, at::FR), uart.interrupt()), (0x90, false));
        write(&mut uart, at::IMSC, TX.into());
        assert_eq!((read(&mut uart, at::MIS), uart.interrupt()), (u32::from(TX), true));
        write(&mut uart, at::ICR, TX.into());
        assert_eq!((read(&mut uart, at::RIS), uart.interrupt()), (0, false));
    }

    #[test]
    fn input_waits_in_the_fifo_and_interrupts_until_it_is_read() {
        let mut uart = enabled(RX | RT);
        assert!(uart.wants_input());
        assert_eq!(uart.enqueue(b"ab"), 2);
        assert!(!uart.wants_input() && uart.interrupt());
        assert_eq!(read(&mut uart, at::RIS), u32::from(RT), "less than half full");
        assert_eq!((read(&mut uart, at::DR), read(&mut uart, at::DR)), (u32::from(b'a'), u32::from(b'b')));
        assert_eq!((read(&mut uart, at::FR), uart.interrupt()), (0x90, false));
        assert_eq!(uart.enqueue(&[7; 100]), DEPTH);
        assert_eq!((uart.enqueue(&[7]), read(&mut uart, at::FR)), (0, 0xC0));
        for left in (0..DEPTH).rev() {
            read(&mut uart, at::DR);
            assert_eq!(read(&mut uart, at::RIS) & u32::from(RX) != 0, left >= 8, "{left} left");
        }
        assert_eq!(read(&mut uart, at::DR), 0, "nothing is there");
    }

    #[test]
    fn the_receive_level_is_selected_in_eighths() {
        for (select, level) in [(0, 2), (1, 4), (2, 8), (3, 12), (4, 14), (7, 14)] {
            let mut uart = enabled(RX);
            write(&mut uart, at::IFLS, select << 3);
            for n in 1..=DEPTH {
                uart.enqueue(&[0]);
                assert_eq!(uart.interrupt(), n >= level, "{n} bytes, RXIFLSEL {select}");
            }
        }
    }

    #[test]
    fn without_fifos_there_is_room_for_one_byte() {
        let mut uart = enabled(RX);
        uart.enqueue(b"xyz");
        write(&mut uart, at::LCR_H, 0x60);
        assert_eq!(read(&mut uart, at::FR), 0x90, "switching the FIFOs empties them");
        assert_eq!(uart.enqueue(b"ab"), 1);
        assert_eq!((read(&mut uart, at::FR), uart.interrupt()), (0xC0, true));
    }

    #[test]
    fn a_receiver_that_is_off_or_in_loopback_takes_nothing_from_outside() {
        let (mut uart, output) = uart();
        assert_eq!((uart.enqueue(b"a"), uart.wants_input()), (0, false));
        let mut uart = enabled(RX);
        write(&mut uart, at::CR, (CR_UARTEN | CR_TXE | CR_RXE | CR_LBE).into());
        write(&mut uart, at::DR, b'z'.into());
        assert_eq!((uart.enqueue(b"a"), read(&mut uart, at::DR)), (0, u32::from(b'z')));
        assert_eq!(output.bytes(), b"");
    }

    proptest! {
        /// Whatever the guest does, the state is one that can be saved and resumed.
        #[test]
        fn garbage_does_no_harm(
            accesses in prop::collection::vec((0..0x400_u64, 1..9_usize, any::<u64>(), any::<bool>()), 0..100),
        ) {
            let (mut uart, _) = uart();
            for (offset, len, value, input) in accesses {
                let offset = if value & 1 == 0 { offset & !3 } else { offset };
                uart.write(offset, &value.to_le_bytes()[..len]);
                uart.read(offset, &mut [0; 8][..len]);
                if input {
                    uart.enqueue(&value.to_le_bytes());
                }
            }
            let saved: Pl011State = serde_json::from_str(&serde_json::to_string(&uart.save()).unwrap()).unwrap();
            prop_assert_eq!(&saved, &uart.save());
            let resumed = Pl011::resume(Box::new(std::io::sink()), &saved).unwrap();
            prop_assert_eq!(resumed.interrupt(), uart.interrupt());
        }
    }
}
