/* NVML's structs are declared by this project itself: their sizes and offsets against the published ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gpu/cuda/nvml.h"

static void test_field_value(void **state)
{
    (void)state;
    assert_int_equal(sizeof(lot_nvml_field), 40);
    assert_int_equal(offsetof(lot_nvml_field, field_id), 0);
    assert_int_equal(offsetof(lot_nvml_field, scope_id), 4);
    assert_int_equal(offsetof(lot_nvml_field, timestamp_us), 8);
    assert_int_equal(offsetof(lot_nvml_field, latency_us), 16);
    assert_int_equal(offsetof(lot_nvml_field, value_type), 24);
    assert_int_equal(offsetof(lot_nvml_field, result), 28);
    assert_int_equal(offsetof(lot_nvml_field, value), 32);
}

static void test_process(void **state)
{
    (void)state;
    assert_int_equal(sizeof(lot_nvml_process), 24);
    assert_int_equal(offsetof(lot_nvml_process, pid), 0);
    assert_int_equal(offsetof(lot_nvml_process, used_memory_bytes), 8);
    assert_int_equal(offsetof(lot_nvml_process, gpu_instance), 16);
    assert_int_equal(offsetof(lot_nvml_process, compute_instance), 20);
    assert_true(LOT_NVML_PROCESS_SPARE >= 2 * sizeof(lot_nvml_process));
}

static void test_handle_is_a_pointer(void **state)
{
    (void)state;
    assert_int_equal(sizeof(lot_nvml_device), sizeof(void *));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_field_value), cmocka_unit_test(test_process),
                                       cmocka_unit_test(test_handle_is_a_pointer)};

    return cmocka_run_group_tests_name("nvml", tests, NULL, NULL);
}
