//! Checks for tests.

use core::fmt;

use crate::{Text, machine};

/// Fails the test unless the condition holds. With a format string, says that instead of the
/// condition's source text.
#[macro_export]
macro_rules! check {
    ($condition:expr $(,)?) => {
        if !$condition {
            $crate::fail(::core::format_args!("{}", ::core::concat!("not true: ", ::core::stringify!($condition))));
        }
    };
    ($condition:expr, $($arguments:tt)+) => {
        if !$condition {
            $crate::fail(::core::format_args!($($arguments)+));
        }
    };
}

/// Fails the test unless both are equal; prints integers in decimal and hexadecimal. A format
/// string may follow, to say what was compared.
#[macro_export]
macro_rules! check_eq {
    ($left:expr, $right:expr $(,)?) => {
        $crate::check_eq!($left, $right, "{} == {}", ::core::stringify!($left), ::core::stringify!($right))
    };
    ($left:expr, $right:expr, $($arguments:tt)+) => {
        match (&$left, &$right) {
            (left, right) => {
                if *left != *right {
                    use $crate::check::Show as _;
                    $crate::fail(::core::format_args!(
                        "{}: left is {}, right is {}",
                        ::core::format_args!($($arguments)+), left.show(), right.show()
                    ));
                }
            }
        }
    };
}

/// Ends the test as skipped, with a format string that says why. For what `needs(...)` has no word.
#[macro_export]
macro_rules! skip {
    ($($arguments:tt)+) => { $crate::skip(::core::format_args!($($arguments)+)) };
}

/// How [`check_eq!`](crate::check_eq) prints a value.
pub trait Show {
    /// The value, ready to be printed.
    fn show(&self) -> impl fmt::Display;
}

macro_rules! show_integers {
    ($($integer:ty)*) => { $(
        impl Show for $integer {
            fn show(&self) -> impl fmt::Display {
                Integer(*self)
            }
        }
    )* };
}
show_integers!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize);

struct Integer<T>(T);

impl<T: fmt::Display + fmt::LowerHex> fmt::Display for Integer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{0} ({0:#x})", self.0)
    }
}

struct Plain<'a, T: ?Sized>(&'a T);

impl<T: fmt::Debug + ?Sized> fmt::Display for Plain<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// Something that contains integers.
struct Both<'a, T: ?Sized>(&'a T);

impl<T: fmt::Debug + ?Sized> fmt::Display for Both<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimal = Text::<256>::format(format_args!("{:?}", self.0));
        let hexadecimal = Text::<256>::format(format_args!("{:x?}", self.0));
        f.write_str(decimal.as_str())?;
        if decimal.as_str() != hexadecimal.as_str() {
            write!(f, " (hex: {:x?})", self.0)?;
        }
        Ok(())
    }
}

macro_rules! show_debug {
    ($how:ident: $([$($generics:tt)*] $shown:ty;)*) => { $(
        impl<$($generics)*> Show for $shown {
            fn show(&self) -> impl fmt::Display {
                $how(self)
            }
        }
    )* };
}
show_debug! { Plain:
    [] bool;
    [] str;
    [] char;
}
show_debug! { Both:
    [T: fmt::Debug] [T];
    [T: fmt::Debug, const N: usize] [T; N];
    [T: fmt::Debug] Option<T>;
    [T: fmt::Debug, E: fmt::Debug] Result<T, E>;
    [A: fmt::Debug, B: fmt::Debug] (A, B);
    [A: fmt::Debug, B: fmt::Debug, C: fmt::Debug] (A, B, C);
    [] machine::Exception;
    [] machine::Fault;
}

#[cfg(target_arch = "x86_64")]
show_debug! { Both: [] machine::cpu::Cpuid; }

impl<T: Show + ?Sized> Show for &T {
    fn show(&self) -> impl fmt::Display {
        (**self).show()
    }
}
