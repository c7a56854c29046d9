#include "measure/launch.h"

#include <string.h>

#include "core/options.h"

/* docs/archive-format.md lists the same names with what each changes. */
static const char *const variables[] = {
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CUDA_MODULE_LOADING",
    "CUDA_MODULE_DATA_LOADING",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_CACHE_DISABLE",
    "CUDA_FORCE_PTX_JIT",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_MPS_PIPE_DIRECTORY",
    "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
    "NVIDIA_TF32_OVERRIDE",
    "CUBLAS_WORKSPACE_CONFIG",
    "CUBLASLT_WORKSPACE_SIZE",
    "CUBLASLT_HEURISTICS_CACHE_CAPACITY",
    "CUBLASLT_LOG_LEVEL",
    "CUBLASLT_LOG_MASK",
    "CUBLAS_EMULATE_SINGLE_PRECISION",
    "CUBLAS_EMULATE_DOUBLE_PRECISION",
    "CUBLAS_EMULATION_STRATEGY",
    "CUBLAS_EMULATION_SPECIAL_VALUES_SUPPORT_MASK",
    "CUBLAS_FIXEDPOINT_EMULATION_MANTISSA_BIT_COUNT",
    "OMP_NUM_THREADS",
    "OMP_PROC_BIND",
    "OMP_PLACES",
    "GOMP_CPU_AFFINITY",
    "ONEDNN_MAX_CPU_ISA",
    "DNNL_MAX_CPU_ISA",
    "ONEDNN_DEFAULT_FPMATH_MODE",
    "DNNL_DEFAULT_FPMATH_MODE",
    "SLURM_GPUS_PER_TASK",
    "SLURM_GPUS_ON_NODE",
    "SLURM_STEP_GPUS",
    "SLURM_JOB_GPUS",
};

const char *lot_launch_variable(size_t index)
{
    return index < sizeof variables / sizeof variables[0] ? variables[index] : NULL;
}

typedef struct source {
    lot_environment_reader read;
    void *context;
} source;

/* A count or an index from the environment; -1 where it is not set or is no such number. */
static int number(const source *from, const char *name)
{
    const char *text = from->read(from->context, name);
    int64_t value;

    if (text == NULL || !lot_parse_integer(text, &value) || value < 0 || value > INT32_MAX)
        return -1;
    return (int)value;
}

static void text(const source *from, const char *name, char *destination, size_t size)
{
    const char *value = from->read(from->context, name);

    (void)lot_field_copy(destination, size, value != NULL ? value : "");
}

static void read_slurm(const source *from, lot_launch *launch)
{
    text(from, "SLURM_JOB_ID", launch->slurm_job_id, sizeof launch->slurm_job_id);
    text(from, "SLURM_ARRAY_TASK_ID", launch->slurm_array_task, sizeof launch->slurm_array_task);
    text(from, "SLURM_STEP_ID", launch->slurm_step_id, sizeof launch->slurm_step_id);
    if (launch->slurm_job_id[0] == '\0')
        return;
    launch->slurm_restart_count = number(from, "SLURM_RESTART_COUNT");
    if (launch->slurm_restart_count < 0)
        launch->slurm_restart_count = 0; /* Slurm sets it from the first requeue on */
}

static bool read_open_mpi(const source *from, lot_launch *launch)
{
    const int size = number(from, "OMPI_COMM_WORLD_SIZE");

    if (size < 1)
        return false;
    launch->size = size;
    launch->rank = number(from, "OMPI_COMM_WORLD_RANK");
    launch->local_rank = number(from, "OMPI_COMM_WORLD_LOCAL_RANK");
    launch->local_size = number(from, "OMPI_COMM_WORLD_LOCAL_SIZE");
    (void)lot_field_copy(launch->launcher, sizeof launch->launcher, "mpirun");
    return true;
}

/* Tasks of this node from SLURM_STEP_TASKS_PER_NODE or SLURM_TASKS_PER_NODE, "2(x3),1"; -1 where unreadable.
 */
static int tasks_on_node(const char *list, int node)
{
    while (list != NULL && *list != '\0') {
        int64_t tasks = 0;
        int64_t times = 1;

        if (*list < '0' || *list > '9')
            return -1;
        for (; *list >= '0' && *list <= '9' && tasks < INT32_MAX; list++)
            tasks = 10 * tasks + (*list - '0');
        if (strncmp(list, "(x", 2) == 0) {
            times = 0;
            for (list += 2; *list >= '0' && *list <= '9' && times < INT32_MAX; list++)
                times = 10 * times + (*list - '0');
            if (*list++ != ')')
                return -1;
        }
        if (tasks > INT32_MAX || times > INT32_MAX)
            return -1;
        if (node < times)
            return (int)tasks;
        node -= (int)times;
        if (*list == ',')
            list++;
        else
            break;
    }
    return -1;
}

