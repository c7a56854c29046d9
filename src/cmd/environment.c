/* gpulot environment: what this machine offers, as JSON. */
#include <stdlib.h>
#include <string.h>

#include "cmd/command.h"
#include "core/record.h"
#include "gpu/loader.h"
#include "io/archive_h5.h"
#include "io/json_text.h"
#include "io/record_json.h"
#include "measure/bind.h"
#include "measure/comm.h"
#include "measure/host.h"
#include "measure/launch.h"
#include "measure/protocol.h"

typedef struct environment_config {
    const char *device;
    double timeout_seconds;
    bool json;
} environment_config;

static const lot_option options[] = {
    {.name = "--device",
     .argument = "SPEC",
     .kind = LOT_OPTION_TEXT,
     .offset = offsetof(environment_config, device),
     .help = "look for devices of this kind too: host, cuda:local, cuda:N, ..."},
    {.name = "--timeout",
     .argument = "TIME",
     .fallback = "2m",
     .kind = LOT_OPTION_DURATION,
     .most = 86400,
     .offset = offsetof(environment_config, timeout_seconds),
     .help = "longest that the driver may take to list its devices"},
    {.name = "--json",
     .kind = LOT_OPTION_FLAG,
     .offset = offsetof(environment_config, json),
     .help = "accepted as by other commands; the answer is always JSON"},
};

/* The fields of one of the record's sections that are known; `record` is where the section's struct lies. */
static void section_members(lot_json_text *json, const char *section, const void *record)
{
    size_t count;
    const lot_fields *sections = lot_record_sections(&count);

    for (size_t i = 0; i < count; i++)
        for (size_t f = 0; strcmp(sections[i].name, section) == 0 && f < sections[i].count; f++)
            if (!lot_field_is_null(&sections[i].fields[f], record))
                lot_json_field(json, &sections[i].fields[f], record);
}

static void write_mpi(lot_json_text *json)
{
    const void *table = NULL;
    const lot_comm_module *module;
    char name[64] = "";
    lot_error error = {0};

    if (lot_loader_symbol("mpi", LOT_COMM_SYMBOL, 0, &table, &error) == LOT_OK) {
        module = table;
        if (module->abi == LOT_COMM_ABI && module->size == sizeof *module)
            module->library(name, sizeof name);
        else
            (void)lot_error_set(&error, LOT_MODULE_ABI, "dlopen", 0, "the module mpi is of another version");
    }
    lot_json_member_text(json, "mpi_library", name);
    lot_json_member_text(json, "mpi_reason", error.text);
}

static void write_host(lot_json_text *json, const lot_environment *environment)
{
    char host[64], cpus[128];

    lot_host_name(host, sizeof host);
    (void)lot_host_cpus(cpus, sizeof cpus);
    lot_json_key(json, "host");
    lot_json_open(json, '{');
    lot_json_member_text(json, "name", host);
    lot_json_member_text(json, "cpu_list", cpus);
    section_members(json, "environment", environment);
    lot_json_close(json, '}');
}

static void write_variables(lot_json_text *json)
{
    const char *name;

    lot_json_key(json, "variables");
    lot_json_open(json, '{');
    for (size_t i = 0; (name = lot_launch_variable(i)) != NULL; i++) {
        const char *value = getenv(name);

        if (value != NULL)
            lot_json_member_text(json, name, value);
    }
    lot_json_close(json, '}');
}

/* A list of null devices means that nobody looked; an empty one that there is none. */
static void write_devices(lot_json_text *json, const lot_device_list *list, const lot_error *error)
{
    lot_json_member_text(json, "device_driver_version", list->driver_version);
    lot_json_member_text(json, "device_runtime_version", list->runtime_version);
    lot_json_member_text(json, "device_library_version", list->library_version);
    lot_json_key(json, "devices");
    if (error->text[0] != '\0') {
        lot_json_null(json);
    } else {
        lot_json_open(json, '[');
        for (size_t i = 0; i < list->count; i++) {
            lot_json_open(json, '{');
            section_members(json, "device", &list->devices[i]);
            lot_json_close(json, '}');
        }
        lot_json_close(json, ']');
    }
    lot_json_member_text(json, "devices_reason", error->text);
}

/* What was found. Where the driver did not answer in time, it may write there yet. */
typedef struct finding {
    lot_list_request request;
    lot_device_list list;
} finding;

/* A device that is not available is a valid answer: *why then says why. LOT_TIMEOUT where the driver does not
 * answer. */
static lot_status look_for_devices(const environment_config *config, finding *found, lot_error *why)
{
    const lot_watch watch = {.limit_seconds = config->timeout_seconds};
    lot_worker *worker = NULL;
    char kind[16];
    lot_status status;

    if (config->device == NULL)
        return lot_error_set(why, LOT_OK, "--device", 0,
                             "nobody looked: ask with --device cuda:local or --device host");
    found->request.list = &found->list;
    status = lot_bind_parse(config->device, kind, sizeof kind, why);
    if (status == LOT_OK)
        status = lot_loader_load(kind, &found->request.module, why);
    if (status == LOT_OK)
        status = lot_worker_start(&worker, why);
    if (status == LOT_OK)
        status = lot_worker_run(worker, lot_protocol_list, &found->request, &watch, why);
    lot_worker_stop(worker);
    return status;
}

static lot_status write_answer(const lot_device_list *list, const lot_error *why, lot_error *error)
{
    lot_json_text json = {0};
    lot_record record;
    char hdf5[16];

    lot_record_init(&record);
    lot_host_environment(&record.head.environment);
    lot_archive_hdf5_version(hdf5, sizeof hdf5);
    lot_json_open(&json, '{');
    lot_json_member_text(&json, "tool", "gpulot " GPULOT_VERSION);
    write_mpi(&json);
    lot_json_member_text(&json, "hdf5_version", hdf5);
    write_devices(&json, list, why);
    write_host(&json, &record.head.environment);
    write_variables(&json);
    lot_json_close(&json, '}');
    return lot_json_print(&json, "the answer", error);
}

static lot_status run(const void *options_given, lot_error *error)
{
    static const lot_device_list none;
    const environment_config *config = options_given;
    char kind[16];
    lot_error why = {0};
    finding *found;
    lot_status looked, status;

    if (config->device != NULL && lot_bind_parse(config->device, kind, sizeof kind, error) != LOT_OK)
        return error->status;
    found = calloc(1, sizeof *found);
    if (found == NULL)
        return lot_error_set(error, LOT_MEMORY, "calloc", 0, "no memory for the list of devices");
    looked = look_for_devices(config, found, &why);
    status = write_answer(looked == LOT_TIMEOUT ? &none : &found->list, &why, error);
    if (looked != LOT_TIMEOUT)
        free(found);
    else if (status == LOT_OK)
        status = (*error = why).status;
    return status;
}

const lot_command lot_command_environment = {
    .name = "environment",
    .summary = "what this machine offers, as JSON",
    .synopsis = "[--device SPEC]",
    .description =
        "Prints versions, host, CPU, the documented variables that change results and, with --device, the\n"
        "devices that this process can see. A device that is not available is a valid answer, with the\n"
        "reason in devices_reason and exit status 0; a driver that does not answer is reported in the\n"
        "same way with exit status 1. Starts no MPI; records no user name, home folder or command line.",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .config_size = sizeof(environment_config),
    .run = run,
};
