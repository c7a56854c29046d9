/* From what the runtime and cuBLASLt return to a typed error. */
#include <string.h>

#include "gpu/cuda/cuda_codes.h"
#include "gpu/cuda/cuda_internal.h"

typedef struct code_row {
    int code;
    lot_status before; /* a device is open */
    lot_status after;
} code_row;

#define ROW(code, name, before, after) {code, before, after},

static const code_row runtime_codes[] = {LOT_RUNTIME_CODES(ROW)};
static const code_row blas_codes[] = {LOT_BLAS_CODES(ROW)};

#undef ROW

/* The table's answer; for a code that it lacks, `unknown`. */
static lot_status look_up(const code_row *rows, size_t count, int code, bool open, lot_status unknown)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].code == code)
            return open ? rows[i].after : rows[i].before;
    return unknown;
}

lot_status lot_status_of_runtime(int code, bool open)
{
    return look_up(runtime_codes, sizeof runtime_codes / sizeof runtime_codes[0], code, open,
                   LOT_DEVICE_FAULT);
}

lot_status lot_status_of_blas(int code, bool open)
{
    return look_up(blas_codes, sizeof blas_codes / sizeof blas_codes[0], code, open, LOT_DEVICE_FAULT);
}

lot_status lot_status_of_nvml(int result)
{
    switch (result) {
#define CASE(code, name, status)                                                                             \
    case code:                                                                                               \
        return status;
        LOT_NVML_CODES(CASE)
#undef CASE
    default:
        return LOT_OK;
    }
}

/* "cudaFree" of "cudaFree(pointer)", as far as it fits. */
static void call_name(char *name, size_t size, const char *expression)
{
    size_t length = strcspn(expression, "( ");

    if (length >= size)
        length = size - 1;
    memcpy(name, expression, length);
    name[length] = '\0';
}

static lot_status device_error(const lot_device *device, lot_error *error, const char *call, cudaError_t code)
{
    lot_status status = lot_status_of_runtime((int)code, device != NULL);
    const char *hint = "";

    if (status == LOT_DEVICE_FAULT && device != NULL && lot_sensors_lost(device->sensors))
        status = LOT_DEVICE_LOST;
    if (device != NULL &&
        (status == LOT_DEVICE_FAULT || status == LOT_DEVICE_ECC || status == LOT_DEVICE_LOST))
        hint = "; it may come from work queued before this call";
    return lot_error_set(error, status, call, (int64_t)code, "%s: %s: %s%s", call, cudaGetErrorName(code),
                         cudaGetErrorString(code), hint);
}

lot_status lot_cuda_check(const lot_device *device, lot_error *error, const char *expression,
                          cudaError_t code)
{
    char call[sizeof error->call];

    if (code == cudaSuccess)
        return LOT_OK;
    (void)cudaGetLastError();
    call_name(call, sizeof call, expression);
    return device_error(device, error, call, code);
}

/* Where the context has a fault, the library only says that it could not run; and its runtime is a copy of
 * its own, so that ours may not have heard of the fault yet: waiting for the stream brings it out. */
static cudaError_t fault_behind(const lot_device *device, cublasStatus_t code)
{
    cudaError_t behind = cudaGetLastError();

    if (behind == cudaSuccess && device != NULL && lot_status_of_blas((int)code, true) == LOT_DEVICE_FAULT) {
        behind = cudaStreamSynchronize(device->stream);
        (void)cudaGetLastError();
    }
    return behind;
}

/* A kernel of the library is loaded with its first call, into memory that no pool holds. Where that cannot be
 * had, the library may only say that it failed, which accuses the device. */
#define LOADING_BYTES ((size_t)32 << 20)

static bool no_room_to_load(const lot_device *device, lot_status status, size_t *available)
{
    size_t total = 0;

    if (device == NULL || status != LOT_DEVICE_FAULT)
        return false;
    if (cudaMemGetInfo(available, &total) == cudaSuccess)
        return *available < LOADING_BYTES;
    (void)cudaGetLastError();
    return false;
}

lot_status lot_blas_check(const lot_device *device, lot_error *error, const char *expression,
                          cublasStatus_t code)
{
    const lot_status status = lot_status_of_blas((int)code, device != NULL);
    char call[sizeof error->call];
    size_t available = 0;
    cudaError_t behind;

    if (code == CUBLAS_STATUS_SUCCESS)
        return LOT_OK;
    call_name(call, sizeof call, expression);
    behind = fault_behind(device, code);
    if (behind != cudaSuccess)
        return device_error(device, error, call, behind);
    if (no_room_to_load(device, status, &available))
        return lot_error_set(
            error, LOT_DEVICE_MEMORY, call, (int64_t)code,
            "%s: %s with %zu bytes of the device's memory free, into which the library loads its "
            "kernels",
            call, cublasLtGetStatusName(code), available);
    return lot_error_set(error, status, call, (int64_t)code, "%s: %s", call, cublasLtGetStatusName(code));
}