static bool read_srun(const source *from, lot_launch *launch)
{
    const char *per_node;

    /* Inside a batch script there is a job but no task of a step: the process stands alone. */
    if (launch->slurm_step_id[0] == '\0' || number(from, "SLURM_PROCID") < 0)
        return false;
    launch->rank = number(from, "SLURM_PROCID");
    launch->size = number(from, "SLURM_STEP_NUM_TASKS");
    if (launch->size < 1)
        launch->size = number(from, "SLURM_NTASKS");
    launch->local_rank = number(from, "SLURM_LOCALID");
    launch->slurm_local_id = launch->local_rank;
    launch->slurm_node_id = number(from, "SLURM_NODEID");
    per_node = from->read(from->context, "SLURM_STEP_TASKS_PER_NODE");
    if (per_node == NULL)
        per_node = from->read(from->context, "SLURM_TASKS_PER_NODE");
    launch->local_size = launch->slurm_node_id >= 0 ? tasks_on_node(per_node, launch->slurm_node_id) : -1;
    (void)lot_field_copy(launch->launcher, sizeof launch->launcher, "srun");
    return true;
}

static bool has_process_manager(const source *from)
{
    static const char *const marks[] = {"PMIX_RANK", "PMI_RANK", "PMI_FD", "MPI_LOCALRANKID"};

    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        if (from->read(from->context, marks[i]) != NULL)
            return true;
    return false;
}

static void read_other_mpi(const source *from, lot_launch *launch)
{
    launch->rank = number(from, "PMIX_RANK");
    if (launch->rank < 0)
        launch->rank = number(from, "PMI_RANK");
    launch->size = number(from, "PMI_SIZE");
    launch->local_rank = number(from, "MPI_LOCALRANKID");
    launch->local_size = number(from, "MPI_LOCALNRANKS");
    (void)lot_field_copy(launch->launcher, sizeof launch->launcher, "mpi");
}

lot_status lot_launch_read(lot_environment_reader read, void *context, lot_launch *launch, lot_error *error)
{
    const source from = {read, context};

    memset(launch, 0, sizeof *launch);
    launch->rank = launch->size = launch->local_rank = launch->local_size = -1;
    launch->slurm_node_id = launch->slurm_local_id = launch->slurm_restart_count = -1;
    (void)lot_field_copy(launch->launcher, sizeof launch->launcher, "none");
    text(&from, "CUDA_VISIBLE_DEVICES", launch->visible_devices, sizeof launch->visible_devices);
    launch->visible_devices_set = read(context, "CUDA_VISIBLE_DEVICES") != NULL;
    read_slurm(&from, launch);
    launch->uses_mpi = 1;
    if (read_open_mpi(&from, launch))
        return LOT_OK;
    if (read_srun(&from, launch)) {
        launch->uses_mpi = has_process_manager(&from);
        if (!launch->uses_mpi && launch->size > 1)
            return lot_error_set(error, LOT_LAUNCH, "srun", 0,
                                 "srun started %d tasks without MPI support: use srun --mpi=pmix, or mpirun",
                                 launch->size);
        return LOT_OK;
    }
    if (has_process_manager(&from)) {
        read_other_mpi(&from, launch);
        return LOT_OK;
    }
    launch->uses_mpi = 0;
    launch->rank = launch->local_rank = 0;
    launch->size = launch->local_size = 1;
    return LOT_OK;
}

void lot_launch_identity(const lot_launch *launch, lot_identity *identity)
{
    (void)lot_field_copy(identity->launcher, sizeof identity->launcher, launch->launcher);
    (void)lot_field_copy(identity->visible_devices, sizeof identity->visible_devices,
                         launch->visible_devices);
    (void)lot_field_copy(identity->slurm_job_id, sizeof identity->slurm_job_id, launch->slurm_job_id);
    (void)lot_field_copy(identity->slurm_array_task, sizeof identity->slurm_array_task,
                         launch->slurm_array_task);
    (void)lot_field_copy(identity->slurm_step_id, sizeof identity->slurm_step_id, launch->slurm_step_id);
    identity->slurm_node_id = launch->slurm_node_id;
    identity->slurm_local_id = launch->slurm_local_id;
    identity->slurm_restart_count = launch->slurm_restart_count;
}
