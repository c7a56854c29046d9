#define _GNU_SOURCE
#include "cmd/localise_archive.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/localise.h"
#include "io/archive_h5.h"
#include "io/record_json.h"

/* What is kept while the archives are gone through. */
typedef struct search {
    lot_check_result *result; /* whose devices are in the order of their records */
    size_t *bases;            /* of each group */
    bool *in_question;        /* of each group: somebody of it is set against its base */
    lot_record *records;      /* of each group: its base's, empty where it is not in question */
    bool collecting;          /* the bases' records; else comparing with them */
    size_t next;              /* device whose record comes next */
} search;

/* Whether the record's list of traces is there and not empty: a record of thousands of rows is not parsed in
 * vain. */
static bool has_traces(const char *json, size_t size)
{
    static const char key[] = "\"traces\"";
    const char *at = memmem(json, size, key, sizeof key - 1);
    char next[2] = {0};

    if (at == NULL)
        return false;
    at += sizeof key - 1;
    for (size_t found = 0; at < json + size && found < 2; at++)
        if (*at != ':' && strchr(" \t\r\n", *at) == NULL)
            next[found++] = *at;
    return next[0] == '[' && next[1] != ']';
}

static lot_status compare(search *s, size_t device, const char *json, size_t size, lot_error *error)
{
    const size_t group = s->result->devices[device].group;
    const size_t base = s->bases[group];
    lot_record record;
    const lot_localise_side one = {device, &record};
    lot_status status = lot_record_json_read(json, size, &record, error);

    if (status != LOT_OK)
        return status;
    s->result->sampled = true;
    status = lot_localise_compare(one, one, s->result, error);
    if (status == LOT_OK && base != device)
        status = lot_localise_compare((lot_localise_side){base, &s->records[group]}, one, s->result, error);
    lot_record_free(&record);
    return status;
}

static lot_status take(void *context, const char *json, size_t size, lot_error *error)
{
    search *s = context;
    const size_t device = s->next++;
    const lot_checked_device *d;

    if (device >= s->result->device_count)
        return lot_error_set(error, LOT_DAMAGED, "records", 0, "an archive has changed while it was read");
    d = &s->result->devices[device];
    if (s->collecting)
        return s->in_question[d->group] && s->bases[d->group] == device
                   ? lot_record_json_read(json, size, &s->records[d->group], error)
                   : LOT_OK;
    return lot_localise_wanted(d) && has_traces(json, size) ? compare(s, device, json, size, error) : LOT_OK;
}

static lot_status go_through(search *s, const char *const *paths, bool collecting, lot_error *error)
{
    lot_status status = LOT_OK;

    s->collecting = collecting;
    s->next = 0;
    for (size_t a = 0; status == LOT_OK && a < s->result->archive_count; a++)
        status = lot_archive_each_record(paths[a], -1, take, s, error);
    return status;
}

/* Notes which groups are in question; returns whether anything is. */
static bool look(search *s)
{
    bool any = false;

    for (size_t i = 0; i < s->result->device_count; i++) {
        const lot_checked_device *d = &s->result->devices[i];

        if (!lot_localise_wanted(d))
            continue;
        any = true;
        s->in_question[d->group] |= s->bases[d->group] != i;
    }
    return any;
}

static lot_status localise(search *s, const char *const *paths, lot_error *error)
{
    lot_status status;

    for (size_t g = 0; g < s->result->group_count; g++)
        lot_record_init(&s->records[g]);
    lot_localise_bases(s->result, s->bases);
    if (!look(s))
        return LOT_OK;
    status = go_through(s, paths, true, error);
    if (status == LOT_OK)
        status = go_through(s, paths, false, error);
    for (size_t g = 0; g < s->result->group_count; g++)
        lot_record_free(&s->records[g]);
    lot_localise_sort(s->result);
    return status;
}

lot_status lot_localise_archives(const char *const *paths, lot_check_result *result, lot_error *error)
{
    search s = {.result = result,
                .bases = calloc(result->group_count + 1, sizeof *s.bases),
                .in_question = calloc(result->group_count + 1, sizeof *s.in_question),
                .records = calloc(result->group_count + 1, sizeof *s.records)};
    lot_status status;

    if (s.bases == NULL || s.in_question == NULL || s.records == NULL)
        status = lot_error_set(error, LOT_MEMORY, "calloc", 0, "no memory to find where GPUs differ");
    else
        status = localise(&s, paths, error);
    free(s.bases);
    free(s.in_question);
    free(s.records);
    return status;
}
