//! The `guest_test` attribute.

#![forbid(unsafe_code)]

use guest_protocol::{Needs, TEST_SECTION};
use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use quote::{quote, quote_spanned};
use syn::{
    Attribute, Error, Expr, ExprLit, Ident, ItemFn, Lit, Meta, ReturnType, Token, punctuated::Punctuated,
};

/// Makes a function a test of the image: `#[guest_test]`, or `#[guest_test(needs(metrics, exact))]`
/// if it only makes sense on some machines.
///
/// The function takes nothing and returns nothing; it fails by a failed check, a panic or an
/// exception. The first line of its doc comment is the summary that listings show. The words of
/// `needs` are the [words](guest_protocol::Needs::words) of [`guest_protocol::Needs`].
#[proc_macro_attribute]
pub fn guest_test(arguments: TokenStream, item: TokenStream) -> TokenStream {
    expand(arguments.into(), item.into()).unwrap_or_else(Error::into_compile_error).into()
}

fn expand(arguments: Tokens, item: Tokens) -> syn::Result<Tokens> {
    let needs = needs(arguments)?.bits();
    let function: ItemFn = syn::parse2(item)?;
    let signature = &function.sig;
    let plain = signature.inputs.is_empty()
        && matches!(signature.output, ReturnType::Default)
        && signature.generics.params.is_empty()
        && signature.asyncness.is_none()
        && signature.constness.is_none();
    if !plain {
        return Err(Error::new_spanned(
            signature,
            "a guest test is a plain `fn name()`, without arguments or result",
        ));
    }
    let ident = &signature.ident;
    let name = ident.to_string();
    let summary = summary(&function.attrs);
    // `line!()` with the span of the name gives the line of the function, not of the attribute.
    let line = quote_spanned!(ident.span()=> ::core::line!());
    Ok(quote! {
        #function

        const _: () = {
            #[used]
            #[unsafe(link_section = #TEST_SECTION)]
            static TEST: ::guest_runtime::Test = ::guest_runtime::Test::new(
                #name,
                ::core::file!(),
                #line,
                #summary,
                ::guest_runtime::protocol::Needs::from_bits_retain(#needs),
                #ident,
            );
        };
    })
}

/// The set that `needs(a, b)` names; empty without arguments.
fn needs(arguments: Tokens) -> syn::Result<Needs> {
    if arguments.is_empty() {
        return Ok(Needs::default());
    }
    let list = match syn::parse2::<Meta>(arguments)? {
        Meta::List(list) if list.path.is_ident("needs") => list,
        other => return Err(Error::new_spanned(other, "expected `needs(...)`")),
    };
    let words = list.parse_args_with(Punctuated::<Ident, Token![,]>::parse_terminated)?;
    words.iter().try_fold(Needs::default(), |set, word| {
        Needs::named(&word.to_string()).map(|need| set | need).ok_or_else(|| {
            let valid = Needs::all().words().map(|word| word.to_string()).collect::<Vec<_>>().join(", ");
            Error::new_spanned(word, format!("unknown need `{word}`; there are: {valid}"))
        })
    })
}

/// First line of the doc comment.
fn summary(attributes: &[Attribute]) -> String {
    attributes
        .iter()
        .find_map(|attribute| match &attribute.meta {
            Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
                Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value().trim().to_owned()),
                _ => None,
            },
            _ => None,
        })
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
