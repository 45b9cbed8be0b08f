//! How fast guest code runs: the soft engine beside QEMU's TCG and Bochs, on the same image in
//! interleaved rounds, and what running counters cost it. On both machines, the PC and the AArch64 one.
//!
//! The images `speed` and `arm_speed` say on its console when a loop begins and ends; the processor time between the
//! two lines contains neither start-up nor, because each loop has run before, translation. A boot of the kernel that
//! `cargo xtask linux` has fetched contains both.

mod bochs;
mod console;
mod linux;

use self::bochs::Bochs;
use self::console::Lines;
use self::linux::Linux;
use super::progress::Progress;
use super::{Figure, Report, figure, ratio};
use crate::error::TaskError;
use crate::images::{self, GuestImage};
use crate::linux::Architecture;
use crate::vpmu_cli::{EngineFlags, Vpmu};
use std::collections::BTreeMap;
use std::process::{Command, Stdio};

/// Length of the loops for Bochs, which is slower, in about ten million instructions.
const BOCHS_SCALE: u32 = 3;
/// Seconds of a loop that say what counters cost: a line is seen some time after it was written.
const SHORTEST: f64 = 0.01;
/// Rounds in which Linux is booted at most.
const BOOTS: usize = 3;

/// A machine whose engines are compared.
#[derive(Debug, Clone, Copy)]
struct Machine {
    /// Before the names of its figures.
    title: &'static str,
    image: &'static str,
    profile: &'static str,
    architecture: Architecture,
    /// Length of the loops, in about ten million instructions: each takes a tenth of a second or so.
    scale: u32,
    qemu: &'static str,
    /// Arguments of QEMU for this machine.
    qemu_machine: &'static [&'static str],
    /// Debian's package with it.
    qemu_package: &'static str,
    /// Bochs has such a machine.
    bochs: bool,
}

const MACHINES: [Machine; 2] = [
    Machine {
        title: "",
        image: "speed",
        profile: "sapphire-rapids",
        architecture: Architecture::Amd64,
        scale: 20,
        qemu: "qemu-system-x86_64",
        // With AVX2 and FMA.
        qemu_machine: &["-cpu", "max", "-device", "isa-debug-exit,iobase=0xf4,iosize=4"],
        qemu_package: "qemu-system-x86",
        bochs: true,
    },
    Machine {
        title: "AArch64: ",
        image: "arm_speed",
        profile: "falkor",
        architecture: Architecture::Arm64,
        scale: 10,
        qemu: "qemu-system-aarch64",
        qemu_machine: &["-machine", "virt,gic-version=3", "-cpu", "cortex-a57"],
        qemu_package: "qemu-system-arm",
        bochs: false,
    },
];

/// The whole image: its instructions over its time.
const WHOLE: [(&str, Option<&str>); 2] = [("all loops", None), ("all loops but string", Some("string"))];

/// One run of the image: what each loop took.
#[derive(Debug, Default)]
struct Run {
    loops: Vec<Loop>,
    lbr: bool,
}

#[derive(Debug)]
struct Loop {
    name: String,
    seconds: f64,
    /// Known if the guest's counters ran.
    instructions: Option<u64>,
}

/// What the guest's PMU does meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Watch {
    Nothing,
    Counts,
    /// Samples one instruction in 10,000 by PEBS, without a handler.
    Samples,
}

impl Watch {
    /// For the image's command line.
    fn word(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::Counts => " pmu",
            Self::Samples => " pebs",
        }
    }
}

/// Million instructions per second by loop and round.
type Rates = BTreeMap<String, Vec<f64>>;

fn failed(reason: impl std::fmt::Display) -> TaskError {
    TaskError::Measure { what: "guest speed", reason: reason.to_string() }
}

/// The speed of guest code.
pub(super) fn measure(rounds: usize, report: &mut Report) -> Result<(), TaskError> {
    let vpmu = Vpmu::build()?;
    let all = images::build()?;
    for machine in &MACHINES {
        match all.iter().find(|image| image.name == machine.image) {
            Some(image) => {
                let (own, missing) = on_machine(machine, &vpmu, image, rounds)?;
                let titled =
                    |figure: Figure| Figure { what: format!("{}{}", machine.title, figure.what), ..figure };
                report.add(own.into_iter().map(titled).collect(), rounds);
                missing.into_iter().for_each(|reason| report.skip(reason));
            }
            None => report
                .skip(format!("speed on {}: the image {} was not built", machine.profile, machine.image)),
        }
    }
    Ok(())
}

