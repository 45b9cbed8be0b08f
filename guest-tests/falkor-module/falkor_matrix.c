// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * Matrix events of Qualcomm Falkor's PMU for the kernel's own driver of PMUv3.
 *
 * Event 0xPRCCG of type RAW, or of the PMU's own type, with P = 1: region R, code CC, group G. The driver's callbacks
 * are wrapped, as the patch "perf: qcom: Add Falkor CPU PMU IMPLEMENTATION DEFINED event support" (RFC V2, June 2018)
 * does from inside, with what its review asked for; docs/falkor.md lists both. The module cannot be removed: its
 * functions are the PMU's from then on. Load it while no event is counted.
 */
#include <linux/cpu.h>
#include <linux/cpumask.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/perf/arm_pmu.h>
#include <linux/perf_event.h>
#include <linux/smp.h>
#include <asm/cputype.h>
#include <asm/sysreg.h>

#define PMRESR0_EL0	sys_reg(3, 5, 11, 3, 0)
#define PMRESR1_EL0	sys_reg(3, 5, 11, 3, 2)
#define PMRESR2_EL0	sys_reg(3, 5, 11, 3, 4)
#define PMXEVCNTCR_EL0	sys_reg(3, 5, 11, 0, 3)
#define PMRESR_EN	BIT_ULL(63)

#define REGIONS		3
#define GROUPS		8
/* PMEVTYPERn.evtCount of region 0, group 0. */
#define SELECTOR	0xd8

#define MATRIX		BIT_ULL(16)

/* A place in the matrix. */
struct matrix_event {
	unsigned int region, group;
	u64 code;
};

/* What one CPU has programmed. Its own code alone touches it, with interrupts off. */
struct matrix {
	/* Counters that use each field of PMRESR. */
	unsigned int users[REGIONS][GROUPS];
	DECLARE_BITMAP(enabled, ARMPMU_MAX_HWEVENTS);
};

static DEFINE_PER_CPU(struct matrix, matrices);

/* The callbacks that are wrapped. */
static struct {
	void (*enable)(struct perf_event *event);
	void (*disable)(struct perf_event *event);
	int (*get_event_idx)(struct pmu_hw_events *hw_events, struct perf_event *event);
	int (*map_event)(struct perf_event *event);
	void (*reset)(void *info);
} base;

static u64 read_region(unsigned int region)
{
	switch (region) {
	case 0: return read_sysreg_s(PMRESR0_EL0);
	case 1: return read_sysreg_s(PMRESR1_EL0);
	default: return read_sysreg_s(PMRESR2_EL0);
	}
}

static void write_region(unsigned int region, u64 value)
{
	switch (region) {
	case 0: write_sysreg_s(value, PMRESR0_EL0); break;
	case 1: write_sysreg_s(value, PMRESR1_EL0); break;
	default: write_sysreg_s(value, PMRESR2_EL0); break;
	}
	isb();
}

/* Group 7 has seven bits: EN is above it. */
static u64 field(unsigned int group)
{
	return (group == 7 ? 0x7fULL : 0xffULL) << (8 * group);
}

/* Generic hardware and cache events keep their numbers for themselves. */
static bool is_matrix(const struct perf_event *event)
{
	if (event->attr.type != PERF_TYPE_RAW && event->attr.type != event->pmu->type)
		return false;
	return event->attr.config & MATRIX;
}

static struct matrix_event place(const struct perf_event *event)
{
	u64 config = event->attr.config;

	return (struct matrix_event) {
		.region = (config >> 12) & 0xf,
		.code = (config >> 4) & 0xff,
		.group = config & 0xf,
	};
}

static int matrix_map_event(struct perf_event *event)
{
	struct matrix_event at;

	if (!is_matrix(event))
		return base.map_event(event);
	at = place(event);
	if (event->attr.config >> 17 || at.region >= REGIONS || at.group >= GROUPS)
		return -ENOENT;
	/* Neither chained counters nor reading from user space, which bits of config1 ask the base driver for. */
	if (event->attr.config1)
		return -EINVAL;
	if (at.code << (8 * at.group) & ~field(at.group))
		return -ENOENT;
	return SELECTOR + GROUPS * at.region + at.group;
}

/* One code for each group: the hardware would let the last one win for both counters. */
static bool conflicts(const struct perf_event *one, const struct perf_event *other)
{
	struct matrix_event a, b;

	if (one == other || other->pmu != one->pmu || !is_matrix(other))
		return false;
	a = place(one);
	b = place(other);
	return a.region == b.region && a.group == b.group && a.code != b.code;
}

/* Whether the event's own group asks for another code of its place. */
static bool conflicts_in_group(struct perf_event *event)
{
	struct perf_event *leader = event->group_leader, *sibling;

	if (conflicts(event, leader))
		return true;
	for_each_sibling_event(sibling, leader)
		if (conflicts(event, sibling))
			return true;
	return false;
}

