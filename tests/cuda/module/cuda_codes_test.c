/* Prints how the module takes codes, for codes_test.py: each line of the input is a library (runtime, blas,
 * nvml) and a number; each line of the output is the code's name in the table, "-" where it is not there, and
 * the status before and after a device is open. */
#include <stdio.h>
#include <string.h>

#include "gpu/cuda/cuda_codes.h"
#include "gpu/cuda/cuda_internal.h"

#define NAME(number, name, before, after)                                                                    \
    case number:                                                                                             \
        return #name;

static const char *runtime_name(int code)
{
    switch (code) {
        LOT_RUNTIME_CODES(NAME)
    default:
        return "-";
    }
}

static const char *blas_name(int code)
{
    switch (code) {
        LOT_BLAS_CODES(NAME)
    default:
        return "-";
    }
}

#undef NAME

int main(void)
{
    char library[16];
    int code;

    while (scanf("%15s %d", library, &code) == 2) {
        lot_status before = lot_status_of_nvml(code), after = before;
        const char *name = "-";

        if (strcmp(library, "runtime") == 0) {
            name = runtime_name(code);
            before = lot_status_of_runtime(code, false);
            after = lot_status_of_runtime(code, true);
        } else if (strcmp(library, "blas") == 0) {
            name = blas_name(code);
            before = lot_status_of_blas(code, false);
            after = lot_status_of_blas(code, true);
        }
        (void)printf("%s %s %s\n", name, lot_status_name(before), lot_status_name(after));
    }
    return 0;
}
