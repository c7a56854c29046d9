/* Catalogues: what is read, and every fault with its line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/tariffs_csv.h"

#define HEADER "gpu,gpus_per_lot,days,price_cents_usd\n"

/* What a reading gave: its status, and its faults as "LINE: text\n" one after the other. */
typedef struct reading {
    lot_status status;
    lot_error error;
    lot_catalogue catalogue;
    char faults[4096];
} reading;

static void keep_fault(void *context, int64_t line, const char *text)
{
    reading *given = context;
    const size_t used = strlen(given->faults);

    (void)snprintf(given->faults + used, sizeof given->faults - used, "%lld: %s\n", (long long)line, text);
}

static reading *read_bytes(const char *bytes, size_t size, const char *map)
{
    reading *given = calloc(1, sizeof *given);
    lot_tariffs_columns columns;
    const lot_tariffs_reading how = {.columns = &columns, .fault = keep_fault, .context = given};

    assert_non_null(given);
    assert_int_equal(LOT_OK, lot_tariffs_map(map, &columns, &given->error));
    given->status = lot_tariffs_parse("t.csv", bytes, size, &how, &given->catalogue, &given->error);
    assert_true((given->status == LOT_OK) == (given->faults[0] == '\0'));
    return given;
}

static void done(reading *given)
{
    lot_catalogue_free(&given->catalogue);
    free(given);
}

static void expect_faults(const char *text, const char *faults)
{
    reading *given = read_bytes(text, strlen(text), NULL);

    assert_string_equal(faults, given->faults);
    assert_int_equal(faults[0] == '\0' ? LOT_OK : LOT_INPUT, given->status);
    done(given);
}

/* A whole catalogue whose one price to look at, `price`, stands in line 3. */
static void expect_price(const char *price, const char *fault)
{
    char text[512];
    char expected[256] = "";

    (void)snprintf(text, sizeof text, HEADER "A,1,3,5\nA,1,7,%s\nA,1,30,5\n", price);
    if (fault[0] != '\0')
        (void)snprintf(expected, sizeof expected, "3: price_cents_usd '%s' %s\n", price, fault);
    expect_faults(text, expected);
}

static void a_catalogue_is_read(void **state)
{
    static const char text[] = "# title: Summer \n#date: 2026-08-22\n# currency: USD\n# Source: a shop\n"
                               "# is_example: yes\n# anything else: is free\n" HEADER
                               "B200,2,7,228144\nB200,2,3,97776\n# in between\nB200,2,30,977760\n"
                               "\"L4, the \"\"small\"\" one\",1,3,10\n\n"
                               "\"L4, the \"\"small\"\" one\",1,7,20\n\"L4, the \"\"small\"\" one\",1,30,30";
    reading *given = read_bytes(text, strlen(text), NULL);
    const lot_catalogue *catalogue = &given->catalogue;

    (void)state;
    assert_int_equal(LOT_OK, given->status);
    assert_string_equal("Summer", catalogue->title);
    assert_string_equal("2026-08-22", catalogue->snapshot_date);
    assert_string_equal("a shop", catalogue->source);
    assert_true(catalogue->is_example);
    assert_int_equal(2, catalogue->tariff_count);
    assert_int_equal(6, catalogue->rows);
    assert_string_equal("B200", catalogue->tariffs[0].gpu);
    assert_int_equal(2, catalogue->tariffs[0].gpus_per_lot);
    assert_int_equal(97776, catalogue->tariffs[0].lot_price_cents[0]);
    assert_int_equal(228144, catalogue->tariffs[0].lot_price_cents[1]);
    assert_int_equal(977760, catalogue->tariffs[0].lot_price_cents[2]);
    assert_int_equal(9, catalogue->tariffs[0].line[0]);
    assert_int_equal(8, catalogue->tariffs[0].line[1]);
    assert_int_equal(11, catalogue->tariffs[0].line[2]);
    assert_string_equal("L4, the \"small\" one", catalogue->tariffs[1].gpu);
    assert_int_equal(15, catalogue->tariffs[1].line[2]);
    done(given);
}

