//! Recordings (`--replay-pmu`): what can be read of them is written and read again, and a PMU answers from them.
//! The first byte says where in the rest the accesses begin that it answers.
#![no_main]

mod drive;

use libfuzzer_sys::fuzz_target;
use vmm::machine::pmu::Replayer;
use vpmu::recording::{Header, Reader, Writer};

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let (recording, accesses) = rest.split_at(rest.len() * usize::from(*first) / 256);
    let Ok((header, mut reader)) = Reader::new(recording) else { return };
    let mut entries = Vec::new();
    let mut whole = true;
    loop {
        match reader.read() {
            Ok(Some(entry)) => entries.push(entry),
            Ok(None) => break,
            Err(_) => {
                whole = false;
                break;
            }
        }
    }
    let mut copy = Vec::new();
    let mut writer = Writer::new(&header, &mut copy);
    for entry in &entries {
        writer.write(entry, &mut copy);
    }
    writer.finish(&mut copy);
    let (again, mut reader): (Header, _) = Reader::new(&copy[..]).expect("what has been written");
    assert_eq!(again, header);
    for entry in &entries {
        assert_eq!(reader.read().as_ref(), Ok(&Some(*entry)));
    }
    assert_eq!(reader.read(), Ok(None));
    for profile in drive::profiles().filter(|profile| profile.name == header.profile) {
        let replayer = Replayer::new(recording.to_vec(), profile);
        assert_eq!(replayer.is_ok(), whole);
        let mut pmu = drive::pmu(profile);
        if let Ok(replayer) = replayer {
            pmu.replay(replayer);
            drive::accesses(&mut pmu, accesses);
        }
    }
});
