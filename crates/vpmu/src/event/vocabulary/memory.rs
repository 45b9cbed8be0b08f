//! Names of Intel's events of floating point, loads, stores, caches and TLBs.

/// Hands the rows of this file, behind those it was given, to the next macro.
macro_rules! memory {
    ([$($rows:tt)*] $next:ident $($more:ident)*) => {
        $next! { [$($rows)*
            // Floating point: instructions, where a fused multiply-add counts two.
            /// Scalar double-precision operations retired; an FMA counts 2.
            FpArithInstRetiredScalarDouble = "FP_ARITH_INST_RETIRED.SCALAR_DOUBLE",
            /// Scalar single-precision operations retired; an FMA counts 2.
            FpArithInstRetiredScalarSingle = "FP_ARITH_INST_RETIRED.SCALAR_SINGLE",
            /// 128-bit packed double-precision instructions retired; an FMA counts 2.
            FpArithInstRetired128bPackedDouble = "FP_ARITH_INST_RETIRED.128B_PACKED_DOUBLE",
            /// 128-bit packed single-precision instructions retired; an FMA counts 2.
            FpArithInstRetired128bPackedSingle = "FP_ARITH_INST_RETIRED.128B_PACKED_SINGLE",
            /// 256-bit packed double-precision instructions retired; an FMA counts 2.
            FpArithInstRetired256bPackedDouble = "FP_ARITH_INST_RETIRED.256B_PACKED_DOUBLE",
            /// 256-bit packed single-precision instructions retired; an FMA counts 2.
            FpArithInstRetired256bPackedSingle = "FP_ARITH_INST_RETIRED.256B_PACKED_SINGLE",
            /// 512-bit packed double-precision instructions retired; an FMA counts 2.
            FpArithInstRetired512bPackedDouble = "FP_ARITH_INST_RETIRED.512B_PACKED_DOUBLE",
            /// 512-bit packed single-precision instructions retired; an FMA counts 2.
            FpArithInstRetired512bPackedSingle = "FP_ARITH_INST_RETIRED.512B_PACKED_SINGLE",
            /// Scalar floating-point instructions retired; an FMA counts 2.
            FpArithInstRetiredScalar = "FP_ARITH_INST_RETIRED.SCALAR",
            /// Packed instructions retired that do 4 operations per count.
            FpArithInstRetired4Flops = "FP_ARITH_INST_RETIRED.4_FLOPS",
            /// Packed instructions retired that do 8 operations per count.
            FpArithInstRetired8Flops = "FP_ARITH_INST_RETIRED.8_FLOPS",
            /// Packed floating-point instructions retired; an FMA counts 2.
            FpArithInstRetiredVector = "FP_ARITH_INST_RETIRED.VECTOR",
            /// Scalar half-precision instructions retired, real arithmetic.
            FpArithInstRetired2ScalarHalf = "FP_ARITH_INST_RETIRED2.SCALAR_HALF",
            /// Scalar half-precision instructions retired, complex arithmetic.
            FpArithInstRetired2ComplexScalarHalf = "FP_ARITH_INST_RETIRED2.COMPLEX_SCALAR_HALF",
            /// 128-bit packed half-precision instructions retired.
            FpArithInstRetired2_128bPackedHalf = "FP_ARITH_INST_RETIRED2.128B_PACKED_HALF",
            /// 256-bit packed half-precision instructions retired.
            FpArithInstRetired2_256bPackedHalf = "FP_ARITH_INST_RETIRED2.256B_PACKED_HALF",
            /// 512-bit packed half-precision instructions retired.
            FpArithInstRetired2_512bPackedHalf = "FP_ARITH_INST_RETIRED2.512B_PACKED_HALF",

            // Retired loads and stores.
            /// Load instructions retired.
            MemInstRetiredAllLoads = "MEM_INST_RETIRED.ALL_LOADS",
            /// Store instructions retired.
            MemInstRetiredAllStores = "MEM_INST_RETIRED.ALL_STORES",
            /// Load and store instructions retired.
            MemInstRetiredAny = "MEM_INST_RETIRED.ANY",
            /// Loads retired that missed the second-level TLB.
            MemInstRetiredStlbMissLoads = "MEM_INST_RETIRED.STLB_MISS_LOADS",
            /// Stores retired that missed the second-level TLB.
            MemInstRetiredStlbMissStores = "MEM_INST_RETIRED.STLB_MISS_STORES",
            /// Loads retired with locked access.
            MemInstRetiredLockLoads = "MEM_INST_RETIRED.LOCK_LOADS",
            /// Loads retired that crossed a cache line.
            MemInstRetiredSplitLoads = "MEM_INST_RETIRED.SPLIT_LOADS",
            /// Stores retired that crossed a cache line.
            MemInstRetiredSplitStores = "MEM_INST_RETIRED.SPLIT_STORES",
            /// Loads retired whose data came from the L1 data cache.
            MemLoadRetiredL1Hit = "MEM_LOAD_RETIRED.L1_HIT",
            /// Loads retired whose data came from the L2 cache.
            MemLoadRetiredL2Hit = "MEM_LOAD_RETIRED.L2_HIT",
            /// Loads retired whose data came from the L3 cache.
            MemLoadRetiredL3Hit = "MEM_LOAD_RETIRED.L3_HIT",
            /// Loads retired that merged with an outstanding L1 miss (fill buffer).
            MemLoadRetiredFbHit = "MEM_LOAD_RETIRED.FB_HIT",
            /// Loads retired that missed the L1 data cache.
            MemLoadRetiredL1Miss = "MEM_LOAD_RETIRED.L1_MISS",
            /// Loads retired that missed the L2 cache.
            MemLoadRetiredL2Miss = "MEM_LOAD_RETIRED.L2_MISS",
            /// Loads retired that missed the L3 cache.
            MemLoadRetiredL3Miss = "MEM_LOAD_RETIRED.L3_MISS",
            /// L3-hit loads retired whose snoop of a sibling core missed.
            MemLoadL3HitRetiredXsnpMiss = "MEM_LOAD_L3_HIT_RETIRED.XSNP_MISS",
            /// L3-hit loads retired whose snoop hit a clean line, with no data forwarded.
            MemLoadL3HitRetiredXsnpNoFwd = "MEM_LOAD_L3_HIT_RETIRED.XSNP_NO_FWD",
            /// L3-hit loads retired whose data another core forwarded.
            MemLoadL3HitRetiredXsnpFwd = "MEM_LOAD_L3_HIT_RETIRED.XSNP_FWD",
            /// L3-hit loads retired that needed no snoop.
            MemLoadL3HitRetiredXsnpNone = "MEM_LOAD_L3_HIT_RETIRED.XSNP_NONE",
            /// L3-miss loads retired whose data came from local memory.
            MemLoadL3MissRetiredLocalDram = "MEM_LOAD_L3_MISS_RETIRED.LOCAL_DRAM",
            /// L3-miss loads retired whose data came from another socket's memory.
            MemLoadL3MissRetiredRemoteDram = "MEM_LOAD_L3_MISS_RETIRED.REMOTE_DRAM",
            /// L3-miss loads retired whose data was modified in another socket's cache.
            MemLoadL3MissRetiredRemoteHitm = "MEM_LOAD_L3_MISS_RETIRED.REMOTE_HITM",
            /// L3-miss loads retired whose data another socket's cache forwarded.
            MemLoadL3MissRetiredRemoteFwd = "MEM_LOAD_L3_MISS_RETIRED.REMOTE_FWD",
            /// Sampled loads that took more than 4 cycles.
            MemTransRetiredLoadLatencyGt4 = "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_4",
            /// Sampled loads that took more than 8 cycles.
            MemTransRetiredLoadLatencyGt8 = "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_8",
            /// Sampled loads that took more than 16 cycles.
            MemTransRetiredLoadLatencyGt16 = "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_16",
            /// Sampled loads that took more than 32 cycles.
            MemTransRetiredLoadLatencyGt32 = "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_32",
            /// Sampled loads that took more than 64 cycles.
            MemTransRetiredLoadLatencyGt64 = "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_64",
            /// Sampled loads that took more than 128 cycles.
            MemTransRetiredLoadLatencyGt128 = "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_128",
            /// Sampled loads that took more than 256 cycles.
            MemTransRetiredLoadLatencyGt256 = "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_256",
            /// Sampled loads that took more than 512 cycles.
            MemTransRetiredLoadLatencyGt512 = "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_512",
            /// Sampled loads that took more than 1024 cycles.
            MemTransRetiredLoadLatencyGt1024 = "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_1024",
            /// Stores retired, as sampled by the store latency facility.
            MemTransRetiredStoreSample = "MEM_TRANS_RETIRED.STORE_SAMPLE",
            /// Loads blocked because an older store could not forward its data.
            LdBlocksStoreForward = "LD_BLOCKS.STORE_FORWARD",
            /// Split loads blocked because no split register was free.
            LdBlocksNoSr = "LD_BLOCKS.NO_SR",
            /// Loads delayed by a false dependence on a store 4 KiB apart.
            LdBlocksAddressAlias = "LD_BLOCKS.ADDRESS_ALIAS",
            /// PREFETCHNTA instructions executed.
            SwPrefetchAccessNta = "SW_PREFETCH_ACCESS.NTA",
            /// PREFETCHT0 instructions executed.
            SwPrefetchAccessT0 = "SW_PREFETCH_ACCESS.T0",
            /// PREFETCHT1 and PREFETCHT2 instructions executed.
            SwPrefetchAccessT1T2 = "SW_PREFETCH_ACCESS.T1_T2",
            /// PREFETCHW instructions executed.
            SwPrefetchAccessPrefetchw = "SW_PREFETCH_ACCESS.PREFETCHW",
            /// Bus locks: atomic accesses that were split or uncacheable.
            SqMiscBusLock = "SQ_MISC.BUS_LOCK",

            // Caches.
            /// Lines filled into the L1 data cache.
            L1dReplacement = "L1D.REPLACEMENT",
            /// L1 data cache misses outstanding, summed over cycles.
            L1dPendMissPending = "L1D_PEND_MISS.PENDING",
            /// Cycles with an L1 data cache load miss outstanding.
            L1dPendMissPendingCycles = "L1D_PEND_MISS.PENDING_CYCLES",
            /// Cycles in which a demand request waited for a free fill buffer.
            L1dPendMissFbFull = "L1D_PEND_MISS.FB_FULL",
            /// Demand data reads that missed the L2 cache.
            L2RqstsDemandDataRdMiss = "L2_RQSTS.DEMAND_DATA_RD_MISS",
            /// Reads for ownership that missed the L2 cache.
            L2RqstsRfoMiss = "L2_RQSTS.RFO_MISS",
            /// Code reads that missed the L2 cache.
            L2RqstsCodeRdMiss = "L2_RQSTS.CODE_RD_MISS",
            /// Software prefetches that missed the L2 cache.
            L2RqstsSwpfMiss = "L2_RQSTS.SWPF_MISS",
            /// Demand data reads that hit the L2 cache.
            L2RqstsDemandDataRdHit = "L2_RQSTS.DEMAND_DATA_RD_HIT",
            /// Reads for ownership that hit the L2 cache.
            L2RqstsRfoHit = "L2_RQSTS.RFO_HIT",
            /// Code reads that hit the L2 cache.
            L2RqstsCodeRdHit = "L2_RQSTS.CODE_RD_HIT",
            /// Software prefetches that hit the L2 cache.
            L2RqstsSwpfHit = "L2_RQSTS.SWPF_HIT",
            /// Demand requests (data, ownership, code) that missed the L2 cache.
            L2RqstsAllDemandMiss = "L2_RQSTS.ALL_DEMAND_MISS",
            /// Demand data reads that reached the L2 cache.
            L2RqstsAllDemandDataRd = "L2_RQSTS.ALL_DEMAND_DATA_RD",
            /// Reads for ownership that reached the L2 cache.
            L2RqstsAllRfo = "L2_RQSTS.ALL_RFO",
            /// Code reads that reached the L2 cache.
            L2RqstsAllCodeRd = "L2_RQSTS.ALL_CODE_RD",
            /// Read requests of any kind that missed the L2 cache.
            L2RqstsMiss = "L2_RQSTS.MISS",
            /// Requests of any kind that reached the L2 cache.
            L2RqstsReferences = "L2_RQSTS.REFERENCES",
            /// Requests of any kind that hit the L2 cache.
            L2RqstsHit = "L2_RQSTS.HIT",
            /// Hardware prefetches that missed the L2 cache.
            L2RqstsHwpfMiss = "L2_RQSTS.HWPF_MISS",
            /// Hardware prefetches that reached the L2 cache.
            L2RqstsAllHwpf = "L2_RQSTS.ALL_HWPF",
            /// Lines filled into the L2 cache.
            L2LinesInAll = "L2_LINES_IN.ALL",
            /// Clean lines dropped from the L2 cache without a write-back.
            L2LinesOutSilent = "L2_LINES_OUT.SILENT",
            /// Lines evicted from the L2 cache with a message to the L3 cache.
            L2LinesOutNonSilent = "L2_LINES_OUT.NON_SILENT",
            /// Core-originated requests that reached the last-level cache.
            LongestLatCacheReference = "LONGEST_LAT_CACHE.REFERENCE",
            /// Core-originated requests that missed the last-level cache.
            LongestLatCacheMiss = "LONGEST_LAT_CACHE.MISS",
            /// Demand data reads sent out of the core.
            OffcoreRequestsDemandDataRd = "OFFCORE_REQUESTS.DEMAND_DATA_RD",
            /// Demand reads for ownership sent out of the core.
            OffcoreRequestsDemandRfo = "OFFCORE_REQUESTS.DEMAND_RFO",
            /// Cycles with a data read outstanding outside the core.
            OffcoreRequestsOutstandingCyclesWithDataRd = "OFFCORE_REQUESTS_OUTSTANDING.CYCLES_WITH_DATA_RD",
            /// Demand data reads that left the core.
            OcrDemandDataRdAnyResponse = "OCR.DEMAND_DATA_RD.ANY_RESPONSE",
            /// Demand data reads that the last-level cache answered.
            OcrDemandDataRdL3Hit = "OCR.DEMAND_DATA_RD.L3_HIT",
            /// Demand data reads that the last-level cache could not answer.
            OcrDemandDataRdL3Miss = "OCR.DEMAND_DATA_RD.L3_MISS",
            /// Demand reads for ownership that left the core.
            OcrDemandRfoAnyResponse = "OCR.DEMAND_RFO.ANY_RESPONSE",
            /// Demand reads for ownership that the last-level cache answered.
            OcrDemandRfoL3Hit = "OCR.DEMAND_RFO.L3_HIT",
            /// Demand reads for ownership that the last-level cache could not answer.
            OcrDemandRfoL3Miss = "OCR.DEMAND_RFO.L3_MISS",
            /// Code reads that left the core.
            OcrDemandCodeRdAnyResponse = "OCR.DEMAND_CODE_RD.ANY_RESPONSE",
            /// Code reads that the last-level cache answered.
            OcrDemandCodeRdL3Hit = "OCR.DEMAND_CODE_RD.L3_HIT",
            /// Code reads that the last-level cache could not answer.
            OcrDemandCodeRdL3Miss = "OCR.DEMAND_CODE_RD.L3_MISS",

            // TLBs.
            /// Page walks for loads that found a 4 KiB page.
            DtlbLoadMissesWalkCompleted4k = "DTLB_LOAD_MISSES.WALK_COMPLETED_4K",
            /// Page walks for loads that found a 2 or 4 MiB page.
            DtlbLoadMissesWalkCompleted2m4m = "DTLB_LOAD_MISSES.WALK_COMPLETED_2M_4M",
            /// Page walks for loads that found a 1 GiB page.
            DtlbLoadMissesWalkCompleted1g = "DTLB_LOAD_MISSES.WALK_COMPLETED_1G",
            /// Page walks for loads completed, any page size.
            DtlbLoadMissesWalkCompleted = "DTLB_LOAD_MISSES.WALK_COMPLETED",
            /// Page walks for loads in progress, summed over cycles.
            DtlbLoadMissesWalkPending = "DTLB_LOAD_MISSES.WALK_PENDING",
            /// Cycles with a page walk for a load in progress.
            DtlbLoadMissesWalkActive = "DTLB_LOAD_MISSES.WALK_ACTIVE",
            /// Loads that missed the first-level data TLB and hit the second level.
            DtlbLoadMissesStlbHit = "DTLB_LOAD_MISSES.STLB_HIT",
            /// Page walks for stores that found a 4 KiB page.
            DtlbStoreMissesWalkCompleted4k = "DTLB_STORE_MISSES.WALK_COMPLETED_4K",
            /// Page walks for stores that found a 2 or 4 MiB page.
            DtlbStoreMissesWalkCompleted2m4m = "DTLB_STORE_MISSES.WALK_COMPLETED_2M_4M",
            /// Page walks for stores that found a 1 GiB page.
            DtlbStoreMissesWalkCompleted1g = "DTLB_STORE_MISSES.WALK_COMPLETED_1G",
            /// Page walks for stores completed, any page size.
            DtlbStoreMissesWalkCompleted = "DTLB_STORE_MISSES.WALK_COMPLETED",
            /// Page walks for stores in progress, summed over cycles.
            DtlbStoreMissesWalkPending = "DTLB_STORE_MISSES.WALK_PENDING",
            /// Cycles with a page walk for a store in progress.
            DtlbStoreMissesWalkActive = "DTLB_STORE_MISSES.WALK_ACTIVE",
            /// Stores that missed the first-level data TLB and hit the second level.
            DtlbStoreMissesStlbHit = "DTLB_STORE_MISSES.STLB_HIT",
            /// Page walks for code fetch that found a 4 KiB page.
            ItlbMissesWalkCompleted4k = "ITLB_MISSES.WALK_COMPLETED_4K",
            /// Page walks for code fetch that found a 2 or 4 MiB page.
            ItlbMissesWalkCompleted2m4m = "ITLB_MISSES.WALK_COMPLETED_2M_4M",
            /// Page walks for code fetch completed, any page size.
            ItlbMissesWalkCompleted = "ITLB_MISSES.WALK_COMPLETED",
            /// Page walks for code fetch in progress, summed over cycles.
            ItlbMissesWalkPending = "ITLB_MISSES.WALK_PENDING",
            /// Cycles with a page walk for code fetch in progress.
            ItlbMissesWalkActive = "ITLB_MISSES.WALK_ACTIVE",
            /// Code fetches that missed the first-level instruction TLB and hit the second level.
            ItlbMissesStlbHit = "ITLB_MISSES.STLB_HIT",
        ] $($more)* }
    };
}

pub(super) use memory;