/* The digest is of the bytes: `printf 'gpu,...' | sha256sum`. */
static void the_digest_is_of_the_bytes(void **state)
{
    static const char text[] = HEADER "A,1,3,1\nA,1,7,2\nA,1,30,3\n";
    reading *given = read_bytes(text, strlen(text), NULL);

    (void)state;
    assert_string_equal("8eaac4d2250444a6f1178a3a26399dc126e68ecc65ef96a5a8ff1707db7843df",
                        given->catalogue.sha256);
    assert_false(given->catalogue.is_example);
    assert_null(given->catalogue.title);
    done(given);
}

static void byte_order_mark_and_crlf_are_accepted(void **state)
{
    (void)state;
    expect_faults("\xEF\xBB\xBF# title: x\r\n" HEADER "A,1,3,1\r\nA,1,7,2\r\n\r\nA,1,30,3\r\n", "");
    expect_faults("\xEF\xBB\xBF" HEADER "A,1,3,1\r\nA,1,7,2\r\nA,1,30,3\r", "");
    expect_faults(HEADER "Gr\xC3\xB6\xC3\x9F"
                         "e,1,3,1\nGr\xC3\xB6\xC3\x9F"
                         "e,1,7,2\nGr\xC3\xB6\xC3\x9F"
                         "e,1,30,3\n",
                  "");
    expect_faults("days,price_cents_usd,gpu,gpus_per_lot\n3,1,A,1\n7,1,A,1\n30,1,A,1\n", "");
}

static void money_is_whole_cents(void **state)
{
    static const char *const dollars[] = {"0.07", "0.29", "1.09", "1.13", "7.0", "1e3",   "0x7",
                                          "+7",   " 7",   "7 ",   "--7",  "-",   "seven", "-0.5"};

    (void)state;
    for (size_t i = 0; i < sizeof dollars / sizeof dollars[0]; i++)
        expect_price(dollars[i], "is not a whole number of cents");
    expect_faults(HEADER "A,1,3,5\nA,1,7,7,5\nA,1,30,5\n",
                  "3: 5 fields where the header has 4\n2: 'A' has no price for 7 days\n");
    expect_price("7", "");
    expect_price("29", "");
    expect_price("109", "");
    expect_price("113", "");
    expect_price("9223372036854775807", "");
    expect_price("9223372036854775808", "is above 9223372036854775807");
    expect_price("99999999999999999999999999", "is above 9223372036854775807");
    expect_price("-1", "is negative");
    expect_price("-9223372036854775809", "is negative");
    expect_price("0", "is zero");
    expect_price("-0", "is zero");
    expect_price("000", "is zero");
    expect_price("007", "begins with a zero");
    expect_price("", "is empty");
}

static void every_fault_is_told_with_its_line(void **state)
{
    (void)state;
    expect_faults(HEADER "A,1,3,1\nA,1,7,2\nA,1,30,3\nA,1,7,9\n",
                  "5: 'A' for 7 days stands in line 3 already\n");
    expect_faults(HEADER "A,1,3,1\nA,1,5,2\nA,1,30,3\n",
                  "3: days '5' is not 3, 7 or 30\n2: 'A' has no price for 7 days\n");
    expect_faults(HEADER "A,1,3,1\nA,2,7,2\nA,1,30,3\n", "3: gpus_per_lot 2 of 'A' differs from 1 before\n");
    expect_faults(HEADER "A,0,3,1\nA,-1,7,2\nA,1.5,30,3\n",
                  "2: gpus_per_lot '0' is zero\n3: gpus_per_lot '-1' is negative\n"
                  "4: gpus_per_lot '1.5' is not a whole number\n");
    expect_faults(HEADER "A,1,3,1\n", "2: 'A' has no price for 7 days\n2: 'A' has no price for 30 days\n");
    expect_faults(HEADER "A,1,x,0\n", "2: days 'x' is not a whole number\n2: price_cents_usd '0' is zero\n"
                                      "2: 'A' has no price for 3 days\n2: 'A' has no price for 7 days\n"
                                      "2: 'A' has no price for 30 days\n");
    expect_faults(HEADER ",1,3,1\n A,1,3,1\nA ,1,3,1\n",
                  "2: gpu is empty\n3: gpu ' A' begins or ends with a blank\n"
                  "4: gpu 'A ' begins or ends with a blank\n");
    expect_faults(HEADER "\"A\nB\",1,3,1\n", "2: gpu 'A?B' holds a line break or a tab\n");
}

