/* A peak only where the model is beyond doubt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/peak.h"

/* An H100 SXM as CUDA and NVML report it. */
static lot_device_facts h100(void)
{
    lot_device_facts device;

    memset(&device, 0, sizeof device);
    (void)snprintf(device.kind, sizeof device.kind, "cuda");
    (void)snprintf(device.name, sizeof device.name, "NVIDIA H100 80GB HBM3");
    (void)snprintf(device.uuid, sizeof device.uuid, "GPU-00000000-0000-0000-0000-000000000000");
    (void)snprintf(device.compute_capability, sizeof device.compute_capability, "9.0");
    device.simulated = 0;
    device.multiprocessors = 132;
    device.memory_bytes = 85520809984;
    device.power_limit_default_watts = 700;
    return device;
}

static void test_rates_by_dtype_and_math(void **state)
{
    const lot_device_facts device = h100();
    lot_peak peak;

    (void)state;
    assert_null(lot_peak_find(&device, "bfloat16", "ieee", &peak));
    assert_true(fabs(peak.tflops - 989.4) < 1e-9);
    assert_true(fabs(peak.memory_gb_s - 3350) < 1e-9);
    assert_string_equal(peak.gpu, "H100-SXM");
    assert_string_equal(peak.source, "NVIDIA H100 datasheet");
    assert_null(lot_peak_find(&device, "float16", "ieee", &peak));
    assert_true(fabs(peak.tflops - 989.4) < 1e-9);
    assert_null(lot_peak_find(&device, "float32", "tf32", &peak));
    assert_true(fabs(peak.tflops - 494.7) < 1e-9);
    assert_null(lot_peak_find(&device, "float32", "ieee", &peak));
    assert_true(fabs(peak.tflops - 67) < 1e-9);
}

/* Each of the marks alone makes it another model. */
static void test_any_doubt_gives_none(void **state)
{
    lot_device_facts device[9];
    lot_peak peak;

    (void)state;
    for (int i = 0; i < 9; i++)
        device[i] = h100();
    (void)snprintf(device[0].name, sizeof device[0].name, "NVIDIA H800");
    (void)snprintf(device[1].compute_capability, sizeof device[1].compute_capability, "9.1");
    device[2].multiprocessors = 114;
    device[3].memory_bytes = 100000000000;
    device[4].power_limit_default_watts = 500;
    device[5].power_limit_default_watts = (double)NAN;
    device[6].simulated = 1;
    (void)snprintf(device[7].uuid, sizeof device[7].uuid, "MIG-00000000-0000-0000-0000-000000000000");
    device[8].memory_bytes = 73014444032; /* 68 GiB: less than ECC and the driver take */
    for (int i = 0; i < 9; i++)
        assert_non_null(lot_peak_find(&device[i], "bfloat16", "ieee", &peak));
    (void)snprintf(device[0].kind, sizeof device[0].kind, "host");
    assert_non_null(lot_peak_find(&device[0], "bfloat16", "ieee", &peak));
}

static void test_conflicting_sources_give_none(void **state)
{
    lot_device_facts device = h100();
    lot_peak peak;

    (void)state;
    (void)snprintf(device.name, sizeof device.name, "NVIDIA B200");
    (void)snprintf(device.compute_capability, sizeof device.compute_capability, "10.0");
    device.multiprocessors = 148;
    device.memory_bytes = 191500000000;
    device.power_limit_default_watts = 1000;
    assert_null(lot_peak_find(&device, "bfloat16", "ieee", &peak));
    assert_non_null(lot_peak_find(&device, "float32", "ieee", &peak));
}

static lot_device_facts card(const char *name, int64_t multiprocessors, int64_t mebibytes, double watts)
{
    lot_device_facts device = h100();

    (void)snprintf(device.name, sizeof device.name, "%s", name);
    (void)snprintf(device.compute_capability, sizeof device.compute_capability, "12.0");
    device.multiprocessors = multiprocessors;
    device.memory_bytes = mebibytes << 20;
    device.power_limit_default_watts = watts;
    return device;
}

/* A card for one market has all marks of another but a letter, and slower tensor cores. */
static void test_a_name_that_goes_on_is_another_model(void **state)
{
    lot_device_facts device = card("NVIDIA GeForce RTX 5090", 170, 32120, 575);
    lot_peak peak;

    (void)state;
    assert_null(lot_peak_find(&device, "bfloat16", "ieee", &peak));
    device = card("NVIDIA GeForce RTX 5090 D", 170, 32120, 575);
    assert_non_null(lot_peak_find(&device, "bfloat16", "ieee", &peak));
    device = card("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 188, 97250, 600);
    assert_null(lot_peak_find(&device, "bfloat16", "ieee", &peak));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rates_by_dtype_and_math),
                                       cmocka_unit_test(test_any_doubt_gives_none),
                                       cmocka_unit_test(test_conflicting_sources_give_none),
                                       cmocka_unit_test(test_a_name_that_goes_on_is_another_model)};

    return cmocka_run_group_tests_name("peak", tests, NULL, NULL);
}
