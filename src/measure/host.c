#include "measure/host.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/cpus.h"
#include "core/system_file.h"

#define LINE_BYTES 512

void lot_host_name(char *name, size_t size)
{
    char text[256] = "";

    if (gethostname(text, sizeof text - 1) != 0 || text[0] == '\0')
        (void)snprintf(text, sizeof text, "unknown");
    (void)lot_field_copy(name, size, text);
}

void lot_host_environment(lot_environment *environment)
{
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long page_bytes = sysconf(_SC_PAGE_SIZE);
    struct utsname system;
    char list[LINE_BYTES];

    (void)lot_field_copy(environment->tool_version, sizeof environment->tool_version, GPULOT_VERSION);
    (void)lot_system_value("/etc/os-release", "PRETTY_NAME=", environment->os, sizeof environment->os);
    (void)lot_system_value("/proc/cpuinfo", "model name", environment->cpu_model,
                           sizeof environment->cpu_model);
    if (uname(&system) == 0)
        (void)lot_field_copy(environment->kernel, sizeof environment->kernel, system.release);
    environment->cpus_online = sysconf(_SC_NPROCESSORS_ONLN);
    environment->cpus_bound = lot_host_cpus(list, sizeof list);
    if (pages > 0 && page_bytes > 0)
        environment->host_memory_bytes = (int64_t)pages * page_bytes;
    lot_clock_utc(environment->started_utc, sizeof environment->started_utc);
}

/* ---- CPUs ---- */

int lot_host_cpus(char *list, size_t size)
{
    lot_cpus cpus;

    list[0] = '\0';
    if (!lot_cpus_read(&cpus))
        return 0;
    lot_cpus_print(&cpus, list, size);
    return lot_cpus_count(&cpus);
}

/* The first line of a file of the PCI device `address`; sysfs writes addresses in small letters. */
static bool read_sysfs(const char *address, const char *file, char *text, size_t size)
{
    char path[LINE_BYTES], lower[32];

    (void)snprintf(lower, sizeof lower, "%s", address);
    for (char *c = lower; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
    (void)snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/%s", lower, file);
    return lot_system_line(path, text, size);
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
    lot_cpus near, allowed;
    int count;

    if (!read_sysfs(address, "local_cpulist", text, sizeof text) || !lot_cpus_read(&allowed))
        return 0;
    lot_cpus_parse(text, &near);
    lot_cpus_keep(&near, &allowed);
    count = lot_cpus_count(&near);
    return count > 0 && count < lot_cpus_count(&allowed) && lot_cpus_apply(&near);
}
