/* Several archives judged together: one for each lot of a rental. */
#include "support/checking.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/check_json.h"

#define LOTS 3

/* Three lots of two GPUs each, all honest, on hosts of their own. */
static void make_lots(lot_run *lots)
{
    synthetic_random random = {11};

    for (size_t lot = 0; lot < LOTS; lot++) {
        synthetic_run_make(&lots[lot], 2, 5, 0.02, 1);
        synthetic_run_draw(&lots[lot], &random, 0.02, 0.005, 0.003);
        (void)snprintf(lots[lot].header.run_id, sizeof lots[lot].header.run_id, "run %zu", lot);
        (void)snprintf(lots[lot].header.label, sizeof lots[lot].header.label, "lot %zu", lot);
        for (size_t i = 0; i < 2; i++) {
            lot_record_head *head = &lots[lot].devices[i];

            (void)snprintf(head->device.uuid, sizeof head->device.uuid, "GPU-lot-%zu-%zu", lot, i);
            (void)snprintf(head->identity.host, sizeof head->identity.host, "node%zu", lot);
        }
    }
}

static lot_status check_lots(const lot_run *lots, const lot_check_options *options, lot_check_result *result,
                             lot_error *error)
{
    lot_observed_run observed[LOTS];
    lot_status status;

    for (size_t lot = 0; lot < LOTS; lot++) {
        lot_observed_init(&observed[lot]);
        synthetic_run_observe(&lots[lot], &observed[lot]);
    }
    status = lot_check(observed, LOTS, options, result, error);
    for (size_t lot = 0; lot < LOTS; lot++)
        lot_observed_free(&observed[lot]);
    return status;
}

static void checked_lots(const lot_run *lots, lot_check_result *result)
{
    lot_error error;

    assert_int_equal(LOT_OK, check_lots(lots, &plain, result, &error));
}

static void free_lots(lot_run *lots)
{
    for (size_t lot = 0; lot < LOTS; lot++)
        lot_run_free(&lots[lot]);
}

static size_t index_of(const lot_check_result *r, size_t archive, int64_t rank)
{
    for (size_t i = 0; i < r->device_count; i++)
        if (r->devices[i].archive == archive && r->devices[i].rank == rank)
            return i;
    fail_msg("no rank %lld in archive %zu", (long long)rank, archive);
    return 0;
}

static void peers_across_lots(void **state)
{
    lot_check_result r;
    lot_run lots[LOTS];

    (void)state;
    make_lots(lots);
    checked_lots(lots, &r);
    assert_true(r.all_ok);
    assert_int_equal(LOTS, r.archive_count);
    assert_int_equal(6, r.ranks);
    assert_int_equal(1, r.group_count);
    assert_int_equal(6, r.comparisons[0].devices);
    assert_string_equal("lot 1", r.archives[1].label);
    assert_int_equal(2, r.archives[1].good);
    assert_true(r.elapsed_seconds == 36);
    lot_check_result_free(&r);
    /* A whole lot that is slow has no fault among its own GPUs; the other lots' tell it. */
    synthetic_run_slow(&lots[1], 0, 0.12);
    synthetic_run_slow(&lots[1], 1, 0.12);
    checked_lots(lots, &r);
    for (size_t i = 0; i < r.device_count; i++)
        assert_int_equal(r.devices[i].archive == 1 ? BIT(SLOW) : OK, r.devices[i].verdicts);
    assert_int_equal(0, r.archives[1].good);
    lot_check_result_free(&r);
    free_lots(lots);
}

/* Two against four: the lot that computes something else is named. */
static void digests_across_lots(void **state)
{
    lot_check_result r;
    lot_run lots[LOTS];

    (void)state;
    make_lots(lots);
    set_digest(&lots[2], 0, OTHER);
    set_digest(&lots[2], 1, OTHER);
    checked_lots(lots, &r);
    for (size_t i = 0; i < r.device_count; i++)
        assert_int_equal(r.devices[i].archive == 2 ? BIT(CORRUPT) : OK, r.devices[i].verdicts);
    lot_check_result_free(&r);
    free_lots(lots);
}

static void lost_ranks_of_one_lot(void **state)
{
    lot_check_result r;
    lot_run lots[LOTS];

    (void)state;
    make_lots(lots);
    lots[1].header.ranks = 4;
    checked_lots(lots, &r);
    assert_false(r.all_ok);
    assert_int_equal(8, r.ranks);
    assert_int_equal(2, r.missing);
    assert_int_equal(2, r.archives[1].missing);
    assert_int_equal(1, r.finding_count);
    assert_string_equal("2 of 4 ranks in archive 2 left no record", r.findings[0].text);
    lot_check_result_free(&r);
    free_lots(lots);
}