fn on_machine(
    machine: &Machine,
    vpmu: &Vpmu,
    image: &GuestImage,
    rounds: usize,
) -> Result<(Vec<Figure>, Vec<String>), TaskError> {
    let mut skipped = Vec::new();
    let qemu = installed(machine.qemu);
    if !qemu {
        skipped.push(format!("QEMU: {} is not installed (Debian: {})", machine.qemu, machine.qemu_package));
    }
    let bochs = machine.bochs.then(|| Bochs::prepare(image, &format!("scale={BOCHS_SCALE}")));
    let bochs = match bochs.transpose() {
        Ok(bochs) => bochs,
        Err(reason) => {
            skipped.push(format!("Bochs: {reason}"));
            None
        }
    };
    let soft = |scale, watch| soft(machine, vpmu, image, scale, watch);
    let counts = instructions(&soft(machine.scale, Watch::Counts)?)?;
    let bochs_counts = match bochs {
        Some(_) => instructions(&soft(BOCHS_SCALE, Watch::Counts)?)?,
        None => BTreeMap::new(),
    };
    let (mut ours, mut tcg, mut slow) = (Rates::new(), Rates::new(), Rates::new());
    let mut cost: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut sampling = Vec::new();
    let mut lbr = false;
    let linux = Linux::find(*machine)?;
    if linux.is_none() {
        skipped.push(format!("boot of Linux on {}: `cargo xtask linux` fetches a kernel", machine.profile));
    }
    let (mut our_boots, mut their_boots) = (Vec::new(), Vec::new());
    let boots = linux.as_ref().map_or(0, |_| rounds.min(BOOTS));
    let samples = usize::from(machine.architecture == Architecture::Amd64);
    let steps = 2 + samples + usize::from(qemu) + usize::from(bochs.is_some());
    let progress = Progress::new(rounds * steps + boots * 2);
    for round in 0..rounds {
        progress.begin("soft engine");
        // Which of the two goes first changes, so that a drifting machine favours neither.
        let watches = [Watch::Nothing, Watch::Counts];
        let first = soft(machine.scale, watches[round % 2])?;
        progress.begin("soft engine");
        let second = soft(machine.scale, watches[(round + 1) % 2])?;
        let (idle, counting) = if round % 2 == 0 { (first, second) } else { (second, first) };
        lbr = counting.lbr;
        for (off, on) in idle.loops.iter().zip(&counting.loops).filter(|(off, _)| off.seconds > SHORTEST) {
            cost.entry(off.name.clone()).or_default().push(on.seconds / off.seconds);
        }
        let total = |run: &Run| run.loops.iter().map(|each| each.seconds).sum::<f64>();
        cost.entry("all loops".to_owned()).or_default().push(total(&counting) / total(&idle));
        if machine.architecture == Architecture::Amd64 {
            progress.begin("soft engine with PEBS");
            sampling.push(total(&idle) / total(&soft(machine.scale, Watch::Samples)?));
        }
        add(&mut ours, &idle, &counts);
        if qemu {
            progress.begin("QEMU");
            add(&mut tcg, &qemu_run(machine, image)?, &counts);
        }
        if let Some(linux) = linux.as_ref().filter(|_| round < BOOTS) {
            progress.begin("boot of Linux, soft engine");
            our_boots.push(linux.soft(vpmu)?);
            progress.begin("boot of Linux, QEMU");
            if qemu {
                their_boots.push(linux.qemu()?);
            }
        }
        if let Some(bochs) = &bochs {
            progress.begin("Bochs");
            add(&mut slow, &bochs.run()?, &bochs_counts);
        }
        progress.say(&round_line(machine, round, [("soft engine", &ours), ("QEMU", &tcg), ("Bochs", &slow)]));
    }
    drop(progress);
    let mut figures = Vec::new();
    let mut compare = |name: &str, rates: &Rates, ours: &Rates| {
        let (mut product, mut loops) = (1.0, 0);
        for (what, samples) in rates {
            let theirs = figure(format!("{what}, {name}"), "M insn/s", samples.clone());
            let ours = figure("", "", ours.get(what).cloned().unwrap_or_default());
            let over = ratio(format!("{what}, soft engine to {name}"), &ours, &theirs);
            if !WHOLE.iter().any(|(whole, _)| whole == what) {
                product *= over.value;
                loops += 1;
            }
            figures.extend([theirs, over]);
        }
        if loops > 0 {
            let value = product.powf(1.0 / f64::from(loops));
            let what = format!("geometric mean of the loops, soft engine to {name}");
            figures.push(Figure { what, value, unit: "ratio", spread: None });
        }
    };
    compare("QEMU TCG -icount", &tcg, &ours);
    compare("Bochs", &slow, &ours);
    if !our_boots.is_empty() {
        let ours = figure("boot of Linux, soft engine", "s", our_boots);
        let theirs = figure("boot of Linux, QEMU TCG -icount", "s", their_boots);
        let over = ratio("boot of Linux, soft engine's speed to QEMU TCG -icount", &theirs, &ours);
        figures.push(ours);
        if qemu {
            figures.extend([theirs, over]);
        }
    }
    if !sampling.is_empty() {
        let what = "all loops, speed with a PEBS record each 10,000 instructions to without";
        figures.push(figure(what, "ratio", sampling));
    }
    let active = match (machine.architecture, lbr) {
        (Architecture::Arm64, _) => "6 armed counters",
        (Architecture::Amd64, true) => "8 armed counters and LBR",
        (Architecture::Amd64, false) => "8 armed counters, no LBR",
    };
    let mut all: Vec<Figure> = ours
        .into_iter()
        .map(|(what, samples)| figure(format!("{what}, soft engine"), "M insn/s", samples))
        .collect();
    all.extend(figures);
    all.extend(
        cost.into_iter()
            .map(|(what, ratios)| figure(format!("{what}, time with {active} to without"), "ratio", ratios)),
    );
    Ok((all, skipped))
}

