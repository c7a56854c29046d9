#include "io/manifest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/utf8.h"
#include "io/atomic_file.h"
#include "io/file_bytes.h"
#include "io/json_take.h"
#include "io/json_text.h"
#include "io/sha256.h"

#define DEPTH_MAX         64
#define MANIFEST_BYTE_MAX ((size_t)1 << 28)

/* One file, as found in a folder or as listed in a manifest. */
typedef struct entry {
    char *path;
    char *link;   /* target of a symbolic link, else NULL */
    bool special; /* neither a file nor a link: a pipe, a socket, a device */
    int64_t size;
    char sha256[LOT_SHA256_TEXT_SIZE]; /* "" where it was not computed, and for a link */
} entry;

typedef struct entry_list {
    entry *items;
    size_t count;
    size_t capacity;
} entry_list;

/* ---- lists ---- */

static void free_list(entry_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].path);
        free(list->items[i].link);
    }
    free(list->items);
    memset(list, 0, sizeof *list);
}

static lot_status no_memory(lot_error *error)
{
    return lot_error_set(error, LOT_MEMORY, "malloc", 0, "no memory for the list of files");
}

/* Appends an entry and takes `path`, which may be NULL where there was no memory for it; NULL without memory.
 */
static entry *append(entry_list *list, char *path)
{
    if (path != NULL && list->count == list->capacity) {
        const size_t capacity = list->capacity == 0 ? 64 : 2 * list->capacity;
        entry *grown = realloc(list->items, capacity * sizeof *grown);

        if (grown == NULL) {
            free(path);
            return NULL;
        }
        list->items = grown;
        list->capacity = capacity;
    }
    if (path == NULL)
        return NULL;
    memset(&list->items[list->count], 0, sizeof *list->items);
    list->items[list->count].path = path;
    return &list->items[list->count++];
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const entry *)a)->path, ((const entry *)b)->path);
}

static void sort(entry_list *list)
{
    if (list->count > 0)
        qsort(list->items, list->count, sizeof *list->items, by_path);
}

/* ---- what is in a folder ---- */

/* "folder/name", or "name" where the folder is the top. */
static char *join(const char *folder, const char *name)
{
    const size_t size = strlen(folder) + strlen(name) + 2;
    char *path = malloc(size);

    if (path != NULL)
        (void)snprintf(path, size, "%s%s%s", folder, folder[0] != '\0' ? "/" : "", name);
    return path;
}

static lot_status read_link(int top, entry *item, lot_error *error)
{
    char target[4096];
    const ssize_t length = readlinkat(top, item->path, target, sizeof target);

    if (length < 0)
        return lot_error_errno(error, LOT_IO, "readlink", errno, "%s", item->path);
    if ((size_t)length == sizeof target)
        return lot_error_set(error, LOT_INPUT, "readlink", 0, "%s: a link of more than 4095 bytes",
                             item->path);
    target[length] = '\0';
    item->link = strdup(target);
    return item->link != NULL ? LOT_OK : no_memory(error);
}

static lot_status walk(int top, const char *folder, int depth, entry_list *list, lot_error *error);

/* Adds what stands at `path`, which it takes; goes into folders. */
static lot_status visit(int top, char *path, int depth, entry_list *list, lot_error *error)
{
    struct stat facts;
    entry *item;
    lot_status status;

    if (fstatat(top, path, &facts, AT_SYMLINK_NOFOLLOW) != 0) {
        status = lot_error_errno(error, LOT_IO, "fstatat", errno, "%s", path);
    } else if (S_ISDIR(facts.st_mode)) {
        status = walk(top, path, depth + 1, list, error);
    } else {
        item = append(list, path);
        if (item == NULL)
            return no_memory(error);
        item->special = !S_ISREG(facts.st_mode) && !S_ISLNK(facts.st_mode);
        item->size = facts.st_size;
        return S_ISLNK(facts.st_mode) ? read_link(top, item, error) : LOT_OK;
    }
    free(path);
    return status;
}

static lot_status walk_open(int top, const char *folder, int depth, DIR *open_folder, entry_list *list,
                            lot_error *error)
{
    lot_status status = LOT_OK;

    while (status == LOT_OK) {
        const struct dirent *found;
        char *path;

        errno = 0;
        found = readdir(open_folder);
        if (found == NULL)
            return errno == 0 ? LOT_OK : lot_error_errno(error, LOT_IO, "readdir", errno, "%s", folder);
        if (strcmp(found->d_name, ".") == 0 || strcmp(found->d_name, "..") == 0)
            continue;
        if (folder[0] == '\0' && strcmp(found->d_name, LOT_MANIFEST_NAME) == 0)
            continue;
        path = join(folder, found->d_name);
        status = path != NULL ? visit(top, path, depth, list, error) : no_memory(error);
    }
    return status;
}

