//! The system registers that belong to the CPU itself. Declared once; checks, storage, reset and saved state follow.

use super::SystemRegister;

/// What EL0 may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum El0 {
    /// Nothing.
    No,
    /// Read.
    Read,
    /// Read and write.
    Write,
    /// Read if SCTLR_EL1.UCT is set, else trapped.
    Uct,
    /// Read and write if SCTLR_EL1.UMA is set, else trapped.
    Uma,
    /// Read and write unless CPACR_EL1.FPEN traps FP and Advanced SIMD, which it does to EL1 as well.
    Fp,
    /// Read and write unless MDSCR_EL1.TDCC traps the debug communications channel.
    Tdcc,
}

/// How a register behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Software writes and reads it.
    Stored,
    /// As [`Stored`](Self::Stored), and a write changes what is derived from it.
    Effect,
    /// It is a part of PSTATE or of the registers of instructions, or worked out when it is read.
    Computed,
    /// As [`Computed`](Self::Computed), and read-only.
    ComputedRead,
    /// As [`Computed`](Self::Computed), and write-only.
    ComputedWrite,
}

/// A register of the CPU.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Declaration {
    pub(crate) name: &'static str,
    pub(crate) register: SystemRegister,
    pub(crate) el0: El0,
    pub(crate) kind: Kind,
    /// Bits that keep what is written.
    pub(crate) mask: u64,
    /// The value after reset, also of bits that are not kept (RES1).
    pub(crate) reset: u64,
}

macro_rules! own {
    ($( $id:ident $name:literal ($op0:literal $op1:literal $crn:literal $crm:literal $op2:literal)
        $el0:ident $kind:ident $mask:expr, $reset:expr; )*) => {
        /// A register of the CPU, as an index of [`OWN`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum Own { $( $id, )* }

        /// All of them; breakpoints and watchpoints are in [`numbered`].
        pub(crate) const OWN: [Declaration; COUNT] = [ $( Declaration {
            name: $name,
            register: SystemRegister::new($op0, $op1, $crn, $crm, $op2),
            el0: El0::$el0,
            kind: Kind::$kind,
            mask: $mask,
            reset: $reset,
        }, )* ];

        const ALL: &[Own] = &[ $( Own::$id, )* ];
        const COUNT: usize = ALL.len();
    };
}

const ALL_BITS: u64 = u64::MAX;
const LOW_32: u64 = 0xFFFF_FFFF;
/// SCTLR_EL1 of Armv8.0 (Arm ARM D17.2.118): M A C SA SA0 nAA.. bits that are not RES0 or RES1. EE and E0E are RES0:
/// memory is little-endian.
const SCTLR: u64 = 1
    | 1 << 1
    | 1 << 2
    | 1 << 3
    | 1 << 4
    | 1 << 9
    | 1 << 12
    | 1 << 14
    | 1 << 15
    | 1 << 16
    | 1 << 18
    | 1 << 19
    | 1 << 26;
/// LSMAOE, nTLSMD, SPAN, EIS, EOS, TSCXT, ITD, SED: RES1 where their features are absent.
const SCTLR_ONES: u64 = 1 << 29 | 1 << 28 | 1 << 23 | 1 << 22 | 1 << 20 | 1 << 11 | 1 << 8 | 1 << 7;
/// T0SZ to AS; TBI0, TBI1; no HA, HD and later.
const TCR: u64 = 0x3F
    | 1 << 7
    | 0xFF << 8
    | 0x3F << 16
    | 1 << 22
    | 1 << 23
    | 0xFF << 24
    | 7 << 32
    | 1 << 36
    | 1 << 37
    | 1 << 38;
