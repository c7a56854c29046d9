/* What a check of one rental found: plain data between analysis/check.h, which fills it, and its writers. */
#ifndef GPULOT_CORE_VERDICT_H
#define GPULOT_CORE_VERDICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(code, name, meaning), what weighs most first. A GPU may have several; one without any is ok. */
#define LOT_VERDICT_LIST(X)                                                                                  \
    X(LOT_VERDICT_LOST, "lost", "its rank ended without a record of its end")                                \
    X(LOT_VERDICT_FAILED, "failed", "a phase or the device failed")                                          \
    X(LOT_VERDICT_CORRUPT, "corrupt", "it computed a wrong result")                                          \
    X(LOT_VERDICT_SLOW, "slow", "slower than honest GPUs of its kind are")                                   \
    X(LOT_VERDICT_THROTTLED, "throttled", "slowed by temperature, hardware or the power brake")              \
    X(LOT_VERDICT_UNSTABLE, "unstable", "its repeats drift or fall into two clusters")                       \
    X(LOT_VERDICT_MISCONFIGURED, "misconfigured", "not set up like the others, or not as it must be")        \
    X(LOT_VERDICT_NOT_MEASURED, "not-measured", "something that a verdict needs was not measured")           \
    X(LOT_VERDICT_UNDECIDED, "undecided", "the evidence does not say whether it is good")

typedef enum lot_verdict {
#define LOT_VERDICT_ENUM(code, name, meaning) code,
    LOT_VERDICT_LIST(LOT_VERDICT_ENUM)
#undef LOT_VERDICT_ENUM
        LOT_VERDICT_COUNT,
    LOT_VERDICT_INFORMATION = LOT_VERDICT_COUNT /* of a finding that is no fault */
} lot_verdict;

#define LOT_VERDICT_BIT(verdict) (1u << (verdict))

/* X(code, name, meaning): what decided. */
#define LOT_EVIDENCE_LIST(X)                                                                                 \
    X(LOT_EVIDENCE_REPEAT, "repeat", "the GPU's own passes among themselves")                                \
    X(LOT_EVIDENCE_PEER, "peer", "the other GPUs of its group")                                              \
    X(LOT_EVIDENCE_REFERENCE, "reference", "the float64 reference")                                          \
    X(LOT_EVIDENCE_EXPECTATION, "expectation", "an earlier archive or a file of expected rates")             \
    X(LOT_EVIDENCE_RECORD, "record", "what the rank's record says of itself")

typedef enum lot_evidence {
#define LOT_EVIDENCE_ENUM(code, name, meaning) code,
    LOT_EVIDENCE_LIST(LOT_EVIDENCE_ENUM)
#undef LOT_EVIDENCE_ENUM
        LOT_EVIDENCE_COUNT
} lot_evidence;

/* Names; never NULL. "information" for LOT_VERDICT_INFORMATION. */
const char *lot_verdict_name(lot_verdict verdict);
const char *lot_evidence_name(lot_evidence evidence);

/* "slow, throttled", or "ok" without any bit. */
void lot_verdicts_print(char *text, size_t size, unsigned verdicts);

#define LOT_NO_DEVICE_INDEX SIZE_MAX

/* One thing found. NaN and "" where there is no such number or text. */
typedef struct lot_finding {
    lot_verdict verdict; /* LOT_VERDICT_INFORMATION: worth knowing, no fault */
    lot_evidence evidence;
    size_t device; /* index in the result's devices; LOT_NO_DEVICE_INDEX: of the whole run */
    char phase[16];
    char schedule[12];
    char measure[40]; /* what was looked at: "device_seconds", "digest", "driver_version" */
    double number;
    double threshold; /* what the number was held against; of a slow GPU its own threshold */
    double low;       /* 95 % interval of the number */
    double high;
    char unit[8]; /* of the four; "1" for a share or a ratio */
    char text[256];
} lot_finding;

/* Whether a kind of evidence spoke about a GPU. */
typedef enum lot_heard { LOT_HEARD_NOTHING, LOT_HEARD_GOOD, LOT_HEARD_BAD } lot_heard;

/* A ratio with its 95 % interval; NaN where it is not known. */
typedef struct lot_estimate {
    double value;
    double low;
    double high;
} lot_estimate;

/* One archive that was checked: one run. */
typedef struct lot_checked_archive {
    char file[256]; /* as it was given; "" where it has no name */
    char run_id[40];
    char label[64];
    int64_t ranks;   /* launched */
    size_t recorded; /* ranks with a record */
    size_t missing;  /* without */
    size_t good;     /* GPUs that are ok */
    double elapsed_seconds;
} lot_checked_archive;

