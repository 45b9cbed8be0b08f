//! The tables in `docs/oracle.md`.
#![allow(missing_docs)]

const PAGE: &str = include_str!("../../../docs/oracle.md");

fn between(first: &str, last: &str) -> Option<&'static str> {
    let (_, rest) = PAGE.split_once(first)?;
    rest.split_once(last).map(|(table, _)| table)
}

#[test]
fn the_page_shows_the_table_of_masks() {
    let table = between("<!-- masks: cargo xtask oracle --masks -->\n", "<!-- end of masks -->");
    assert_eq!(table, Some(oracle::masks::markdown().as_str()), "paste: cargo xtask oracle --masks");
}

#[test]
fn the_page_shows_the_table_of_rules() {
    let table = between("<!-- rules: cargo xtask oracle --rules -->\n", "<!-- end of rules -->");
    assert_eq!(table, Some(soft_cpu::silicon::markdown().as_str()), "paste: cargo xtask oracle --rules");
}
