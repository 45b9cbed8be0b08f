//! XSAVEOPT behind an XRSTOR of the same area, on the host's CPU and in the interpreter. The CPU may leave out what has
//! not been modified since, and it may save what is as after RESET (SDM volume 1, "Operation of XSAVEOPT" and XINUSE,
//! which processors track as they like); a second XRSTOR finds the same registers in the area all the same.
#![allow(missing_docs)]

use oracle::case::Case;
use oracle::compare::{Verdict, compare};
use oracle::cpu::CpuId;
use oracle::layout::{SCRATCH, XSAVE_IMAGE};
use oracle::machine::Machine;
use oracle::native::Native;
use oracle::soft::Soft;
use soft_cpu::silicon::Silicon;

/// MOV EAX, components; XRSTOR or XSAVEOPT [XSAVE_IMAGE].
fn on_area(components: u8, reg: u8) -> Vec<u8> {
    let mut code = vec![0xB8, components, 0, 0, 0, 0x0F, 0xAE, 0x04 | reg << 3, 0x25];
    code.extend((XSAVE_IMAGE as u32).to_le_bytes());
    code
}

const XRSTOR: u8 = 5;
const XSAVEOPT: u8 = 6;

#[test]
fn what_xsaveopt_saves_is_restored() {
    let machine = Machine::host();
    if machine < Machine::Xsave {
        println!("SKIP oracle: this CPU does not have XSAVE");
        return;
    }
    let native = Native::new().inspect_err(|error| println!("SKIP oracle: {error}"));
    let (Ok(mut native), Some(cpu)) = (native, CpuId::host()) else { return };
    let silicon = cpu.silicon();
    let mut soft = Soft::new(silicon);
    // Nothing; PCMPEQB xmm3, xmm3; VPCMPEQB ymm4, ymm5, ymm5; VPTERNLOGD zmm17, zmm1, zmm2, 0FFH and KXNORQ k1, k2, k2:
    // ones, so that there is no doubt that a component is in use.
    let changes: [(Machine, &[u8]); 4] = [
        (Machine::Xsave, &[]),
        (Machine::Xsave, &[0x66, 0x0F, 0x74, 0xDB]),
        (Machine::Avx, &[0xC5, 0xD5, 0x74, 0xE5]),
        (Machine::Avx512, &[0x62, 0xE3, 0x75, 0x48, 0x25, 0xCA, 0xFF, 0xC4, 0xE1, 0xEC, 0x46, 0xCA]),
    ];
    let mut ended = 0;
    for seed in 0..6_000_u64 {
        // Without AVX-512, XRSTOR refuses the seven of eight areas whose XSTATE_BV names a part of it: more are tried.
        if seed >= 600 && ended > 100 {
            break;
        }
        let (needed, change) = changes[(seed % 4) as usize];
        if machine < needed {
            continue;
        }
        let restored = [0xE7, 0x67, 0x04, 0xE3][(seed / 4 % 4) as usize];
        let saved = [0xE6, 0x22, 0xC6][(seed / 16 % 3) as usize];
        let whole = on_area(0xE7, XRSTOR);
        let code = [on_area(restored, XRSTOR), change.to_vec(), on_area(saved, XSAVEOPT), whole].concat();
        let case = Case { code, offset: 0x100, seed, machine };
        let [cpu, own] = [native.run(&case), soft.run(&case)].map(|end| {
            let mut end = end.expect("an end");
            // From MXCSR_MASK on; the registers show what matters of it.
            let area = (XSAVE_IMAGE - SCRATCH) as u16;
            end.memory.retain(|(at, _)| !(area + 28..area + 4096).contains(at));
            end
        });
        // Seen on Zen 4 and Zen 5: a legacy SSE instruction puts the initial AVX state in use if ZMM_Hi256 is, and
        // XSAVEOPT does not write it, as if unmodified. XRSTOR finds what the area had before, or a bit that its format
        // lacks.
        let legacy_sse = seed % 4 == 1 && matches!(silicon, Silicon::Zen4 | Silicon::Zen5);
        if legacy_sse && own.zmm[..16].iter().all(|register| register[1] == 0) {
            continue;
        }
        if let Verdict::Different(lines) = compare(&case, &cpu, &own) {
            panic!("seed {seed}, restored {restored:#x}, saved {saved:#x}: {lines:#?}");
        }
        ended += u32::from(cpu.vector == 3);
    }
    assert!(ended > 100, "{ended}");
}
