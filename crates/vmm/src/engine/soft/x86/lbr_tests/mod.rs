//! What a guest reads from its branch records is what it has done: programs of random branches, whose taken
//! branches are found a second time by stepping through them and decoding each instruction.

mod guest;
mod oracle;

use self::guest::{Guest, Program, Random};
use self::oracle::{Kind, Taken};
use vpmu::Profile;
use vpmu::profile::{ICELAKE_SP, LUNAR_LAKE_P, SAPPHIRE_RAPIDS};

/// Records of either kind.
const DEPTH: usize = 32;
const PROGRAMS: u64 = 6;

/// What is recorded.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    kinds: Vec<Kind>,
    /// Branches that end in ring 0, in ring 3.
    rings: (bool, bool),
    call_stack: bool,
    /// Of the architectural records.
    depth: usize,
    /// Instructions and branches are logged with records, of the counters 0 and 3.
    logged: bool,
}

impl Setting {
    fn of(kinds: &[Kind]) -> Self {
        Self { kinds: kinds.to_vec(), rings: (true, true), call_stack: false, depth: DEPTH, logged: false }
    }

    fn admits(&self, taken: &Taken) -> bool {
        let ring = if taken.to_ring == 0 { self.rings.0 } else { self.rings.1 };
        ring && self.kinds.contains(&taken.kind)
    }
}

/// Every filter bit alone, both rings alone, everything, and random mixtures.
fn settings(random: &mut Random) -> Vec<Setting> {
    let mut settings: Vec<Setting> = Kind::ALL.map(|kind| Setting::of(&[kind])).into();
    let all = Setting::of(&Kind::ALL);
    settings.push(Setting { rings: (true, false), ..all.clone() });
    settings.push(Setting { rings: (false, true), ..all.clone() });
    settings.push(Setting { depth: 8, ..all.clone() });
    settings.push(all);
    for _ in 0..6 {
        let bits = random.below(128);
        let kinds: Vec<Kind> = Kind::ALL.into_iter().filter(|kind| bits >> *kind as u32 & 1 != 0).collect();
        let rings = [(true, true), (true, false), (false, true)][random.below(3) as usize];
        let depth = [8, 16, 32][random.below(3) as usize];
        settings.push(Setting { rings, depth, ..Setting::of(&kinds) });
    }
    settings
}

/// FROM, TO and INFO, newest first; zeros where nothing was recorded.
fn expected(profile: &Profile, setting: &Setting, taken: &[Taken]) -> Vec<[u64; 3]> {
    let is_arch = guest::is_arch(profile);
    let depth = if is_arch { setting.depth } else { DEPTH };
    let mut stack: Vec<[u64; 3]> = Vec::new();
    let mut last = None;
    let mut logged = [0; 2];
    for branch in taken.iter().filter(|branch| setting.admits(branch)) {
        if setting.call_stack && branch.kind == Kind::Return {
            if stack.pop().is_some() {
                last = Some(branch.retired);
            }
            continue;
        }
        let cycles = last.map(|last| branch.retired - last);
        let info = match cycles {
            Some(cycles) if is_arch => 1 << 60 | cycles,
            cycles => cycles.unwrap_or(0),
        };
        let kind = if is_arch { branch.kind.arch_type() << 56 } else { 0 };
        let events = [0, 1].map(|n| (branch.through[n] - logged[n]).min(3));
        logged = branch.through;
        let info = if setting.logged { info | events[0] << 32 | events[1] << 38 } else { info };
        // The architectural records hide where a branch comes from if that level is not recorded.
        let hidden = is_arch && !if branch.from_ring == 0 { setting.rings.0 } else { setting.rings.1 };
        stack.push([if hidden { u64::MAX } else { branch.from }, branch.to, info | kind]);
        if stack.len() > depth {
            stack.remove(0);
        }
        last = Some(branch.retired);
    }
    stack.reverse();
    stack.resize(depth, [0; 3]);
    stack
}

#[track_caller]
fn check(profile: &Profile, program: &Program, taken: &[Taken], setting: &Setting) {
    let read = Guest::new(profile, program, setting).run();
    let expected = expected(profile, setting, taken);
    for (age, wanted) in expected.iter().enumerate() {
        assert_eq!(
            read[age].map(Hex),
            wanted.map(Hex),
            "record {age} of {}, program {}, {setting:?}",
            profile.name,
            program.seed
        );
    }
}

