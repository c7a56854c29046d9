/* Any bytes as JSON: what is taken is JSON for cJSON too, with the same names, texts and numbers in the same
 * order. cJSON takes more than is JSON, so that nothing follows from what is refused. */
#include <cjson/cJSON.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "io/json_read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
    if (!holds)
        abort();
}

static int same_text(const lot_json_piece *piece, const char *text)
{
    return strlen(text) == piece->size && memcmp(text, piece->text, piece->size) == 0;
}

/* Reads one value, which must be the one of the tree. */
static void compare(lot_json_reader *in, const cJSON *tree)
{
    const lot_json_kind kind = lot_json_read_kind(in);
    const cJSON *item = tree->child;
    lot_json_piece piece;
    lot_json_figure figure;

    if (kind == LOT_JSON_OBJECT || kind == LOT_JSON_ARRAY) {
        must(kind == LOT_JSON_OBJECT ? cJSON_IsObject(tree) : cJSON_IsArray(tree));
        must(lot_json_read_enter(in, kind == LOT_JSON_OBJECT ? '{' : '['));
        for (; kind == LOT_JSON_OBJECT ? lot_json_read_member(in, &piece) : lot_json_read_item(in);
             item = item->next) {
            must(item != NULL && (kind == LOT_JSON_ARRAY || same_text(&piece, item->string)));
            compare(in, item);
        }
        must(item == NULL);
    } else if (kind == LOT_JSON_STRING) {
        must(lot_json_read_string(in, &piece) && cJSON_IsString(tree) &&
             same_text(&piece, tree->valuestring));
    } else if (kind == LOT_JSON_NUMBER) {
        must(lot_json_read_number(in, &figure) && cJSON_IsNumber(tree));
        must(memcmp(&figure.value, &tree->valuedouble, sizeof figure.value) == 0);
    } else {
        must(kind == LOT_JSON_NULL ? cJSON_IsNull(tree)
                                   : cJSON_IsBool(tree) && (kind == LOT_JSON_TRUE) == cJSON_IsTrue(tree));
        must(lot_json_read_skip(in));
    }
}

/* cJSON takes no number of 64 characters or more. */
static int has_long_number(const uint8_t *data, size_t size)
{
    size_t run = 0;

    for (size_t i = 0; i < size; i++) {
        run = data[i] != 0 && strchr("+-.0123456789eE", data[i]) != NULL ? run + 1 : 0;
        if (run >= 60)
            return 1;
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lot_json_reader in;
    cJSON *tree;
    int taken;

    taken = lot_json_read_begin(&in, (const char *)data, size) && lot_json_read_skip(&in);
    taken = lot_json_read_end(&in) && taken;
    must(taken != in.failed && in.at >= in.text && in.at <= in.end);
    lot_json_read_free(&in);
    if (!taken || has_long_number(data, size))
        return 0;
    tree = cJSON_ParseWithLength((const char *)data, size);
    must(tree != NULL && lot_json_read_begin(&in, (const char *)data, size));
    compare(&in, tree);
    must(lot_json_read_end(&in));
    lot_json_read_free(&in);
    cJSON_Delete(tree);
    return 0;
}
