/* How GPUs and their hosts are set up: what must be equal among GPUs of one model, and what is told where it
 * changes. */
#ifndef GPULOT_ANALYSIS_SETUP_H
#define GPULOT_ANALYSIS_SETUP_H

#include <stddef.h>

#include "core/record.h"

typedef struct lot_setup_subject {
    const char *name;
    lot_kind kind;
    size_t offset; /* in lot_record_head */
    const char *unit;
} lot_setup_subject;

#define LOT_SETUP_VALUE_SIZE 96

/* All subjects; *count of them. */
const lot_setup_subject *lot_setup_subjects(size_t *count);

/* The value as text, "" where it is not known. */
void lot_setup_print(const lot_setup_subject *subject, const lot_record_head *head,
                     char text[LOT_SETUP_VALUE_SIZE]);

#endif
