/* Any lines as the arguments of measure: refused in one line, or every value inside what its option allows.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "measure/bind.h"
#include "measure/config.h"
#include "measure/workload.h"
#include "support/fuzz_text.h"

#define ARGUMENTS_MAX 128

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must_tell(const lot_error *error)
{
    if (error->text[0] == '\0' || strchr(error->text, '\n') != NULL)
        abort();
}

static void must_be_allowed(const lot_measure_config *config)
{
    size_t count;
    const lot_option *options = lot_measure_options(&count);

    for (size_t i = 0; i < count; i++) {
        const void *at = (const char *)config + options[i].offset;

        if (options[i].kind == LOT_OPTION_INTEGER && *(const int64_t *)at != 0 &&
            (*(const int64_t *)at < options[i].least || *(const int64_t *)at > options[i].most))
            abort();
        if ((options[i].kind == LOT_OPTION_NUMBER || options[i].kind == LOT_OPTION_DURATION) &&
            !(*(const double *)at >= 0 && *(const double *)at <= (double)options[i].most))
            abort();
    }
}

/* What a rank does with its options before it loads anything. */
static void use(lot_measure_config *config)
{
    char kind[16];
    lot_model model;
    lot_error error = {0};

    if (lot_measure_config_complete(config, &error) != LOT_OK ||
        lot_bind_parse(config->device, kind, sizeof kind, &error) != LOT_OK ||
        lot_workload_model(config, &model, &error) != LOT_OK)
        must_tell(&error);
    else if (model.flops_per_forward < 1 || model.weight_bytes < 1)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    char *argv[ARGUMENTS_MAX];
    int argc = 0;
    lot_option_table table = {.config_size = sizeof(lot_measure_config)};
    lot_measure_config config;
    lot_error error = {0};
    bool help;

    table.rows = lot_measure_options(&table.count);
    if (text == NULL)
        return 0;
    for (char *line = text; line != NULL && argc < ARGUMENTS_MAX;) {
        char *end = strchr(line, '\n');

        argv[argc++] = line;
        if (end != NULL)
            *end++ = '\0';
        line = end;
    }
    if (lot_options_parse(&table, argc, argv, &config, &help, &error) != LOT_OK) {
        must_tell(&error);
    } else if (!help) {
        must_be_allowed(&config);
        use(&config);
    }
    free(text);
    return 0;
}
