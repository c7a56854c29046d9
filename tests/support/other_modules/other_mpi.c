/* A module mpi of the next interface, and empty. */
#include "measure/comm.h"

__attribute__((visibility("default"))) extern const lot_comm_module lot_comm_table;

const lot_comm_module lot_comm_table = {.abi = LOT_COMM_ABI + 1, .size = sizeof(lot_comm_module)};
