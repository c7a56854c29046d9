#include "core/cgroups.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PATH_BYTES 1024

typedef struct walk {
    const char *root;
    const char *controller;
    lot_cgroup_visit visit;
    void *context;
} walk;

/* Visits the group and all above it. In a container the path may be one of the host's that does not exist
 * here; the walk then ends at the mount, which is the container's own group. */
static void visit_groups(const walk *w, const char *group, int version)
{
    char folder[PATH_BYTES];
    size_t top;
    char *slash;

    top = (size_t)snprintf(folder, sizeof folder, "%s/sys/fs/cgroup%s%s", w->root, version == 1 ? "/" : "",
                           version == 1 ? w->controller : "");
    if (top >= sizeof folder)
        return;
    (void)snprintf(folder + top, sizeof folder - top, "%s", strcmp(group, "/") == 0 ? "" : group);
    for (;;) {
        w->visit(folder, version, w->context);
        slash = strrchr(folder + top, '/');
        if (slash == NULL)
            return;
        *slash = '\0';
    }
}

/* Whether a line's list of controllers, between its first two colons, has this one. */
static bool has_controller(const char *controllers, const char *wanted)
{
    const size_t length = strlen(wanted);

    for (const char *at = controllers; at[0] != '\0'; at += at[0] == ',') {
        const size_t one = strcspn(at, ",");

        if (one == length && memcmp(at, wanted, length) == 0)
            return true;
        at += one;
    }
    return false;
}

/* A line is "0::/path" for version 2 and "4:cpu,memory:/path" for version 1. */
static void visit_line(const walk *w, char *line)
{
    char *controllers = strchr(line, ':');
    char *group = controllers == NULL ? NULL : strchr(controllers + 1, ':');

    if (group == NULL)
        return;
    *controllers++ = '\0';
    *group++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    if (controllers[0] == '\0')
        visit_groups(w, group, 2);
    else if (has_controller(controllers, w->controller))
        visit_groups(w, group, 1);
}

void lot_cgroups_walk(const char *root, const char *controller, lot_cgroup_visit visit, void *context)
{
    const walk w = {root, controller, visit, context};
    char path[PATH_BYTES], line[PATH_BYTES];
    FILE *file;

    (void)snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    file = fopen(path, "re");
    if (file == NULL)
        return;
    while (fgets(line, sizeof line, file) != NULL)
        visit_line(&w, line);
    (void)fclose(file);
}
