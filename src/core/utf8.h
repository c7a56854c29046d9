/* UTF-8. */
#ifndef GPULOT_CORE_UTF8_H
#define GPULOT_CORE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the character that begins at `text`, of which `left` bytes may be read; 0 where there is none
 * (table 3-7 of the Unicode standard). */
size_t lot_utf8_character(const char *text, size_t left);

/* True where all `size` bytes are UTF-8. Most texts are ASCII, eight bytes of which are passed over at once.
 */
bool lot_utf8_valid(const char *text, size_t size);

/* True where the character of `size` bytes is a control character: C0, DEL, or C1, U+0080 to U+009F. */
bool lot_utf8_control(const char *character, size_t size);

/* True where the character of `size` bytes is a control character or one that shows as nothing and may change
 * how others show: a format character such as the bidirectional controls and those of no width (category Cf),
 * and the separators of lines and paragraphs. */
bool lot_utf8_unseen(const char *character, size_t size);

/* Puts '?' for every byte of an unseen character and of what is not UTF-8, so that no text from a file can
 * tell a terminal what to do, or look like another. */
void lot_utf8_clean(char *text);

/* The same of control characters alone, for a file of lines that programs read. */
void lot_utf8_clean_controls(char *text);

#endif
