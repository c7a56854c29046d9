/* The identity ledger: what every rank says of itself at the first meeting, before anything is measured, and
 * what must hold between them. */
#ifndef GPULOT_MEASURE_LEDGER_H
#define GPULOT_MEASURE_LEDGER_H

#include "core/error.h"
#include "measure/comm.h"

typedef struct lot_hello {
    lot_vote vote; /* LOT_OK, or why this rank cannot measure */
    uint64_t config_digest;
    int32_t local_rank;
    int32_t ordinal;
    int32_t visible; /* devices that this rank sees */
    char kind[8];    /* "host", "cuda" */
    char host[64];
    char uuid[48];
    char mig_parent_uuid[48];
    char pci_address[16];
} lot_hello;

/* What rank 0 answers. */
typedef struct lot_welcome {
    lot_vote vote;
    char run_id[40];
    char continues_run_id[40]; /* "" where it continues none */
    int32_t pairs;             /* pairs of ranks on the fullest host */
} lot_welcome;

/* Checks the hellos of all ranks, hellos[rank]. The first refusal of a rank comes first, then
 * LOT_RANKS_DIFFER where two ranks were started with different options, then LOT_SHARED_DEVICE where two
 * ranks hold the same GPU or MIG slice (by UUID, or by host and PCI address where there is none; never by
 * ordinal) and `allow_shared` is 0. Host devices may be shared. The text names both ranks, and what to do
 * where each was shown no other device. */
lot_status lot_ledger_check(const lot_hello *hellos, int count, int allow_shared, lot_error *error);

/* The number of pairs of ranks, local ranks 0 and 1, 2 and 3, ..., on the host that has most. */
int lot_ledger_pairs(const lot_hello *hellos, int count);

/* A run id that no other run has: UTC time and 64 random bits, "20260924T123456Z-0123456789abcdef". */
void lot_ledger_run_id(char *text, size_t size);

#endif
