// Kernels under emulation: the means themselves on kernels of this file, and the product's kernels against
// the scalar definitions of gpu/generator.h and gpu/digest.h.
#include "../emul.hpp"

#include <cstdio>
#include <vector>

#include "cases.h"
#include "gpu/cuda/kernels_body.cuh"

extern "C" void **__cudaRegisterFatBinary(void *wrapper);
extern "C" void __cudaRegisterFunction(void **handle, const char *host, char *device_name, const char *name,
                                       int threads, uint3 *thread_id, uint3 *block_id, dim3 *block,
                                       dim3 *grid, int *warp);

extern "C" {

static __global__ void test_add(int *values, int by, int64_t count)
{
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;

    if (i < count)
        values[i] += by;
}

// The sum of a row by shared memory, a barrier and shuffles; one block a row.
static __global__ void test_row_sum(int *sums, const int *values, int columns)
{
    __shared__ int parts[32];
    int sum = 0;

    for (int i = (int)threadIdx.x; i < columns; i += (int)blockDim.x)
        sum += values[(int)blockIdx.x * columns + i];
    for (int offset = 16; offset > 0; offset >>= 1)
        sum += __shfl_xor_sync(0xFFFFFFFFu, sum, offset);
    if (threadIdx.x % 32 == 0)
        parts[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        sum = 0;
        for (unsigned warp = 0; warp < blockDim.x / 32; warp++)
            sum += parts[warp];
        sums[blockIdx.x] = sum;
    }
}

// Reads a neighbour's value, with the barrier that this needs or without it.
static __global__ void test_neighbour(int *out, int with_barrier)
{
    __shared__ int shared[64];

    shared[threadIdx.x] = -1;
    __syncthreads();
    shared[threadIdx.x] = (int)threadIdx.x;
    if (with_barrier)
        __syncthreads();
    out[threadIdx.x] = shared[(threadIdx.x + 1) % 64];
}

// Threads of one warp wait at the block's barrier, the others at their warp's for ever.
static __global__ void test_divergent(int *out)
{
    if (threadIdx.x == 0)
        __syncthreads();
    else
        out[0] = __shfl_sync(0xFFFFFFFFu, 1, 0);
}

static __global__ void test_shuffles(int *out)
{
    const int lane = (int)threadIdx.x;

    out[lane] = __shfl_down_sync(0xFFFFFFFFu, lane, 4);
    out[32 + lane] = __shfl_up_sync(0xFFFFFFFFu, lane, 4);
    out[64 + lane] = __shfl_xor_sync(0xFFFFFFFFu, lane, 5);
    out[96 + lane] = __shfl_sync(0xFFFFFFFFu, lane, 9);
}
}

SIM_KERNEL(test_add);
SIM_KERNEL(test_row_sum);
SIM_KERNEL(test_neighbour);
SIM_KERNEL(test_divergent);
SIM_KERNEL(test_shuffles);

