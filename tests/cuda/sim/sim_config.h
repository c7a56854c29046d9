/* What the simulated machine is: read once from GPULOT_CUDASIM_* and never changed.
 *
 * A value that cannot be read, and a variable of that prefix that does not exist, end the process with 98: a
 * test must never pass because its wish was not understood. See README.md for all variables. */
#ifndef GPULOT_SIM_CONFIG_H
#define GPULOT_SIM_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_PREFIX        "GPULOT_CUDASIM_"
#define SIM_MAX_GPUS      16
#define SIM_MAX_SLICES    7
#define SIM_MAX_UNITS     (SIM_MAX_GPUS * SIM_MAX_SLICES)
#define SIM_EXIT_LEAKS    97     /* something was never given back, and LEAKS is set */
#define SIM_EXIT_BAD      98     /* a setting that cannot be understood */
#define SIM_EXIT_REFUSED  99     /* a real driver is present */
#define SIM_PCI_DOMAIN    0x5349 /* "SI": no real machine has this domain */
#define SIM_UUID_TEXT     48
#define SIM_CONTEXT_BYTES (256ull << 20) /* what a context takes outside every pool */

typedef struct sim_gpu {
    int cc_major;
    int cc_minor;
    uint64_t memory_bytes;
    int slices; /* MIG instances; 0 = MIG mode off */
    int pci_bus;
    int numa_node; /* -1: not known */
} sim_gpu;

/* What the runtime can enumerate: a whole GPU (slice -1) or one MIG slice of it. */
typedef struct sim_unit {
    int gpu;
    int slice;
} sim_unit;

typedef struct sim_config {
    int gpu_count; /* 0: a machine without a driver */
    sim_gpu gpus[SIM_MAX_GPUS];
    int unit_count;
    sim_unit units[SIM_MAX_UNITS];
    int visible_count; /* after CUDA_VISIBLE_DEVICES */
    int visible[SIM_MAX_UNITS];
    int rank; /* of this process, from the launcher; -1 without one */
    int multiprocessors;
    int driver_api; /* 13000 */
    bool eager;     /* run work when it is queued, not at the next synchronisation */
    bool quiet;
    bool force; /* simulate beside a real driver too */
    bool leaks;
    uint64_t grain_bytes; /* a pool's used bytes are multiples of this, its reserved bytes of the next */
    uint64_t chunk_bytes;
    double flops_per_second; /* the model behind the device clock */
    double bytes_per_second;
    double link_bytes_per_second;
    double noise; /* relative, uniform, seeded */
    uint64_t seed;
    double pace;          /* the host waits this many model seconds per model second; 0 = not at all */
    const char *log_path; /* NULL = no call log */
} sim_config;

/* The settings; read on the first call. */
const sim_config *sim_config_get(void);

/* The 16 bytes of a device's UUID: "CUDASIM", then the slice + 1, then the GPU. */
void sim_config_uuid(sim_unit unit, unsigned char bytes[16]);

/* The same as the runtime and NVML print it: GPU-... or MIG-.... */
void sim_config_uuid_text(sim_unit unit, char text[SIM_UUID_TEXT]);

/* "SIMULATED ... (not a GPU)". */
void sim_config_name(sim_unit unit, char *text, size_t size);

/* Memory and multiprocessors of a unit: a slice has its share. */
uint64_t sim_config_memory(sim_unit unit);
int sim_config_multiprocessors(sim_unit unit);

/* Prints one line and ends the process with SIM_EXIT_BAD. */
void sim_config_die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* Whole-text readers, for settings; false where the text is not exactly such a value. */
bool sim_parse_integer(const char *text, int64_t *value);
bool sim_parse_number(const char *text, double *value);
bool sim_parse_bytes(const char *text, uint64_t *value); /* 512, 64K, 32M, 80G */

#endif
