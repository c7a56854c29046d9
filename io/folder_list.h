/* What a folder holds: every file, link and special file in it and in the folders below, sorted by path. */
#ifndef GPULOT_IO_FOLDER_LIST_H
#define GPULOT_IO_FOLDER_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "io/sha256.h"

typedef struct lot_folder_entry {
    char *path;                        /* relative to the folder */
    char *link;                        /* target of a symbolic link, else NULL */
    bool special;                      /* neither a file nor a link: a pipe, a socket, a device */
    int64_t size;                      /* bytes */
    char sha256[LOT_SHA256_TEXT_SIZE]; /* "" where it was not computed, and for a link */
} lot_folder_entry;

/* Begins as {0}; lot_folder_list_free frees entries and texts. */
typedef struct lot_folder_list {
    lot_folder_entry *items;
    size_t count;
} lot_folder_list;

/* Lists the open folder `top`, sorted; `left_out` is the name of one file in it that is not listed. LOT_INPUT
 * where folders lie too deep or a link's target is too long, LOT_IO where something cannot be read. What was
 * listed until then stays in the list. */
lot_status lot_folder_list_read(int top, const char *left_out, lot_folder_list *list, lot_error *error);

/* Computes the SHA-256 and the size of a regular file of `top`. */
lot_status lot_folder_fingerprint(int top, lot_folder_entry *entry, lot_error *error);

/* Appends an entry with a copy of `path`; NULL without memory. */
lot_folder_entry *lot_folder_list_add(lot_folder_list *list, const char *path);

/* Sorts by path, in the order of the bytes. */
void lot_folder_list_sort(lot_folder_list *list);

void lot_folder_list_free(lot_folder_list *list);

/* "folder/name", which the caller frees; NULL without memory. */
char *lot_folder_join(const char *folder, const char *name);

#endif