/* The same GPU in two archives was rented once: it is no peer of itself. */
static void the_same_gpu_twice(void **state)
{
    lot_check_result r;
    lot_run lots[LOTS];

    (void)state;
    make_lots(lots);
    memcpy(lots[2].devices[0].device.uuid, lots[0].devices[1].device.uuid, 48);
    synthetic_run_slow(&lots[2], 0, 0.5); /* whatever it says of itself */
    checked_lots(lots, &r);
    for (size_t i = 0; i < r.device_count; i++)
        assert_int_equal(i == index_of(&r, 2, 0) ? BIT(NOT_MEASURED) : OK, r.devices[i].verdicts);
    assert_int_equal(5, r.comparisons[0].devices);
    assert_string_equal("is the GPU of archive 1 rank 1 once more: a GPU of its own was not measured",
                        r.findings[0].text);
    lot_check_result_free(&r);
    /* The first archive has it, wherever its host stands in the order of names. */
    assert_true(
        lot_field_copy(lots[0].devices[1].identity.host, sizeof lots[0].devices[1].identity.host, "node9"));
    checked_lots(lots, &r);
    assert_int_equal(BIT(NOT_MEASURED), r.devices[index_of(&r, 2, 0)].verdicts);
    assert_int_equal(OK, r.devices[index_of(&r, 0, 1)].verdicts);
    lot_check_result_free(&r);
    /* The reader is told which archive to check where one run goes on from the other. */
    memcpy(lots[2].header.continues_run_id, lots[0].header.run_id, sizeof lots[2].header.continues_run_id);
    checked_lots(lots, &r);
    assert_non_null(strstr(r.findings[0].text, "its run continues that one: check this archive alone"));
    lot_check_result_free(&r);
    /* Over a run between them too. */
    memcpy(lots[2].header.continues_run_id, lots[1].header.run_id, sizeof lots[2].header.continues_run_id);
    memcpy(lots[1].header.continues_run_id, lots[0].header.run_id, sizeof lots[1].header.continues_run_id);
    checked_lots(lots, &r);
    assert_non_null(strstr(r.findings[0].text, "its run continues that one: check this archive alone"));
    lot_check_result_free(&r);
    lots[1].header.continues_run_id[0] = '\0';
    lots[2].header.continues_run_id[0] = '\0';
    memcpy(lots[0].header.continues_run_id, lots[2].header.run_id, sizeof lots[0].header.continues_run_id);
    checked_lots(lots, &r);
    assert_non_null(strstr(r.findings[0].text, "that run continues this one: check that archive alone"));
    lot_check_result_free(&r);
    lots[0].header.continues_run_id[0] = '\0';
    /* Other work on it is another test of it. */
    lots[2].devices[0].synthetic_model.width = 8;
    lots[2].devices[1].synthetic_model.width = 8;
    checked_lots(lots, &r);
    assert_true((r.devices[index_of(&r, 2, 0)].verdicts & BIT(NOT_MEASURED)) == 0);
    lot_check_result_free(&r);
    /* Ranks on a CPU share its UUID. */
    for (size_t lot = 0; lot < LOTS; lot++)
        for (size_t i = 0; i < 2; i++) {
            assert_true(lot_field_copy(lots[lot].devices[i].device.kind, 8, "host"));
            memcpy(lots[lot].devices[i].device.uuid, lots[0].devices[0].device.uuid, 48);
            lots[lot].devices[i].synthetic_model.width = 4096;
        }
    checked_lots(lots, &r);
    assert_int_equal(6, r.comparisons[0].devices);
    lot_check_result_free(&r);
    free_lots(lots);
}

static void refused(void **state)
{
    lot_check_result r;
    lot_error error;
    lot_run lots[LOTS];

    (void)state;
    make_lots(lots);
    lots[2].header.simulated = 1;
    assert_int_equal(LOT_INPUT, check_lots(lots, &plain, &r, &error));
    assert_non_null(strstr(error.text, "simulator"));
    lots[2].header.simulated = 0;
    memcpy(lots[2].header.run_id, lots[0].header.run_id, sizeof lots[0].header.run_id);
    assert_int_equal(LOT_INPUT, check_lots(lots, &plain, &r, &error));
    assert_string_equal("run run 0 is given twice", error.text);
    free_lots(lots);
}

