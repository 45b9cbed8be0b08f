//! LZCNT, BMI1, BMI2 and ADX against the host's CPU.

use super::{AF, Inputs, OF, PF, SF, ZF, cases, check};

#[test]
fn bit_manipulation() {
    let missing = ["bmi1", "bmi2", "lzcnt", "adx"].into_iter().filter(|name| match *name {
        "bmi1" => !is_x86_feature_detected!("bmi1"),
        "bmi2" => !is_x86_feature_detected!("bmi2"),
        "lzcnt" => !is_x86_feature_detected!("lzcnt"),
        _ => !is_x86_feature_detected!("adx"),
    });
    let missing: Vec<&str> = missing.collect();
    if !missing.is_empty() {
        eprintln!("skipped: the host lacks {missing:?}");
        return;
    }
    let mut list = Vec::new();
    cases! { list:
        OF | SF | PF | AF =>
            "tzcnt rax, rcx" "tzcnt eax, ecx" "tzcnt ax, cx" "tzcnt rax, [rsi]" "tzcnt ax, [rsi + 1]"
            "lzcnt rax, rcx" "lzcnt eax, ecx" "lzcnt ax, cx" "lzcnt eax, [rsi]"
            "xor ecx, ecx; lzcnt rax, rcx" "xor ecx, ecx; tzcnt ax, cx";
        AF | PF =>
            "andn rax, rcx, rdx" "andn eax, ecx, edx" "andn rax, rcx, [rsi]" "andn r8d, r9d, [rsi]"
            "blsi rax, rcx" "blsi eax, ecx" "blsi rax, [rsi]" "blsr rax, rcx" "blsr eax, ecx" "blsr eax, [rsi]"
            "blsmsk rax, rcx" "blsmsk eax, ecx" "blsmsk rax, [rsi]"
            "xor ecx, ecx; blsi rax, rcx" "xor ecx, ecx; blsr rax, rcx" "xor ecx, ecx; blsmsk eax, ecx"
            "bzhi rax, rcx, rdx" "bzhi eax, ecx, edx" "bzhi rax, [rsi], rdx"
            "and edx, 63; bzhi rax, rcx, rdx" "and edx, 63; bzhi eax, [rsi], edx";
        AF | SF | PF =>
            "bextr rax, rcx, rdx" "bextr eax, ecx, edx" "bextr rax, [rsi], rdx"
            "and edx, 0x1f3f; bextr rax, rcx, rdx" "and edx, 0x1f3f; bextr eax, [rsi], edx";
        0 =>
            "pdep rax, rcx, rdx" "pdep eax, ecx, edx" "pdep rax, rcx, [rsi]"
            "pext rax, rcx, rdx" "pext eax, ecx, edx" "pext r8d, r9d, [rsi]"
            "rorx rax, rcx, 0" "rorx rax, rcx, 77" "rorx eax, ecx, 13" "rorx eax, [rsi], 32"
            "sarx rax, rcx, rdx" "sarx eax, ecx, edx" "sarx eax, [rsi], edx"
            "shlx rax, rcx, rdx" "shlx eax, ecx, edx" "shlx rax, [rsi], r9"
            "shrx rax, rcx, rdx" "shrx eax, ecx, edx" "shrx r8, [rsi], rcx"
            "mulx rax, rcx, rbx" "mulx eax, ecx, ebx" "mulx rax, rax, [rsi]" "mulx eax, ecx, [rsi]" "mulx rax, rcx, rcx"
            "adcx rax, rcx" "adcx eax, ecx" "adcx rax, [rsi]" "adox rax, rcx" "adox eax, ecx" "adox eax, [rsi]"
            "adcx rax, rcx; adox rbx, rcx; adcx rdx, r8; adox r9, r8";
    }
    // ZF of TZCNT and LZCNT is defined, unlike that of BSF and BSR.
    assert!(list.iter().all(|case| case.undefined & ZF == 0));
    check(&list, Inputs::Integers);
}
