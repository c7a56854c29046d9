/* What a check found, as text for the terminal. */
#ifndef GPULOT_CMD_CHECK_TEXT_H
#define GPULOT_CMD_CHECK_TEXT_H

#include <stdbool.h>

#include "core/error.h"
#include "core/verdict.h"

typedef struct lot_check_text_options {
    bool all;            /* list every GPU, however many there are */
    bool wide;           /* every column; else what fits into LOT_REPORT_WIDTH for names of usual length */
    const char *against; /* file of the earlier archive; NULL where there is none */
} lot_check_text_options;

/* Prints to stdout. LOT_MEMORY. */
lot_status lot_check_text_print(const lot_check_result *result, const lot_check_text_options *options,
                                lot_error *error);

#endif
