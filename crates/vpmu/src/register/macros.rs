//! The declaration syntax of [`super::intel`], [`super::amd`] and [`super::arm`].
//!
//! One line per field gives the typed accessors, the mask and the [`super::Field`] that checks and decoding use:
//!
//! ```text
//! flag  usr(16) = "USR", "…";                one bit        usr() -> bool, set_usr(bool), with_usr(bool), USR
//! bits  umask(8, 8) = "UnitMask", "…";       lsb, width     umask() -> u64, set_umask(u64), with_umask(u64), UMASK
//! gp    enable_gp(0, 1) = "EN_PMC{n}", "…";  lsb, stride    enable_gp(n) -> bool, set_enable_gp(n, bool)
//! fixed os(0, 4) = "EN{n}_OS", "…";          lsb, stride    os(n) -> bool,      set_os(n, bool)
//! value count(GpCounter) = "Count", "…";     from bit 0     (no accessor)
//! address from() = "FROM_IP", "…";           64 bits, a non-canonical address raises #GP
//! ```
//! `if Condition` after the parentheses makes the field conditional, `ignore` or `keep` in front of
//! `=` changes what a write does. `step 2` after the instances leaves a gap between two addresses.
//!
//! A register's value is kept in the vendor's [`Bank`](super::bank::Bank), and so is saved, restored and reset, unless
//! the declaration says otherwise:
//!
//! ```text
//! same as Pmc         another address of the same register
//! as Other;           the same in place of the braces: the fields are those of the other register, too
//! held by counter     by something that behaves, which knows its value: counter, stack (of branch records)
//! held by none        computed, or without a value of its own
//! reset |profile| …   the value after RESET, if it is not 0
//! user Enabled        when EL0 may access it (Arm); without it, never
//! like Other;         in place of the braces: the fields are those of another register
//! ```

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
    (address ()) => {
        (0, Width::LinearAddress, Repeat::Once)
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

macro_rules! field {
    ($kind:ident $args:tt $name:literal $doc:literal; $($when:ident)?; $($write:ident)?) => {{
        let (lsb, width, repeat) = field_decl!($kind $args);
        Field {
            name: $name,
            doc: $doc,
            lsb,
            width,
            repeat,
            when: field_decl!(when $($when)?),
            on_write: field_decl!(write $($write)?),
        }
    }};
}

macro_rules! field_accessor {
    (flag $name:ident ($lsb:literal) $doc:literal) => {
        pastey::paste! {
            #[doc = $doc]
            pub const [<$name:upper>]: u64 = 1 << $lsb;

            #[doc = $doc]
            #[must_use]
            pub const fn $name(self) -> bool {
                self.0 & Self::[<$name:upper>] != 0
            }

            #[doc = $doc]
            pub const fn [<set_ $name>](&mut self, on: bool) {
                self.0 = self.[<with_ $name>](on).0;
            }

            #[doc = $doc]
            #[must_use]
            pub const fn [<with_ $name>](self, on: bool) -> Self {
                Self(self.0 & !Self::[<$name:upper>] | (on as u64) << $lsb)
            }
        }
    };
    (bits $name:ident ($lsb:literal, $width:literal) $doc:literal) => {
        pastey::paste! {
            #[doc = $doc]
            pub const [<$name:upper>]: u64 = super::low_bits($width) << $lsb;

            #[doc = $doc]
            #[must_use]
            pub const fn $name(self) -> u64 {
                (self.0 & Self::[<$name:upper>]) >> $lsb
            }

            #[doc = $doc]
            pub const fn [<set_ $name>](&mut self, value: u64) {
                self.0 = self.[<with_ $name>](value).0;
            }

            /// Bits of `value` that do not fit are dropped.
            #[doc = $doc]
            #[must_use]
            pub const fn [<with_ $name>](self, value: u64) -> Self {
                Self(self.0 & !Self::[<$name:upper>] | value << $lsb & Self::[<$name:upper>])
            }
        }
    };
    (gp $name:ident $args:tt $doc:literal) => {
        field_accessor!(fixed $name $args $doc);
    };
    (fixed $name:ident ($lsb:literal, $stride:literal) $doc:literal) => {
        pastey::paste! {
            #[doc = $doc]
            #[must_use]
            pub const fn $name(self, n: u32) -> bool {
                self.0 & super::bit($lsb + $stride * n) != 0
            }

            #[doc = $doc]
            pub const fn [<set_ $name>](&mut self, n: u32, on: bool) {
                let bit = super::bit($lsb + $stride * n);
                self.0 = if on { self.0 | bit } else { self.0 & !bit };
            }
        }
    };
    (address $name:ident () $doc:literal) => {};
    (value $name:ident $args:tt $doc:literal) => {};
}

macro_rules! registers {
    ($vendor:ident: $(
        $(#[doc = $doc:literal])+
        $id:ident = $name:literal @ $base:expr, $repeat:ident x $span:literal $(step $step:expr)?, if $when:ident,
            $access:ident $(, user $user:ident)?, reserved $reserved:ident
            $(, same as $same:ident)? $(, held by $holder:ident)? $(, reset $reset:expr)?, source $source:literal $({
            $($kind:ident $field:ident $args:tt $(if $fwhen:ident)? $(, $write:ident)?
                = $fname:literal, $fdoc:literal;)*
        })? $(as $other:ident;)? $(like $like:ident;)?
    )*) => {
        /// Identifies a register of [`REGISTERS`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum RegisterId {
            $($(#[doc = $doc])+ $id,)*
        }

        impl RegisterId {
            /// The register itself, where this one is another address of it.
            #[must_use]
            pub const fn owner(self) -> Self {
                match self {
                    $(Self::$id => registers!(@owner $id $($same)? $($other)?),)*
                }
            }
        }

        /// Words that each register takes in the bank.
        const WORDS: [usize; COUNT] = [$(registers!(@words $span $($same)? $($holder)? $($other)?)),*];

        impl RegisterSet for RegisterId {
            type Words = [u64; words_before(&WORDS, COUNT)];
            const ZERO: Self::Words = [0; words_before(&WORDS, COUNT)];
            const ALL: &'static [Self] = &[$(Self::$id),*];
            const REGISTERS: &'static [Register] = REGISTERS;

            fn index(self) -> usize {
                self as usize
            }

            fn owner(self) -> Self {
                self.owner()
            }
        }

        $(
            $(#[doc = $doc])+
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
            pub struct $id(pub u64);

            impl $id {
                /// MSR index of instance 0; of an Arm CPU the encoding.
                pub const INDEX: u32 = $base;
                /// Distance of two instances' addresses.
                pub const STEP: u32 = registers!(@step $($step)?);

                const HOLDER: Holder = registers!(@holder $($holder)? $(@$same)? $(@$other)?);

                /// The fields, lowest first.
                pub const FIELDS: &'static [Field] = {
                    $(&[
                        $(field!($kind $args $fname $fdoc; $($fwhen)?; $($write)?),)*
                    ])?
                    $($other::FIELDS)?
                    $($like::FIELDS)?
                };

                $($(field_accessor!($kind $field $args $fdoc);)*)?
            }

            registers!(@typed $id $($same)? $($holder)? $($other)?);
        )*

        /// Number of registers.
        pub const COUNT: usize = [$($id::INDEX),*].len();

        /// Every register, in order of declaration.
        pub static REGISTERS: &[Register] = &[
            $(Register {
                id: super::RegisterId::$vendor(RegisterId::$id),
                name: $name,
                doc: concat!($($doc),+),
                source: $source,
                base: $base,
                step: $id::STEP,
                repeat: registers!(@repeat $repeat),
                span: $span,
                when: When::$when,
                access: Access::$access,
                user: registers!(@user $($user)?),
                reserved: Reserved::$reserved,
                holder: $id::HOLDER,
                slot: words_before(&WORDS, RegisterId::$id.owner() as usize),
                reset: registers!(@reset $($reset)?),
                fields: $id::FIELDS,
            },)*
        ];
    };
    (@owner $id:ident) => { Self::$id };
    (@owner $id:ident $other:ident) => { Self::$other.owner() };
    (@words $span:literal) => { $span };
    (@words $span:literal $elsewhere:ident) => { 0 };
    (@typed $id:ident) => {
        impl Typed<RegisterId> for $id {
            const SLOT: usize = words_before(&WORDS, RegisterId::$id as usize);

            fn new(bits: u64) -> Self {
                Self(bits)
            }

            fn bits(self) -> u64 {
                self.0
            }
        }
    };
    (@typed $id:ident $elsewhere:ident) => {};
    (@user) => { super::UserAccess::Never };
    (@user $user:ident) => { super::UserAccess::$user };
    (@holder) => { Holder::Bank };
    (@holder @$other:ident) => { $other::HOLDER };
    (@holder counter) => { Holder::Counter };
    (@holder stack) => { Holder::BranchStack };
    (@holder none) => { Holder::None };
    (@reset) => { |_| 0 };
    (@reset $reset:expr) => { $reset };
    (@repeat once) => { Repeat::Once };
    (@repeat gp) => { Repeat::PerGp { stride: 0 } };
    (@repeat fixed) => { Repeat::PerFixed { stride: 0 } };
    (@repeat lbr) => { Repeat::PerLbr };
    (@repeat region) => { Repeat::PerRegion };
    (@step) => { 1 };
    (@step $step:expr) => { $step };
}

pub(super) use {field, field_accessor, field_decl, registers};
