//! The registers of CPUID that announce a PMU, declared as those of MSRs are: a word has typed accessors, and the
//! fields from which decoding and the reference are made.
//!
//! Instructions and the rest of a CPU are announced by an engine, not here.

use super::macros::{field, field_accessor, field_decl};
use super::{Field, OnWrite, Repeat, When, Width};
use crate::bits::low_u32;
use crate::profile::Vendor;
use alloc::format;
use alloc::string::String;

/// The four registers that CPUID returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuidResult {
    /// EAX.
    pub eax: u32,
    /// EBX.
    pub ebx: u32,
    /// ECX.
    pub ecx: u32,
    /// EDX.
    pub edx: u32,
}

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum Output {
    /// EAX.
    Eax,
    /// EBX.
    Ebx,
    /// ECX.
    Ecx,
    /// EDX.
    Edx,
}

impl Output {
    /// The manuals' name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Eax => "EAX",
            Self::Ebx => "EBX",
            Self::Ecx => "ECX",
            Self::Edx => "EDX",
        }
    }

    /// This register of a result.
    #[must_use]
    pub const fn of(self, result: CpuidResult) -> u32 {
        match self {
            Self::Eax => result.eax,
            Self::Ebx => result.ebx,
            Self::Ecx => result.ecx,
            Self::Edx => result.edx,
        }
    }
}

/// A register of a leaf.
#[derive(Debug)]
pub struct Word {
    /// EAX on entry.
    pub leaf: u32,
    /// ECX on entry; `None` in a leaf that does not ask for it.
    pub subleaf: Option<u32>,
    /// Which of the four.
    pub output: Output,
    /// Whose CPUs have it.
    pub vendor: Vendor,
    /// One line about it.
    pub doc: &'static str,
    /// Where the layout stands.
    pub source: &'static str,
    /// The fields that are about the PMU, lowest first.
    pub fields: &'static [Field],
}

