/* Which tariff of a catalogue is meant. Nothing is ever chosen because it is near. */
#ifndef GPULOT_ANALYSIS_TARIFF_MATCH_H
#define GPULOT_ANALYSIS_TARIFF_MATCH_H

#include <stdbool.h>

#include "core/error.h"
#include "core/tariff.h"

/* The tariff whose model is exactly `gpu`. LOT_USAGE names the nearest models where there is none. *tariff
 * belongs to the catalogue. */
lot_status lot_tariff_find(const lot_catalogue *catalogue, const char *gpu, const lot_tariff **tariff,
                           lot_error *error);

/* True where a model of a catalogue and a device's own name are the same words in the same order; case,
 * punctuation and makers' words ("NVIDIA", "GeForce", "Generation" ...) aside: "RTX-6000-ADA" and "NVIDIA RTX
 * 6000 Ada Generation". */
bool lot_tariff_fits_device(const char *gpu, const char *device_name);

/* The one tariff that fits a device's own name. LOT_USAGE where none or several do, and then --gpu must tell.
 */
lot_status lot_tariff_find_device(const lot_catalogue *catalogue, const char *device_name,
                                  const lot_tariff **tariff, lot_error *error);

#endif
