#include "io/folder_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/grown.h"

#define DEPTH_MAX 64

static lot_status no_memory(lot_error *error)
{
    return lot_error_set(error, LOT_MEMORY, "malloc", 0, "no memory for the list of files");
}

void lot_folder_list_free(lot_folder_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].path);
        free(list->items[i].link);
    }
    free(list->items);
    memset(list, 0, sizeof *list);
}

lot_folder_entry *lot_folder_list_add(lot_folder_list *list, const char *path)
{
    lot_folder_entry *grown = lot_grown(list->items, list->count, sizeof *grown);
    char *copy;

    if (grown == NULL)
        return NULL;
    list->items = grown;
    copy = strdup(path);
    if (copy == NULL)
        return NULL;
    grown[list->count] = (lot_folder_entry){.path = copy};
    return &grown[list->count++];
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const lot_folder_entry *)a)->path, ((const lot_folder_entry *)b)->path);
}

void lot_folder_list_sort(lot_folder_list *list)
{
    if (list->count > 0)
        qsort(list->items, list->count, sizeof *list->items, by_path);
}

char *lot_folder_join(const char *folder, const char *name)
{
    const size_t size = strlen(folder) + strlen(name) + 2;
    char *path = malloc(size);

    if (path != NULL)
        (void)snprintf(path, size, "%s/%s", folder, name);
    return path;
}

static lot_status read_link(int top, lot_folder_entry *entry, lot_error *error)
{
    char target[4096];
    const ssize_t length = readlinkat(top, entry->path, target, sizeof target);

    if (length < 0)
        return lot_error_errno(error, LOT_IO, "readlink", errno, "%s", entry->path);
    if ((size_t)length == sizeof target)
        return lot_error_set(error, LOT_INPUT, "readlink", 0, "%s: a link of more than 4095 bytes",
                             entry->path);
    target[length] = '\0';
    entry->link = strdup(target);
    return entry->link != NULL ? LOT_OK : no_memory(error);
}

typedef struct folder_walk {
    int top;
    const char *left_out;
    lot_folder_list *list;
    lot_error *error;
} folder_walk;

static lot_status walk_folder(const folder_walk *walk, const char *folder, int depth);

/* Adds what stands at `path`; goes into folders. */
static lot_status visit(const folder_walk *walk, const char *path, int depth)
{
    struct stat facts;
    lot_folder_entry *entry;

    if (fstatat(walk->top, path, &facts, AT_SYMLINK_NOFOLLOW) != 0)
        return lot_error_errno(walk->error, LOT_IO, "fstatat", errno, "%s", path);
    if (S_ISDIR(facts.st_mode))
        return walk_folder(walk, path, depth + 1);
    entry = lot_folder_list_add(walk->list, path);
    if (entry == NULL)
        return no_memory(walk->error);
    entry->special = !S_ISREG(facts.st_mode) && !S_ISLNK(facts.st_mode);
    entry->size = facts.st_size;
    return S_ISLNK(facts.st_mode) ? read_link(walk->top, entry, walk->error) : LOT_OK;
}

static lot_status visit_all(const folder_walk *walk, const char *folder, DIR *open_folder, int depth)
{
    lot_status status = LOT_OK;

    while (status == LOT_OK) {
        const struct dirent *found;
        char *path;

        errno = 0;
        found = readdir(open_folder);
        if (found == NULL)
            return errno == 0 ? LOT_OK : lot_error_errno(walk->error, LOT_IO, "readdir", errno, "%s", folder);
        if (strcmp(found->d_name, ".") == 0 || strcmp(found->d_name, "..") == 0 ||
            (depth == 0 && strcmp(found->d_name, walk->left_out) == 0))
            continue;
        path = depth == 0 ? strdup(found->d_name) : lot_folder_join(folder, found->d_name);
        status = path != NULL ? visit(walk, path, depth) : no_memory(walk->error);
        free(path);
    }
    return status;
}

/* Adds what is below `folder`, which is relative to the top and "." for it. */
static lot_status walk_folder(const folder_walk *walk, const char *folder, int depth)
{
    DIR *open_folder = NULL;
    lot_status status;
    int file;

    if (depth > DEPTH_MAX)
        return lot_error_set(walk->error, LOT_INPUT, "manifest", 0, "%.200s: more than %d folders deep",
                             folder, DEPTH_MAX);
    file = openat(walk->top, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (file >= 0)
        open_folder = fdopendir(file);
    if (open_folder == NULL) {
        status = lot_error_errno(walk->error, LOT_IO, "opendir", errno, "%s", folder);
        if (file >= 0)
            (void)close(file);
        return status;
    }
    status = visit_all(walk, folder, open_folder, depth);
    (void)closedir(open_folder);
    return status;
}

lot_status lot_folder_list_read(int top, const char *left_out, lot_folder_list *list, lot_error *error)
{
    const folder_walk walk = {.top = top, .left_out = left_out, .list = list, .error = error};
    const lot_status status = walk_folder(&walk, ".", 0);

    lot_folder_list_sort(list);
    return status;
}

lot_status lot_folder_fingerprint(int top, lot_folder_entry *entry, lot_error *error)
{
    /* A pipe that has taken the file's place is not waited for. */
    const int file = openat(top, entry->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    lot_status status;

    if (file < 0)
        return lot_error_errno(error, LOT_IO, "open", errno, "%s", entry->path);
    status = lot_sha256_file(file, entry->path, entry->sha256, &entry->size, error);
    (void)close(file);
    return status;
}
