/* The interface of a device module: one `const` table per module, found under the symbol LOT_DEVICE_SYMBOL.
 *
 * A module is a shared library that is loaded only when its device is asked for. It imports no symbol from
 * the program, never prints and never exits: it fills an error and returns. One process opens one device.
 *
 * Order of calls:
 *     enumerate                     any time, creates no context and takes no memory on a device
 *     open                          makes the context
 *     alloc, upload, fill, plan ... in any order
 *     sync                          before counters are read or a result is used on the host
 *     close                         frees everything that is left
 *
 * All calls but enumerate come from the thread that opened the device.
 *
 * Every function returns LOT_OK or fills *error. Work may be queued: an error of queued work can surface at
 * any later call, at the latest in sync. After LOT_DEVICE_FAULT or LOT_DEVICE_LOST only close is allowed. */
#ifndef GPULOT_GPU_DEVICE_H
#define GPULOT_GPU_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/facts.h"

#define LOT_DEVICE_ABI    1u
#define LOT_DEVICE_SYMBOL "lot_device_table"

typedef enum lot_dtype { LOT_FLOAT32, LOT_FLOAT16, LOT_BFLOAT16, LOT_DTYPE_COUNT } lot_dtype;
typedef enum lot_activation { LOT_ACTIVATION_NONE, LOT_GELU_ERF, LOT_GELU_TANH } lot_activation;
typedef enum lot_math { LOT_MATH_IEEE, LOT_MATH_TF32 } lot_math;

static inline size_t lot_dtype_bytes(lot_dtype dtype)
{
    return dtype == LOT_FLOAT32 ? 4 : 2;
}

static inline const char *lot_dtype_name(lot_dtype dtype)
{
    static const char *const names[LOT_DTYPE_COUNT] = {"float32", "float16", "bfloat16"};

    return names[dtype];
}

typedef struct lot_device lot_device; /* one open device; each module has its own struct behind it */
typedef struct lot_plan lot_plan;     /* one planned linear layer; likewise */

/* A device as seen without opening it. */
typedef struct lot_device_list {
    size_t count;
    lot_device_facts devices[64];
    char driver_version[32]; /* "" where there is none */
    char runtime_version[16];
    char library_version[32];
} lot_device_list;

/* How to open. `ordinal` is one of enumerate's. A negative `threads` leaves the number to the module. */
typedef struct lot_device_options {
    int ordinal;
    int threads; /* that compute (host), or that build (build); 0 = as many as CPUs may be used at one time */
    int tune_candidates; /* algorithms to time in plan; 0 = the library's first choice */
    int telemetry_hz;    /* samples per second of the optional series; 0 = none */
} lot_device_options;

/* Values that depend on nothing but (seed, tensor, element): see gpu/generator.h. */
typedef enum lot_distribution { LOT_UNIFORM, LOT_NEAR_NORMAL } lot_distribution;

typedef struct lot_fill {
    uint64_t seed;
    uint32_t tensor; /* which tensor of the network, LOT_TENSOR_* in gpu/generator.h */
    lot_distribution distribution;
    float scale;   /* uniform: the bound; near-normal: the standard deviation */
    int64_t first; /* index in the tensor of the first element written */
    int64_t count; /* elements */
    lot_dtype dtype;
} lot_fill;

/* y[rows, out] = activation(x[rows, in] * w[out, in]^T + b[out]); all row-major, all of `dtype`, accumulated
 * in float32, activation evaluated in float and rounded once. */
typedef struct lot_linear {
    int64_t rows;
    int64_t in_features;
    int64_t out_features;
    lot_dtype dtype;
    lot_math math;
    lot_activation activation;
} lot_linear;

