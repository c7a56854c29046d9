/* The one list of outcomes. Enum, name, one-line meaning and exit status are all made from it.
 *
 * Exit status: 0 done and good; 1 done, and the answer is bad (the archive is complete and says so);
 * 2 refused, nothing written; 3 an I/O or internal failure. */
#ifndef GPULOT_CORE_STATUS_H
#define GPULOT_CORE_STATUS_H

/* X(code, name, exit status, meaning) */
#define LOT_STATUS_LIST(X)                                                                                   \
    X(LOT_OK, "ok", 0, "done and good")                                                                      \
    /* done, and the answer is bad */                                                                        \
    X(LOT_FLAGGED, "flagged", 1, "the result names at least one fault")                                      \
    X(LOT_RANK_FAILED, "rank-failed", 1, "at least one rank failed; the archive says which")                 \
    X(LOT_INTERRUPTED, "interrupted", 1, "stopped by a signal; what was measured is kept")                   \
    X(LOT_DEVICE_MEMORY, "device-memory", 1, "the device ran out of memory")                                 \
    X(LOT_DEVICE_FAULT, "device-fault", 1, "the device reported an error that ends its context")             \
    X(LOT_DEVICE_LOST, "device-lost", 1, "the device is gone")                                               \
    X(LOT_DEVICE_ECC, "device-ecc", 1, "the device reported an uncorrectable memory error")                  \
    X(LOT_TIMEOUT, "timeout", 1, "a phase or a wait took longer than its limit")                             \
    X(LOT_WRONG_RESULT, "wrong-result", 1, "a computed result failed its verification")                      \
    X(LOT_LOST, "lost", 1, "the rank ended without a record of its end")                                     \
    /* refused */                                                                                            \
    X(LOT_USAGE, "usage", 2, "the command line is not usable")                                               \
    X(LOT_INPUT, "input", 2, "an input file is not usable")                                                  \
    X(LOT_OUTPUT, "output", 2, "the output cannot be made there")                                            \
    X(LOT_SCHEMA, "schema", 2, "the file is not one that this version reads")                                \
    X(LOT_TOO_LARGE, "too-large", 2, "the requested size cannot fit")                                        \
    X(LOT_RANKS_DIFFER, "ranks-differ", 2, "the ranks were started with different arguments")                \
    X(LOT_SHARED_DEVICE, "shared-device", 2, "two ranks use one device")                                     \
    X(LOT_LAUNCH, "launch", 2, "the launcher's environment is not usable")                                   \
    X(LOT_NO_MODULE, "no-module", 2, "the device module is absent")                                          \
    X(LOT_MODULE_ABI, "module-abi", 2, "the device module belongs to another version")                       \
    X(LOT_NO_LIBRARY, "no-library", 2, "a library that the device needs is absent")                          \
    X(LOT_NO_DRIVER, "no-driver", 2, "the device driver is absent or too old")                               \
    X(LOT_NO_DEVICE, "no-device", 2, "there is no such device")                                              \
    X(LOT_DEVICE_BUSY, "device-busy", 2, "the device is in use by somebody else")                            \
    X(LOT_UNSUPPORTED, "unsupported", 2, "the device cannot do this")                                        \
    /* an I/O or internal failure */                                                                         \
    X(LOT_IO, "io", 3, "reading or writing failed")                                                          \
    X(LOT_DAMAGED, "damaged", 3, "the file is damaged")                                                      \
    X(LOT_MEMORY, "memory", 3, "the host is out of memory")                                                  \
    X(LOT_INTERNAL, "internal", 3, "a fault in this program")

typedef enum lot_status {
#define LOT_STATUS_ENUM(code, name, exit_status, meaning) code,
    LOT_STATUS_LIST(LOT_STATUS_ENUM)
#undef LOT_STATUS_ENUM
        LOT_STATUS_COUNT
} lot_status;

/* Short stable name, as it stands in records: "device-memory". Never NULL. */
const char *lot_status_name(lot_status status);

/* One line in plain words. Never NULL. */
const char *lot_status_meaning(lot_status status);

/* The process's exit status for a command that ends with `status`: 0, 1, 2 or 3. */
int lot_status_exit(lot_status status);

/* The status with that name, or LOT_INTERNAL where there is none. */
lot_status lot_status_from_name(const char *name);

#endif
