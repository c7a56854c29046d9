/* What each code of the CUDA runtime, of cuBLASLt and of NVML is to the program: the one table, by number,
 * for headers of older toolkits lack the newer names. tests/cuda/module/codes_test.py walks every code that
 * the toolkit's headers declare.
 *
 * Two answers where they differ: before the device is open, when a code says that none can be had, and
 * afterwards. LOT_INTERNAL is a call that this program should not have made. */
#ifndef GPULOT_GPU_CUDA_CODES_H
#define GPULOT_GPU_CUDA_CODES_H

/* X(number, name without "cuda", status before open, status afterwards) */
#define LOT_RUNTIME_CODES(X)                                                                                 \
    X(1, ErrorInvalidValue, LOT_INTERNAL, LOT_INTERNAL)                                                      \
    X(2, ErrorMemoryAllocation, LOT_DEVICE_MEMORY, LOT_DEVICE_MEMORY)                                        \
    X(3, ErrorInitializationError, LOT_NO_DRIVER, LOT_NO_DRIVER)                                             \
    X(4, ErrorCudartUnloading, LOT_INTERNAL, LOT_INTERNAL)                                                   \
    X(5, ErrorProfilerDisabled, LOT_INTERNAL, LOT_INTERNAL)                                                  \
    X(6, ErrorProfilerNotInitialized, LOT_INTERNAL, LOT_INTERNAL)                                            \
    X(7, ErrorProfilerAlreadyStarted, LOT_INTERNAL, LOT_INTERNAL)                                            \
    X(8, ErrorProfilerAlreadyStopped, LOT_INTERNAL, LOT_INTERNAL)                                            \
    X(9, ErrorInvalidConfiguration, LOT_INTERNAL, LOT_INTERNAL)                                              \
    X(12, ErrorInvalidPitchValue, LOT_INTERNAL, LOT_INTERNAL)                                                \
    X(13, ErrorInvalidSymbol, LOT_INTERNAL, LOT_INTERNAL)                                                    \
    X(16, ErrorInvalidHostPointer, LOT_INTERNAL, LOT_INTERNAL)                                               \
    X(17, ErrorInvalidDevicePointer, LOT_INTERNAL, LOT_INTERNAL)                                             \
    X(18, ErrorInvalidTexture, LOT_INTERNAL, LOT_INTERNAL)                                                   \
    X(19, ErrorInvalidTextureBinding, LOT_INTERNAL, LOT_INTERNAL)                                            \
    X(20, ErrorInvalidChannelDescriptor, LOT_INTERNAL, LOT_INTERNAL)                                         \
    X(21, ErrorInvalidMemcpyDirection, LOT_INTERNAL, LOT_INTERNAL)                                           \
    X(22, ErrorAddressOfConstant, LOT_INTERNAL, LOT_INTERNAL)                                                \
    X(23, ErrorTextureFetchFailed, LOT_INTERNAL, LOT_INTERNAL)                                               \
    X(24, ErrorTextureNotBound, LOT_INTERNAL, LOT_INTERNAL)                                                  \
    X(25, ErrorSynchronizationError, LOT_INTERNAL, LOT_INTERNAL)                                             \
    X(26, ErrorInvalidFilterSetting, LOT_INTERNAL, LOT_INTERNAL)                                             \
    X(27, ErrorInvalidNormSetting, LOT_INTERNAL, LOT_INTERNAL)                                               \
    X(28, ErrorMixedDeviceExecution, LOT_INTERNAL, LOT_INTERNAL)                                             \
    X(31, ErrorNotYetImplemented, LOT_INTERNAL, LOT_INTERNAL)                                                \
    X(32, ErrorMemoryValueTooLarge, LOT_INTERNAL, LOT_INTERNAL)                                              \
    X(34, ErrorStubLibrary, LOT_NO_DRIVER, LOT_NO_DRIVER)                                                    \
    X(35, ErrorInsufficientDriver, LOT_NO_DRIVER, LOT_NO_DRIVER)                                             \
    X(36, ErrorCallRequiresNewerDriver, LOT_NO_DRIVER, LOT_NO_DRIVER)                                        \
    X(37, ErrorInvalidSurface, LOT_INTERNAL, LOT_INTERNAL)                                                   \
    X(43, ErrorDuplicateVariableName, LOT_INTERNAL, LOT_INTERNAL)                                            \
    X(44, ErrorDuplicateTextureName, LOT_INTERNAL, LOT_INTERNAL)                                             \
    X(45, ErrorDuplicateSurfaceName, LOT_INTERNAL, LOT_INTERNAL)                                             \
    X(46, ErrorDevicesUnavailable, LOT_DEVICE_BUSY, LOT_DEVICE_LOST)                                         \
    X(49, ErrorIncompatibleDriverContext, LOT_INTERNAL, LOT_INTERNAL)                                        \
    X(52, ErrorMissingConfiguration, LOT_INTERNAL, LOT_INTERNAL)                                             \
    X(53, ErrorPriorLaunchFailure, LOT_DEVICE_FAULT, LOT_DEVICE_FAULT)                                       \
    X(65, ErrorLaunchMaxDepthExceeded, LOT_INTERNAL, LOT_INTERNAL)                                           \
    X(66, ErrorLaunchFileScopedTex, LOT_INTERNAL, LOT_INTERNAL)                                              \
    X(67, ErrorLaunchFileScopedSurf, LOT_INTERNAL, LOT_INTERNAL)                                             \
    X(68, ErrorSyncDepthExceeded, LOT_INTERNAL, LOT_INTERNAL)                                                \
    X(69, ErrorLaunchPendingCountExceeded, LOT_INTERNAL, LOT_INTERNAL)                                       \
    X(98, ErrorInvalidDeviceFunction, LOT_UNSUPPORTED, LOT_UNSUPPORTED)                                      \
    X(100, ErrorNoDevice, LOT_NO_DEVICE, LOT_DEVICE_LOST)                                                    \
    X(101, ErrorInvalidDevice, LOT_NO_DEVICE, LOT_DEVICE_LOST)                                               \
    X(102, ErrorDeviceNotLicensed, LOT_UNSUPPORTED, LOT_UNSUPPORTED)                                         \
    X(103, ErrorSoftwareValidityNotEstablished, LOT_NO_DRIVER, LOT_NO_DRIVER)                                \
    X(127, ErrorStartupFailure, LOT_NO_DRIVER, LOT_NO_DRIVER)                                                \
    X(200, ErrorInvalidKernelImage, LOT_UNSUPPORTED, LOT_UNSUPPORTED)                                        \
    X(201, ErrorDeviceUninitialized, LOT_DEVICE_FAULT, LOT_DEVICE_FAULT)                                     \
    X(205, ErrorMapBufferObjectFailed, LOT_INTERNAL, LOT_INTERNAL)                                           \
    X(206, ErrorUnmapBufferObjectFailed, LOT_INTERNAL, LOT_INTERNAL)                                         \
    X(207, ErrorArrayIsMapped, LOT_INTERNAL, LOT_INTERNAL)                                                   \
    X(208, ErrorAlreadyMapped, LOT_INTERNAL, LOT_INTERNAL)                                                   \
    X(209, ErrorNoKernelImageForDevice, LOT_UNSUPPORTED, LOT_UNSUPPORTED)                                    \
    X(210, ErrorAlreadyAcquired, LOT_INTERNAL, LOT_INTERNAL)                                                 \
    X(211, ErrorNotMapped, LOT_INTERNAL, LOT_INTERNAL)                                                       \
    X(212, ErrorNotMappedAsArray, LOT_INTERNAL, LOT_INTERNAL)                                                \
    X(213, ErrorNotMappedAsPointer, LOT_INTERNAL, LOT_INTERNAL)                                              \
    X(214, ErrorECCUncorrectable, LOT_DEVICE_ECC, LOT_DEVICE_ECC)                                            \
    X(215, ErrorUnsupportedLimit, LOT_UNSUPPORTED, LOT_UNSUPPORTED)                                          \
    X(216, ErrorDeviceAlreadyInUse, LOT_DEVICE_BUSY, LOT_DEVICE_BUSY)                                        \
    X(217, ErrorPeerAccessUnsupported, LOT_UNSUPPORTED, LOT_UNSUPPORTED)                                     \
    X(218, ErrorInvalidPtx, LOT_UNSUPPORTED, LOT_UNSUPPORTED)                                                \
    X(219, ErrorInvalidGraphicsContext, LOT_INTERNAL, LOT_INTERNAL)                                          \
    X(220, ErrorNvlinkUncorrectable, LOT_DEVICE_FAULT, LOT_DEVICE_FAULT)                                     \
    X(221, ErrorJitCompilerNotFound, LOT_NO_LIBRARY, LOT_NO_LIBRARY)                                         \
    X(222, ErrorUnsupportedPtxVersion, LOT_NO_DRIVER, LOT_NO_DRIVER)                                         \
    X(223, ErrorJitCompilationDisabled, LOT_UNSUPPORTED, LOT_UNSUPPORTED)                                    \
    X(224, ErrorUnsupportedExecAffinity, LOT_UNSUPPORTED, LOT_UNSUPPORTED)                                   \
    X(225, ErrorUnsupportedDevSideSync, LOT_UNSUPPORTED, LOT_UNSUPPORTED)                                    \
    X(226, ErrorContained, LOT_DEVICE_FAULT, LOT_DEVICE_FAULT)                                               \
    X(300, ErrorInvalidSource, LOT_INTERNAL, LOT_INTERNAL)                                                   \
    X(301, ErrorFileNotFound, LOT_INTERNAL, LOT_INTERNAL)                                                    \
    X(302, ErrorSharedObjectSymbolNotFound, LOT_NO_LIBRARY, LOT_NO_LIBRARY)                                  \
    X(303, ErrorSharedObjectInitFailed, LOT_NO_LIBRARY, LOT_NO_LIBRARY)                                      \
    X(304, ErrorOperatingSystem, LOT_NO_DRIVER, LOT_DEVICE_FAULT)                                            \
    X(400, ErrorInvalidResourceHandle, LOT_INTERNAL, LOT_INTERNAL)                                           \
    X(401, ErrorIllegalState, LOT_INTERNAL, LOT_INTERNAL)                                                    \
    X(402, ErrorLossyQuery, LOT_INTERNAL, LOT_INTERNAL)                                                      \
    X(500, ErrorSymbolNotFound, LOT_INTERNAL, LOT_INTERNAL)                                                  \
    X(600, ErrorNotReady, LOT_INTERNAL, LOT_INTERNAL)                                                        \
    X(700, ErrorIllegalAddress, LOT_DEVICE_FAULT, LOT_DEVICE_FAULT)                                          \
    X(701, ErrorLaunchOutOfResources, LOT_UNSUPPORTED, LOT_UNSUPPORTED)                                      \
    X(702, ErrorLaunchTimeout, LOT_DEVICE_FAULT, LOT_DEVICE_FAULT)                                           \
    X(703, ErrorLaunchIncompatibleTexturing, LOT_INTERNAL, LOT_INTERNAL)                                     \
    X(704, ErrorPeerAccessAlreadyEnabled, LOT_INTERNAL, LOT_INTERNAL)                                        \
    X(705, ErrorPeerAccessNotEnabled, LOT_INTERNAL, LOT_INTERNAL)                                            \
    X(708, ErrorSetOnActiveProcess, LOT_INTERNAL, LOT_INTERNAL)                                              \
    X(709, ErrorContextIsDestroyed, LOT_DEVICE_FAULT, LOT_DEVICE_FAULT)                                      \
    X(710, ErrorAssert, LOT_DEVICE_FAULT, LOT_DEVICE_FAULT)                                                  \
    X(711, ErrorTooManyPeers, LOT_INTERNAL, LOT_INTERNAL)                                                    \
    X(712, ErrorHostMemoryAlreadyRegistered, LOT_INTERNAL, LOT_INTERNAL)                                     \
    X(713, ErrorHostMemoryNotRegistered, LOT_INTERNAL, LOT_INTERNAL)                                         \
    X(714, ErrorHardwareStackError, LOT_DEVICE_FAULT, LOT_DEVICE_FAULT)                                      \
    X(715, ErrorIllegalInstruction, LOT_DEVICE_FAULT, LOT_DEVICE_FAULT)                                      \
    X(716, ErrorMisalignedAddress, LOT_DEVICE_FAULT, LOT_DEVICE_FAULT)                                       \
    X(717, ErrorInvalidAddressSpace, LOT_DEVICE_FAULT, LOT_DEVICE_FAULT)                                     \
    X(718, ErrorInvalidPc, LOT_DEVICE_FAULT, LOT_DEVICE_FAULT)                                               \
    X(719, ErrorLaunchFailure, LOT_DEVICE_FAULT, LOT_DEVICE_FAULT)                                           \
    X(720, ErrorCooperativeLaunchTooLarge, LOT_INTERNAL, LOT_INTERNAL)                                       \
    X(721, ErrorTensorMemoryLeak, LOT_DEVICE_FAULT, LOT_DEVICE_FAULT)                                        \
    X(800, ErrorNotPermitted, LOT_UNSUPPORTED, LOT_UNSUPPORTED)                                              \
    X(801, ErrorNotSupported, LOT_UNSUPPORTED, LOT_UNSUPPORTED)                                              \
    X(802, ErrorSystemNotReady, LOT_NO_DRIVER, LOT_NO_DRIVER)                                                \
    X(803, ErrorSystemDriverMismatch, LOT_NO_DRIVER, LOT_NO_DRIVER)                                          \
    X(804, ErrorCompatNotSupportedOnDevice, LOT_NO_DRIVER, LOT_NO_DRIVER)                                    \
    X(805, ErrorMpsConnectionFailed, LOT_DEVICE_BUSY, LOT_DEVICE_BUSY)                                       \
    X(806, ErrorMpsRpcFailure, LOT_DEVICE_BUSY, LOT_DEVICE_BUSY)                                             \
    X(807, ErrorMpsServerNotReady, LOT_DEVICE_BUSY, LOT_DEVICE_BUSY)                                         \
    X(808, ErrorMpsMaxClientsReached, LOT_DEVICE_BUSY, LOT_DEVICE_BUSY)                                      \
    X(809, ErrorMpsMaxConnectionsReached, LOT_DEVICE_BUSY, LOT_DEVICE_BUSY)                                  \
    X(810, ErrorMpsClientTerminated, LOT_DEVICE_FAULT, LOT_DEVICE_FAULT)                                     \
    X(811, ErrorCdpNotSupported, LOT_UNSUPPORTED, LOT_UNSUPPORTED)                                           \
    X(812, ErrorCdpVersionMismatch, LOT_UNSUPPORTED, LOT_UNSUPPORTED)                                        \
    X(900, ErrorStreamCaptureUnsupported, LOT_INTERNAL, LOT_INTERNAL)                                        \
    X(901, ErrorStreamCaptureInvalidated, LOT_INTERNAL, LOT_INTERNAL)                                        \
    X(902, ErrorStreamCaptureMerge, LOT_INTERNAL, LOT_INTERNAL)                                              \
    X(903, ErrorStreamCaptureUnmatched, LOT_INTERNAL, LOT_INTERNAL)                                          \
    X(904, ErrorStreamCaptureUnjoined, LOT_INTERNAL, LOT_INTERNAL)                                           \
    X(905, ErrorStreamCaptureIsolation, LOT_INTERNAL, LOT_INTERNAL)                                          \
    X(906, ErrorStreamCaptureImplicit, LOT_INTERNAL, LOT_INTERNAL)                                           \
    X(907, ErrorCapturedEvent, LOT_INTERNAL, LOT_INTERNAL)                                                   \
    X(908, ErrorStreamCaptureWrongThread, LOT_INTERNAL, LOT_INTERNAL)                                        \
    X(909, ErrorTimeout, LOT_TIMEOUT, LOT_TIMEOUT)                                                           \
    X(910, ErrorGraphExecUpdateFailure, LOT_INTERNAL, LOT_INTERNAL)                                          \
    X(911, ErrorExternalDevice, LOT_DEVICE_FAULT, LOT_DEVICE_FAULT)                                          \
    X(912, ErrorInvalidClusterSize, LOT_INTERNAL, LOT_INTERNAL)                                              \
    X(913, ErrorFunctionNotLoaded, LOT_INTERNAL, LOT_INTERNAL)                                               \
    X(914, ErrorInvalidResourceType, LOT_INTERNAL, LOT_INTERNAL)                                             \
    X(915, ErrorInvalidResourceConfiguration, LOT_INTERNAL, LOT_INTERNAL)                                    \
    X(999, ErrorUnknown, LOT_DEVICE_FAULT, LOT_DEVICE_FAULT)                                                 \
    X(10000, ErrorApiFailureBase, LOT_INTERNAL, LOT_INTERNAL)