/* Each lot is paid for: 12 s each of 7 days at 1000 cents for two GPUs. */
static void cost_of_lots(void **state)
{
    lot_check_price prices[LOTS] = {{1000, 2, 7}, {1000, 2, 7}, {2000, 4, 7}};
    lot_check_options options = plain;
    lot_check_result r;
    lot_error error;
    lot_run lots[LOTS];

    (void)state;
    make_lots(lots);
    options.prices = prices;
    assert_int_equal(LOT_OK, check_lots(lots, &options, &r, &error));
    assert_true(r.cost.known);
    assert_int_equal(4000, r.cost.total_cents);
    assert_int_equal(8, r.cost.gpus);
    assert_true(r.cost.check_numerator == 5 &&
                r.cost.check_denominator == 63); /* 12000 x 4000 / (7 x 86400000) */
    lot_check_result_free(&r);
    for (size_t i = 0; i < 3; i++) { /* another price for a GPU, other days, none */
        prices[1] = (lot_check_price[]){{1001, 2, 7}, {1000, 2, 8}, {0, 0, 0}}[i];
        assert_int_equal(LOT_OK, check_lots(lots, &options, &r, &error));
        assert_false(r.cost.known);
        assert_true(r.cost.priced == (i < 2));
        lot_check_result_free(&r);
    }
    free_lots(lots);
}

/* Two archives of one rental are paid once, and a GPU that was lost in both is lost once. A third archive
 * that holds one of their GPUs and one of its own says nothing about what was rented. */
static void cost_of_one_rental(void **state)
{
    lot_check_price prices[LOTS] = {{1000, 2, 7}, {1000, 2, 7}, {1000, 2, 7}};
    lot_check_options options = plain;
    lot_check_result r;
    lot_error error;
    lot_run lots[LOTS];

    (void)state;
    make_lots(lots);
    for (int i = 0; i < 2; i++) {
        memcpy(lots[1].devices[i].device.uuid, lots[0].devices[i].device.uuid,
               sizeof lots[0].devices[i].device.uuid);
        memcpy(lots[1].devices[i].synthetic_model.dtype, "float16", 8);
    }
    for (int i = 0; i < 2; i++)
        memcpy(lots[i].devices[1].outcome.status, "lost", 5);
    options.prices = prices;
    assert_int_equal(LOT_OK, check_lots(lots, &options, &r, &error));
    assert_true(r.cost.known);
    assert_int_equal(2000, r.cost.total_cents); /* lots 0 and 1 are one, and lot 2 */
    assert_int_equal(4, r.cost.gpus);
    assert_int_equal(36000, r.cost.check_milliseconds); /* 12 s each */
    assert_int_equal(1000000, r.cost.lost_millionths);
    lot_check_result_free(&r);
    lots[1].header.ranks = 3; /* the rank without a record may be one of its own */
    assert_int_equal(LOT_OK, check_lots(lots, &options, &r, &error));
    assert_false(r.cost.known);
    lot_check_result_free(&r);
    lots[1].header.ranks = 2;
    memcpy(lots[2].devices[0].device.uuid, lots[0].devices[0].device.uuid,
           sizeof lots[0].devices[0].device.uuid);
    assert_int_equal(LOT_OK, check_lots(lots, &options, &r, &error));
    assert_false(r.cost.known);
    lot_check_result_free(&r);
    free_lots(lots);
}

/* The order of the ranks within the archives changes no byte. */
static void order_within_lots(void **state)
{
    static const size_t turned[2] = {1, 0};
    lot_check_result r;
    lot_error error;
    lot_run lots[LOTS];
    char *one = NULL, *other = NULL;

    (void)state;
    make_lots(lots);
    set_digest(&lots[2], 0, OTHER);
    for (size_t lot = 0; lot < LOTS; lot++) /* all look alike but for archive and rank */
        for (size_t i = 0; i < 2; i++)
            lots[lot].devices[i].device = lots[0].devices[0].device;
    for (size_t lot = 0; lot < LOTS; lot++)
        for (size_t i = 0; i < 2; i++)
            (void)lot_field_copy(lots[lot].devices[i].device.kind, 8, "host");
    checked_lots(lots, &r);
    assert_int_equal(LOT_OK, lot_check_json_write(&r, &one, &error));
    lot_check_result_free(&r);
    for (size_t lot = 0; lot < LOTS; lot++)
        synthetic_run_permute(&lots[lot], turned, 1);
    checked_lots(lots, &r);
    assert_int_equal(LOT_OK, lot_check_json_write(&r, &other, &error));
    lot_check_result_free(&r);
    assert_string_equal(one, other);
    free(one);
    free(other);
    free_lots(lots);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peers_across_lots),
        cmocka_unit_test(digests_across_lots),
        cmocka_unit_test(lost_ranks_of_one_lot),
        cmocka_unit_test(the_same_gpu_twice),
        cmocka_unit_test(refused),
        cmocka_unit_test(cost_of_lots),
        cmocka_unit_test(cost_of_one_rental),
        cmocka_unit_test(order_within_lots),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
