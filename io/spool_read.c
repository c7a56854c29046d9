#include "io/spool_read.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/grown.h"
#include "core/options.h"
#include "io/file_bytes.h"
#include "io/record_json.h"
#include "io/spool.h"

static lot_status no_memory(lot_error *error)
{
    return lot_error_set(error, LOT_MEMORY, "malloc", 0, "no memory for the spool");
}

/* ---- reading one rank ---- */

/* The value in a line {"name": VALUE}; false where it is not such a line. */
static bool value_of(const char *line, size_t size, const char *name, const char **value, size_t *value_size)
{
    char start[16];
    const int length = snprintf(start, sizeof start, "{\"%s\":", name);

    if (size < (size_t)length + 1 || memcmp(line, start, (size_t)length) != 0 || line[size - 1] != '}')
        return false;
    *value = line + length;
    *value_size = size - (size_t)length - 1;
    return true;
}

/* What one rank's file has told so far. */
typedef struct reading {
    lot_record record;
    bool complete;
    bool gap; /* a line could not be read: rows after it are not in order any more */
} reading;

static lot_status take_head(reading *r, const char *json, size_t size, lot_error *error)
{
    lot_record head;
    const lot_status status = lot_record_json_read_head(json, size, &head, error);

    if (status != LOT_OK)
        return status;
    /* The rows stay; the head's own lists take the place of the old ones. */
    free(head.phases); /* a head that our writer made has none */
    head.phases = r->record.phases;
    head.phase_count = r->record.phase_count;
    r->record.phases = NULL;
    r->record.phase_count = 0;
    lot_record_free(&r->record);
    r->record = head;
    return LOT_OK;
}

static lot_status take_phase(reading *r, const char *json, size_t size, lot_error *error)
{
    const size_t before = r->record.phase_count;
    lot_status status;

    if (r->gap)
        return LOT_OK;
    status = lot_record_json_read_phase(json, size, &r->record, error);
    if (status == LOT_OK && r->record.phases[before].row != (int64_t)before) {
        r->record.phase_count = before;
        r->gap = true;
    }
    return status;
}

static lot_status take_record(reading *r, const char *json, size_t size, lot_error *error)
{
    lot_record record;
    const lot_status status = lot_record_json_read(json, size, &record, error);

    if (status != LOT_OK)
        return status;
    lot_record_free(&r->record);
    r->record = record;
    r->complete = true;
    return LOT_OK;
}

/* Takes one whole line; one that cannot be read is noted and passed over. */
static lot_status take_line(reading *r, const char *line, size_t size, lot_error *error)
{
    const char *value;
    size_t value_size;
    lot_status status = LOT_DAMAGED;

    if (value_of(line, size, "head", &value, &value_size))
        status = take_head(r, value, value_size, error);
    else if (value_of(line, size, "phase", &value, &value_size))
        status = take_phase(r, value, value_size, error);
    else if (value_of(line, size, "record", &value, &value_size))
        status = take_record(r, value, value_size, error);
    else if (value_of(line, size, "tariff", &value, &value_size))
        status = LOT_OK; /* lot_spool_read_tariff's */
    if (status == LOT_MEMORY)
        return status;
    if (status != LOT_OK)
        r->gap = true;
    return LOT_OK;
}

/* Notes an error in the record, which keeps its first one as the outcome's text. */
static void note(lot_record *record, const char *phase, const char *text)
{
    lot_error error;

    (void)lot_error_set(&error, LOT_LOST, "spool", 0, "%s", text);
    lot_record_fail(record, phase, &error);
}

/* Makes a record of what is there without an end. */
static void finish_lost(reading *r, int64_t rank)
{
    lot_record *record = &r->record;
    lot_outcome *outcome = &record->head.outcome;
    lot_error error;

    record->head.identity.rank = rank;
    if (record->head.identity.size <= rank)
        record->head.identity.size = rank + 1;
    for (size_t i = 0; i < record->phase_count; i++)
        record->phases[i].rank = rank;
    /* Rows that do not hold what every row must are not handed on as measurements. */
    (void)lot_field_copy(outcome->status, sizeof outcome->status, lot_status_name(LOT_LOST));
    while (record->phase_count > 0 && lot_record_check(record, &error) != LOT_OK) {
        record->phase_count--;
        r->gap = true;
    }
    if (r->gap)
        note(record, "recover", "part of what the rank had written could not be read");
    /* Which phase it died in is not known: that of its last row may have been over. */
    if (record->phase_count > 0)
        note(record, record->phases[record->phase_count - 1].phase,
             "the rank ended after a row of this phase, without a record of its end");
    else
        note(record, "start", "the rank ended without a record of its end");
    (void)lot_field_copy(outcome->status, sizeof outcome->status, lot_status_name(LOT_LOST));
    lot_record_count(record);
    lot_record_count_digests(record);
}

