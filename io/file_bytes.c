#include "io/file_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The first guess of what to allocate; a regular file then needs no second one. */
static size_t expected_size(int file, size_t limit)
{
    struct stat facts;

    if (fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size < 0)
        return 65536;
    return (size_t)facts.st_size < limit ? (size_t)facts.st_size + 1 : limit + 1;
}

static lot_status grow(char **bytes, size_t *capacity, size_t limit, lot_error *error)
{
    const size_t wanted = *capacity > limit / 2 ? limit + 1 : 2 * *capacity;
    char *grown = realloc(*bytes, wanted + 1);

    if (grown == NULL)
        return lot_error_set(error, LOT_MEMORY, "realloc", 0, "no memory for a file of %zu bytes", wanted);
    *bytes = grown;
    *capacity = wanted;
    return LOT_OK;
}

static lot_status read_all(int file, const char *path, size_t limit, char **bytes, size_t *size,
                           lot_error *error)
{
    size_t capacity = expected_size(file, limit);
    size_t used = 0;

    *bytes = malloc(capacity + 1);
    if (*bytes == NULL)
        return lot_error_set(error, LOT_MEMORY, "malloc", 0, "no memory for a file of %zu bytes", capacity);
    for (;;) {
        const ssize_t got = read(file, *bytes + used, capacity - used);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return lot_error_errno(error, errno == EISDIR ? LOT_INPUT : LOT_IO, "read", errno, "%s", path);
        if (got == 0)
            break;
        used += (size_t)got;
        if (used > limit)
            return lot_error_set(error, LOT_INPUT, "read", 0, "%s: larger than %zu bytes", path, limit);
        if (used == capacity && grow(bytes, &capacity, limit, error) != LOT_OK)
            return error->status;
    }
    (*bytes)[used] = '\0';
    *size = used;
    return LOT_OK;
}

lot_status lot_file_read_open(int file, const char *path, size_t limit, char **bytes, size_t *size,
                              lot_error *error)
{
    char *content = NULL;
    const lot_status status = read_all(file, path, limit, &content, size, error);

    if (status == LOT_OK)
        *bytes = content;
    else
        free(content);
    return status;
}

lot_status lot_file_read(const char *path, size_t limit, char **bytes, size_t *size, lot_error *error)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    lot_status status;

    if (file < 0)
        return lot_error_errno(error, LOT_INPUT, "open", errno, "%s", path);
    status = lot_file_read_open(file, path, limit, bytes, size, error);
    (void)close(file);
    return status;
}
