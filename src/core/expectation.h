/* What somebody expects of a GPU model: plain data between its reader and check. */
#ifndef GPULOT_CORE_EXPECTATION_H
#define GPULOT_CORE_EXPECTATION_H

#include <stddef.h>
#include <stdint.h>

/* A rate that was measured on this exact model with this work. */
typedef struct lot_expectation {
    char model[96];
    char dtype[12];
    char math[8];
    int64_t batch; /* LOT_NULL_I64 here and below: any */
    int64_t context;
    int64_t width;
    int64_t hidden;
    double flops_per_second; /* of the whole forward pass */
    double tolerance;        /* share below the rate that is still as expected */
    char source[160];        /* who measured it, where and when */
} lot_expectation;

typedef struct lot_expectations {
    lot_expectation *items;
    size_t count;
} lot_expectations;

#endif
