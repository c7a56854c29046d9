#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "core/cpus.h"

#include <sched.h>
#include <string.h>

#include "core/ranges.h"

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
