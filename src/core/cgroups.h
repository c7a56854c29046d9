/* Control groups, by which a container or a job is limited. */
#ifndef GPULOT_CORE_CGROUPS_H
#define GPULOT_CORE_CGROUPS_H

typedef void (*lot_cgroup_visit)(const char *folder, int version, void *context);

/* Calls `visit` for the folder of every control group, of version 1 or 2, that `controller` ("memory", "cpu")
 * may limit this process by: its own and all above it. `root` is put before every path: "" in use, a folder
 * of recorded files in tests. */
void lot_cgroups_walk(const char *root, const char *controller, lot_cgroup_visit visit, void *context);

#endif
