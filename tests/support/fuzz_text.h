/* What fuzzers of texts share. */
#ifndef GPULOT_TESTS_FUZZ_TEXT_H
#define GPULOT_TESTS_FUZZ_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A copy of the bytes with a '\0' behind them; owned by the caller, NULL without memory. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    if (text == NULL)
        return NULL;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

#endif
