//! Stacks of functions, with what each has counted: folded, for speedscope.app and for profiler.firefox.com.

use super::totals::Totals;
use crate::args::report::Weight;
use fxprof_processed_profile::{
    CategoryColor, CpuDelta, Frame, FrameFlags, FrameInfo, Profile, SamplingInterval, Timestamp, WeightType,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::SystemTime;

/// A stack: the process, and positions of contexts, outermost first.
#[derive(Debug)]
pub(super) struct Stack<'a> {
    pub(super) process: &'a str,
    pub(super) contexts: Vec<usize>,
    pub(super) weight: u64,
}

/// All stacks that have counted something.
pub(super) fn stacks<'a>(totals: &'a Totals<'a>, weight: Weight) -> impl Iterator<Item = Stack<'a>> + 'a {
    let contexts = &totals.recording.contexts;
    let counted = totals.own.iter().enumerate().map(move |(number, sum)| (number, sum.weight(weight)));
    counted.filter(|(_, weight)| *weight > 0).map(|(number, weight)| {
        let parents = std::iter::successors(Some(number), |number| {
            contexts[*number].parent.map(|parent| parent as usize)
        });
        let mut path: Vec<usize> = parents.filter(|number| contexts[*number].function.is_some()).collect();
        path.reverse();
        Stack { process: totals.process(number), contexts: path, weight }
    })
}

/// `process;outermost;…;innermost count`; functions of the kernel end in `_[k]`, as those of perf's scripts do.
pub(super) fn folded(totals: &Totals<'_>, weight: Weight) -> String {
    // What separates names and counts there must not be in a name.
    let plain = |name: &str| name.replace([';', '\n'], "_");
    let mut lines = BTreeMap::<String, u64>::new();
    for stack in stacks(totals, weight) {
        let mut line = plain(stack.process);
        for (_, function) in stack.contexts.iter().filter_map(|context| totals.function(*context)) {
            let mark = if totals.is_kernel(function.image) { "_[k]" } else { "" };
            let _ = write!(line, ";{}{mark}", plain(&function.name));
        }
        *lines.entry(line).or_default() += stack.weight;
    }
    lines.into_iter().fold(String::new(), |mut text, (line, count)| {
        let _ = writeln!(text, "{line} {count}");
        text
    })
}

/// Speedscope's file format (speedscope.app/file-format-schema.json): a sample for each stack.
pub(super) fn speedscope(totals: &Totals<'_>, weight: Weight) -> Value {
    let recording = totals.recording;
    let mut frames = Vec::new();
    let mut numbers = BTreeMap::<usize, usize>::new();
    let mut profiles = BTreeMap::<&str, (Vec<Vec<usize>>, Vec<u64>)>::new();
    for stack in stacks(totals, weight) {
        let sample = stack.contexts.iter().filter_map(|context| totals.function(*context));
        let sample = sample.map(|(number, function)| {
            *numbers.entry(number).or_insert_with(|| {
                let file = &recording.images[usize::from(function.image)].name;
                frames.push(json!({ "name": function.name, "file": file }));
                frames.len() - 1
            })
        });
        let (samples, weights) = profiles.entry(stack.process).or_default();
        samples.push(sample.collect());
        weights.push(stack.weight);
    }
    let profiles: Vec<Value> = profiles
        .into_iter()
        .map(|(process, (samples, weights))| {
            json!({
                "type": "sampled",
                "name": format!("{process} ({})", name(weight)),
                "unit": "none",
                "startValue": 0,
                "endValue": weights.iter().sum::<u64>(),
                "samples": samples,
                "weights": weights,
            })
        })
        .collect();
    json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": concat!("vpmu ", env!("CARGO_PKG_VERSION")),
        "name": recording.program.join(" "),
        "activeProfileIndex": 0,
        "shared": { "frames": frames },
        "profiles": profiles,
    })
}

/// The processed profile format of the Firefox Profiler: a sample for each stack, a thread for each program.
pub(super) fn firefox(totals: &Totals<'_>, weight: Weight) -> Profile {
    let recording = totals.recording;
    let name = recording.program.join(" ");
    // What depends on the host's clock is not in it.
    let mut profile = Profile::new(&name, SystemTime::UNIX_EPOCH.into(), SamplingInterval::from_millis(1));
    profile.set_product(&format!("{name} by vpmu on {}", recording.profile));
    let user = profile.add_category("User", CategoryColor::Yellow);
    let kernel = profile.add_category("Kernel", CategoryColor::Orange);
    let start = Timestamp::from_nanos_since_reference(0);
    let mut threads = BTreeMap::new();
    for stack in stacks(totals, weight) {
        let next = u32::try_from(threads.len() + 1).unwrap_or(u32::MAX);
        let (thread, now) = threads.entry(stack.process).or_insert_with(|| {
            let process = profile.add_process(stack.process, next, start);
            let thread = profile.add_thread(process, next, start, true);
            profile.set_thread_name(thread, stack.process);
            profile.set_thread_samples_weight_type(thread, WeightType::Samples);
            (thread, 0_u64)
        });
        let functions = stack.contexts.iter().filter_map(|context| totals.function(*context));
        let frames: Vec<FrameInfo> = functions
            .map(|(_, function)| {
                let category = if totals.is_kernel(function.image) { kernel } else { user };
                FrameInfo {
                    frame: Frame::Label(profile.intern_string(&function.name)),
                    category_pair: category.into(),
                    flags: FrameFlags::empty(),
                }
            })
            .collect();
        let frames = profile.intern_stack_frames(*thread, frames.into_iter());
        let mut left = stack.weight;
        // A sample weighs 31 bits.
        while left > 0 {
            let part = i32::try_from(left).unwrap_or(i32::MAX);
            let now_ns = Timestamp::from_nanos_since_reference(*now);
            profile.add_sample(*thread, now_ns, frames, CpuDelta::ZERO, part);
            *now += 1_000_000;
            left -= u64::from(part.unsigned_abs());
        }
    }
    profile
}

fn name(weight: Weight) -> &'static str {
    match weight {
        Weight::Instructions => "instructions",
        Weight::Cycles => "cycles",
    }
}
