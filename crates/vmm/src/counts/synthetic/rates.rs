//! The rates file: what the synthetic source makes up.
//!
//! The format is explained in `rates.toml`, the built-in rates.

use super::derived::derived;
use super::rate::{Decimal, NumberProblem};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use thiserror::Error;
use vpmu::event::Event;
use vpmu::metrics::{ALL_FIELDS, LEVEL1_FIELDS};

/// Name of the built-in rates in messages.
pub const BUILT_IN: &str = "the built-in rates";
const BUILT_IN_TEXT: &str = include_str!("rates.toml");

/// Bounds of `core.frequency_mhz`.
const FREQUENCY_MHZ: (u64, u64) = (1, 10_000);
/// Bounds of a rate, in events per core cycle. No core does anything more often.
const PER_CYCLE: (u64, u64) = (0, 64);
const FRACTION: (u64, u64) = (0, 1);
/// A frequency is a whole number of Hz.
const NANO_MHZ_PER_HZ: u64 = 1_000;
/// How far the level-1 fractions may be from 1, in 10⁻⁹: thirds cannot be written exactly.
const SUM_TOLERANCE: u64 = 1;

/// Keys of a `[topdown.*]` table, in the order of the PERF_METRICS bytes.
const FRACTION_KEYS: [&str; ALL_FIELDS] =
    ["retiring", "bad-spec", "fe-bound", "be-bound", "heavy-ops", "br-mispredict", "fetch-lat", "mem-bound"];

/// Validated rates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rates {
    pub(super) frequency_hz: u64,
    /// Per core cycle, at CPL 0 and above; by [`Event::counts_as`].
    pub(super) events: BTreeMap<Event, [Decimal; 2]>,
    pub(super) topdown: [Fractions; 2],
}

/// Fractions of the slots, by PERF_METRICS field.
pub(super) type Fractions = [Decimal; ALL_FIELDS];

/// Why a rates file was refused. The message names file and key.
#[derive(Debug, Error)]
pub enum RatesError {
    /// The file could not be read.
    #[error("cannot read the rates file {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// Not TOML, an unknown key, or a missing one.
    #[error("{origin}: {}", problem.to_string().trim_end())]
    Syntax {
        /// File name, or [`BUILT_IN`].
        origin: String,
        /// Position and cause. Part of the message, because it points into the file.
        problem: Box<toml::de::Error>,
    },
    /// A value that is no usable number.
    #[error("{origin}: {key} = {value} {problem}")]
    Number {
        /// File name, or [`BUILT_IN`].
        origin: String,
        /// Full key.
        key: String,
        /// What was written.
        value: String,
        /// What is wrong.
        problem: NumberProblem,
    },
    /// A name that no event has.
    #[error("{origin}: {key}: no such event")]
    UnknownEvent {
        /// File name, or [`BUILT_IN`].
        origin: String,
        /// Full key.
        key: String,
    },
    /// An event whose count follows from something else.
    #[error("{origin}: {key} cannot be set, because it follows from {from}")]
    Derived {
        /// File name, or [`BUILT_IN`].
        origin: String,
        /// Full key.
        key: String,
        /// What it follows from.
        from: String,
    },
    /// Two names of one quantity in one table.
    #[error("{origin}: {key} counts the same as {event}, which the table also has")]
    Duplicate {
        /// File name, or [`BUILT_IN`].
        origin: String,
        /// Full key.
        key: String,
        /// The quantity.
        event: Event,
    },
    /// A rate at one privilege level only.
    #[error("{origin}: {event} has no rate in [{missing}] and none in [rates]")]
    OneSided {
        /// File name, or [`BUILT_IN`].
        origin: String,
        /// The event.
        event: Event,
        /// Table without a rate.
        missing: &'static str,
    },
    /// The level-1 fractions do not add up to 1.
    #[error("{origin}: retiring, bad-spec, fe-bound and be-bound of [{table}] add up to {sum} instead of 1")]
    Sum {
        /// File name, or [`BUILT_IN`].
        origin: String,
        /// The table.
        table: String,
        /// The sum.
        sum: Decimal,
    },
    /// A level-2 fraction above its parent.
    #[error("{origin}: {table}.{child} is a part of {parent} and cannot be larger")]
    AboveParent {
        /// File name, or [`BUILT_IN`].
        origin: String,
        /// The table.
        table: String,
        /// The level-2 key.
        child: &'static str,
        /// The level-1 key.
        parent: &'static str,
    },
}