/* X(number, name without "CUBLAS_STATUS_", status before open, status afterwards). Where a context has a
 * fault, the library only says that it could not run. */
#define LOT_BLAS_CODES(X)                                                                                    \
    X(1, NOT_INITIALIZED, LOT_NO_DRIVER, LOT_DEVICE_FAULT)                                                   \
    X(3, ALLOC_FAILED, LOT_DEVICE_MEMORY, LOT_DEVICE_MEMORY)                                                 \
    X(7, INVALID_VALUE, LOT_INTERNAL, LOT_INTERNAL)                                                          \
    X(8, ARCH_MISMATCH, LOT_UNSUPPORTED, LOT_UNSUPPORTED)                                                    \
    X(11, MAPPING_ERROR, LOT_DEVICE_FAULT, LOT_DEVICE_FAULT)                                                 \
    X(13, EXECUTION_FAILED, LOT_DEVICE_FAULT, LOT_DEVICE_FAULT)                                              \
    X(14, INTERNAL_ERROR, LOT_DEVICE_FAULT, LOT_DEVICE_FAULT)                                                \
    X(15, NOT_SUPPORTED, LOT_UNSUPPORTED, LOT_UNSUPPORTED)                                                   \
    X(16, LICENSE_ERROR, LOT_UNSUPPORTED, LOT_UNSUPPORTED)

/* Results of NVML that say something of the whole device. Every other one leaves a field absent, with its
 * reason. X(number, name without "NVML_ERROR_", status) */
#define LOT_NVML_CODES(X)                                                                                    \
    X(15, GPU_IS_LOST, LOT_DEVICE_LOST)                                                                      \
    X(16, RESET_REQUIRED, LOT_DEVICE_FAULT)

#endif
