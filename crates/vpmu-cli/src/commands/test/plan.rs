//! The matrix: every image on every profile and engine that it is for.

use super::discover::{Entry, image_name};
use super::engine::Engine;
use super::error::TestError;
use super::filter::{Filter, Property, Subject};
use super::manifest::Need;
use super::shard::Shard;
use crate::args::test::{ALL, TestArgs};
use crate::args::{IsaArg, word, words};
use crate::error::CliError;
use crate::machine::{profile_with, with_isa};
use crate::similar::most_similar;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::sync::Arc;
use vmm::counts::CountsChoice;
use vmm::engine::Detail;
use vpmu::Profile;
use vpmu::profile::{Architecture, LbrKind, PROFILES};

/// A profile, and what was typed for it.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) profile: Profile,
    /// A name, or a file.
    pub(super) argument: String,
}

/// The built-in profiles in the order in which they are declared, then those from files; each once.
///
/// # Errors
/// There is no such profile, or its file is of no use.
pub(super) fn chosen_profiles(args: &TestArgs) -> Result<Vec<Arc<Shown>>, CliError> {
    let mut chosen = Vec::new();
    for argument in args.profiles.iter().filter(|argument| *argument != ALL) {
        chosen.push(Shown { profile: profile_with(argument, args.isa)?, argument: argument.clone() });
    }
    if args.profiles.iter().any(|argument| argument == ALL) {
        let all =
            PROFILES.iter().map(|&profile| (with_isa(profile.clone(), args.isa), profile.name.to_string()));
        chosen.extend(all.map(|(profile, argument)| Shown { profile, argument }));
    }
    let place = |shown: &Shown| PROFILES.iter().position(|profile| profile.name == shown.profile.name);
    chosen.sort_by_key(|shown| place(shown).unwrap_or(PROFILES.len()));
    let mut names = BTreeSet::new();
    chosen.retain(|shown| names.insert(shown.profile.name.clone()));
    Ok(chosen.into_iter().map(Arc::new).collect())
}

/// One test: an image on a profile and an engine.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) entry: Arc<Entry>,
    pub(super) shown: Arc<Shown>,
    pub(super) engine: Engine,
    pub(super) detail: Option<Detail>,
    pub(super) counts: CountsChoice,
    /// Other instruction sets than the profile's.
    pub(super) isa: Option<IsaArg>,
    /// Why it cannot run here.
    pub(super) skip: Option<String>,
}

impl Case {
    /// Name of the profile.
    pub(super) fn profile(&self) -> &str {
        &self.shown.profile.name
    }

    pub(super) fn detail_name(&self) -> Option<String> {
        self.detail.as_ref().map(word)
    }

    /// The arguments of the `vpmu run` that this test is.
    pub(super) fn arguments(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec!["run".into(), self.entry.path.clone().into_os_string()];
        let mut option = |name: &str, value: &str| words.extend([name.into(), value.into()]);
        option("--profile", &self.shown.argument);
        option("--engine", self.engine.name());
        if self.engine == Engine::Kvm {
            option("--counts", &word(&self.counts));
        }
        if let Some(detail) = self.detail_name() {
            option("--detail", &detail);
        }
        if let Some(isa) = &self.isa {
            option("--isa", &word(isa));
        }
        option("--timeout", &self.entry.timeout.to_string());
        option("--memory", &self.entry.memory.to_string());
        if self.entry.needs.iter().any(|need| matches!(need, Need::Pebs | Need::Ibs)) {
            words.extend(["--precise".into(), "on".into()]);
        }
        if let Some(file) = &self.entry.inject {
            words.extend(["--inject".into(), file.clone().into_os_string()]);
        }
        if let Some(skid) = &self.entry.skid {
            words.push(format!("--skid={skid}").into());
        }
        if !self.entry.append.is_empty() {
            // In one word, as it may begin with a dash.
            words.push(format!("--append={}", self.entry.append).into());
        }
        words
    }

