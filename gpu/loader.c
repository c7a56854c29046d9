#define _GNU_SOURCE /* realpath */
#include "gpu/loader.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define PATH_BYTES 4096

/* The folder of the running program, without a slash at the end; "." where it is not known. */
static void program_folder(char folder[PATH_BYTES])
{
    /* Without /proc, as in some containers, the kernel has still told under which name it was started. */
    const char *const started = (const char *)getauxval(AT_EXECFN);
    char *slash;

    if (realpath("/proc/self/exe", folder) == NULL &&
        (started == NULL || realpath(started, folder) == NULL)) {
        (void)snprintf(folder, PATH_BYTES, ".");
        return;
    }
    slash = strrchr(folder, '/');
    if (slash != NULL)
        *slash = '\0';
}

/* Puts the first readable candidate into `path`; false where there is none. */
static bool find_module(const char *name, char *path, size_t size)
{
    static const char *const places[] = {"lib/gpulot", "../" GPULOT_LIBDIR "/gpulot", "../lib/gpulot"};
    const char *chosen = getenv("GPULOT_MODULE_DIR");
    char folder[PATH_BYTES];

    if (chosen != NULL && chosen[0] != '\0') {
        (void)snprintf(path, size, "%s/gpulot-%s.so", chosen, name);
        return access(path, R_OK) == 0;
    }
    program_folder(folder);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        (void)snprintf(path, size, "%s/%s/gpulot-%s.so", folder, places[i], name);
        if (access(path, R_OK) == 0)
            return true;
    }
    return false;
}

/* What the dynamic linker said, and what helps where this machine has another version of a library than the
 * one that the module was built with. */
static lot_status not_loaded(const char *name, const char *said, lot_error *error)
{
    const char *remedy = "";

    if (strstr(said, "cannot open shared object file") != NULL)
        remedy = "; add that library's folder to LD_LIBRARY_PATH, or build gpulot on this machine";
    else if (strstr(said, "undefined symbol") != NULL || strstr(said, "not found (required by") != NULL)
        remedy = "; the library here is older than the one that gpulot was built with: build gpulot on this "
                 "machine";
    return lot_error_set(error, LOT_NO_LIBRARY, "dlopen", 0, "the module %s cannot be loaded: %s%s", name,
                         said, remedy);
}

lot_status lot_loader_symbol(const char *name, const char *symbol, int global, const void **table,
                             lot_error *error)
{
    char path[2 * PATH_BYTES];
    void *library;
    const void *found;

    if (!find_module(name, path, sizeof path))
        return lot_error_set(error, LOT_NO_MODULE, "dlopen", 0,
                             "there is no module gpulot-%s.so beside this program: it was built or installed "
                             "without it",
                             name);
    library = dlopen(path, RTLD_NOW | (global ? RTLD_GLOBAL : RTLD_LOCAL));
    if (library == NULL)
        return not_loaded(name, dlerror(), error);
    found = dlsym(library, symbol);
    if (found == NULL)
        return lot_error_set(error, LOT_MODULE_ABI, "dlsym", 0, "the module %s has no symbol %s", name,
                             symbol);
    *table = found;
    return LOT_OK;
}

lot_status lot_loader_load(const char *name, const lot_device_module **module, lot_error *error)
{
    const void *table = NULL;
    const lot_device_module *found;
    const lot_status status = lot_loader_symbol(name, LOT_DEVICE_SYMBOL, 0, &table, error);

    if (status != LOT_OK)
        return status;
    found = table;
    if (found->abi == LOT_DEVICE_ABI && found->size == sizeof *found && strcmp(found->name, name) != 0)
        return lot_error_set(error, LOT_MODULE_ABI, "dlopen", 0,
                             "gpulot-%s.so is the module %s under another name: install all from one version",
                             name, found->name);
    if (found->abi != LOT_DEVICE_ABI || found->size != sizeof *found)
        return lot_error_set(
            error, LOT_MODULE_ABI, "dlopen", 0,
            "the module %s is of interface %u, this program needs %u: install both from one version", name,
            found->abi, LOT_DEVICE_ABI);
    *module = found;
    return LOT_OK;
}
