/* --localise: the rows that are traced, their bits, and where later passes differ. */
#include <stdio.h>

#include "support/fake_rank.h"

/* Runs up to the localisation, which then begins: its first layer is run number `fake.runs` + 1. */
static void begin(void)
{
    lot_error error;

    config.localise = true;
    for (int group = 0; group < LOT_GROUP_LOCALISE; group++)
        assert_int_equal(run((lot_group)group, &error), LOT_OK);
    fake.known_run = fake.runs + 1;
}

static void localise(void)
{
    lot_error error;

    assert_int_equal(run(LOT_GROUP_LOCALISE, &error), LOT_OK);
    conclude();
}

/* As many hexadecimal digits as a float32 has, the most significant first: what printf makes of its bits. */
static void expect_bits(const lot_trace *trace, int run_number)
{
    for (int64_t element = 0; element < trace->elements; element++) {
        const float value = fake_output(run_number, trace->row, element);
        uint32_t bits;
        char text[9];

        memcpy(&bits, &value, sizeof bits);
        (void)snprintf(text, sizeof text, "%08x", bits);
        assert_memory_equal(trace->bits + 8 * element, text, 8);
    }
    assert_int_equal(strlen(trace->bits), 8 * trace->elements);
}

/* Six rows are few enough to be traced all, of both layers. */
static void test_every_row_and_its_bits(void **state)
{
    int first_run;

    (void)state;
    begin();
    first_run = fake.known_run;
    localise();
    assert_int_equal(record.difference_count, 0);
    assert_int_equal(record.trace_count, 12);
    for (int64_t i = 0; i < 12; i++) {
        const lot_trace *trace = &record.traces[i];

        assert_int_equal(trace->layer, i < 6 ? 1 : 2);
        assert_int_equal(trace->row, i % 6);
        assert_int_equal(trace->elements, i < 6 ? 8 : 4);
        expect_bits(trace, first_run + (i < 6 ? 0 : 1));
    }
}

/* Of 46 rows 16, three apart, from the first to the last. */
static void test_many_rows_are_sampled_evenly(void **state)
{
    (void)state;
    begin();
    localise();
    assert_int_equal(record.trace_count, 32);
    for (int64_t i = 0; i < 16; i++) {
        assert_int_equal(record.traces[i].row, 3 * i);
        assert_int_equal(record.traces[16 + i].row, 3 * i);
    }
}

/* The second layer of the third pass gets a flipped bit in its first element. */
static void test_one_bit_of_one_pass(void **state)
{
    const lot_difference *found;

    (void)state;
    begin();
    fake.flip_run = fake.runs + 2 * 3;
    localise();
    assert_int_equal(record.difference_count, 1);
    found = record.differences;
    assert_int_equal(found->pass, 2);
    assert_int_equal(found->layer, 2);
    assert_int_equal(found->row, 0);
    assert_int_equal(found->element, 0);
    assert_int_equal(found->bits, 1);
}

/* A pass of which everything differs: the list ends after 64, in the order of layers, rows and elements. */
static void test_the_list_is_bounded(void **state)
{
    (void)state;
    begin();
    fake.known_run = fake.runs + 3; /* the second pass: 6 * 8 and 6 * 4 elements */
    localise();
    assert_int_equal(record.difference_count, 64);
    assert_int_equal(record.differences[47].layer, 1);
    assert_int_equal(record.differences[47].row, 5);
    assert_int_equal(record.differences[47].element, 7);
    assert_int_equal(record.differences[63].layer, 2);
    assert_int_equal(record.differences[63].row, 3);
    assert_int_equal(record.differences[63].element, 3);
}

static int setup_46_rows(void **state)
{
    (void)state;
    return start_rank(23, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_every_row_and_its_bits),
        cmocka_unit_test_setup_teardown(test_many_rows_are_sampled_evenly, setup_46_rows, teardown),
        TEST(test_one_bit_of_one_pass),
        TEST(test_the_list_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
