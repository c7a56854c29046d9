/* Finds and loads a device module. */
#ifndef GPULOT_GPU_LOADER_H
#define GPULOT_GPU_LOADER_H

#include "gpu/device.h"

/* Loads the module for the device kind `name` ("host", "cuda") from, in this order, $GPULOT_MODULE_DIR
 * (alone, where it is set), lib/gpulot beside the program, ../<the installation's lib>/gpulot and
 * ../lib/gpulot. The module stays loaded until the process ends. Four failures: LOT_NO_MODULE (no such file),
 * LOT_NO_LIBRARY (a library that it needs is absent), LOT_MODULE_ABI (of another version); a missing driver
 * or device is found by the module itself. */
lot_status lot_loader_load(const char *name, const lot_device_module **module, lot_error *error);

/* Opens gpulot-<name>.so the same way and hands out the address of its one exported table. */
lot_status lot_loader_symbol(const char *name, const char *symbol, int global, const void **table,
                             lot_error *error);

#endif
