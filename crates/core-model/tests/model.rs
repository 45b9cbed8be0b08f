//! The model as an engine uses it.
#![allow(missing_docs)]
#![allow(clippy::unwrap_used, reason = "test code")]

use core_model::{CoreEvent, GOLDEN_COVE, Model, SUNNY_COVE, Step};
use iced_x86::{Decoder, DecoderOptions, code_asm::*};

#[test]
fn every_slot_of_every_cycle_is_booked_at_each_privilege_level() {
    for core in [&SUNNY_COVE, &GOLDEN_COVE] {
        let mut assembler = CodeAssembler::new(64).unwrap();
        assembler.imul_2(rax, rbx).unwrap();
        assembler.add(rcx, rdx).unwrap();
        assembler.div(rdi).unwrap();
        assembler.nop().unwrap();
        let bytes = assembler.assemble(0).unwrap();
        let mut model = Model::new(core).unwrap();
        let code: Vec<_> = Decoder::new(64, &bytes, DecoderOptions::NONE)
            .iter()
            .map(|instruction| (model.prepare(&instruction), instruction))
            .collect();
        for round in 0..1000_u64 {
            for (prepared, instruction) in &code {
                let step = Step {
                    rip: instruction.ip(),
                    fetch_pa: instruction.ip(),
                    fetch_page: 12,
                    length: instruction.len() as u8,
                    user: round % 7 == 3,
                    memory: &[],
                    branch: None,
                    repetitions: 1,
                };
                model.retire(prepared, &step);
            }
        }
        model.event(CoreEvent::Serialise);
        let width = u64::from(core.dispatch_width);
        for user in [false, true] {
            let totals = model.totals(user);
            assert_eq!(totals.slots.total(), totals.cycles * width, "user {user}");
            assert!(totals.cycles > 0);
        }
        assert_eq!(model.totals(false).cycles + model.totals(true).cycles, model.cycles());
        assert_eq!(model.totals(false).instructions + model.totals(true).instructions, 4000);
    }
}
