/* The options of a measurement: what must be the same on every rank, and what is kept of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "measure/config.h"

#define UUID(digit) "GPU-00000000-0000-0000-0000-00000000000" digit
/* Four UUIDs are more than a record keeps of a text. */
#define FOUR_GPUS(last) "cuda:" UUID("1") "," UUID("2") "," UUID("3") "," UUID(last)

/* The configuration of --device host --output a.h5 and one more option, NULL for none, whose value is NULL
 * for a flag. */
static lot_measure_config parsed(const char *option, const char *value)
{
    char *arguments[6] = {(char *)option, (char *)value};
    int count = option == NULL ? 0 : value == NULL ? 1 : 2;
    lot_option_table table = {.config_size = sizeof(lot_measure_config)};
    lot_measure_config config;
    lot_error error = {0};
    bool help;

    if (option == NULL || strcmp(option, "--device") != 0) {
        arguments[count++] = "--device";
        arguments[count++] = "host";
    }
    if (option == NULL || strcmp(option, "--output") != 0) {
        arguments[count++] = "--output";
        arguments[count++] = "a.h5";
    }
    table.rows = lot_measure_options(&table.count);
    if (lot_options_parse(&table, count, arguments, &config, &help, &error) != LOT_OK)
        fail_msg("%s", error.text);
    return config;
}

static uint64_t digest_with(const char *option, const char *value)
{
    const lot_measure_config config = parsed(option, value);

    return lot_measure_config_digest(&config);
}

static void test_other_options_are_another_digest(void **state)
{
    static const struct {
        const char *option, *value;
    } cases[] = {{"--device", "cuda:local"},
                 {"--batch", "2"},
                 {"--context", "64"},
                 {"--width", "512"},
                 {"--hidden", "100"},
                 {"--dtype", "float16"},
                 {"--gelu", "tanh"},
                 {"--math", "tf32"},
                 {"--warmup", "0"},
                 {"--repeats", "11"},
                 {"--seed", "1"},
                 {"--label", "x"},
                 {"--schedule", "solo"},
                 {"--soak", "1s"},
                 {"--memory", "51%"},
                 {"--threads", "1"},
                 {"--tune", "1"},
                 {"--telemetry-hz", "1"},
                 {"--localise", NULL},
                 {"--cold-l2", NULL},
                 {"--allow-shared", NULL},
                 {"--no-numa", NULL},
                 {"--output", "b.h5"},
                 {"--continues", "c.h5"},
                 {"--tariffs", "t.csv"},
                 {"--columns", "gpu=a"},
                 {"--gpu", "H200"},
                 {"--days", "7"},
                 {"--lots", "2"},
                 {"--phase-timeout", "59m"},
                 {"--rank-timeout", "11m"},
                 {"--device", FOUR_GPUS("4")},
                 {"--device", FOUR_GPUS("5")}};
    enum { COUNT = sizeof cases / sizeof cases[0] };
    uint64_t digests[COUNT + 1];

    (void)state;
    digests[COUNT] = digest_with(NULL, NULL);
    for (size_t i = 0; i < COUNT; i++) {
        digests[i] = digest_with(cases[i].option, cases[i].value);
        assert_true(digests[i] == digest_with(cases[i].option, cases[i].value));
    }
    for (size_t i = 0; i <= COUNT; i++)
        for (size_t j = 0; j < i; j++)
            if (digests[i] == digests[j])
                fail_msg("%s %s", cases[j].option, cases[j].value);
}

/* Where a rank keeps its progress, and whether it says how far it is, may differ between the ranks. */
static void test_what_each_rank_may_have_of_its_own_does_not_count(void **state)
{
    (void)state;
    assert_true(digest_with("--spool", "there") == digest_with(NULL, NULL));
    assert_true(digest_with("--quiet", NULL) == digest_with(NULL, NULL));
}

static void test_what_depends_on_other_options(void **state)
{
    static char label[65];
    lot_measure_config config = parsed("--width", "512");
    lot_error error = {0};

    (void)state;
    assert_int_equal(lot_measure_config_complete(&config, &error), LOT_OK);
    assert_int_equal(config.hidden, 2048);
    config = parsed("--width", "536870912"); /* four times that is 2^31 */
    assert_int_equal(lot_measure_config_complete(&config, &error), LOT_USAGE);
    config.hidden = 1;
    assert_int_equal(lot_measure_config_complete(&config, &error), LOT_OK);
    config = parsed("--days", "7");
    assert_int_equal(lot_measure_config_complete(&config, &error), LOT_USAGE);
    config = parsed("--math", "tf32");
    assert_int_equal(lot_measure_config_complete(&config, &error), LOT_OK);
    config.dtype = LOT_FLOAT16;
    assert_int_equal(lot_measure_config_complete(&config, &error), LOT_USAGE);
    memset(label, 'x', sizeof label - 1); /* 64 bytes; a record keeps 63 */
    config = parsed("--label", label);
    assert_int_equal(lot_measure_config_complete(&config, &error), LOT_USAGE);
    config.label = label + 1;
    assert_int_equal(lot_measure_config_complete(&config, &error), LOT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_other_options_are_another_digest),
        cmocka_unit_test(test_what_each_rank_may_have_of_its_own_does_not_count),
        cmocka_unit_test(test_what_depends_on_other_options),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