typedef struct lot_device_module {
    uint32_t abi;     /* LOT_DEVICE_ABI; compared first */
    uint32_t size;    /* sizeof(lot_device_module) */
    const char *name; /* "host", "cuda" */

    /* Lists what could be opened. No device is an answer, not an error: count 0. Fails where a library or a
     * driver that the module needs is absent (LOT_NO_LIBRARY, LOT_NO_DRIVER). */
    lot_status (*enumerate)(lot_device_list *list, lot_error *error);

    /* Opens a device. The caller ends it with close, also after a failed call on it. */
    lot_status (*open)(const lot_device_options *options, lot_device **device, lot_error *error);
    void (*close)(lot_device *device); /* NULL allowed */

    /* Fills *facts; what is not known stays "not measured", and up to `capacity` reasons go to `absent`
     * (*absent_count of them). Field names as in core/facts.h, prefixed "device." or "telemetry.". */
    lot_status (*describe)(lot_device *device, lot_device_facts *facts, lot_absent *absent, size_t capacity,
                           size_t *absent_count, lot_error *error);

    /* LOT_OK where tensors of this dtype and math can be computed; LOT_UNSUPPORTED with the reason. */
    lot_status (*supports)(lot_device *device, lot_dtype dtype, lot_math math, lot_error *error);

    /* Memory of the device's own counted pool, aligned to at least 256 bytes, contents undefined.
     * LOT_DEVICE_MEMORY where there is not enough. free accepts NULL and cannot fail. */
    lot_status (*alloc)(lot_device *device, int64_t bytes, void **pointer, lot_error *error);
    void (*free)(lot_device *device, void *pointer);

    /* Copies between host memory and device memory; the host memory may be reused when the call returns. */
    lot_status (*upload)(lot_device *device, void *to, const void *from, int64_t bytes, lot_error *error);
    lot_status (*download)(lot_device *device, void *to, const void *from, int64_t bytes, lot_error *error);

    /* Builds values on the host with all of the rank's CPUs and brings them to the device (model_load). */
    lot_status (*build)(lot_device *device, void *to, const lot_fill *fill, lot_error *error);

    /* Makes the same values on the device itself (inputs). */
    lot_status (*fill)(lot_device *device, void *to, const lot_fill *fill, lot_error *error);

    /* Chooses how a layer is computed and takes its workspace. Never inside a timed span. The plan belongs to
     * the device; plan_free accepts NULL. */
    lot_status (*plan)(lot_device *device, const lot_linear *linear, lot_plan **plan, lot_plan_facts *facts,
                       lot_error *error);
    void (*plan_free)(lot_device *device, lot_plan *plan);

    /* Queues one planned layer. */
    lot_status (*run)(lot_device *device, const lot_plan *plan, void *y, const void *x, const void *w,
                      const void *b, lot_error *error);

    /* Digest of `bytes` bytes of device memory, as gpu/digest.h defines it, and whether every value of
     * `dtype` in it is finite. Synchronises. */
    lot_status (*digest)(lot_device *device, const void *pointer, int64_t bytes, lot_dtype dtype,
                         uint64_t *digest, int *finite, lot_error *error);

    /* Waits for all queued work. */
    lot_status (*sync)(lot_device *device, lot_error *error);

    /* The pool's counters; exact after sync. reset_peaks makes both peaks the current values. */
    lot_status (*counters)(lot_device *device, lot_counters *counters, lot_error *error);
    lot_status (*reset_peaks)(lot_device *device, lot_error *error);

    /* ---- optional: NULL where the device has no such thing ---- */

    /* Marks in the device's own order of work. elapsed gives the seconds between the two after sync. */
    lot_status (*timer_start)(lot_device *device, lot_error *error);
    lot_status (*timer_stop)(lot_device *device, lot_error *error);
    lot_status (*timer_elapsed)(lot_device *device, double *seconds, lot_error *error);

    /* Bytes in use on the whole device, whoever uses them: another reading than counters. */
    lot_status (*memory_used)(lot_device *device, int64_t *bytes, lot_error *error);

    /* Overwrites the level 2 cache, so that the next pass starts cold. */
    lot_status (*flush_cache)(lot_device *device, lot_error *error);

    /* Compares `count` elements of two tensors bit by bit: *differing of them, the first at index *first, -1
     * where none. Says where two outputs with different digests part. Synchronises. */
    lot_status (*compare)(lot_device *device, const void *a, const void *b, int64_t count, lot_dtype dtype,
                          int64_t *differing, int64_t *first, lot_error *error);

    /* begin notes the cumulative readings, end fills differences and readings of the row. Never timed. */
    lot_status (*telemetry_begin)(lot_device *device, lot_error *error);
    lot_status (*telemetry_end)(lot_device *device, lot_telemetry *telemetry, lot_error *error);

    /* Hands over the samples taken since the last call: at most `capacity`, *count of them. */
    lot_status (*samples)(lot_device *device, lot_sample *samples, size_t capacity, size_t *count,
                          lot_error *error);
} lot_device_module;

#endif
