//! Port I/O.

use super::Insn;
use crate::bus::Bus;
use crate::context::{Core, RAX, RDX};
use crate::exception::{Done, Fault};
use crate::low::Low;

impl Core {
    /// #GP(0) unless IOPL or the I/O bitmap in the TSS allows the port.
    pub(crate) fn require_port<B: Bus>(&mut self, bus: &mut B, port: u16, size: usize) -> Done {
        if self.cpl <= self.iopl() {
            return Ok(());
        }
        // Only 32- and 64-bit TSSs (types 9 and 11) have a bitmap.
        if !self.tr.present() || self.tr.kind() & 0xD != 9 || self.tr.limit < 0x67 {
            return Err(self.gp(0));
        }
        let bitmap: u16 = self.system_load(bus, self.tr.base.wrapping_add(0x66))?;
        let offset = u64::from(bitmap) + u64::from(port / 8);
        // The CPU always reads two bytes.
        if offset + 1 > u64::from(self.tr.limit) {
            return Err(self.gp(0));
        }
        let bits: u16 = self.system_load(bus, self.tr.base.wrapping_add(offset))?;
        let mask = ((1_u16 << size) - 1) << (port % 8);
        if bits & mask == 0 { Ok(()) } else { Err(self.gp(0)) }
    }

    pub(crate) fn port_in<B: Bus>(&mut self, bus: &mut B, port: u16, size: usize) -> u32 {
        if self.breakpoints.port {
            self.watch_port(port, size);
        }
        self.sync(bus);
        let mut data = [0; 4];
        bus.port_in(port, &mut data[..size.min(4)], &self.access());
        self.after_bus(bus);
        u32::from_le_bytes(data)
    }

    pub(crate) fn port_out<B: Bus>(&mut self, bus: &mut B, port: u16, value: u32, size: usize) {
        if self.breakpoints.port {
            self.watch_port(port, size);
        }
        self.sync(bus);
        bus.port_out(port, &value.to_le_bytes()[..size.min(4)], &self.access());
        self.after_bus(bus);
    }

    fn port<B: Bus>(&mut self, bus: &mut B, i: &Insn<B>, immediate: bool) -> Result<(u16, usize), Fault> {
        let port = if immediate { i.imm.low_u16() & 0xFF } else { self.regs[RDX].low_u16() };
        let size = usize::from(i.aux);
        self.require_port(bus, port, size)?;
        Ok((port, size))
    }
}

/// IN; `aux` is the size.
pub(crate) fn port_in<B: Bus, const IMM: bool>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let (port, size) = c.port(b, i, IMM)?;
    let value = u64::from(c.port_in(b, port, size));
    c.regs[RAX] = match size {
        1 => c.regs[RAX] & !0xFF | value,
        2 => c.regs[RAX] & !0xFFFF | value,
        _ => value,
    };
    Ok(())
}

/// OUT.
pub(crate) fn port_out<B: Bus, const IMM: bool>(c: &mut Core, b: &mut B, i: &Insn<B>) -> Done {
    let (port, size) = c.port(b, i, IMM)?;
    c.port_out(b, port, c.regs[RAX].low_u32(), size);
    Ok(())
}
