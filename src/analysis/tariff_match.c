#include "analysis/tariff_match.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define OFFERED    3
#define NAME_BYTES 96 /* compared of a name; a catalogue's names are shorter */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* ---- words ---- */

static bool word_character(char c)
{
    const char small = lower(c);

    return (small >= 'a' && small <= 'z') || (c >= '0' && c <= '9') || (unsigned char)c >= 0x80;
}

static bool same_word(const char *a, const char *b, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (lower(a[i]) != lower(b[i]))
            return false;
    return true;
}

/* Words that say who makes a device and nothing about which it is. */
static bool makers_word(const char *word, size_t length)
{
    static const char *const words[] = {"nvidia", "amd",      "corporation", "geforce",
                                        "tesla",  "instinct", "generation",  "gpu"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i]) == length && same_word(words[i], word, length))
            return true;
    return false;
}

/* The next word that tells something, from *at on, which moves behind it; its length is 0 at the end. */
static const char *next_word(const char **at, size_t *length)
{
    for (;;) {
        const char *word = *at;
        const char *end;

        while (*word != '\0' && !word_character(*word))
            word++;
        end = word;
        while (word_character(*end))
            end++;
        *at = end;
        *length = (size_t)(end - word);
        if (*length == 0 || !makers_word(word, *length))
            return word;
    }
}

bool lot_tariff_fits_device(const char *gpu, const char *device_name)
{
    size_t words = 0;

    for (;; words++) {
        size_t length;
        size_t other_length;
        const char *word = next_word(&gpu, &length);
        const char *other = next_word(&device_name, &other_length);

        if (length != other_length || !same_word(word, other, length))
            return false;
        if (length == 0)
            return words > 0;
    }
}

/* ---- nearness, for messages only ---- */

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Insertions, deletions and replacements that make one name of the other, case aside (Levenshtein). */
static unsigned distance(const char *a, const char *b)
{
    const size_t width = strnlen(b, NAME_BYTES);
    unsigned row[NAME_BYTES + 1];

    for (size_t j = 0; j <= width; j++)
        row[j] = (unsigned)j;
    for (size_t i = 0; i < NAME_BYTES && a[i] != '\0'; i++) {
        unsigned diagonal = row[0]++;

        for (size_t j = 0; j < width; j++) {
            const unsigned replaced = diagonal + (lower(a[i]) != lower(b[j]));

            diagonal = row[j + 1];
            row[j + 1] = least(replaced, least(row[j], diagonal) + 1);
        }
    }
    return row[width];
}

static bool begins_with(const char *text, const char *beginning)
{
    const size_t length = strlen(beginning);

    return length > 0 && strnlen(text, length) == length && same_word(text, beginning, length);
}

/* How far a model is from what was asked for: the same words are nearest, then a common beginning. */
static unsigned farness(const char *gpu, const char *asked)
{
    if (lot_tariff_fits_device(gpu, asked))
        return 0;
    if (begins_with(gpu, asked) || begins_with(asked, gpu))
        return 1;
    return 1 + distance(gpu, asked);
}

/* The models nearest to `asked`, as "'B200', 'H200', 'B300'". */
static void offer(const lot_catalogue *catalogue, const char *asked, char *text, size_t size)
{
    const lot_tariff *nearest[OFFERED] = {NULL};
    unsigned far[OFFERED] = {0};
    size_t used = 0;

    for (size_t i = 0; i < catalogue->tariff_count; i++) {
        const lot_tariff *candidate = &catalogue->tariffs[i];
        unsigned value = farness(candidate->gpu, asked);

        for (size_t place = 0; place < OFFERED && candidate != NULL; place++) {
            const lot_tariff *displaced = nearest[place];
            const unsigned displaced_far = far[place];

            if (displaced != NULL && displaced_far <= value)
                continue;
            nearest[place] = candidate;
            far[place] = value;
            candidate = displaced;
            value = displaced_far;
        }
    }
    text[0] = '\0';
    for (size_t place = 0; place < OFFERED && nearest[place] != NULL && used < size; place++)
        used +=
            (size_t)snprintf(text + used, size - used, "%s'%s'", place == 0 ? "" : ", ", nearest[place]->gpu);
}

/* ---- finding ---- */

lot_status lot_tariff_find(const lot_catalogue *catalogue, const char *gpu, const lot_tariff **tariff,
                           lot_error *error)
{
    char offered[OFFERED * (NAME_BYTES + 4)];

    for (size_t i = 0; i < catalogue->tariff_count; i++)
        if (strcmp(catalogue->tariffs[i].gpu, gpu) == 0) {
            *tariff = &catalogue->tariffs[i];
            return LOT_OK;
        }
    offer(catalogue, gpu, offered, sizeof offered);
    return lot_error_set(error, LOT_USAGE, "--gpu", 0, "--gpu: no tariff for '%.80s'; the nearest are %s",
                         gpu, offered);
}

lot_status lot_tariff_find_device(const lot_catalogue *catalogue, const char *device_name,
                                  const lot_tariff **tariff, lot_error *error)
{
    const lot_tariff *found = NULL;
    char offered[OFFERED * (NAME_BYTES + 4)];

    for (size_t i = 0; i < catalogue->tariff_count; i++) {
        const lot_tariff *candidate = &catalogue->tariffs[i];

        if (!lot_tariff_fits_device(candidate->gpu, device_name))
            continue;
        if (found != NULL)
            return lot_error_set(error, LOT_USAGE, "--gpu", 0,
                                 "the device '%.80s' fits two tariffs, '%s' and '%s'; say which with --gpu",
                                 device_name, found->gpu, candidate->gpu);
        found = candidate;
    }
    if (found != NULL) {
        *tariff = found;
        return LOT_OK;
    }
    offer(catalogue, device_name, offered, sizeof offered);
    return lot_error_set(
        error, LOT_USAGE, "--gpu", 0,
        "the device '%.80s' fits no tariff beyond doubt; say which with --gpu; the nearest are %s",
        device_name, offered);
}
