/* Which device a rank takes: pure text and numbers in, an ordinal and its reason out.
 *
 * A device spec is one of
 *     host                      this CPU
 *     cuda:local                the device `local rank % visible devices`
 *     cuda:ITEM                 that device, for every rank
 *     cuda:ITEM,ITEM,...        local rank i takes the i-th
 * where an ITEM is an ordinal among the devices visible to the rank, GPU-<uuid> or MIG-<uuid>.
 *
 * Nothing here knows whether two ranks see the same device: ordinals of two processes cannot be compared, and
 * a launcher may show each rank only its own. What can be told from one rank's facts is refused here; the
 * rest is decided by the UUIDs that the ranks gather before they measure. */
#ifndef GPULOT_MEASURE_BIND_H
#define GPULOT_MEASURE_BIND_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "gpu/device.h"

/* Checks the form of `spec` before anything is loaded and names the module that serves it ("host", "cuda") in
 * kind[kind_size]. LOT_USAGE with what is allowed where the form is wrong. */
lot_status lot_bind_parse(const char *spec, char *kind, size_t kind_size, lot_error *error);

/* What one rank knows of itself. */
typedef struct lot_bind_rank {
    const char *spec; /* --device */
    int local_rank;   /* of local_size on its host */
    int local_size;
    bool allow_shared; /* two ranks may take one device */
} lot_bind_rank;

/* Chooses one of `list` for a rank. *ordinal is the index in the list and what lot_device_options wants;
 * reason[reason_size] says in one line why this one.
 *
 * LOT_USAGE           the spec has no valid form, or names fewer devices than there are ranks on this host
 * LOT_NO_DEVICE       nothing is visible, or not what the spec names; the text lists what is
 * LOT_SHARED_DEVICE   two ranks would take one device and allow_shared is false
 * LOT_LAUNCH          local_rank is not within local_size */
lot_status lot_bind_choose(const lot_bind_rank *rank, const lot_device_list *list, int *ordinal, char *reason,
                           size_t reason_size, lot_error *error);

#endif
