//! What later instructions make of something undefined: a difference in a recorded case is none if some value of what
//! its instructions leave undefined leads to the recorded end. (A live case asks the CPU about parts of it instead.)

use crate::case::{Case, Outcome};
use crate::compare::{Verdict, compare, instructions};
use crate::masks::{self, Undefined};
use crate::soft::{Change, Soft};
use iced_x86::Instruction;

/// Instructions of a case whose undefined results are varied together.
const TOGETHER: usize = 2;

/// Whether some values of what is undefined lead to the CPU's end of the case.
pub(crate) fn explains(case: &Case, native: &Outcome, soft: &mut Soft) -> bool {
    let list = instructions(case);
    // The last one that is executed has no later ones.
    let earlier = list.iter().filter(|instruction| instruction.ip() != native.rip);
    let sites: Vec<Vec<Change>> = earlier.map(variants).filter(|site| !site.is_empty()).collect();
    (1..=TOGETHER).any(|count| vary(case, native, soft, &sites, count, &mut Vec::new()))
}

fn vary(
    case: &Case,
    native: &Outcome,
    soft: &mut Soft,
    sites: &[Vec<Change>],
    count: usize,
    changes: &mut Vec<Change>,
) -> bool {
    if count == 0 {
        let Ok(end) = soft.run_changed(case, changes) else { return false };
        return !matches!(compare(case, native, &end), Verdict::Different(_));
    }
    (0..sites.len()).any(|n| {
        sites[n].iter().any(|change| {
            changes.push(*change);
            let found = vary(case, native, soft, &sites[n + 1..], count - 1, changes);
            changes.pop();
            found
        })
    })
}

/// Every other value of what an instruction leaves undefined.
fn variants(instruction: &Instruction) -> Vec<Change> {
    let Undefined { flags, status, last_place } = masks::undefined(instruction);
    let none = Change { rip: instruction.ip(), flags: 0, status: 0, places: [0; 2] };
    let mut list: Vec<Change> = subsets(flags).map(|flags| Change { flags, ..none }).collect();
    list.extend(subsets(status.into()).map(|status| Change { status: status as u16, ..none }));
    if last_place {
        let places = [[1, 0], [-1, 0], [0, 1], [0, -1], [1, 1], [-1, -1], [1, -1], [-1, 1]];
        list.extend(places.map(|places| Change { places, ..none }));
        list.push(Change { status: masks::C1, ..none });
    }
    list
}

/// The subsets of a set of bits, without the empty one.
fn subsets(bits: u64) -> impl Iterator<Item = u64> {
    let mut next = bits;
    std::iter::from_fn(move || {
        let subset = next;
        next = next.wrapping_sub(1) & bits;
        (subset != 0).then_some(subset)
    })
}

#[cfg(test)]
mod tests {
    use super::subsets;

    #[test]
    fn subsets_are_all_but_the_empty_one() {
        assert_eq!(subsets(0b101).collect::<Vec<_>>(), [0b101, 0b100, 0b001]);
        assert_eq!(subsets(0).count(), 0);
    }
}
