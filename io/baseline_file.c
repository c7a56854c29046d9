#include "io/baseline_file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/field.h"
#include "io/atomic_file.h"
#include "io/file_bytes.h"
#include "io/json_take.h"
#include "io/json_text.h"
#include "io/record_json.h"

#define FILE_MAX ((size_t)1 << 30)
#define BEGINS   "{\"schema\":\"" LOT_BASELINE_SCHEMA "\""

/* ---- writing ---- */

static void write_head(lot_json_text *t, const lot_baseline *b)
{
    lot_json_open(t, '{');
    lot_json_member_text(t, "schema", LOT_BASELINE_SCHEMA);
    lot_json_member_integer(t, "schema_version", LOT_BASELINE_SCHEMA_VERSION);
    lot_json_member_integer(t, "archives", b->archives);
    lot_json_member_integer(t, "simulated", b->simulated);
    lot_json_member_integer(t, "devices", (int64_t)b->device_count);
    lot_json_close(t, '}');
}

static void write_repeats(lot_json_text *t, const char *name, const double *seconds, size_t count)
{
    lot_json_key(t, name);
    lot_json_open(t, '[');
    for (size_t i = 0; i < count; i++)
        lot_json_number(t, seconds[i]);
    lot_json_close(t, ']');
}

static void write_series(lot_json_text *t, const lot_baseline_series *s)
{
    lot_json_open(t, '{');
    lot_json_key(t, "phase");
    lot_json_string(t, s->phase);
    lot_json_key(t, "schedule"); /* an empty one stays a text */
    lot_json_string(t, s->schedule);
    lot_json_member_integer(t, "archives", s->archives);
    lot_json_member_integer(t, "rows", s->rows);
    lot_json_member_number(t, "host_seconds", s->seconds[0]);
    lot_json_member_number(t, "device_seconds", s->seconds[1]);
    lot_json_member_number(t, "host_repeat_spread", s->repeat_spread[0]);
    lot_json_member_number(t, "device_repeat_spread", s->repeat_spread[1]);
    lot_json_member_number(t, "host_archive_spread", s->archive_spread[0]);
    lot_json_member_number(t, "device_archive_spread", s->archive_spread[1]);
    write_repeats(t, "host_repeats", s->repeats[0], s->repeat_count[0]);
    write_repeats(t, "device_repeats", s->repeats[1], s->repeat_count[1]);
    lot_json_member_integer(t, "allocated_peak_bytes", s->allocated_peak_bytes);
    lot_json_member_integer(t, "reserved_peak_bytes", s->reserved_peak_bytes);
    lot_json_close(t, '}');
}

static void write_times(lot_json_text *t, const lot_baseline_device *d)
{
    lot_json_open(t, '{');
    lot_json_member_integer(t, "archives", d->archives);
    lot_json_member_integer(t, "shares_uuid", d->shares_uuid);
    lot_json_member_integer(t, "digests_agree", d->digests_agree);
    lot_json_key(t, "phases");
    lot_json_open(t, '[');
    for (size_t i = 0; i < d->series_count; i++)
        write_series(t, &d->series[i]);
    lot_json_close(t, ']');
    lot_json_close(t, '}');
}

/* Writes the text and a newline, and makes the text empty. */
static lot_status put_line(FILE *out, lot_json_text *t, lot_error *error)
{
    if (t->failed)
        return lot_error_set(error, LOT_MEMORY, "malloc", 0, "no memory for a line of the baseline");
    if (fwrite(t->data, 1, t->size, out) != t->size || fputc('\n', out) == EOF)
        return lot_error_errno(error, LOT_IO, "fwrite", errno, "the baseline could not be written");
    lot_json_reset(t);
    return LOT_OK;
}

static lot_status put_device(FILE *out, const lot_baseline_device *d, lot_json_text *t, lot_error *error)
{
    const lot_record record = {.head = d->head};
    char *json = NULL;
    size_t size = 0;
    lot_status status = lot_record_json_write(&record, &json, &size, error);

    if (status != LOT_OK)
        return status;
    lot_json_raw(t, json, size);
    free(json);
    status = put_line(out, t, error);
    if (status == LOT_OK) {
        write_times(t, d);
        status = put_line(out, t, error);
    }
    return status;
}

static lot_status put_all(const void *context, FILE *out, lot_error *error)
{
    const lot_baseline *baseline = context;
    lot_json_text t = {0};
    lot_status status;

    write_head(&t, baseline);
    status = put_line(out, &t, error);
    for (size_t i = 0; status == LOT_OK && i < baseline->device_count; i++)
        status = put_device(out, &baseline->devices[i], &t, error);
    lot_json_free(&t);
    return status;
}

