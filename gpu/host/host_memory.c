#include "gpu/host/host_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "core/cgroups.h"
#include "core/system_file.h"

#define PATH_BYTES 1024
#define LINE_BYTES 256 /* of a file with a number */

/* A number in decimal digits; -1 where the text holds none ("max", ""). */
static int64_t number_of(const char *text)
{
    char *end;
    const int64_t value = strtoll(text, &end, 10);

    return end == text ? -1 : value;
}

static int64_t read_key(const char *path, const char *key)
{
    char text[LINE_BYTES];

    (void)lot_system_value(path, key, text, sizeof text);
    return number_of(text);
}

static int64_t read_number(const char *path)
{
    char text[LINE_BYTES];

    (void)lot_system_line(path, text, sizeof text);
    return number_of(text);
}

/* Names of one version of the control group files. */
typedef struct group_files {
    const char *limit;
    const char *usage;
    const char *reclaimable; /* key in memory.stat: file pages that are dropped before anybody is killed */
} group_files;

static const group_files version_1 = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                                      "total_inactive_file "};
static const group_files version_2 = {"memory.max", "memory.current", "inactive_file "};

/* Lowers what is there to what the group in `folder` allows. */
static void apply_group(const char *folder, int version, void *context)
{
    const group_files *files = version == 1 ? &version_1 : &version_2;
    lot_host_memory *memory = context;
    char path[2 * PATH_BYTES];
    int64_t limit, usage, reclaimable, left;

    (void)snprintf(path, sizeof path, "%s/%s", folder, files->limit);
    limit = read_number(path);
    if (limit < 0)
        return;
    (void)snprintf(path, sizeof path, "%s/%s", folder, files->usage);
    usage = read_number(path);
    (void)snprintf(path, sizeof path, "%s/memory.stat", folder);
    reclaimable = read_key(path, files->reclaimable);
    if (usage < 0)
        usage = 0;
    if (reclaimable < 0 || reclaimable > usage)
        reclaimable = 0;
    usage -= reclaimable;
    left = limit > usage ? limit - usage : 0;
    if (limit < memory->total_bytes)
        memory->total_bytes = limit;
    if (left < memory->available_bytes)
        memory->available_bytes = left;
}

/* What the kernel says without /proc: what is free, since what it could drop besides stands in meminfo alone.
 */
static lot_host_memory free_memory(void)
{
    struct sysinfo info;

    if (sysinfo(&info) != 0)
        return (lot_host_memory){0, 0};
    return (lot_host_memory){.total_bytes = (int64_t)info.totalram * info.mem_unit,
                             .available_bytes = (int64_t)info.freeram * info.mem_unit};
}

lot_host_memory lot_host_memory_read(const char *root)
{
    lot_host_memory memory = free_memory();
    char path[PATH_BYTES];
    int64_t total, available;

    (void)snprintf(path, sizeof path, "%s/proc/meminfo", root);
    total = read_key(path, "MemTotal:");
    available = read_key(path, "MemAvailable:");
    if (total > 0 && available >= 0)
        memory = (lot_host_memory){.total_bytes = total * 1024, .available_bytes = available * 1024};
    lot_cgroups_walk(root, "memory", apply_group, &memory);
    return memory;
}
