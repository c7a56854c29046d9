#include "io/manifest.h"

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
#include "io/folder_list.h"
#include "io/json_take.h"
#include "io/json_text.h"
#include "io/sha256.h"

#define MANIFEST_BYTE_MAX ((size_t)1 << 28)

static lot_status no_memory(lot_error *error)
{
    return lot_error_set(error, LOT_MEMORY, "malloc", 0, "no memory for the list of files");
}

static lot_status open_top(const char *folder, int *top, lot_error *error)
{
    *top = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*top < 0)
        return lot_error_errno(error, LOT_INPUT, "open", errno, "%s", folder);
    return LOT_OK;
}

/* ---- writing ---- */

static void write_entry(lot_json_text *text, const lot_folder_entry *item)
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
    const lot_folder_list *list = context;
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

static lot_status fingerprint_all(int top, lot_folder_list *list, lot_manifest_summary *summary,
                                  lot_error *error)
{
    lot_status status = LOT_OK;

    for (size_t i = 0; i < list->count && status == LOT_OK; i++) {
        lot_folder_entry *item = &list->items[i];

        if (!lot_utf8_valid(item->path, strlen(item->path)) ||
            (item->link != NULL && !lot_utf8_valid(item->link, strlen(item->link))))
            status = lot_error_set(error, LOT_INPUT, "manifest", 0, "%s: the name is not UTF-8", item->path);
        else if (item->special)
            status = lot_error_set(error, LOT_INPUT, "manifest", 0, "%s: neither a file, a link nor a folder",
                                   item->path);
        else if (item->link == NULL)
            status = lot_folder_fingerprint(top, item, error);
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
    lot_folder_list list = {0};
    char *path = lot_folder_join(folder, LOT_MANIFEST_NAME);
    char *bytes = NULL;
    size_t size = 0;
    int top = -1;
    lot_status status = path != NULL ? open_top(folder, &top, error) : no_memory(error);

    if (status == LOT_OK)
        status = lot_atomic_check(path, error); /* before everything is read */
    if (status == LOT_OK)
        status = lot_folder_list_read(top, LOT_MANIFEST_NAME, &list, error);
    if (status == LOT_OK)
        status = fingerprint_all(top, &list, &made, error);
    if (status == LOT_OK)
        status = lot_atomic_write(path, write_list, &list, error);
    if (status == LOT_OK)
        status = read_manifest_bytes(path, &bytes, &size, &made, error);
    if (status == LOT_OK)
        *summary = made;
    free(bytes);
    lot_folder_list_free(&list);
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
static lot_status take_entry(const cJSON *object, lot_folder_list *list, bool *self, lot_error *error)
{
    const cJSON *path = cJSON_GetObjectItemCaseSensitive(object, "path");
    const cJSON *digest = cJSON_GetObjectItemCaseSensitive(object, "sha256");
    const cJSON *link = cJSON_GetObjectItemCaseSensitive(object, "link_target");
    lot_folder_entry *item;

    if (!cJSON_IsString(path) || !plain_path(path->valuestring))
        return damaged(error, cJSON_IsString(path) ? path->valuestring : NULL,
                       "an entry without a plain path");
    if (strcmp(path->valuestring, LOT_MANIFEST_NAME) == 0) {
        if (*self || !cJSON_IsNull(digest))
            return damaged(error, path->valuestring, "it must list itself once, without a fingerprint");
        *self = true;
        return LOT_OK;
    }
    item = lot_folder_list_add(list, path->valuestring);
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

static lot_status take_list(const cJSON *root, lot_folder_list *list, lot_error *error)
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
    lot_folder_list_sort(list);
    for (size_t i = 1; i < list->count; i++)
        if (strcmp(list->items[i - 1].path, list->items[i].path) == 0)
            return damaged(error, list->items[i].path, "a file is listed twice");
    return LOT_OK;
}

static lot_status read_list(const char *folder, lot_folder_list *list, lot_manifest_summary *summary,
                            lot_error *error)
{
    char *path = lot_folder_join(folder, LOT_MANIFEST_NAME);
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
static lot_status compare_one(comparison *work, const lot_folder_entry *listed, lot_folder_entry *found)
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
    status = lot_folder_fingerprint(work->top, found, work->error);
    if (status == LOT_OK && strcmp(listed->sha256, found->sha256) != 0)
        tell(work, "changed", listed->path, "another SHA-256");
    return status;
}

static lot_status compare(comparison *work, const lot_folder_list *listed, lot_folder_list *found)
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
    lot_folder_list listed = {0};
    lot_folder_list found = {0};
    lot_status status = open_top(folder, &work.top, error);

    if (status == LOT_OK)
        status = read_list(folder, &listed, &work.summary, error);
    if (status == LOT_OK)
        status = lot_folder_list_read(work.top, LOT_MANIFEST_NAME, &found, error);
    if (status == LOT_OK)
        status = compare(&work, &listed, &found);
    if (status == LOT_OK) {
        *summary = work.summary;
        status = work.summary.findings == 0 ? LOT_OK : LOT_FLAGGED;
    }
    lot_folder_list_free(&listed);
    lot_folder_list_free(&found);
    if (work.top >= 0)
        (void)close(work.top);
    return status;
}
