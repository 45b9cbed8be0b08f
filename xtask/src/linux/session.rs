//! A session: commands for the guest's shell, and what came of each.

use serde_json::Value;
use vpmu::event::{Event, EventTable};
use vpmu::profile::{PmuKind, Profile, Vendor};

/// Starts the lines that separate steps on the console.
const MARK: &str = "@@";

/// What a step's check may depend on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts {
    pub(super) vendor: Vendor,
    /// PERF_METRICS level of the profile: 0, 1 or 2.
    pub(super) metrics_level: u8,
    /// AMD's second version of the PMU.
    pub(super) perf_mon_v2: bool,
    /// Counters start and stop together.
    pub(super) global_control: bool,
    /// Every instruction takes one cycle: `--detail counts`.
    pub(super) one_cycle: bool,
    /// The profile has PEBS or IBS to show.
    pub(super) precise: bool,
    /// The events of the profile, with their codes.
    pub(super) events: EventTable,
}

impl Facts {
    /// `None` for a profile that is not built in.
    pub(super) fn of(profile: &str, detail: &str) -> Option<Self> {
        let profile = Profile::by_name(profile)?;
        let perf_mon_v2 = matches!(&profile.pmu, PmuKind::Amd(pmu) if pmu.v2);
        Some(Self {
            vendor: profile.vendor(),
            metrics_level: profile.metrics_level(),
            perf_mon_v2,
            global_control: profile.vendor() == Vendor::Intel || perf_mon_v2,
            one_cycle: detail == "counts",
            precise: profile.clone().with_precise_sampling().has_precise_sampling(),
            events: profile.events,
        })
    }
}

/// One command and its judge.
#[derive(Clone, Copy)]
pub(super) struct Step {
    /// What it shows.
    pub(super) name: &'static str,
    /// For the guest's shell. `<NAME>` is an event by its code, see [`with_codes`].
    pub(super) command: &'static str,
    /// Whether it makes sense on this machine.
    pub(super) fits: fn(&Facts) -> bool,
    /// Part of `cargo xtask test`.
    pub(super) short: bool,
    /// Judges output and exit status.
    pub(super) check: fn(&Output<'_>) -> Result<(), String>,
}

/// What a command printed, and what its check may ask.
#[derive(Debug)]
pub(super) struct Output<'a> {
    pub(super) text: &'a str,
    pub(super) status: i32,
    pub(super) facts: Facts,
    /// Of the whole run.
    pub(super) report: &'a Value,
}

/// A step with its verdict.
#[derive(Debug)]
pub(super) struct StepResult<'a> {
    pub(super) name: &'static str,
    pub(super) output: &'a str,
    pub(super) verdict: Result<(), String>,
}

/// The script that runs the steps and passes.
pub(super) fn script(steps: &[Step], events: EventTable) -> String {
    let mut script = String::new();
    for (number, step) in steps.iter().enumerate() {
        script += &marked(number, &with_codes(step.command, events));
    }
    script + END
}

/// A command with perf's terms in place of each `<NAME>` of an event of the table: the guest's perf may not know the
/// names (Debian 12's has none of Zen 5). perf prints the name, without `:u`. Other angle brackets are the shell's.
fn with_codes(command: &str, events: EventTable) -> String {
    let mut text = String::new();
    let mut rest = command;
    while let Some((before, behind)) = rest.split_once('<') {
        text += before;
        rest = behind;
        let named = behind.split_once('>').and_then(|(name, behind)| {
            let encoding = events.by_event(Event::from_name(name)?)?;
            Some((name, encoding.code.to_string(), behind))
        });
        if let Some((name, code, behind)) = named {
            text += &format!("{},name={name}/", code.trim_end_matches('/'));
            rest = behind;
        } else {
            text.push('<');
        }
    }
    text + rest
}

