//! `--shard auto`: the part that a scheduler assigns by environment variables.

use std::fmt::Write as _;
use thiserror::Error;

/// A scheduler that starts the same command several times, and the variables by which each learns which one it is.
struct Scheduler {
    name: &'static str,
    index: &'static str,
    count: &'static str,
    /// Smallest index and distance of two, where they are not 0 and 1.
    first_and_step: Option<(&'static str, &'static str)>,
    /// What sets the count, for the error that it is missing.
    remedy: &'static str,
}

const SCHEDULERS: [Scheduler; 4] = [
    // Set in every pod of an indexed Job; its `completions` are in no field of the pod.
    Scheduler {
        name: "Kubernetes",
        index: "JOB_COMPLETION_INDEX",
        count: "JOB_COMPLETIONS",
        first_and_step: None,
        remedy: "give the container the Job's `completions` as JOB_COMPLETIONS, or write --shard auto/N",
    },
    // sbatch(1), OUTPUT ENVIRONMENT VARIABLES.
    Scheduler {
        name: "Slurm",
        index: "SLURM_ARRAY_TASK_ID",
        count: "SLURM_ARRAY_TASK_COUNT",
        first_and_step: Some(("SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_STEP")),
        remedy: "submit a job array (sbatch --array=1-8)",
    },
    // Bazel's test encyclopedia, Test sharding.
    Scheduler {
        name: "Bazel",
        index: "TEST_SHARD_INDEX",
        count: "TEST_TOTAL_SHARDS",
        first_and_step: None,
        remedy: "give the test target a shard_count",
    },
    // AWS Batch user guide, Job environment variables.
    Scheduler {
        name: "AWS Batch",
        index: "AWS_BATCH_JOB_ARRAY_INDEX",
        count: "AWS_BATCH_JOB_ARRAY_SIZE",
        first_and_step: None,
        remedy: "submit an array job, or write --shard auto/N",
    },
];

/// Set to 1 in every test that Bazel runs, sharded or not.
const IN_BAZEL: &str = "BAZEL_TEST";