macro_rules! words {
    ($(
        $(#[doc = $doc:literal])+
        $id:ident = $leaf:literal $(. $subleaf:literal)?, $output:ident, $vendor:ident, source $source:literal {
            $($kind:ident $field:ident $args:tt = $fname:literal, $fdoc:literal;)*
        }
    )*) => {
        $(
            $(#[doc = $doc])+
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
            pub struct $id(u64);

            impl $id {
                $(field_accessor!($kind $field $args $fdoc);)*
            }

            impl From<u32> for $id {
                fn from(bits: u32) -> Self {
                    Self(bits.into())
                }
            }

            impl From<$id> for u32 {
                fn from(word: $id) -> Self {
                    low_u32(word.0)
                }
            }
        )*

        /// Every register of CPUID that says something about a PMU, by leaf.
        pub static WORDS: &[Word] = &[$(Word {
            leaf: $leaf,
            subleaf: words!(@subleaf $($subleaf)?),
            output: Output::$output,
            vendor: Vendor::$vendor,
            doc: concat!($($doc),+),
            source: $source,
            fields: &[$(field!($kind $args $fname $fdoc; ; ignore)),*],
        }),*];
    };
    (@subleaf) => { None };
    (@subleaf $subleaf:literal) => { Some($subleaf) };
}

words! {
    /// Features of the CPU.
    FeatureEcx = 0x1, Ecx, Intel, source "SDM vol. 2A, CPUID, leaf 01H" {
        flag dtes64(2) = "DTES64", "Debug store with fields of 64 bits";
        flag ds_cpl(4) = "DS-CPL", "Branch trace store by privilege level";
        flag pdcm(15) = "PDCM", "IA32_PERF_CAPABILITIES exists";
    }

    /// Features of the CPU.
    FeatureEdx = 0x1, Edx, Intel, source "SDM vol. 2A, CPUID, leaf 01H" {
        flag ds(21) = "DS", "Debug store: IA32_DS_AREA exists";
    }

    /// Extended features.
    ExtendedFeatureEbx = 0x7 . 0, Ebx, Intel, source "SDM vol. 2A, CPUID, leaf 07H" {
        flag hle(4) = "HLE", "Hardware lock elision";
        flag rtm(11) = "RTM", "Restricted transactions: IN_TX and IN_TXCP of an event select exist";
    }

    /// Extended features.
    ExtendedFeatureEdx = 0x7 . 0, Edx, Intel, source "SDM vol. 2A, CPUID, leaf 07H" {
        flag hybrid(15) = "Hybrid", "Part with cores of several kinds: leaf 1AH says which this is";
        flag arch_lbr(19) = "Arch LBR", "Architectural last branch records: leaf 1CH exists";
    }

    /// Extended features.
    ExtendedFeature1Eax = 0x7 . 1, Eax, Intel, source "SDM vol. 2A, CPUID, leaf 07H, subleaf 1" {
        flag arch_perfmon_ext(8) = "ArchPerfmonExt", "Leaf 23H exists";
    }

    /// Architectural performance monitoring: version and general-purpose counters.
    PerfmonEax = 0xA, Eax, Intel, source "SDM vol. 2A, CPUID, leaf 0AH" {
        bits version(0, 8) = "Version", "Version of architectural performance monitoring";
        bits gp_counters(8, 8) = "GP counters", "General-purpose counters of a logical processor";
        bits gp_width(16, 8) = "GP width", "Bits of a general-purpose counter";
        bits events(24, 8) = "Events", "Bits of EBX that mean an event";
    }

    /// Architectural events that are not there, where EAX counts their bit.
    PerfmonEbx = 0xA, Ebx, Intel, source "SDM vol. 2A, CPUID, leaf 0AH; vol. 3B, Pre-defined Architectural Events" {
        flag no_core_cycles(0) = "No core cycles", "Event 3C/00 is not available";
        flag no_instructions(1) = "No instructions retired", "Event C0/00 is not available";
        flag no_reference_cycles(2) = "No reference cycles", "Event 3C/01 is not available";
        flag no_llc_references(3) = "No LLC references", "Event 2E/4F is not available";
        flag no_llc_misses(4) = "No LLC misses", "Event 2E/41 is not available";
        flag no_branches(5) = "No branches retired", "Event C4/00 is not available";
        flag no_mispredicts(6) = "No mispredicted branches", "Event C5/00 is not available";
        flag no_slots(7) = "No topdown slots", "Event A4/01 is not available";
        flag no_backend_bound(8) = "No topdown backend bound", "Event A4/02 is not available";
        flag no_bad_speculation(9) = "No topdown bad speculation", "Event 73/00 is not available";
        flag no_frontend_bound(10) = "No topdown frontend bound", "Event 9C/01 is not available";
        flag no_retiring(11) = "No topdown retiring", "Event C2/02 is not available";
        flag no_lbr_inserts(12) = "No LBR inserts", "Event E4/01 is not available";
    }

    /// Fixed counters by number, from version 5.
    PerfmonEcx = 0xA, Ecx, Intel, source "SDM vol. 2A, CPUID, leaf 0AH" {
        bits fixed(0, 32) = "Fixed counters", "Bit n: fixed counter n exists";
    }

    /// Fixed counters, from version 2.
    PerfmonEdx = 0xA, Edx, Intel, source "SDM vol. 2A, CPUID, leaf 0AH" {
        bits fixed_counters(0, 5) = "Fixed counters", "Contiguous fixed counters from 0";
        bits fixed_width(5, 8) = "Fixed width", "Bits of a fixed counter";
        flag any_thread_deprecated(15) = "AnyThread deprecated",
            "AnyThread of event selects and fixed counters is ignored";
    }

    /// State components that IA32_XSS can have.
    XssEcx = 0xD . 1, Ecx, Intel, source "SDM vol. 2A, CPUID, leaf 0DH, subleaf 1" {
        flag lbr(15) = "LBR", "XSAVES saves architectural last branch records";
    }

    /// The core of a hybrid part.
    NativeModelEax = 0x1A . 0, Eax, Intel, source "SDM vol. 2A, CPUID, leaf 1AH" {
        bits native_model(0, 24) = "Native model", "Model of the core, within its kind";
        bits core_type(24, 8) = "Core type", "20H: Intel Atom, 40H: Intel Core";
    }

    /// Architectural last branch records: depths.
    LbrEax = 0x1C . 0, Eax, Intel, source "SDM vol. 2A, CPUID, leaf 1CH" {
        bits depths(0, 8) = "Depths", "Bit n: a depth of 8 * (n + 1) records can be chosen";
        flag deep_c_state_reset(30) = "Deep C-state reset", "Records may be cleared in a deep C-state";
        flag lip(31) = "IP is LIP", "Addresses have the base of CS in them";
    }

    /// Architectural last branch records: what can be chosen.
    LbrEbx = 0x1C . 0, Ebx, Intel, source "SDM vol. 2A, CPUID, leaf 1CH" {
        flag cpl_filter(0) = "CPL filtering", "Records can be chosen by privilege level";
        flag branch_filter(1) = "Branch filtering", "Records can be chosen by kind of branch";
        flag call_stack(2) = "Call-stack mode", "Returns can take the record of their call away";
    }

    /// Architectural last branch records: what is recorded.
    LbrEcx = 0x1C . 0, Ecx, Intel, source "SDM vol. 2A, CPUID, leaf 1CH" {
        flag mispredict(0) = "Mispredict", "Whether the branch was mispredicted";
        flag timed(1) = "Timed LBRs", "Cycles since the record before";
        flag branch_type(2) = "Branch type", "The kind of branch";
        bits event_logging(16, 4) = "Event logging", "Bit n: counter n can be logged with a record";
    }

    /// Architectural performance monitoring extended: subleaves.
    PerfmonExtEax = 0x23 . 0, Eax, Intel, source "SDM vol. 2A, CPUID, leaf 23H" {
        flag main(0) = "Main", "Subleaf 0, this one, exists";
        flag counters(1) = "Counters", "Subleaf 1, counters, exists";
        flag auto_reload(2) = "ACR", "Subleaf 2, auto counter reload, exists";
        flag events(3) = "Events", "Subleaf 3, architectural events, exists";
        flag pebs_capabilities(4) = "PEBS capabilities", "Subleaf 4, groups of architectural PEBS, exists";
        flag pebs_counters(5) = "PEBS counters", "Subleaf 5, counters of architectural PEBS, exists";
    }

    /// Architectural performance monitoring extended: fields of event selects.
    PerfmonExtEbx = 0x23 . 0, Ebx, Intel,
        source "SDM vol. 2A, CPUID, leaf 23H; bit 2: Linux asm/perf_event.h" {
        flag umask2(0) = "UnitMask2", "Event selects have a second half of the unit mask";
        flag equal(1) = "EQ", "Event selects can compare with CMASK for equality";
        flag rdpmc_user_disable(2) = "RDPMC user disable",
            "Event selects can hide their counter from RDPMC at CPL > 0";
    }

    /// Architectural performance monitoring extended: slots.
    PerfmonExtEcx = 0x23 . 0, Ecx, Intel, source "SDM vol. 2A, CPUID, leaf 23H" {
        bits slots(0, 8) = "Slots", "Topdown slots of a cycle; 0: fixed counter 3 counts them";
    }

    /// Architectural performance monitoring extended: general-purpose counters.
    ExtCountersEax = 0x23 . 1, Eax, Intel, source "SDM vol. 2A, CPUID, leaf 23H, subleaf 1" {
        bits gp(0, 32) = "GP counters", "Bit n: general-purpose counter n exists";
    }

    /// Architectural performance monitoring extended: fixed counters.
    ExtCountersEbx = 0x23 . 1, Ebx, Intel, source "SDM vol. 2A, CPUID, leaf 23H, subleaf 1" {
        bits fixed(0, 32) = "Fixed counters", "Bit n: fixed counter n exists";
    }

    /// Architectural performance monitoring extended: events that are there, by the bits of leaf 0AH EBX.
    ExtEventsEax = 0x23 . 3, Eax, Intel, source "SDM vol. 2A, CPUID, leaf 23H, subleaf 3" {
        bits events(0, 32) = "Events", "Bit n: the architectural event of leaf 0AH EBX bit n is available";
    }

    /// Extended features.
    AmdFeatureEcx = 0x8000_0001, Ecx, Amd, source "APM vol. 3, appendix E, Fn8000_0001_ECX" {
        flag ext_apic_space(3) = "ExtApicSpace",
            "The local APIC has extended registers, that of the IBS interrupt among them";
        flag ibs(10) = "IBS", "Instruction-based sampling: leaf 8000_001BH exists";
        flag perf_ctr_ext_core(23) = "PerfCtrExtCore", "Six core counters at C001_0200H; four at C001_0000H without";
        flag perf_ctr_ext_nb(24) = "PerfCtrExtNB", "Counters of the data fabric";
        flag perf_ctr_ext_llc(28) = "PerfCtrExtLLC", "Counters of the L3 cache";
    }

    /// Extended features.
    AmdFeature8Ebx = 0x8000_0008, Ebx, Amd,
        source "APM vol. 3, appendix E, Fn8000_0008_EBX; bit 31: Linux asm/cpufeatures.h" {
        flag irperf(1) = "InstRetCntMsr", "An MSR counts retired instructions";
        flag brs(31) = "BRS", "Branch sampling of Zen 3";
    }

    /// Instruction-based sampling.
    IbsEax = 0x8000_001B, Eax, Amd,
        source "APM vol. 3, appendix E, Fn8000_001B_EAX; bit 11: Linux asm/perf_event.h" {
        flag valid(0) = "IBSFFV", "The other bits are valid";
        flag fetch(1) = "FetchSam", "Sampling of fetches";
        flag op(2) = "OpSam", "Sampling of ops";
        flag rd_wr_op_count(3) = "RdWrOpCnt", "The op counter can be written";
        flag op_count(4) = "OpCnt", "The op counter can count dispatched ops in place of cycles";
        flag branch_target(5) = "BrnTrgt", "The target of a sampled branch is there";
        flag op_count_ext(6) = "OpCntExt", "The op counter has 27 bits";
        flag rip_invalid_check(7) = "RipInvalidChk", "IBS_OP_DATA says whether the address is invalid";
        flag branch_fuse(8) = "OpBrnFuse", "IBS_OP_DATA says whether a branch was fused";
        flag fetch_ctl_ext(9) = "IbsFetchCtlExtd", "The extended fetch control exists";
        flag op_data4(10) = "IbsOpData4", "IBS_OP_DATA4 exists";
        flag l3_miss_filter(11) = "IbsL3MissFiltering",
            "Samples without a miss of the L3 can be dropped; more data sources";
    }

    /// Extended performance monitoring and debug.
    PerfMonV2Eax = 0x8000_0022, Eax, Amd, source "APM vol. 3, appendix E, Fn8000_0022_EAX" {
        flag perf_mon_v2(0) = "PerfMonV2", "Global control and status registers exist";
        flag lbr_stack(1) = "LbrStack", "The stack of branch records (LbrExtV2) exists";
        flag freeze(2) = "LbrAndPmcFreeze", "Records and counters can be frozen on a PMI";
    }

    /// Extended performance monitoring and debug: how many.
    PerfMonV2Ebx = 0x8000_0022, Ebx, Amd, source "APM vol. 3, appendix E, Fn8000_0022_EBX" {
        bits core_counters(0, 4) = "NumPerfCtrCore", "Core counters";
        bits lbr_stack_size(4, 6) = "LbrStackSize", "Branch records";
        bits nb_counters(10, 6) = "NumPerfCtrNB", "Counters of the data fabric";
        bits umc_counters(16, 6) = "NumPerfCtrUMC", "Counters of memory controllers";
    }
}

impl Word {
    /// As the manuals write it: `CPUID.0AH:EDX`, `CPUID.23H.1:EAX`, `CPUID.8000_0022H:EBX`.
    #[must_use]
    pub fn name(&self) -> String {
        let leaf = match self.leaf {
            leaf @ 0x8000_0000.. => format!("{:04X}_{:04X}", leaf >> 16, leaf & 0xFFFF),
            leaf => format!("{leaf:02X}"),
        };
        let subleaf = self.subleaf.map_or_else(String::new, |subleaf| format!(".{subleaf}"));
        format!("CPUID.{leaf}H{subleaf}:{}", self.output.name())
    }

    /// The register that a [name](Self::name) means: any case; `_`, a leading 0 of the leaf and `.0` may be left out,
    /// the register may be set in brackets behind the leaf or after a dot.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static Self> {
        let name = name.to_ascii_uppercase().replace('_', "");
        let rest = name.strip_prefix("CPUID")?.trim_start_matches(['.', ':', ' ']);
        let (place, output) = rest.rsplit_once([':', '.'])?;
        let (leaf, subleaf) = place.split_once('.').map_or((place, None), |(leaf, sub)| (leaf, Some(sub)));
        let leaf = leaf.strip_prefix("0X").unwrap_or(leaf);
        let leaf = u32::from_str_radix(leaf.strip_suffix('H').unwrap_or(leaf), 16).ok()?;
        let subleaf = subleaf.map_or(Some(0), |subleaf| subleaf.parse().ok())?;
        WORDS.iter().find(|word| {
            word.leaf == leaf && word.subleaf.unwrap_or(0) == subleaf && word.output.name() == output
        })
    }
}