static void faults_of_the_header(void **state)
{
    (void)state;
    expect_faults("", "1: the catalogue is empty: there is no header\n");
    expect_faults("# title: x\n\n", "1: the catalogue is empty: there is no header\n");
    expect_faults(HEADER, "1: the catalogue is empty: no row after the header\n");
    expect_faults("gpu,gpus_per_lot,days,price_cents_usd,region\nA,1,3,1,eu\nA,1,7,1,eu\nA,1,30,1,eu\n",
                  "1: unknown column 'region'\n");
    expect_faults("gpu,gpus_per_lot,days\nA,1,3\n", "1: column 'price_cents_usd' is missing\n");
    expect_faults("gpu,gpus_per_lot,days,price_cents_usd,days\nA,1,3,1,3\nA,1,7,1,7\nA,1,30,1,30\n",
                  "1: column 'days' stands twice in the header\n");
    expect_faults("gpu;gpus_per_lot;days;price_cents_usd\nA;1;3;1\n",
                  "1: the header has no comma: 'gpu;gpus_per_lot;days;price_cents_usd'; fields are separated "
                  "by commas\n");
    expect_faults("GPU,gpus_per_lot,days,price_cents_usd\n",
                  "1: unknown column 'GPU'\n1: column 'gpu' is missing\n");
}

