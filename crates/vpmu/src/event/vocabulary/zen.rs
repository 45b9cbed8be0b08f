//! Names of AMD's events: retirement, branches, floating point.

/// Hands the rows of this file, behind those it was given, to the next macro.
macro_rules! zen {
    ([$($rows:tt)*] $next:ident $($more:ident)*) => {
        $next! { [$($rows)*
            // AMD Zen: retirement and clocks.
            /// Core clocks while the thread is not halted.
            LsNotHaltedCyc = "ls_not_halted_cyc",
            /// Clocks at the P0 frequency while the thread is not halted.
            LsNotHaltedP0CycP0FreqCyc = "ls_not_halted_p0_cyc.p0_freq_cyc",
            /// Instructions retired.
            ExRetInstr = "ex_ret_instr",
            /// Macro-ops retired.
            ExRetOps = "ex_ret_ops",
            /// x87 instructions retired.
            ExRetMmxFpInstrX87 = "ex_ret_mmx_fp_instr.x87",
            /// MMX instructions retired.
            ExRetMmxFpInstrMmx = "ex_ret_mmx_fp_instr.mmx",
            /// SSE and AVX instructions retired.
            ExRetMmxFpInstrSse = "ex_ret_mmx_fp_instr.sse",
            /// Cycles in which the integer divider is busy.
            ExDivBusy = "ex_div_busy",
            /// Operations of the integer divider.
            ExDivCount = "ex_div_count",
            /// Microcoded instructions retired.
            ExRetUcodeInstr = "ex_ret_ucode_instr",
            /// Macro-ops retired from microcode.
            ExRetUcodeOps = "ex_ret_ucode_ops",
            /// Ops tagged by IBS.
            ExTaggedIbsOpsIbsTaggedOps = "ex_tagged_ibs_ops.ibs_tagged_ops",
            /// Ops tagged by IBS that retired.
            ExTaggedIbsOpsIbsTaggedOpsRet = "ex_tagged_ibs_ops.ibs_tagged_ops_ret",
            /// Fused instruction pairs retired.
            ExRetFusedInstr = "ex_ret_fused_instr",

            // AMD Zen: branches.
            /// Branches retired of every kind, with exceptions and interrupts.
            ExRetBrn = "ex_ret_brn",
            /// Mispredicted branches retired.
            ExRetBrnMisp = "ex_ret_brn_misp",
            /// Taken branches retired, with exceptions and interrupts.
            ExRetBrnTkn = "ex_ret_brn_tkn",
            /// Taken branches retired that were mispredicted.
            ExRetBrnTknMisp = "ex_ret_brn_tkn_misp",
            /// Far transfers retired, with exceptions and interrupts.
            ExRetBrnFar = "ex_ret_brn_far",
            /// Pipeline restarts counted as branches.
            ExRetBrnResync = "ex_ret_brn_resync",
            /// Near returns retired.
            ExRetNearRet = "ex_ret_near_ret",
            /// Near returns retired that were mispredicted.
            ExRetNearRetMispred = "ex_ret_near_ret_mispred",
            /// Indirect branches retired that were mispredicted.
            ExRetBrnIndMisp = "ex_ret_brn_ind_misp",
            /// Near indirect jumps and calls retired.
            ExRetIndBrchInstr = "ex_ret_ind_brch_instr",
            /// Conditional branches retired.
            ExRetCond = "ex_ret_cond",
            /// Conditional branches retired that were mispredicted.
            ExRetCondMisp = "ex_ret_cond_misp",
            /// Conditional branches retired whose direction was mispredicted.
            ExRetMsprdBrnchInstrDirMsmtch = "ex_ret_msprd_brnch_instr_dir_msmtch",
            /// Unconditional branches retired that were mispredicted.
            ExRetUncondBrnchInstrMispred = "ex_ret_uncond_brnch_instr_mispred",
            /// Unconditional branches retired.
            ExRetUncondBrnchInstr = "ex_ret_uncond_brnch_instr",

            // AMD Zen: floating point.
            /// Ops assigned to floating-point pipe 0.
            FpuPipeAssignmentTotal0 = "fpu_pipe_assignment.total0",
            /// Ops assigned to floating-point pipe 1.
            FpuPipeAssignmentTotal1 = "fpu_pipe_assignment.total1",
            /// Ops assigned to floating-point pipe 2.
            FpuPipeAssignmentTotal2 = "fpu_pipe_assignment.total2",
            /// Ops assigned to floating-point pipe 3.
            FpuPipeAssignmentTotal3 = "fpu_pipe_assignment.total3",
            /// Ops assigned to any floating-point pipe.
            FpuPipeAssignmentTotal = "fpu_pipe_assignment.total",
            /// x87 additions and subtractions retired.
            FpRetX87FpOpsAddSubOps = "fp_ret_x87_fp_ops.add_sub_ops",
            /// x87 multiplications retired.
            FpRetX87FpOpsMulOps = "fp_ret_x87_fp_ops.mul_ops",
            /// x87 divisions and square roots retired.
            FpRetX87FpOpsDivSqrtOps = "fp_ret_x87_fp_ops.div_sqrt_ops",
            /// x87 arithmetic operations retired.
            FpRetX87FpOpsAll = "fp_ret_x87_fp_ops.all",
            /// Retired SSE and AVX floating-point additions and subtractions, each lane for itself.
            FpRetSseAvxOpsAddSubFlops = "fp_ret_sse_avx_ops.add_sub_flops",
            /// Retired SSE and AVX floating-point multiplications, each lane for itself.
            FpRetSseAvxOpsMultFlops = "fp_ret_sse_avx_ops.mult_flops",
            /// Retired SSE and AVX floating-point divisions and square roots, each lane for itself.
            FpRetSseAvxOpsDivFlops = "fp_ret_sse_avx_ops.div_flops",
            /// Retired SSE and AVX multiply-accumulate operations, two for each lane.
            FpRetSseAvxOpsMacFlops = "fp_ret_sse_avx_ops.mac_flops",
            /// Retired bfloat16 multiply-accumulate operations.
            FpRetSseAvxOpsBfloatMacFlops = "fp_ret_sse_avx_ops.bfloat_mac_flops",
            /// Retired SSE and AVX floating-point operations.
            FpRetSseAvxOpsAll = "fp_ret_sse_avx_ops.all",
            /// x87 control word changes that serialise.
            FpRetiredSerOpsX87CtrlRet = "fp_retired_ser_ops.x87_ctrl_ret",
            /// x87 bottom-executing ops retired.
            FpRetiredSerOpsX87BotRet = "fp_retired_ser_ops.x87_bot_ret",
            /// MXCSR changes that serialise.
            FpRetiredSerOpsSseCtrlRet = "fp_retired_ser_ops.sse_ctrl_ret",
            /// SSE and AVX bottom-executing ops retired.
            FpRetiredSerOpsSseBotRet = "fp_retired_ser_ops.sse_bot_ret",
            /// Serialising floating-point ops retired.
            FpRetiredSerOpsAll = "fp_retired_ser_ops.all",
            /// x87 ops retired.
            FpOpsRetiredByWidthX87UopsRetired = "fp_ops_retired_by_width.x87_uops_retired",
            /// MMX ops retired.
            FpOpsRetiredByWidthMmxUopsRetired = "fp_ops_retired_by_width.mmx_uops_retired",
            /// Scalar floating-point ops retired.
            FpOpsRetiredByWidthScalarUopsRetired = "fp_ops_retired_by_width.scalar_uops_retired",
            /// Packed ops of 128 bits retired.
            FpOpsRetiredByWidthPack128UopsRetired = "fp_ops_retired_by_width.pack_128_uops_retired",
            /// Packed ops of 256 bits retired.
            FpOpsRetiredByWidthPack256UopsRetired = "fp_ops_retired_by_width.pack_256_uops_retired",
            /// Packed ops of 512 bits retired.
            FpOpsRetiredByWidthPack512UopsRetired = "fp_ops_retired_by_width.pack_512_uops_retired",
            /// Floating-point ops retired, of all widths.
            FpOpsRetiredByWidthAll = "fp_ops_retired_by_width.all",
            /// Scalar floating-point ops retired.
            FpOpsRetiredByTypeScalarAll = "fp_ops_retired_by_type.scalar_all",
            /// Vector floating-point ops retired.
            FpOpsRetiredByTypeVectorAll = "fp_ops_retired_by_type.vector_all",
            /// Floating-point ops retired, of all types.
            FpOpsRetiredByTypeAll = "fp_ops_retired_by_type.all",
            /// MMX integer ops retired.
            SseAvxOpsRetiredMmxAll = "sse_avx_ops_retired.mmx_all",
            /// SSE and AVX integer ops retired.
            SseAvxOpsRetiredSseAvxAll = "sse_avx_ops_retired.sse_avx_all",
            /// MMX, SSE and AVX integer ops retired.
            SseAvxOpsRetiredAll = "sse_avx_ops_retired.all",
            /// Packed floating-point ops of 128 bits retired.
            FpPackOpsRetiredFp128All = "fp_pack_ops_retired.fp128_all",
            /// Packed floating-point ops of 256 bits retired.
            FpPackOpsRetiredFp256All = "fp_pack_ops_retired.fp256_all",
            /// Packed floating-point ops retired.
            FpPackOpsRetiredAll = "fp_pack_ops_retired.all",
            /// Packed integer ops of 128 bits retired.
            PackedIntOpTypeInt128All = "packed_int_op_type.int128_all",
            /// Packed integer ops of 256 bits retired.
            PackedIntOpTypeInt256All = "packed_int_op_type.int256_all",
            /// Packed integer ops retired.
            PackedIntOpTypeAll = "packed_int_op_type.all",
            /// Dispatch faults to fill x87 registers.
            FpDispFaultsX87FillFault = "fp_disp_faults.x87_fill_fault",
            /// Dispatch faults to fill XMM registers.
            FpDispFaultsXmmFillFault = "fp_disp_faults.xmm_fill_fault",
            /// Dispatch faults to fill YMM registers.
            FpDispFaultsYmmFillFault = "fp_disp_faults.ymm_fill_fault",
            /// Dispatch faults to spill YMM registers.
            FpDispFaultsYmmSpillFault = "fp_disp_faults.ymm_spill_fault",
            /// Dispatch faults for SSE and AVX code.
            FpDispFaultsSseAvxAll = "fp_disp_faults.sse_avx_all",
            /// Floating-point dispatch faults.
            FpDispFaultsAll = "fp_disp_faults.all",
        ] $($more)* }
    };
}

pub(super) use zen;
