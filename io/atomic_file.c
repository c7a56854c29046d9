#define _GNU_SOURCE /* renameat2, realpath */
#include "io/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "io/file_bytes.h"

struct lot_atomic_file {
    char *path;
    char *partial;
    char *folder;
};

static void release(lot_atomic_file *file)
{
    if (file == NULL)
        return;
    free(file->path);
    free(file->partial);
    free(file->folder);
    free(file);
}

static lot_status no_memory(lot_error *error, const char *path)
{
    return lot_error_set(error, LOT_MEMORY, "malloc", 0, "no memory to write %s", path);
}

/* The folder that `path` lies in, to be freed. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (slash == NULL)
        return strdup(".");
    if (slash == path)
        return strdup("/");
    return strndup(path, (size_t)(slash - path));
}

static lot_status refuse_existing(const char *path, lot_error *error)
{
    struct stat info;

    if (lstat(path, &info) != 0)
        return LOT_OK;
    if (S_ISDIR(info.st_mode))
        return lot_error_set(error, LOT_OUTPUT, "output", EISDIR, "%s is a folder", path);
    return lot_error_set(error, LOT_OUTPUT, "output", EEXIST, "%s exists already and is never overwritten",
                         path);
}

/* Makes the partial file under the first name that is free. */
static lot_status create_partial(lot_atomic_file *file, lot_error *error)
{
    const size_t size = strlen(file->path) + 64;
    int descriptor = -1;

    file->partial = malloc(size);
    if (file->partial == NULL)
        return no_memory(error, file->path);
    for (int i = 0; descriptor < 0 && i < 1000; i++) {
        (void)snprintf(file->partial, size, i == 0 ? "%s.partial.%ld" : "%s.partial.%ld.%d", file->path,
                       (long)getpid(), i);
        descriptor = open(file->partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor < 0 && errno != EEXIST)
            break;
    }
    if (descriptor < 0) {
        const int reason = errno;

        free(file->partial); /* not ours: nobody may remove it later */
        file->partial = NULL;
        return lot_error_errno(error, LOT_OUTPUT, "open", reason, "%s cannot be made in folder %s",
                               file->path, file->folder);
    }
    (void)close(descriptor);
    return LOT_OK;
}

lot_status lot_atomic_begin(const char *path, lot_atomic_file **file, lot_error *error)
{
    const size_t length = strlen(path);
    lot_atomic_file *made;
    lot_status status;

    if (length == 0 || path[length - 1] == '/')
        return lot_error_set(error, LOT_OUTPUT, "output", EISDIR, "'%s' names a folder, not a file", path);
    status = refuse_existing(path, error);
    if (status != LOT_OK)
        return status;
    made = calloc(1, sizeof *made);
    if (made == NULL)
        return no_memory(error, path);
    made->path = strdup(path);
    made->folder = folder_of(path);
    if (made->path == NULL || made->folder == NULL)
        status = no_memory(error, path);
    if (status == LOT_OK)
        status = create_partial(made, error);
    if (status != LOT_OK) {
        release(made);
        return status;
    }
    *file = made;
    return LOT_OK;
}

const char *lot_atomic_partial(const lot_atomic_file *file)
{
    return file->partial;
}