/// What a round has shown of all loops together.
fn round_line(machine: &Machine, round: usize, emulators: [(&str, &Rates); 3]) -> String {
    let whole = |(name, rates): (&str, &Rates)| {
        let rate = rates.get(WHOLE[0].0)?.last()?;
        Some(format!("{name} {rate:.0} M insn/s"))
    };
    let rates: Vec<String> = emulators.into_iter().filter_map(whole).collect();
    format!("{}round {}: {}", machine.title, round + 1, rates.join(", "))
}

/// Instructions of each loop.
fn instructions(run: &Run) -> Result<BTreeMap<String, u64>, TaskError> {
    let count = |each: &Loop| {
        let instructions = each.instructions.ok_or_else(|| failed("the guest did not count instructions"))?;
        Ok((each.name.clone(), instructions))
    };
    run.loops.iter().map(count).collect()
}

fn add(rates: &mut Rates, run: &Run, counts: &BTreeMap<String, u64>) {
    for each in run.loops.iter().filter(|each| each.seconds > 0.0) {
        if let Some(count) = counts.get(&each.name) {
            rates.entry(each.name.clone()).or_default().push(*count as f64 / each.seconds / 1e6);
        }
    }
    for (whole, without) in WHOLE {
        let loops = run.loops.iter().filter(|each| without.is_none_or(|name| name != each.name));
        let sum = |sum: (u64, f64), each: &Loop| {
            (sum.0 + counts.get(&each.name).copied().unwrap_or(0), sum.1 + each.seconds)
        };
        let (instructions, seconds) = loops.fold((0, 0.0), sum);
        rates.entry(whole.to_owned()).or_default().push(instructions as f64 / seconds / 1e6);
    }
}

fn soft(
    machine: &Machine,
    vpmu: &Vpmu,
    image: &GuestImage,
    scale: u32,
    watch: Watch,
) -> Result<Run, TaskError> {
    let mut command = vpmu.on_image("run", &image.path, machine.profile, EngineFlags::Soft);
    command.args(["--append", &format!("scale={scale}{}", watch.word())]);
    collect(command)
}

fn qemu_run(machine: &Machine, image: &GuestImage) -> Result<Run, TaskError> {
    let mut command = machine.qemu("shift=0", "128");
    command.arg("-kernel").arg(&image.path).args(["-append", &format!("scale={}", machine.scale)]);
    collect(command)
}

impl Machine {
    /// QEMU with this machine, its console on standard output.
    fn qemu(&self, icount: &str, memory: &str) -> Command {
        let mut command = Command::new(self.qemu);
        command.args(["-accel", "tcg", "-icount", icount, "-m", memory, "-display", "none", "-no-reboot"]);
        command.args(["-serial", "stdio"]).args(self.qemu_machine);
        command
    }
}

/// Runs a program whose standard output is the guest's console.
fn collect(mut command: Command) -> Result<Run, TaskError> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = command.spawn().map_err(|source| TaskError::Start { program, source })?;
    let lines = child.stdout.take().map(|stdout| Lines::of(&child, stdout));
    let run = lines.ok_or_else(|| failed("no console")).and_then(|mut lines| lines.loops());
    // Done or not, the guest is no longer needed.
    let _ = child.kill();
    child.wait().map_err(failed)?;
    run.map_err(|error| of(&command, &error))
}

/// What went wrong, with the emulator that it went wrong in.
fn of(command: &Command, error: &TaskError) -> TaskError {
    failed(format!("{}: {error}", command.get_program().to_string_lossy()))
}

/// True if a program can be started.
fn installed(program: &str) -> bool {
    std::env::var_os("PATH")
        .is_some_and(|path| std::env::split_paths(&path).any(|folder| folder.join(program).is_file()))
}