lot_status lot_spool_parse(const char *text, size_t size, int64_t rank, lot_record *record, lot_error *error)
{
    reading r = {.complete = false};
    const char *line = text;
    const char *end = text + size;
    lot_status status = LOT_OK;

    lot_record_init(&r.record);
    while (status == LOT_OK && !r.complete && line < end) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));

        if (newline == NULL)
            break;
        status = take_line(&r, line, (size_t)(newline - line), error);
        line = newline + 1;
    }
    /* Renamed or copied to this name: it is not what this rank measured. */
    if (status == LOT_OK && r.record.head.identity.rank >= 0 && r.record.head.identity.rank != rank)
        status = lot_error_set(error, LOT_DAMAGED, "spool", 0,
                               "the file of rank %lld (rank-%lld.jsonl) holds what rank %lld wrote",
                               (long long)rank, (long long)rank, (long long)r.record.head.identity.rank);
    if (status != LOT_OK) {
        lot_record_free(&r.record);
        return status;
    }
    if (r.complete && r.record.head.identity.rank != rank)
        r.complete = false;
    if (!r.complete)
        finish_lost(&r, rank);
    *record = r.record;
    return LOT_OK;
}

/* ---- reading a folder ---- */

/* The text of a rank's file, to be freed; an empty one where it is missing or not a file. One that is there
 * and cannot be read is an error: its rank may not be called lost for that. */
static lot_status read_file(const char *folder, int64_t rank, char **text, size_t *size, lot_error *error)
{
    char *path = lot_spool_file(folder, rank);
    struct stat info;
    lot_status status = LOT_OK;
    int file;

    if (path == NULL)
        return no_memory(error);
    file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 && errno != ENOENT) {
        status = lot_error_errno(error, LOT_IO, "open", errno, "%s cannot be opened", path);
    } else if (file >= 0 && fstat(file, &info) == 0 && S_ISREG(info.st_mode)) {
        status = lot_file_read_open(file, path, SIZE_MAX / 4, text, size, error);
    } else {
        *size = 0;
        *text = calloc(1, 1);
        status = *text != NULL ? LOT_OK : no_memory(error);
    }
    if (file >= 0)
        (void)close(file);
    free(path);
    return status;
}

lot_status lot_spool_read_rank(const char *folder, int64_t rank, lot_record *record, lot_error *error)
{
    char *text = NULL;
    size_t size = 0;
    lot_status status = read_file(folder, rank, &text, &size, error);

    if (status == LOT_OK)
        status = lot_spool_parse(text, size, rank, record, error);
    free(text);
    return status;
}

/* One rank's file. */
typedef struct rank_file {
    int64_t rank;
    const char *folder;
} rank_file;

typedef struct files {
    rank_file *items; /* by rank, then in the order of the folders */
    size_t count;
} files;

