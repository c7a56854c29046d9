/* Who started this process and where it stands among the others: the launcher's environment, read once,
 * before MPI. Pure: the environment is handed in as a function. */
#ifndef GPULOT_MEASURE_LAUNCH_H
#define GPULOT_MEASURE_LAUNCH_H

#include "core/error.h"
#include "core/record.h"

/* Looks a variable up; NULL where it is not set. `getenv` with a context. */
typedef const char *(*lot_environment_reader)(void *context, const char *name);

typedef struct lot_launch {
    char launcher[16];         /* "mpirun", "srun", "mpi" (another MPI launcher) or "none" */
    int uses_mpi;              /* this process is one of several that MPI connects, or may be */
    int rank;                  /* -1 where the launcher does not say before MPI is started */
    int size;                  /* -1 likewise */
    int local_rank;            /* -1 likewise */
    int local_size;            /* -1 likewise */
    char visible_devices[128]; /* CUDA_VISIBLE_DEVICES; "" where it is not set */
    int visible_devices_set;   /* 1 also where it is set and empty: no device */
    char slurm_job_id[16];
    char slurm_array_task[16];
    char slurm_step_id[16];
    int slurm_node_id;       /* -1 unless srun started the rank: mpirun's ranks inherit those of its daemon */
    int slurm_local_id;      /* -1 likewise */
    int slurm_restart_count; /* -1 outside Slurm */
} lot_launch;

/* Fills *launch. Open MPI's variables come first, since ranks that mpirun starts inside a Slurm job inherit
 * SLURM_PROCID and SLURM_LOCALID of the daemon, not of themselves. LOT_LAUNCH where srun started several
 * tasks without MPI support (--mpi=none): each of them would take itself for the only one. */
lot_status lot_launch_read(lot_environment_reader read, void *context, lot_launch *launch, lot_error *error);

/* The variables that can change results and that a record keeps: a documented list, nothing else. Returns the
 * name at `index`, NULL behind the last. */
const char *lot_launch_variable(size_t index);

/* Copies what a record's identity takes from the launch. */
void lot_launch_identity(const lot_launch *launch, lot_identity *identity);

#endif
