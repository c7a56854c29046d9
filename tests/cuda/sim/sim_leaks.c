#include "sim_leaks.h"

#include <stdatomic.h>

#include "sim_core.h"

static atomic_int left[SIM_KIND_COUNT];

typedef struct kind_row {
    const char *name;
    int in_context; /* cannot be given back once the context is broken */
} kind_row;

static const kind_row kinds[SIM_KIND_COUNT] = {
    [SIM_STREAM] = {"streams", 1},
    [SIM_EVENT] = {"events", 0},
    [SIM_POOL] = {"pools", 1},
    [SIM_PINNED] = {"pieces of page-locked memory", 0},
    [SIM_LT_HANDLE] = {"cuBLASLt handles", 0},
    [SIM_LT_LAYOUT] = {"matrix layouts", 0},
    [SIM_LT_OPERATION] = {"matrix operations", 0},
    [SIM_LT_PREFERENCE] = {"search preferences", 0},
    [SIM_NVML] = {"initialisations of NVML", 0},
};

void sim_count(sim_kind kind, int change)
{
    atomic_fetch_add(&left[kind], change);
}

int sim_report_left(int context)
{
    int found = 0;

    for (int kind = 0; kind < SIM_KIND_COUNT; kind++) {
        const int count = atomic_load(&left[kind]);

        if (count == 0 || (kinds[kind].in_context && !context))
            continue;
        sim_say("%d %s were never given back", count, kinds[kind].name);
        found++;
    }
    return found;
}
