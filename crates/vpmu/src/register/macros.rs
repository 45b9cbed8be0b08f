//! The declaration syntax of [`super::intel`] and [`super::amd`].
//!
//! One line per field gives both the typed accessor and the [`super::Field`] that checks and
//! decoding use:
//!
//! ```text
//! flag  usr(16) = "USR", "…";                      one bit            fn usr(self) -> bool
//! bits  umask(8, 8) = "UnitMask", "…";             lsb, width         fn umask(self) -> u64
//! gp    enable_gp(0, 1) = "EN_PMC{n}", "…";        lsb, stride        fn enable_gp(self, n) -> bool
//! fixed os(0, 4) = "EN{n}_OS", "…";                lsb, stride        fn os(self, n) -> bool
//! value count(GpCounter) = "Count", "…";           from bit 0         (no accessor)
//! ```
//! `if Condition` after the parentheses makes the field conditional, `ignore` or `keep` in front of
//! `=` changes what a write does. `step 2` after the instances leaves a gap between two addresses;
//! `as Other;` in place of the braces takes the fields of another register.

macro_rules! field_decl {
    (flag ($lsb:literal)) => {
        (($lsb), Width::Bits(1), Repeat::Once)
    };
    (bits ($lsb:literal, $width:literal)) => {
        (($lsb), Width::Bits($width), Repeat::Once)
    };
    (gp ($lsb:literal, $stride:literal)) => {
        (($lsb), Width::Bits(1), Repeat::PerGp { stride: $stride })
    };
    (fixed ($lsb:literal, $stride:literal)) => {
        (($lsb), Width::Bits(1), Repeat::PerFixed { stride: $stride })
    };
    (value ($width:ident)) => {
        (0, Width::$width, Repeat::Once)
    };
    (write) => {
        OnWrite::Store
    };
    (write ignore) => {
        OnWrite::Ignore
    };
    (write keep) => {
        OnWrite::FaultOnChange
    };
    (when) => {
        When::Always
    };
    (when $when:ident) => {
        When::$when
    };
}

macro_rules! field_accessor {
    (flag $name:ident ($lsb:literal) $doc:literal) => {
        #[doc = $doc]
        #[must_use]
        pub const fn $name(self) -> bool {
            self.0 >> $lsb & 1 != 0
        }
    };
    (bits $name:ident ($lsb:literal, $width:literal) $doc:literal) => {
        #[doc = $doc]
        #[must_use]
        pub const fn $name(self) -> u64 {
            self.0 >> $lsb & super::low_bits($width)
        }
    };
    (gp $name:ident $args:tt $doc:literal) => {
        field_accessor!(fixed $name $args $doc);
    };
    (fixed $name:ident ($lsb:literal, $stride:literal) $doc:literal) => {
        #[doc = $doc]
        #[must_use]
        pub const fn $name(self, n: u32) -> bool {
            let shift = $lsb + $stride * n;
            shift < 64 && self.0 >> shift & 1 != 0
        }
    };
    (value $name:ident $args:tt $doc:literal) => {};
}

macro_rules! registers {
    ($vendor:ident: $(
        $(#[doc = $doc:literal])+
        $id:ident = $name:literal @ $base:literal, $repeat:ident x $span:literal $(step $step:literal)?, if $when:ident,
            $access:ident, reserved $reserved:ident, source $source:literal $({
            $($kind:ident $field:ident $args:tt $(if $fwhen:ident)? $(, $write:ident)? = $fname:literal, $fdoc:literal;)*
        })? $(as $other:ident;)?
    )*) => {
        /// Identifies a register of [`REGISTERS`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum RegisterId {
            $($(#[doc = $doc])+ $id,)*
        }

        $(
            $(#[doc = $doc])+
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
            pub struct $id(pub u64);

            impl $id {
                /// MSR index of instance 0.
                pub const MSR: u32 = $base;

                /// The fields, lowest first.
                pub const FIELDS: &'static [Field] = {
                    $(&[
                        $({
                            let (lsb, width, repeat) = field_decl!($kind $args);
                            Field {
                                name: $fname,
                                doc: $fdoc,
                                lsb,
                                width,
                                repeat,
                                when: field_decl!(when $($fwhen)?),
                                on_write: field_decl!(write $($write)?),
                            }
                        },)*
                    ])?
                    $($other::FIELDS)?
                };

                $($(field_accessor!($kind $field $args $fdoc);)*)?
            }
        )*

        /// Number of registers.
        pub const COUNT: usize = [$($id::MSR),*].len();

        /// Every register, in order of declaration.
        pub static REGISTERS: &[Register] = &[
            $(Register {
                id: super::RegisterId::$vendor(RegisterId::$id),
                name: $name,
                doc: concat!($($doc),+),
                source: $source,
                base: $base,
                step: registers!(@step $($step)?),
                repeat: registers!(@repeat $repeat),
                span: $span,
                when: When::$when,
                access: Access::$access,
                reserved: Reserved::$reserved,
                fields: $id::FIELDS,
            },)*
        ];
    };
    (@repeat once) => { Repeat::Once };
    (@repeat gp) => { Repeat::PerGp { stride: 0 } };
    (@repeat fixed) => { Repeat::PerFixed { stride: 0 } };
    (@repeat lbr) => { Repeat::PerLbr };
    (@step) => { 1 };
    (@step $step:literal) => { $step };
}

pub(super) use {field_accessor, field_decl, registers};
