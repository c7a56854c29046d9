/* Host names, UUIDs, serials and PCI addresses as short digests, for publishing a record.
 *
 * The same name gives the same digest in every export, so that machines can still be told apart and compared.
 * A digest of a guessable name can be guessed: these are pseudonyms, not secrets. */
#ifndef GPULOT_IO_ANONYMISE_H
#define GPULOT_IO_ANONYMISE_H

#include <stddef.h>

#include "core/record.h"

typedef struct lot_aliases lot_aliases;

/* Takes the names of all ranks of a run: any of them may stand in any rank's texts. */
lot_status lot_aliases_collect(const lot_record_head *devices, size_t count, lot_aliases **aliases,
                               lot_error *error);
void lot_aliases_free(lot_aliases *aliases);

/* Replaces them in every text of a head or of a whole record where one can stand: in identity, device and
 * error texts, variables and configuration. A UUID or PCI address is found by its form too, whoever it
 * belongs to. */
lot_status lot_anonymise_head(const lot_aliases *aliases, lot_record_head *head, lot_error *error);
lot_status lot_anonymise_record(const lot_aliases *aliases, lot_record *record, lot_error *error);

/* Replaces them in one text of a fixed size; one that becomes too long is cut. */
lot_status lot_anonymise_text(const lot_aliases *aliases, char *text, size_t size, lot_error *error);

#endif
