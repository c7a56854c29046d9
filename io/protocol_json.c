#include "io/protocol_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "core/date.h"
#include "io/file_bytes.h"
#include "io/json_take.h"
#include "io/sha256.h"

#define FILE_BYTES_MAX ((size_t)1 << 20)

/* Takes one member, or adds its name to the list of those that are not filled in. */
static lot_status take(const cJSON *root, const char *name, char **value, char *missing, size_t size,
                       lot_error *error)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(root, name);
    const size_t used = strlen(missing);

    if (!cJSON_IsString(member) || member->valuestring[strspn(member->valuestring, " \t\r\n")] == '\0') {
        (void)snprintf(missing + used, size - used, "%s%s", used == 0 ? "" : ", ", name);
        return LOT_OK;
    }
    *value = strdup(member->valuestring);
    if (*value == NULL)
        return lot_error_set(error, LOT_MEMORY, "strdup", 0, "no memory for the quality protocol");
    return LOT_OK;
}

static lot_status check_schema(const char *name, const cJSON *root, lot_error *error)
{
    const cJSON *schema = cJSON_GetObjectItemCaseSensitive(root, "schema");
    const cJSON *version = cJSON_GetObjectItemCaseSensitive(root, "schema_version");

    if (!cJSON_IsString(schema) || strcmp(schema->valuestring, LOT_PROTOCOL_SCHEMA) != 0)
        return lot_error_set(error, LOT_SCHEMA, "schema", 0, "%s: \"schema\" is not \"%s\"", name,
                             LOT_PROTOCOL_SCHEMA);
    if (!cJSON_IsNumber(version) || version->valueint != LOT_PROTOCOL_SCHEMA_VERSION)
        return lot_error_set(error, LOT_SCHEMA, "schema_version", 0, "%s: \"schema_version\" is not %d", name,
                             LOT_PROTOCOL_SCHEMA_VERSION);
    return LOT_OK;
}

static lot_status take_all(const char *name, const cJSON *root, lot_protocol *protocol, lot_error *error)
{
    char missing[256] = "";
    lot_status status = check_schema(name, root, error);

#define TAKE(member)                                                                                         \
    if (status == LOT_OK)                                                                                    \
        status = take(root, #member, &protocol->member, missing, sizeof missing, error);
    LOT_PROTOCOL_LIST(TAKE)
#undef TAKE
    if (status == LOT_OK && missing[0] != '\0')
        status = lot_error_set(error, LOT_INPUT, "protocol", 0, "%s: not filled in: %s", name, missing);
    if (status == LOT_OK && !lot_date_valid(protocol->fixed_on) && !lot_date_time_valid(protocol->fixed_on))
        status = lot_error_set(error, LOT_INPUT, "fixed_on", 0,
                               "%s: fixed_on '%.40s' is neither YYYY-MM-DD nor YYYY-MM-DDThh:mm:ssZ", name,
                               protocol->fixed_on);
    return status;
}

lot_status lot_protocol_parse(const char *name, const char *bytes, size_t size, lot_protocol *protocol,
                              lot_error *error)
{
    lot_protocol parsed;
    cJSON *root = NULL;
    lot_status status;

    memset(&parsed, 0, sizeof parsed);
    status = lot_sha256_bytes(bytes, size, parsed.sha256, error);
    if (status == LOT_OK) {
        root = lot_json_take_whole(bytes, size);
        if (!cJSON_IsObject(root))
            status = lot_error_set(error, LOT_INPUT, "protocol", 0,
                                   "%s: not one JSON object, or a name in it stands twice", name);
    }
    if (status == LOT_OK)
        status = take_all(name, root, &parsed, error);
    cJSON_Delete(root);
    if (status == LOT_OK)
        *protocol = parsed;
    else
        lot_protocol_free(&parsed);
    return status;
}

lot_status lot_protocol_read(const char *path, lot_protocol *protocol, lot_error *error)
{
    char *bytes = NULL;
    size_t size = 0;
    lot_status status = lot_file_read(path, FILE_BYTES_MAX, &bytes, &size, error);

    if (status == LOT_OK)
        status = lot_protocol_parse(path, bytes, size, protocol, error);
    free(bytes);
    return status;
}

lot_status lot_protocol_check_before(const lot_protocol *protocol, const char *run_utc, lot_error *error)
{
    const size_t compared = lot_date_valid(protocol->fixed_on) ? 10 : 19; /* a day, or down to the second */

    if (!lot_date_time_valid(run_utc))
        return lot_error_set(error, LOT_INPUT, "--protocol", 0,
                             "--protocol: the archive does not tell when the run began");
    if (strncmp(protocol->fixed_on, run_utc, compared) < 0)
        return LOT_OK;
    return lot_error_set(error, LOT_INPUT, "--protocol", 0,
                         "--protocol: fixed on %s, which is not before the run of %s", protocol->fixed_on,
                         run_utc);
}

void lot_protocol_free(lot_protocol *protocol)
{
#define FREE(member) free(protocol->member);
    LOT_PROTOCOL_LIST(FREE)
#undef FREE
    memset(protocol, 0, sizeof *protocol);
}