/// Prints in hexadecimal.
#[derive(PartialEq, Eq)]
struct Hex(u64);

impl std::fmt::Debug for Hex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// Counters 0 and 3 log instructions and branches, counter 2 counts instructions only. Before the first record the
/// number of either is that of the guest's start too, so that programs with few records are no test.
#[test]
fn records_hold_the_events_since_the_one_before() {
    let mut checked = 0;
    for seed in 0..PROGRAMS {
        let program = Program::random(seed);
        let mut random = Random::new(seed ^ 0x1_0661);
        let taken = oracle::trace(&LUNAR_LAKE_P, &program);
        for setting in settings(&mut random) {
            let setting = Setting { logged: true, ..setting };
            if taken.iter().filter(|branch| setting.admits(branch)).count() > setting.depth {
                check(&LUNAR_LAKE_P, &program, &taken, &setting);
                checked += 1;
            }
        }
    }
    assert!(checked > 30, "only {checked} programs have so many records");
}

const BOTH: [Profile; 2] = [ICELAKE_SP, SAPPHIRE_RAPIDS];

#[test]
fn the_records_are_the_last_branches_taken_with_each_filter() {
    let mut branches = 0;
    for seed in 0..PROGRAMS {
        let program = Program::random(seed);
        let mut random = Random::new(seed ^ 0xF117E5);
        for profile in BOTH {
            let taken = oracle::trace(&profile, &program);
            branches += taken.len();
            for setting in settings(&mut random) {
                check(&profile, &program, &taken, &setting);
            }
        }
    }
    assert!(branches > 100 * PROGRAMS as usize, "only {branches} branches were taken");
}

#[test]
fn every_kind_of_branch_and_both_rings_are_in_the_programs() {
    let taken: Vec<Taken> =
        (0..PROGRAMS).flat_map(|seed| oracle::trace(&ICELAKE_SP, &Program::random(seed))).collect();
    for kind in Kind::ALL {
        assert!(taken.iter().filter(|taken| taken.kind == kind).count() > 20, "{kind:?}");
    }
    for ring in [0, 3] {
        assert!(taken.iter().filter(|taken| taken.to_ring == ring).count() > 100, "ring {ring}");
    }
}

#[test]
fn in_call_stack_mode_the_records_are_the_chain_of_open_calls() {
    let (mut shallow, mut deep) = (0, 0);
    for seed in 0..PROGRAMS {
        let program = Program::random(seed);
        for profile in BOTH {
            let taken = oracle::trace(&profile, &program);
            let calls = [Kind::RelativeCall, Kind::IndirectCall, Kind::Return];
            // Ring 3 only: the handlers of ring 0 have calls of their own.
            let setting = Setting { rings: (false, true), call_stack: true, ..Setting::of(&calls) };
            check(&profile, &program, &taken, &setting);

            // Said once more without the rules of a stack of records: who called whom, up to the first function.
            let read = Guest::new(&profile, &program, &setting).run();
            let mut open = Vec::new();
            for branch in taken.iter().filter(|branch| branch.to_ring == 3) {
                match branch.kind {
                    Kind::RelativeCall | Kind::IndirectCall => open.push((branch.from, branch.to)),
                    Kind::Return => _ = open.pop(),
                    _ => {}
                }
            }
            let records: Vec<(u64, u64)> = read.iter().map(|[from, to, _]| (*from, *to)).collect();
            let newest: Vec<(u64, u64)> = open.iter().rev().take(program.depth()).copied().collect();
            if open.len() <= DEPTH {
                shallow += 1;
                assert_eq!(records[..newest.len()], newest, "{} program {seed}", profile.name);
                assert!(
                    records[newest.len()..].iter().all(|record| *record == (0, 0)),
                    "nothing below the first call"
                );
            } else {
                deep += 1;
                let kept = records.iter().take_while(|record| **record != (0, 0)).count();
                assert_eq!(records[..kept], newest[..kept], "{} program {seed}", profile.name);
            }
        }
    }
    assert!(shallow > 0 && deep > 0, "chains that fit ({shallow}) and that do not ({deep})");
}