typedef struct lot_checked_device {
    size_t archive; /* index in the result's archives */
    int64_t rank;   /* in that archive's run */
    char host[64];
    char uuid[48];
    char pci_address[16];
    char name[96];
    size_t group;
    unsigned verdicts; /* LOT_VERDICT_BITs; 0 = ok */
    lot_heard heard[LOT_EVIDENCE_COUNT];
    char schedule[12]; /* of the next five */
    char clock[8];     /* "device" or "host"; "" where it was not measured */
    int64_t repeats;   /* warm rows with a usable time */
    double median_seconds;
    double repeat_spread;    /* robust standard deviation of one repeat, relative */
    lot_estimate slower;     /* share of speed lost against its peers */
    lot_estimate contention; /* time together / time solo */
    lot_estimate soak_drift; /* time of the soak's last row over that of its first */
    int64_t verified_passes;
    double written_share; /* of device memory written and read back */
    double elapsed_seconds;
} lot_checked_device;

/* One comparison of a group's GPUs: one phase under one schedule. */
typedef struct lot_comparison {
    size_t group;
    char phase[16];
    char schedule[12];
    char clock[8];
    size_t devices;  /* that finished their repeats: each is a peer of the others */
    int64_t repeats; /* fewest of one of them */
    double median_seconds;
    double repeat_noise; /* standard deviation of one repeat, pooled, relative */
    double own_spread;   /* robust standard deviation between the GPUs; NaN below 3 */
    double used_spread;  /* with the prior, as used */
    /* Share of speed lost above which one more honest GPU with the group's noise would be called slow; a
     * finding's threshold is that GPU's own. NaN below 2 GPUs. */
    double typical_threshold;
    double detectable;  /* share of speed lost that would be found with 95 % probability */
    double false_alarm; /* nominal chance of one honest GPU to be called slow here */
} lot_comparison;

typedef struct lot_checked_group {
    char name[96];
    char configuration[224]; /* dtype, shapes, math, gelu, seed, generator, readable */
    char library[64];
    char difference[160]; /* what first sets it apart from the group before it; "" for the first group */
    size_t devices;
    int64_t verified_passes;
    bool corrupt; /* a GPU of it had wrong results */
    /* 95 % upper bound on the share of wrong passes; NaN where one was wrong, and where the passes are so few
     * that the bound would be 1 or more, which is none */
    double corruption_bound;
} lot_checked_group;

/* What the check itself cost, and what missing throughput costs over the rental. Money in US cents, as exact
 * fractions; a share of throughput is a whole number of millionths, so that everything after it is exact. */
typedef struct lot_check_cost {
    bool priced; /* there is a price for every archive */
    bool known;  /* and the prices agree, and who shares which GPU is plain */
    int64_t total_cents;
    int64_t gpus; /* paid for */
    int64_t days;
    int64_t check_milliseconds; /* of the whole rental: it could do nothing else meanwhile */
    int64_t check_numerator;    /* cents of the check = numerator / denominator, in lowest terms */
    int64_t check_denominator;
    int64_t lost_millionths; /* of one GPU's throughput, summed: slow ones by their share, failed and lost
                                whole */
    int64_t lost_gpu_hour_millionths; /* over the rental */
    int64_t lost_numerator;           /* cents lost = numerator / denominator, in lowest terms */
    int64_t lost_denominator;
} lot_check_cost;

/* Where a GPU's sampled outputs have other bits than those they are set against (measure --localise). */
typedef struct lot_localised {
    size_t device;    /* index in the result's devices */
    size_t against;   /* of the GPU that it is set against; its own index: its own first pass */
    int64_t layer;    /* 1: after Linear and GELU; 2: the network's output */
    int64_t compared; /* elements; LOT_NULL_I64 among its own passes, of which only what differs is kept */
    int64_t differing;
    int64_t rows;      /* rows with a differing element */
    int64_t first_row; /* of the first differing element */
    int64_t first_element;
    int64_t bits_most; /* differing bits of one element */
} lot_localised;

typedef struct lot_check_result {
    lot_checked_archive *archives; /* in the order in which they were given */
    size_t archive_count;
    bool simulated;
    int64_t ranks;  /* launched, of all archives */
    size_t missing; /* of these without any record */
    double prior;   /* options, as used */
    double level;
    int64_t soak_passes;
    char against_run_id[40];     /* of the earlier archive; "" where none was given */
    lot_checked_device *devices; /* sorted by archive, then rank */
    size_t device_count;
    lot_checked_group *groups;
    size_t group_count;
    lot_comparison *comparisons;
    size_t comparison_count;
    lot_finding *findings; /* sorted by device, then verdict */
    size_t finding_count;
    lot_localised *localised; /* in the order of the devices, then by layer */
    size_t localised_count;
    bool sampled;           /* rows of a GPU whose bits are in question were kept */
    char precisions[64];    /* that were tried */
    double elapsed_seconds; /* of all archives */
    lot_check_cost cost;
    bool all_ok;
} lot_check_result;

/* Frees the lists and makes the result empty. */
void lot_check_result_free(lot_check_result *result);

#endif
