#include "io/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "io/json_text.h"
#include "io/record_json.h"

#define HAND_OVER_SECONDS 0.02

struct lot_spool {
    char *path;
    int descriptor;
    double handed_over;    /* when */
    lot_json_text pending; /* whole lines that the system does not have yet */
    lot_json_text line;
};

static lot_status no_memory(lot_error *error)
{
    return lot_error_set(error, LOT_MEMORY, "malloc", 0, "no memory for the spool");
}

char *lot_spool_file(const char *folder, int64_t rank)
{
    const size_t size = strlen(folder) + 48;
    char *path = malloc(size);

    if (path != NULL)
        (void)snprintf(path, size, "%s/rank-%lld.jsonl", folder, (long long)rank);
    return path;
}

lot_status lot_spool_open(const char *folder, int64_t rank, lot_spool **spool, lot_error *error)
{
    lot_spool *made = calloc(1, sizeof *made);
    int reason;

    if (made == NULL || (made->path = lot_spool_file(folder, rank)) == NULL) {
        free(made);
        return no_memory(error);
    }
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        reason = errno;
        made->descriptor = -1;
    } else {
        made->descriptor = open(made->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
        reason = errno;
    }
    if (made->descriptor < 0) {
        free(made->path);
        free(made);
        if (reason == EEXIST)
            return lot_error_set(
                error, LOT_OUTPUT, "open", reason,
                "spool folder %s holds the progress of another run: name another one; gpulot "
                "recover makes an archive of that",
                folder);
        return lot_error_errno(error, LOT_OUTPUT, "open", reason,
                               "spool folder %s cannot be used for rank %lld", folder, (long long)rank);
    }
    made->handed_over = lot_clock_seconds();
    *spool = made;
    return LOT_OK;
}

lot_status lot_spool_flush(lot_spool *spool, bool to_disk, lot_error *error)
{
    size_t done = 0;

    while (done < spool->pending.size) {
        const ssize_t written =
            write(spool->descriptor, spool->pending.data + done, spool->pending.size - done);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0) {
            const int reason = errno;

            /* Where there is room again later, the file goes on within the line that was begun. */
            spool->pending.size -= done;
            memmove(spool->pending.data, spool->pending.data + done, spool->pending.size + 1);
            return lot_error_errno(error, LOT_IO, "write", reason, "%s could not be written", spool->path);
        }
        done += (size_t)written;
    }
    lot_json_reset(&spool->pending);
    spool->handed_over = lot_clock_seconds();
    if (to_disk && fdatasync(spool->descriptor) != 0 && errno != EINVAL)
        return lot_error_errno(error, LOT_IO, "fdatasync", errno, "%s could not be written to disk",
                               spool->path);
    return LOT_OK;
}

/* Appends one line {"name": JSON} to what is pending. */
static lot_status add_line(lot_spool *spool, const char *name, const char *json, size_t size,
                           lot_error *error)
{
    lot_json_text *text = &spool->pending;

    text->comma = false;
    lot_json_open(text, '{');
    lot_json_key(text, name);
    lot_json_raw(text, json, size);
    lot_json_close(text, '}');
    text->comma = false;
    lot_json_raw(text, "\n", 1);
    return text->failed ? no_memory(error) : LOT_OK;
}

lot_status lot_spool_head(lot_spool *spool, const lot_record *record, lot_error *error)
{
    lot_status status;

    lot_json_reset(&spool->line);
    lot_record_json_head(record, &spool->line);
    if (spool->line.failed)
        return no_memory(error);
    status = add_line(spool, "head", spool->line.data, spool->line.size, error);
    return status == LOT_OK ? lot_spool_flush(spool, false, error) : status;
}

lot_status lot_spool_phase(lot_spool *spool, const lot_phase *phase, lot_error *error)
{
    lot_status status;

    lot_json_reset(&spool->line);
    lot_record_json_phase(phase, &spool->line);
    if (spool->line.failed)
        return no_memory(error);
    status = add_line(spool, "phase", spool->line.data, spool->line.size, error);
    if (status == LOT_OK && lot_clock_seconds() - spool->handed_over >= HAND_OVER_SECONDS)
        status = lot_spool_flush(spool, false, error);
    return status;
}

lot_status lot_spool_tariff(lot_spool *spool, const char *json, lot_error *error)
{
    const lot_status status = add_line(spool, "tariff", json, strlen(json), error);

    return status == LOT_OK ? lot_spool_flush(spool, false, error) : status;
}

lot_status lot_spool_end(lot_spool *spool, const char *json, size_t size, lot_error *error)
{
    const lot_status status = add_line(spool, "record", json, size, error);

    return status == LOT_OK ? lot_spool_flush(spool, false, error) : status;
}

void lot_spool_close(lot_spool *spool, bool remove_file)
{
    lot_error ignored;

    if (spool == NULL)
        return;
    if (remove_file)
        (void)unlink(spool->path);
    else
        (void)lot_spool_flush(spool, false, &ignored);
    (void)close(spool->descriptor);
    lot_json_free(&spool->pending);
    lot_json_free(&spool->line);
    free(spool->path);
    free(spool);
}

void lot_spool_remove_folder(const char *folder)
{
    (void)rmdir(folder);
}
