#include "gpu/host/host_memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

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
    const char *mount;
    const char *limit;
    const char *usage;
    const char *reclaimable; /* key in memory.stat: file pages that are dropped before anybody is killed */
} group_files;

static const group_files version_1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                      "memory.usage_in_bytes", "total_inactive_file "};
static const group_files version_2 = {"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "};

/* Lowers *memory to what the group in `folder` allows. */
static void apply_group(const char *folder, const group_files *files, lot_host_memory *memory)
{
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

/* Applies the group and all above it. In a container the path may be one of the host's that does not exist
 * here; the walk then ends at the mount, which is the container's own group. */
static void apply_groups(const char *root, const char *group, const group_files *files,
                         lot_host_memory *memory)
{
    char folder[PATH_BYTES];
    size_t top;
    char *slash;

    top = (size_t)snprintf(folder, sizeof folder, "%s%s", root, files->mount);
    if (top >= sizeof folder)
        return;
    (void)snprintf(folder + top, sizeof folder - top, "%s", strcmp(group, "/") == 0 ? "" : group);
    for (;;) {
        apply_group(folder, files, memory);
        slash = strrchr(folder + top, '/');
        if (slash == NULL)
            return;
        *slash = '\0';
    }
}

/* Whether a line's list of controllers, between its first two colons, has `memory`. */
static bool has_memory_controller(const char *controllers)
{
    const char *found = strstr(controllers, "memory");

    return found != NULL && (found == controllers || found[-1] == ',') &&
           (found[6] == '\0' || found[6] == ',');
}

/* A line is "0::/path" for version 2 and "4:cpu,memory:/path" for version 1. */
static void apply_line(const char *root, char *line, lot_host_memory *memory)
{
    char *controllers = strchr(line, ':');
    char *group = controllers == NULL ? NULL : strchr(controllers + 1, ':');

    if (group == NULL)
        return;
    *controllers++ = '\0';
    *group++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    if (controllers[0] == '\0')
        apply_groups(root, group, &version_2, memory);
    else if (has_memory_controller(controllers))
        apply_groups(root, group, &version_1, memory);
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
    char line[PATH_BYTES];
    int64_t total, available;
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/proc/meminfo", root);
    total = read_key(path, "MemTotal:");
    available = read_key(path, "MemAvailable:");
    if (total > 0 && available >= 0)
        memory = (lot_host_memory){.total_bytes = total * 1024, .available_bytes = available * 1024};
    (void)snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    file = fopen(path, "re");
    if (file == NULL)
        return memory;
    while (fgets(line, sizeof line, file) != NULL)
        apply_line(root, line, &memory);
    (void)fclose(file);
    return memory;
}
