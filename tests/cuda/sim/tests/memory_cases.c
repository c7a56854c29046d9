/* Device memory, page-locked memory, pools. */
#include "cases.h"

#include <string.h>

#define GRAIN 512ull
#define CHUNK (32ull << 20)

static void copies(void)
{
    unsigned char out[1001], in[1001], *pinned = NULL;
    void *device = NULL;

    OK(cudaMalloc(&device, sizeof in));
    OK(cudaMemcpy(out, device, sizeof out, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < sizeof out; i++)
        CHECK(out[i] == 0xA5); /* fresh memory is never zero */
    for (size_t i = 0; i < sizeof in; i++)
        in[i] = (unsigned char)(7 * i);
    OK(cudaMallocHost((void **)&pinned, sizeof in));
    memcpy(pinned, in, sizeof in);
    OK(cudaMemcpyAsync(device, pinned, sizeof in, cudaMemcpyHostToDevice, NULL));
    OK(cudaMemcpy(out, device, sizeof out, cudaMemcpyDeviceToHost));
    CHECK(memcmp(in, out, sizeof in) == 0);
    OK(cudaMemset(device, 3, 1000));
    OK(cudaMemcpy(out, device, sizeof out, cudaMemcpyDeviceToHost));
    CHECK(out[0] == 3 && out[999] == 3 && out[1000] == in[1000]);
    OK(cudaFreeHost(pinned));
    EXPECT(cudaErrorInvalidValue, cudaFreeHost(pinned));
    OK(cudaFree(device));
}

static void wrong_use(void)
{
    char host[64] = {0};
    char *device = NULL;

    OK(cudaMalloc((void **)&device, 64));
    EXPECT(cudaErrorInvalidValue, cudaMemcpy(device, host, 65, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidValue, cudaMemcpy(device + 1, host, 64, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidMemcpyDirection, cudaMemcpy(device, host, 64, cudaMemcpyDeviceToHost));
    EXPECT(cudaErrorInvalidValue, cudaMemset(device, 0, 65));
    EXPECT(cudaErrorInvalidValue, cudaFree(device + 1));
    OK(cudaFree(device));
    EXPECT(cudaErrorInvalidValue, cudaFree(device));
    EXPECT(cudaErrorInvalidValue, cudaMemcpy(device, host, 64, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidValue, cudaGetLastError());
    OK(cudaGetLastError()); /* reading clears it */
}

/* Flags and properties that the runtime does not know are refused, not overlooked. */
static void wrong_flags(void)
{
    struct cudaMemPoolProps properties = {.allocType = cudaMemAllocationTypePinned,
                                          .location = {.type = cudaMemLocationTypeDevice}};
    struct cudaMemPoolProps wrong = properties;
    cudaMemPool_t pool = NULL;
    cudaStream_t stream = NULL;
    cudaEvent_t event = NULL, elsewhere = NULL;
    void *host = NULL;
    float milliseconds;

    OK(cudaMemPoolCreate(&pool, &properties));
    OK(cudaMemPoolDestroy(pool));
    wrong.reserved[7] = 1;
    EXPECT(cudaErrorInvalidValue, cudaMemPoolCreate(&pool, &wrong));
    wrong = properties;
    wrong.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    EXPECT(cudaErrorInvalidValue, cudaMemPoolCreate(&pool, &wrong));
    wrong = properties;
    wrong.location.id = 2;
    EXPECT(cudaErrorInvalidValue, cudaMemPoolCreate(&pool, &wrong));
    EXPECT(cudaErrorInvalidValue, cudaStreamCreateWithFlags(&stream, 2));
    EXPECT(cudaErrorInvalidValue, cudaEventCreateWithFlags(&event, 8));
    EXPECT(cudaErrorInvalidValue, cudaHostAlloc(&host, 8, 8));
    OK(cudaEventCreateWithFlags(&event, cudaEventDefault));
    OK(cudaEventRecord(event, NULL));
    OK(cudaDeviceSynchronize());
    OK(cudaSetDevice(1));
    OK(cudaEventCreateWithFlags(&elsewhere, cudaEventDefault));
    OK(cudaEventRecord(elsewhere, NULL));
    OK(cudaDeviceSynchronize());
    EXPECT(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&milliseconds, event, elsewhere));
}

static void overrun(void)
{
    int *values = NULL;

    OK(cudaMalloc((void **)&values, 4000));
    OK(cudaMemset(values, 0, 4000));
    launch_add(values, 1, 1000, NULL);
    OK(cudaDeviceSynchronize());
    launch_add(values, 1, 2000, NULL);
    EXPECT(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    EXPECT(cudaErrorIllegalAddress, cudaMemset(values, 0, 4));
    EXPECT(cudaErrorIllegalAddress, cudaGetLastError());
    EXPECT(cudaErrorIllegalAddress, cudaGetLastError()); /* it ended the context: it does not clear */
}

/* A few bytes too many, still inside the rounded block: found when it is freed. */
static void small_overrun(void)
{
    int *values = NULL;

    OK(cudaMalloc((void **)&values, 4000));
    launch_add(values, 1, 1010, NULL);
    OK(cudaDeviceSynchronize());
    EXPECT(cudaErrorIllegalAddress, cudaFree(values));
}

static void use_after_free(void)
{
    cudaMemPool_t pool = make_pool();
    int *values = NULL;

    OK(cudaMallocFromPoolAsync((void **)&values, 4000, pool, NULL));
    OK(cudaFreeAsync(values, NULL));
    launch_add(values, 1, 10, NULL);
    EXPECT(cudaErrorIllegalAddress, cudaDeviceSynchronize());
}

/* Ends by a signal, after a line that says why. */
static void host_touch(void)
{
    volatile int *values = NULL;

    OK(cudaMalloc((void **)&values, 4000));
    values[0] = 1;
}

static void capacity(void)
{
    size_t before, after, total;
    void *first = NULL, *second = NULL;

    OK(cudaMemGetInfo(&before, &total));
    CHECK(total == 1ull << 30 && total - before == 256ull << 20);
    OK(cudaMalloc(&first, 1));
    OK(cudaMemGetInfo(&after, &total));
    CHECK(before - after == 2ull << 20);
    EXPECT(cudaErrorMemoryAllocation, cudaMalloc(&second, before));
    CHECK(second == NULL);
    OK(cudaMalloc(&second, after));
    OK(cudaFree(second));
    OK(cudaFree(first));
    OK(cudaMemGetInfo(&after, &total));
    CHECK(before == after);
}

static void pool_counters(void)
{
    cudaMemPool_t pool = make_pool();
    void *a = NULL, *b = NULL;
    uint64_t zero = 0, one = 1;

    OK(cudaMallocFromPoolAsync(&a, 1, pool, NULL));
    CHECK(pool_value(pool, cudaMemPoolAttrUsedMemCurrent) == GRAIN);
    CHECK(pool_value(pool, cudaMemPoolAttrReservedMemCurrent) == CHUNK);
    OK(cudaMallocFromPoolAsync(&b, CHUNK, pool, NULL));
    CHECK(pool_value(pool, cudaMemPoolAttrUsedMemCurrent) == GRAIN + CHUNK);
    CHECK(pool_value(pool, cudaMemPoolAttrReservedMemCurrent) == 2 * CHUNK);
    OK(cudaFreeAsync(b, NULL));
    CHECK(pool_value(pool, cudaMemPoolAttrUsedMemCurrent) == GRAIN + CHUNK); /* the free has not run */
    OK(cudaStreamSynchronize(NULL));
    CHECK(pool_value(pool, cudaMemPoolAttrUsedMemCurrent) == GRAIN);
    CHECK(pool_value(pool, cudaMemPoolAttrUsedMemHigh) == GRAIN + CHUNK);
    CHECK(pool_value(pool, cudaMemPoolAttrReservedMemCurrent) == 2 * CHUNK);
    EXPECT(cudaErrorInvalidValue, cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &one));
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &zero));
    CHECK(pool_value(pool, cudaMemPoolAttrUsedMemHigh) == GRAIN);
    OK(cudaMemPoolTrimTo(pool, 0));
    CHECK(pool_value(pool, cudaMemPoolAttrReservedMemCurrent) == CHUNK);
    CHECK(pool_value(pool, cudaMemPoolAttrReservedMemHigh) == 2 * CHUNK);
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReservedMemHigh, &zero));
    CHECK(pool_value(pool, cudaMemPoolAttrReservedMemHigh) == CHUNK);
    OK(cudaFreeAsync(a, NULL));
    OK(cudaStreamSynchronize(NULL));
    OK(cudaMemPoolDestroy(pool));
    EXPECT(cudaErrorInvalidValue, cudaMemPoolTrimTo(pool, 0));
}