/* Adds all files, and what else is no folder, under `folder`, which is relative to `top` and "" for it. */
static lot_status walk(int top, const char *folder, int depth, entry_list *list, lot_error *error)
{
    DIR *open_folder = NULL;
    lot_status status;
    int file;

    if (depth > DEPTH_MAX)
        return lot_error_set(error, LOT_INPUT, "manifest", 0, "%.200s: more than %d folders deep", folder,
                             DEPTH_MAX);
    file = openat(top, folder[0] != '\0' ? folder : ".", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (file >= 0)
        open_folder = fdopendir(file);
    if (open_folder == NULL) {
        status = lot_error_errno(error, LOT_IO, "opendir", errno, "%s", folder);
        if (file >= 0)
            (void)close(file);
        return status;
    }
    status = walk_open(top, folder, depth, open_folder, list, error);
    (void)closedir(open_folder);
    return status;
}

static lot_status fingerprint(int top, entry *item, lot_error *error)
{
    const int file = openat(top, item->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    lot_status status;

    if (file < 0)
        return lot_error_errno(error, LOT_IO, "open", errno, "%s", item->path);
    status = lot_sha256_file(file, item->path, item->sha256, &item->size, error);
    (void)close(file);
    return status;
}

static lot_status open_top(const char *folder, int *top, lot_error *error)
{
    *top = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*top < 0)
        return lot_error_errno(error, LOT_INPUT, "open", errno, "%s", folder);
    return LOT_OK;
}

/* ---- writing ---- */

static void write_entry(lot_json_text *text, const entry *item)
{
    lot_json_open(text, '{');
    lot_json_key(text, "path");
    lot_json_string(text, item->path);
    if (item->link != NULL) {
        lot_json_key(text, "link_target");
        lot_json_string(text, item->link);
    } else {
        lot_json_key(text, "size_bytes");
        lot_json_integer(text, item->size);
        lot_json_key(text, "sha256");
        lot_json_string(text, item->sha256);
    }
    lot_json_close(text, '}');
}

static lot_status write_list(const void *context, FILE *out, lot_error *error)
{
    const entry_list *list = context;
    lot_json_text text = {0};
    bool failed = false;

    (void)fprintf(out, "{\"schema\": \"%s\", \"schema_version\": %d, \"files\": [\n", LOT_MANIFEST_SCHEMA,
                  LOT_MANIFEST_SCHEMA_VERSION);
    for (size_t i = 0; i < list->count && !failed; i++) {
        lot_json_reset(&text);
        write_entry(&text, &list->items[i]);
        failed = text.failed;
        if (!failed)
            (void)fprintf(out, "%s,\n", text.data);
    }
    /* No file can hold its own fingerprint. */
    (void)fprintf(out, "{\"path\":\"%s\",\"size_bytes\":null,\"sha256\":null}\n]}\n", LOT_MANIFEST_NAME);
    lot_json_free(&text);
    return failed ? no_memory(error) : LOT_OK;
}

static lot_status fingerprint_all(int top, entry_list *list, lot_manifest_summary *summary, lot_error *error)
{
    lot_status status = LOT_OK;

    for (size_t i = 0; i < list->count && status == LOT_OK; i++) {
        entry *item = &list->items[i];

        if (!lot_utf8_valid(item->path, strlen(item->path)) ||
            (item->link != NULL && !lot_utf8_valid(item->link, strlen(item->link))))
            status = lot_error_set(error, LOT_INPUT, "manifest", 0, "%s: the name is not UTF-8", item->path);
        else if (item->special)
            status = lot_error_set(error, LOT_INPUT, "manifest", 0, "%s: neither a file, a link nor a folder",
                                   item->path);
        else if (item->link == NULL)
            status = fingerprint(top, item, error);
        summary->files++;
        summary->bytes += item->link == NULL ? item->size : 0;
    }
    return status;
}

static lot_status read_manifest_bytes(const char *path, char **bytes, size_t *size,
                                      lot_manifest_summary *summary, lot_error *error)
{
    struct stat facts;
    lot_status status;

    /* A pipe would be waited for without a limit. */
    if (stat(path, &facts) == 0 && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode))
        return lot_error_set(error, LOT_INPUT, "manifest", 0, "%s is not a file", path);
    status = lot_file_read(path, MANIFEST_BYTE_MAX, bytes, size, error);
    return status == LOT_OK ? lot_sha256_bytes(*bytes, *size, summary->sha256, error) : status;
}

