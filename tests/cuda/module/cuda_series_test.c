/* The telemetry series that nobody takes out: it covers all of a run however long, and loses no growth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "gpu/cuda/cuda_sensors.h"

static lot_series make(void)
{
    lot_series series = {.step_seconds = 0.5};

    series.samples = calloc(LOT_SERIES_SAMPLES, sizeof *series.samples);
    assert_non_null(series.samples);
    return series;
}

/* Sample i at second i: one second, one joule and three nanoseconds each, one clock event in sample 1000
 * alone. */
static void fill(lot_series *series, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        lot_sample sample = {.seconds = (double)i};

        lot_telemetry_clear(&sample.telemetry);
        sample.telemetry.interval_seconds = 1.0;
        sample.telemetry.energy_joules = 1.0;
        sample.telemetry.throttle_hw_thermal_nanoseconds = 3;
        sample.telemetry.temperature_celsius = (double)i;
        sample.telemetry.clock_event_bits = i == 1000 ? 0x40 : 1;
        lot_series_keep(series, &sample);
    }
}

static void test_a_full_series_is_thinned(void **state)
{
    const int64_t counts[] = {LOT_SERIES_SAMPLES, LOT_SERIES_SAMPLES + 1, 5 * LOT_SERIES_SAMPLES + 12345};
    /* Here samples come as before: full once more after each further half of the room, 9 times in all. */
    const double steps[] = {0.5, 1.0, 0.5 * 512};

    (void)state;
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        lot_series series = make();
        double seconds = 0, joules = 0, before = -1;
        int64_t nanoseconds = 0, bits = 0;

        fill(&series, counts[c]);
        assert_true(series.step_seconds == steps[c]);
        assert_true(series.end - series.first <= LOT_SERIES_SAMPLES);
        for (size_t i = series.first; i < series.end; i++) {
            const lot_sample *one = &series.samples[i];

            assert_true(one->seconds > before);
            assert_true(one->telemetry.temperature_celsius ==
                        one->seconds); /* a reading is its own sample's */
            assert_true(isnan(one->telemetry.power_watts) && one->telemetry.ecc_corrected == -1);
            before = one->seconds;
            seconds += one->telemetry.interval_seconds;
            joules += one->telemetry.energy_joules;
            nanoseconds += one->telemetry.throttle_hw_thermal_nanoseconds;
            bits |= one->telemetry.clock_event_bits;
        }
        assert_true(before == (double)(counts[c] - 1)); /* to its end */
        assert_true(seconds == (double)counts[c] && joules == seconds && nanoseconds == 3 * counts[c] &&
                    bits == 0x41);
        free(series.samples);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_full_series_is_thinned)};

    return cmocka_run_group_tests_name("series", tests, NULL, NULL);
}