namespace
{

// Registers a kernel as compiled code does, once, and launches it.
void launch(const char *name, unsigned grid, unsigned block, void **arguments, cudaStream_t stream = nullptr)
{
    static void **image = __cudaRegisterFatBinary(nullptr);
    static std::vector<const char *> names;
    const void *host = nullptr;

    for (const char *known : names)
        if (std::strcmp(known, name) == 0)
            host = known;
    if (host == nullptr) {
        host = name;
        names.push_back(name);
        __cudaRegisterFunction(image, name, nullptr, name, -1, nullptr, nullptr, nullptr, nullptr, nullptr);
    }
    OK(cudaLaunchKernel(host, dim3{grid, 1, 1}, dim3{block, 1, 1}, arguments, 0, stream));
}

template <typename T> T *device_array(size_t count, int byte = 0)
{
    T *memory = nullptr;

    OK(cudaMalloc(reinterpret_cast<void **>(&memory), count * sizeof(T)));
    OK(cudaMemset(memory, byte, count * sizeof(T)));
    return memory;
}

template <typename T> std::vector<T> download(const T *device, size_t count)
{
    std::vector<T> host(count);

    OK(cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
    return host;
}

template <typename T> T *upload(const std::vector<T> &host)
{
    T *device = device_array<T>(host.size());

    OK(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
    return device;
}

void row_sum()
{
    const int rows = 5, columns = 1000;
    std::vector<int> values(rows * columns);
    int *sums = device_array<int>(rows), width = columns;

    for (int i = 0; i < rows * columns; i++)
        values[(size_t)i] = i * i % 1013;
    const int *from = upload(values);
    void *arguments[] = {&sums, &from, &width};
    launch("test_row_sum", rows, 128, arguments);
    const std::vector<int> got = download(sums, rows);
    for (int row = 0; row < rows; row++) {
        int sum = 0;

        for (int i = 0; i < columns; i++)
            sum += values[(size_t)(row * columns + i)];
        CHECK(got[(size_t)row] == sum);
    }
}

void missing_barrier()
{
    int *out = device_array<int>(64);

    for (int with_barrier = 1; with_barrier >= 0; with_barrier--) {
        void *arguments[] = {&out, &with_barrier};
        int wrong = 0;

        launch("test_neighbour", 1, 64, arguments);
        const std::vector<int> got = download(out, 64);
        for (int i = 0; i < 64; i++)
            wrong += got[(size_t)i] != (i + 1) % 64;
        CHECK(with_barrier ? wrong == 0 : wrong > 0);
    }
}

void divergent_barrier()
{
    int *out = device_array<int>(1);
    void *arguments[] = {&out};

    launch("test_divergent", 1, 32, arguments);
    EXPECT(cudaErrorLaunchTimeout, cudaDeviceSynchronize());
}

void shuffles()
{
    int *out = device_array<int>(128);
    void *arguments[] = {&out};

    launch("test_shuffles", 1, 32, arguments);
    const std::vector<int> got = download(out, 128);
    for (int lane = 0; lane < 32; lane++) {
        CHECK(got[(size_t)lane] == (lane + 4 < 32 ? lane + 4 : lane));
        CHECK(got[(size_t)(32 + lane)] == (lane >= 4 ? lane - 4 : lane));
        CHECK(got[(size_t)(64 + lane)] == (lane ^ 5));
        CHECK(got[(size_t)(96 + lane)] == 9);
    }
}

void launch_limits()
{
    static void **image = __cudaRegisterFatBinary(nullptr);
    int *values = device_array<int>(1), by = 1;
    int64_t count = 1;
    void *arguments[] = {&values, &by, &count};
    static const char add[] = "test_add", unknown[] = "no_such_kernel";

    __cudaRegisterFunction(image, add, nullptr, add, -1, nullptr, nullptr, nullptr, nullptr, nullptr);
    __cudaRegisterFunction(image, unknown, nullptr, unknown, -1, nullptr, nullptr, nullptr, nullptr, nullptr);
    EXPECT(cudaErrorInvalidConfiguration,
           cudaLaunchKernel(add, dim3{1, 1, 1}, dim3{1025, 1, 1}, arguments, 0, nullptr));
    EXPECT(cudaErrorInvalidConfiguration,
           cudaLaunchKernel(add, dim3{0, 1, 1}, dim3{1, 1, 1}, arguments, 0, nullptr));
    EXPECT(cudaErrorInvalidDeviceFunction,
           cudaLaunchKernel(unknown, dim3{1, 1, 1}, dim3{1, 1, 1}, arguments, 0, nullptr));
    EXPECT(cudaErrorInvalidDeviceFunction,
           cudaLaunchKernel(&values, dim3{1, 1, 1}, dim3{1, 1, 1}, arguments, 0, nullptr));
}

// ---- the product's kernels ----

const char *const dtype_names[] = {"float32", "float16", "bfloat16"};

uint32_t scalar_bits(int dtype, float value)
{
    return dtype == LOT_FLOAT32   ? lot_float_bits(value)
           : dtype == LOT_FLOAT16 ? lot_to_float16(value)
                                  : lot_to_bfloat16(value);
}

uint32_t element_bits(const std::vector<unsigned char> &bytes, int dtype, int64_t i)
{
    uint32_t wide;
    uint16_t narrow;

    if (dtype == LOT_FLOAT32) {
        std::memcpy(&wide, bytes.data() + 4 * i, 4);
        return wide;
    }
    std::memcpy(&narrow, bytes.data() + 2 * i, 2);
    return narrow;
}

void check_fill(int distribution, int dtype, int64_t first, int64_t count)
{
    static char names[6][48];
    char *name = names[distribution * 3 + dtype];
    uint64_t seed = 0x123456789abcdefull;
    uint32_t tensor = 5;
    float scale = 0.37f;
    const int64_t lanes = dtype == LOT_FLOAT32 ? 4 : 8;
    const int64_t groups = (first + count - 1) / lanes - first / lanes + 1;
    const lot_fill fill = {seed,  tensor,          (lot_distribution)distribution, scale, first,
                           count, (lot_dtype)dtype};
    unsigned char *to = device_array<unsigned char>((size_t)count * lot_dtype_bytes((lot_dtype)dtype), 0xEE);
    void *arguments[] = {&to, &seed, &tensor, &scale, &first, &count};

    std::snprintf(name, sizeof names[0], "lot_k_fill_%s_%s", distribution ? "near_normal" : "uniform",
                  dtype_names[dtype]);
    launch(name, (unsigned)((groups + LOT_TILE - 1) / LOT_TILE), LOT_BLOCK, arguments);
    const std::vector<unsigned char> got = download(to, (size_t)count * lot_dtype_bytes((lot_dtype)dtype));
    for (int64_t i = 0; i < count; i++)
        CHECK(element_bits(got, dtype, i) == scalar_bits(dtype, lot_value(&fill, first + i)));
    OK(cudaFree(to));
}

void fills()
{
    for (int distribution = 0; distribution < 2; distribution++) {
        for (int dtype = 0; dtype < LOT_DTYPE_COUNT; dtype++) {
            check_fill(distribution, dtype, 0, 1024);
            check_fill(distribution, dtype, 0, 1);
            check_fill(distribution, dtype, 3, 1021);
            check_fill(distribution, dtype, (1ll << 33) + 5, 77);
        }
    }
}

uint64_t scalar_digest(const std::vector<unsigned char> &bytes)
{
    uint64_t sum = bytes.size();

    for (size_t start = 0; start < bytes.size(); start += 8) {
        uint64_t word = 0;

        std::memcpy(&word, bytes.data() + start, bytes.size() - start < 8 ? bytes.size() - start : 8);
        sum += lot_digest_word(word, start / 8);
    }
    return sum;
}

void check_digest(int dtype, size_t size, unsigned blocks, bool special)
{
    static char names[3][32];
    std::vector<unsigned char> bytes(size);
    uint64_t sum = size, specials = 0;
    int64_t count = (int64_t)size;

    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(i * 37 % 61);
    if (special)
        std::memset(bytes.data() + size - lot_dtype_bytes((lot_dtype)dtype), 0xFF,
                    lot_dtype_bytes((lot_dtype)dtype));
    const void *from = upload(bytes);
    lot_digest_partial *partials = device_array<lot_digest_partial>(blocks, 0xEE);
    void *arguments[] = {&partials, &from, &count};
    std::snprintf(names[dtype], sizeof names[0], "lot_k_digest_%s", dtype_names[dtype]);
    launch(names[dtype], blocks, LOT_BLOCK, arguments);
    for (const lot_digest_partial &partial : download(partials, blocks)) {
        sum += partial.sum;
        specials += partial.special;
    }
    CHECK(sum == scalar_digest(bytes));
    CHECK((specials != 0) == special);
}

void digests()
{
    for (int dtype = 0; dtype < LOT_DTYPE_COUNT; dtype++) {
        check_digest(dtype, 40000, 3, false);
        check_digest(dtype, 40000, 1, true);
        check_digest(dtype, 36, 1, false);
        check_digest(dtype, 44, 1, true);
    }
}

double half_value(int dtype, uint16_t bits)
{
    return dtype == LOT_FLOAT16 ? (double)lot_from_float16(bits) : (double)lot_from_bfloat16(bits);
}

// Every value of a half type, against erfc in double: half a unit of the result's last place, and 2^-21 of
// |x| for the evaluation; what is not finite must not become so, or no digest would tell. One value more than
// tiles hold, so that the rest is done as well. `each` is how many vectors a block is launched for.
void half_gelus(int dtype, const char *name, int64_t each)
{
    const double unit = dtype == LOT_FLOAT16 ? 0x1p-11 : 0x1p-8,
                 least = dtype == LOT_FLOAT16 ? 0x1p-25 : 0x1p-134;
    std::vector<uint16_t> values;

    for (uint32_t bits = 0; bits < 0x10000; bits++)
        values.push_back((uint16_t)bits);
    values.push_back(0);
    void *device = upload(values);
    int64_t count = (int64_t)values.size();
    void *arguments[] = {&device, &count};
    launch(name, (unsigned)(count / 8 / each + 1), LOT_BLOCK, arguments);
    const std::vector<uint16_t> got = download((const uint16_t *)device, values.size());
    for (size_t i = 0; i < values.size(); i++) {
        const double x = half_value(dtype, values[i]), y = half_value(dtype, got[i]);
        const double wanted = 0.5 * x * std::erfc(-x * std::sqrt(0.5));

        CHECK(std::isfinite(y) == std::isfinite(x));
        if (!std::isfinite(x))
            continue;
        CHECK(std::fabs(y - wanted) <= unit * std::fabs(wanted) + least + 0x1p-21 * std::fabs(x));
        if (x < 0 && x > -4) // where the sum 1 + erf cancels, the tail does not
            CHECK(std::fabs(y - wanted) <= (unit + 0x1p-15) * std::fabs(wanted) + least);
    }
    OK(cudaFree(device));
}

void gelus()
{
    for (const int64_t each : {(int64_t)LOT_TILE, (int64_t)LOT_BLOCK}) {
        half_gelus(LOT_FLOAT16, "lot_k_gelu_float16", each);
        half_gelus(LOT_BFLOAT16, "lot_k_gelu_bfloat16", each);
    }

    const int64_t count = 1003;
    std::vector<float> values((size_t)count);

    for (int64_t i = 0; i < count; i++)
        values[(size_t)i] = (float)(i - 500) * 0.013f;
    values[7] = INFINITY;
    values[8] = -INFINITY;
    values[1002] = NAN;
    void *device = upload(values);
    int64_t argument_count = count;
    void *arguments[] = {&device, &argument_count};
    launch("lot_k_gelu_float32", 1, LOT_BLOCK, arguments);
    const std::vector<float> got = download(static_cast<float *>(device), (size_t)count);
    for (int64_t i = 0; i < count; i++) {
        const double x = values[(size_t)i];
        const double want = 0.5 * x * (1.0 + std::erf(x * 0.70710678118654752440));

        CHECK(std::isfinite(got[(size_t)i]) == std::isfinite(x));
        if (std::isfinite(x))
            CHECK(std::fabs(got[(size_t)i] - want) <= 4e-7 * (1.0 + std::fabs(want)));
    }
}

void compares()
{
    std::vector<uint16_t> a(4099), b;
    uint64_t differing = 0, first = UINT64_MAX;
    int64_t count = (int64_t)a.size();

    for (size_t i = 0; i < a.size(); i++)
        a[i] = (uint16_t)i;
    b = a;
    b[1234] ^= 1;
    b[4098] ^= 0x8000;
    const void *left = upload(a), *right = upload(b);
    lot_compare_partial *partials = device_array<lot_compare_partial>(2);
    void *arguments[] = {&partials, &left, &right, &count};
    launch("lot_k_compare_bfloat16", 2, LOT_BLOCK, arguments);
    for (const lot_compare_partial &partial : download(partials, 2)) {
        differing += partial.differing;
        first = partial.first < first ? partial.first : first;
    }
    CHECK(differing == 2 && first == 1234);
}

} // namespace

void launch_add(int *values, int by, int64_t count, cudaStream_t stream)
{
    void *arguments[] = {&values, &by, &count};

    launch("test_add", (unsigned)((count + 127) / 128), 128, arguments, stream);
}

extern "C" const sim_case kernel_cases[];
const sim_case kernel_cases[] = {{"row_sum", row_sum},
                                 {"missing_barrier", missing_barrier},
                                 {"divergent_barrier", divergent_barrier},
                                 {"shuffles", shuffles},
                                 {"launch_limits", launch_limits},
                                 {"fills", fills},
                                 {"digests", digests},
                                 {"gelus", gelus},
                                 {"compares", compares},
                                 {nullptr, nullptr}};
