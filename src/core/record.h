/* One rank's record: everything it measured and knows, in plain data.
 *
 * The fixed part is `lot_record_head`: sections of fields (core/field.h), written as JSON objects and, flat,
 * as one row of the archive's /devices. The lists beside it are written as JSON arrays; the phase rows are
 * also the archive's /phases and, where a device has telemetry, /phase_telemetry. */
#ifndef GPULOT_CORE_RECORD_H
#define GPULOT_CORE_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/facts.h"
#include "core/field.h"

#define LOT_RECORD_SCHEMA         "gpulot.record"
#define LOT_RECORD_SCHEMA_VERSION 1

#define LOT_IDENTITY_FIELDS(X)                                                                               \
    X(I64, rank, 0, "", "position in the run, from 0")                                                       \
    X(I64, size, 0, "", "ranks launched")                                                                    \
    X(STR, run_id, 40, "", "same for all ranks of one run, different for every run")                         \
    X(STR, continues_run_id, 40, "", "the run before this one in the same rental (--continues)")             \
    X(STR, label, 64, "", "words of the user, as given (--label)")                                           \
    X(STR, host, 64, "", "host name")                                                                        \
    X(I64, local_rank, 0, "", "position among the ranks on this host")                                       \
    X(I64, local_size, 0, "", "ranks on this host")                                                          \
    X(STR, launcher, 16, "", "who started the rank: mpirun, srun, mpi (another one) or none")                \
    X(STR, device_spec, 96, "", "the device asked for (--device)")                                           \
    X(STR, binding_reason, 96, "", "why this rank took this device")                                         \
    X(STR, visible_devices, 128, "", "CUDA_VISIBLE_DEVICES as this rank saw it")                             \
    X(I64, visible_count, 0, "", "devices of the kind asked for that this rank could see")                   \
    X(STR, slurm_job_id, 16, "", "Slurm's SLURM_JOB_ID")                                                     \
    X(STR, slurm_array_task, 16, "", "Slurm's SLURM_ARRAY_TASK_ID")                                          \
    X(STR, slurm_step_id, 16, "", "Slurm's SLURM_STEP_ID")                                                   \
    X(I64, slurm_node_id, 0, "", "SLURM_NODEID, under srun only")                                            \
    X(I64, slurm_local_id, 0, "", "SLURM_LOCALID, under srun only")                                          \
    X(I64, slurm_restart_count, 0, "", "SLURM_RESTART_COUNT: times that the job was requeued")

typedef struct lot_identity {
    LOT_FIELDS_DECLARE(LOT_IDENTITY_FIELDS)
} lot_identity;

#define LOT_ENVIRONMENT_FIELDS(X)                                                                            \
    X(STR, tool_version, 24, "", "version of gpulot")                                                        \
    X(STR, mpi_library, 64, "", "MPI library in use; empty where none was started")                          \
    X(STR, hdf5_version, 16, "", "HDF5 library in use")                                                      \
    X(STR, os, 64, "", "operating system")                                                                   \
    X(STR, kernel, 64, "", "kernel release")                                                                 \
    X(STR, cpu_model, 64, "", "CPU as it names itself")                                                      \
    X(I64, cpus_online, 0, "", "CPUs of the host")                                                           \
    X(I64, cpus_bound, 0, "", "CPUs that this rank was given")                                               \
    X(I64, host_memory_bytes, 0, "By", "memory of the host")                                                 \
    X(STR, started_utc, 32, "", "second 0 of the rank's times, within milliseconds; its own host's clock")   \
    X(STR, cpu_numa_nodes, 64, "", "NUMA nodes of the CPUs that this rank may run on while measuring")       \
    X(STR, memory_numa_nodes, 64, "", "NUMA nodes that this rank may take memory from")                      \
    X(I64, device_cpu_distance, 0, "", "largest NUMA distance of these CPUs to the device; 10: same node")   \
    X(I64, device_memory_distance, 0, "",                                                                    \
      "smallest NUMA distance of this memory to the device; 10: same node")

typedef struct lot_environment {
    LOT_FIELDS_DECLARE(LOT_ENVIRONMENT_FIELDS)
} lot_environment;

