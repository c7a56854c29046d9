#include "core/utf8.h"

#include <string.h>

size_t lot_utf8_character(const char *text, size_t left)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t length;
    unsigned char least = 0x80;
    unsigned char most = 0xBF;

    if (left == 0)
        return 0;
    length = bytes[0] < 0x80 ? 1 : bytes[0] < 0xC2 ? 0 : bytes[0] < 0xE0 ? 2 : bytes[0] < 0xF0 ? 3 : 4;
    if (length == 0 || bytes[0] > 0xF4 || length > left)
        return 0;
    if (bytes[0] == 0xE0)
        least = 0xA0; /* shorter forms are not allowed */
    else if (bytes[0] == 0xF0)
        least = 0x90;
    else if (bytes[0] == 0xED)
        most = 0x9F; /* nor are surrogates */
    else if (bytes[0] == 0xF4)
        most = 0x8F; /* nor anything above U+10FFFF */
    for (size_t i = 1; i < length; i++) {
        if (bytes[i] < least || bytes[i] > most)
            return 0;
        least = 0x80;
        most = 0xBF;
    }
    return length;
}

bool lot_utf8_valid(const char *text)
{
    size_t left = strlen(text);

    while (left > 0) {
        const size_t length = lot_utf8_character(text, left);

        if (length == 0)
            return false;
        text += length;
        left -= length;
    }
    return true;
}
