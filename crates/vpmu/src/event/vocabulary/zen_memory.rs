//! Names of AMD's events: loads, stores, caches, data TLB.

/// Hands the rows of this file, behind those it was given, to the next macro.
macro_rules! zen_memory {
    ([$($rows:tt)*] $next:ident $($more:ident)*) => {
        $next! { [$($rows)*
            // AMD Zen: loads, stores, L1D and data TLB.
            /// Loads that could not take the data of an older store.
            LsBadStatus2StliOther = "ls_bad_status2.stli_other",
            /// Locked operations that locked the bus.
            LsLocksBusLock = "ls_locks.bus_lock",
            /// Locked operations.
            LsLocksAll = "ls_locks.all",
            /// CLFLUSH instructions retired.
            LsRetClFlush = "ls_ret_cl_flush",
            /// CPUID instructions retired.
            LsRetCpuid = "ls_ret_cpuid",
            /// Loads dispatched.
            LsDispatchLdDispatch = "ls_dispatch.ld_dispatch",
            /// Stores dispatched.
            LsDispatchStoreDispatch = "ls_dispatch.store_dispatch",
            /// Ops dispatched that both load and store.
            LsDispatchLdStDispatch = "ls_dispatch.ld_st_dispatch",
            /// Ops dispatched to the load-store unit.
            LsDispatchAll = "ls_dispatch.all",
            /// System management interrupts received.
            LsSmiRx = "ls_smi_rx",
            /// Interrupts taken.
            LsIntTaken = "ls_int_taken",
            /// Reads of the time stamp counter.
            LsRdtsc = "ls_rdtsc",
            /// Loads that took the data of an older store.
            LsStlf = "ls_stlf",
            /// Store commits cancelled because the write combining buffer was full.
            LsStCommitCancel2StCommitCancelWcbFull = "ls_st_commit_cancel2.st_commit_cancel_wcb_full",
            /// Accesses of the L1 data cache.
            LsDcAccesses = "ls_dc_accesses",
            /// Miss buffers allocated for loads and stores.
            LsMabAllocLoadStoreAllocations = "ls_mab_alloc.load_store_allocations",
            /// Miss buffers allocated by the hardware prefetcher.
            LsMabAllocHardwarePrefetcherAllocations = "ls_mab_alloc.hardware_prefetcher_allocations",
            /// Miss buffers allocated.
            LsMabAllocAllAllocations = "ls_mab_alloc.all_allocations",
            /// Miss buffers allocated for loads.
            LsMabAllocLoads = "ls_mab_alloc.loads",
            /// Miss buffers allocated for stores.
            LsMabAllocStores = "ls_mab_alloc.stores",
            /// Miss buffers allocated by the L1 data prefetcher.
            LsMabAllocDcPrefetcher = "ls_mab_alloc.dc_prefetcher",
            /// Demand fills of the L1 data cache from the L2.
            LsDmndFillsFromSysLocalL2 = "ls_dmnd_fills_from_sys.local_l2",
            /// Demand fills of the L1 data cache from the L3 or an L2 of the same core complex.
            LsDmndFillsFromSysLocalCcx = "ls_dmnd_fills_from_sys.local_ccx",
            /// Demand fills of the L1 data cache from another core complex of the node.
            LsDmndFillsFromSysNearCache = "ls_dmnd_fills_from_sys.near_cache",
            /// Demand fills of the L1 data cache from DRAM or I/O of the node.
            LsDmndFillsFromSysDramIoNear = "ls_dmnd_fills_from_sys.dram_io_near",
            /// Demand fills of the L1 data cache from a core complex of another node.
            LsDmndFillsFromSysFarCache = "ls_dmnd_fills_from_sys.far_cache",
            /// Demand fills of the L1 data cache from DRAM or I/O of another node.
            LsDmndFillsFromSysDramIoFar = "ls_dmnd_fills_from_sys.dram_io_far",
            /// Demand fills of the L1 data cache from extension memory.
            LsDmndFillsFromSysAlternateMemories = "ls_dmnd_fills_from_sys.alternate_memories",
            /// Demand fills of the L1 data cache.
            LsDmndFillsFromSysAll = "ls_dmnd_fills_from_sys.all",
            /// Fills of the L1 data cache from the L2.
            LsAnyFillsFromSysLocalL2 = "ls_any_fills_from_sys.local_l2",
            /// Fills of the L1 data cache from the L3 or an L2 of the same core complex.
            LsAnyFillsFromSysLocalCcx = "ls_any_fills_from_sys.local_ccx",
            /// Fills of the L1 data cache from within the core complex.
            LsAnyFillsFromSysLocalAll = "ls_any_fills_from_sys.local_all",
            /// Fills of the L1 data cache from another core complex of the node.
            LsAnyFillsFromSysNearCache = "ls_any_fills_from_sys.near_cache",
            /// Fills of the L1 data cache from DRAM or I/O of the node.
            LsAnyFillsFromSysDramIoNear = "ls_any_fills_from_sys.dram_io_near",
            /// Fills of the L1 data cache from a core complex of another node.
            LsAnyFillsFromSysFarCache = "ls_any_fills_from_sys.far_cache",
            /// Fills of the L1 data cache from other core complexes.
            LsAnyFillsFromSysRemoteCache = "ls_any_fills_from_sys.remote_cache",
            /// Fills of the L1 data cache from DRAM or I/O of another node.
            LsAnyFillsFromSysDramIoFar = "ls_any_fills_from_sys.dram_io_far",
            /// Fills of the L1 data cache from DRAM or I/O.
            LsAnyFillsFromSysDramIoAll = "ls_any_fills_from_sys.dram_io_all",
            /// Fills of the L1 data cache from another node.
            LsAnyFillsFromSysFarAll = "ls_any_fills_from_sys.far_all",
            /// Fills of the L1 data cache.
            LsAnyFillsFromSysAll = "ls_any_fills_from_sys.all",
            /// L1 data TLB misses that hit a 4 KiB page in the L2 TLB.
            LsL1DTlbMissTlbReload4kL2Hit = "ls_l1_d_tlb_miss.tlb_reload_4k_l2_hit",
            /// L1 data TLB misses that hit a coalesced page in the L2 TLB.
            LsL1DTlbMissTlbReloadCoalescedPageHit = "ls_l1_d_tlb_miss.tlb_reload_coalesced_page_hit",
            /// L1 data TLB misses that hit a 2 MiB page in the L2 TLB.
            LsL1DTlbMissTlbReload2mL2Hit = "ls_l1_d_tlb_miss.tlb_reload_2m_l2_hit",
            /// L1 data TLB misses that hit a 1 GiB page in the L2 TLB.
            LsL1DTlbMissTlbReload1gL2Hit = "ls_l1_d_tlb_miss.tlb_reload_1g_l2_hit",
            /// L1 and L2 data TLB misses of a 4 KiB page.
            LsL1DTlbMissTlbReload4kL2Miss = "ls_l1_d_tlb_miss.tlb_reload_4k_l2_miss",
            /// L1 and L2 data TLB misses of a coalesced page.
            LsL1DTlbMissTlbReloadCoalescedPageMiss = "ls_l1_d_tlb_miss.tlb_reload_coalesced_page_miss",
            /// L1 and L2 data TLB misses of a 2 MiB page.
            LsL1DTlbMissTlbReload2mL2Miss = "ls_l1_d_tlb_miss.tlb_reload_2m_l2_miss",
            /// L1 and L2 data TLB misses of a 1 GiB page.
            LsL1DTlbMissTlbReload1gL2Miss = "ls_l1_d_tlb_miss.tlb_reload_1g_l2_miss",
            /// L1 and L2 data TLB misses: page walks.
            LsL1DTlbMissAllL2Miss = "ls_l1_d_tlb_miss.all_l2_miss",
            /// L1 data TLB misses.
            LsL1DTlbMissAll = "ls_l1_d_tlb_miss.all",
            /// Page walks for data of type 0.
            LsTablewalkerDcType0 = "ls_tablewalker.dc_type0",
            /// Page walks for data of type 1.
            LsTablewalkerDcType1 = "ls_tablewalker.dc_type1",
            /// Page walks for data.
            LsTablewalkerDside = "ls_tablewalker.dside",
            /// Page walks for code of type 0.
            LsTablewalkerIcType0 = "ls_tablewalker.ic_type0",
            /// Page walks for code of type 1.
            LsTablewalkerIcType1 = "ls_tablewalker.ic_type1",
            /// Page walks for code.
            LsTablewalkerIside = "ls_tablewalker.iside",
            /// Loads that cross a 64-byte boundary.
            LsMisalLoadsMa64 = "ls_misal_loads.ma64",
            /// Loads that cross a 4 KiB boundary.
            LsMisalLoadsMa4k = "ls_misal_loads.ma4k",
            /// Misaligned accesses.
            LsMisalAccesses = "ls_misal_accesses",
            /// PREFETCHT0, T1 and T2 instructions dispatched.
            LsPrefInstrDispPrefetch = "ls_pref_instr_disp.prefetch",
            /// PREFETCHW instructions dispatched.
            LsPrefInstrDispPrefetchW = "ls_pref_instr_disp.prefetch_w",
            /// PREFETCHNTA instructions dispatched.
            LsPrefInstrDispPrefetchNta = "ls_pref_instr_disp.prefetch_nta",
            /// Software prefetches dispatched.
            LsPrefInstrDispAll = "ls_pref_instr_disp.all",
            /// Software prefetches that hit the L1 data cache.
            LsInefSwPrefDataPipeSwPfDcHit = "ls_inef_sw_pref.data_pipe_sw_pf_dc_hit",
            /// Software prefetches that matched a miss buffer.
            LsInefSwPrefMabMchCnt = "ls_inef_sw_pref.mab_mch_cnt",
            /// Software prefetches without use.
            LsInefSwPrefAll = "ls_inef_sw_pref.all",
            /// Software prefetch fills from the L2.
            LsSwPfDcFillsLocalL2 = "ls_sw_pf_dc_fills.local_l2",
            /// Software prefetch fills of the L1 data cache.
            LsSwPfDcFillsAll = "ls_sw_pf_dc_fills.all",
            /// Hardware prefetch fills from the L2.
            LsHwPfDcFillsLocalL2 = "ls_hw_pf_dc_fills.local_l2",
            /// Hardware prefetch fills of the L1 data cache.
            LsHwPfDcFillsAll = "ls_hw_pf_dc_fills.all",
            /// Miss buffers in use, summed over cycles.
            LsAllocMabCount = "ls_alloc_mab_count",
            /// TLB flushes.
            LsTlbFlushAll = "ls_tlb_flush.all",

            // AMD Zen: l2 cache.
            /// Requests counted by l2_request_g2.
            L2RequestG1Group2 = "l2_request_g1.group2",
            /// Requests of the L2 hardware prefetcher.
            L2RequestG1L2HwPf = "l2_request_g1.l2_hw_pf",
            /// PREFETCH requests to the L2.
            L2RequestG1PrefetchL2Cmd = "l2_request_g1.prefetch_l2_cmd",
            /// Requests to make a line writable.
            L2RequestG1ChangeToX = "l2_request_g1.change_to_x",
            /// Code reads.
            L2RequestG1CacheableIcRead = "l2_request_g1.cacheable_ic_read",
            /// Shared data reads.
            L2RequestG1LsRdBlkCS = "l2_request_g1.ls_rd_blk_c_s",
            /// Data stores.
            L2RequestG1RdBlkX = "l2_request_g1.rd_blk_x",
            /// Data reads, with hardware and software prefetches.
            L2RequestG1RdBlkL = "l2_request_g1.rd_blk_l",
            /// Requests from the L1 data cache.
            L2RequestG1AllDc = "l2_request_g1.all_dc",
            /// Requests to the L2 without its prefetcher.
            L2RequestG1AllNoPrefetch = "l2_request_g1.all_no_prefetch",
            /// Requests to the L2.
            L2RequestG1All = "l2_request_g1.all",
            /// Sized data reads.
            L2RequestG2LsRdSized = "l2_request_g2.ls_rd_sized",
            /// Sized data reads of uncached memory.
            L2RequestG2LsRdSizedNc = "l2_request_g2.ls_rd_sized_nc",
            /// Code reads that missed the L2.
            L2CacheReqStatIcFillMiss = "l2_cache_req_stat.ic_fill_miss",
            /// Code reads that hit a shared line in the L2.
            L2CacheReqStatIcFillHitS = "l2_cache_req_stat.ic_fill_hit_s",
            /// Code reads that hit a writable line in the L2.
            L2CacheReqStatIcFillHitX = "l2_cache_req_stat.ic_fill_hit_x",
            /// Code reads that hit the L2.
            L2CacheReqStatIcHitInL2 = "l2_cache_req_stat.ic_hit_in_l2",
            /// Code reads of the L2.
            L2CacheReqStatIcAccessInL2 = "l2_cache_req_stat.ic_access_in_l2",
            /// Data reads that missed the L2.
            L2CacheReqStatLsRdBlkC = "l2_cache_req_stat.ls_rd_blk_c",
            /// Code and data requests that missed the L2.
            L2CacheReqStatIcDcMissInL2 = "l2_cache_req_stat.ic_dc_miss_in_l2",
            /// Stores that hit a line in the L2.
            L2CacheReqStatLsRdBlkX = "l2_cache_req_stat.ls_rd_blk_x",
            /// Data reads that hit a read-only line in the L2.
            L2CacheReqStatLsRdBlkLHitS = "l2_cache_req_stat.ls_rd_blk_l_hit_s",
            /// Data reads that hit a writable line in the L2.
            L2CacheReqStatLsRdBlkLHitX = "l2_cache_req_stat.ls_rd_blk_l_hit_x",
            /// Shared data reads that hit the L2.
            L2CacheReqStatLsRdBlkCs = "l2_cache_req_stat.ls_rd_blk_cs",
            /// Data requests that hit the L2.
            L2CacheReqStatDcHitInL2 = "l2_cache_req_stat.dc_hit_in_l2",
            /// Code and data requests that hit the L2.
            L2CacheReqStatIcDcHitInL2 = "l2_cache_req_stat.ic_dc_hit_in_l2",
            /// Data requests of the L2.
            L2CacheReqStatDcAccessInL2 = "l2_cache_req_stat.dc_access_in_l2",
            /// Code and data requests of the L2.
            L2CacheReqStatAll = "l2_cache_req_stat.all",
            /// L2 prefetches that hit the L2.
            L2PfHitL2L2Hwpf = "l2_pf_hit_l2.l2_hwpf",
            /// L1 data prefetches that hit the L2.
            L2PfHitL2L1DcHwpf = "l2_pf_hit_l2.l1_dc_hwpf",
            /// Prefetches that hit the L2.
            L2PfHitL2All = "l2_pf_hit_l2.all",
            /// L2 prefetches that missed the L2 and hit the L3.
            L2PfMissL2HitL3L2Hwpf = "l2_pf_miss_l2_hit_l3.l2_hwpf",
            /// L1 data prefetches that missed the L2 and hit the L3.
            L2PfMissL2HitL3L1DcHwpf = "l2_pf_miss_l2_hit_l3.l1_dc_hwpf",
            /// Prefetches that missed the L2 and hit the L3.
            L2PfMissL2HitL3All = "l2_pf_miss_l2_hit_l3.all",
            /// L2 prefetches that missed the L2 and the L3.
            L2PfMissL2L3L2Hwpf = "l2_pf_miss_l2_l3.l2_hwpf",
            /// L1 data prefetches that missed the L2 and the L3.
            L2PfMissL2L3L1DcHwpf = "l2_pf_miss_l2_l3.l1_dc_hwpf",
            /// Prefetches that missed the L2 and the L3.
            L2PfMissL2L3All = "l2_pf_miss_l2_l3.all",
            /// Fills of the L2 from the L3 or an L2 of the same core complex.
            L2FillRspSrcLocalCcx = "l2_fill_rsp_src.local_ccx",
            /// Fills of the L2 from another core complex of the node.
            L2FillRspSrcNearCache = "l2_fill_rsp_src.near_cache",
            /// Fills of the L2 from DRAM or I/O of the node.
            L2FillRspSrcDramIoNear = "l2_fill_rsp_src.dram_io_near",
            /// Fills of the L2 from a core complex of another node.
            L2FillRspSrcFarCache = "l2_fill_rsp_src.far_cache",
            /// Fills of the L2 from DRAM or I/O of another node.
            L2FillRspSrcDramIoFar = "l2_fill_rsp_src.dram_io_far",
            /// Fills of the L2 from extension memory.
            L2FillRspSrcAlternateMemories = "l2_fill_rsp_src.alternate_memories",
            /// Fills of the L2.
            L2FillRspSrcAll = "l2_fill_rsp_src.all",
        ] $($more)* }
    };
}

pub(super) use zen_memory;
