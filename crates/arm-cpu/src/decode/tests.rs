//! Which words are instructions. What they do is compared with QEMU by the oracle.

use super::select;
use crate::bus::{Access, Bus, ExternalAbort, SystemFault};
use crate::exec::{self, Operands};
use crate::register::{Identification, SystemRegister};
use disarm64::{InsnOpcode, decoder};
use disarm64_defn::InsnFeatureSet;
use proptest::prelude::*;
use soft_base::Ram;

/// A bus to choose handlers for. There is none of it.
#[derive(Debug)]
enum Nothing {}

impl Ram for Nothing {
    fn ram_page(&mut self, _gpa: u64) -> Option<u64> {
        match *self {}
    }
    fn ram_read<const N: usize>(&mut self, _position: u64) -> [u8; N] {
        match *self {}
    }
    fn ram_write<const N: usize>(&mut self, _position: u64, _bytes: [u8; N]) {
        match *self {}
    }
}

impl Bus for Nothing {
    fn mmio_read(
        &mut self,
        _address: u64,
        _data: &mut [u8],
        _access: &Access<'_>,
    ) -> Result<(), ExternalAbort> {
        match *self {}
    }
    fn mmio_write(&mut self, _address: u64, _data: &[u8], _access: &Access<'_>) -> Result<(), ExternalAbort> {
        match *self {}
    }
    fn read_system(&mut self, _register: SystemRegister, _access: &Access<'_>) -> Result<u64, SystemFault> {
        match *self {}
    }
    fn write_system(
        &mut self,
        _register: SystemRegister,
        _value: u64,
        _access: &Access<'_>,
    ) -> Result<(), SystemFault> {
        match *self {}
    }
    fn hypervisor_call(
        &mut self,
        _immediate: u16,
        _registers: &mut [u64; 8],
        _access: &Access<'_>,
    ) -> Result<(), SystemFault> {
        match *self {}
    }
}

/// Whether the decoder takes a word for an instruction of the CPU.
fn is_instruction(word: u32) -> bool {
    let identification = Identification::implemented(0);
    let mut operands = Operands { word, ..Operands::default() };
    let code = select::<Nothing>(word, 0, &mut operands, &identification);
    code.is_some_and(|code| {
        let refusals: [exec::Handler<Nothing>; 2] = [exec::undefined, exec::unimplemented];
        !refusals.iter().any(|refusal| std::ptr::fn_addr_eq(code.run, *refusal))
    })
}