static void faults_of_the_comments(void **state)
{
    static const char rows[] = HEADER "A,1,3,1\nA,1,7,2\nA,1,30,3\n";
    static const struct {
        const char *comment;
        const char *fault;
    } cases[] = {
        {"# date: 2026-02-29\n", "1: '# date:' is not a date as YYYY-MM-DD: '2026-02-29'\n"},
        {"# date: 22/08/2026\n", "1: '# date:' is not a date as YYYY-MM-DD: '22/08/2026'\n"},
        {"# currency: EUR\n", "1: '# currency:' is not USD: 'EUR'\n"},
        {"# is_example: maybe\n", "1: '# is_example:' is neither yes nor no: 'maybe'\n"},
        {"# title: a\n# title: b\n", "2: '# title:' stands twice\n"},
        {"# \xFF\n", "1: not UTF-8\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];

        (void)snprintf(text, sizeof text, "%s%s", cases[i].comment, rows);
        expect_faults(text, cases[i].fault);
    }
}

static void faults_of_csv_do_not_hide_later_ones(void **state)
{
    (void)state;
    expect_faults(HEADER "\"A,1,3,1\nB,1,3,0\n",
                  "2: a quote is opened and not closed\n"
                  "3: price_cents_usd '0' is zero\n3: 'B' has no price for 7 days\n"
                  "3: 'B' has no price for 30 days\n");
    expect_faults(HEADER "A\"x,1,3,1\nB,1,3,0\n",
                  "2: a quote where none may stand; a field with quotes is written \"like \"\"this\"\"\"\n"
                  "3: price_cents_usd '0' is zero\n3: 'B' has no price for 7 days\n"
                  "3: 'B' has no price for 30 days\n");
    expect_faults(HEADER "\"A,1,3,1\n\xFF\n", "2: a quote is opened and not closed\n3: not UTF-8\n");
    expect_faults(HEADER "A,1,3,\x01\nA,1\rB,7,1\n", "2: a control character in the line\n"
                                                     "3: a carriage return inside the line\n");
    expect_faults("\xFF\xFEg\0p\0", "1: UTF-16; the file must be saved as UTF-8\n");
    expect_faults("gpu,\"days\n" HEADER, "1: a quote is opened and not closed\n");
}

static void bytes_of_zero_are_a_fault(void **state)
{
    static const char text[] = HEADER "A\0B,1,3,1\n";
    reading *given = read_bytes(text, sizeof text - 1, NULL);

    (void)state;
    assert_string_equal("2: a control character in the line\n", given->faults);
    done(given);
}

/* A row may not be longer than 64 KiB, and what follows it is read. */
static void an_endless_row_is_a_fault(void **state)
{
    const size_t size = 200000;
    char *text = malloc(size + 64);
    reading *given;

    (void)state;
    assert_non_null(text);
    memcpy(text, HEADER, strlen(HEADER));
    memset(text + strlen(HEADER), 'x', size - strlen(HEADER));
    memcpy(text + size, "\nB,1,3,0\n", 10);
    given = read_bytes(text, strlen(text), NULL);
    assert_string_equal("2: a row of more than 65536 bytes; perhaps a quote is opened and not closed\n"
                        "3: price_cents_usd '0' is zero\n3: 'B' has no price for 7 days\n"
                        "3: 'B' has no price for 30 days\n",
                        given->faults);
    done(given);
    free(text);
}

static void what_is_no_catalogue_has_one_fault(void **state)
{
    static const char text[] = "\x89HDF\r\n\x1a\n\xff\n#\xff\nA,1,3,0\n";
    reading *given = read_bytes(text, strlen(text), NULL);

    (void)state;
    assert_string_equal("1: not UTF-8\n", given->faults);
    done(given);
}

static void the_error_tells_the_first_fault_and_how_many(void **state)
{
    static const char text[] = HEADER "A,1,3,0\n";
    reading *given = read_bytes(text, strlen(text), NULL);

    (void)state;
    assert_string_equal("t.csv:2: price_cents_usd '0' is zero (and 2 more)", given->error.text);
    done(given);
}

static void other_header_names_are_mapped(void **state)
{
    static const char text[] =
        "modele,\"gpu, par lot\",jours,prix,region\nA,2,3,1,eu\nA,2,7,1,eu\nA,2,30,1,eu\n";
    reading *given =
        read_bytes(text, strlen(text),
                   "gpu=modele,\"gpus_per_lot=gpu, par lot\",days=jours,price_cents_usd=prix,ignore=region");

    (void)state;
    assert_int_equal(LOT_OK, given->status);
    assert_int_equal(2, given->catalogue.tariffs[0].gpus_per_lot);
    done(given);
    given = read_bytes(text, strlen(text), "gpu=modele,days=jours,price_cents_usd=prix");
    assert_string_equal("1: unknown column 'gpu, par lot'\n1: unknown column 'region'\n"
                        "1: column 'gpus_per_lot' is missing\n",
                        given->faults);
    done(given);
}

static void wrong_maps_are_refused(void **state)
{
    static const char *const maps[] = {
        "gpu",    "gpu=",   "=gpu",    "model=x",       "gpu=a,gpu=b", "gpu=a,days=a", "gpu=days",
        ",gpu=x", "gpu=x,", "gpu=\"x", "gpu=x\ndays=y", "ignore=gpu",  "gpu=\xFF\xFE", "GPU=x"};
    lot_tariffs_columns columns;

    (void)state;
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        lot_error error = {0};

        assert_int_equal(LOT_USAGE, lot_tariffs_map(maps[i], &columns, &error));
        assert_non_null(strstr(error.text, "--columns: "));
    }
}

static void too_many_and_too_long_names_are_refused(void **state)
{
    lot_tariffs_columns columns;
    lot_error error = {0};
    char map[1024] = "";
    char name[200] = "gpu=";

    (void)state;
    for (int i = 0; i < LOT_TARIFFS_COLUMN_IGNORED_MAX; i++) {
        const size_t used = strlen(map);

        (void)snprintf(map + used, sizeof map - used, "%signore=c%d", i == 0 ? "" : ",", i);
    }
    assert_int_equal(LOT_OK, lot_tariffs_map(map, &columns, &error));
    assert_int_equal(LOT_TARIFFS_COLUMN_IGNORED_MAX, columns.ignored_count);
    (void)strcat(map, ",ignore=more");
    assert_int_equal(LOT_USAGE, lot_tariffs_map(map, &columns, &error));
    memset(name + 4, 'x', 95);
    assert_int_equal(LOT_OK, lot_tariffs_map(name, &columns, &error));
    memset(name + 4, 'x', 96);
    assert_int_equal(LOT_USAGE, lot_tariffs_map(name, &columns, &error));
}

