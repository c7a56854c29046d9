#include "core/nearest.h"

#include <stdio.h>
#include <string.h>

#define LETTERS_MAX 32 /* longer than every name; a longer word is compared by its beginning */
#define EDITS_MAX   2
#define BEGIN_LEAST 3

typedef struct word {
    const char *text;
    size_t length;
} word;

static word without_dashes(const char *text, size_t length)
{
    word bare = {text, length};

    while (bare.length > 0 && bare.text[0] == '-') {
        bare.text++;
        bare.length--;
    }
    return bare;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edits between two words of LETTERS_MAX letters at most, row by row. */
static size_t edits(word a, word b)
{
    size_t rows[3][LETTERS_MAX + 1]; /* the row being filled, the one before it and the one before that */

    for (size_t j = 0; j <= b.length; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a.length; i++) {
        size_t *row = rows[i % 3];
        const size_t *before = rows[(i + 2) % 3], *earlier = rows[(i + 1) % 3];

        row[0] = i;
        for (size_t j = 1; j <= b.length; j++) {
            row[j] = least(least(row[j - 1], before[j]) + 1,
                           before[j - 1] + (a.text[i - 1] != b.text[j - 1] ? 1 : 0));
            if (i > 1 && j > 1 && a.text[i - 1] == b.text[j - 2] && a.text[i - 2] == b.text[j - 1])
                row[j] = least(row[j], earlier[j - 2] + 1);
        }
    }
    return rows[a.length % 3][b.length];
}

void lot_nearest_offer(lot_nearest *nearest, const char *name)
{
    const word typed = without_dashes(nearest->typed, least(nearest->length, LETTERS_MAX));
    const word known = without_dashes(name, least(strlen(name), LETTERS_MAX));
    const size_t shared = least(typed.length, known.length);
    size_t distance = edits(typed, known);

    if (distance > EDITS_MAX || 2 * distance >= typed.length) {
        if (shared < BEGIN_LEAST || memcmp(typed.text, known.text, shared) != 0)
            return;
        distance = EDITS_MAX + 1;
    }
    if (nearest->name == NULL || distance < nearest->distance) {
        nearest->name = name;
        nearest->distance = distance;
    }
}

const char *lot_nearest_hint(const lot_nearest *nearest, char *text, size_t size)
{
    text[0] = '\0';
    if (nearest->name != NULL)
        (void)snprintf(text, size, " (did you mean %s?)", nearest->name);
    return text;
}
