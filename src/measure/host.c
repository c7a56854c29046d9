#define _GNU_SOURCE
#include "measure/host.h"

#include <ctype.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/ranges.h"

#define LINE_BYTES 512

void lot_host_name(char *name, size_t size)
{
    char text[256] = "";

    if (gethostname(text, sizeof text - 1) != 0 || text[0] == '\0')
        (void)snprintf(text, sizeof text, "unknown");
    (void)lot_field_copy(name, size, text);
}

/* The first line of `path` that begins with `key`, what follows its separator, without quotes and line end.
 */
static void line_value(const char *path, const char *key, const char *separator, char *value, size_t size)
{
    FILE *file = fopen(path, "re");
    char line[LINE_BYTES];

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char *at = strncmp(line, key, strlen(key)) == 0 ? strstr(line, separator) : NULL;

        if (at == NULL)
            continue;
        at += strlen(separator);
        at += strspn(at, " \t\"");
        at[strcspn(at, "\"\n")] = '\0';
        (void)lot_field_copy(value, size, at);
        break;
    }
    if (file != NULL)
        (void)fclose(file);
}

void lot_host_environment(lot_environment *environment)
{
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long page_bytes = sysconf(_SC_PAGE_SIZE);
    struct utsname system;
    char list[LINE_BYTES];

    (void)lot_field_copy(environment->tool_version, sizeof environment->tool_version, GPULOT_VERSION);
    line_value("/etc/os-release", "PRETTY_NAME=", "=", environment->os, sizeof environment->os);
    line_value("/proc/cpuinfo", "model name", ":", environment->cpu_model, sizeof environment->cpu_model);
    if (uname(&system) == 0)
        (void)lot_field_copy(environment->kernel, sizeof environment->kernel, system.release);
    environment->cpus_online = sysconf(_SC_NPROCESSORS_ONLN);
    environment->cpus_bound = lot_host_cpus(list, sizeof list);
    if (pages > 0 && page_bytes > 0)
        environment->host_memory_bytes = (int64_t)pages * page_bytes;
    lot_clock_utc(environment->started_utc, sizeof environment->started_utc);
}

/* ---- CPU sets ---- */

static void print_range(char *list, size_t size, int first, int last)
{
    const size_t used = strlen(list);

    if (first == last)
        (void)snprintf(list + used, size - used, "%s%d", used == 0 ? "" : ",", first);
    else
        (void)snprintf(list + used, size - used, "%s%d-%d", used == 0 ? "" : ",", first, last);
}

int lot_host_cpus(char *list, size_t size)
{
    cpu_set_t set;
    int first = -1;

    list[0] = '\0';
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 0;
    for (int cpu = 0; cpu <= CPU_SETSIZE; cpu++) {
        const int in = cpu < CPU_SETSIZE && CPU_ISSET((size_t)cpu, &set);

        if (in && first < 0)
            first = cpu;
        if (!in && first >= 0) {
            print_range(list, size, first, cpu - 1);
            first = -1;
        }
    }
    return CPU_COUNT(&set);
}

/* Reads "0-3,8" into a set; false where it is no such list. */
static int parse_list(const char *text, cpu_set_t *set)
{
    lot_range range;

    CPU_ZERO(set);
    while (lot_ranges_next(&text, &range))
        for (int64_t cpu = range.first; cpu <= range.last && cpu < CPU_SETSIZE; cpu++)
            CPU_SET((size_t)cpu, set);
    return CPU_COUNT(set) > 0;
}

/* The first line of a file of the PCI device `address`; sysfs writes addresses in small letters. */
static int read_sysfs(const char *address, const char *file, char *text, size_t size)
{
    char path[LINE_BYTES], lower[32];
    FILE *stream;
    int got;

    (void)snprintf(lower, sizeof lower, "%s", address);
    for (char *c = lower; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
    (void)snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/%s", lower, file);
    stream = fopen(path, "re");
    if (stream == NULL)
        return 0;
    got = fgets(text, (int)size, stream) != NULL;
    (void)fclose(stream);
    return got;
}

int64_t lot_host_near_node(const char *address)
{
    char text[LINE_BYTES];

    if (!read_sysfs(address, "numa_node", text, sizeof text) || !isdigit((unsigned char)text[0]))
        return -1;
    return strtol(text, NULL, 10);
}

int lot_host_move_near(const char *address)
{
    char text[LINE_BYTES];
    cpu_set_t near, allowed, both;

    if (!read_sysfs(address, "local_cpulist", text, sizeof text) || !parse_list(text, &near))
        return 0;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return 0;
    CPU_AND(&both, &near, &allowed);
    if (CPU_COUNT(&both) == 0 || CPU_EQUAL(&both, &allowed))
        return 0;
    return sched_setaffinity(0, sizeof both, &both) == 0;
}