static int matrix_get_event_idx(struct pmu_hw_events *hw_events, struct perf_event *event)
{
	int idx;

	if (is_matrix(event)) {
		if (conflicts_in_group(event))
			return -EAGAIN;
		for_each_set_bit(idx, hw_events->used_mask, ARMPMU_MAX_HWEVENTS)
			if (hw_events->events[idx] && conflicts(event, hw_events->events[idx]))
				return -EAGAIN;
	}
	idx = base.get_event_idx(hw_events, event);
	if (idx < 0)
		return idx;
	/* A group is validated with a structure whose pointers are not initialised, and that may get here again. */
	hw_events->events[idx] = NULL;
	/* Counters of 32 bits are chained for 64; the second has no event of its own. */
	if (event->hw.flags & ARMPMU_EVT_64BIT && idx > 0)
		hw_events->events[idx - 1] = NULL;
	return idx;
}

static void matrix_enable(struct perf_event *event)
{
	struct matrix *matrix = this_cpu_ptr(&matrices);

	if (is_matrix(event) && !__test_and_set_bit(event->hw.idx, matrix->enabled)) {
		struct matrix_event at = place(event);
		u64 value = read_region(at.region) & ~field(at.group);

		matrix->users[at.region][at.group]++;
		write_region(at.region, value | at.code << (8 * at.group) | PMRESR_EN);
	}
	base.enable(event);
}

static void matrix_disable(struct perf_event *event)
{
	struct matrix *matrix = this_cpu_ptr(&matrices);
	struct matrix_event at;
	unsigned int group;
	u64 value;

	base.disable(event);
	/* An event is disabled before it has ever been enabled, too. */
	if (!is_matrix(event) || !__test_and_clear_bit(event->hw.idx, matrix->enabled))
		return;
	at = place(event);
	if (--matrix->users[at.region][at.group])
		return;
	value = read_region(at.region) & ~field(at.group);
	/* Code 0 is a row like others: the users tell whether the region is needed, not its codes. */
	for (group = 0; group < GROUPS; group++)
		if (matrix->users[at.region][group])
			break;
	write_region(at.region, group == GROUPS ? 0 : value);
}

/* What the registers hold after a reset of the CPU is not known. */
static void matrix_reset(void *info)
{
	struct arm_pmu *pmu = info;
	unsigned int region;
	int counter;

	memset(this_cpu_ptr(&matrices), 0, sizeof(struct matrix));
	for (region = 0; region < REGIONS; region++)
		write_region(region, 0);
	/* num_events has the cycle counter in it. */
	for (counter = 0; counter < pmu->num_events - 1; counter++) {
		write_sysreg(counter, pmselr_el0);
		isb();
		write_sysreg_s(0, PMXEVCNTCR_EL0);
	}
	base.reset(info);
}

/* The PMU that the kernel's driver has registered: that of any hardware event. */
static struct arm_pmu *find_pmu(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.size = sizeof(attr),
		.disabled = 1,
		.pinned = 1,
	};
	struct perf_event *event = perf_event_create_kernel_counter(&attr, 0, NULL, NULL, NULL);
	struct pmu *pmu;

	if (IS_ERR(event))
		return ERR_CAST(event);
	pmu = event->pmu;
	perf_event_release_kernel(event);
	if (!pmu->name || strncmp(pmu->name, "armv8_pmuv3", strlen("armv8_pmuv3")))
		return ERR_PTR(-ENODEV);
	return to_arm_pmu(pmu);
}

static int __init falkor_matrix_init(void)
{
	struct arm_pmu *pmu;
	int cpu;

	if (read_cpuid_implementor() != ARM_CPU_IMP_QCOM)
		return -ENODEV;
	if (read_cpuid_part_number() != QCOM_CPU_PART_FALKOR && read_cpuid_part_number() != QCOM_CPU_PART_FALKOR_V1)
		return -ENODEV;
	pmu = find_pmu();
	if (IS_ERR(pmu))
		return PTR_ERR(pmu);
	cpus_read_lock();
	for_each_cpu(cpu, &pmu->supported_cpus) {
		if (!bitmap_empty(per_cpu_ptr(pmu->hw_events, cpu)->used_mask, ARMPMU_MAX_HWEVENTS)) {
			cpus_read_unlock();
			return -EBUSY;
		}
	}
	base.enable = pmu->enable;
	base.disable = pmu->disable;
	base.get_event_idx = pmu->get_event_idx;
	base.map_event = pmu->map_event;
	base.reset = pmu->reset;
	on_each_cpu_mask(&pmu->supported_cpus, matrix_reset, pmu, true);
	pmu->enable = matrix_enable;
	pmu->disable = matrix_disable;
	pmu->get_event_idx = matrix_get_event_idx;
	pmu->reset = matrix_reset;
	/* Last: from now on there are matrix events. */
	smp_store_release(&pmu->map_event, matrix_map_event);
	cpus_read_unlock();
	pr_info("falkor_matrix: %d regions of %d groups on %s\n", REGIONS, GROUPS, pmu->name);
	return 0;
}
module_init(falkor_matrix_init);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Matrix events of Qualcomm Falkor's PMU");
