#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "core/cpus.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cgroups.h"
#include "core/ranges.h"
#include "core/system_file.h"

/* The system's own mask of as many CPUs. */
typedef struct system_mask {
    cpu_set_t sets[LOT_CPUS_MOST / CPU_SETSIZE];
} system_mask;

static void add(lot_cpus *cpus, int64_t cpu)
{
    cpus->words[cpu / 64] |= UINT64_C(1) << (cpu % 64);
}

bool lot_cpus_read(lot_cpus *cpus)
{
    system_mask mask;

    memset(cpus, 0, sizeof *cpus);
    memset(&mask, 0, sizeof mask);
    if (sched_getaffinity(0, sizeof mask, mask.sets) != 0)
        return false;
    for (int cpu = 0; cpu < LOT_CPUS_MOST; cpu++)
        if (CPU_ISSET_S((size_t)cpu, sizeof mask, mask.sets))
            add(cpus, cpu);
    return true;
}

bool lot_cpus_apply(const lot_cpus *cpus)
{
    system_mask mask;

    memset(&mask, 0, sizeof mask);
    for (int cpu = 0; cpu < LOT_CPUS_MOST; cpu++)
        if (lot_cpus_have(cpus, cpu))
            CPU_SET_S((size_t)cpu, sizeof mask, mask.sets);
    return sched_setaffinity(0, sizeof mask, mask.sets) == 0;
}

bool lot_cpus_have(const lot_cpus *cpus, int cpu)
{
    return cpu >= 0 && cpu < LOT_CPUS_MOST && (cpus->words[cpu / 64] >> (cpu % 64) & 1) != 0;
}

int lot_cpus_count(const lot_cpus *cpus)
{
    int count = 0;

    for (size_t i = 0; i < LOT_CPUS_MOST / 64; i++)
        count += __builtin_popcountll(cpus->words[i]);
    return count;
}

void lot_cpus_parse(const char *text, lot_cpus *cpus)
{
    lot_range range;

    memset(cpus, 0, sizeof *cpus);
    while (lot_ranges_next(&text, &range))
        for (int64_t cpu = range.first; cpu <= range.last && cpu < LOT_CPUS_MOST; cpu++)
            add(cpus, cpu);
}

void lot_cpus_keep(lot_cpus *cpus, const lot_cpus *others)
{
    for (size_t i = 0; i < LOT_CPUS_MOST / 64; i++)
        cpus->words[i] &= others->words[i];
}

void lot_cpus_print(const lot_cpus *cpus, char *list, size_t size)
{
    list[0] = '\0';
    for (int cpu = 0; cpu < LOT_CPUS_MOST; cpu++)
        if (lot_cpus_have(cpus, cpu))
            lot_ranges_add(list, size, cpu);
}

/* ---- how many at one time ---- */

/* The number at the start of a file; 0 or less where there is none, or no limit: "max", -1. */
static long long number_in(const char *folder, const char *name, char *line, size_t size)
{
    char path[1024];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return lot_system_line(path, line, size) ? strtoll(line, NULL, 10) : 0;
}

/* Lowers the number to the time that a group gives in each period, in whole CPUs. */
static void apply_group(const char *folder, int version, void *context)
{
    int *usable = context;
    char line[64];
    long long time, period;

    if (version == 1) {
        time = number_in(folder, "cpu.cfs_quota_us", line, sizeof line);
        period = number_in(folder, "cpu.cfs_period_us", line, sizeof line);
    } else {
        time = number_in(folder, "cpu.max", line, sizeof line);
        period = time > 0 ? strtoll(line + strcspn(line, " "), NULL, 10) : 0;
    }
    if (time > 0 && period > 0 && time / period < *usable)
        *usable = (int)(time / period);
}

int lot_cpus_usable(const char *root)
{
    lot_cpus cpus;
    int usable = lot_cpus_read(&cpus) ? lot_cpus_count(&cpus) : INT_MAX;

    lot_cgroups_walk(root, "cpu", apply_group, &usable);
    return usable < 1 || usable == INT_MAX ? 1 : usable;
}