    /// The same as one would type it.
    pub(super) fn command_line(&self) -> String {
        let words: Vec<String> =
            self.arguments().into_iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let line = shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "));
        format!("vpmu {line}")
    }
}

/// `IMAGE@PROFILE/ENGINE`, with `:DETAIL` if one was asked for.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}/{}", self.entry.name, self.profile(), self.engine.name())?;
        self.detail_name().map_or(Ok(()), |detail| write!(f, ":{detail}"))
    }
}

/// A [`Case`] with its texts, for filters.
struct Named<'a> {
    case: &'a Case,
    id: String,
    image: String,
    detail: Option<String>,
}

impl<'a> Named<'a> {
    fn new(case: &'a Case) -> Self {
        Self { case, id: case.to_string(), image: image_name(&case.entry.path), detail: case.detail_name() }
    }
}

impl Subject for Named<'_> {
    fn values(&self, property: Property) -> Vec<&str> {
        match property {
            Property::Test => vec![&self.id],
            Property::Image => vec![&self.image],
            Property::Area => vec![&self.case.entry.area],
            Property::Group => self.case.entry.groups.iter().map(String::as_str).collect(),
            Property::Profile => vec![self.case.profile()],
            Property::Engine => vec![self.case.engine.name()],
            Property::Detail => self.detail.as_deref().into_iter().collect(),
        }
    }
}

/// Profiles that do not run under KVM here, each with the reason.
pub(super) type KvmMissing = BTreeMap<String, String>;

/// The tests of a run.
#[derive(Debug)]
pub(super) struct Plan {
    /// In their order.
    pub(super) cases: Vec<Case>,
    /// How many the filter selected, for all shards.
    pub(super) selected: usize,
    /// How many there are.
    pub(super) found: usize,
}

/// Makes the matrix, and takes from it what filter and shard leave. A shard may be left without a test.
pub(super) fn plan(
    entries: Vec<Entry>,
    args: &TestArgs,
    shown: &[Arc<Shown>],
    shard: Option<Shard>,
    kvm_missing: &KvmMissing,
) -> Result<Plan, TestError> {
    check_declared(&entries, shown)?;
    let filters = args.filters.iter().map(|text| Filter::parse(text)).collect::<Result<Vec<_>, _>>()?;
    let all = matrix(entries, args, shown, kvm_missing);
    check_predicates(&filters, &all, shown)?;
    let found = all.len();
    let mut cases = all;
    cases.retain(|case| {
        let named = Named::new(case);
        filters.is_empty() || filters.iter().any(|filter| filter.matches(&named))
    });
    let selected = cases.len();
    if selected == 0 {
        return Err(TestError::NothingSelected(found));
    }
    if let Some(shard) = shard {
        let mut positions = 0..;
        cases.retain(|case| positions.next().is_some_and(|n| shard.takes(n, &case.to_string())));
    }
    Ok(Plan { cases, selected, found })
}

fn matrix(entries: Vec<Entry>, args: &TestArgs, shown: &[Arc<Shown>], kvm_missing: &KvmMissing) -> Vec<Case> {
    let mut cases = Vec::new();
    for entry in entries.into_iter().map(Arc::new) {
        let on = |shown: &&Arc<Shown>| {
            let name = &*shown.profile.name;
            entry.architecture.is_none_or(|architecture| architecture == shown.profile.architecture())
                && entry.profiles.as_ref().is_none_or(|names| names.iter().any(|chosen| chosen == name))
        };
        for shown in shown.iter().filter(on) {
            let by = |engine: &&Engine| entry.engines.as_ref().is_none_or(|engines| engines.contains(engine));
            for engine in args.engine.each().iter().filter(by) {
                // A real CPU has no model.
                let details = match (engine, args.detail.as_slice()) {
                    (Engine::Soft, details @ [_, ..]) => details.iter().copied().map(Some).collect(),
                    _ => vec![None],
                };
                for detail in details {
                    let mut case = Case {
                        entry: Arc::clone(&entry),
                        shown: Arc::clone(shown),
                        engine: *engine,
                        detail,
                        counts: args.counts.clone(),
                        isa: args.isa,
                        skip: None,
                    };
                    case.skip = skip_reason(&case, kvm_missing);
                    cases.push(case);
                }
            }
        }
    }
    cases
}

