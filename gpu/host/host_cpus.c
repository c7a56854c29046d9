#include "gpu/host/host_cpus.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/cpus.h"
#include "core/system_file.h"
#include "gpu/host/host_sha256.h"

/* x86 names its model. ARM gives numbers, which are still better than nothing. */
static void read_model(char *model, size_t size)
{
    static const char cpuinfo[] = "/proc/cpuinfo";
    char implementer[16], part[16];
    struct utsname system;

    if (lot_system_value(cpuinfo, "model name", model, size))
        return;
    if (lot_system_value(cpuinfo, "CPU implementer", implementer, sizeof implementer) &&
        lot_system_value(cpuinfo, "CPU part", part, sizeof part))
        (void)snprintf(model, size, "CPU implementer %s part %s", implementer, part);
    else if (uname(&system) == 0)
        (void)snprintf(model, size, "%.60s CPU", system.machine);
}

/* Bytes of a cache of the given level of one CPU; -1 where it is not known. */
static int64_t cache_bytes(int cpu, int level)
{
    char path[128], line[32];

    for (int index = 0; index < 8; index++) {
        char *end;
        long long size;

        (void)snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/level", cpu, index);
        if (!lot_system_line(path, line, sizeof line))
            return -1;
        if (strtol(line, NULL, 10) != level)
            continue;
        (void)snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/size", cpu, index);
        if (!lot_system_line(path, line, sizeof line))
            return -1;
        size = strtoll(line, &end, 10);
        return end == line ? -1 : size * (*end == 'K' ? 1024 : *end == 'M' ? 1024 * 1024 : 1);
    }
    return -1;
}

/* The NUMA node of one CPU; -1 where the system names none. */
static int64_t node_of(int cpu)
{
    char path[64];
    int64_t node = -1;
    struct dirent *entry;
    DIR *folder;

    (void)snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d", cpu);
    folder = opendir(path);
    if (folder == NULL)
        return -1;
    while (node < 0 && (entry = readdir(folder)) != NULL)
        if (strncmp(entry->d_name, "node", 4) == 0 && entry->d_name[4] >= '0' && entry->d_name[4] <= '9')
            node = strtoll(entry->d_name + 4, NULL, 10);
    (void)closedir(folder);
    return node;
}

/* The node that all of the CPUs belong to; -1 where they belong to several. */
static int64_t common_node(const lot_cpus *allowed)
{
    int64_t node = -1;

    for (int cpu = 0; cpu < LOT_CPUS_MOST; cpu++) {
        int64_t own;

        if (!lot_cpus_have(allowed, cpu))
            continue;
        own = node_of(cpu);
        if (own < 0 || (node >= 0 && own != node))
            return -1;
        node = own;
    }
    return node;
}

static int first_cpu(const lot_cpus *allowed)
{
    int cpu = 0;

    while (cpu < LOT_CPUS_MOST - 1 && !lot_cpus_have(allowed, cpu))
        cpu++;
    return cpu;
}

static void make_uuid(const lot_cpus *allowed, char *uuid, size_t size)
{
    char machine[128] = {0}; /* all of it is hashed */
    uint8_t message[sizeof machine + sizeof *allowed];
    uint8_t digest[32];
    char hex[33];

    if (!lot_system_line("/etc/machine-id", machine, sizeof machine))
        (void)gethostname(machine, sizeof machine - 1);
    memset(message, 0, sizeof message);
    memcpy(message, machine, sizeof machine);
    memcpy(message + sizeof machine, allowed, sizeof *allowed);
    lot_host_sha256(message, sizeof message, digest);
    for (size_t i = 0; i < 16; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    (void)snprintf(uuid, size, "HOST-%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

lot_status lot_host_cpus_read(lot_host_cpus *cpus, lot_error *error)
{
    lot_cpus allowed;
    int cpu;

    if (!lot_cpus_read(&allowed))
        return lot_error_errno(error, LOT_NO_DEVICE, "sched_getaffinity", errno,
                               "cannot tell which CPUs this process may run on");
    memset(cpus, 0, sizeof *cpus);
    cpus->count = lot_cpus_count(&allowed);
    lot_cpus_print(&allowed, cpus->list, sizeof cpus->list);
    cpu = first_cpu(&allowed);
    read_model(cpus->model, sizeof cpus->model);
    cpus->l2_bytes = cache_bytes(cpu, 2);
    cpus->l3_bytes = cache_bytes(cpu, 3);
    cpus->numa_node = common_node(&allowed);
    make_uuid(&allowed, cpus->uuid, sizeof cpus->uuid);
    return LOT_OK;
}