lot_status lot_baseline_write(const char *path, const lot_baseline *baseline, lot_error *error)
{
    return lot_atomic_write(path, put_all, baseline, error);
}

/* ---- reading ---- */

/* The lines of a file, one after the other. */
typedef struct lines {
    const char *name;
    const char *at;
    const char *end;
    size_t number;
} lines;

static lot_status broken(const lines *l, lot_error *error, const char *what)
{
    return lot_error_set(error, LOT_DAMAGED, "baseline", 0, "%.200s: line %zu %s", l->name, l->number, what);
}

static bool next_line(lines *l, const char **line, size_t *size)
{
    const char *newline = l->at < l->end ? memchr(l->at, '\n', (size_t)(l->end - l->at)) : NULL;

    l->number++;
    if (newline == NULL)
        return false;
    *line = l->at;
    *size = (size_t)(newline - l->at);
    l->at = newline + 1;
    return true;
}

static double take_number(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

    return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

static bool take_text(const cJSON *object, const char *name, char *text, size_t size)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

    return cJSON_IsString(item) && lot_field_copy(text, size, item->valuestring);
}

/* Sorted positive seconds; none where there is no such list. False where the list is something else. */
static bool take_repeats(const cJSON *object, const char *name, double **seconds, size_t *count)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(object, name);
    const cJSON *item;
    double least = 0;

    if (list == NULL)
        return true;
    if (!cJSON_IsArray(list) ||
        (*seconds = malloc(((size_t)cJSON_GetArraySize(list) + 1) * sizeof **seconds)) == NULL)
        return false;
    cJSON_ArrayForEach(item, list)
    {
        if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble) || item->valuedouble <= 0 ||
            item->valuedouble < least)
            return false;
        least = (*seconds)[(*count)++] = item->valuedouble;
    }
    return true;
}

/* Times must be positive where there are any: a logarithm is taken of them. */
static bool take_series(const cJSON *item, lot_baseline_series *s)
{
    s->seconds[0] = take_number(item, "host_seconds");
    s->seconds[1] = take_number(item, "device_seconds");
    s->repeat_spread[0] = take_number(item, "host_repeat_spread");
    s->repeat_spread[1] = take_number(item, "device_repeat_spread");
    s->archive_spread[0] = take_number(item, "host_archive_spread");
    s->archive_spread[1] = take_number(item, "device_archive_spread");
    s->allocated_peak_bytes = s->reserved_peak_bytes = LOT_NULL_I64;
    (void)lot_json_take_integer(item, "allocated_peak_bytes", &s->allocated_peak_bytes);
    (void)lot_json_take_integer(item, "reserved_peak_bytes", &s->reserved_peak_bytes);
    return take_repeats(item, "host_repeats", &s->repeats[0], &s->repeat_count[0]) &&
           take_repeats(item, "device_repeats", &s->repeats[1], &s->repeat_count[1]) &&
           take_text(item, "phase", s->phase, sizeof s->phase) &&
           take_text(item, "schedule", s->schedule, sizeof s->schedule) &&
           lot_json_take_integer(item, "archives", &s->archives) &&
           lot_json_take_integer(item, "rows", &s->rows) && s->archives >= 1 && !(s->seconds[0] <= 0) &&
           !(s->seconds[1] <= 0) && !(s->repeat_spread[0] < 0) && !(s->repeat_spread[1] < 0) &&
           !(s->archive_spread[0] < 0) && !(s->archive_spread[1] < 0);
}

/* Takes them all, each phase and schedule once: those who compare have no room for more. */
static bool take_phases(const cJSON *phases, lot_baseline_device *d)
{
    const int count = cJSON_GetArraySize(phases);
    const cJSON *item;

    if (!cJSON_IsArray(phases) || count > LOT_BASELINE_SERIES_MOST ||
        (d->series = calloc((size_t)count + 1, sizeof *d->series)) == NULL)
        return false;
    cJSON_ArrayForEach(item, phases)
    {
        lot_baseline_series *s = &d->series[d->series_count++];

        if (!take_series(item, s))
            return false;
        for (size_t i = 0; i + 1 < d->series_count; i++)
            if (strcmp(d->series[i].phase, s->phase) == 0 && strcmp(d->series[i].schedule, s->schedule) == 0)
                return false;
    }
    return true;
}