/// NZCV, SS, IL, DAIF, nRW and M; no later bits.
pub(crate) const SPSR: u64 = 0xF << 28 | 1 << 21 | 1 << 20 | 0xF << 6 | 0x1F;
/// FPCR: AHP, DN, FZ, RMode; IDE to IOE are RAZ: no trapped exceptions.
pub(crate) const FPCR: u64 = 1 << 26 | 1 << 25 | 1 << 24 | 3 << 22;
/// FPSR: QC, IDC, IXC, UFC, OFC, DZC, IOC.
pub(crate) const FPSR: u64 = 1 << 27 | 0x9F;
/// MDSCR_EL1: TDCC, KDE, MDE, HDE, ERR and the DCC's status bits that only an external debugger changes, SS.
const MDSCR: u64 = 1 | 1 << 6 | 1 << 12 | 1 << 13 | 1 << 14 | 1 << 15;

own! {
    Sctlr "SCTLR_EL1" (3 0 1 0 0) No Effect SCTLR, SCTLR_ONES;
    Actlr "ACTLR_EL1" (3 0 1 0 1) No Stored 0, 0;
    Cpacr "CPACR_EL1" (3 0 1 0 2) No Effect 3 << 20, 0;
    Ttbr0 "TTBR0_EL1" (3 0 2 0 0) No Effect ALL_BITS & !1, 0;
    Ttbr1 "TTBR1_EL1" (3 0 2 0 1) No Effect ALL_BITS & !1, 0;
    Tcr "TCR_EL1" (3 0 2 0 2) No Effect TCR, 0;
    Spsr "SPSR_EL1" (3 0 4 0 0) No Stored SPSR, 0;
    Elr "ELR_EL1" (3 0 4 0 1) No Stored ALL_BITS, 0;
    SpEl0 "SP_EL0" (3 0 4 1 0) No Computed ALL_BITS, 0;
    SpSel "SPSel" (3 0 4 2 0) No Computed 1, 0;
    CurrentEl "CurrentEL" (3 0 4 2 2) No ComputedRead 0, 0;
    Afsr0 "AFSR0_EL1" (3 0 5 1 0) No Stored 0, 0;
    Afsr1 "AFSR1_EL1" (3 0 5 1 1) No Stored 0, 0;
    Esr "ESR_EL1" (3 0 5 2 0) No Stored LOW_32, 0;
    Far "FAR_EL1" (3 0 6 0 0) No Stored ALL_BITS, 0;
    Par "PAR_EL1" (3 0 7 4 0) No Stored ALL_BITS, 0;
    Mair "MAIR_EL1" (3 0 10 2 0) No Effect ALL_BITS, 0;
    Amair "AMAIR_EL1" (3 0 10 3 0) No Stored 0, 0;
    Vbar "VBAR_EL1" (3 0 12 0 0) No Stored ALL_BITS & !0x7FF, 0;
    Rvbar "RVBAR_EL1" (3 0 12 0 1) No ComputedRead 0, 0;
    Isr "ISR_EL1" (3 0 12 1 0) No ComputedRead 0, 0;
    ContextIdr "CONTEXTIDR_EL1" (3 0 13 0 1) No Effect LOW_32, 0;
    TpidrEl1 "TPIDR_EL1" (3 0 13 0 4) No Stored ALL_BITS, 0;
    Ccsidr "CCSIDR_EL1" (3 1 0 0 0) No ComputedRead 0, 0;
    Clidr "CLIDR_EL1" (3 1 0 0 1) No ComputedRead 0, 0;
    Aidr "AIDR_EL1" (3 1 0 0 7) No ComputedRead 0, 0;
    Csselr "CSSELR_EL1" (3 2 0 0 0) No Stored 0xF, 0;
    Ctr "CTR_EL0" (3 3 0 0 1) Uct ComputedRead 0, 0;
    Dczid "DCZID_EL0" (3 3 0 0 7) Read ComputedRead 0, 0;
    Nzcv "NZCV" (3 3 4 2 0) Write Computed 0xF << 28, 0;
    Daif "DAIF" (3 3 4 2 1) Uma Computed 0xF << 6, 0;
    Fpcr "FPCR" (3 3 4 4 0) Fp Computed FPCR, 0;
    Fpsr "FPSR" (3 3 4 4 1) Fp Computed FPSR, 0;
    TpidrEl0 "TPIDR_EL0" (3 3 13 0 2) Write Stored ALL_BITS, 0;
    TpidrroEl0 "TPIDRRO_EL0" (3 3 13 0 3) Read Stored ALL_BITS, 0;
    OsDtrRx "OSDTRRX_EL1" (2 0 0 0 2) No Stored LOW_32, 0;
    Mdccint "MDCCINT_EL1" (2 0 0 2 0) No Stored 3 << 29, 0;
    Mdscr "MDSCR_EL1" (2 0 0 2 2) No Effect MDSCR, 0;
    OsDtrTx "OSDTRTX_EL1" (2 0 0 3 2) No Stored LOW_32, 0;
    OsEccr "OSECCR_EL1" (2 0 0 6 2) No Stored LOW_32, 0;
    Mdrar "MDRAR_EL1" (2 0 1 0 0) No ComputedRead 0, 0;
    OsLar "OSLAR_EL1" (2 0 1 0 4) No ComputedWrite 1, 0;
    OsLsr "OSLSR_EL1" (2 0 1 1 4) No ComputedRead 0, 0;
    OsDlr "OSDLR_EL1" (2 0 1 3 4) No Stored 1, 0;
    DbgPrcr "DBGPRCR_EL1" (2 0 1 4 4) No Stored 1, 0;
    DbgClaimSet "DBGCLAIMSET_EL1" (2 0 7 8 6) No Computed 0xFF, 0;
    DbgClaimClr "DBGCLAIMCLR_EL1" (2 0 7 9 6) No Computed 0xFF, 0;
    DbgAuthStatus "DBGAUTHSTATUS_EL1" (2 0 7 14 6) No ComputedRead 0, 0;
    MdccSr "MDCCSR_EL0" (2 3 0 1 0) Tdcc ComputedRead 0, 0;
    DbgDtr "DBGDTR_EL0" (2 3 0 4 0) Tdcc Computed ALL_BITS, 0;
    DbgDtrRxTx "DBGDTR[RT]X_EL0" (2 3 0 5 0) Tdcc Computed LOW_32, 0;
}

