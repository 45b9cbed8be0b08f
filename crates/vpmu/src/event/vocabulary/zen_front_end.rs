//! Names of AMD's events: front end, instruction TLB, predictor, dispatch.

/// Hands the rows of this file, behind those it was given, to the next macro.
macro_rules! zen_front_end {
    ([$($rows:tt)*] $next:ident $($more:ident)*) => {
        $next! { [$($rows)*
            // AMD Zen: front end, instruction TLB and predictor.
            /// Fetch windows of 32 bytes.
            IcFw32 = "ic_fw32",
            /// Fetch windows of 32 bytes that missed the instruction cache.
            IcFw32Miss = "ic_fw32_miss",
            /// Instruction cache lines filled from the L2.
            IcCacheFillL2 = "ic_cache_fill_l2",
            /// Instruction cache lines filled from beyond the L2.
            IcCacheFillSys = "ic_cache_fill_sys",
            /// Instruction TLB misses that hit the L2 TLB.
            BpL1TlbMissL2TlbHit = "bp_l1_tlb_miss_l2_tlb_hit",
            /// Instruction TLB misses in both levels, 4 KiB page.
            BpL1TlbMissL2TlbMissIf4k = "bp_l1_tlb_miss_l2_tlb_miss.if4k",
            /// Instruction TLB misses in both levels, 2 MiB page.
            BpL1TlbMissL2TlbMissIf2m = "bp_l1_tlb_miss_l2_tlb_miss.if2m",
            /// Instruction TLB misses in both levels, 1 GiB page.
            BpL1TlbMissL2TlbMissIf1g = "bp_l1_tlb_miss_l2_tlb_miss.if1g",
            /// Instruction TLB misses in both levels, coalesced page.
            BpL1TlbMissL2TlbMissCoalesced4k = "bp_l1_tlb_miss_l2_tlb_miss.coalesced_4k",
            /// Instruction TLB misses in both levels: page walks.
            BpL1TlbMissL2TlbMissAll = "bp_l1_tlb_miss_l2_tlb_miss.all",
            /// Cycles in which fetch stalled because the decoder was full.
            IcFetchStallIcStallBackPressure = "ic_fetch_stall.ic_stall_back_pressure",
            /// Cycles in which fetch stalled because no address was predicted.
            IcFetchStallIcStallDqEmpty = "ic_fetch_stall.ic_stall_dq_empty",
            /// Cycles in which fetch stalled.
            IcFetchStallIcStallAny = "ic_fetch_stall.ic_stall_any",
            /// Corrections by the first-level branch target buffer.
            BpL1BtbCorrect = "bp_l1_btb_correct",
            /// Corrections by the second-level branch target buffer.
            BpL2BtbCorrect = "bp_l2_btb_correct",
            /// Predictions by the dynamic indirect predictor.
            BpDynIndPred = "bp_dyn_ind_pred",
            /// Redirects of fetch by the decoder.
            BpDeRedirect = "bp_de_redirect",
            /// Instruction TLB hits of a 4 KiB page.
            BpL1TlbFetchHitIf4k = "bp_l1_tlb_fetch_hit.if4k",
            /// Instruction TLB hits of a 2 MiB page.
            BpL1TlbFetchHitIf2m = "bp_l1_tlb_fetch_hit.if2m",
            /// Instruction TLB hits of a 1 GiB page.
            BpL1TlbFetchHitIf1g = "bp_l1_tlb_fetch_hit.if1g",
            /// Instruction TLB hits.
            BpL1TlbFetchHitAll = "bp_l1_tlb_fetch_hit.all",
            /// Pipeline restarts without a branch.
            ResyncsOrNcRedirects = "resyncs_or_nc_redirects",
            /// Pipeline restarts without a branch.
            BpRedirectsResync = "bp_redirects.resync",
            /// Redirects of fetch by the execution units.
            BpRedirectsExRedir = "bp_redirects.ex_redir",
            /// Redirects of fetch.
            BpRedirectsAll = "bp_redirects.all",
            /// Instruction cache hits.
            IcTagHitMissInstructionCacheHit = "ic_tag_hit_miss.instruction_cache_hit",
            /// Instruction cache misses.
            IcTagHitMissInstructionCacheMiss = "ic_tag_hit_miss.instruction_cache_miss",
            /// Instruction cache look-ups.
            IcTagHitMissAllInstructionCacheAccesses = "ic_tag_hit_miss.all_instruction_cache_accesses",
            /// Op cache hits.
            OpCacheHitMissOpCacheHit = "op_cache_hit_miss.op_cache_hit",
            /// Op cache misses.
            OpCacheHitMissOpCacheMiss = "op_cache_hit_miss.op_cache_miss",
            /// Op cache look-ups.
            OpCacheHitMissAllOpCacheAccesses = "op_cache_hit_miss.all_op_cache_accesses",

            // AMD Zen: dispatch and pipeline utilisation.
            /// Cycles with an empty op queue.
            DeOpQueueEmpty = "de_op_queue_empty",
            /// Ops dispatched from the decoder.
            DeSrcOpDispDecoder = "de_src_op_disp.decoder",
            /// Ops dispatched from the op cache.
            DeSrcOpDispOpCache = "de_src_op_disp.op_cache",
            /// Ops dispatched from the loop buffer.
            DeSrcOpDispLoopBuffer = "de_src_op_disp.loop_buffer",
            /// Ops dispatched.
            DeSrcOpDispAll = "de_src_op_disp.all",
            /// Floating-point ops dispatched.
            DeDisOpsFromDecoderAnyFpDispatch = "de_dis_ops_from_decoder.any_fp_dispatch",
            /// Integer ops dispatched.
            DeDisOpsFromDecoderAnyIntegerDispatch = "de_dis_ops_from_decoder.any_integer_dispatch",
            /// Cycles in which dispatch waited for an integer register.
            DeDisDispatchTokenStalls1IntPhyRegFileRsrcStall = "de_dis_dispatch_token_stalls1.int_phy_reg_file_rsrc_stall",
            /// Cycles in which dispatch waited for the load queue.
            DeDisDispatchTokenStalls1LoadQueueRsrcStall = "de_dis_dispatch_token_stalls1.load_queue_rsrc_stall",
            /// Cycles in which dispatch waited for the store queue.
            DeDisDispatchTokenStalls1StoreQueueRsrcStall = "de_dis_dispatch_token_stalls1.store_queue_rsrc_stall",
            /// Cycles in which dispatch waited for the integer scheduler.
            DeDisDispatchTokenStalls1IntSchedulerMiscRsrcStall = "de_dis_dispatch_token_stalls1.int_scheduler_misc_rsrc_stall",
            /// Cycles in which dispatch waited for the taken branch buffer.
            DeDisDispatchTokenStalls1TakenBrnchBufferRsrc = "de_dis_dispatch_token_stalls1.taken_brnch_buffer_rsrc",
            /// Cycles in which dispatch waited for a floating-point register.
            DeDisDispatchTokenStalls1FpRegFileRsrcStall = "de_dis_dispatch_token_stalls1.fp_reg_file_rsrc_stall",
            /// Cycles in which dispatch waited for the floating-point scheduler.
            DeDisDispatchTokenStalls1FpSchRsrcStall = "de_dis_dispatch_token_stalls1.fp_sch_rsrc_stall",
            /// Cycles in which dispatch waited for the floating-point unit to recover.
            DeDisDispatchTokenStalls1FpFlushRecoveryStall = "de_dis_dispatch_token_stalls1.fp_flush_recovery_stall",
            /// Cycles in which dispatch waited for integer scheduler 0.
            DeDisDispatchTokenStalls2IntSch0TokenStall = "de_dis_dispatch_token_stalls2.int_sch0_token_stall",
            /// Cycles in which dispatch waited for integer scheduler 1.
            DeDisDispatchTokenStalls2IntSch1TokenStall = "de_dis_dispatch_token_stalls2.int_sch1_token_stall",
            /// Cycles in which dispatch waited for integer scheduler 2.
            DeDisDispatchTokenStalls2IntSch2TokenStall = "de_dis_dispatch_token_stalls2.int_sch2_token_stall",
            /// Cycles in which dispatch waited for integer scheduler 3.
            DeDisDispatchTokenStalls2IntSch3TokenStall = "de_dis_dispatch_token_stalls2.int_sch3_token_stall",
            /// Cycles in which dispatch waited for the retire queue.
            DeDisDispatchTokenStalls2RetireTokenStall = "de_dis_dispatch_token_stalls2.retire_token_stall",
            /// Cycles in which dispatch waited for the ALU scheduler.
            DeDispatchStallCycleDynamicTokensPart2AlTokens = "de_dispatch_stall_cycle_dynamic_tokens_part2.al_tokens",
            /// Cycles in which dispatch waited for the address scheduler.
            DeDispatchStallCycleDynamicTokensPart2AgTokens = "de_dispatch_stall_cycle_dynamic_tokens_part2.ag_tokens",
            /// Cycles in which dispatch waited for the integer unit to recover.
            DeDispatchStallCycleDynamicTokensPart2ExFlushRecovery = "de_dispatch_stall_cycle_dynamic_tokens_part2.ex_flush_recovery",
            /// Cycles in which dispatch waited for the retire queue.
            DeDispatchStallCycleDynamicTokensPart2Retq = "de_dispatch_stall_cycle_dynamic_tokens_part2.retq",
            /// Cycles without retirement because nothing was in flight.
            ExNoRetireEmpty = "ex_no_retire.empty",
            /// Cycles without retirement because the oldest op was not complete.
            ExNoRetireNotComplete = "ex_no_retire.not_complete",
            /// Cycles without retirement for other reasons.
            ExNoRetireOther = "ex_no_retire.other",
            /// Cycles without retirement because the other thread was selected.
            ExNoRetireThreadNotSelected = "ex_no_retire.thread_not_selected",
            /// Cycles without retirement.
            ExNoRetireAll = "ex_no_retire.all",
            /// Cycles without retirement because the oldest op was a load that was not complete.
            ExNoRetireLoadNotComplete = "ex_no_retire.load_not_complete",
            /// Dispatch slots left empty because the front end supplied no op.
            DeNoDispatchPerSlotNoOpsFromFrontend = "de_no_dispatch_per_slot.no_ops_from_frontend",
            /// Dispatch slots left empty because the back end could not take an op.
            DeNoDispatchPerSlotBackendStalls = "de_no_dispatch_per_slot.backend_stalls",
            /// Dispatch slots left empty because the other thread was selected.
            DeNoDispatchPerSlotSmtContention = "de_no_dispatch_per_slot.smt_contention",
            /// Cycles in which dispatch waited for further resources.
            DeAdditionalResourceStallsDispatchStalls = "de_additional_resource_stalls.dispatch_stalls",
        ] $($more)* }
    };
}

pub(super) use zen_front_end;