static lot_status take_times(const lines *l, const char *line, size_t size, lot_baseline_device *d,
                             lot_error *error)
{
    cJSON *root = lot_json_take_whole(line, size);
    int64_t agree = 0, shares = 0;
    const bool good = lot_json_take_integer(root, "archives", &d->archives) &&
                      lot_json_take_integer(root, "digests_agree", &agree) &&
                      take_phases(cJSON_GetObjectItemCaseSensitive(root, "phases"), d);

    (void)lot_json_take_integer(root, "shares_uuid", &shares);
    d->shares_uuid = shares == 1;
    d->digests_agree = agree == 1;
    cJSON_Delete(root);
    return good ? LOT_OK : broken(l, error, "is not what a GPU's times are");
}

static lot_status take_device(lines *l, lot_baseline_device *d, lot_error *error)
{
    const char *line = NULL;
    size_t size = 0;
    lot_record record;
    lot_status status;

    if (!next_line(l, &line, &size))
        return broken(l, error, "is missing");
    status = lot_record_json_read(line, size, &record, error);
    if (status != LOT_OK)
        return status;
    d->head = record.head;
    lot_record_free(&record);
    if (!next_line(l, &line, &size))
        return broken(l, error, "is missing");
    return take_times(l, line, size, d, error);
}

static lot_status take_head(const lines *l, const char *line, size_t size, lot_baseline *b, int64_t *devices,
                            lot_error *error)
{
    cJSON *root = lot_json_take_whole(line, size);
    const cJSON *schema = cJSON_GetObjectItemCaseSensitive(root, "schema");
    int64_t version = 0, simulated = 0;
    const bool ours = cJSON_IsString(schema) && strcmp(schema->valuestring, LOT_BASELINE_SCHEMA) == 0 &&
                      lot_json_take_integer(root, "schema_version", &version) &&
                      version == LOT_BASELINE_SCHEMA_VERSION;
    const bool good = lot_json_take_integer(root, "archives", &b->archives) &&
                      lot_json_take_integer(root, "simulated", &simulated) &&
                      lot_json_take_integer(root, "devices", devices) && b->archives >= 1;

    cJSON_Delete(root);
    b->simulated = simulated == 1;
    if (!ours)
        return lot_error_set(error, LOT_SCHEMA, "baseline", 0, "%.200s is not a %s of version %d", l->name,
                             LOT_BASELINE_SCHEMA, LOT_BASELINE_SCHEMA_VERSION);
    return good ? LOT_OK : broken(l, error, "is not what a baseline begins with");
}

lot_status lot_baseline_parse(const char *name, const char *bytes, size_t size, lot_baseline *baseline,
                              lot_error *error)
{
    lines l = {name, bytes, bytes + size, 0};
    lot_baseline made = {0};
    const char *line = NULL;
    size_t line_size = 0;
    int64_t devices = 0;
    lot_status status = LOT_OK;

    if (!next_line(&l, &line, &line_size))
        return broken(&l, error, "has no end");
    status = take_head(&l, line, line_size, &made, &devices, error);
    /* A GPU has two lines of several bytes: no count that the file cannot hold is believed. */
    if (status == LOT_OK && (uint64_t)devices > size / 4)
        status = broken(&l, error, "claims more GPUs than the file holds");
    if (status == LOT_OK && (made.devices = calloc((size_t)devices + 1, sizeof *made.devices)) == NULL)
        status = lot_error_set(error, LOT_MEMORY, "calloc", 0, "no memory for the GPUs of a baseline");
    for (int64_t i = 0; status == LOT_OK && i < devices; i++)
        status = take_device(&l, &made.devices[made.device_count++], error);
    if (status == LOT_OK && l.at != l.end) {
        l.number++;
        status = broken(&l, error, "is one too many");
    }
    if (status == LOT_OK)
        *baseline = made;
    else
        lot_baseline_free(&made);
    return status;
}

lot_status lot_baseline_read(const char *path, lot_baseline *baseline, lot_error *error)
{
    char *bytes = NULL;
    size_t size = 0;
    lot_status status = lot_file_read(path, FILE_MAX, &bytes, &size, error);

    if (status == LOT_OK)
        status = lot_baseline_parse(path, bytes, size, baseline, error);
    free(bytes);
    return status;
}

bool lot_baseline_is_one(const char *path)
{
    char start[sizeof BEGINS - 1];
    const int file =
        open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe is not waited for, nor used up */
    bool is_one;

    if (file < 0)
        return false;
    is_one = pread(file, start, sizeof start, 0) == (ssize_t)sizeof start &&
             memcmp(start, BEGINS, sizeof start) == 0;
    (void)close(file);
    return is_one;
}