/// Why the environment says no part.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum AutoError {
    #[error("--shard auto: no scheduler says which part this is")]
    NoScheduler,
    #[error("--shard auto: {variable} is {value:?}, which is no number")]
    Number { variable: &'static str, value: String },
    #[error("--shard auto: {scheduler} set {set}, but {missing} is not set")]
    Missing { scheduler: &'static str, set: &'static str, missing: &'static str, remedy: &'static str },
    #[error("--shard auto: {index} is {value}, and {count} is {total}: there is no such part")]
    Range { index: &'static str, value: u64, count: &'static str, total: u64 },
    #[error("--shard auto: {index} is {value}, {min} is {first} and {count} is {total}: the array has gaps")]
    Gaps { index: &'static str, value: u64, min: &'static str, first: u64, count: &'static str, total: u64 },
    #[error("--shard auto/{typed}: {count} is {total}")]
    OtherCount { typed: u64, count: &'static str, total: u64 },
    #[error("--shard auto: {first} and {second} say different parts")]
    TwoSchedulers { first: &'static str, second: &'static str },
}

impl AutoError {
    pub(crate) fn next_step(&self) -> String {
        match self {
            Self::NoScheduler => {
                let mut text = "set one of these pairs, or write --shard I/N:".to_owned();
                for Scheduler { name, index, count, .. } in &SCHEDULERS {
                    let _ = write!(text, " {index} and {count} ({name}),");
                }
                text.trim_end_matches(',').to_owned()
            }
            Self::Missing { remedy, .. } => (*remedy).to_owned(),
            Self::Gaps { .. } => "number the array without gaps (sbatch --array=1-8)".to_owned(),
            Self::OtherCount { .. } => "write --shard auto".to_owned(),
            Self::Number { .. } | Self::Range { .. } | Self::TwoSchedulers { .. } => {
                "correct the environment, or write --shard I/N".to_owned()
            }
        }
    }
}

/// The part `(index, count)`, the index from 0, that the variables say; `None` for a run that is not divided.
/// `typed` is a count that the user gave.
pub(super) fn part(
    variable: &impl Fn(&str) -> Option<String>,
    typed: Option<u64>,
) -> Result<Option<(u64, u64)>, AutoError> {
    let mut found: Option<(&'static str, (u64, u64))> = None;
    for scheduler in &SCHEDULERS {
        let Some(part) = scheduler.part(variable, typed)? else { continue };
        match found {
            Some((first, other)) if other != part => {
                return Err(AutoError::TwoSchedulers { first, second: scheduler.name });
            }
            _ => found = Some((scheduler.name, part)),
        }
    }
    match found {
        Some((_, part)) => Ok(Some(part)),
        None if typed.is_none() && variable(IN_BAZEL).is_some() => Ok(None),
        None => Err(AutoError::NoScheduler),
    }
}

impl Scheduler {
    fn part(
        &self,
        variable: &impl Fn(&str) -> Option<String>,
        typed: Option<u64>,
    ) -> Result<Option<(u64, u64)>, AutoError> {
        let number = |variable_name: &'static str| match variable(variable_name) {
            // Some schedulers set a variable to nothing where it does not apply.
            Some(value) if !value.is_empty() => {
                let parsed = value.parse::<u64>();
                parsed.map(Some).map_err(|_| AutoError::Number { variable: variable_name, value })
            }
            _ => Ok(None),
        };
        let Self { name: scheduler, index: index_name, count: count_name, remedy, .. } = *self;
        let missing = |set, missing| AutoError::Missing { scheduler, set, missing, remedy };
        let (value, total) = match (number(index_name)?, number(count_name)?, typed) {
            (None, None, _) => return Ok(None),
            (None, Some(_), _) => return Err(missing(count_name, index_name)),
            (Some(_), None, None) => return Err(missing(index_name, count_name)),
            (Some(_), Some(total), Some(typed)) if total != typed => {
                return Err(AutoError::OtherCount { typed, count: count_name, total });
            }
            (Some(value), Some(total), _) | (Some(value), None, Some(total)) => (value, total),
        };
        let Some((min_name, step_name)) = self.first_and_step else {
            let range = AutoError::Range { index: index_name, value, count: count_name, total };
            return if value < total { Ok(Some((value, total))) } else { Err(range) };
        };
        let (first, step) = (number(min_name)?.unwrap_or(0), number(step_name)?.unwrap_or(1).max(1));
        let gaps =
            AutoError::Gaps { index: index_name, value, min: min_name, first, count: count_name, total };
        match value.checked_sub(first) {
            Some(offset) if offset.is_multiple_of(step) && offset / step < total => {
                Ok(Some((offset / step, total)))
            }
            _ => Err(gaps),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn auto(variables: &[(&str, &str)], typed: Option<u64>) -> Result<Option<(u64, u64)>, AutoError> {
        let get = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        part(&get, typed)
    }

    #[test]
    fn every_scheduler_counts_in_its_own_way() {
        let cases: [(&[_], _); 6] = [
            (&[("JOB_COMPLETION_INDEX", "0"), ("JOB_COMPLETIONS", "8")], (0, 8)),
            (&[("TEST_SHARD_INDEX", "3"), ("TEST_TOTAL_SHARDS", "4")], (3, 4)),
            (&[("AWS_BATCH_JOB_ARRAY_INDEX", "2"), ("AWS_BATCH_JOB_ARRAY_SIZE", "5")], (2, 5)),
            // sbatch --array=1-8
            (
                &[
                    ("SLURM_ARRAY_TASK_ID", "8"),
                    ("SLURM_ARRAY_TASK_COUNT", "8"),
                    ("SLURM_ARRAY_TASK_MIN", "1"),
                ],
                (7, 8),
            ),
            // sbatch --array=10-18:4
            (
                &[
                    ("SLURM_ARRAY_TASK_ID", "14"),
                    ("SLURM_ARRAY_TASK_COUNT", "3"),
                    ("SLURM_ARRAY_TASK_MIN", "10"),
                    ("SLURM_ARRAY_TASK_STEP", "4"),
                ],
                (1, 3),
            ),
            // sbatch --array=0-3
            (&[("SLURM_ARRAY_TASK_ID", "0"), ("SLURM_ARRAY_TASK_COUNT", "4")], (0, 4)),
        ];
        for (variables, expected) in cases {
            assert_eq!(auto(variables, None), Ok(Some(expected)), "{variables:?}");
        }
    }

    #[test]
    fn a_count_may_be_typed_but_not_another_one() {
        let index = ("JOB_COMPLETION_INDEX", "7");
        assert_eq!(auto(&[index], Some(8)), Ok(Some((7, 8))));
        assert_eq!(auto(&[index, ("JOB_COMPLETIONS", "8")], Some(8)), Ok(Some((7, 8))));
        let other = auto(&[index, ("JOB_COMPLETIONS", "9")], Some(8)).unwrap_err();
        assert_eq!(other.to_string(), "--shard auto/8: JOB_COMPLETIONS is 9");
    }

    #[test]
    fn what_does_not_fit_together_is_an_error() {
        let error = |variables: &[(&str, &str)]| auto(variables, None).unwrap_err();
        assert_eq!(error(&[]), AutoError::NoScheduler);
        assert!(error(&[]).next_step().contains("SLURM_ARRAY_TASK_ID and SLURM_ARRAY_TASK_COUNT (Slurm)"));
        let uncounted = error(&[("JOB_COMPLETION_INDEX", "0")]);
        assert_eq!(
            uncounted.to_string(),
            "--shard auto: Kubernetes set JOB_COMPLETION_INDEX, but JOB_COMPLETIONS is not set"
        );
        assert!(uncounted.next_step().contains("auto/N"), "{}", uncounted.next_step());
        assert!(matches!(
            error(&[("TEST_TOTAL_SHARDS", "4")]),
            AutoError::Missing { missing: "TEST_SHARD_INDEX", .. }
        ));
        for (index, count) in [("4", "4"), ("0", "0")] {
            let range = error(&[("TEST_SHARD_INDEX", index), ("TEST_TOTAL_SHARDS", count)]);
            assert!(matches!(range, AutoError::Range { .. }), "{range}");
        }
        for wrong in ["-1", "x", "1.5", " 1"] {
            let number = error(&[("TEST_SHARD_INDEX", wrong), ("TEST_TOTAL_SHARDS", "4")]);
            assert!(matches!(number, AutoError::Number { variable: "TEST_SHARD_INDEX", .. }), "{number}");
        }
        // sbatch --array=1,3,7: the last one is no third part of three.
        let slurm = |id| {
            [("SLURM_ARRAY_TASK_ID", id), ("SLURM_ARRAY_TASK_COUNT", "3"), ("SLURM_ARRAY_TASK_MIN", "1")]
        };
        assert!(matches!(error(&slurm("7")), AutoError::Gaps { .. }));
        assert!(matches!(error(&slurm("0")), AutoError::Gaps { .. }));
    }

    #[test]
    fn two_schedulers_have_to_agree() {
        let kubernetes = [("JOB_COMPLETION_INDEX", "1"), ("JOB_COMPLETIONS", "4")];
        let bazel = |index| [("TEST_SHARD_INDEX", index), ("TEST_TOTAL_SHARDS", "4")];
        let both = |index| auto(&[kubernetes, bazel(index)].concat(), None);
        assert_eq!(both("1"), Ok(Some((1, 4))));
        assert_eq!(
            both("2").unwrap_err().to_string(),
            "--shard auto: Kubernetes and Bazel say different parts"
        );
    }

    #[test]
    fn bazel_without_shards_runs_everything_and_empty_variables_are_unset() {
        assert_eq!(auto(&[("BAZEL_TEST", "1")], None), Ok(None));
        assert_eq!(
            auto(&[("BAZEL_TEST", "1"), ("TEST_SHARD_INDEX", ""), ("TEST_TOTAL_SHARDS", "")], None),
            Ok(None)
        );
    }
}