lot_status lot_manifest_create(const char *folder, lot_manifest_summary *summary, lot_error *error)
{
    lot_manifest_summary made = {0};
    entry_list list = {0};
    char *path = join(folder, LOT_MANIFEST_NAME);
    char *bytes = NULL;
    size_t size = 0;
    int top = -1;
    lot_status status = path != NULL ? open_top(folder, &top, error) : no_memory(error);

    if (status == LOT_OK)
        status = lot_atomic_check(path, error); /* before everything is read */
    if (status == LOT_OK)
        status = walk(top, "", 0, &list, error);
    if (status == LOT_OK) {
        sort(&list);
        status = fingerprint_all(top, &list, &made, error);
    }
    if (status == LOT_OK)
        status = lot_atomic_write(path, write_list, &list, error);
    if (status == LOT_OK)
        status = read_manifest_bytes(path, &bytes, &size, &made, error);
    if (status == LOT_OK)
        *summary = made;
    free(bytes);
    free_list(&list);
    if (top >= 0)
        (void)close(top);
    free(path);
    return status;
}

/* ---- reading ---- */

/* A path that stays inside the folder and is written in one way only. */
static bool plain_path(const char *path)
{
    for (;;) {
        const size_t length = strcspn(path, "/");

        if (length == 0 || (length == 1 && path[0] == '.') ||
            (length == 2 && path[0] == '.' && path[1] == '.'))
            return false;
        if (path[length] == '\0')
            return true;
        path += length + 1;
    }
}

static bool is_digest(const char *text)
{
    return strlen(text) == LOT_SHA256_TEXT_SIZE - 1 && text[strspn(text, "0123456789abcdef")] == '\0';
}

static lot_status damaged(lot_error *error, const char *path, const char *what)
{
    return lot_error_set(error, LOT_DAMAGED, "manifest", 0, "the manifest is damaged: %s%s%s", what,
                         path != NULL ? ": " : "", path != NULL ? path : "");
}

/* Takes one listed file; *self is set where it is the manifest. */
static lot_status take_entry(const cJSON *object, entry_list *list, bool *self, lot_error *error)
{
    const cJSON *path = cJSON_GetObjectItemCaseSensitive(object, "path");
    const cJSON *digest = cJSON_GetObjectItemCaseSensitive(object, "sha256");
    const cJSON *link = cJSON_GetObjectItemCaseSensitive(object, "link_target");
    entry *item;

    if (!cJSON_IsString(path) || !plain_path(path->valuestring))
        return damaged(error, cJSON_IsString(path) ? path->valuestring : NULL,
                       "an entry without a plain path");
    if (strcmp(path->valuestring, LOT_MANIFEST_NAME) == 0) {
        if (*self || !cJSON_IsNull(digest))
            return damaged(error, path->valuestring, "it must list itself once, without a fingerprint");
        *self = true;
        return LOT_OK;
    }
    item = append(list, strdup(path->valuestring));
    if (item == NULL)
        return no_memory(error);
    if (cJSON_IsString(link)) {
        item->link = strdup(link->valuestring);
        return item->link != NULL ? LOT_OK : no_memory(error);
    }
    if (!cJSON_IsString(digest) || !is_digest(digest->valuestring) ||
        !lot_json_take_integer(object, "size_bytes", &item->size))
        return damaged(error, item->path, "an entry without size or SHA-256");
    memcpy(item->sha256, digest->valuestring, sizeof item->sha256);
    return LOT_OK;
}

static lot_status take_list(const cJSON *root, entry_list *list, lot_error *error)
{
    const cJSON *schema = cJSON_GetObjectItemCaseSensitive(root, "schema");
    const cJSON *files = cJSON_GetObjectItemCaseSensitive(root, "files");
    const cJSON *file;
    int64_t version = 0;
    bool self = false;
    lot_status status = LOT_OK;

    if (!cJSON_IsString(schema) || strcmp(schema->valuestring, LOT_MANIFEST_SCHEMA) != 0 ||
        !lot_json_take_integer(root, "schema_version", &version) || version != LOT_MANIFEST_SCHEMA_VERSION)
        return lot_error_set(error, LOT_SCHEMA, "schema", 0, "%s is not %s version %d", LOT_MANIFEST_NAME,
                             LOT_MANIFEST_SCHEMA, LOT_MANIFEST_SCHEMA_VERSION);
    if (!cJSON_IsArray(files))
        return damaged(error, NULL, "there is no list of files");
    for (file = files->child; file != NULL && status == LOT_OK; file = file->next)
        status = take_entry(file, list, &self, error);
    if (status != LOT_OK)
        return status;
    if (!self)
        return damaged(error, NULL, "it does not list itself");
    sort(list);
    for (size_t i = 1; i < list->count; i++)
        if (strcmp(list->items[i - 1].path, list->items[i].path) == 0)
            return damaged(error, list->items[i].path, "a file is listed twice");
    return LOT_OK;
}

