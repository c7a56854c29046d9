/* From what the runtime and cuBLASLt return to a typed error. */
#include <string.h>

#include "gpu/cuda/cuda_internal.h"

/* Before a device is open, codes 46, 100 and 101 say that none can be had; afterwards, that it has gone. */
static lot_status status_of(cudaError_t code, bool open)
{
    switch ((int)code) {
    case cudaErrorMemoryAllocation:
        return LOT_DEVICE_MEMORY;
    case cudaErrorInitializationError:
    case cudaErrorStubLibrary:
    case cudaErrorInsufficientDriver:
    case cudaErrorCallRequiresNewerDriver:
    case cudaErrorStartupFailure:
    case cudaErrorSystemNotReady:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorCompatNotSupportedOnDevice:
    case cudaErrorUnsupportedPtxVersion:
        return LOT_NO_DRIVER;
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice:
        return open ? LOT_DEVICE_LOST : LOT_NO_DEVICE;
    case cudaErrorDevicesUnavailable:
        return open ? LOT_DEVICE_LOST : LOT_DEVICE_BUSY;
    case cudaErrorMpsConnectionFailed:
    case cudaErrorMpsRpcFailure:
    case cudaErrorMpsServerNotReady:
    case cudaErrorMpsMaxClientsReached:
    case cudaErrorMpsMaxConnectionsReached:
        return LOT_DEVICE_BUSY;
    case cudaErrorECCUncorrectable:
        return LOT_DEVICE_ECC;
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorInvalidKernelImage:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorNotSupported:
        return LOT_UNSUPPORTED;
    case cudaErrorDeviceUninitialized:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorContextIsDestroyed:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case 226: /* cudaErrorContained, since CUDA 12.8 */
    case 721: /* cudaErrorTensorMemoryLeak, since CUDA 12.8 */
    case 810: /* cudaErrorMpsClientTerminated, since CUDA 11.8 */
    case cudaErrorExternalDevice:
    case cudaErrorUnknown:
        return LOT_DEVICE_FAULT;
    default:
        return LOT_INTERNAL;
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
    lot_status status = status_of(code, device != NULL);
    const char *hint = "";

    if (status == LOT_DEVICE_FAULT && device != NULL && lot_sensors_lost(device->sensors))
        status = LOT_DEVICE_LOST;
    if (status == LOT_DEVICE_FAULT || status == LOT_DEVICE_ECC || status == LOT_DEVICE_LOST)
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

static lot_status status_of_blas(cublasStatus_t code)
{
    switch (code) {
    case CUBLAS_STATUS_ALLOC_FAILED:
        return LOT_DEVICE_MEMORY;
    case CUBLAS_STATUS_NOT_INITIALIZED:
        return LOT_NO_DRIVER;
    case CUBLAS_STATUS_ARCH_MISMATCH:
    case CUBLAS_STATUS_NOT_SUPPORTED:
        return LOT_UNSUPPORTED;
    case CUBLAS_STATUS_EXECUTION_FAILED:
        return LOT_DEVICE_FAULT;
    default:
        return LOT_INTERNAL;
    }
}

/* Where the context has a fault, the library only says that it could not run; and its runtime is a copy of
 * its own, so that ours may not have heard of the fault yet: waiting for the stream brings it out. */
static cudaError_t fault_behind(const lot_device *device, cublasStatus_t code)
{
    cudaError_t behind = cudaGetLastError();

    if (behind == cudaSuccess && device != NULL &&
        (code == CUBLAS_STATUS_EXECUTION_FAILED || code == CUBLAS_STATUS_INTERNAL_ERROR)) {
        behind = cudaStreamSynchronize(device->stream);
        (void)cudaGetLastError();
    }
    return behind;
}

lot_status lot_blas_check(const lot_device *device, lot_error *error, const char *expression,
                          cublasStatus_t code)
{
    char call[sizeof error->call];
    cudaError_t behind;

    if (code == CUBLAS_STATUS_SUCCESS)
        return LOT_OK;
    call_name(call, sizeof call, expression);
    behind = fault_behind(device, code);
    if (behind != cudaSuccess)
        return device_error(device, error, call, behind);
    return lot_error_set(error, status_of_blas(code), call, (int64_t)code, "%s: %s", call,
                         cublasLtGetStatusName(code));
}
