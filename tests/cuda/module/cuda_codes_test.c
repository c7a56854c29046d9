/* Prints how the module takes codes, for codes_test.py: each line of the input is a library (runtime, blas,
 * nvml) and a number; each line of the output is the status before and after a device is open. The numbers of
 * the table are held against the toolkit's names when this is compiled. */
#include <stdio.h>
#include <string.h>

#include "gpu/cuda/cuda_codes.h"
#include "gpu/cuda/cuda_internal.h"

#define RUNTIME(code, name, before, after) _Static_assert(cuda##name == (code), #name);
LOT_RUNTIME_CODES(RUNTIME)
#undef RUNTIME

#define BLAS(code, name, before, after) _Static_assert(CUBLAS_STATUS_##name == (code), #name);
LOT_BLAS_CODES(BLAS)
#undef BLAS

static int in_table(const char *library, int code)
{
#define CASE(number, name, before, after) case number:
    if (strcmp(library, "runtime") == 0)
        switch (code) {
            LOT_RUNTIME_CODES(CASE) return 1;
        default:
            return 0;
        }
    if (strcmp(library, "blas") == 0)
        switch (code) {
            LOT_BLAS_CODES(CASE) return 1;
        default:
            return 0;
        }
#undef CASE
    return 1;
}

int main(void)
{
    char library[16];
    int code;

    while (scanf("%15s %d", library, &code) == 2) {
        lot_status before = lot_status_of_nvml(code), after = before;

        if (strcmp(library, "runtime") == 0) {
            before = lot_status_of_runtime(code, false);
            after = lot_status_of_runtime(code, true);
        } else if (strcmp(library, "blas") == 0) {
            before = lot_status_of_blas(code, false);
            after = lot_status_of_blas(code, true);
        }
        (void)printf("%s %s %s\n", in_table(library, code) ? "listed" : "unlisted", lot_status_name(before),
                     lot_status_name(after));
    }
    return 0;
}