/// At the beginning of a script for a model of the core. perf reads /proc/kallsyms several times whenever it
/// records, which takes the kernel some billions of instructions before anything is sampled. What is sampled
/// there is in user space, so that three symbols do. `LARGE` are more KiB than the caches have.
pub(super) const FEW_SYMBOLS: &str = "\
for symbol in _text _stext; do echo \"ffffffff81000000 T $symbol\"; done > /tmp/kallsyms
echo 'ffffffff82000000 T _etext' >> /tmp/kallsyms
mount -o bind /tmp/kallsyms /proc/kallsyms
LARGE=$((4 * $(sed 's/K//' /sys/devices/system/cpu/cpu0/cache/index3/size)))
";

/// The last line of a script: the guest passes.
pub(super) const END: &str = "guest-exit 0\n";

/// A command whose output and exit status [`output_of`] will find.
pub(super) fn marked(number: usize, command: &str) -> String {
    let shown = command.replace('\'', r"'\''");
    // A step that breaks off leaves the others alone.
    format!("echo '{MARK} {number}'\necho '$ {shown}'\n( {command} ) 2>&1\necho \"{MARK} = $?\"\n")
}

/// Finds each step's output on the console and lets its check judge it.
pub(super) fn judge<'a>(
    steps: &[Step],
    facts: &Facts,
    console: &'a str,
    report: &Value,
) -> Vec<StepResult<'a>> {
    let judge = |(number, step): (usize, &Step)| {
        let Some((text, status)) = output_of(number, console) else {
            let verdict = Err(format!(
                "the session did not get to its end (or not to it); outcome {}",
                report["outcome"]["kind"]
            ));
            return StepResult { name: step.name, output: "", verdict };
        };
        let output = Output { text, status, facts: *facts, report };
        StepResult { name: step.name, output: text, verdict: (step.check)(&output) }
    };
    steps.iter().enumerate().map(judge).collect()
}

/// What a [`marked`] command printed, and its exit status; `None` if it did not come to its end.
pub(super) fn output_of(number: usize, console: &str) -> Option<(&str, i32)> {
    let start = format!("{MARK} {number}\r\n");
    let (_, rest) = console.split_once(&start)?;
    let (text, rest) = rest.split_once(&format!("{MARK} = "))?;
    Some((text, rest.lines().next()?.trim().parse().ok()?))
}

/// A console without the marks, and without the blanks with which perf fills its columns.
pub(super) fn readable(console: &str) -> String {
    let mut text = String::new();
    for line in console.lines().map(str::trim_end) {
        match line.strip_prefix(MARK).map(|mark| mark.strip_prefix(" = ")) {
            None => text += line,
            Some(None) => continue,
            Some(Some("0")) => {}
            Some(Some(status)) => text += &format!("[exit status {status}]"),
        }
        text.push('\n');
    }
    text
}

