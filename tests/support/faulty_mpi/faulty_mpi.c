/* MPI that takes signals for itself while it starts, for tests of what must take them back. Never installed.
 *
 * It is a gpulot-mpi.so in a folder of its own, chosen with GPULOT_MODULE_DIR, that loads the real module and
 * wraps its start. As libfabric before 1.16 within MPI_Init it puts a handler in the place of that for SIGINT
 * and SIGTERM, which afterwards ends the process: libfabric's because it has been unloaded by then. */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "measure/comm.h"

static const lot_comm_module *real; /* there is one process and one table */

static void end_process(int number)
{
    _exit(128 + number);
}

static lot_status start(lot_comm **comm, lot_comm_facts *facts, lot_error *error)
{
    const lot_status status = real->start(comm, facts, error);
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = end_process;
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    return status;
}

/* Filled when the module is loaded; without the real module its ABI stays 0, which is refused. */
__attribute__((visibility("default"))) extern lot_comm_module lot_comm_table;
lot_comm_module lot_comm_table;

__attribute__((constructor)) static void load(void)
{
    void *library = dlopen(REAL_MPI_MODULE, RTLD_NOW | RTLD_LOCAL);

    if (library == NULL) {
        (void)fprintf(stderr, "faulty_mpi: %s\n", dlerror());
        return;
    }
    real = dlsym(library, LOT_COMM_SYMBOL);
    if (real == NULL)
        return;
    lot_comm_table = *real;
    lot_comm_table.start = start;
}
