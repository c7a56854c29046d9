/* The quality protocol: what counts as accepted work, fixed before the run (docs/quality-protocol.md). */
#ifndef GPULOT_IO_PROTOCOL_JSON_H
#define GPULOT_IO_PROTOCOL_JSON_H

#include <stddef.h>

#include "core/error.h"

#define LOT_PROTOCOL_SCHEMA         "gpulot.quality-protocol"
#define LOT_PROTOCOL_SCHEMA_VERSION 1

/* X(name): the members that a user fills in, all text. */
#define LOT_PROTOCOL_LIST(X)                                                                                 \
    X(useful_work)                                                                                           \
    X(acceptance_rule)                                                                                       \
    X(threshold)                                                                                             \
    X(fixed_on)                                                                                              \
    X(accepted_by)                                                                                           \
    X(rejected_unit)                                                                                         \
    X(not_counted)

typedef struct lot_protocol {
#define LOT_PROTOCOL_MEMBER(name) char *name;
    LOT_PROTOCOL_LIST(LOT_PROTOCOL_MEMBER)
#undef LOT_PROTOCOL_MEMBER
    char sha256[65]; /* of the file's bytes */
} lot_protocol;

/* Reads a protocol from memory; `name` stands for the file in messages. LOT_INPUT where it is not JSON,
 * members are missing or not filled in (all are named), or fixed_on is no date; LOT_SCHEMA for another schema
 * or version. *protocol is set on success only; free with lot_protocol_free. */
lot_status lot_protocol_parse(const char *name, const char *bytes, size_t size, lot_protocol *protocol,
                              lot_error *error);

/* The same from a file of at most 1 MiB. */
lot_status lot_protocol_read(const char *path, lot_protocol *protocol, lot_error *error);

/* Checks that the protocol was fixed before a run that began at `run_utc` (2026-09-24T12:34:56.789Z). A day
 * alone counts as its end, so a run on the same day is refused. LOT_INPUT. */
lot_status lot_protocol_check_before(const lot_protocol *protocol, const char *run_utc, lot_error *error);

void lot_protocol_free(lot_protocol *protocol);

#endif