impl Own {
    pub(crate) const COUNT: usize = COUNT;

    /// The CPU's register with this name; `None` if it has none.
    pub(crate) fn find(register: SystemRegister) -> Option<Self> {
        let place = OWN.iter().position(|declaration| declaration.register == register)?;
        ALL.get(place).copied()
    }

    /// The register with an index.
    pub(crate) fn from_index(index: u8) -> Option<Self> {
        ALL.get(usize::from(index)).copied()
    }

    pub(crate) fn declaration(self) -> &'static Declaration {
        &OWN[self as usize]
    }
}

/// The registers of hardware breakpoints and watchpoints, by CRm (Arm ARM D17.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbered {
    /// DBGBVR, op2 4.
    BreakpointValue,
    /// DBGBCR, op2 5.
    BreakpointControl,
    /// DBGWVR, op2 6.
    WatchpointValue,
    /// DBGWCR, op2 7.
    WatchpointControl,
}

impl Numbered {
    /// Which one it is, and its number.
    pub(crate) fn find(register: SystemRegister) -> Option<(Self, u32)> {
        let kind = match register.op2() {
            4 => Self::BreakpointValue,
            5 => Self::BreakpointControl,
            6 => Self::WatchpointValue,
            7 => Self::WatchpointControl,
            _ => return None,
        };
        let space = (register.op0(), register.op1(), register.crn()) == (2, 0, 0);
        space.then_some((kind, register.crm()))
    }

    /// Bits that keep what is written.
    pub(crate) fn mask(self) -> u64 {
        match self {
            // Virtual addresses are sign-extended from bit 48; a word-aligned one.
            Self::BreakpointValue => ALL_BITS & !3,
            // BT, LBN, SSC, HMC, BAS, PMC, E.
            Self::BreakpointControl => 0xFF_E1E7,
            Self::WatchpointValue => ALL_BITS & !3,
            // MASK, WT, LBN, SSC, HMC, BAS, LSC, PAC, E.
            Self::WatchpointControl => 0x1F1F_FFFF,
        }
    }
}
