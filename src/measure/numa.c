#include "measure/numa.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/ranges.h"
#include "core/system_file.h"

#define LINE_BYTES 4096
#define PATH_BYTES 512

const lot_numa_files lot_numa_system = {"/sys/devices/system/node", "/proc/thread-self/status"};

static void read_node(const lot_numa_files *files, int64_t node, const char *name, char line[LINE_BYTES])
{
    char path[PATH_BYTES];

    (void)snprintf(path, sizeof path, "%s/node%" PRId64 "/%s", files->nodes, node, name);
    (void)lot_system_line(path, line, LINE_BYTES);
}

/* One number of a node's distances, which stand in the order of the nodes online; -1 where it is not there.
 */
static int64_t distance(const lot_numa_files *files, const char *online, int64_t from, int64_t to)
{
    char line[LINE_BYTES];
    char *at = line, *end = NULL;
    int64_t place = lot_ranges_place(online, to), value = -1;

    if (place < 0)
        return -1;
    read_node(files, from, "distance", line);
    for (; place >= 0; place--, at = end) {
        value = strtoll(at, &end, 10);
        if (end == at)
            return -1;
    }
    return value;
}

typedef struct reasons {
    lot_absent *items;
    size_t count;
} reasons;

static void give_reason(reasons *r, const char *field, const char *reason)
{
    lot_absent *item = &r->items[r->count++];

    memset(item, 0, sizeof *item);
    (void)snprintf(item->field, sizeof item->field, "environment.%s", field);
    (void)snprintf(item->reason, sizeof item->reason, "%s", reason);
}

/* The nodes that have one of the CPUs. */
static void list_cpu_nodes(const lot_numa_files *files, const char *online, const char *cpus, char *list,
                           size_t size)
{
    lot_range range;
    const char *at = online;

    list[0] = '\0';
    while (lot_ranges_next(&at, &range))
        for (int64_t node = range.first; node <= range.last; node++) {
            char own[LINE_BYTES];

            read_node(files, node, "cpulist", own);
            if (lot_ranges_meet(own, cpus))
                lot_ranges_add(list, size, node);
        }
}

static void list_memory_nodes(const char *online, const char *allowed, char *list, size_t size)
{
    lot_range range;
    const char *at = online;

    list[0] = '\0';
    while (lot_ranges_next(&at, &range))
        for (int64_t node = range.first; node <= range.last; node++)
            if (lot_ranges_hold(allowed, node))
                lot_ranges_add(list, size, node);
}

/* The largest or the smallest distance from one of the nodes to the device's; -1 where one is not known. */
static int64_t far_or_near(const lot_numa_files *files, const char *online, const char *nodes, int64_t to,
                           bool far)
{
    int64_t found = -1;
    lot_range range;

    while (lot_ranges_next(&nodes, &range))
        for (int64_t node = range.first; node <= range.last; node++) {
            const int64_t d = distance(files, online, node, to);

            if (d < 0)
                return -1;
            if (found < 0 || (far ? d > found : d < found))
                found = d;
        }
    return found;
}

size_t lot_numa_read(const lot_numa_files *files, const char *cpus, int64_t device_node, lot_environment *e,
                     lot_absent absent[LOT_NUMA_ABSENT_MAX])
{
    reasons why = {absent, 0};
    char online[LINE_BYTES], allowed[LINE_BYTES], path[PATH_BYTES];
    const char *no_distance = device_node < 0 ? "the NUMA node of the device is not known"
                                              : "the system tells no distance to the device's NUMA node";

    (void)snprintf(path, sizeof path, "%s/online", files->nodes);
    (void)lot_system_line(path, online, sizeof online);
    (void)lot_system_value(files->status, "Mems_allowed_list:", allowed, sizeof allowed);
    list_cpu_nodes(files, online, cpus, e->cpu_numa_nodes, sizeof e->cpu_numa_nodes);
    list_memory_nodes(online, allowed, e->memory_numa_nodes, sizeof e->memory_numa_nodes);
    e->device_cpu_distance = e->device_memory_distance = LOT_NULL_I64;
    if (device_node >= 0) {
        e->device_cpu_distance = far_or_near(files, online, e->cpu_numa_nodes, device_node, true);
        e->device_memory_distance = far_or_near(files, online, e->memory_numa_nodes, device_node, false);
    }
    if (e->cpu_numa_nodes[0] == '\0')
        give_reason(&why, "cpu_numa_nodes", "the system names no NUMA node of these CPUs");
    if (e->memory_numa_nodes[0] == '\0')
        give_reason(&why, "memory_numa_nodes", "the system names no NUMA node with this rank's memory");
    if (e->device_cpu_distance < 0)
        give_reason(&why, "device_cpu_distance", no_distance);
    if (e->device_memory_distance < 0)
        give_reason(&why, "device_memory_distance", no_distance);
    return why.count;
}
