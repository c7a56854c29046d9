/* Errors as the runtime keeps them: the last one per thread, which reading clears; one that ended the context
 * comes back on every call (sim_enter). */
#include "sim_core.h"

#include <stdio.h>

static _Thread_local cudaError_t last_error;

void sim_error_note(cudaError_t error)
{
    if (error != cudaSuccess)
        last_error = error;
}

/* The error that outlives reading: the context's, or the driver's. */
static cudaError_t lasting_error(void)
{
    const sim_device *device = sim_device_at(sim_current_ordinal());

    if (sim_config_get()->gpu_count == 0)
        return last_error;
    return device != NULL ? device->sticky : cudaSuccess;
}

cudaError_t cudaPeekAtLastError(void)
{
    sim_call(__func__);
    return last_error;
}

cudaError_t cudaGetLastError(void)
{
    const cudaError_t error = last_error;

    sim_call(__func__);
    last_error = lasting_error();
    return error;
}

typedef struct error_row {
    cudaError_t code;
    const char *name;
    const char *text;
} error_row;

#define ROW(name, text)                                                                                      \
    {                                                                                                        \
        name, #name, text                                                                                    \
    }

static const error_row rows[] = {
    ROW(cudaSuccess, "no error"),
    ROW(cudaErrorInvalidValue, "invalid argument"),
    ROW(cudaErrorMemoryAllocation, "out of memory"),
    ROW(cudaErrorInitializationError, "initialization error"),
    ROW(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    ROW(cudaErrorInvalidDevicePointer, "invalid device pointer"),
    ROW(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    ROW(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version"),
    ROW(cudaErrorDevicesUnavailable, "CUDA-capable device(s) is/are busy or unavailable"),
    ROW(cudaErrorMissingConfiguration, "__global__ function call is not configured"),
    ROW(cudaErrorInvalidDeviceFunction, "invalid device function"),
    ROW(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    ROW(cudaErrorInvalidDevice, "invalid device ordinal"),
    ROW(cudaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device"),
    ROW(cudaErrorECCUncorrectable, "uncorrectable ECC error encountered"),
#if CUDART_VERSION >= 12080
    ROW(cudaErrorContained, "Invalid access of peer GPU memory over nvlink or a hardware error"),
#endif
    ROW(cudaErrorUnsupportedLimit, "limit is not supported on this architecture"),
    ROW(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    ROW(cudaErrorSymbolNotFound, "named symbol not found"),
    ROW(cudaErrorNotReady, "device not ready"),
    ROW(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    ROW(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    ROW(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    ROW(cudaErrorHostMemoryAlreadyRegistered, "part or all of the requested memory range is already mapped"),
    ROW(cudaErrorHostMemoryNotRegistered, "pointer does not correspond to a registered memory region"),
    ROW(cudaErrorHardwareStackError, "hardware stack error"),
    ROW(cudaErrorIllegalInstruction, "an illegal instruction was encountered"),
    ROW(cudaErrorMisalignedAddress, "misaligned address"),
    ROW(cudaErrorLaunchFailure, "unspecified launch failure"),
    ROW(cudaErrorNotPermitted, "operation not permitted"),
    ROW(cudaErrorNotSupported, "operation not supported"),
    ROW(cudaErrorSystemNotReady, "system not yet initialized"),
    ROW(cudaErrorSystemDriverMismatch, "system has unsupported display driver / cuda driver combination"),
    ROW(cudaErrorCompatNotSupportedOnDevice, "forward compatibility was attempted on non supported HW"),
    ROW(cudaErrorUnknown, "unknown error"),
};

static const error_row *find_row(cudaError_t error)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].code == error)
            return &rows[i];
    return NULL;
}

const char *cudaGetErrorName(cudaError_t error)
{
    const error_row *row = find_row(error);

    return row != NULL ? row->name : "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
    const error_row *row = find_row(error);

    return row != NULL ? row->text : "unrecognized error code";
}