/* Memory that was freed before in the order of the stream is used again: no growth. */
static void pool_reuse(void)
{
    cudaMemPool_t pool = make_pool();
    void *a = NULL;

    for (int i = 0; i < 5; i++) {
        OK(cudaMallocFromPoolAsync(&a, 3 * CHUNK / 4, pool, NULL));
        OK(cudaFreeAsync(a, NULL));
    }
    OK(cudaStreamSynchronize(NULL));
    CHECK(pool_value(pool, cudaMemPoolAttrReservedMemHigh) == CHUNK);
    CHECK(pool_value(pool, cudaMemPoolAttrUsedMemHigh) == 3 * CHUNK / 4);
}

static void pool_threshold(void)
{
    cudaMemPool_t pool = make_pool();
    uint64_t threshold = 0;
    void *a = NULL;

    OK(cudaMallocFromPoolAsync(&a, 1, pool, NULL));
    OK(cudaFreeAsync(a, NULL));
    OK(cudaStreamSynchronize(NULL));
    CHECK(pool_value(pool, cudaMemPoolAttrReservedMemCurrent) == CHUNK);
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    CHECK(pool_value(pool, cudaMemPoolAttrReservedMemCurrent) == CHUNK);
    OK(cudaStreamSynchronize(NULL)); /* gives it back */
    CHECK(pool_value(pool, cudaMemPoolAttrReservedMemCurrent) == 0);
}

