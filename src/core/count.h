/* A number with its noun, for texts that people read. */
#ifndef GPULOT_CORE_COUNT_H
#define GPULOT_CORE_COUNT_H

#include <stdint.h>

typedef struct lot_counted {
    char text[64];
} lot_counted;

/* "1 rank", "2 ranks", "0 passes": the noun (ASCII, in the singular) with the number's ending, which is "es"
 * after s, x and h, and "ies" for a y behind a consonant. Longer than the field it is cut. Meant to be
 * printed at once:
 *
 *     printf("%s left no record\n", lot_count(missing, "rank").text); */
lot_counted lot_count(int64_t number, const char *noun);

#endif
