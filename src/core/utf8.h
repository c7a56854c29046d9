/* UTF-8. */
#ifndef GPULOT_CORE_UTF8_H
#define GPULOT_CORE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the character that begins at `text`, of which `left` bytes may be read; 0 where there is none
 * (table 3-7 of the Unicode standard). */
size_t lot_utf8_character(const char *text, size_t left);

/* True where the whole text is UTF-8. */
bool lot_utf8_valid(const char *text);

#endif
