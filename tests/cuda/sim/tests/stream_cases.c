/* Streams, events, the device's clock, what a process can see. */
#include "cases.h"

#include <math.h>
#include <string.h>

#include "sim_visible.h"

#define COUNT 64

/* Without a synchronisation the host sees old bytes, on every run. */
static void lazy_copy(void)
{
    int *device = NULL, *pinned = NULL;

    OK(cudaMalloc((void **)&device, COUNT * sizeof *device));
    OK(cudaMallocHost((void **)&pinned, COUNT * sizeof *pinned));
    OK(cudaMemset(device, 0, COUNT * sizeof *device));
    memset(pinned, 0xFF, COUNT * sizeof *pinned);
    OK(cudaMemcpyAsync(pinned, device, COUNT * sizeof *pinned, cudaMemcpyDeviceToHost, NULL));
    for (int i = 0; i < COUNT; i++)
        CHECK(pinned[i] == -1);
    OK(cudaStreamSynchronize(NULL));
    for (int i = 0; i < COUNT; i++)
        CHECK(pinned[i] == 0);
}

/* The same at once where the order is "eager". */
static void eager_copy(void)
{
    int *device = NULL, *pinned = NULL;

    OK(cudaMalloc((void **)&device, sizeof *device));
    OK(cudaMallocHost((void **)&pinned, sizeof *pinned));
    *pinned = -1;
    OK(cudaMemset(device, 0, sizeof *device));
    OK(cudaMemcpyAsync(pinned, device, sizeof *pinned, cudaMemcpyDeviceToHost, NULL));
    CHECK(*pinned == 0);
}

/* A consumer on another stream: wrong without waiting for the producer's event, right with it. */
static void two_streams(void)
{
    cudaStream_t producer, consumer;
    cudaEvent_t made;
    int *a = NULL, *b = NULL, host[COUNT];

    OK(cudaStreamCreateWithFlags(&producer, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&consumer, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
    OK(cudaMalloc((void **)&a, sizeof host));
    OK(cudaMalloc((void **)&b, sizeof host));
    for (int waits = 0; waits < 2; waits++) {
        OK(cudaMemset(a, 0, sizeof host));
        OK(cudaDeviceSynchronize());
        launch_add(a, 7, COUNT, producer);
        OK(cudaEventRecord(made, producer));
        if (waits)
            OK(cudaStreamWaitEvent(consumer, made, 0));
        OK(cudaMemcpyAsync(b, a, sizeof host, cudaMemcpyDeviceToDevice, consumer));
        OK(cudaStreamSynchronize(consumer));
        OK(cudaMemcpy(host, b, sizeof host, cudaMemcpyDeviceToHost));
        for (int i = 0; i < COUNT; i++)
            CHECK(host[i] == (waits ? 7 : 0));
        OK(cudaDeviceSynchronize());
    }
}

/* An order across streams comes from the legacy default stream too, but not for non-blocking ones. */
static void default_stream(void)
{
    cudaStream_t blocking;
    int *a = NULL, host = 0;

    OK(cudaStreamCreate(&blocking));
    OK(cudaMalloc((void **)&a, sizeof host));
    OK(cudaMemset(a, 0, sizeof host));
    launch_add(a, 1, 1, blocking);
    launch_add(a, 1, 1, NULL);
    OK(cudaMemcpy(&host, a, sizeof host, cudaMemcpyDeviceToHost));
    CHECK(host == 2);
    OK(cudaStreamDestroy(blocking));
    EXPECT(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(blocking));
}

static void queries(void)
{
    cudaStream_t stream;
    cudaEvent_t event;
    int *a = NULL;

    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaEventCreate(&event));
    OK(cudaMalloc((void **)&a, sizeof *a));
    OK(cudaStreamQuery(stream));
    launch_add(a, 1, 1, stream);
    OK(cudaEventRecord(event, stream));
    EXPECT(cudaErrorNotReady, cudaEventQuery(event));
    OK(cudaGetLastError()); /* "not ready" is no error */
    OK(cudaEventQuery(event));
    launch_add(a, 1, 1, stream);
    EXPECT(cudaErrorNotReady, cudaStreamQuery(stream));
    OK(cudaStreamQuery(stream));
}

/* With NOISE=0: 8 MB by a set at 1000 GB/s, and 2 us for the call. */
static void device_clock(void)
{
    cudaEvent_t start, end;
    void *a = NULL;
    float ms = -1;

    OK(cudaEventCreate(&start));
    OK(cudaEventCreate(&end));
    OK(cudaMalloc(&a, 8000000));
    EXPECT(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&ms, start, end));
    OK(cudaEventRecord(start, NULL));
    OK(cudaMemsetAsync(a, 0, 8000000, NULL));
    OK(cudaEventRecord(end, NULL));
    EXPECT(cudaErrorNotReady, cudaEventElapsedTime(&ms, start, end));
    OK(cudaEventSynchronize(end));
    OK(cudaEventElapsedTime(&ms, start, end));
    CHECK(fabsf(ms - 0.010f) < 1e-6f);
}

static int visible_of(const char *list, int first, int count)
{
    int visible[SIM_MAX_UNITS];
    const int found = sim_visible_list(sim_config_get(), list, visible);

    return found == count && (count == 0 || visible[0] == first);
}