#define LOT_MODEL_FIELDS(X)                                                                                  \
    X(I64, batch, 0, "", "sequences in one pass (--batch)")                                                  \
    X(I64, context, 0, "", "positions in one sequence (--context)")                                          \
    X(I64, width, 0, "", "features in and out (--width)")                                                    \
    X(I64, hidden, 0, "", "features between the two layers (--hidden)")                                      \
    X(STR, dtype, 12, "", "type of weights, input and output (--dtype)")                                     \
    X(STR, gelu, 8, "", "form of GELU: erf or tanh (--gelu)")                                                \
    X(STR, math, 8, "", "float32 products: ieee or tf32 (--math)")                                           \
    X(I64, seed, 0, "", "seed of weights and input (--seed)")                                                \
    X(I64, generator, 0, "", "version of the definition of weights and inputs (docs/protocol.md)")           \
    X(STR, generator_name, 24, "", "the random numbers of weights and inputs: generator and rounds")         \
    X(I64, warmup, 0, "", "passes before the repeats (--warmup)")                                            \
    X(I64, repeats, 0, "", "warm passes asked for, of each schedule (--repeats)")                            \
    X(I64, parameters, 0, "", "weights and biases")                                                          \
    X(I64, weight_bytes, 0, "By", "weights and biases in memory")                                            \
    X(I64, input_bytes, 0, "By", "the input [batch, context, width]")                                        \
    X(I64, hidden_bytes, 0, "By", "the activation [batch, context, hidden]")                                 \
    X(I64, output_bytes, 0, "By", "the output [batch, context, width]")                                      \
    X(I64, flops_per_forward, 0, "", "multiplications and additions of the two matrix products")

typedef struct lot_model {
    LOT_FIELDS_DECLARE(LOT_MODEL_FIELDS)
} lot_model;

#define LOT_VERIFICATION_FIELDS(X)                                                                           \
    X(STR, digest, 17, "", "digest of the first pass's output, 16 hexadecimal digits")                       \
    X(I64, passes, 0, "", "passes whose whole output was digested")                                          \
    X(I64, memory_bytes, 0, "By", "distinct device memory that was written and read back")                   \
    X(I64, digests_differing, 0, "", "passes whose digest is not the first pass's")                          \
    X(I64, nonfinite_passes, 0, "", "passes with a NaN or an infinity in the output")                        \
    X(I64, reference_rows, 0, "", "output rows compared with the float64 reference")                         \
    X(F64, reference_max_relative_error, 0, "",                                                              \
      "largest abs(y - reference) / majorant; see docs/metrics.md")                                          \
    X(F64, reference_max_bound_ratio, 0, "", "largest abs(y - reference) / bound; above 1 is wrong")         \
    X(BOOL, reference_passed, 0, "", "every compared element lies within its bound")                         \
    X(BOOL, passed, 0, "", "digests equal, all finite, reference passed")

typedef struct lot_verification {
    LOT_FIELDS_DECLARE(LOT_VERIFICATION_FIELDS)
} lot_verification;

#define LOT_OUTCOME_FIELDS(X)                                                                                \
    X(STR, status, 24, "", "ok, or the name of the first error (docs/archive-format.md)")                    \
    X(STR, failed_phase, 24, "", "phase or setup step in which the first error came")                        \
    X(STR, error_text, 256, "", "the first error in one line")                                               \
    X(I64, phase_rows, 0, "", "rows of this rank in /phases")                                                \
    X(I64, warm_rows, 0, "", "warm_forward rows of this rank in /phases")                                    \
    X(F64, warm_median_seconds, 0, "s", "median host_seconds of warm_forward under the last schedule")       \
    X(F64, warm_median_device_seconds, 0, "s",                                                               \
      "median device_seconds of warm_forward under the last schedule")                                       \
    X(F64, elapsed_seconds, 0, "s", "from the rank's start to its last row")

typedef struct lot_outcome {
    LOT_FIELDS_DECLARE(LOT_OUTCOME_FIELDS)
} lot_outcome;

#define LOT_PHASE_FIELDS(X)                                                                                  \
    X(I64, rank, 0, "", "position of the rank in the run, from 0")                                           \
    X(I64, row, 0, "", "position in the rank's rows, from 0")                                                \
    X(STR, phase, 16, "", "model_load, inputs, cold_forward, warmup, warm_forward or soak")                  \
    X(STR, schedule, 12, "", "together, solo or pairs")                                                      \
    X(I64, repeat, 0, "", "index within the phase, from 0, over all schedules")                              \
    X(I64, passes, 0, "", "forward passes in this row; 0: model_load, inputs")                               \
    X(F64, start_seconds, 0, "s", "start of the row since the rank's start")                                 \
    X(F64, host_seconds, 0, "s", "host clock around the synchronised work, summed over the passes")          \
    X(F64, device_seconds, 0, "s",                                                                           \
      "device clock around the work, summed over the passes; null: the device has none")                     \
    X(I64, allocated_start_bytes, 0, "By", "allocated from the pool before")                                 \
    X(I64, reserved_start_bytes, 0, "By", "reserved by the pool before; allocated is part of it")            \
    X(I64, allocated_end_bytes, 0, "By", "allocated after, the output still there")                          \
    X(I64, reserved_end_bytes, 0, "By", "reserved after")                                                    \
    X(I64, allocated_peak_bytes, 0, "By", "highest allocated within")                                        \
    X(I64, reserved_peak_bytes, 0, "By", "highest reserved within")                                          \
    X(I64, device_used_bytes, 0, "By",                                                                       \
      "in use on the whole device after, whoever uses it; null: it does not tell")                           \
    X(STR, digest, 17, "", "digest of the whole output; of the first deviating pass where there is one")     \
    X(I64, digests_differing, 0, "", "passes in this row whose digest is not the rank's first")              \
    X(I64, elements_differing, 0, "", "soak: elements of that pass's output that another pass's lacks")      \
    X(I64, first_element_differing, 0, "", "soak: index of the first element that differs")                  \
    X(BOOL, finite, 0, "", "no NaN and no infinity in the output")