fn skip_reason(case: &Case, kvm_missing: &KvmMissing) -> Option<String> {
    let entry = &case.entry;
    if entry.skip.is_some() {
        return entry.skip.clone();
    }
    if let Some(need) = entry.needs.iter().find(|need| !has(&case.shown.profile, case.engine, **need)) {
        return Some(format!("needs {}", need.name()));
    }
    if case.engine == Engine::Soft {
        return None;
    }
    if case.shown.profile.architecture() == Architecture::Aarch64 {
        return Some("KVM runs guests of the host's instruction set".to_owned());
    }
    let unmet = entry
        .checks
        .iter()
        .find(|(path, wanted)| fs::read_to_string(path).map_or(true, |found| found.trim() != wanted));
    match unmet {
        Some((path, wanted)) => Some(format!("{} is not {wanted}", path.display())),
        None => kvm_missing.get(case.profile()).cloned(),
    }
}

fn has(profile: &Profile, engine: Engine, need: Need) -> bool {
    match need {
        Need::Intel => profile.intel().is_some(),
        Need::Amd => profile.intel().is_none(),
        Need::FullWidth => profile.intel().is_some_and(|pmu| pmu.perf_capabilities.fw_write()),
        Need::Metrics => profile.metrics_level() > 0,
        Need::MetricsL2 => profile.metrics_level() > 1,
        Need::StreamlinedFreeze => profile.intel().is_some_and(|pmu| pmu.version >= 4),
        Need::Lbr => profile.lbr != LbrKind::None && engine == Engine::Soft,
        Need::Pebs => profile.clone().with_pebs().has_pebs() && engine == Engine::Soft,
        Need::Ibs => profile.clone().with_ibs().has_ibs() && engine == Engine::Soft,
        Need::Exact => engine == Engine::Soft,
    }
}

/// A test that a manifest limits to an unknown profile would silently run nowhere.
fn check_declared(entries: &[Entry], shown: &[Arc<Shown>]) -> Result<(), TestError> {
    let known = || {
        let built_in = PROFILES.iter().map(|profile| &*profile.name);
        built_in.chain(shown.iter().map(|shown| &*shown.profile.name))
    };
    for entry in entries {
        for name in entry.profiles.iter().flatten() {
            if !known().any(|profile| profile == name) {
                return Err(TestError::DeclaredProfile {
                    manifest: entry.manifest.clone().unwrap_or_default(),
                    test: entry.name.clone(),
                    profile: name.clone(),
                    similar: most_similar(name, known()),
                });
            }
        }
    }
    Ok(())
}

/// A predicate about a closed set of names that matches none of them is a typing error.
fn check_predicates(filters: &[Filter], cases: &[Case], shown: &[Arc<Shown>]) -> Result<(), TestError> {
    let profiles = PROFILES.iter().map(|profile| &*profile.name);
    let profiles = profiles.chain(shown.iter().map(|shown| &*shown.profile.name)).collect();
    let images: Vec<String> = cases.iter().map(|case| image_name(&case.entry.path)).collect();
    let details = words::<Detail>();
    let closed: [(Property, Vec<&str>); 4] = [
        (Property::Profile, profiles),
        (Property::Engine, Engine::NAMES.into()),
        (Property::Detail, details.iter().map(String::as_str).collect()),
        (Property::Image, images.iter().map(String::as_str).collect()),
    ];
    for (property, names) in closed {
        for matcher in filters.iter().flat_map(|filter| filter.matchers(property)) {
            if !names.iter().any(|name| matcher.matches(name)) {
                let typed = matcher.to_string();
                let similar = most_similar(typed.trim_start_matches('='), names.iter().copied());
                return Err(TestError::NothingMatches { property: property.name(), matcher: typed, similar });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
