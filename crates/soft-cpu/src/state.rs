//! The architectural state of the CPU, as a plain struct to set up, save and compare.

/// RFLAGS.IF.
pub const RFLAGS_IF: u64 = crate::flags::IF;

/// A segment register with its hidden part. The default is a null segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Segment {
    /// Visible part.
    pub selector: u16,
    /// Linear address of the first byte.
    pub base: u64,
    /// Last valid offset in bytes.
    pub limit: u32,
    /// Bits 8 to 23 of the descriptor's second word: type (3:0), S (4), DPL (6:5), P (7), AVL (12), L (13),
    /// D/B (14), G (15). P = 0: the register cannot be used.
    pub rights: u16,
}

impl Segment {
    pub(crate) fn present(&self) -> bool {
        self.rights >> 7 & 1 != 0
    }
    pub(crate) fn kind(&self) -> u16 {
        self.rights & 0xF
    }
    pub(crate) fn dpl(&self) -> u8 {
        (self.rights >> 5 & 3) as u8
    }
    pub(crate) fn long(&self) -> bool {
        self.rights >> 13 & 1 != 0
    }
    pub(crate) fn big(&self) -> bool {
        self.rights >> 14 & 1 != 0
    }
}

/// GDTR or IDTR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DescriptorTable {
    /// Linear address.
    pub base: u64,
    /// Last valid offset in bytes.
    pub limit: u16,
}

/// Everything that a snapshot of the CPU has to keep. All values are as the guest would read them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct State {
    /// RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8 to R15.
    pub gpr: [u64; 16],
    /// RIP.
    pub rip: u64,
    /// RFLAGS.
    pub rflags: u64,
    /// ES, CS, SS, DS, FS, GS. The privilege level is the DPL of SS.
    pub segments: [Segment; 6],
    /// LDTR.
    pub ldtr: Segment,
    /// TR.
    pub tr: Segment,
    /// GDTR.
    pub gdtr: DescriptorTable,
    /// IDTR.
    pub idtr: DescriptorTable,
    /// CR0.
    pub cr0: u64,
    /// CR2.
    pub cr2: u64,
    /// CR3.
    pub cr3: u64,
    /// CR4.
    pub cr4: u64,
    /// DR0 to DR3.
    pub dr: [u64; 4],
    /// DR6.
    pub dr6: u64,
    /// DR7.
    pub dr7: u64,
    /// IA32_EFER.
    pub efer: u64,
    /// IA32_STAR.
    pub star: u64,
    /// IA32_LSTAR.
    pub lstar: u64,
    /// IA32_CSTAR.
    pub cstar: u64,
    /// IA32_FMASK.
    pub fmask: u64,
    /// IA32_KERNEL_GS_BASE.
    pub kernel_gs_base: u64,
    /// IA32_SYSENTER_CS, _ESP and _EIP.
    pub sysenter: [u64; 3],
    /// IA32_TSC_AUX.
    pub tsc_aux: u32,
    /// What decides about the next number of RDRAND and RDSEED.
    #[cfg_attr(feature = "serde", serde(default))]
    pub random: u64,
    /// IA32_PAT.
    pub pat: u64,
    /// XCR0.
    pub xcr0: u64,
    /// IA32_XSS.
    pub xss: u64,
    /// XMM0 to XMM15.
    pub xmm: [u128; 16],
    /// Bits 255:128 of YMM0 to YMM15: state component 2.
    #[cfg_attr(feature = "serde", serde(default))]
    pub ymm_high: [u128; 16],
    /// k0 to k7: state component 5.
    #[cfg_attr(feature = "serde", serde(default))]
    pub opmask: [u64; 8],
    /// Bits 511:256 of ZMM0 to ZMM15, the low half first: state component 6.
    #[cfg_attr(feature = "serde", serde(default))]
    pub zmm_high: [[u128; 2]; 16],
    /// ZMM16 to ZMM31, the lowest quarter first: state component 7.
    #[cfg_attr(feature = "serde", serde(default))]
    pub zmm_16_to_31: [[u128; 4]; 16],
    /// MXCSR.
    pub mxcsr: u32,
    /// x87 control word.
    pub fcw: u16,
    /// x87 status word, TOP included.
    pub fsw: u16,
    /// x87 tags, one bit per physical register: 1 is in use (FXSAVE's form).
    pub ftw: u8,
    /// Last x87 opcode, instruction and operand pointer.
    pub x87_pointers: (u16, u64, u64),
    /// ST0 to ST7, 80 bits each.
    pub st: [u128; 8],
    /// NMIs wait for IRET.
    pub nmi_blocked: bool,
    /// An NMI has been injected and waits.
    pub nmi_pending: bool,
    /// A maskable interrupt has been injected and waits.
    pub interrupt: Option<u8>,
    /// STI, MOV SS or POP SS was the last instruction.
    pub interrupt_shadow: bool,
    /// HLT waits for an event.
    pub halted: bool,
}

impl Default for State {
    /// 32-bit protected mode with flat segments, paging off, interrupts off: what boot loaders
    /// leave. Everything else is as after RESET.
    fn default() -> Self {
        let code = Segment { selector: 8, base: 0, limit: u32::MAX, rights: 0xC09B };
        let data = Segment { selector: 16, base: 0, limit: u32::MAX, rights: 0xC093 };
        Self {
            gpr: [0; 16],
            rip: 0,
            rflags: crate::flags::FIXED,
            segments: [data, code, data, data, data, data],
            ldtr: Segment { selector: 0, base: 0, limit: 0xFFFF, rights: 0x82 },
            tr: Segment { selector: 0, base: 0, limit: 0x67, rights: 0x8B },
            gdtr: DescriptorTable::default(),
            idtr: DescriptorTable::default(),
            cr0: 0x11,
            cr2: 0,
            cr3: 0,
            cr4: 0,
            dr: [0; 4],
            dr6: 0xFFFF_0FF0,
            dr7: 0x400,
            efer: 0,
            star: 0,
            lstar: 0,
            cstar: 0,
            fmask: 0,
            kernel_gs_base: 0,
            sysenter: [0; 3],
            tsc_aux: 0,
            random: 0,
            pat: 0x0007_0406_0007_0406,
            xcr0: 1,
            xss: 0,
            xmm: [0; 16],
            ymm_high: [0; 16],
            opmask: [0; 8],
            zmm_high: [[0; 2]; 16],
            zmm_16_to_31: [[0; 4]; 16],
            mxcsr: 0x1F80,
            fcw: 0x37F,
            fsw: 0,
            ftw: 0,
            x87_pointers: (0, 0, 0),
            st: [0; 8],
            nmi_blocked: false,
            nmi_pending: false,
            interrupt: None,
            interrupt_shadow: false,
            halted: false,
        }
    }
}
