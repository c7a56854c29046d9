#include "cases.h"

#include <string.h>

static const sim_case *const groups[] = {memory_cases, stream_cases, kernel_cases,
                                         gemm_cases,   nvml_cases,   fault_cases};

cudaMemPool_t make_pool(void)
{
    struct cudaMemPoolProps properties;
    cudaMemPool_t pool = NULL;
    uint64_t keep = UINT64_MAX;

    memset(&properties, 0, sizeof properties);
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    OK(cudaMemPoolCreate(&pool, &properties));
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    return pool;
}

uint64_t pool_value(cudaMemPool_t pool, enum cudaMemPoolAttr attribute)
{
    uint64_t value = 0;

    OK(cudaMemPoolGetAttribute(pool, attribute, &value));
    return value;
}

int main(int argc, char **argv)
{
    for (size_t group = 0; argc == 2 && group < sizeof groups / sizeof groups[0]; group++) {
        for (const sim_case *one = groups[group]; one->name != NULL; one++) {
            if (strcmp(one->name, argv[1]) == 0) {
                one->run();
                (void)printf("%s holds\n", one->name);
                return 0;
            }
        }
    }
    (void)fprintf(stderr, "usage: cudasim_cases CASE\n");
    return 2;
}
