/* The waist of the program: a whole run, fresh or ten years old. Everything after it (check, compare, price,
 * summary, export) sees this and nothing else. */
#ifndef GPULOT_CORE_RUN_H
#define GPULOT_CORE_RUN_H

#include "core/record.h"

#define LOT_ARCHIVE_SCHEMA         "gpulot.archive"
#define LOT_ARCHIVE_SCHEMA_VERSION 1

/* The root attribute `description`, for who has the file and nothing else. */
#define LOT_ARCHIVE_DESCRIPTION                                                                              \
    "Times and memory of a small synthetic network, Linear -> GELU -> Linear, that every rank ran on one "   \
    "device on its own: not a language model, not training, not the value of a rented GPU. The attributes "  \
    "units and descriptions of a table hold a text for each column, in column order, and null what stands "  \
    "for not measured."

/* Written as the archive's root attributes, beside `schema` and `schema_version`. */
#define LOT_RUN_FIELDS(X)                                                                                    \
    X(STR, producer, 64, "", "program and version that wrote the archive")                                   \
    X(STR, created_utc, 32, "", "when the archive was begun")                                                \
    X(STR, run_id, 40, "", "same in every record of the run")                                                \
    X(STR, continues_run_id, 40, "", "the run before this one in the same rental (--continues)")             \
    X(STR, label, 64, "", "words of the user, as given (--label)")                                           \
    X(I64, ranks, 0, "", "ranks launched; a rank that failed or was lost counts")                            \
    X(BOOL, complete, 0, "", "every rank handed in its record")                                              \
    X(BOOL, recovered, 0, "", "made by recover from what an interrupted run left")                           \
    X(BOOL, simulated, 0, "", "at least one device is a simulator for tests: not a measurement")             \
    X(STR, ended_by, 64, "", "completed, or what ended the run early")                                       \
    X(F64, elapsed_seconds, 0, "s", "from the start of rank 0 to the gathering")                             \
    X(F64, gather_seconds, 0, "s", "that rank 0 waited for the other ranks' records, of the gathering")

typedef struct lot_run_header {
    LOT_FIELDS_DECLARE(LOT_RUN_FIELDS)
} lot_run_header;

const lot_fields *lot_run_header_fields(void);

typedef struct lot_run {
    lot_run_header header;
    bool sealed;       /* read from a file whose bytes are those that were written; else nobody knows */
    char *tariff_json; /* owned; the price fixed at launch, NULL where there is none */
    lot_record_head *devices; /* one per rank, in rank order */
    size_t device_count;
    lot_phase *phases; /* grouped by rank in rank order, rows in order within */
    size_t phase_count;
    size_t *first_phase; /* device_count + 1 indices into phases: rows of device i are
                          * [first_phase[i], first_phase[i + 1]) */
} lot_run;

/* An empty run; free releases everything and makes it empty again. */
void lot_run_init(lot_run *run);
void lot_run_free(lot_run *run);

/* The device of a rank, by binary search; NULL where there is none. */
const lot_record_head *lot_run_device(const lot_run *run, int64_t rank);

/* Builds first_phase from phases and devices. LOT_DAMAGED where rows name a rank that is not there or are not
 * grouped. */
lot_status lot_run_index(lot_run *run, lot_error *error);

#endif
