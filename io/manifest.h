/* The manifest of a folder of results: SHA-256 and size of every file in it. docs/prices.md describes the
 * file. */
#ifndef GPULOT_IO_MANIFEST_H
#define GPULOT_IO_MANIFEST_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

#define LOT_MANIFEST_NAME           "manifest.json"
#define LOT_MANIFEST_SCHEMA         "gpulot.manifest"
#define LOT_MANIFEST_SCHEMA_VERSION 1

typedef struct lot_manifest_summary {
    int64_t files; /* listed, the manifest itself not counted */
    int64_t bytes; /* of them together */
    int64_t findings;
    char sha256[65]; /* of the manifest, which cannot hold its own */
} lot_manifest_summary;

/* Hears what is not as the manifest lists it, in the order of the paths: `finding` is "missing", "changed" or
 * "extra", `path` is relative to the folder, `detail` says in what it changed, or what it is where it is
 * neither a file nor a link, and else is "". */
typedef struct lot_manifest_listener {
    void (*find)(void *context, const char *finding, const char *path, const char *detail);
    void *context;
} lot_manifest_listener;

/* Writes `folder`/manifest.json: every regular file with size and SHA-256, every symbolic link with its
 * target (not followed), the manifest itself without either. LOT_INPUT where the folder cannot be read or
 * holds something that is neither (or a name that is not UTF-8), LOT_OUTPUT where a manifest stands there
 * already, LOT_IO. */
lot_status lot_manifest_create(const char *folder, lot_manifest_summary *summary, lot_error *error);

/* Compares the folder with its manifest. LOT_FLAGGED, with an empty error text, where anything is missing,
 * changed or extra; LOT_INPUT where there is no manifest, LOT_SCHEMA or LOT_DAMAGED where it is not one,
 * LOT_IO. *summary is set with LOT_OK and LOT_FLAGGED. */
lot_status lot_manifest_verify(const char *folder, const lot_manifest_listener *listener,
                               lot_manifest_summary *summary, lot_error *error);

#endif