/// disarm64's text, with one space between mnemonic and operands.
fn text(word: u32) -> String {
    let text = decoder::decode(word).map_or_else(String::new, |opcode| opcode.to_string());
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// One of each instruction that processes data, loads or stores.
#[rustfmt::skip]
const INSTRUCTIONS: &[(u32, &str)] = &[
    (0xBA01_0007, "adcs x7, x0, x1"),
    (0x1A03_00DF, "adc wzr, w6, w3"),
    (0xFA00_0086, "sbcs x6, x4, x0"),
    (0xDA01_03E4, "sbc x4, xzr, x1"),
    (0xAB25_6400, "adds x0, x0, x5, uxtx #1"),
    (0x8B25_0046, "add x6, x2, w5, uxtb"),
    (0xEB23_CCE1, "subs x1, x7, w3, sxtw #3"),
    (0x4B3F_E423, "sub w3, w1, wzr, sxtx #1"),
    (0x315E_B0C3, "adds w3, w6, #0x7ac, lsl #12"),
    (0x916C_4C20, "add x0, x1, #0xb13, lsl #12"),
    (0x7125_C441, "subs w1, w2, #0x971"),
    (0x5116_80C3, "sub w3, w6, #0x5a0"),
    (0xAB03_8CFF, "adds xzr, x7, x3, lsl #35"),
    (0x8B9F_D8A2, "add x2, x5, xzr, asr #54"),
    (0xEB83_807F, "subs xzr, x3, x3, asr #32"),
    (0x4B03_3C64, "sub w4, w3, w3, lsl #15"),
    (0xB34C_6025, "bfm x5, x1, #12, #24"),
    (0x9367_0023, "sbfm x3, x1, #39, #0"),
    (0xD362_1823, "ubfm x3, x1, #34, #6"),
    (0xBA4C_B865, "ccmn x3, #0xc, #0x5, lt"),
    (0xFA41_E866, "ccmp x3, #0x1, #0x6, al"),
    (0xBA43_B044, "ccmn x2, x3, #0x4, lt"),
    (0x7A40_8000, "ccmp w0, w0, #0x0, hi"),
    (0x9A9F_2081, "csel x1, x4, xzr, cs"),
    (0x1A86_5442, "csinc w2, w2, w6, pl"),
    (0x5A83_E086, "csinv w6, w4, w3, al"),
    (0x5A80_B401, "csneg w1, w0, w0, lt"),
    (0x5AC0_1400, "cls w0, w0"),
    (0x5AC0_1060, "clz w0, w3"),
    (0xDAC0_00C0, "rbit x0, x6"),
    (0xDAC0_0401, "rev16 x1, x0"),
    (0xDAC0_0861, "rev32 x1, x3"),
    (0x5AC0_0845, "rev w5, w2"),
    (0xDAC0_0CA2, "rev x2, x5"),
    (0x1AC3_28E4, "asrv w4, w7, w3"),
    (0x1AC4_4066, "crc32b w6, w3, w4"),
    (0x1AC0_5022, "crc32cb w2, w1, w0"),
    (0x1AC5_54A2, "crc32ch w2, w5, w5"),
    (0x1AC2_5840, "crc32cw w0, w2, w2"),
    (0x9AC0_5C61, "crc32cx w1, w3, x0"),
    (0x1AC6_44E1, "crc32h w1, w7, w6"),
    (0x1AC1_4840, "crc32w w0, w2, w1"),
    (0x9AC5_4C42, "crc32x w2, w2, x5"),
    (0x9AC0_2003, "lslv x3, x0, x0"),
    (0x1AC2_2441, "lsrv w1, w2, w2"),
    (0x1AC0_2CC2, "rorv w2, w6, w0"),
    (0x9AC2_0C23, "sdiv x3, x1, x2"),
    (0x9AC6_08E0, "udiv x0, x7, x6"),
    (0x1B1F_07E3, "madd w3, wzr, wzr, w1"),
    (0x9B02_9C47, "msub x7, x2, x2, x7"),
    (0x9B20_08C2, "smaddl x2, w6, w0, x2"),
    (0x9B21_94C0, "smsubl x0, w6, w1, x5"),
    (0x9B47_7CC3, "smulh x3, x6, x7"),
    (0x9BA6_0803, "umaddl x3, w0, w6, x2"),
    (0x9BA6_9402, "umsubl x2, w0, w6, x5"),
    (0x9BC6_7C00, "umulh x0, x0, x6"),
    (0x93C7_2483, "extr x3, x4, x7, #9"),
    (0x08DF_FD22, "ldarb w2, [x9]"),
    (0x48DF_FD26, "ldarh w6, [x9]"),
    (0xC8DF_FD27, "ldar x7, [x9]"),
    (0x887F_8123, "ldaxp w3, w0, [x9]"),
    (0x085F_FD22, "ldaxrb w2, [x9]"),
    (0x485F_FD24, "ldaxrh w4, [x9]"),
    (0xC85F_FD21, "ldaxr x1, [x9]"),
    (0x887F_0525, "ldxp w5, w1, [x9]"),
    (0x085F_7D3F, "ldxrb wzr, [x9]"),
    (0x485F_7D25, "ldxrh w5, [x9]"),
    (0x885F_7D26, "ldxr w6, [x9]"),
    (0x089F_FD26, "stlrb w6, [x9]"),
    (0x489F_FD23, "stlrh w3, [x9]"),
    (0xC89F_FD20, "stlr x0, [x9]"),
    (0xC82B_8121, "stlxp w11, x1, x0, [x9]"),
    (0x080B_FD21, "stlxrb w11, w1, [x9]"),
    (0x480B_FD24, "stlxrh w11, w4, [x9]"),
    (0x880B_FD20, "stlxr w11, w0, [x9]"),
    (0x882B_0D27, "stxp w11, w7, w3, [x9]"),
    (0x080B_7D20, "stxrb w11, w0, [x9]"),
    (0x480B_7D27, "stxrh w11, w7, [x9]"),
    (0x880B_7D24, "stxr w11, w4, [x9]"),
    (0xA87C_1D21, "ldnp x1, x7, [x9, #-64]"),
    (0x2802_1D23, "stnp w3, w7, [x9, #16]"),
    (0x69F8_8D25, "ldpsw x5, x3, [x9, #-60]!"),
    (0x28F8_8D26, "ldp w6, w3, [x9], #-60"),
    (0x29BB_0920, "stp w0, w2, [x9, #-40]!"),
    (0x6943_1924, "ldpsw x4, x6, [x9, #24]"),
    (0xA97D_9D26, "ldp x6, x7, [x9, #-40]"),
    (0xA906_9920, "stp x0, x6, [x9, #104]"),
    (0x385B_7525, "ldrb w5, [x9], #-73"),
    (0x7842_AD23, "ldrh w3, [x9, #42]!"),
    (0x38D9_8521, "ldrsb w1, [x9], #-104"),
    (0x7882_0525, "ldrsh x5, [x9], #32"),
    (0xB896_1525, "ldrsw x5, [x9], #-159"),
    (0xF846_5D23, "ldr x3, [x9, #101]!"),
    (0x3804_E53F, "strb wzr, [x9], #78"),
    (0x781E_9D27, "strh w7, [x9, #-23]!"),
    (0xF812_6D27, "str x7, [x9, #-218]!"),
    (0x3940_6925, "ldrb w5, [x9, #0x1a]"),
    (0x7940_0521, "ldrh w1, [x9, #0x2]"),
    (0x39C0_1524, "ldrsb w4, [x9, #0x5]"),
    (0x7980_4122, "ldrsh x2, [x9, #0x20]"),
    (0xB980_7920, "ldrsw x0, [x9, #0x78]"),
    (0xB940_4D3F, "ldr wzr, [x9, #0x4c]"),
    (0xF980_5D21, "prfm pldl1strm, [x9, #0xb8]"),
    (0x3900_753F, "strb wzr, [x9, #0x1d]"),
    (0x7900_0922, "strh w2, [x9, #0x4]"),
    (0xB900_4920, "str w0, [x9, #0x48]"),
    (0x386A_7927, "ldrb w7, [x9, x10, lsl #0]"),
    (0x786A_7926, "ldrh w6, [x9, x10, lsl #1]"),
    (0x38AA_F924, "ldrsb x4, [x9, x10, sxtx #0]"),
    (0x78AA_E920, "ldrsh x0, [x9, x10, sxtx]"),
    (0xB8AA_F924, "ldrsw x4, [x9, x10, sxtx #2]"),
    (0xB86A_6921, "ldr w1, [x9, x10]"),
    (0xF8AA_4922, "prfm pldl2keep, [x9, w10, uxtw]"),
    (0x382A_7924, "strb w4, [x9, x10, lsl #0]"),
    (0x782A_4926, "strh w6, [x9, w10, uxtw]"),
    (0xF82A_7927, "str x7, [x9, x10, lsl #3]"),
    (0x384D_0920, "ldtrb w0, [x9, #208]"),
    (0x7858_2923, "ldtrh w3, [x9, #-126]"),
    (0x3884_5925, "ldtrsb x5, [x9, #69]"),
    (0x78DE_5924, "ldtrsh w4, [x9, #-27]"),
    (0xB895_793F, "ldtrsw xzr, [x9, #-169]"),
    (0xB85F_7927, "ldtr w7, [x9, #-9]"),
    (0x3804_B922, "sttrb w2, [x9, #75]"),
    (0x7801_C922, "sttrh w2, [x9, #28]"),
    (0xF808_0925, "sttr x5, [x9, #128]"),
    (0x3844_2124, "ldurb w4, [x9, #66]"),
    (0x7844_0122, "ldurh w2, [x9, #64]"),
    (0x388B_A120, "ldursb x0, [x9, #186]"),
    (0x7880_C13F, "ldursh xzr, [x9, #12]"),
    (0xB884_2125, "ldursw x5, [x9, #66]"),
    (0xB851_D120, "ldur w0, [x9, #-227]"),
    (0xF881_4127, "prfum #0x7, [x9, #20]"),
    (0x381C_B121, "sturb w1, [x9, #-53]"),
    (0x7809_4125, "sturh w5, [x9, #148]"),
    (0xF804_913F, "stur xzr, [x9, #73]"),
    (0xF279_4843, "ands x3, x2, #0x3ffff80"),
    (0x9235_C040, "and x0, x2, #0x808080808080808"),
    (0x5218_B063, "eor w3, w3, #0xff1fff1f"),
    (0xB252_4C02, "orr x2, x0, #0xffffc00000000003"),
    (0xEA80_F0E1, "ands x1, x7, x0, asr #60"),
    (0x0AC3_7821, "and w1, w1, w3, ror #30"),
    (0xEA23_5080, "bics x0, x4, x3, lsl #20"),
    (0x0A21_5424, "bic w4, w1, w1, lsl #21"),
    (0xCA25_6862, "eon x2, x3, x5, lsl #26"),
    (0x4A82_5863, "eor w3, w3, w2, asr #22"),
    (0xAA22_243F, "orn xzr, x1, x2, lsl #9"),
    (0x2AC2_4FE5, "orr w5, wzr, w2, ror #19"),
    (0xF2E1_6C47, "movk x7, #0xb62, lsl #0x30"),
    (0x1294_0022, "movn w2, #0xa001, lsl #0x0"),
    (0x52B0_6846, "movz w6, #0x8342, lsl #0x10"),
    (0xF076_8001, "adrp x1, 0xed003000"),
    (0x1079_F4DF, "adr xzr, 0xf3e98"),
    (0xF8AA_E93F, "rprfm #0x37, x10, [x9]"),
];

/// One with reserved fields of each that disarm64 takes nevertheless: Cortex-A57 of QEMU refuses them.
#[rustfmt::skip]
const UNALLOCATED: &[u32] = &[
    0xAB21_3C07, // ADDS_Rd_Rn_SP_Rm_EXT
    0x0B24_7440, // ADD_Rd_SP_Rn_SP_Rm_EXT
    0xEB3F_3801, // SUBS_Rd_Rn_SP_Rm_EXT
    0xCB20_FC80, // SUB_Rd_SP_Rn_SP_Rm_EXT
    0xB1C4_2C41, // ADDS_Rd_Rn_SP_AIMM
    0x119D_F004, // ADD_Rd_SP_Rn_SP_AIMM
    0x71D6_EC20, // SUBS_Rd_Rn_SP_AIMM
    0xD1E0_A022, // SUB_Rd_SP_Rn_SP_AIMM
    0x2BC7_F024, // ADDS_Rd_Rn_Rm_SFT
    0x8BC0_A000, // ADD_Rd_Rn_Rm_SFT
    0xEBC3_F025, // SUBS_Rd_Rn_Rm_SFT
    0xCBC2_8067, // SUB_Rd_Rn_Rm_SFT
    0xB333_5024, // BFM_Rd_Rn_IMMR_IMMS
    0x9338_A4C2, // SBFM_Rd_Rn_IMMR_IMMS
    0xD30D_5066, // UBFM_Rd_Rn_IMMR_IMMS
    0x13C6_EC63, // EXTR_Rd_Rn_Rm_IMMS
    0x386A_8927, // LDRB_Rt_ADDR_REGOFF
    0x786A_3924, // LDRH_Rt_ADDR_REGOFF
    0x38EA_B926, // LDRSB_Rt_ADDR_REGOFF
    0x78EA_2925, // LDRSH_Rt_ADDR_REGOFF
    0xB8AA_3923, // LDRSW_Rt_ADDR_REGOFF
    0xB86A_A920, // LDR_Rt_ADDR_REGOFF
    0xF8AA_2921, // PRFM_PRFOP_ADDR_REGOFF
    0x382A_1920, // STRB_Rt_ADDR_REGOFF
    0x782A_2923, // STRH_Rt_ADDR_REGOFF
    0xF82A_A923, // STR_Rt_ADDR_REGOFF
    0x724A_3C66, // ANDS_Rd_Rn_LIMM
    0x1254_90E1, // AND_Rd_SP_Rn_LIMM
    0x527A_3044, // EOR_Rd_SP_Rn_LIMM
    0x324B_60C7, // ORR_Rd_SP_Rn_LIMM
    0x6A43_F822, // ANDS_Rd_Rn_Rm_SFT
    0x0A1F_ECC3, // AND_Rd_Rn_Rm_SFT
    0x6A62_B463, // BICS_Rd_Rn_Rm_SFT
    0x0A21_9842, // BIC_Rd_Rn_Rm_SFT
    0x4AFF_BC40, // EON_Rd_Rn_Rm_SFT
    0x4AC5_84C0, // EOR_Rd_Rn_Rm_SFT
    0x2AE2_AC22, // ORN_Rd_Rn_Rm_SFT
    0x2A44_F4A4, // ORR_Rd_Rn_Rm_SFT
    0x72DD_48A6, // MOVK_Rd_HALF
    0x12DA_E004, // MOVN_Rd_HALF
    0x52FA_47FF, // MOVZ_Rd_HALF
    // SMC, HLT, DCPS1 and DRPS; an SVC, an HVC and a BRK with reserved bits; ERET with a register.
    0xD400_0003, 0xD440_0000, 0xD4A0_0001, 0xD6BF_03E0, 0xD400_0005, 0xD400_0012, 0xD420_0001, 0xD69F_0000,
    // BR and RET with reserved bits; BRAA and RETAA; BC.cond.
    0xD61F_0001, 0xD65F_03C1, 0xD71F_0800, 0xD65F_0BFF, 0x5400_0010,
    // SYS and SYSL of nothing; MSR UAO and PAN; a barrier that is none; WFET.
    0xD50B_7D20, 0xD528_0000, 0xD500_407F, 0xD500_419F, 0xD503_30FF, 0xD503_1000,
    // Atomics, pointer authentication, CFINV and RCPC are not announced; LDAPR, LDADD, PACIA, XPACI.
    0x38BF_C020, 0x38E0_0020, 0xDAC1_0000, 0xDAC1_43E0, 0xD500_401F,
];

#[test]
fn every_instruction_is_taken() {
    for (word, assembly) in INSTRUCTIONS {
        assert_eq!(text(*word), *assembly, "{word:#010x}");
        assert!(is_instruction(*word), "{word:#010x} {assembly}");
    }
    // NOP, YIELD, WFE, WFI, SEV, PACIASP as a hint; CLREX, DSB, DMB, ISB; MSR SPSel, DAIFSet, DAIFClr; SVC, HVC, BRK;
    // B, BL, B.EQ, CBZ, TBNZ, BR, BLR, RET, ERET; ADR; LDR of a literal; MRS, MSR; DC ZVA, IC IVAU, TLBI, AT.
    let others = [
        0xD503_201F,
        0xD503_203F,
        0xD503_205F,
        0xD503_207F,
        0xD503_209F,
        0xD503_233F,
        0xD503_3F5F,
        0xD503_3F9F,
        0xD503_3BBF,
        0xD503_3FDF,
        0xD500_41BF,
        0xD503_42DF,
        0xD503_42FF,
        0xD400_0001,
        0xD400_0002,
        0xD420_0000,
        0x1400_0000,
        0x9400_0000,
        0x5400_0000,
        0x3400_0000,
        0x3700_0000,
        0xD61F_0000,
        0xD63F_0000,
        0xD65F_03C0,
        0xD69F_03E0,
        0x1000_0000,
        0x5800_0000,
        0xD53B_9C00,
        0xD51B_9C00,
        0xD50B_7420,
        0xD50B_7520,
        0xD508_871F,
        0xD508_7800,
    ];
    for word in others {
        assert!(is_instruction(word), "{word:#010x} {}", text(word));
    }
}

#[test]
fn reserved_encodings_are_refused() {
    for word in UNALLOCATED {
        assert!(!is_instruction(*word), "{word:#010x} {}", text(*word));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Nothing is taken for an instruction that disarm64 does not know, or that has operands without a meaning.
    #[test]
    fn what_disarm64_cannot_spell_is_refused(word: u32) {
        let Some(opcode) = decoder::decode(word) else {
            prop_assert!(!is_instruction(word) || super::system::is_system(word));
            return Ok(());
        };
        let base = opcode.definition().feature_set == InsnFeatureSet::V8;
        if base && !super::system::is_system(word) && text(word).contains("<undefined>") {
            prop_assert!(!is_instruction(word), "{} {:#010x}", text(word), word);
        }
    }
}
