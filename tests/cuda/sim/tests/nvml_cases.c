/* NVML, reached as the product reaches it: dlopen and dlsym. */
#include "cases.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

typedef void *handle;

static void *library;

/* The address of a function whose type the caller knows. */
static void find(const char *name, void *function)
{
    void *address = dlsym(library, name);

    CHECK(address != NULL);
    memcpy(function, &address, sizeof address);
}

static void open_library(void)
{
    int (*init)(void);

    library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL);
    find("nvmlInit_v2", &init);
    OK(init());
}

static handle gpu(unsigned index)
{
    int (*by_index)(unsigned, handle *);
    handle found = NULL;

    find("nvmlDeviceGetHandleByIndex_v2", &by_index);
    OK(by_index(index, &found));
    return found;
}

static unsigned long long long_of(const char *name, handle device)
{
    int (*function)(handle, unsigned long long *);
    unsigned long long value = 0;

    find(name, &function);
    OK(function(device, &value));
    return value;
}

typedef struct field {
    unsigned id, scope;
    int64_t timestamp, latency;
    unsigned type;
    int result;
    unsigned long long value;
} field;

static unsigned long long field_of(unsigned id, handle device)
{
    int (*values)(handle, int, field *);
    field one = {.id = id};

    find("nvmlDeviceGetFieldValues", &values);
    OK(values(device, 1, &one));
    CHECK(one.result == 0 && one.type == 3);
    return one.value;
}

/* Gives device 0 10 ms of work by its own clock (NOISE=0). */
static void work(void)
{
    void *memory = NULL;

    OK(cudaMalloc(&memory, 100000000));
    for (int i = 0; i < 100; i++)
        OK(cudaMemsetAsync(memory, 0, 98000000, NULL));
    OK(cudaDeviceSynchronize());
    OK(cudaFree(memory));
}

static void nvml_identity(void)
{
    int (*count)(unsigned *), (*uuid)(handle, char *, unsigned), (*by_uuid)(const char *, handle *);
    int (*by_pci)(const char *, handle *), (*version)(char *, unsigned);
    char text[96];
    unsigned devices = 0;
    handle found = NULL;

    open_library();
    find("nvmlDeviceGetCount_v2", &count);
    find("nvmlDeviceGetUUID", &uuid);
    find("nvmlDeviceGetHandleByUUID", &by_uuid);
    find("nvmlDeviceGetHandleByPciBusId_v2", &by_pci);
    find("nvmlSystemGetDriverVersion", &version);
    OK(count(&devices));
    CHECK(devices == 2); /* CUDA_VISIBLE_DEVICES shows one of them to the runtime */
    OK(uuid(gpu(1), text, sizeof text));
    OK(by_uuid(text, &found));
    CHECK(found == gpu(1));
    EXPECT(6, by_uuid("GPU-0", &found));
    EXPECT(7, uuid(gpu(1), text, 10));
    OK(cudaDeviceGetPCIBusId(text, sizeof text, 0));
    OK(by_pci(text, &found));
    CHECK(found == gpu(1));
    OK(version(text, sizeof text));
    CHECK(strcmp(text, "SIMULATED") == 0);
}

/* 400 W over 10 ms are 4 J; throttled for 30 % of it. */
static void nvml_counters(void)
{
    unsigned long long energy, thermal, power;

    open_library();
    energy = long_of("nvmlDeviceGetTotalEnergyConsumption", gpu(0));
    thermal = field_of(269, gpu(0));
    power = field_of(74, gpu(0));
    work();
    energy = long_of("nvmlDeviceGetTotalEnergyConsumption", gpu(0)) - energy;
    CHECK(energy >= 3999 && energy <= 4001);
    thermal = field_of(269, gpu(0)) - thermal;
    CHECK(thermal > 2999000 && thermal < 3001000);
    CHECK(field_of(74, gpu(0)) == power); /* another reason's counter */
    CHECK(long_of("nvmlDeviceGetCurrentClocksEventReasons", gpu(0)) == 0x20);
    CHECK(long_of("nvmlDeviceGetCurrentClocksEventReasons", gpu(1)) == 0);
}

