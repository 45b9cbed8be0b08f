//! Macros that choose a monomorphic handler by what is only known when decoding.

/// Any of the four integer widths.
macro_rules! width {
    ($size:expr, $T:ident => $e:expr) => {
        match $size {
            1 => {
                type $T = u8;
                $e
            }
            2 => {
                type $T = u16;
                $e
            }
            4 => {
                type $T = u32;
                $e
            }
            _ => {
                type $T = u64;
                $e
            }
        }
    };
}

/// 16, 32 or 64 bits.
macro_rules! word_width {
    ($size:expr, $T:ident => $e:expr) => {
        match $size {
            2 => {
                type $T = u16;
                $e
            }
            4 => {
                type $T = u32;
                $e
            }
            _ => {
                type $T = u64;
                $e
            }
        }
    };
}

/// Memory or a register operand type.
macro_rules! place {
    ($memory:expr, $Reg:ident, $P:ident => $e:expr) => {
        if $memory {
            type $P = crate::exec::operand::Mem;
            $e
        } else {
            type $P = $Reg;
            $e
        }
    };
}

/// The source of a packed operation: aligned memory or a register.
macro_rules! source {
    ($ins:expr, $S:ident => $e:expr) => {
        $crate::decode::select::source!($ins, Aligned, $S => $e)
    };
    ($ins:expr, $memory:ty, $S:ident => $e:expr) => {
        if $crate::decode::operands::is_memory($ins, 1) {
            type $S = $memory;
            $e
        } else {
            type $S = XmmSrc;
            $e
        }
    };
}

/// The operand types of the first two operands.
macro_rules! forms {
    ($form:expr, $D:ident, $S:ident => $e:expr) => {
        match $form {
            Form::RegReg => {
                type $D = Dst;
                type $S = Src;
                $e
            }
            Form::RegMem => {
                type $D = Dst;
                type $S = Mem;
                $e
            }
            Form::MemReg => {
                type $D = Mem;
                type $S = Src;
                $e
            }
            Form::RegImm => {
                type $D = Dst;
                type $S = Imm;
                $e
            }
            Form::MemImm => {
                type $D = Mem;
                type $S = Imm;
                $e
            }
        }
    };
}

/// A handler that has a [quick](crate::exec::chain) one of the same name and parameters; `last` for those of branches.
macro_rules! hot {
    (last $insn:expr, $module:ident::$name:ident[$($parameter:tt)*]) => {
        hot!(@ last, $insn, $module, $name, $($parameter)*)
    };
    ($insn:expr, $module:ident::$name:ident[$($parameter:tt)*]) => {
        hot!(@ quick, $insn, $module, $name, $($parameter)*)
    };
    (@ $link:ident, $insn:expr, $module:ident, $name:ident, $($parameter:tt)*) => {{
        $insn.next =
            |c, b, rest| $crate::exec::chain::$link(c, b, rest, $module::quick::$name::<$($parameter)*>);
        $module::$name::<$($parameter)*>
    }};
}

/// One of the sixteen conditions.
macro_rules! condition {
    ($condition:expr, $C:ident => $e:expr) => {
        condition!(@ $condition, $C, $e, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    (@ $condition:expr, $C:ident, $e:expr, $($n:literal)*) => {
        match $condition {
            $( $n => { const $C: u8 = $n; $e } )*
            _ => return None,
        }
    };
}

pub(crate) use {condition, forms, hot, place, source, width, word_width};