static void visible(void)
{
    char uuid[SIM_UUID_TEXT], list[2 * SIM_UUID_TEXT];

    CHECK(visible_of(NULL, 0, 4));
    CHECK(visible_of("", 0, 0));
    CHECK(visible_of("2,1", 2, 2));
    CHECK(visible_of("0,2,-1,1", 0, 2)); /* the list ends at its first bad item */
    CHECK(visible_of("4", 0, 0));
    CHECK(visible_of("1,1", 1, 1));
    CHECK(visible_of("two", 0, 0));
    sim_config_uuid_text((sim_unit){.gpu = 3, .slice = -1}, uuid);
    CHECK(strncmp(uuid, "GPU-43554441-5349-4d", 20) == 0); /* "CUDASIM" */
    CHECK(visible_of(uuid, 3, 1));
    (void)snprintf(list, sizeof list, "%s,0", uuid);
    CHECK(visible_of(list, 3, 2));
    CHECK(visible_of("GPU-4355", 0, 0)); /* a prefix must name one */
}

/* GPU 1 of 3 has two slices. */
static void visible_slices(void)
{
    char uuid[SIM_UUID_TEXT], parent[SIM_UUID_TEXT], list[2 * SIM_UUID_TEXT];
    struct cudaDeviceProp properties;
    int count = 0;

    CHECK(visible_of(NULL, 1, 1)); /* one slice and nothing else */
    CHECK(visible_of("0,2", 0, 2));
    CHECK(visible_of("0,1", 1, 1));
    sim_config_uuid_text((sim_unit){.gpu = 1, .slice = 1}, uuid);
    CHECK(strncmp(uuid, "MIG-", 4) == 0);
    CHECK(visible_of(uuid, 2, 1));
    sim_config_uuid_text((sim_unit){.gpu = 1, .slice = -1}, parent);
    (void)snprintf(list, sizeof list, "MIG-%s/2/0", parent);
    CHECK(visible_of(list, 2, 1));
    OK(cudaGetDeviceCount(&count));
    CHECK(count == 1);
    OK(cudaGetDeviceProperties(&properties, 0));
    CHECK(properties.totalGlobalMem == 4ull << 30 && properties.multiProcessorCount == 2);
    CHECK(strstr(properties.name, "SIMULATED") != NULL && strstr(properties.name, "not a GPU") != NULL);
}

static void properties(void)
{
    struct cudaDeviceProp first, second;
    char address[16];
    int value = 0;

    OK(cudaGetDeviceProperties(&first, 0));
    OK(cudaGetDeviceProperties(&second, 1));
    CHECK(strstr(first.name, "SIMULATED") != NULL && strstr(first.name, "not a GPU") != NULL);
    CHECK(first.major == 9 && first.minor == 0 && second.major == 12 && second.minor == 0);
    CHECK(memcmp(first.uuid.bytes, "CUDASIM", 7) == 0);
    CHECK(memcmp(first.uuid.bytes, second.uuid.bytes, 16) != 0);
    CHECK(first.pciDomainID == 0x5349 && first.pciBusID != second.pciBusID);
    OK(cudaDeviceGetPCIBusId(address, sizeof address, 1));
    CHECK(strncmp(address, "5349:", 5) == 0);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrMemoryPoolsSupported, 0));
    CHECK(value == 1);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
    CHECK(value == first.multiProcessorCount);
    EXPECT(cudaErrorInvalidDevice, cudaGetDeviceProperties(&first, 2));
    EXPECT(cudaErrorInvalidDevice, cudaSetDevice(2));
    OK(cudaSetDevice(1));
    OK(cudaGetDevice(&value));
    CHECK(value == 1);
}

static void no_driver(void)
{
    int count = 77, version = 77;
    void *a = NULL;

    EXPECT(cudaErrorInsufficientDriver, cudaGetDeviceCount(&count));
    CHECK(count == 77);
    EXPECT(cudaErrorInsufficientDriver, cudaMalloc(&a, 1));
    EXPECT(cudaErrorInsufficientDriver, cudaGetLastError());
    EXPECT(cudaErrorInsufficientDriver, cudaGetLastError());
    OK(cudaDriverGetVersion(&version));
    CHECK(version == 0);
#if CUDART_VERSION < 12000
    EXPECT(cudaErrorInsufficientDriver, cudaRuntimeGetVersion(&version));
#else
    OK(cudaRuntimeGetVersion(&version));
    CHECK(version == CUDART_VERSION);
#endif
}

static void none_visible(void)
{
    int count = 77;

    EXPECT(cudaErrorNoDevice, cudaGetDeviceCount(&count));
    CHECK(count == 77);
    EXPECT(cudaErrorNoDevice, cudaSetDevice(0));
}

const sim_case stream_cases[] = {{"lazy_copy", lazy_copy},       {"eager_copy", eager_copy},
                                 {"two_streams", two_streams},   {"default_stream", default_stream},
                                 {"queries", queries},           {"device_clock", device_clock},
                                 {"visible", visible},           {"visible_slices", visible_slices},
                                 {"properties", properties},     {"no_driver", no_driver},
                                 {"none_visible", none_visible}, {NULL, NULL}};
