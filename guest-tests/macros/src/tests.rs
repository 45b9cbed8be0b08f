use quote::quote;

use super::*;

#[test]
fn words_become_bits() {
    let set = needs(quote!(needs(metrics, full_width))).unwrap();
    assert_eq!(set, Needs::METRICS | Needs::FULL_WIDTH);
    assert_eq!(needs(quote!()).unwrap(), Needs::default());
}

#[test]
fn an_unknown_word_is_refused_with_the_known_ones() {
    let message = needs(quote!(needs(metrics, l2))).unwrap_err().to_string();
    assert!(message.starts_with("unknown need `l2`"), "{message}");
    for name in ["pmu", "streamlined_freeze", "perfmon_v2"] {
        assert!(message.contains(name), "{message}");
    }
    assert!(needs(quote!(needs(METRICS))).is_err(), "words are lower case");
}

#[test]
fn other_arguments_are_refused() {
    let message = needs(quote!(requires(metrics))).unwrap_err().to_string();
    assert_eq!(message, "expected `needs(...)`");
}

#[test]
fn the_summary_is_the_first_doc_line() {
    let function: ItemFn = syn::parse_quote! {
        /// GLOBAL_CTRL keeps what was written.
        /// Second line.
        #[inline]
        fn test() {}
    };
    assert_eq!(summary(&function.attrs), "GLOBAL_CTRL keeps what was written.");
}

#[test]
fn a_function_with_arguments_is_refused() {
    let message = expand(
        quote!(),
        quote!(
            fn test(value: u8) {}
        ),
    )
    .unwrap_err()
    .to_string();
    assert!(message.contains("without arguments"), "{message}");
}
