//! rr records programs in the guest and replays them: it wants counts that are the same each time, and an interrupt at
//! a count of conditional branches.

use super::apt::Apt;
use super::session::{Facts, Output, Step};
use super::steps::COMPLAINTS;
use super::{Guest, Session, directory};
use crate::error::TaskError;
use crate::tally::Tally;
use std::path::{Path, PathBuf};
use vpmu::profile::Vendor;

/// Debian's packages with rr's own files; the libraries that it shares with perf are in the RAM disk already.
const PACKAGES: [&str; 2] = ["rr", "libcapnp-0.9.2"];
/// Where rr looks for its files is beside the directory that it is in.
const FILES: [&str; 7] = [
    "usr/bin/rr",
    "usr/lib/rr/librraudit.so",
    "usr/lib/rr/librrpage.so",
    "usr/lib/rr/librrpreload.so",
    "usr/lib/rr/rr_exec_stub",
    "usr/lib/x86_64-linux-gnu/libcapnp-0.9.2.so",
    "usr/lib/x86_64-linux-gnu/libkj-0.9.2.so",
];

/// Records and replays.
pub(super) fn check(guest: &Guest, profile: &str, tally: &mut Tally) -> Result<(), TaskError> {
    match fetch(guest)? {
        Ok(files) => {
            let session = Session { files, ..Session::of("rr", steps) };
            session.check(guest, profile, tally)
        }
        Err(reason) => {
            anstream::println!("skipped {profile}: rr: {reason}");
            tally.skipped += 1;
            Ok(())
        }
    }
}

/// Its files, or why they cannot be had.
fn fetch(guest: &Guest) -> Result<Result<Vec<PathBuf>, String>, TaskError> {
    let own = directory(guest.architecture);
    let root = own.join("rr");
    let files = |root: &Path| FILES.map(|file| root.join(file)).to_vec();
    if files(&root).iter().all(|file| file.is_file()) {
        return Ok(Ok(files(&root)));
    }
    let apt = match Apt::of(&own, guest.architecture)? {
        Ok(apt) => apt,
        Err(reason) => return Ok(Err(reason)),
    };
    if let Err(reason) = apt.unpack(&PACKAGES, &own.join("rr-packages"), &root)? {
        return Ok(Err(reason));
    }
    let missing = files(&root).into_iter().find(|file| !file.is_file());
    Ok(missing.map_or_else(|| Ok(files(&root)), |file| Err(format!("{} is in no package", file.display()))))
}

fn steps(facts: &Facts, _short: bool) -> Vec<Step> {
    STEPS.iter().chain([&COMPLAINTS]).filter(|step| (step.fits)(facts)).copied().collect()
}

/// The same lines came from the replay.
fn replayed(output: &Output<'_>) -> Result<(), String> {
    output.success()?;
    output.has("replayed the same")
}

const STEPS: &[Step] = &[
    Step {
        name: "rr takes the PMU",
        // Debian's rr 5.6 refuses Intel's CPUs from Sapphire Rapids on and AMD's from Zen 5 on, whose counters of
        // conditional branches have the same events as before: `-A` says what to take them for.
        command: "mkdir -p /usr/lib/rr /dev/shm && mv /rr /usr/bin/rr-itself && \
                  mv /librr* /rr_exec_stub /usr/lib/rr/ && mv /libcapnp* /libkj* /lib/x86_64-linux-gnu/ && \
                  case $(rr-itself record true 2>&1) in *'Intel CPU type '*' unknown'*) as='-A icelake' ;; \
                  *'AMD CPU type '*' unknown'*) as='-A zen' ;; esac; \
                  printf '#!/bin/sh\\nexec rr-itself %s \"$@\"\\n' \"$as\" > /usr/bin/rr && chmod +x /usr/bin/rr && \
                  cat /usr/bin/rr && rr --version && rr record call-chain 10 && rr replay -a",
        fits: |_| true,
        short: false,
        check: |output| {
            output.success()?;
            output.has("rr version 5.")
        },
    },
    Step {
        name: "rr replays two processes that took turns every 5,000 conditional branches",
        command: "rr record -c 5000 sh -c 'call-chain 300 & call-chain 400; wait; echo sum $((6 * 7))' > recorded && \
                  rr replay -a > replayed && cat replayed && cmp recorded replayed && echo replayed the same",
        fits: |facts| facts.vendor == Vendor::Intel,
        short: false,
        check: |output| {
            replayed(output)?;
            output.has("sum 42")
        },
    },
    Step {
        name: "rr replays two processes that take turns",
        // It takes interrupts of Zen's counters for up to 10,000 branches late (`skid_size` in rr's
        // `src/PerfCounters_x86.h`), and goes so far by single steps before each turn that a time slice ended.
        command: "rr record sh -c 'call-chain 300 & call-chain 400; wait; echo sum $((6 * 7))' > recorded && \
                  rr replay -a > replayed && cat replayed && cmp recorded replayed && echo replayed the same",
        fits: |facts| facts.vendor == Vendor::Amd,
        short: false,
        check: |output| {
            replayed(output)?;
            output.has("sum 42")
        },
    },
    Step {
        name: "rr replays a pipeline with signals between its processes",
        command: "rr record sh -c 'trap \"echo caught\" USR1; \
                  (kill -USR1 $$; seq 300 | sort -r | md5sum) & wait; wait' > recorded && \
                  rr replay -a > replayed && cat replayed && cmp recorded replayed && echo replayed the same",
        fits: |_| true,
        short: false,
        check: |output| {
            replayed(output)?;
            output.has("caught")
        },
    },
];
