/* A catalogue and its faults as JSON, written as they come: a catalogue may have a million faults. All
 * functions add to `text` and hand it on to standard output; LOT_MEMORY. */
#ifndef GPULOT_IO_TARIFFS_JSON_H
#define GPULOT_IO_TARIFFS_JSON_H

#include "core/tariff.h"
#include "io/json_text.h"

/* Begins the answer of a check. */
void lot_tariffs_json_begin(lot_json_text *text);

/* Writes one fault. */
lot_status lot_tariffs_json_fault(lot_json_text *text, int64_t line, const char *fault, lot_error *error);

/* Ends the answer and frees the text. `catalogue` is NULL where it has faults. */
lot_status lot_tariffs_json_end(lot_json_text *text, const char *file, const lot_catalogue *catalogue,
                                lot_error *error);

/* Writes the catalogue: its origin and one object a model. */
lot_status lot_tariffs_json_list(const char *file, const lot_catalogue *catalogue, lot_error *error);

#endif
