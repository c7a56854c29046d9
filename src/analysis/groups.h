/* Which GPUs may be compared: only equals. */
#ifndef GPULOT_ANALYSIS_GROUPS_H
#define GPULOT_ANALYSIS_GROUPS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/record.h"

/* Below, equal or above 0. Equal are devices of one group: the same model, SM count, memory size, power
 * limit, kind, threads, dtype, shapes, math mode, GELU, seed, the values' definition, algorithms and
 * arithmetic, library and runtime versions. */
int lot_group_compare(const lot_record_head *a, const lot_record_head *b);

/* The same for the model of the device alone: name, SM count and memory size. */
int lot_model_compare(const lot_record_head *a, const lot_record_head *b);

/* What keeps the two from one group: `difference` becomes the first member that differs with its two values,
 * "generator 2 and 1", or empty. Returns how many members are equal before it. */
size_t lot_group_difference(const lot_record_head *a, const lot_record_head *b, char *difference,
                            size_t size);

/* True where the work that was measured is the same: dtype, shapes, math, GELU, seed and the values'
 * definition. Else `difference` is as above. */
bool lot_work_equal(const lot_record_head *a, const lot_record_head *b, char *difference, size_t size);

/* An order in which no two ranks are equal and which does not depend on the order in which they stand in a
 * run: group, UUID, host, PCI address, and only for ranks that tell none of these the rank. */
int lot_device_compare(const lot_record_head *a, const lot_record_head *b);

/* True where the rank told which device it measured: a lost rank may not have. */
bool lot_device_known(const lot_record_head *head);

#endif