static lot_status read_list(const char *folder, entry_list *list, lot_manifest_summary *summary,
                            lot_error *error)
{
    char *path = join(folder, LOT_MANIFEST_NAME);
    char *bytes = NULL;
    size_t size = 0;
    cJSON *root = NULL;
    lot_status status =
        path != NULL ? read_manifest_bytes(path, &bytes, &size, summary, error) : no_memory(error);

    if (status == LOT_OK) {
        root = lot_json_take_whole(bytes, size);
        status = cJSON_IsObject(root)
                     ? take_list(root, list, error)
                     : damaged(error, NULL, "it is not one JSON object, or a name in it stands twice");
    }
    cJSON_Delete(root);
    free(bytes);
    free(path);
    return status;
}

/* ---- comparing ---- */

typedef struct comparison {
    int top;
    const lot_manifest_listener *listener;
    lot_manifest_summary summary;
    lot_error *error;
} comparison;

static void tell(comparison *work, const char *finding, const char *path, const char *detail)
{
    work->summary.findings++;
    work->listener->find(work->listener->context, finding, path, detail);
}

/* A file that is listed and there. */
static lot_status compare_one(comparison *work, const entry *listed, entry *found)
{
    char detail[96] = "";
    lot_status status;

    if (found->special) {
        tell(work, "changed", listed->path, "neither a file nor a link any more");
        return LOT_OK;
    }
    if ((listed->link == NULL) != (found->link == NULL)) {
        tell(work, "changed", listed->path, found->link != NULL ? "a link now" : "no link any more");
        return LOT_OK;
    }
    if (listed->link != NULL) {
        if (strcmp(listed->link, found->link) != 0)
            tell(work, "changed", listed->path, "the link leads elsewhere");
        return LOT_OK;
    }
    if (listed->size != found->size) {
        (void)snprintf(detail, sizeof detail, "%" PRId64 " bytes, were %" PRId64, found->size, listed->size);
        tell(work, "changed", listed->path, detail);
        return LOT_OK;
    }
    status = fingerprint(work->top, found, work->error);
    if (status == LOT_OK && strcmp(listed->sha256, found->sha256) != 0)
        tell(work, "changed", listed->path, "another SHA-256");
    return status;
}

static lot_status compare(comparison *work, const entry_list *listed, entry_list *found)
{
    lot_status status = LOT_OK;
    size_t i = 0;
    size_t j = 0;

    while (status == LOT_OK && (i < listed->count || j < found->count)) {
        const int order = i == listed->count  ? 1
                          : j == found->count ? -1
                                              : strcmp(listed->items[i].path, found->items[j].path);

        if (order < 0)
            tell(work, "missing", listed->items[i].path, "");
        else if (order > 0)
            tell(work, "extra", found->items[j].path,
                 found->items[j].special ? "neither a file nor a link" : "");
        else
            status = compare_one(work, &listed->items[i], &found->items[j]);
        if (order <= 0) {
            work->summary.files++;
            work->summary.bytes += listed->items[i].size;
            i++;
        }
        if (order >= 0)
            j++;
    }
    return status;
}

lot_status lot_manifest_verify(const char *folder, const lot_manifest_listener *listener,
                               lot_manifest_summary *summary, lot_error *error)
{
    comparison work = {.top = -1, .listener = listener, .error = error};
    entry_list listed = {0};
    entry_list found = {0};
    lot_status status = open_top(folder, &work.top, error);

    if (status == LOT_OK)
        status = read_list(folder, &listed, &work.summary, error);
    if (status == LOT_OK)
        status = walk(work.top, "", 0, &found, error);
    if (status == LOT_OK) {
        sort(&found);
        status = compare(&work, &listed, &found);
    }
    if (status == LOT_OK) {
        *summary = work.summary;
        status = work.summary.findings == 0 ? LOT_OK : LOT_FLAGGED;
    }
    free_list(&listed);
    free_list(&found);
    if (work.top >= 0)
        (void)close(work.top);
    return status;
}