static int sync_path(const char *path, int flags)
{
    const int descriptor = open(path, flags | O_RDONLY | O_CLOEXEC);
    int reason = 0;

    if (descriptor < 0)
        return errno;
    /* Some file systems cannot sync a folder and say EINVAL; there is nothing more to do there. */
    if (fsync(descriptor) != 0 && errno != EINVAL && errno != ENOTSUP)
        reason = errno;
    (void)close(descriptor);
    return reason;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/* NFS asks again when an answer is lost, and is then told that the name is taken: by this very file. */
static bool is_linked(const lot_atomic_file *file)
{
    struct stat partial, named;

    return lstat(file->partial, &partial) == 0 && lstat(file->path, &named) == 0 &&
           same_file(&partial, &named);
}

/* Gives the file its name without replacing one: 0 or an errno value. */
static int take_name(const lot_atomic_file *file)
{
    const int reason = link(file->partial, file->path) == 0 ? 0 : errno;

    if (reason == 0 || (reason == EEXIST && is_linked(file))) {
        (void)unlink(file->partial);
        return 0;
    }
    /* Some file systems have no hard links (FAT, some FUSE and object stores). */
    if (reason != EPERM && reason != EOPNOTSUPP && reason != ENOSYS && reason != EMLINK)
        return reason;
    return renameat2(AT_FDCWD, file->partial, AT_FDCWD, file->path, RENAME_NOREPLACE) == 0 ? 0 : errno;
}

lot_status lot_atomic_publish(lot_atomic_file *file, lot_error *error)
{
    lot_status status = LOT_OK;
    int reason = sync_path(file->partial, 0);

    if (reason != 0) {
        status =
            lot_error_errno(error, LOT_IO, "fsync", reason, "%s could not be written to disk", file->path);
        (void)unlink(file->partial);
    } else if ((reason = take_name(file)) == EEXIST) {
        status = lot_error_set(error, LOT_OUTPUT, "link", reason,
                               "%s was made by somebody else meanwhile; the complete file is %s", file->path,
                               file->partial);
    } else if (reason != 0) {
        status = lot_error_errno(error, LOT_OUTPUT, "link", reason, "%s: the complete file stays as %s",
                                 file->path, file->partial);
    } else if ((reason = sync_path(file->folder, O_DIRECTORY)) != 0 && reason != EACCES) {
        /* A folder may be writable and not readable; the file is whole and named all the same. */
        status = lot_error_errno(error, LOT_IO, "fsync", reason, "folder %s could not be written to disk",
                                 file->folder);
    }
    release(file);
    return status;
}

void lot_atomic_abandon(lot_atomic_file *file)
{
    if (file != NULL && file->partial != NULL)
        (void)unlink(file->partial);
    release(file);
}

lot_status lot_atomic_write(const char *path,
                            lot_status (*write)(const void *context, FILE *out, lot_error *error),
                            const void *context, lot_error *error)
{
    lot_atomic_file *file = NULL;
    FILE *out = NULL;
    lot_status status = lot_atomic_begin(path, &file, error);

    if (status != LOT_OK)
        return status;
    out = fopen(file->partial, "we");
    status = out != NULL ? write(context, out, error)
                         : lot_error_errno(error, LOT_IO, "fopen", errno, "%s cannot be written", path);
    if (out != NULL && (fflush(out) != 0 || ferror(out)) && status == LOT_OK)
        status = lot_error_errno(error, LOT_IO, "write", errno, "%s could not be written", path);
    if (out != NULL)
        (void)fclose(out);
    if (status == LOT_OK)
        return lot_atomic_publish(file, error);
    lot_atomic_abandon(file);
    return status;
}

lot_status lot_atomic_check(const char *path, lot_error *error)
{
    lot_atomic_file *file = NULL;
    const lot_status status = lot_atomic_begin(path, &file, error);

    if (status == LOT_OK)
        lot_atomic_abandon(file);
    return status;
}

/* ---- rewriting ---- */

#define LOCK_TRY_SECONDS 0.01 /* between two tries: an edit of a small file takes about as long */

typedef struct path_lock {
    char *name;
    int descriptor; /* -1: not held */
} path_lock;

/* Tries for the lock on an open file until the clock shows `deadline`: 0, ETIMEDOUT or another errno value.
 */
static int wait_for(int descriptor, double deadline)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    while (fcntl(descriptor, F_SETLK, &whole) != 0) {
        if (errno != EINTR && errno != EAGAIN && errno != EACCES)
            return errno;
        if (lot_clock_seconds() >= deadline)
            return ETIMEDOUT;
        lot_clock_sleep(LOCK_TRY_SECONDS);
    }
    return 0;
}

/* Who held the lock removed its file: whoever waited for that one holds nothing that anybody else sees. */
static bool is_still_there(int descriptor, const char *name)
{
    struct stat held, named;

    return fstat(descriptor, &held) == 0 && stat(name, &named) == 0 && same_file(&held, &named);
}

static lot_status not_locked(const char *path, double wait_seconds, int reason, lot_error *error)
{
    if (reason == ETIMEDOUT)
        return lot_error_set(error, LOT_OUTPUT, "fcntl", reason,
                             "%s: other processes held its lock, %s.lock, for %g s; nothing was changed",
                             path, path, wait_seconds);
    return lot_error_errno(error, LOT_IO, "fcntl", reason, "%s.lock cannot be locked", path);
}

