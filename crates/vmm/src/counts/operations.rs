//! AMD's events of retired operations by width and type, of Zen 4 and Zen 5: any unit mask of them.
//!
//! Source: Linux `tools/perf/pmu-events/arch/x86/amdzen4/floating-point.json` and `amdzen5`. The width has a bit for
//! each in its unit mask; the others have a type in the low and in the high half, of which 15 stands for all.

use soft_cpu::{OperationFile as File, OperationTypes, Operations};
use vpmu::Profile;
use vpmu::event::Event;
use vpmu::source::{EventRequest, PrivilegeFilter};

/// `fp_ops_retired_by_width`.
const BY_WIDTH: u16 = 0x08;
/// `fp_ops_retired_by_type`, `sse_avx_ops_retired`, `fp_pack_ops_retired` and `packed_int_op_type`: the files of the
/// low half of the unit mask, and of the high one.
const BY_TYPE: [(u16, &[File], &[File]); 4] = [
    (0x0A, &[File::ScalarFloat], &[File::Float128, File::Float256, File::Float512]),
    (0x0B, &[File::Mmx], &[File::Integer128, File::Integer256, File::Integer512]),
    (0x0C, &[File::Float128], &[File::Float256]),
    (0x0D, &[File::Integer128], &[File::Integer256]),
];
/// The files of each bit of the width.
const WIDTHS: [&[File]; 6] = [
    &[File::X87],
    &[File::Mmx],
    &[File::ScalarFloat],
    &[File::Float128, File::Integer128],
    &[File::Float256, File::Integer256],
    &[File::Float512, File::Integer512],
];

/// Whose types the events of a profile's CPU have; `None` if it has no such events.
pub(crate) fn types(profile: &Profile) -> Option<OperationTypes> {
    let known = |event| profile.events.by_event(event).is_some();
    if !known(Event::FpOpsRetiredByTypeAll) {
        return None;
    }
    Some(if known(Event::SseAvxOpsRetiredSseAvxVnni) { OperationTypes::Zen5 } else { OperationTypes::Zen4 })
}

/// Operations that an event select asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Selection {
    event: u16,
    umask: u16,
}

impl Selection {
    /// What a request asks for, on a CPU that has these events.
    pub(super) fn of(request: &EventRequest) -> Option<Self> {
        let code = request.code;
        let known = code.select == BY_WIDTH || BY_TYPE.iter().any(|(event, ..)| *event == code.select);
        (known && code.is_plain()).then_some(Self { event: code.select, umask: code.umask })
    }

    /// How many there were at the privilege levels of a filter. From the first call on they are counted.
    pub(super) fn sum(self, operations: &Operations, filter: PrivilegeFilter) -> u64 {
        operations.want();
        let at = |user| {
            let mut sum = 0;
            self.each(|file, types| sum += operations.total(user, file, types));
            sum
        };
        let os = if filter.os { at(false) } else { 0 };
        let usr = if filter.usr { at(true) } else { 0 };
        os + usr
    }

    /// The files that are asked for, and the types there as bits.
    fn each(self, mut with: impl FnMut(File, u16)) {
        if self.event == BY_WIDTH {
            let wanted = WIDTHS.iter().enumerate().filter(|(bit, _)| self.umask >> bit & 1 != 0);
            wanted.flat_map(|(_, files)| *files).for_each(|file| with(*file, u16::MAX));
            return;
        }
        let Some((_, low, high)) = BY_TYPE.iter().find(|(event, ..)| *event == self.event) else { return };
        for (files, half) in [(low, self.umask & 0xF), (high, self.umask >> 4 & 0xF)] {
            let types = match half {
                0 => continue,
                0xF => u16::MAX,
                one => 1 << one,
            };
            files.iter().for_each(|file| with(*file, types));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vpmu::event::EventCode;
    use vpmu::profile::{ZEN3, ZEN4, ZEN5};

    fn files(select: u16, umask: u16) -> Vec<(File, u16)> {
        let request = EventRequest { code: EventCode::new(select, umask), ..EventRequest::default() };
        let mut files = Vec::new();
        Selection::of(&request).unwrap().each(|file, types| files.push((file, types)));
        files
    }

    #[test]
    fn a_unit_mask_has_a_type_in_each_half() {
        assert_eq!(files(0x0A, 0x01), [(File::ScalarFloat, 2)]);
        assert_eq!(files(0x0C, 0xF4), [(File::Float128, 1 << 4), (File::Float256, u16::MAX)]);
        assert_eq!(files(0x0D, 0), []);
        assert_eq!(files(0x08, 0x05), [(File::X87, u16::MAX), (File::ScalarFloat, u16::MAX)]);
    }

    #[test]
    fn other_events_and_cycles_are_none_of_them() {
        for code in [EventCode::new(0x03, 1), EventCode { cmask: 1, ..EventCode::new(0x0A, 1) }] {
            assert_eq!(Selection::of(&EventRequest { code, ..EventRequest::default() }), None);
        }
    }

    #[test]
    fn zen_4_and_5_have_types_of_their_own() {
        let types = [&ZEN3, &ZEN4, &ZEN5].map(types);
        assert_eq!(types, [None, Some(OperationTypes::Zen4), Some(OperationTypes::Zen5)]);
    }

    /// The named types of each half of a unit mask, and all of it.
    #[test]
    fn the_types_of_every_list_are_parts_of_all() {
        for profile in [&ZEN4, &ZEN5] {
            let operations = Operations::default();
            operations.want();
            for encoding in profile.events.encodings() {
                let request = EventRequest { code: encoding.code, ..EventRequest::default() };
                if let Some(selection) = Selection::of(&request) {
                    assert_eq!(selection.sum(&operations, PrivilegeFilter::ALL), 0, "{}", encoding.name);
                    let mut any = false;
                    selection.each(|_, _| any = true);
                    assert!(any, "{} of {}", encoding.name, profile.name);
                }
            }
        }
    }
}
