//! Where flags and registers of the guest are while code is written.

use crate::frame::{home, part, spilled};
use crate::translate::Translation;
use iced_x86::{Code, Register};

// Flags.
impl Translation<'_> {
    /// AX has the flags; what the host has stays.
    pub(crate) fn save_flags(&mut self) {
        if !self.in_ax {
            self.e.bare(Code::Lahf);
            self.e.r(Code::Seto_rm8, Register::AL);
            self.in_ax = true;
        }
    }

    /// The host's flags are the guest's.
    pub(crate) fn restore_flags(&mut self) {
        if !self.in_host {
            // Overflows if AL is 1.
            self.e.ri(Code::Add_rm8_imm8, Register::AL, 0x7F);
            self.e.bare(Code::Sahf);
            self.in_host = true;
            self.in_ax = false;
        }
    }

    /// AX has the flags, and what comes changes the host's.
    pub(crate) fn free_flags(&mut self) {
        self.save_flags();
        self.in_host = false;
    }

    /// The host has just made the flags.
    pub(crate) fn host_made_flags(&mut self) {
        self.in_host = true;
        self.in_ax = false;
    }

    /// AX has just got them.
    pub(crate) fn ax_has_flags(&mut self) {
        self.in_host = false;
        self.in_ax = true;
    }
}

// Registers.
impl Translation<'_> {
    /// A guest register in a register of the host, its own or that one.
    pub(crate) fn read(&mut self, register: Register, through: Register) -> Register {
        let number = register.full_register().number();
        let bytes = register.size();
        match home(number) {
            Some(home) => part(home, bytes),
            None => {
                self.e.rm(Code::Mov_r64_rm64, through, spilled(number));
                part(through, bytes)
            }
        }
    }

    /// All 64 bits of it.
    pub(crate) fn read_all(&mut self, register: Register, through: Register) -> Register {
        self.read(register.full_register(), through)
    }

    /// A guest register that is written next, and read before if `old`; afterwards [`written`](Self::written).
    pub(crate) fn write(&mut self, register: Register, through: Register, old: bool) -> Register {
        let number = register.full_register().number();
        match home(number) {
            Some(home) => part(home, register.size()),
            None if old || register.size() < 4 => self.read(register, through),
            None => part(through, register.size()),
        }
    }

    pub(crate) fn written(&mut self, register: Register, through: Register) {
        let number = register.full_register().number();
        if home(number).is_none() {
            self.e.mr(Code::Mov_rm64_r64, spilled(number), through);
        }
    }
}
