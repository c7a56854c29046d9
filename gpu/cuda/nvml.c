#include "gpu/cuda/nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY         "libnvidia-ml.so.1"
#define PROCESSES_SPARE 16

typedef void (*any_function)(void);

struct lot_nvml {
    pthread_mutex_t lock;
    any_function functions[LOT_NVML_FUNCTION_COUNT];
};

static const char *const symbols[LOT_NVML_FUNCTION_COUNT] = {
#define SYMBOL(name, symbol) symbol,
    LOT_NVML_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

/* Calls functions[which] as TYPE with ARGUMENTS under the lock. A macro, for every form of function needs it
 * and C has no way to write it once. */
#define CALL(nvml, which, type, arguments)                                                                   \
    do {                                                                                                     \
        int result_ = LOT_NVML_FUNCTION_NOT_FOUND;                                                           \
                                                                                                             \
        (void)pthread_mutex_lock(&(nvml)->lock);                                                             \
        if ((nvml)->functions[which] != NULL)                                                                \
            result_ = ((type)(nvml)->functions[which])arguments;                                             \
        (void)pthread_mutex_unlock(&(nvml)->lock);                                                           \
        return result_;                                                                                      \
    } while (0)

/* ---- loading ---- */

static void find_functions(lot_nvml *nvml, void *library)
{
    for (int i = 0; i < LOT_NVML_FUNCTION_COUNT; i++) {
        void *symbol = dlsym(library, symbols[i]);

        /* ISO C has no conversion from an object pointer to a function pointer; POSIX says they are alike. */
        memcpy(&nvml->functions[i], &symbol, sizeof symbol);
    }
}

static int initialise(lot_nvml *nvml)
{
    typedef int (*form)(void);

    CALL(nvml, LOT_NVML_INIT, form, ());
}

lot_nvml *lot_nvml_open(char *reason, size_t size)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL); /* never closed: NVML does not like it */
    lot_nvml *nvml;
    int result;

    if (library == NULL) {
        (void)snprintf(reason, size, "NVML is absent: %.120s", dlerror());
        return NULL;
    }
    nvml = calloc(1, sizeof *nvml);
    if (nvml == NULL) {
        (void)snprintf(reason, size, "the host is out of memory");
        return NULL;
    }
    (void)pthread_mutex_init(&nvml->lock, NULL);
    find_functions(nvml, library);
    result = initialise(nvml);
    if (result != LOT_NVML_SUCCESS) {
        lot_nvml_reason(nvml, LOT_NVML_INIT, result, reason, size);
        (void)pthread_mutex_destroy(&nvml->lock);
        free(nvml);
        return NULL;
    }
    return nvml;
}

static int shut_down(lot_nvml *nvml)
{
    typedef int (*form)(void);

    CALL(nvml, LOT_NVML_SHUTDOWN, form, ());
}

void lot_nvml_close(lot_nvml *nvml)
{
    if (nvml == NULL)
        return;
    (void)shut_down(nvml);
    (void)pthread_mutex_destroy(&nvml->lock);
    free(nvml);
}

void lot_nvml_reason(lot_nvml *nvml, lot_nvml_function function, int result, char *reason, size_t size)
{
    typedef const char *(*form)(int);
    const any_function describe = nvml->functions[LOT_NVML_ERROR_STRING];

    if (nvml->functions[function] == NULL)
        (void)snprintf(reason, size, "%s: this NVML does not have it", symbols[function]);
    else if (describe != NULL)
        (void)snprintf(reason, size, "%s: %s", symbols[function], ((form)describe)(result));
    else
        (void)snprintf(reason, size, "%s: NVML result %d", symbols[function], result);
}

/* ---- the forms ---- */

int lot_nvml_driver_version(lot_nvml *nvml, char *text, size_t size)
{
    typedef int (*form)(char *, unsigned);

    CALL(nvml, LOT_NVML_DRIVER_VERSION, form, (text, (unsigned)size));
}

int lot_nvml_text(lot_nvml *nvml, lot_nvml_function function, lot_nvml_device device, char *text, size_t size)
{
    typedef int (*form)(lot_nvml_device, char *, unsigned);

    CALL(nvml, function, form, (device, text, (unsigned)size));
}

int lot_nvml_number(lot_nvml *nvml, lot_nvml_function function, lot_nvml_device device, unsigned *value)
{
    typedef int (*form)(lot_nvml_device, unsigned *);

    CALL(nvml, function, form, (device, value));
}

int lot_nvml_keyed(lot_nvml *nvml, lot_nvml_function function, lot_nvml_device device, unsigned key,
                   unsigned *value)
{
    typedef int (*form)(lot_nvml_device, unsigned, unsigned *);

    CALL(nvml, function, form, (device, key, value));
}

int lot_nvml_pair(lot_nvml *nvml, lot_nvml_function function, lot_nvml_device device, unsigned *current,
                  unsigned *pending)
{
    typedef int (*form)(lot_nvml_device, unsigned *, unsigned *);

    CALL(nvml, function, form, (device, current, pending));
}

int lot_nvml_long(lot_nvml *nvml, lot_nvml_function function, lot_nvml_device device, uint64_t *value)
{
    typedef int (*form)(lot_nvml_device, unsigned long long *);
    unsigned long long *at = (unsigned long long *)(void *)value;

    CALL(nvml, function, form, (device, at));
}

