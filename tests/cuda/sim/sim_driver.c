/* Stand-in for libcuda: the one question that the product asks the driver itself. The simulated runtime loads
 * it with the first context, as the real one does. */
#include <stdlib.h>
#include <string.h>

enum { LOADING_EAGER = 1, LOADING_LAZY = 2 };

int cuModuleGetLoadingMode(int *mode);

int cuModuleGetLoadingMode(int *mode)
{
    const char *wish = getenv("CUDA_MODULE_LOADING");

    *mode = wish != NULL && strcmp(wish, "EAGER") == 0 ? LOADING_EAGER : LOADING_LAZY;
    return 0;
}
