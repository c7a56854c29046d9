/* The soak: what it allocates and what it finds. */
#include "support/fake_rank.h"

/* Rows of phase soak, from the back. */
static const lot_phase *soak_row(size_t from_last)
{
    const lot_phase *row = &record.phases[record.phase_count - 1 - from_last];

    assert_string_equal(row->phase, "soak");
    return row;
}

/* From the soak's fourth pass on every output is wrong in one element. In its first row that is found by an
 * output that was right; by the second row all of those are written over, and nothing is left to say it. */
static void test_a_soak_that_goes_wrong_for_good(void **state)
{
    (void)state;
    config.soak_seconds = 1.5;
    config.soak_memory = 0.005; /* nine pairs of buffers */
    fake.flip_run = 2 * (6 + 4);
    fake.flip_on = 1;
    run_all();
    conclude();
    assert_true(soak_row(1)->passes > 2 * 9);
    assert_int_equal(soak_row(1)->digests_differing, soak_row(1)->passes - 3);
    assert_int_equal(soak_row(1)->elements_differing, 1);
    assert_int_equal(soak_row(1)->first_element_differing, 0);
    assert_int_equal(soak_row(0)->digests_differing, soak_row(0)->passes);
    assert_int_equal(soak_row(0)->elements_differing, LOT_NULL_I64);
    assert_int_equal(soak_row(0)->first_element_differing, LOT_NULL_I64);
    /* Weights, input, hidden and output, and nine pairs of an input and an output: 96 bytes each. */
    assert_int_equal(record.head.verification.memory_bytes, 304 + 96 + 192 + 96 + 9 * (96 + 96));
    assert_int_equal(fake.live_bytes, 0);
}

/* Weights, input, hidden and output are 304, 96, 192 and 96 bytes; a pair is an input and an output, each of
 * which takes 256 bytes of the device. */
#define NETWORK (304 + 96 + 192 + 96)
#define PAIR    (96 + 96)

/* A soak that is to fill so little memory has one pair all the same. */
static void test_one_pair_at_least(void **state)
{
    (void)state;
    config.soak_seconds = 0.05;
    config.soak_memory = 1e-6;
    run_all();
    conclude();
    assert_string_equal(record.head.outcome.status, "ok");
    assert_true(soak_row(0)->passes > 1);
    assert_int_equal(record.head.verification.memory_bytes, NETWORK + PAIR);
}

/* Half of 0.5 % of the fake's MiB, as two ranks on one device have it: (2621 - 304 - 192) / (256 + 256)
 * pairs.
 */
static void test_ranks_share_the_memory(void **state)
{
    (void)state;
    config.soak_seconds = 0.05;
    config.soak_memory = 0.005;
    protocol.sharing = 2;
    run_all();
    conclude();
    assert_int_equal(record.head.verification.memory_bytes, NETWORK + 4 * PAIR);
}

/* Where somebody else holds a part of the memory: 9 pairs are wanted, then 7, then 6, and 5 fit. */
static void test_takes_what_it_gets(void **state)
{
    (void)state;
    config.soak_seconds = 0.05;
    config.soak_memory = 0.005;
    fake.bytes_most = 304 + 96 + 192 + 5 * (256 + 256); /* an output of the network's own is freed by then */
    run_all();
    conclude();
    assert_string_equal(record.head.outcome.status, "ok");
    assert_int_equal(record.head.verification.memory_bytes, NETWORK + 5 * PAIR);
    assert_int_equal(fake.live_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_soak_that_goes_wrong_for_good),
        TEST(test_one_pair_at_least),
        TEST(test_ranks_share_the_memory),
        TEST(test_takes_what_it_gets),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