static void without_a_map_names_are_the_usual_ones(void **state)
{
    lot_tariffs_columns columns;
    lot_error error = {0};

    (void)state;
    assert_int_equal(LOT_OK, lot_tariffs_map(NULL, &columns, &error));
    assert_string_equal("gpu", columns.name[LOT_TARIFFS_COLUMN_GPU]);
    assert_string_equal("price_cents_usd", columns.name[LOT_TARIFFS_COLUMN_PRICE]);
}

static void many_models_keep_their_prices(void **state)
{
    enum { MODELS = 5000 };
    const size_t room = MODELS * 3 * 40 + 100;
    char *text = malloc(room);
    size_t used;
    reading *given;

    (void)state;
    assert_non_null(text);
    used = (size_t)snprintf(text, room, HEADER);
    for (int period = 0; period < 3; period++)
        for (int i = 0; i < MODELS; i++)
            used += (size_t)snprintf(text + used, room - used, "M%d,%d,%lld,%d\n", i, i % 8 + 1,
                                     (long long)lot_tariff_days((size_t)period), 10 * i + period + 1);
    given = read_bytes(text, used, NULL);
    assert_int_equal(LOT_OK, given->status);
    assert_int_equal(MODELS, given->catalogue.tariff_count);
    for (int i = 0; i < MODELS; i++) {
        char name[16];

        (void)snprintf(name, sizeof name, "M%d", i);
        assert_string_equal(name, given->catalogue.tariffs[i].gpu);
        assert_int_equal(10 * i + 2, given->catalogue.tariffs[i].lot_price_cents[1]);
    }
    done(given);
    free(text);
}

static void files_that_cannot_be_read(void **state)
{
    lot_tariffs_columns columns;
    const lot_tariffs_reading how = {.columns = &columns};
    lot_catalogue catalogue;
    lot_error error = {0};

    (void)state;
    assert_int_equal(LOT_OK, lot_tariffs_map(NULL, &columns, &error));
    assert_int_equal(LOT_INPUT, lot_tariffs_read("/nowhere/t.csv", &how, &catalogue, &error));
    assert_int_equal(LOT_INPUT, lot_tariffs_read("/", &how, &catalogue, &error));
    assert_int_equal(LOT_INPUT, lot_tariffs_read("/dev/null", &how, &catalogue, &error));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_catalogue_is_read),
        cmocka_unit_test(the_digest_is_of_the_bytes),
        cmocka_unit_test(byte_order_mark_and_crlf_are_accepted),
        cmocka_unit_test(money_is_whole_cents),
        cmocka_unit_test(every_fault_is_told_with_its_line),
        cmocka_unit_test(faults_of_the_header),
        cmocka_unit_test(faults_of_the_comments),
        cmocka_unit_test(faults_of_csv_do_not_hide_later_ones),
        cmocka_unit_test(bytes_of_zero_are_a_fault),
        cmocka_unit_test(an_endless_row_is_a_fault),
        cmocka_unit_test(what_is_no_catalogue_has_one_fault),
        cmocka_unit_test(the_error_tells_the_first_fault_and_how_many),
        cmocka_unit_test(other_header_names_are_mapped),
        cmocka_unit_test(wrong_maps_are_refused),
        cmocka_unit_test(too_many_and_too_long_names_are_refused),
        cmocka_unit_test(without_a_map_names_are_the_usual_ones),
        cmocka_unit_test(many_models_keep_their_prices),
        cmocka_unit_test(files_that_cannot_be_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
