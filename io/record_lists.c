#include "io/record_lists.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define FIELD(kind, type, member, name)                                                                      \
    {                                                                                                        \
        name, "", "", kind, offsetof(type, member), sizeof((type *)0)->member                                \
    }
#define TABLE(name, rows, type)                                                                              \
    {                                                                                                        \
        name, rows, COUNT(rows), 0, sizeof(type)                                                             \
    }

static const lot_field step_rows[] = {
    FIELD(LOT_KIND_STR, lot_step, step, "step"),
    FIELD(LOT_KIND_F64, lot_step, seconds, "seconds"),
};
/* The status is not among them: it is written by its name. */
static const lot_field failure_rows[] = {
    FIELD(LOT_KIND_STR, lot_failure, phase, "phase"),
    FIELD(LOT_KIND_STR, lot_failure, error.call, "call"),
    FIELD(LOT_KIND_I64, lot_failure, error.code, "code"),
    FIELD(LOT_KIND_STR, lot_failure, error.text, "text"),
};
static const lot_field absent_rows[] = {
    FIELD(LOT_KIND_STR, lot_absent, field, "field"),
    FIELD(LOT_KIND_STR, lot_absent, reason, "reason"),
};
/* Nor are the bits, whose length is not fixed. */
static const lot_field trace_rows[] = {
    FIELD(LOT_KIND_I64, lot_trace, layer, "layer"),
    FIELD(LOT_KIND_I64, lot_trace, row, "row"),
    FIELD(LOT_KIND_I64, lot_trace, elements, "elements"),
};
static const lot_field difference_rows[] = {
    FIELD(LOT_KIND_I64, lot_difference, pass, "pass"),
    FIELD(LOT_KIND_I64, lot_difference, layer, "layer"),
    FIELD(LOT_KIND_I64, lot_difference, row, "row"),
    FIELD(LOT_KIND_I64, lot_difference, element, "element"),
    FIELD(LOT_KIND_I64, lot_difference, bits, "bits"),
};

static const lot_fields step_fields = TABLE("setup", step_rows, lot_step);
static const lot_fields failure_fields = TABLE("errors", failure_rows, lot_failure);
static const lot_fields absent_fields = TABLE("absent", absent_rows, lot_absent);
static const lot_fields trace_fields = TABLE("traces", trace_rows, lot_trace);
static const lot_fields difference_fields = TABLE("differences", difference_rows, lot_difference);

#define LIST(name, keyed, traced, items, count, fields)                                                      \
    {                                                                                                        \
        name, keyed, traced, offsetof(lot_record, items), offsetof(lot_record, count),                       \
            sizeof *((lot_record *)0)->items, fields                                                         \
    }

const lot_record_list lot_record_lists[LOT_RECORD_LISTS] = {
    [LOT_LIST_CONFIGURATION] = LIST("configuration", true, false, configuration, configuration_count, NULL),
    [LOT_LIST_VARIABLES] = LIST("variables", true, false, variables, variable_count, NULL),
    [LOT_LIST_SETUP] = LIST("setup", false, false, setup, setup_count, &step_fields),
    [LOT_LIST_ERRORS] = LIST("errors", false, false, errors, error_count, &failure_fields),
    [LOT_LIST_ABSENT] = LIST("absent", false, false, absent, absent_count, &absent_fields),
    [LOT_LIST_PHASES] = LIST("phases", false, false, phases, phase_count, NULL),
    [LOT_LIST_SAMPLES] = LIST("telemetry_series", false, false, samples, sample_count, NULL),
    [LOT_LIST_TRACES] = LIST("traces", false, true, traces, trace_count, &trace_fields),
    [LOT_LIST_DIFFERENCES] =
        LIST("differences", false, true, differences, difference_count, &difference_fields),
};

lot_fields lot_record_sample_fields(void)
{
    const lot_fields *known = lot_telemetry_fields();

    return (lot_fields){lot_record_lists[LOT_LIST_SAMPLES].name, known->fields, known->count,
                        offsetof(lot_sample, telemetry), known->size};
}
