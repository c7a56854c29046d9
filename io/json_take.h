/* Reading of small JSON documents: a whole text, a whole number. */
#ifndef GPULOT_IO_JSON_TAKE_H
#define GPULOT_IO_JSON_TAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

/* The text's JSON, as strict as io/json_read.h; NULL where it is none, something follows it or a name stands
 * twice in an object; freed with cJSON_Delete. */
cJSON *lot_json_take_whole(const char *bytes, size_t size);

/* Takes a member that is a whole number from 0 on, as lot_json_integer writes it: above 2^53 its digits stand
 * in a string. Returns false and leaves *value alone where there is no such member. */
bool lot_json_take_integer(const cJSON *object, const char *name, int64_t *value);

#endif