/* Waits for the lock that belongs to `path`; give_back in every case. */
static lot_status lock(const char *path, double wait_seconds, path_lock *held, lot_error *error)
{
    const size_t size = strlen(path) + sizeof ".lock";
    const double deadline = lot_clock_seconds() + wait_seconds;

    held->descriptor = -1;
    held->name = malloc(size);
    if (held->name == NULL)
        return no_memory(error, path);
    (void)snprintf(held->name, size, "%s.lock", path);
    for (;;) {
        const int opened = open(held->name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        int reason;

        if (opened < 0)
            return lot_error_errno(error, LOT_OUTPUT, "open", errno, "%s cannot be made", held->name);
        reason = wait_for(opened, deadline);
        if (reason == 0 && is_still_there(opened, held->name)) {
            held->descriptor = opened;
            return LOT_OK;
        }
        (void)close(opened);
        if (reason != 0)
            return not_locked(path, wait_seconds, reason, error);
    }
}

/* Removes the lock's file and then lets go of it. */
static void give_back(path_lock *held)
{
    if (held->descriptor >= 0) {
        (void)unlink(held->name);
        (void)close(held->descriptor);
    }
    free(held->name);
}

/* The text of a file, terminated, to be freed; an empty one where there is no such file. One that may not be
 * written is refused here: a folder alone would let it be replaced. */
static lot_status read_whole(const char *path, char **text, size_t *size, mode_t *mode, lot_error *error)
{
    const int file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    const int reason = errno;
    struct stat info;
    lot_status status;

    *mode = 0;
    *size = 0;
    if (file < 0 && reason == ENOENT) {
        *text = calloc(1, 1);
        return *text != NULL ? LOT_OK : no_memory(error, path);
    }
    if (file < 0)
        return lot_error_errno(error, LOT_OUTPUT, "open", reason, "%s cannot be changed", path);
    if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) {
        status = lot_error_set(error, LOT_OUTPUT, "output", 0, "%s is not a file", path);
    } else {
        *mode = info.st_mode & 07777;
        status = lot_file_read_open(file, path, SIZE_MAX / 4, text, size, error);
    }
    (void)close(file);
    return status;
}

/* Puts the new text, complete and synced, in the place of the old one. */
static lot_status replace(lot_atomic_file *file, FILE *out, mode_t mode, lot_error *error)
{
    int reason = 0;

    if (fflush(out) != 0 || ferror(out) || (mode != 0 && fchmod(fileno(out), mode) != 0) ||
        fsync(fileno(out)) != 0)
        reason = errno != 0 ? errno : EIO;
    if (reason == 0 && rename(file->partial, file->path) != 0)
        reason = errno;
    if (reason != 0)
        return lot_error_errno(error, LOT_IO, "write", reason, "%s could not be written", file->path);
    (void)sync_path(file->folder, O_DIRECTORY);
    return LOT_OK;
}

static lot_status edit_locked(lot_atomic_file *file,
                              lot_status (*edit)(void *context, const char *old, size_t size, FILE *out,
                                                 lot_error *error),
                              void *context, lot_error *error)
{
    char *old = NULL;
    FILE *out = NULL;
    size_t size = 0;
    mode_t mode = 0;
    lot_status status = read_whole(file->path, &old, &size, &mode, error);

    if (status == LOT_OK)
        status = create_partial(file, error);
    if (status == LOT_OK && (out = fopen(file->partial, "we")) == NULL)
        status = lot_error_errno(error, LOT_IO, "open", errno, "%s cannot be written", file->partial);
    if (status == LOT_OK)
        status = edit(context, old, size, out, error);
    if (status == LOT_OK)
        status = replace(file, out, mode, error);
    if (out != NULL)
        (void)fclose(out);
    if (status != LOT_OK && file->partial != NULL)
        (void)unlink(file->partial);
    free(old);
    return status;
}

/* The path of the file itself, to be freed: a link to it stays a link, and who comes by the link takes the
 * same lock. What is no regular file is refused before anything is made beside it or waited for. */
static lot_status find_file(const char *path, char **found, lot_error *error)
{
    struct stat info;

    if (lstat(path, &info) != 0) {
        if (errno != ENOENT)
            return lot_error_errno(error, LOT_OUTPUT, "lstat", errno, "%s", path);
        *found = strdup(path);
        return *found != NULL ? LOT_OK : no_memory(error, path);
    }
    if (stat(path, &info) != 0)
        return lot_error_errno(error, LOT_OUTPUT, "stat", errno, "%s", path);
    if (!S_ISREG(info.st_mode))
        return lot_error_set(error, LOT_OUTPUT, "output", 0, "%s is not a file", path);
    *found = realpath(path, NULL);
    if (*found == NULL)
        return lot_error_errno(error, LOT_OUTPUT, "realpath", errno, "%s", path);
    return LOT_OK;
}

lot_status lot_atomic_edit(const char *path, double wait_seconds,
                           lot_status (*edit)(void *context, const char *old, size_t size, FILE *out,
                                              lot_error *error),
                           void *context, lot_error *error)
{
    lot_atomic_file *file = calloc(1, sizeof *file);
    path_lock held = {.descriptor = -1};
    lot_status status = LOT_OK;

    if (file == NULL)
        return no_memory(error, path);
    status = find_file(path, &file->path, error);
    if (status == LOT_OK && (file->folder = folder_of(file->path)) == NULL)
        status = no_memory(error, path);
    if (status == LOT_OK)
        status = lock(file->path, wait_seconds, &held, error);
    if (status == LOT_OK)
        status = edit_locked(file, edit, context, error);
    give_back(&held);
    release(file);
    return status;
}