static int ascending(const void *a, const void *b)
{
    const rank_file *x = a, *y = b;

    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Whether a name is meant to be a rank's file: "rank-" ... ".jsonl". */
static bool is_of_rank(const char *name)
{
    const size_t length = strlen(name);

    return length >= 11 && memcmp(name, "rank-", 5) == 0 && strcmp(name + length - 6, ".jsonl") == 0;
}

/* The rank in such a name, as lot_spool_file writes it; or -1. */
static int64_t rank_of(const char *name)
{
    const size_t digits = strspn(name + 5, "0123456789");
    char number[24];
    int64_t rank;

    if (digits == 0 || digits != strlen(name) - 11 || digits >= sizeof number ||
        (digits > 1 && name[5] == '0'))
        return -1;
    (void)snprintf(number, sizeof number, "%.*s", (int)digits, name + 5);
    return lot_parse_integer(number, &rank) && rank < INT32_MAX ? rank : -1;
}

static lot_status add_file(files *list, const char *folder, int64_t rank, lot_error *error)
{
    rank_file *grown = lot_grown(list->items, list->count, sizeof *grown);

    if (grown == NULL)
        return no_memory(error);
    list->items = grown;
    grown[list->count++] = (rank_file){rank, folder};
    return LOT_OK;
}

/* A file that is left out would make its rank a lost one. */
static lot_status take_name(DIR *opened, const char *folder, const char *name, files *list, lot_error *error)
{
    const int64_t rank = rank_of(name);
    struct stat info;

    if (rank < 0)
        return lot_error_set(
            error, LOT_INPUT, "spool", 0,
            "%s/%s is not a rank's file: these are rank-N.jsonl, N a whole number from 0 to %d "
            "without leading zeros",
            folder, name, INT32_MAX - 1);
    if (fstatat(dirfd(opened), name, &info, 0) == 0 && !S_ISREG(info.st_mode))
        return lot_error_set(error, LOT_INPUT, "spool", 0, "%s/%s is not a regular file", folder, name);
    return add_file(list, folder, rank, error);
}

static lot_status list_folder(const char *folder, files *list, lot_error *error)
{
    DIR *opened = opendir(folder);
    const size_t before = list->count;
    const struct dirent *entry;
    lot_status status = LOT_OK;

    if (opened == NULL)
        return lot_error_errno(error, LOT_INPUT, "opendir", errno, "spool folder %s cannot be opened",
                               folder);
    errno = 0;
    while (status == LOT_OK && (entry = readdir(opened)) != NULL) {
        if (is_of_rank(entry->d_name))
            status = take_name(opened, folder, entry->d_name, list, error);
        errno = 0;
    }
    if (status == LOT_OK && errno != 0)
        status = lot_error_errno(error, LOT_IO, "readdir", errno, "spool folder %s cannot be read", folder);
    (void)closedir(opened);
    if (status == LOT_OK && list->count == before)
        return lot_error_set(error, LOT_INPUT, "spool", 0, "%s holds no rank's file (rank-N.jsonl)", folder);
    return status;
}

static lot_status list_files(const lot_spool_folders *folders, files *list, lot_error *error)
{
    lot_status status = LOT_OK;

    for (size_t i = 0; status == LOT_OK && i < folders->count; i++)
        status = list_folder(folders->items[i], list, error);
    if (status == LOT_OK && list->count == 0)
        return lot_error_set(error, LOT_INPUT, "spool", 0, "no spool folder is given");
    if (status == LOT_OK)
        qsort(list->items, list->count, sizeof *list->items, ascending);
    return status;
}

/* The longer of a rank's text so far and the one in `file`; one of them must begin with the other. */
static lot_status take_longer(const rank_file *file, char **text, size_t *size, lot_error *error)
{
    char *other = NULL;
    size_t other_size = 0;
    const lot_status status = read_file(file->folder, file->rank, &other, &other_size, error);

    if (status != LOT_OK)
        return status;
    if (memcmp(*text, other, *size < other_size ? *size : other_size) != 0) {
        free(other);
        return lot_error_set(error, LOT_DAMAGED, "spool", 0,
                             "rank %lld has two files that differ, one of them in %s", (long long)file->rank,
                             file->folder);
    }
    if (other_size > *size) {
        char *shorter = *text;

        *text = other;
        *size = other_size;
        other = shorter;
    }
    free(other);
    return LOT_OK;
}

/* The record of `rank`, whose files, if there are any, are list->items[*at] and those behind it; *at goes on
 * to the next rank's. */
static lot_status read_rank(const files *list, int64_t rank, size_t *at, lot_record *record, lot_error *error)
{
    char *text = NULL;
    size_t size = 0;
    lot_status status;

    if (*at >= list->count || list->items[*at].rank != rank)
        return lot_spool_parse("", 0, rank, record, error);
    status = read_file(list->items[*at].folder, rank, &text, &size, error);
    for (++*at; status == LOT_OK && *at < list->count && list->items[*at].rank == rank; ++*at)
        status = take_longer(&list->items[*at], &text, &size, error);
    if (status == LOT_OK)
        status = lot_spool_parse(text, size, rank, record, error);
    free(text);
    return status;
}

/* Which run the folders hold: told by the first rank that says so. */
typedef struct origin {
    char run_id[sizeof((lot_identity *)0)->run_id];
    char label[sizeof((lot_identity *)0)->label];
    int64_t size;
} origin;

static lot_status find_origin(const files *list, origin *from, lot_error *error)
{
    memset(from, 0, sizeof *from);
    from->size = list->items[list->count - 1].rank + 1;
    for (size_t at = 0; at < list->count;) {
        lot_record record;
        const lot_status status = read_rank(list, list->items[at].rank, &at, &record, error);
        const lot_identity *identity = &record.head.identity;

        if (status != LOT_OK)
            return status;
        if (identity->run_id[0] != '\0') {
            memcpy(from->run_id, identity->run_id, sizeof from->run_id);
            memcpy(from->label, identity->label, sizeof from->label);
            if (identity->size > from->size && identity->size < INT32_MAX)
                from->size = identity->size;
        }
        lot_record_free(&record);
        if (from->run_id[0] != '\0')
            return LOT_OK;
    }
    return lot_error_set(error, LOT_INPUT, "spool", 0, "%s holds nothing of any run that can be read",
                         list->items[0].folder);
}

static lot_status hand_on(lot_record *record, const origin *from,
                          lot_status (*each)(void *context, const lot_record *record, lot_error *error),
                          void *context, lot_error *error)
{
    lot_identity *identity = &record->head.identity;

    if (identity->run_id[0] == '\0') {
        memcpy(identity->run_id, from->run_id, sizeof identity->run_id);
        memcpy(identity->label, from->label, sizeof identity->label);
        identity->size = from->size;
    }
    if (strcmp(identity->run_id, from->run_id) == 0 && identity->size == from->size)
        return each(context, record, error);
    return lot_error_set(
        error, LOT_DAMAGED, "spool", 0,
        "two runs are mixed: rank %lld belongs to run '%s' of %lld ranks, not to '%s' of %lld",
        (long long)identity->rank, identity->run_id, (long long)identity->size, from->run_id,
        (long long)from->size);
}

lot_status lot_spool_read(const lot_spool_folders *folders,
                          lot_status (*each)(void *context, const lot_record *record, lot_error *error),
                          void *context, lot_error *error)
{
    files list = {0};
    origin from;
    size_t at = 0;
    lot_status status = list_files(folders, &list, error);

    if (status == LOT_OK)
        status = find_origin(&list, &from, error);
    for (int64_t rank = 0; status == LOT_OK && rank < from.size; rank++) {
        lot_record record;

        status = read_rank(&list, rank, &at, &record, error);
        if (status != LOT_OK)
            break;
        status = hand_on(&record, &from, each, context, error);
        lot_record_free(&record);
    }
    free(list.items);
    return status;
}

/* The price in one file of rank 0; NULL where it holds none. */
static lot_status find_tariff(const char *folder, char **json, lot_error *error)
{
    char *text = NULL, *found = NULL;
    size_t size = 0;
    lot_status status = read_file(folder, 0, &text, &size, error);
    const char *line = text;
    const char *newline;

    while (status == LOT_OK && found == NULL && line < text + size &&
           (newline = memchr(line, '\n', (size_t)(text + size - line))) != NULL) {
        const char *value;
        size_t value_size;

        if (value_of(line, (size_t)(newline - line), "tariff", &value, &value_size)) {
            found = malloc(value_size + 1);
            if (found == NULL) {
                status = no_memory(error);
            } else {
                memcpy(found, value, value_size);
                found[value_size] = '\0';
            }
        }
        line = newline + 1;
    }
    free(text);
    if (status == LOT_OK)
        *json = found;
    return status;
}

lot_status lot_spool_read_tariff(const lot_spool_folders *folders, char **json, lot_error *error)
{
    lot_status status = LOT_OK;

    *json = NULL;
    for (size_t i = 0; status == LOT_OK && *json == NULL && i < folders->count; i++)
        status = find_tariff(folders->items[i], json, error);
    return status;
}
