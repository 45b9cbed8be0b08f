//! Tables of facts about registers, each of which becomes a test of its own.

/// Makes tests of a table:
///
/// ```ignore
/// checks! {
///     "IA32_PMC" [0 1 2 3] @ 0xC1 {
///         "exists" => |r| r.exists(r.n < r.cpu.general);
///     }
///     "IA32_DEBUGCTL" - @ 0x1D9 {
///         "reset" => |r| r.resets_to(0);
///     }
/// }
/// ```
///
/// makes the tests `IA32_PMC0.exists` to `IA32_PMC3.exists` and `IA32_DEBUGCTL.reset`. What a check is given is the
/// `Register` in scope: `Register::new(address, n)` with the address of the row, a literal or a name, and the number in
/// brackets, or 0 without any. All of them need `Register::NEEDS`.
#[macro_export]
macro_rules! checks {
    (@test $name:expr, $n:expr, $address:expr, $check:expr) => {
        const _: () = {
            #[used]
            #[unsafe(link_section = ".guest_tests")]
            static TEST: $crate::Test = $crate::Test::new(
                $name,
                ::core::file!(),
                ::core::line!(),
                $name,
                Register::NEEDS,
                || {
                    let check: fn(&Register) = $check;
                    check(&Register::new($address, $n));
                },
            );
        };
    };
    (@row $name:literal - $address:tt { $($what:literal => $check:expr;)* }) => {
        $($crate::checks!(@test concat!($name, ".", $what), 0, $address, $check);)*
    };
    (@row $name:literal [$($n:literal)*] $address:tt $body:tt) => {
        $($crate::checks!(@instance $name $n $address $body);)*
    };
    (@instance $name:literal $n:literal $address:tt { $($what:literal => $check:expr;)* }) => {
        $($crate::checks!(@test concat!($name, $n, ".", $what), $n, $address, $check);)*
    };
    ($($name:literal $instances:tt @ $address:tt $body:tt)*) => {
        $($crate::checks!(@row $name $instances $address $body);)*
    };
}
