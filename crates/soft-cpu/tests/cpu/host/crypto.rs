//! AES, PCLMULQDQ, SHA and GFNI against the host's CPU, without and with VEX.

use super::{Case, Inputs, assemble, check};

/// A source in a register and in memory, in the form without VEX (`two`) or with it (`three`).
macro_rules! cases {
    ($has:expr, $($form:ident $control:literal: $($name:literal)*;)*) => {
        if $has {
            let mut list = Vec::new();
            $($(
                let sources = [cases!(@ $form $name, "xmm1", $control), cases!(@ $form $name, "[rsi]", $control)];
                for bytes in sources {
                    list.push(Case { text: $name, bytes, undefined: 0 });
                }
            )*)*
            check(&list, Inputs::Integers);
        } else {
            eprintln!("skipped: the host lacks it");
        }
    };
    (@ two $name:literal, $source:literal, $control:literal) => {
        assemble!(concat!($name, " xmm0, ", $source, $control))
    };
    // All operands but implicit ones.
    (@ after $name:literal, $source:literal, $control:literal) => {
        assemble!(concat!($name, $control))
    };
    (@ three $name:literal, $source:literal, $control:literal) => {
        assemble!(concat!($name, " xmm0, xmm2, ", $source, $control))
    };
}

#[test]
fn aes() {
    cases! { is_x86_feature_detected!("aes"),
        two "": "aesenc" "aesenclast" "aesdec" "aesdeclast" "aesimc";
        two ", 0x1b": "aeskeygenassist";
    }
    cases! { is_x86_feature_detected!("aes") && is_x86_feature_detected!("avx"),
        three "": "vaesenc" "vaesenclast" "vaesdec" "vaesdeclast";
        two "": "vaesimc";
        two ", 0x36": "vaeskeygenassist";
    }
}

#[test]
fn products_of_polynomials() {
    cases! { is_x86_feature_detected!("pclmulqdq"),
        two ", 0": "pclmulqdq";
        two ", 1": "pclmulqdq";
        two ", 0x10": "pclmulqdq";
        two ", 0xff": "pclmulqdq";
    }
    cases! { is_x86_feature_detected!("pclmulqdq") && is_x86_feature_detected!("avx"),
        three ", 0x01": "vpclmulqdq";
        three ", 0x10": "vpclmulqdq";
    }
}

#[test]
fn sha() {
    cases! { is_x86_feature_detected!("sha"),
        two "": "sha1nexte" "sha1msg1" "sha1msg2" "sha256msg1" "sha256msg2";
        two ", 0": "sha1rnds4";
        two ", 1": "sha1rnds4";
        two ", 2": "sha1rnds4";
        two ", 3": "sha1rnds4";
        after "": "sha256rnds2 xmm2, xmm3" "sha256rnds2 xmm2, [rsi]";
    }
}

#[test]
fn galois_field() {
    cases! { is_x86_feature_detected!("gfni"),
        two "": "gf2p8mulb";
        two ", 0x63": "gf2p8affineqb" "gf2p8affineinvqb";
    }
    cases! { is_x86_feature_detected!("gfni") && is_x86_feature_detected!("avx"),
        three "": "vgf2p8mulb";
        three ", 0xa5": "vgf2p8affineqb" "vgf2p8affineinvqb";
    }
}

#[test]
fn sums_of_products_and_bits() {
    let avx_512 = is_x86_feature_detected!("avx512vl");
    cases! { avx_512 && is_x86_feature_detected!("avx512vnni"),
        three "": "vpdpbusd" "vpdpbusds" "vpdpwssd" "vpdpwssds";
    }
    cases! { is_x86_feature_detected!("avxvnni"),
        three "": "{{vex}} vpdpbusd" "{{vex}} vpdpbusds" "{{vex}} vpdpwssd" "{{vex}} vpdpwssds";
    }
    cases! { avx_512 && is_x86_feature_detected!("avx512ifma"),
        three "": "vpmadd52luq" "vpmadd52huq";
    }
    cases! { avx_512 && is_x86_feature_detected!("avx512vbmi"),
        three "": "vpmultishiftqb";
    }
    cases! { avx_512 && is_x86_feature_detected!("avx512vbmi2"),
        three "": "vpshldvw" "vpshldvd" "vpshldvq" "vpshrdvw" "vpshrdvd" "vpshrdvq";
        three ", 13": "vpshldw" "vpshldd" "vpshldq" "vpshrdw" "vpshrdd" "vpshrdq";
        three ", 255": "vpshldw" "vpshldd" "vpshldq" "vpshrdw" "vpshrdd" "vpshrdq";
        three ", 64": "vpshldq" "vpshrdq";
    }
    cases! { avx_512 && is_x86_feature_detected!("avx512bitalg"),
        two "": "vpopcntb" "vpopcntw" "vpopcntd" "vpopcntq";
        after "; vpmovm2b xmm3, k1": "vpshufbitqmb k1, xmm2, xmm1" "vpshufbitqmb k1, xmm2, [rsi]";
    }
}
