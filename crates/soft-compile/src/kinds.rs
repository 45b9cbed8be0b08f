//! Which vector instructions are compiled, and what they need.
//!
//! Not compiled are those whose results differ among CPUs (estimates, dot products), those that access memory by
//! element (gathers, scatters), what works on MMX, and floats of 16 bits.

use iced_x86::{Instruction, Mnemonic as M, OpKind};

/// What an instruction needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It works on bits and integers.
    Integers,
    /// It looks at MXCSR, or changes it.
    Floats,
    /// It does too, and belongs to AVX-512, where the interpreter, whose results hold on every host, has been compared
    /// with Intel's CPUs only.
    IntelFloats,
}

/// None: it is no vector instruction that is compiled.
pub(crate) fn kind(instruction: &Instruction) -> Option<Kind> {
    let vector = |n| {
        let register = instruction.op_register(n);
        instruction.op_kind(n) == OpKind::Register && (register.is_vector_register() || register.is_k())
    };
    if matches!(instruction.mnemonic(), M::Stmxcsr | M::Vstmxcsr) {
        return Some(Kind::Floats);
    }
    // MOVSD and CMPSD are string instructions too.
    let string = |n| !matches!(instruction.op_kind(n), OpKind::Register | OpKind::Memory);
    if matches!(instruction.mnemonic(), M::Vzeroupper | M::Vzeroall) {
        return Some(Kind::Integers);
    }
    if !(0..instruction.op_count()).any(vector) || string(0) {
        return None;
    }
    of(instruction.mnemonic())
}

/// Mnemonics of SSE, of SSE and AVX (whose name is the same behind a V), and of AVX.
macro_rules! kinds {
    ($(
        $kind:ident: sse [$($sse:ident)*] both [$($both:ident)*] avx [$($avx:ident)*]
    )*) => {
        pastey::paste! {
            fn of(mnemonic: M) -> Option<Kind> {
                Some(match mnemonic {
                    $(
                        $(M::$sse => Kind::$kind,)*
                        $(M::$both | M::[<V $both:lower>] => Kind::$kind,)*
                        $(M::$avx => Kind::$kind,)*
                    )*
                    _ => return None,
                })
            }
        }
    };
}

