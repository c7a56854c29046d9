/* A catalogue and its faults as JSON, written as they come: a catalogue may have a million faults. */
#ifndef GPULOT_IO_TARIFFS_JSON_H
#define GPULOT_IO_TARIFFS_JSON_H

#include <stdint.h>
#include <stdio.h>

#include "core/tariff.h"

/* Writes fault number `index`, from 0; the first one opens the object. */
void lot_tariffs_json_fault(FILE *out, int64_t index, int64_t line, const char *text);

/* Ends the object after `faults` such calls, or writes all of it where there was none. `catalogue` is NULL
 * where it has faults. */
void lot_tariffs_json_verdict(FILE *out, const char *file, int64_t faults, const lot_catalogue *catalogue);

/* Writes the catalogue: its origin and one object a model. */
void lot_tariffs_json_list(FILE *out, const char *file, const lot_catalogue *catalogue);

#endif
