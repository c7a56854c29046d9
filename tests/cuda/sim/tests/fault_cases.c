/* Faults: each strikes where and when it was told, and nowhere else. Their settings are in CMakeLists.txt. */
#include "cases.h"

#include <math.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static int *zeros(void)
{
    int *values = NULL;

    OK(cudaMalloc((void **)&values, 64 * sizeof *values));
    OK(cudaMemset(values, 0, 64 * sizeof *values));
    return values;
}

/* oom:at=2,device=1 */
static void oom(void)
{
    void *a = NULL;

    for (int i = 0; i < 3; i++)
        OK(cudaMalloc(&a, 1)); /* another device */
    OK(cudaSetDevice(1));
    OK(cudaMalloc(&a, 1));
    EXPECT(cudaErrorMemoryAllocation, cudaMalloc(&a, 1));
    OK(cudaMalloc(&a, 1));
    EXPECT(cudaErrorMemoryAllocation, cudaGetLastError());
    OK(cudaGetLastError()); /* it ends no context */
}

/* sticky:at=2,device=0,code=719 */
static void sticky(void)
{
    int *values = zeros();
    void *a = NULL;

    launch_add(values, 1, 1, NULL);
    OK(cudaDeviceSynchronize());
    launch_add(values, 1, 1, NULL); /* queued: nothing is known yet */
    EXPECT(cudaErrorLaunchFailure, cudaDeviceSynchronize());
    EXPECT(cudaErrorLaunchFailure, cudaMalloc(&a, 1));
    OK(cudaSetDevice(1));
    OK(cudaMalloc(&a, 1));
}

/* lost:at=5,device=0,code=719 */
static void lost(void)
{
    size_t free_bytes, total;
    int call = 1;

    while (cudaMemGetInfo(&free_bytes, &total) == cudaSuccess && call < 20)
        call++;
    CHECK(call == 5);
    EXPECT(cudaErrorLaunchFailure, cudaDeviceSynchronize());
}

static void *wait_for_device(void *unused)
{
    (void)unused;
    (void)cudaDeviceSynchronize();
    return NULL;
}

/* hang:at=2 */
static void hang(void)
{
    int *values = zeros();
    pthread_t waiter;
    cudaEvent_t event;

    OK(cudaEventCreate(&event));
    launch_add(values, 1, 1, NULL);
    OK(cudaDeviceSynchronize());
    launch_add(values, 1, 1, NULL);
    OK(cudaEventRecord(event, NULL));
    for (int i = 0; i < 100; i++)
        EXPECT(cudaErrorNotReady, cudaEventQuery(event)); /* never blocks */
    CHECK(pthread_create(&waiter, NULL, wait_for_device, NULL) == 0);
    usleep(50000);
    EXPECT(cudaErrorNotReady, cudaStreamQuery(NULL)); /* and not either while another thread waits */
    _exit(0);
}

static float launch_ms(void)
{
    cudaEvent_t start, end;
    int *values = zeros();
    float ms = 0;

    OK(cudaEventCreate(&start));
    OK(cudaEventCreate(&end));
    OK(cudaEventRecord(start, NULL));
    launch_add(values, 1, 64, NULL);
    OK(cudaEventRecord(end, NULL));
    OK(cudaEventSynchronize(end));
    OK(cudaEventElapsedTime(&ms, start, end));
    return ms;
}

/* slow:device=1,factor=1.08,at=2; NOISE=0 */
static void slow(void)
{
    float normal = launch_ms();
    float first, second;

    CHECK(normal > 0.003f);
    OK(cudaSetDevice(1));
    first = launch_ms();
    second = launch_ms();
    CHECK(fabsf(first / normal - 1.0f) < 1e-4f);
    CHECK(fabsf(second / normal - 1.08f) < 1e-4f);
}

/* flip-upload:at=2,byte=5,bit=3 */
static void flip_upload(void)
{
    unsigned char in[16] = {0}, out[16];
    void *device = NULL;

    OK(cudaMalloc(&device, sizeof in));
    for (int i = 1; i <= 3; i++) {
        OK(cudaMemcpy(device, in, sizeof in, cudaMemcpyHostToDevice));
        OK(cudaMemcpy(out, device, sizeof out, cudaMemcpyDeviceToHost));
        CHECK(out[5] == (i == 2 ? 8 : 0));
        out[5] = 0;
        CHECK(memcmp(in, out, sizeof in) == 0);
    }
}

/* no-pools:device=1 */
static void no_pools(void)
{
    struct cudaMemPoolProps properties;
    cudaMemPool_t pool = NULL;
    int supported = -1;
    void *a = NULL;

    memset(&properties, 0, sizeof properties);
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    OK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0));
    CHECK(supported == 1);
    OK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 1));
    CHECK(supported == 0);
    OK(cudaSetDevice(1));
    properties.location.id = 1;
    EXPECT(cudaErrorNotSupported, cudaMemPoolCreate(&pool, &properties));
    EXPECT(cudaErrorNotSupported, cudaMallocAsync(&a, 1, NULL));
    OK(cudaMalloc(&a, 1));
}

/* driver:code=803 */
static void driver(void)
{
    int count = 77;

    EXPECT(cudaErrorSystemDriverMismatch, cudaGetDeviceCount(&count));
    EXPECT(cudaErrorSystemDriverMismatch, cudaSetDevice(0));
    CHECK(count == 77);
}

/* busy:device=1 */
static void busy(void)
{
    OK(cudaSetDevice(0));
    EXPECT(cudaErrorDevicesUnavailable, cudaSetDevice(1));
}

/* sticky:at=1,rank=1 in a process of rank 0 or 1 */
static void other_rank(void)
{
    int *values = zeros();

    launch_add(values, 1, 1, NULL);
    OK(cudaDeviceSynchronize());
}

/* Something is queued and run; what a log is to hold. */
static void logged(void)
{
    int *values = zeros();

    launch_add(values, 1, 1, NULL);
    OK(cudaStreamSynchronize(NULL));
}

/* Nothing happens: for the report of a fault that never fired, and for malformed settings. */
static void nothing(void)
{
    int count = 0;

    OK(cudaGetDeviceCount(&count));
}

const sim_case fault_cases[] = {
    {"oom", oom},   {"sticky", sticky},           {"lost", lost},         {"hang", hang},
    {"slow", slow}, {"flip_upload", flip_upload}, {"no_pools", no_pools}, {"driver", driver},
    {"busy", busy}, {"other_rank", other_rank},   {"logged", logged},     {"nothing", nothing},
    {NULL, NULL}};