kinds! {
    Integers:
        sse [
            Sha1rnds4 Sha1nexte Sha1msg1 Sha1msg2 Sha256rnds2 Sha256msg1 Sha256msg2
        ]
        both [
            Movaps Movapd Movups Movupd Movdqa Movdqu Lddqu Movss Movsd Movd Movq Movlps Movhps Movlpd Movhpd
            Movhlps Movlhps Movmskps Movmskpd Pmovmskb Movddup Movshdup Movsldup Movntdq Movntps Movntpd Andps
            Andpd Andnps Andnpd Orps Orpd Xorps Xorpd Pand Pandn Por Pxor Paddb Paddw Paddd Paddq Psubb Psubw
            Psubd Psubq Paddsb Paddsw Paddusb Paddusw Psubsb Psubsw Psubusb Psubusw Pmullw Pmulhw Pmulhuw
            Pmuludq Pmaddwd Psadbw Pavgb Pavgw Pmaxub Pmaxsw Pminub Pminsw Pcmpeqb Pcmpeqw Pcmpeqd Pcmpgtb
            Pcmpgtw Pcmpgtd Psllw Pslld Psllq Psrlw Psrld Psrlq Psraw Psrad Pslldq Psrldq Packsswb Packssdw
            Packuswb Punpcklbw Punpcklwd Punpckldq Punpcklqdq Punpckhbw Punpckhwd Punpckhdq Punpckhqdq Unpcklps
            Unpcklpd Unpckhps Unpckhpd Pshufd Pshuflw Pshufhw Shufps Shufpd Pinsrw Pextrw Pshufb Palignr Pabsb
            Pabsw Pabsd Pmaddubsw Pmulhrsw Phaddw Phaddd Phaddsw Phsubw Phsubd Phsubsw Psignb Psignw Psignd
            Pinsrb Pinsrd Pinsrq Pextrb Pextrd Pextrq Insertps Extractps Blendps Blendpd Pblendw Pblendvb
            Blendvps Blendvpd Ptest Pmaxsb Pmaxsd Pmaxuw Pmaxud Pminsb Pminsd Pminuw Pminud Pmovsxbw Pmovsxbd
            Pmovsxbq Pmovsxwd Pmovsxwq Pmovsxdq Pmovzxbw Pmovzxbd Pmovzxbq Pmovzxwd Pmovzxwq Pmovzxdq Pmuldq
            Pmulld Pcmpeqq Pcmpgtq Packusdw Phminposuw Aesenc Aesenclast Aesdec Aesdeclast Aesimc
            Aeskeygenassist Pclmulqdq Movntdqa Mpsadbw Gf2p8affineqb Gf2p8affineinvqb Gf2p8mulb
        ]
        avx [
            Vzeroupper Vzeroall Vbroadcastss Vbroadcastsd Vbroadcastf128 Vbroadcasti128 Vinsertf128 Vinserti128
            Vextractf128 Vextracti128 Vperm2f128 Vperm2i128 Vpermilps Vpermilpd Vpermq Vpermpd Vpermd Vpermps
            Vpblendd Vpbroadcastb Vpbroadcastw Vpbroadcastd Vpbroadcastq Vpsllvd Vpsllvq Vpsrlvd Vpsrlvq Vpsravd
            Vtestps Vtestpd Vmaskmovps Vmaskmovpd Vpmaskmovd Vpmaskmovq Vmovdqa32 Vmovdqa64 Vmovdqu8 Vmovdqu16
            Vmovdqu32 Vmovdqu64 Vpandd Vpandq Vpandnd Vpandnq Vpord Vporq Vpxord Vpxorq Vpternlogd Vpternlogq
            Vptestmb Vptestmw Vptestmd Vptestmq Vptestnmb Vptestnmw Vptestnmd Vptestnmq Vpcmpb Vpcmpub Vpcmpw
            Vpcmpuw Vpcmpd Vpcmpud Vpcmpq Vpcmpuq Vpminsq Vpminuq Vpmaxsq Vpmaxuq Vpabsq Vpmullq Vpsraq Vpsravq
            Vpsllvw Vpsrlvw Vpsravw Vprold Vprolq Vprord Vprorq Vprolvd Vprolvq Vprorvd Vprorvq Vpblendmb
            Vpblendmw Vpblendmd Vpblendmq Vblendmps Vblendmpd Valignd Valignq Vpermb Vpermw Vpermi2b Vpermi2w
            Vpermi2d Vpermi2q Vpermi2ps Vpermi2pd Vpermt2b Vpermt2w Vpermt2d Vpermt2q Vpermt2ps Vpermt2pd
            Vbroadcastf32x2 Vbroadcastf32x4 Vbroadcastf64x2 Vbroadcastf32x8 Vbroadcastf64x4 Vbroadcasti32x2
            Vbroadcasti32x4 Vbroadcasti64x2 Vbroadcasti32x8 Vbroadcasti64x4 Vinsertf32x4 Vinsertf64x2
            Vinsertf32x8 Vinsertf64x4 Vinserti32x4 Vinserti64x2 Vinserti32x8 Vinserti64x4 Vextractf32x4
            Vextractf64x2 Vextractf32x8 Vextractf64x4 Vextracti32x4 Vextracti64x2 Vextracti32x8 Vextracti64x4
            Vshuff32x4 Vshuff64x2 Vshufi32x4 Vshufi64x2 Vpmovm2b Vpmovm2w Vpmovm2d Vpmovm2q Vpmovb2m Vpmovw2m
            Vpmovd2m Vpmovq2m Vpmovwb Vpmovdb Vpmovdw Vpmovqb Vpmovqw Vpmovqd Vpbroadcastmb2q Vpbroadcastmw2d
            Vplzcntd Vplzcntq Vpopcntb Vpopcntw Vpopcntd Vpopcntq Vpconflictd Vpconflictq Vpmadd52luq
            Vpmadd52huq Vpdpbusd Vpdpbusds Vpdpwssd Vpdpwssds Vpshldd Vpshldq Vpshldw Vpshrdd Vpshrdq Vpshrdw
            Vpshufbitqmb Vpmultishiftqb Vdbpsadbw Kmovb Kmovw Kmovd Kmovq Kandb Kandw Kandd Kandq Kandnb Kandnw
            Kandnd Kandnq Korb Korw Kord Korq Kxorb Kxorw Kxord Kxorq Kxnorb Kxnorw Kxnord Kxnorq Knotb Knotw
            Knotd Knotq Kaddb Kaddw Kaddd Kaddq Kshiftlb Kshiftlw Kshiftld Kshiftlq Kshiftrb Kshiftrw Kshiftrd
            Kshiftrq Kunpckbw Kunpckwd Kunpckdq Kortestb Kortestw Kortestd Kortestq Ktestb Ktestw Ktestd Ktestq
        ]
    Floats:
        sse []
        both [
            Addps Addpd Addss Addsd Subps Subpd Subss Subsd Mulps Mulpd Mulss Mulsd Divps Divpd Divss Divsd
            Sqrtps Sqrtpd Sqrtss Sqrtsd Maxps Maxpd Maxss Maxsd Minps Minpd Minss Minsd Cmpps Cmppd Cmpss Cmpsd
            Comiss Comisd Ucomiss Ucomisd Cvtdq2ps Cvtdq2pd Cvtps2dq Cvtpd2dq Cvttps2dq Cvttpd2dq Cvtps2pd
            Cvtpd2ps Cvtss2sd Cvtsd2ss Cvtsi2ss Cvtsi2sd Cvtss2si Cvtsd2si Cvttss2si Cvttsd2si Addsubps Addsubpd
            Haddps Haddpd Hsubps Hsubpd Roundps Roundpd Roundss Roundsd
        ]
        avx [
            Vfmadd132ps Vfmadd132pd Vfmadd132ss Vfmadd132sd Vfmadd213ps Vfmadd213pd Vfmadd213ss Vfmadd213sd
            Vfmadd231ps Vfmadd231pd Vfmadd231ss Vfmadd231sd Vfmsub132ps Vfmsub132pd Vfmsub132ss Vfmsub132sd
            Vfmsub213ps Vfmsub213pd Vfmsub213ss Vfmsub213sd Vfmsub231ps Vfmsub231pd Vfmsub231ss Vfmsub231sd
            Vfnmadd132ps Vfnmadd132pd Vfnmadd132ss Vfnmadd132sd Vfnmadd213ps Vfnmadd213pd Vfnmadd213ss
            Vfnmadd213sd Vfnmadd231ps Vfnmadd231pd Vfnmadd231ss Vfnmadd231sd Vfnmsub132ps Vfnmsub132pd
            Vfnmsub132ss Vfnmsub132sd Vfnmsub213ps Vfnmsub213pd Vfnmsub213ss Vfnmsub213sd Vfnmsub231ps
            Vfnmsub231pd Vfnmsub231ss Vfnmsub231sd Vfmaddsub132ps Vfmaddsub132pd Vfmaddsub213ps Vfmaddsub213pd
            Vfmaddsub231ps Vfmaddsub231pd Vfmsubadd132ps Vfmsubadd132pd Vfmsubadd213ps Vfmsubadd213pd
            Vfmsubadd231ps Vfmsubadd231pd Vcvtph2ps Vcvtps2ph
        ]
    IntelFloats:
        sse []
        both []
        avx [
            Vrndscaleps Vrndscalepd Vrndscaless Vrndscalesd Vscalefps Vscalefpd Vscalefss Vscalefsd Vgetexpps
            Vgetexppd Vgetexpss Vgetexpsd Vgetmantps Vgetmantpd Vgetmantss Vgetmantsd Vreduceps Vreducepd
            Vreducess Vreducesd Vrangeps Vrangepd Vrangess Vrangesd Vfixupimmps Vfixupimmpd Vfixupimmss
            Vfixupimmsd Vfpclassps Vfpclasspd Vfpclassss Vfpclasssd Vcvtps2udq Vcvttps2udq Vcvtpd2udq
            Vcvttpd2udq Vcvtudq2ps Vcvtudq2pd Vcvtps2qq Vcvttps2qq Vcvtps2uqq Vcvttps2uqq Vcvtpd2qq Vcvttpd2qq
            Vcvtpd2uqq Vcvttpd2uqq Vcvtqq2ps Vcvtqq2pd Vcvtuqq2ps Vcvtuqq2pd Vcvtss2usi Vcvtsd2usi Vcvttss2usi
            Vcvttsd2usi Vcvtusi2ss Vcvtusi2sd
        ]
}
