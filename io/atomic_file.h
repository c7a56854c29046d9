/* Files that appear complete, under their name, or not at all.
 *
 *     lot_atomic_begin(path, &file, error)      an empty file of another name in the same folder
 *     ... write to lot_atomic_partial(file), close ...
 *     lot_atomic_publish(file, error)           syncs, gives it its name, never replacing anything
 *
 * The other name is PATH.partial.PID or, where that is taken, PATH.partial.PID.N. */
#ifndef GPULOT_IO_ATOMIC_FILE_H
#define GPULOT_IO_ATOMIC_FILE_H

#include <stddef.h>
#include <stdio.h>

#include "core/error.h"

typedef struct lot_atomic_file lot_atomic_file;

/* Begins a file that will be `path`: LOT_OUTPUT where something stands there already, the folder is missing
 * or not writable, or the path is a folder. */
lot_status lot_atomic_begin(const char *path, lot_atomic_file **file, lot_error *error);

/* The name under which it is written until it is published. */
const char *lot_atomic_partial(const lot_atomic_file *file);

/* Syncs the file to disk, gives it its name and syncs the folder. LOT_OUTPUT where somebody else made a file
 * of that name meanwhile, or the file system can name nothing without replacing; the complete file then stays
 * under its partial name, which the error tells. Frees *file in every case. */
lot_status lot_atomic_publish(lot_atomic_file *file, lot_error *error);

/* Removes what was written and frees. NULL allowed. */
void lot_atomic_abandon(lot_atomic_file *file);

/* All three, for a file that `write` prints to `out`: LOT_IO where that fails, and what `write` returns where
 * it is not LOT_OK; nothing is left behind then. */
lot_status lot_atomic_write(const char *path,
                            lot_status (*write)(const void *context, FILE *out, lot_error *error),
                            const void *context, lot_error *error);

/* Says whether a file could be made at `path`, as lot_atomic_begin would; leaves nothing behind. */
lot_status lot_atomic_check(const char *path, lot_error *error);

/* Rewrites a whole file so that a reader sees the old or the new text and nothing between, and so that
 * writers who all use this function never lose each other's changes: `edit` gets the old text (terminated,
 * `size` 0 where there is no file yet) and writes the new one to `out`. The file keeps its permissions; where
 * PATH is a link, the file that it leads to is rewritten and the link stays. LOT_OUTPUT where PATH is neither
 * a regular file nor free, or where others held the lock for `wait_seconds`. Where `edit` does not return
 * LOT_OK nothing changes. The lock is an advisory one on PATH.lock, beside the file itself, which is removed
 * when it is given back. */
lot_status lot_atomic_edit(const char *path, double wait_seconds,
                           lot_status (*edit)(void *context, const char *old, size_t size, FILE *out,
                                              lot_error *error),
                           void *context, lot_error *error);

#endif
