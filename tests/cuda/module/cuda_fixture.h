/* The CUDA module as a program sees it: loaded, its table at hand, one device open. */
#ifndef GPULOT_TESTS_CUDA_FIXTURE_H
#define GPULOT_TESTS_CUDA_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "gpu/device.h"
#include "gpu/digest.h"
#include "gpu/generator.h"
#include "gpu/loader.h"

typedef struct fixture {
    const lot_device_module *module;
    lot_device *device;
    lot_error error;
    lot_device_facts facts;
    lot_absent absent[128];
    size_t absent_count;
} fixture;

/* Asserts that a call on the module came back well, and says its error where it did not. */
#define WORKS(f, call)                                                                                       \
    do {                                                                                                     \
        if ((call) != LOT_OK)                                                                                \
            fail_msg("%s: %s", #call, (f)->error.text);                                                      \
    } while (0)

/* Over the simulator, which is known in every detail; else on a GPU. */
static inline bool fixture_simulated(void)
{
    return getenv("GPULOT_CUDASIM_DEVICES") != NULL;
}

/* In a PID namespace of its own, where the processes of others are hidden. The first one has this inode. */
static inline bool fixture_in_container(void)
{
    struct stat info;

    return stat("/proc/self/ns/pid", &info) != 0 || info.st_ino != 0xEFFFFFFCu;
}

static inline fixture *fixture_load(void)
{
    fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    assert_int_equal(setenv("GPULOT_MODULE_DIR", TEST_MODULE_DIR, 0), 0);
    WORKS(f, lot_loader_load("cuda", &f->module, &f->error));
    return f;
}

static inline void fixture_open(fixture *f, int tune, int telemetry_hz)
{
    const lot_device_options options = {
        .ordinal = 0, .threads = 2, .tune_candidates = tune, .telemetry_hz = telemetry_hz};

    WORKS(f, f->module->open(&options, &f->device, &f->error));
}

static inline void fixture_describe(fixture *f)
{
    memset(&f->facts, 0, sizeof f->facts);
    f->facts.numa_node = LOT_NULL_I64; /* not known from elsewhere */
    WORKS(f, f->module->describe(f->device, &f->facts, f->absent, 128, &f->absent_count, &f->error));
}

/* The reason why a field is absent; NULL where none is given. */
static inline const char *fixture_reason(const fixture *f, const char *field)
{
    for (size_t i = 0; i < f->absent_count; i++)
        if (strcmp(f->absent[i].field, field) == 0)
            return f->absent[i].reason;
    return NULL;
}

static inline void *fixture_alloc(fixture *f, int64_t bytes)
{
    void *pointer = NULL;

    WORKS(f, f->module->alloc(f->device, bytes, &pointer, &f->error));
    assert_non_null(pointer);
    return pointer;
}

static inline void fixture_free(fixture *f)
{
    f->module->close(f->device);
    free(f);
}

/* Element `i` of host memory that holds values of `dtype`, as float. */
static inline float fixture_at(const void *values, lot_dtype dtype, int64_t i)
{
    float single;

    if (dtype == LOT_FLOAT32) {
        memcpy(&single, (const char *)values + 4 * i, sizeof single);
        return single;
    }
    return dtype == LOT_FLOAT16 ? lot_from_float16(((const uint16_t *)values)[i])
                                : lot_from_bfloat16(((const uint16_t *)values)[i]);
}

static inline uint64_t fixture_digest(const void *values, int64_t bytes)
{
    uint64_t sum = (uint64_t)bytes;

    for (int64_t start = 0; start < bytes; start += 8) {
        uint64_t word = 0;

        memcpy(&word, (const char *)values + start, (size_t)(bytes - start < 8 ? bytes - start : 8));
        sum += lot_digest_word(word, (uint64_t)start / 8);
    }
    return sum;
}

#endif
