/* A price, as text for the terminal. */
#ifndef GPULOT_CMD_PRICE_TEXT_H
#define GPULOT_CMD_PRICE_TEXT_H

#include "io/price_json.h"

/* Prints to stdout: the tariff, the lots and their price, the unit cost and the protocol where there are any,
 * and the notes. */
void lot_price_text_print(const lot_price_report *report);

#endif
