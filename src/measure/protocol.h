/* The protocol of one rank: open a device, run the phases in order, verify, and keep everything in a record.
 *
 * Runs on the rank's worker thread (measure/worker.h). Knows nothing of other ranks, files or displays:
 * between groups of phases the caller lets the ranks meet, and rows are handed out through a callback as they
 * are made. A failure ends the rank's remaining phases; what was measured stays in the record. */
#ifndef GPULOT_MEASURE_PROTOCOL_H
#define GPULOT_MEASURE_PROTOCOL_H

#include "core/error.h"
#include "core/record.h"
#include "gpu/device.h"
#include "measure/config.h"
#include "measure/phase.h"
#include "measure/stop.h"
#include "measure/worker.h"
#include "measure/workload.h"

/* Groups of phases in order; all ranks begin a group together. */
#define LOT_GROUP_LIST(X)                                                                                    \
    X(LOT_GROUP_LOAD, "load")         /* model_load, inputs, and choosing the algorithms */                  \
    X(LOT_GROUP_COLD, "cold")         /* cold_forward */                                                     \
    X(LOT_GROUP_WARMUP, "warmup")     /* warmup */                                                           \
    X(LOT_GROUP_WARM, "warm")         /* warm_forward */                                                     \
    X(LOT_GROUP_SOAK, "soak")         /* soak */                                                             \
    X(LOT_GROUP_LOCALISE, "localise") /* the bits of sampled rows */                                         \
    X(LOT_GROUP_VERIFY, "verify")     /* the float64 reference */

typedef enum lot_group {
#define LOT_GROUP_ENUM(code, name) code,
    LOT_GROUP_LIST(LOT_GROUP_ENUM)
#undef LOT_GROUP_ENUM
        LOT_GROUP_COUNT
} lot_group;

const char *lot_group_name(lot_group group);

typedef struct lot_protocol {
    /* set by the caller, then left alone */
    const lot_measure_config *config;
    lot_record *record;   /* initialised; identity, environment and configuration filled by the caller */
    lot_worker *worker;   /* whose thread runs the jobs */
    const lot_stop *stop; /* its signal is set: end at the next pass; NULL: never */
    /* Called for each finished row, and for notices of progress with row NULL; on the worker's thread. An
     * error from it counts as an internal failure of the rank. */
    lot_status (*row)(void *context, const lot_phase *row, lot_error *error);
    void *row_context;
    double epoch_seconds; /* lot_clock_seconds() when the rank began */
    const char *schedule; /* "together", "solo" or "pairs": what the next warm group is */

    /* owned by the protocol */
    const lot_device_module *module;
    lot_device *device;
    lot_workload workload;
    lot_runner runner;
    void *sampled_outputs; /* rows of the cold pass for the reference */
    int64_t sampled[4];
    int sampled_count;
    int sharing;     /* ranks on this host that use the same memory */
    const char *at;  /* phase or setup step under way, for errors */
    int failed;      /* a phase failed: the rest is skipped */
    int next_repeat; /* index of the next warm_forward row */
} lot_protocol;

/* Which device to open; found by the caller (measure/bind.h). */
typedef struct lot_open_request {
    lot_protocol *protocol;
    const lot_device_module *module;
    int ordinal;
    int ranks;   /* on this host */
    int alike;   /* those of them, this one too, that were started on the same CPUs; 0: not known yet */
    int sharing; /* those of them that use the same memory; sizes must fit as often */
} lot_open_request;

/* Where the devices of a module are listed to. Both live as long as the worker, which may be given up. */
typedef struct lot_list_request {
    const lot_device_module *module;
    lot_device_list *list;
} lot_list_request;

/* Jobs for lot_worker_run, a driver that does not answer being none of the main thread's affair; `context` is
 * a lot_list_request, a lot_open_request, the same again when it is known how many are alike, then a
 * lot_group_request. */
lot_status lot_protocol_list(void *context, lot_error *error);
lot_status lot_protocol_open(void *context, lot_error *error);

/* Notes who bound the rank's CPUs, and where they lie. A rank whose CPUs are those of all ranks of its host
 * was not bound by its launcher: they are the job's. Then it moves near its device, if it opened it as a
 * bound one. LOT_MEMORY. */
lot_status lot_protocol_settle(void *context, lot_error *error);

typedef struct lot_group_request {
    lot_protocol *protocol;
    lot_group group;
} lot_group_request;

/* LOT_INTERRUPTED with what *stop says. */
lot_status lot_protocol_stopped(const lot_stop *stop, lot_error *error);

/* Runs one group. A failure of the device is noted in the record and returned; an interruption returns
 * LOT_INTERRUPTED. After a failure further groups return LOT_OK and do nothing. */
lot_status lot_protocol_run(void *context, lot_error *error);

/* Frees the network, closes the device and fills the outcome; `context` is the lot_protocol. Skipped for a
 * worker that was given up. */
lot_status lot_protocol_close(void *context, lot_error *error);

/* Fills outcome and verification verdict from the rows; safe when the worker was given up. */
void lot_protocol_conclude(lot_protocol *protocol);

#endif
