//! The core PMU as sysfs describes it: `/sys/bus/event_source/devices/cpu` or, on hybrid hosts, `cpu_core`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::error::HostPerfError;
use crate::event::{Level, Metric, RawEvent, SLOTS_CONFIG};

/// Directory of the PMU devices below the sysfs root.
pub(crate) const DEVICES: &str = "bus/event_source/devices";

/// Names of the core PMU. `cpu` exists on uniform hosts, `cpu_core` (the big cores) on hybrid ones.
pub(crate) const CORE_PMUS: [&str; 2] = ["cpu", "cpu_core"];

/// The PMU of the host's (big) cores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CorePmu {
    /// Device name: `cpu` or `cpu_core`.
    pub name: String,
    /// `perf_event_attr.type` of its own events.
    pub pmu_type: u32,
    /// `caps/pmu_name`, for example `icelake` or `sapphire_rapids`.
    pub model: Option<String>,
    /// `caps/branches`: depth of the LBR stack.
    pub branches: Option<u32>,
    /// `caps/max_precise`: highest allowed `precise_ip`.
    pub max_precise: Option<u8>,
    /// `cpus` of a hybrid PMU, for example `0-15`.
    pub cpus: Option<String>,
    /// `rdpmc`: which tasks may use RDPMC: 0 none, 1 those that mapped an event, 2 all.
    pub rdpmc: Option<u8>,
    /// `format/*`: where each field lies in `config`.
    pub formats: Formats,
    /// `events/*`: the named events, as written in sysfs.
    pub events: BTreeMap<String, String>,
}

impl CorePmu {
    /// Reads `name` below the sysfs root; `None` when there is no such PMU or it has no usable type.
    pub(crate) fn read(sysfs: &Path, name: &str) -> Option<Self> {
        let dir = sysfs.join(DEVICES).join(name);
        let pmu_type = number(&dir.join("type"))?;
        Some(CorePmu {
            name: name.to_owned(),
            pmu_type,
            model: text(&dir.join("caps/pmu_name")),
            branches: number(&dir.join("caps/branches")),
            max_precise: number(&dir.join("caps/max_precise")),
            cpus: text(&dir.join("cpus")),
            rdpmc: number(&dir.join("rdpmc")),
            formats: Formats::read(&dir.join("format")),
            events: files(&dir.join("events")).collect(),
        })
    }

    /// Whether the host also has other cores with a PMU of their own.
    pub fn is_hybrid(&self) -> bool {
        self.name == "cpu_core"
    }

    /// `config` of an event that sysfs names, if the name exists and its fields are known.
    pub fn named_event(&self, name: &str) -> Option<u64> {
        let mut config = 0;
        for term in self.events.get(name)?.split(',') {
            let (field, value) = term.trim().split_once('=').unwrap_or((term.trim(), "1"));
            config |= self.formats.get(field)?.place(parse_number(value)?)?;
        }
        Some(config)
    }

    /// How many PERF_METRICS fields the kernel offers here; `None` without the slots event.
    ///
    /// Cores without a slots counter also have events called `topdown-*` (Atom) or `topdown-slots-*`
    /// (Skylake); those are ordinary events and do not count. Hence the encodings are compared too.
    pub fn topdown_level(&self) -> Option<Level> {
        let offers = |metric: &Metric| self.named_event(metric.sysfs_name()) == Some(metric.config());
        if self.named_event("slots") != Some(SLOTS_CONFIG) || !Level::One.metrics().iter().all(offers) {
            return None;
        }
        Some(if Level::Two.metrics().iter().all(offers) { Level::Two } else { Level::One })
    }

    /// `config` of a raw event, with each field where this PMU's `format/` puts it.
    ///
    /// # Errors
    /// [`HostPerfError::FieldMissing`] or [`HostPerfError::FieldTooBig`] when the PMU cannot express it.
    pub fn encode(&self, event: RawEvent) -> Result<u64, HostPerfError> {
        let fields = [
            ("event", u64::from(event.event)),
            ("umask", u64::from(event.umask)),
            ("cmask", u64::from(event.cmask)),
            ("inv", u64::from(event.inv)),
            ("edge", u64::from(event.edge)),
        ];
        let mut config = 0;
        for (field, value) in fields {
            if value == 0 {
                continue;
            }
            let format = self
                .formats
                .get(field)
                .ok_or_else(|| HostPerfError::FieldMissing { pmu: self.name.clone(), field })?;
            config |= format.place(value).ok_or(HostPerfError::FieldTooBig {
                field,
                value,
                bits: format.width(),
            })?;
        }
        Ok(config)
    }
}

/// The fields of `config` that a PMU defines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Formats(BTreeMap<String, Format>);

impl Formats {
    fn read(dir: &Path) -> Self {
        Formats(files(dir).filter_map(|(name, text)| Some((name, Format::parse(&text)?))).collect())
    }

    /// The place of a field, such as `event` or `umask`.
    pub fn get(&self, field: &str) -> Option<&Format> {
        self.0.get(field)
    }

    /// Whether no field is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The bits of `config` that hold one field, lowest bits of the value first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format(Vec<(u32, u32)>);

impl Format {
    /// Parses the content of a format file: `config:0-7,32-35` or `config:18`.
    ///
    /// `None` for fields outside `config` (`config1:…`) and for text that is not such a list.
    pub fn parse(text: &str) -> Option<Self> {
        let ranges = text.trim().strip_prefix("config:")?;
        let parse = |range: &str| {
            let (low, high) = range.split_once('-').unwrap_or((range, range));
            let (low, high) = (low.parse().ok()?, high.parse().ok()?);
            (low <= high && high < 64).then_some((low, high))
        };
        let ranges = ranges.split(',').map(parse).collect::<Option<Vec<_>>>()?;
        let format = Format(ranges);
        (format.width() <= 64).then_some(format)
    }

    /// Number of bits.
    pub fn width(&self) -> u32 {
        self.0.iter().map(|(low, high)| high - low + 1).sum()
    }

    /// `value` spread over the field's bits; `None` when it does not fit.
    pub fn place(&self, mut value: u64) -> Option<u64> {
        let mut config = 0;
        for (low, high) in &self.0 {
            let mask = u64::MAX >> (63 - (high - low));
            config |= (value & mask) << low;
            value = value.checked_shr(high - low + 1).unwrap_or(0);
        }
        (value == 0).then_some(config)
    }
}

/// Trimmed content of a file; `None` when it cannot be read or is empty.
pub(crate) fn text(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// A file that holds one decimal number.
pub(crate) fn number<T: std::str::FromStr>(path: &Path) -> Option<T> {
    text(path)?.parse().ok()
}

fn parse_number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Name and content of every readable file of a directory.
fn files(dir: &Path) -> impl Iterator<Item = (String, String)> + use<> {
    fs::read_dir(dir).into_iter().flatten().flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        Some((name, text(&entry.path())?))
    })
}
