#include "core/utf8.h"

#include <stdint.h>
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

bool lot_utf8_valid(const char *text, size_t size)
{
    const uint64_t high = UINT64_C(0x8080808080808080);
    size_t at = 0;

    while (at < size) {
        uint64_t word = high;
        size_t length;

        if (size - at >= sizeof word)
            memcpy(&word, text + at, sizeof word);
        length = (word & high) == 0 ? sizeof word : lot_utf8_character(text + at, size - at);
        if (length == 0)
            return false;
        at += length;
    }
    return true;
}

bool lot_utf8_control(const char *character, size_t size)
{
    const unsigned char *bytes = (const unsigned char *)character;

    return size == 1 ? bytes[0] < 0x20 || bytes[0] == 0x7F : size == 2 && bytes[0] == 0xC2 && bytes[1] < 0xA0;
}

/* General categories Cf (format), Zl and Zp of Unicode 16, DerivedGeneralCategory.txt. */
static const struct {
    uint32_t first, last;
} unseen[] = {
    {0xAD, 0xAD},       {0x600, 0x605},     {0x61C, 0x61C},     {0x6DD, 0x6DD},     {0x70F, 0x70F},
    {0x890, 0x891},     {0x8E2, 0x8E2},     {0x180E, 0x180E},   {0x200B, 0x200F},   {0x2028, 0x202E},
    {0x2060, 0x2064},   {0x2066, 0x206F},   {0xFEFF, 0xFEFF},   {0xFFF9, 0xFFFB},   {0x110BD, 0x110BD},
    {0x110CD, 0x110CD}, {0x13430, 0x1343F}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0001, 0xE0001},
    {0xE0020, 0xE007F},
};

static uint32_t code_point(const char *character, size_t size)
{
    const unsigned char *bytes = (const unsigned char *)character;
    uint32_t code = size == 1 ? bytes[0] : bytes[0] & (0xFFu >> (size + 1));

    for (size_t i = 1; i < size; i++)
        code = code << 6 | (bytes[i] & 0x3Fu);
    return code;
}

bool lot_utf8_unseen(const char *character, size_t size)
{
    uint32_t code;

    if (size == 1 || lot_utf8_control(character, size))
        return lot_utf8_control(character, size);
    code = code_point(character, size);
    for (size_t i = 0; i < sizeof unseen / sizeof unseen[0]; i++)
        if (code >= unseen[i].first && code <= unseen[i].last)
            return true;
    return false;
}

static void clean(char *text, bool (*unwanted)(const char *character, size_t size))
{
    for (char *at = text; *at != '\0';) {
        const size_t size = lot_utf8_character(at, strnlen(at, 4));

        if (size == 0 || unwanted(at, size))
            memset(at, '?', size == 0 ? 1 : size);
        at += size == 0 ? 1 : size;
    }
}

void lot_utf8_clean(char *text)
{
    clean(text, lot_utf8_unseen);
}

void lot_utf8_clean_controls(char *text)
{
    clean(text, lot_utf8_control);
}
