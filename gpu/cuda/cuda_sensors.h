/* What the files of the sensors share: NVML's handles and readings, why one is absent, and the series that a
 * thread takes. */
#ifndef GPULOT_GPU_CUDA_SENSORS_H
#define GPULOT_GPU_CUDA_SENSORS_H

#include <pthread.h>
#include <stdbool.h>

#include "gpu/cuda/cuda_internal.h"

#define LOT_SERIES_SAMPLES 65536 /* at 10 a second an hour and three quarters */
#define LOT_UNKNOWN        UINT64_MAX

/* Readings that only grow, so that a row's share is a difference. */
enum { SW_POWER_CAP, SW_THERMAL, HW_THERMAL, HW_POWER_BRAKE, SYNC_BOOST, THROTTLES };
enum { ENERGY = THROTTLES, ECC_CORRECTED, ECC_UNCORRECTED, CUMULATIVE };

typedef struct lot_cumulative {
    double seconds;             /* when they were read, by lot_clock_seconds; NaN: they were not */
    uint64_t value[CUMULATIVE]; /* LOT_UNKNOWN where NVML has none */
} lot_cumulative;

/* The series: a thread writes, lot_cuda_samples takes out. Where nobody does in time, it becomes sparser. */
typedef struct lot_series {
    bool running;
    bool stop;
    double step_seconds;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    lot_sample *samples;
    size_t first; /* of those that were not taken out */
    size_t end;
} lot_series;

typedef struct lot_sensors {
    lot_nvml *nvml;
    char why_absent[192];
    lot_nvml_device own; /* the slice or the GPU */
    lot_nvml_device gpu; /* the GPU */
    bool slice;
    bool lost;                           /* already when it was looked for */
    unsigned throttle_fields[THROTTLES]; /* their numbers in this driver */
    int64_t foreign;
    int foreign_result;
    lot_cumulative begun;
    lot_series series;
} lot_sensors;

/* Reasons for absent fields, gathered up to a capacity. */
typedef struct lot_absences {
    lot_absent *list;
    size_t capacity;
    size_t count;
} lot_absences;

/* A single number of NVML's and where it goes in a record. CURRENT: the first of a current and pending pair.
 */
typedef struct lot_reading {
    lot_nvml_function function;
    enum { LOT_READ_NUMBER, LOT_READ_KEYED, LOT_READ_CURRENT } form;
    unsigned key;
    double factor;
    lot_kind kind;
    size_t offset;
    const char *field;
} lot_reading;

/* ---- cuda_telemetry.c ---- */

void lot_absences_add(lot_absences *absences, const char *field, const char *reason);

/* The reason is what NVML says of its result. `absences` may be NULL here and below: then nobody asks. */
void lot_sensors_absent(const lot_sensors *sensors, lot_absences *absences, const char *field,
                        lot_nvml_function function, int result);

/* Reads a table into a record. Returns NVML's result where it says that the GPU can no longer be used, else
 * success. */
int lot_sensors_read_table(const lot_sensors *sensors, const lot_reading *table, size_t count, void *record,
                           lot_absences *absences);

#define LOT_READ_TABLE(sensors, table, record, absences)                                                     \
    lot_sensors_read_table(sensors, table, sizeof(table) / sizeof((table)[0]), record, absences)

/* Everything but the differences. Returns NVML's result where it says that the GPU can no longer be used,
 * else success. */
int lot_sensors_read_row(const lot_sensors *sensors, lot_telemetry *telemetry, lot_absences *absences);
void lot_sensors_read_cumulative(const lot_sensors *sensors, lot_cumulative *read, lot_absences *absences);

/* The growth of all counters between two readings. */
void lot_sensors_store_growth(const lot_cumulative *begin, const lot_cumulative *end,
                              lot_telemetry *telemetry);

/* ---- cuda_series.c ---- */

/* Adds a sample. A full series first keeps every second one, in which both have their share, and halves its
 * rate. */
void lot_series_keep(lot_series *kept, const lot_sample *sample);

/* Ends the thread and frees what was kept; also where none was started. */
void lot_series_stop(lot_series *kept);

#endif