typedef struct lot_phase {
    LOT_FIELDS_DECLARE(LOT_PHASE_FIELDS)
    lot_telemetry telemetry;
} lot_phase;

typedef struct lot_record_head {
    lot_identity identity;
    lot_environment environment;
    lot_device_facts device;
    lot_model synthetic_model;
    lot_plan_facts layer_1;
    lot_plan_facts layer_2;
    lot_verification verification;
    lot_outcome outcome;
} lot_record_head;

/* One documented environment variable that can change results, as this rank saw it. */
typedef struct lot_variable {
    char name[48];
    char value[160];
} lot_variable;

/* What happened outside the phases and how long it took. */
typedef struct lot_step {
    char step[48];
    double seconds;
} lot_step;

typedef struct lot_failure {
    char phase[24]; /* phase or setup step */
    lot_error error;
} lot_failure;

/* The bits of one sampled row of one layer's output, kept to find where GPUs differ (--localise). */
typedef struct lot_trace {
    int64_t layer;    /* 1: after Linear and GELU; 2: the network's output */
    int64_t row;      /* of the layer's output */
    int64_t elements; /* in the row */
    char *bits;       /* owned; hexadecimal, 8 digits an element of float32, 4 of the half types */
} lot_trace;

/* One element of a sampled row that a later pass gave other bits than the first (--localise). */
typedef struct lot_difference {
    int64_t pass; /* from 1; pass 0 is what it differs from */
    int64_t layer;
    int64_t row;
    int64_t element;
    int64_t bits; /* how many bits differ */
} lot_difference;

typedef struct lot_record {
    lot_record_head head;
    lot_setting *configuration;
    size_t configuration_count;
    lot_variable *variables;
    size_t variable_count;
    lot_step *setup;
    size_t setup_count;
    lot_phase *phases;
    size_t phase_count;
    lot_failure *errors;
    size_t error_count;
    lot_absent *absent;
    size_t absent_count;
    lot_sample *samples; /* the optional telemetry series, oldest first */
    size_t sample_count;
    lot_trace *traces;
    size_t trace_count;
    lot_difference *differences;
    size_t difference_count;
} lot_record;

/* The sections of lot_record_head in order, offsets relative to it; *count of them. */
const lot_fields *lot_record_sections(size_t *count);

/* The fields of one phase row without its telemetry, and those of its telemetry (offset within lot_phase). */
const lot_fields *lot_phase_fields(void);
const lot_fields *lot_telemetry_fields(void);

/* An empty record: every field "not measured". */
void lot_record_init(lot_record *record);

/* Frees the lists and makes the record empty again. */
void lot_record_free(lot_record *record);

/* Each appends one zeroed (for phases: "not measured") item and hands it out; NULL where memory ran out. The
 * pointer is valid until the next append to the same list. */
lot_setting *lot_record_add_setting(lot_record *record);
lot_variable *lot_record_add_variable(lot_record *record);
lot_step *lot_record_add_step(lot_record *record);
lot_phase *lot_record_add_phase(lot_record *record);
lot_failure *lot_record_add_error(lot_record *record);
lot_absent *lot_record_add_absent(lot_record *record);
lot_sample *lot_record_add_sample(lot_record *record);
lot_trace *lot_record_add_trace(lot_record *record);
lot_difference *lot_record_add_difference(lot_record *record);

/* Notes an error: appended to the errors, and the first one also in the outcome. */
void lot_record_fail(lot_record *record, const char *phase, const lot_error *error);

/* Where the verification has no digest, fills it from those of the phase rows, as far as these tell: the
 * first pass's digest, the passes that were digested, those that differ from it, and 0 passes that are not
 * finite where all were. For a rank that could not do so itself at its end. */
void lot_record_count_digests(lot_record *record);

/* Fills the outcome's counts and medians from the phase rows; the medians are of the last schedule's warm
 * rows. */
void lot_record_count(lot_record *record);

/* Checks what must hold in every record, before it is written and after it was read: rank within size, known
 * phase names, times and counters not negative, peaks not under their start and end values, allocated not
 * over reserved, strings terminated, row numbers in order, numbers with a unit within LOT_QUANTITY_MOST,
 * no integer below "not measured". LOT_DAMAGED names the first field that does not hold. */
lot_status lot_record_check(const lot_record *record, lot_error *error);

#endif