int lot_nvml_ecc(lot_nvml *nvml, lot_nvml_device device, unsigned type, unsigned counter, uint64_t *value)
{
    typedef int (*form)(lot_nvml_device, unsigned, unsigned, unsigned long long *);
    unsigned long long *at = (unsigned long long *)(void *)value;

    CALL(nvml, LOT_NVML_ECC_ERRORS, form, (device, type, counter, at));
}

int lot_nvml_remapped_rows(lot_nvml *nvml, lot_nvml_device device, lot_nvml_rows *rows)
{
    typedef int (*form)(lot_nvml_device, unsigned *, unsigned *, unsigned *, unsigned *);

    CALL(nvml, LOT_NVML_REMAPPED_ROWS, form,
         (device, &rows->corrected, &rows->uncorrected, &rows->pending, &rows->failed));
}

int lot_nvml_fields(lot_nvml *nvml, lot_nvml_device device, lot_nvml_field *fields, int count)
{
    typedef int (*form)(lot_nvml_device, int, lot_nvml_field *);

    CALL(nvml, LOT_NVML_FIELDS, form, (device, count, fields));
}

bool lot_nvml_first_numbers(const char *driver_version)
{
    char *point;
    const unsigned long release = strtoul(driver_version, &point, 10);
    const unsigned long update = *point == '.' ? strtoul(point + 1, NULL, 10) : 0;

    if (*point != '.')
        return false;
    return release >= 575 && (release < 580 || (release == 580 && update < 82));
}

bool lot_nvml_field_value(const lot_nvml_field *field, uint64_t *value)
{
    enum { REAL, U32, LONG, U64, I64, I32, U16 };

    if (field->result != LOT_NVML_SUCCESS)
        return false;
    switch (field->value_type) {
    case REAL:
        *value = field->value.real > 0 ? (uint64_t)field->value.real : 0;
        return field->value.real >= 0;
    case U32:
        *value = field->value.u32;
        return true;
    case LONG:
    case U64:
        *value = field->value.u64;
        return true;
    case I64:
        *value = (uint64_t)field->value.i64;
        return field->value.i64 >= 0;
    case I32:
        *value = (uint64_t)field->value.i32;
        return field->value.i32 >= 0;
    case U16:
        *value = field->value.u16;
        return true;
    default:
        return false;
    }
}

/* ---- handles ---- */

int lot_nvml_by_uuid(lot_nvml *nvml, const char *uuid, lot_nvml_device *device)
{
    typedef int (*form)(const char *, lot_nvml_device *);

    CALL(nvml, LOT_NVML_BY_UUID, form, (uuid, device));
}

int lot_nvml_by_pci(lot_nvml *nvml, const char *address, lot_nvml_device *device)
{
    typedef int (*form)(const char *, lot_nvml_device *);

    CALL(nvml, LOT_NVML_BY_PCI, form, (address, device));
}

int lot_nvml_mig_parent(lot_nvml *nvml, lot_nvml_device slice, lot_nvml_device *device)
{
    typedef int (*form)(lot_nvml_device, lot_nvml_device *);

    CALL(nvml, LOT_NVML_MIG_PARENT, form, (slice, device));
}

int lot_nvml_mig_slice(lot_nvml *nvml, lot_nvml_device device, unsigned index, lot_nvml_device *slice)
{
    typedef int (*form)(lot_nvml_device, unsigned, lot_nvml_device *);

    CALL(nvml, LOT_NVML_MIG_BY_INDEX, form, (device, index, slice));
}

/* ---- processes ---- */

/* What the link reads in the namespace that the system started with: its number is the kernel's constant. */
#define FIRST_NAMESPACE "pid:[4026531836]"

bool lot_nvml_lists_whole(const char *link)
{
    char text[64];
    const ssize_t length = readlink(link, text, sizeof text);

    return length == (ssize_t)strlen(FIRST_NAMESPACE) && memcmp(text, FIRST_NAMESPACE, (size_t)length) == 0;
}

static int list_processes(lot_nvml *nvml, lot_nvml_function function, lot_nvml_device device, unsigned *count,
                          lot_nvml_process *processes)
{
    typedef int (*form)(lot_nvml_device, unsigned *, lot_nvml_process *);

    CALL(nvml, function, form, (device, count, processes));
}

int lot_nvml_processes(lot_nvml *nvml, lot_nvml_function function, lot_nvml_device device, pid_t but,
                       int64_t *count)
{
    unsigned listed = 0;
    lot_nvml_process *processes;
    int result = list_processes(nvml, function, device, &listed, NULL);

    if (result == LOT_NVML_SUCCESS)
        *count = 0;
    if (result != LOT_NVML_INSUFFICIENT_SIZE)
        return result;
    listed += PROCESSES_SPARE; /* more may have come since */
    processes = calloc(listed, LOT_NVML_PROCESS_SPARE);
    if (processes == NULL)
        return LOT_NVML_INSUFFICIENT_SIZE;
    result = list_processes(nvml, function, device, &listed, processes);
    if (result == LOT_NVML_SUCCESS) {
        *count = 0;
        for (unsigned i = 0; i < listed; i++)
            *count += processes[i].pid != (unsigned)but;
    }
    free(processes);
    return result;
}