type Table = BTreeMap<String, toml::Value>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RatesFile {
    core: CoreTable,
    #[serde(default)]
    rates: Table,
    #[serde(default)]
    user: Table,
    #[serde(default)]
    kernel: Table,
    topdown: TopdownTables,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CoreTable {
    frequency_mhz: toml::Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TopdownTables {
    user: FractionTable,
    kernel: FractionTable,
}

/// All eight are required: a fraction that is missing must not read as 0.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct FractionTable {
    retiring: toml::Value,
    bad_spec: toml::Value,
    fe_bound: toml::Value,
    be_bound: toml::Value,
    heavy_ops: toml::Value,
    br_mispredict: toml::Value,
    fetch_lat: toml::Value,
    mem_bound: toml::Value,
}

impl FractionTable {
    fn into_fields(self) -> [toml::Value; ALL_FIELDS] {
        [
            self.retiring,
            self.bad_spec,
            self.fe_bound,
            self.be_bound,
            self.heavy_ops,
            self.br_mispredict,
            self.fetch_lat,
            self.mem_bound,
        ]
    }
}

impl Rates {
    /// The rates in `rates.toml`.
    ///
    /// # Errors
    /// None; a test parses the file.
    pub fn built_in() -> Result<Self, RatesError> {
        Self::parse(BUILT_IN, BUILT_IN_TEXT)
    }

    /// Reads a rates file.
    ///
    /// # Errors
    /// See [`RatesError`].
    pub fn load(path: &Path) -> Result<Self, RatesError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| RatesError::Read { path: path.to_owned(), source })?;
        Self::parse(&path.display().to_string(), &text)
    }

    /// Reads rates from text; `origin` names it in messages.
    ///
    /// # Errors
    /// See [`RatesError`].
    pub fn parse(origin: &str, text: &str) -> Result<Self, RatesError> {
        let file: RatesFile = toml::from_str(text)
            .map_err(|error| RatesError::Syntax { origin: origin.to_owned(), problem: Box::new(error) })?;
        let reader = Reader { origin };
        let frequency = reader.number("core.frequency_mhz", &file.core.frequency_mhz, FREQUENCY_MHZ)?;
        if frequency.nanos() % NANO_MHZ_PER_HZ != 0 {
            let problem = NumberProblem::FractionOfHz;
            return Err(reader.refuse("core.frequency_mhz", &file.core.frequency_mhz, problem));
        }
        Ok(Self {
            frequency_hz: frequency.nanos() / NANO_MHZ_PER_HZ,
            events: reader.events(&file)?,
            topdown: [
                reader.fractions("topdown.kernel", file.topdown.kernel)?,
                reader.fractions("topdown.user", file.topdown.user)?,
            ],
        })
    }

    /// Core clock in Hz.
    #[must_use]
    pub fn frequency_hz(&self) -> u64 {
        self.frequency_hz
    }
}

/// Knows where the text comes from.
struct Reader<'a> {
    origin: &'a str,
}

impl Reader<'_> {
    fn origin(&self) -> String {
        self.origin.to_owned()
    }

    fn refuse(&self, key: &str, value: &toml::Value, problem: NumberProblem) -> RatesError {
        RatesError::Number { origin: self.origin(), key: key.to_owned(), value: value.to_string(), problem }
    }

    fn number(&self, key: &str, value: &toml::Value, bounds: (u64, u64)) -> Result<Decimal, RatesError> {
        Decimal::from_toml(value, bounds).map_err(|problem| self.refuse(key, value, problem))
    }

    fn events(&self, file: &RatesFile) -> Result<BTreeMap<Event, [Decimal; 2]>, RatesError> {
        let common = self.table("rates", &file.rates)?;
        let sides = [self.table("kernel", &file.kernel)?, self.table("user", &file.user)?];
        let mut events = BTreeMap::new();
        for &event in common.keys().chain(sides[0].keys()).chain(sides[1].keys()) {
            let rate = |side: usize, missing| {
                let rate = sides[side].get(&event).or_else(|| common.get(&event)).copied();
                rate.ok_or(RatesError::OneSided { origin: self.origin(), event, missing })
            };
            events.insert(event, [rate(0, "kernel")?, rate(1, "user")?]);
        }
        for &event in events.keys() {
            let parts = event.parts();
            if !parts.is_empty() && parts.iter().all(|&part| is_known(&events, part)) {
                let names: Vec<_> = parts.iter().map(|part| part.name()).collect();
                return Err(RatesError::Derived {
                    origin: self.origin(),
                    key: event.name().to_owned(),
                    from: format!("its parts {}", names.join(", ")),
                });
            }
        }
        Ok(events)
    }

    fn table(&self, table: &str, entries: &Table) -> Result<BTreeMap<Event, Decimal>, RatesError> {
        let mut rates = BTreeMap::new();
        for (name, value) in entries {
            let key = format!("{table}.\"{name}\"");
            let Some(event) = Event::from_name(name).map(Event::counts_as) else {
                return Err(RatesError::UnknownEvent { origin: self.origin(), key });
            };
            if let Some(derived) = derived(event) {
                let from = derived.follows_from().to_owned();
                return Err(RatesError::Derived { origin: self.origin(), key, from });
            }
            if rates.insert(event, self.number(&key, value, PER_CYCLE)?).is_some() {
                return Err(RatesError::Duplicate { origin: self.origin(), key, event });
            }
        }
        Ok(rates)
    }

    fn fractions(&self, table: &str, values: FractionTable) -> Result<Fractions, RatesError> {
        let mut fractions = Fractions::default();
        for ((fraction, value), key) in fractions.iter_mut().zip(values.into_fields()).zip(FRACTION_KEYS) {
            *fraction = self.number(&format!("{table}.{key}"), &value, FRACTION)?;
        }
        let (level1, level2) = fractions.split_at(LEVEL1_FIELDS);
        let sum = level1.iter().fold(Decimal::default(), |sum, &fraction| sum.plus(fraction));
        if sum.nanos().abs_diff(Decimal::ONE.nanos()) > SUM_TOLERANCE {
            return Err(RatesError::Sum { origin: self.origin(), table: table.to_owned(), sum });
        }
        if let Some(index) = level1.iter().zip(level2).position(|(parent, child)| child > parent) {
            return Err(RatesError::AboveParent {
                origin: self.origin(),
                table: table.to_owned(),
                child: FRACTION_KEYS[LEVEL1_FIELDS + index],
                parent: FRACTION_KEYS[index],
            });
        }
        Ok(fractions)
    }
}

/// Whether an event has a rate or is a sum of events that do.
fn is_known(events: &BTreeMap<Event, [Decimal; 2]>, event: Event) -> bool {
    let parts = event.parts();
    events.contains_key(&event.counts_as())
        || (!parts.is_empty() && parts.iter().all(|&part| is_known(events, part)))
}
