/* What the tests of the host device share: the module, opened for each test. */
#ifndef GPULOT_TESTS_HOST_FIXTURE_H
#define GPULOT_TESTS_HOST_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "gpu/device.h"
#include "gpu/loader.h"

typedef struct fixture {
    const lot_device_module *module;
    lot_device *device;
    lot_error error;
} fixture;

static inline void open_with(fixture *f, int threads)
{
    const lot_device_options options = {.ordinal = 0, .threads = threads};

    assert_int_equal(f->module->open(&options, &f->device, &f->error), LOT_OK);
}

static inline int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    assert_int_equal(setenv("GPULOT_MODULE_DIR", TEST_MODULE_DIR, 1), 0);
    assert_int_equal(lot_loader_load("host", &f->module, &f->error), LOT_OK);
    open_with(f, 1);
    *state = f;
    return 0;
}

static inline int tear_down(void **state)
{
    fixture *f = *state;

    f->module->close(f->device);
    free(f);
    return 0;
}

static inline void *allocate(fixture *f, int64_t bytes)
{
    void *pointer = NULL;

    assert_int_equal(f->module->alloc(f->device, bytes, &pointer, &f->error), LOT_OK);
    assert_int_equal((uintptr_t)pointer % 256, 0);
    return pointer;
}

static inline lot_counters counters(fixture *f)
{
    lot_counters c;

    assert_int_equal(f->module->counters(f->device, &c, &f->error), LOT_OK);
    return c;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