impl Output<'_> {
    /// Fails unless the command succeeded.
    pub(super) fn success(&self) -> Result<(), String> {
        if self.status == 0 { Ok(()) } else { Err(format!("exit status {}", self.status)) }
    }

    /// Fails unless the output has this.
    pub(super) fn has(&self, what: &str) -> Result<(), String> {
        if self.text.contains(what) { Ok(()) } else { Err(format!("`{what}` is missing")) }
    }

    /// Fails if the output has this.
    pub(super) fn has_not(&self, what: &str) -> Result<(), String> {
        if self.text.contains(what) { Err(format!("it says `{what}`")) } else { Ok(()) }
    }

    /// The count on perf stat's first line of an event.
    pub(super) fn count(&self, event: &str) -> Result<u64, String> {
        let word = self.count_words(event).next().ok_or_else(|| format!("no line for {event}"))?;
        word.parse().map_err(|_| format!("{event}: {word} is no count"))
    }

    /// The counts on all of perf stat's lines of an event.
    pub(super) fn counts(&self, event: &str) -> Vec<u64> {
        self.count_words(event).filter_map(|word| word.parse().ok()).collect()
    }

    /// The percentage in front of a metric of perf stat.
    pub(super) fn percent(&self, metric: &str) -> Result<f64, String> {
        let line = self.text.lines().find(|line| line.split_whitespace().any(|word| word == metric));
        let line = line.ok_or_else(|| format!("no line for {metric}"))?;
        let number = line.split_once('#').and_then(|(_, text)| text.split_whitespace().next());
        number.and_then(|word| word.parse().ok()).ok_or_else(|| format!("{metric}: {}", line.trim()))
    }

    /// The event is the second word of its lines, the count the first.
    fn count_words(&self, event: &str) -> impl Iterator<Item = &str> {
        let words = self.text.lines().map(|line| {
            let mut words = line.split_whitespace();
            (words.next(), words.next())
        });
        words.filter(move |(_, second)| *second == Some(event)).filter_map(|(first, _)| first)
    }

    /// What the VMM counted above privilege level 0 in the intervals of this name.
    pub(super) fn interval(&self, label: &str, event: &str) -> Result<u64, String> {
        let interval = self.interval_of(label)?;
        let mut rows = interval["rows"].as_array().into_iter().flatten();
        let row = rows.find(|row| row["event"] == event);
        row.and_then(|row| row["user"].as_u64()).ok_or_else(|| format!("the VMM did not count {event}"))
    }

    /// The VMM's first interval of this name.
    pub(super) fn interval_of(&self, label: &str) -> Result<&Value, String> {
        let mut intervals = self.report["intervals"].as_array().into_iter().flatten();
        let interval = intervals.find(|interval| interval["label"] == label);
        interval.ok_or_else(|| format!("the VMM has no interval {label}"))
    }

    /// The number behind `name=` or `name:`.
    pub(super) fn number(&self, name: &str) -> Result<u64, String> {
        let text = self.text.split_once(name).ok_or_else(|| format!("no `{name}`"))?.1;
        let digits: String =
            text.trim_start_matches(['=', ':', ' ']).chars().take_while(char::is_ascii_digit).collect();
        digits.parse().map_err(|_| format!("no number behind `{name}`"))
    }
}

/// Fails unless `a` lies within `tolerance` of `b`.
pub(super) fn near(what: &str, a: u64, b: u64, tolerance: u64) -> Result<(), String> {
    if a.abs_diff(b) <= tolerance {
        Ok(())
    } else {
        Err(format!("{what}: {a} instead of {b} (±{tolerance})"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_asked_for_by_their_codes() {
        let command = "perf stat -e '{cycles,<ex_ret_cond>u,<fp_ret_sse_avx_ops.mult_flops>u}' cat < a > b";
        let expected = "perf stat -e '{cycles,cpu/event=0xd1,umask=0x0,name=ex_ret_cond/u,\
                        cpu/event=0x3,umask=0x2,name=fp_ret_sse_avx_ops.mult_flops/u}' cat < a > b";
        assert_eq!(with_codes(command, EventTable::ZEN5), expected);
    }

    #[test]
    fn outputs_are_found_between_their_marks() {
        let console = "boot\r\n@@ 0\r\n$ a\r\nx\r\n@@ = 0\r\n@@ 1\r\n$ b\r\n  5  slots  # 1\r\n@@ = 255\r\n";
        assert_eq!(output_of(0, console), Some(("$ a\r\nx\r\n", 0)));
        let (text, status) = output_of(1, console).unwrap();
        assert_eq!(status, 255);
        let facts = Facts::of("icelake-sp", "counts").unwrap();
        let output = Output { text, status, facts, report: &Value::Null };
        assert_eq!(output.count("slots"), Ok(5));
        assert!(output.count("cycles").is_err() && output.success().is_err());
        assert_eq!(output_of(2, console), None);
        let text =
            " 7  UOPS_ISSUED.ANY  #     -5.3 %  tma_bad_speculation  (10.8%)\n  #  25.0 %  tma_retiring\n";
        let output = Output { text, ..output };
        assert_eq!(
            (output.percent("tma_bad_speculation"), output.percent("tma_retiring")),
            (Ok(-5.3), Ok(25.0))
        );
        assert!(output.percent("tma_bad").is_err());
        assert_eq!(readable(console), "boot\n$ a\nx\n\n$ b\n  5  slots  # 1\n[exit status 255]\n");
    }
}
