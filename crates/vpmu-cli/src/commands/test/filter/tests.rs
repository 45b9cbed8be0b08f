//! The language of filter expressions.

use super::*;

struct Test(&'static str, &'static str, &'static str, &'static [&'static str]);

impl Subject for Test {
    fn values(&self, property: Property) -> Vec<&str> {
        match property {
            Property::Test => vec![self.0],
            Property::Image | Property::Area => vec![self.0.split('@').next().unwrap()],
            Property::Group => self.3.to_vec(),
            Property::Profile => vec![self.1],
            Property::Engine => vec![self.2],
            Property::Detail => vec![],
        }
    }
}

const TESTS: [Test; 4] = [
    Test("lbr@icelake-sp/soft", "icelake-sp", "soft", &["branches"]),
    Test("lbr@sapphire-rapids/kvm", "sapphire-rapids", "kvm", &["branches"]),
    Test("metrics@sapphire-rapids/soft", "sapphire-rapids", "soft", &[]),
    Test("a)b/c@zen4/soft", "zen4", "soft", &["odd", "amd"]),
];

/// Indices of the tests that an expression selects.
fn select(text: &str) -> Vec<usize> {
    let filter = Filter::parse(text).unwrap();
    (0..TESTS.len()).filter(|n| filter.matches(&TESTS[*n])).collect()
}

fn error(text: &str) -> String {
    Filter::parse(text).unwrap_err().to_string()
}

#[test]
fn predicates_look_at_their_property() {
    assert_eq!(select("image(lbr)"), [0, 1]);
    assert_eq!(select("profile(sapphire-rapids)"), [1, 2]);
    assert_eq!(select("engine(kvm)"), [1]);
    assert_eq!(select("group(amd)"), [3]);
    assert_eq!(select("detail(counts)"), [] as [usize; 0]);
    assert_eq!(select("all()"), [0, 1, 2, 3]);
    assert_eq!(select("none()"), [] as [usize; 0]);
}

#[test]
fn names_match_exactly_by_part_by_glob_or_by_regular_expression() {
    assert_eq!(select("test(=lbr@icelake-sp/soft)"), [0]);
    assert_eq!(select("test(lbr)"), [0, 1], "contains, for test()");
    assert_eq!(select("image(lb)"), [] as [usize; 0], "a whole name, for the others");
    assert_eq!(select("image(lb*)"), [0, 1]);
    assert_eq!(select("profile(#{icelake,zen}*)"), [0, 3]);
    assert_eq!(select("profile(~rapids)"), [1, 2]);
    assert_eq!(select("test(/^lbr.*soft$/)"), [0]);
    assert_eq!(select(r"test(/b\/c/)"), [3], "the delimiter, escaped");
    assert_eq!(select(r"test(~a\)b)"), [3]);
    assert_eq!(select("image( lbr )"), [0, 1], "blanks around a name");
}

#[test]
fn not_binds_before_and_and_before_or() {
    assert_eq!(select("image(lbr) and profile(sapphire-rapids) and not engine(kvm)"), [] as [usize; 0]);
    assert_eq!(select("engine(kvm) or image(metrics) and profile(icelake-sp)"), [1]);
    assert_eq!(select("(engine(kvm) or image(lbr)) and profile(icelake-sp)"), [0]);
    assert_eq!(select("not engine(kvm) and image(lbr)"), [0]);
    assert_eq!(select("!engine(kvm)&image(lbr)"), [0]);
    assert_eq!(select("all() - image(lbr) - profile(zen4)"), [2]);
    assert_eq!(select("image(metrics) + engine(kvm) | group(odd)"), [1, 2, 3]);
    assert_eq!(select("not(not(engine(kvm)))"), [1]);
}

#[test]
fn mistakes_are_one_line_with_a_column() {
    insta::assert_snapshot!(
        [
            "",
            "image",
            "image(",
            "image(lbr",
            "image()",
            "image(=)",
            "image(lbr) profile(x)",
            "(image(lbr)",
            "image(lbr))",
            "imag(lbr)",
            "image(lbr) and",
            "test(/(/)",
            "test(/x)",
            "test(/x/ y)",
            "image([)",
            "all(x)",
            "& image(x)",
            "frobnicate(x)",
            "bild(x) or é(y)",
            "image(x) or é(y)",
        ]
        .map(error)
        .join("\n")
    );
}

#[test]
fn nesting_is_bounded() {
    assert!(error(&"(".repeat(100_000)).contains("nested too deeply"));
    assert!(error(&"!".repeat(100_000)).contains("nested too deeply"));
}

#[test]
fn predicates_can_be_found_again() {
    let filter = Filter::parse("profile(a) or not (profile(=b) and image(c))").unwrap();
    let found: Vec<String> = filter.matchers(Property::Profile).iter().map(ToString::to_string).collect();
    assert_eq!(found, ["a", "=b"]);
}
