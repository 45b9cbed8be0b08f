//! The table in `docs/oracle.md`.
#![allow(missing_docs)]

const PAGE: &str = include_str!("../../../docs/oracle.md");

#[test]
fn the_page_shows_the_table_of_masks() {
    let table = PAGE
        .split_once("<!-- masks: cargo xtask oracle --masks -->\n")
        .and_then(|(_, rest)| rest.split_once("<!-- end of masks -->"))
        .map(|(table, _)| table);
    assert_eq!(table, Some(oracle::masks::markdown().as_str()), "paste: cargo xtask oracle --masks");
}
