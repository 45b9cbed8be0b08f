//! Events that are sums of others.

use super::Event::{self, *};

/// A total that equals the sum of its parts, whenever all are counted under the same conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The sum.
    pub total: Event,
    /// What adds up to it; at least two events.
    pub parts: &'static [Event],
}

const fn sum(total: Event, parts: &'static [Event]) -> Identity {
    Identity { total, parts }
}

/// Every sum. Parts that are sums themselves come before the totals that use them.
///
/// Derived from the definitions in Intel's event lists. Most are unions of unit mask bits, so they
/// hold on silicon as well; the two of the cache levels hold for a model, while silicon may lose or
/// repeat a few loads between levels.
pub const IDENTITIES: &[Identity] = &[
    sum(CpuClkUnhaltedC0Wait, &[CpuClkUnhaltedC01, CpuClkUnhaltedC02, CpuClkUnhaltedPause]),
    sum(BrInstRetiredCond, &[BrInstRetiredCondTaken, BrInstRetiredCondNtaken]),
    sum(BrMispRetiredCond, &[BrMispRetiredCondTaken, BrMispRetiredCondNtaken]),
    sum(ExeActivity2_3PortsUtil, &[ExeActivity2PortsUtil, ExeActivity3PortsUtil]),
    sum(FpArithInstRetiredScalar, &[FpArithInstRetiredScalarDouble, FpArithInstRetiredScalarSingle]),
    sum(FpArithInstRetired4Flops, &[FpArithInstRetired128bPackedSingle, FpArithInstRetired256bPackedDouble]),
    sum(FpArithInstRetired8Flops, &[FpArithInstRetired256bPackedSingle, FpArithInstRetired512bPackedDouble]),
    sum(
        FpArithInstRetiredVector,
        &[
            FpArithInstRetired128bPackedDouble,
            FpArithInstRetired4Flops,
            FpArithInstRetired8Flops,
            FpArithInstRetired512bPackedSingle,
        ],
    ),
    sum(MemInstRetiredAny, &[MemInstRetiredAllLoads, MemInstRetiredAllStores]),
    sum(MemLoadRetiredL2Miss, &[MemLoadRetiredL3Hit, MemLoadRetiredL3Miss]),
    sum(MemLoadRetiredL1Miss, &[MemLoadRetiredL2Hit, MemLoadRetiredL2Miss]),
    sum(L2RqstsAllDemandMiss, &[L2RqstsDemandDataRdMiss, L2RqstsRfoMiss, L2RqstsCodeRdMiss]),
    sum(L2RqstsAllDemandDataRd, &[L2RqstsDemandDataRdHit, L2RqstsDemandDataRdMiss]),
    sum(L2RqstsAllRfo, &[L2RqstsRfoHit, L2RqstsRfoMiss]),
    sum(L2RqstsAllCodeRd, &[L2RqstsCodeRdHit, L2RqstsCodeRdMiss]),
    sum(L2RqstsReferences, &[L2RqstsHit, L2RqstsMiss]),
    sum(OcrDemandDataRdAnyResponse, &[OcrDemandDataRdL3Hit, OcrDemandDataRdL3Miss]),
    sum(OcrDemandRfoAnyResponse, &[OcrDemandRfoL3Hit, OcrDemandRfoL3Miss]),
    sum(OcrDemandCodeRdAnyResponse, &[OcrDemandCodeRdL3Hit, OcrDemandCodeRdL3Miss]),
    sum(
        DtlbLoadMissesWalkCompleted,
        &[DtlbLoadMissesWalkCompleted4k, DtlbLoadMissesWalkCompleted2m4m, DtlbLoadMissesWalkCompleted1g],
    ),
    sum(
        DtlbStoreMissesWalkCompleted,
        &[DtlbStoreMissesWalkCompleted4k, DtlbStoreMissesWalkCompleted2m4m, DtlbStoreMissesWalkCompleted1g],
    ),
];

impl Event {
    /// The events whose counts add up to this one; empty when it is not a sum of named events.
    #[must_use]
    pub fn parts(self) -> &'static [Self] {
        IDENTITIES.iter().find(|identity| identity.total == self).map_or(&[], |identity| identity.parts)
    }
}
