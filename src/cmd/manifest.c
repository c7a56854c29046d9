/* gpulot manifest: fingerprints of a folder of results, made once and compared later. */
#include "io/manifest.h"

#include <inttypes.h>
#include <stdio.h>

#include "cmd/command.h"
#include "core/count.h"
#include "io/json_text.h"
#include "io/report.h"

typedef enum manifest_action { ACTION_CREATE, ACTION_VERIFY } manifest_action;

typedef struct manifest_config {
    int action;
    const char *folder;
    bool json;
} manifest_config;

static const lot_option options[] = {
    {.name = "ACTION",
     .kind = LOT_OPTION_CHOICE,
     .flags = LOT_OPTION_REQUIRED,
     .offset = offsetof(manifest_config, action),
     .help = "write DIR/" LOT_MANIFEST_NAME ", or compare DIR with it",
     .choices = "create|verify"},
    {.name = "DIR",
     .kind = LOT_OPTION_TEXT,
     .flags = LOT_OPTION_REQUIRED,
     .offset = offsetof(manifest_config, folder),
     .help = "folder of results"},
    {.name = "--json",
     .kind = LOT_OPTION_FLAG,
     .offset = offsetof(manifest_config, json),
     .help = "print JSON"},
};

static void print_finding(void *context, const char *finding, const char *path, const char *detail)
{
    (void)context;
    lot_report_line(stdout, "%-7s  %s%s%s", finding, path, detail[0] != '\0' ? ": " : "", detail);
}

static void add_finding(void *context, const char *finding, const char *path, const char *detail)
{
    lot_json_text *text = context;

    lot_json_open(text, '{');
    lot_json_member_text(text, "finding", finding);
    lot_json_member_text(text, "path", path);
    lot_json_member_text(text, "detail", detail);
    lot_json_close(text, '}');
}

static void add_summary(lot_json_text *text, const char *folder, const lot_manifest_summary *summary)
{
    lot_json_member_text(text, "folder", folder);
    lot_json_member_integer(text, "files", summary->files);
    lot_json_member_integer(text, "bytes", summary->bytes);
    lot_json_member_text(text, "manifest_sha256", summary->sha256);
}

static lot_status create(const manifest_config *config, lot_error *error)
{
    lot_manifest_summary summary;
    lot_json_text text = {0};
    lot_status status = lot_manifest_create(config->folder, &summary, error);

    if (status != LOT_OK)
        return status;
    if (!config->json) {
        lot_report_line(stdout, "%s/%s: %s, %s; its own SHA-256 is %s", config->folder, LOT_MANIFEST_NAME,
                        lot_count(summary.files, "file").text, lot_count(summary.bytes, "byte").text,
                        summary.sha256);
        return LOT_OK;
    }
    lot_json_open(&text, '{');
    add_summary(&text, config->folder, &summary);
    lot_json_close(&text, '}');
    return lot_json_print(&text, "the manifest", error);
}

static lot_status verify(const manifest_config *config, lot_error *error)
{
    lot_manifest_summary summary;
    lot_json_text text = {0};
    const lot_manifest_listener printer = {.find = print_finding};
    const lot_manifest_listener writer = {.find = add_finding, .context = &text};
    lot_status status, printed;

    if (config->json) {
        lot_json_open(&text, '{');
        lot_json_key(&text, "findings");
        lot_json_open(&text, '[');
    }
    status = lot_manifest_verify(config->folder, config->json ? &writer : &printer, &summary, error);
    if (status != LOT_OK && status != LOT_FLAGGED) {
        lot_json_free(&text);
        return status;
    }
    if (!config->json) {
        printf("%s, %s listed; %s; the manifest's SHA-256 is %s\n", lot_count(summary.files, "file").text,
               lot_count(summary.bytes, "byte").text, lot_count(summary.findings, "finding").text,
               summary.sha256);
        return status;
    }
    lot_json_close(&text, ']');
    add_summary(&text, config->folder, &summary);
    lot_json_close(&text, '}');
    printed = lot_json_print(&text, "the findings", error);
    return printed == LOT_OK ? status : printed;
}

static lot_status run(const void *options_given, lot_error *error)
{
    const manifest_config *config = options_given;

    return config->action == ACTION_CREATE ? create(config, error) : verify(config, error);
}

const lot_command lot_command_manifest = {
    .name = "manifest",
    .summary = "make or verify the fingerprints of a folder of results",
    .synopsis = "create|verify DIR [--json]",
    .description =
        "create writes DIR/manifest.json with SHA-256 and size of every file in DIR and below; the\n"
        "manifest lists itself without a fingerprint. verify names each file that is missing, changed or\n"
        "extra, and exits with status 1 if there is one. Keep the manifest's own SHA-256 elsewhere.",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .config_size = sizeof(manifest_config),
    .run = run,
};