static void nvml_processes(void)
{
    struct {
        unsigned pid;
        uint64_t used;
        unsigned gpu_instance, compute_instance;
    } list[4];
    int (*processes)(handle, unsigned *, void *);
    unsigned count = 0;

    open_library();
    find("nvmlDeviceGetComputeRunningProcesses_v3", &processes);
    EXPECT(7, processes(gpu(0), &count, NULL));
    CHECK(count == 1);
    OK(cudaSetDevice(0));
    count = 4;
    OK(processes(gpu(0), &count, list));
    CHECK(count == 2 && list[0].pid == (unsigned)getpid() && list[1].pid == 4242 && list[1].used == 1000);
    count = 0;
    OK(processes(gpu(1), &count, NULL));
}

static void nvml_slices(void)
{
    int (*mode)(handle, unsigned *, unsigned *), (*most)(handle, unsigned *);
    int (*slice_at)(handle, unsigned, handle *), (*parent_of)(handle, handle *), (*power)(handle, unsigned *);
    int (*processes)(handle, unsigned *, void *);
    unsigned current = 9, pending = 9, count = 0;
    handle slice = NULL, parent = NULL;

    open_library();
    find("nvmlDeviceGetMigMode", &mode);
    find("nvmlDeviceGetMaxMigDeviceCount", &most);
    find("nvmlDeviceGetMigDeviceHandleByIndex", &slice_at);
    find("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", &parent_of);
    find("nvmlDeviceGetPowerUsage", &power);
    find("nvmlDeviceGetComputeRunningProcesses_v3", &processes);
    OK(mode(gpu(0), &current, &pending));
    CHECK(current == 0);
    OK(mode(gpu(1), &current, &pending));
    CHECK(current == 1 && pending == 1);
    OK(most(gpu(1), &count));
    CHECK(count == 7);
    OK(slice_at(gpu(1), 1, &slice));
    EXPECT(6, slice_at(gpu(1), 2, &slice));
    OK(parent_of(slice, &parent));
    CHECK(parent == gpu(1));
    OK(power(parent, &count));
    EXPECT(3, power(slice, &count)); /* only the whole GPU knows */
    count = 0;
    OK(processes(slice, &count, NULL));
    EXPECT(4, processes(parent, &count, NULL));
}

static void nvml_missing(void)
{
    int (*power)(handle, unsigned *);
    unsigned value;

    open_library();
    CHECK(dlsym(library, "nvmlDeviceGetTotalEnergyConsumption") == NULL);
    find("nvmlDeviceGetPowerUsage", &power);
    EXPECT(4, power(gpu(0), &value));
}

static void nvml_no_driver(void)
{
    int (*init)(void), (*count)(unsigned *);
    unsigned value;

    library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    CHECK(library != NULL);
    find("nvmlInit_v2", &init);
    find("nvmlDeviceGetCount_v2", &count);
    EXPECT(9, init());
    EXPECT(1, count(&value));
}

static void nvml_ecc(void)
{
    int (*errors)(handle, unsigned, unsigned, unsigned long long *);
    unsigned long long count = 9;
    int *values = NULL;

    open_library();
    find("nvmlDeviceGetTotalEccErrors", &errors);
    OK(errors(gpu(0), 1, 0, &count));
    CHECK(count == 0);
    OK(cudaMalloc((void **)&values, 4));
    launch_add(values, 1, 1, NULL);
    OK(cudaDeviceSynchronize());
    launch_add(values, 1, 1, NULL);
    EXPECT(cudaErrorECCUncorrectable, cudaDeviceSynchronize());
    OK(errors(gpu(0), 1, 0, &count));
    CHECK(count == 1);
    OK(errors(gpu(1), 1, 0, &count));
    CHECK(count == 0);
}

const sim_case nvml_cases[] = {{"nvml_identity", nvml_identity},
                               {"nvml_counters", nvml_counters},
                               {"nvml_processes", nvml_processes},
                               {"nvml_slices", nvml_slices},
                               {"nvml_missing", nvml_missing},
                               {"nvml_no_driver", nvml_no_driver},
                               {"nvml_ecc", nvml_ecc},
                               {NULL, NULL}};
