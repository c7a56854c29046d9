/* A module that is not the one that its file's name tells: of interface OTHER_ABI, called OTHER_NAME, and
 * empty. */
#include "gpu/device.h"

__attribute__((visibility("default"))) extern const lot_device_module lot_device_table;

const lot_device_module lot_device_table = {
    .abi = OTHER_ABI,
    .size = sizeof(lot_device_module),
    .name = OTHER_NAME,
};