static void pool_limits(void)
{
    struct cudaMemPoolProps properties;
    cudaMemPool_t small = NULL, large = make_pool();
    void *a = NULL;

    memset(&properties, 0, sizeof properties);
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
#if CUDART_VERSION >= 12020
    properties.maxSize = CHUNK;
    OK(cudaMemPoolCreate(&small, &properties));
    OK(cudaMallocFromPoolAsync(&a, CHUNK, small, NULL));
    EXPECT(cudaErrorMemoryAllocation, cudaMallocFromPoolAsync(&a, 1, small, NULL));
#endif
    EXPECT(cudaErrorMemoryAllocation, cudaMallocFromPoolAsync(&a, 1ull << 30, large, NULL));
    EXPECT(cudaErrorInvalidValue, cudaMallocFromPoolAsync(&a, 0, large, NULL));
    CHECK(pool_value(large, cudaMemPoolAttrReservedMemHigh) == 0); /* a failed allocation leaves no trace */
    properties.allocType = cudaMemAllocationTypeInvalid;
    EXPECT(cudaErrorInvalidValue, cudaMemPoolCreate(&small, &properties));
}

/* With LEAKS the end of the process must name each of them: memory of both kinds, a pool, an event, a stream
 * and page-locked memory. */
static void leaves_all(void)
{
    cudaMemPool_t pool = make_pool();
    cudaStream_t stream = NULL;
    cudaEvent_t event = NULL;
    void *memory = NULL, *pooled = NULL, *pinned = NULL;

    OK(cudaMalloc(&memory, 111));
    OK(cudaMallocFromPoolAsync(&pooled, 222, pool, NULL));
    OK(cudaMemPoolDestroy(pool)); /* what is out stays out */
    pool = make_pool();
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaEventCreate(&event));
    OK(cudaHostAlloc(&pinned, 333, cudaHostAllocDefault));
}

static void leaves_nothing(void)
{
    cudaStream_t stream = NULL;
    void *memory = NULL;

    OK(cudaMalloc(&memory, 111));
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaStreamDestroy(stream));
    OK(cudaFree(memory));
}

const sim_case memory_cases[] = {{"copies", copies},
                                 {"wrong_use", wrong_use},
                                 {"wrong_flags", wrong_flags},
                                 {"overrun", overrun},
                                 {"small_overrun", small_overrun},
                                 {"use_after_free", use_after_free},
                                 {"host_touch", host_touch},
                                 {"capacity", capacity},
                                 {"pool_counters", pool_counters},
                                 {"pool_reuse", pool_reuse},
                                 {"pool_threshold", pool_threshold},
                                 {"pool_limits", pool_limits},
                                 {"leaves_all", leaves_all},
                                 {"leaves_nothing", leaves_nothing},
                                 {NULL, NULL}};
