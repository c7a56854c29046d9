/* The series of --telemetry-hz: a thread takes samples, lot_cuda_samples hands them out. */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "core/clock.h"
#include "gpu/cuda/cuda_sensors.h"

static int64_t known_sum(int64_t a, int64_t b)
{
    return a < 0 || b < 0 ? LOT_NULL_I64 : a + b;
}

/* Leaves in `later` what both have seen: readings are the later one's, growth and events are those of both.
 */
static void merge(lot_telemetry *later, const lot_telemetry *earlier)
{
    later->throttle_sw_power_cap_nanoseconds =
        known_sum(later->throttle_sw_power_cap_nanoseconds, earlier->throttle_sw_power_cap_nanoseconds);
    later->throttle_sw_thermal_nanoseconds =
        known_sum(later->throttle_sw_thermal_nanoseconds, earlier->throttle_sw_thermal_nanoseconds);
    later->throttle_hw_thermal_nanoseconds =
        known_sum(later->throttle_hw_thermal_nanoseconds, earlier->throttle_hw_thermal_nanoseconds);
    later->throttle_hw_power_brake_nanoseconds =
        known_sum(later->throttle_hw_power_brake_nanoseconds, earlier->throttle_hw_power_brake_nanoseconds);
    later->throttle_sync_boost_nanoseconds =
        known_sum(later->throttle_sync_boost_nanoseconds, earlier->throttle_sync_boost_nanoseconds);
    later->ecc_corrected = known_sum(later->ecc_corrected, earlier->ecc_corrected);
    later->ecc_uncorrected = known_sum(later->ecc_uncorrected, earlier->ecc_uncorrected);
    later->interval_seconds += earlier->interval_seconds;
    later->energy_joules += earlier->energy_joules; /* NaN where one is not known */
    if (later->clock_event_bits >= 0 && earlier->clock_event_bits >= 0)
        later->clock_event_bits |= earlier->clock_event_bits;
}

/* A full series keeps every second sample and goes on at half the rate: it covers all of a run, however long.
 */
static void thin_out(lot_series *kept)
{
    size_t to = 0;

    for (size_t from = kept->first; from + 1 < kept->end; from += 2) {
        lot_sample later = kept->samples[from + 1];

        merge(&later.telemetry, &kept->samples[from].telemetry);
        kept->samples[to++] = later;
    }
    if ((kept->end - kept->first) % 2 != 0)
        kept->samples[to++] = kept->samples[kept->end - 1];
    kept->first = 0;
    kept->end = to;
    kept->step_seconds *= 2;
}

void lot_series_keep(lot_series *kept, const lot_sample *sample)
{
    if (kept->end == LOT_SERIES_SAMPLES)
        thin_out(kept);
    kept->samples[kept->end++] = *sample;
}

/* Takes samples until told to stop. The lock is not held while NVML is asked. */
static void *take_samples(void *argument)
{
    lot_sensors *sensors = argument;
    lot_series *kept = &sensors->series;
    double next = lot_clock_seconds();
    lot_cumulative before, after;

    lot_sensors_read_cumulative(sensors, &before, NULL);
    (void)pthread_mutex_lock(&kept->lock);
    while (!kept->stop) {
        lot_sample sample;
        struct timespec until;

        (void)pthread_mutex_unlock(&kept->lock);
        (void)lot_sensors_read_row(sensors, &sample.telemetry, NULL);
        lot_sensors_read_cumulative(sensors, &after, NULL);
        lot_sensors_store_growth(&before, &after, &sample.telemetry);
        before = after;
        sample.seconds = lot_clock_seconds();
        (void)pthread_mutex_lock(&kept->lock);
        lot_series_keep(kept, &sample);
        next += kept->step_seconds;
        if (next <= sample.seconds)
            next = sample.seconds + kept->step_seconds;
        until.tv_sec = (time_t)next;
        until.tv_nsec = (long)((next - (double)until.tv_sec) * 1e9);
        while (!kept->stop && lot_clock_seconds() < next)
            if (pthread_cond_timedwait(&kept->wake, &kept->lock, &until) != 0)
                break;
    }
    (void)pthread_mutex_unlock(&kept->lock);
    return NULL;
}

lot_status lot_sensors_start(lot_sensors *sensors, int samples_per_second, lot_error *error)
{
    lot_series *kept = &sensors->series;
    pthread_condattr_t monotonic;
    int failed;

    if (samples_per_second <= 0 || sensors->nvml == NULL)
        return LOT_OK;
    kept->samples = calloc(LOT_SERIES_SAMPLES, sizeof *kept->samples);
    if (kept->samples == NULL)
        return lot_error_set(error, LOT_MEMORY, "calloc", 0, "the host is out of memory");
    kept->step_seconds = 1.0 / samples_per_second;
    (void)pthread_mutex_init(&kept->lock, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&kept->wake, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    failed = pthread_create(&kept->thread, NULL, take_samples, sensors);
    kept->running = failed == 0;
    if (failed != 0)
        return lot_error_errno(error, LOT_INTERNAL, "pthread_create", failed, "no thread for telemetry");
    return LOT_OK;
}

void lot_series_stop(lot_series *kept)
{
    if (kept->running) {
        (void)pthread_mutex_lock(&kept->lock);
        kept->stop = true;
        (void)pthread_cond_signal(&kept->wake);
        (void)pthread_mutex_unlock(&kept->lock);
        (void)pthread_join(kept->thread, NULL);
    }
    if (kept->samples != NULL) {
        (void)pthread_cond_destroy(&kept->wake);
        (void)pthread_mutex_destroy(&kept->lock);
    }
    free(kept->samples);
}

lot_status lot_cuda_samples(lot_device *device, lot_sample *samples, size_t capacity, size_t *count,
                            lot_error *error)
{
    lot_series *kept = &device->sensors->series;

    (void)error;
    *count = 0;
    if (!kept->running)
        return LOT_OK;
    (void)pthread_mutex_lock(&kept->lock);
    while (*count < capacity && kept->first < kept->end)
        samples[(*count)++] = kept->samples[kept->first++];
    if (kept->first == kept->end)
        kept->first = kept->end = 0;
    (void)pthread_mutex_unlock(&kept->lock);
    return LOT_OK;
}
