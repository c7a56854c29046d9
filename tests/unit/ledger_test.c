/* The identity ledger and the meeting of one process alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "measure/ledger.h"

static void four_ranks(lot_hello *hellos)
{
    memset(hellos, 0, 4 * sizeof *hellos);
    for (int i = 0; i < 4; i++) {
        hellos[i].vote.rank = i;
        hellos[i].config_digest = 99;
        hellos[i].local_rank = i % 2;
        strcpy(hellos[i].kind, "cuda");
        (void)snprintf(hellos[i].host, sizeof hellos[i].host, "node%d", i / 2);
        (void)snprintf(hellos[i].uuid, sizeof hellos[i].uuid, "GPU-%d", i);
        (void)snprintf(hellos[i].pci_address, sizeof hellos[i].pci_address, "0000:0%d:00.0", i % 2);
        hellos[i].ordinal = 0; /* every rank sees only its own: equal ordinals mean nothing */
    }
}

static void test_distinct_devices_pass(void **state)
{
    lot_hello hellos[4];
    lot_error error;

    (void)state;
    four_ranks(hellos);
    assert_int_equal(lot_ledger_check(hellos, 4, 0, &error), LOT_OK);
    assert_int_equal(lot_ledger_pairs(hellos, 4), 1);
}

static void test_one_device_twice_names_both(void **state)
{
    lot_hello hellos[4];
    lot_error error;

    (void)state;
    four_ranks(hellos);
    strcpy(hellos[3].uuid, "GPU-1");
    assert_int_equal(lot_ledger_check(hellos, 4, 0, &error), LOT_SHARED_DEVICE);
    assert_non_null(strstr(error.text, "rank 1 and rank 3"));
    assert_non_null(strstr(error.text, "GPU-1"));
    assert_non_null(strstr(error.text, ": give each its own, as cuda:local does, or --allow-shared"));
    assert_int_equal(lot_ledger_check(hellos, 4, 1, &error), LOT_OK);
}

static void test_ranks_that_are_shown_one_and_the_same_are_told(void **state)
{
    lot_hello hellos[4];
    lot_error error;

    (void)state;
    four_ranks(hellos);
    strcpy(hellos[1].uuid, "GPU-0");
    hellos[0].visible = hellos[1].visible = 1;
    assert_int_equal(lot_ledger_check(hellos, 4, 0, &error), LOT_SHARED_DEVICE);
    assert_string_equal(error.text,
                        "rank 0 and rank 1 hold the same device, GPU-0 at 0000:00:00.0 on node0, and neither "
                        "sees another: show each rank its own or every rank all devices of its host "
                        "(CUDA_VISIBLE_DEVICES), and start no more ranks than there are, or --allow-shared");
    /* Where one of them sees more, --device is the way out. */
    hellos[1].visible = 2;
    assert_int_equal(lot_ledger_check(hellos, 4, 0, &error), LOT_SHARED_DEVICE);
    assert_null(strstr(error.text, "neither"));
}

static void test_without_uuid_host_and_address_decide(void **state)
{
    lot_hello hellos[4];
    lot_error error;

    (void)state;
    four_ranks(hellos);
    for (int i = 0; i < 4; i++)
        hellos[i].uuid[0] = '\0';
    assert_int_equal(lot_ledger_check(hellos, 4, 0, &error), LOT_OK); /* same address, other hosts */
    strcpy(hellos[1].host, "node1");
    strcpy(hellos[1].pci_address, hellos[0].pci_address);
    assert_int_equal(lot_ledger_check(hellos, 2, 0, &error), LOT_OK); /* also where one follows the other */
    strcpy(hellos[1].host, "node0");
    assert_int_equal(lot_ledger_check(hellos, 4, 0, &error), LOT_SHARED_DEVICE);
    /* Also where ranks of another host with that address come between the two. */
    strcpy(hellos[1].host, "node1");
    strcpy(hellos[2].host, "node0");
    strcpy(hellos[2].pci_address, hellos[0].pci_address);
    assert_int_equal(lot_ledger_check(hellos, 3, 0, &error), LOT_SHARED_DEVICE);
    assert_non_null(strstr(error.text, "rank 0 and rank 2"));
    for (int i = 0; i < 4; i++)
        hellos[i].pci_address[0] = '\0';
    assert_int_equal(lot_ledger_check(hellos, 4, 0, &error), LOT_OK); /* nothing known, nothing claimed */
}

static void test_pairs_of_the_fullest_host(void **state)
{
    static const int pairs[] = {1, 1, 2, 2}; /* of one rank, two, three and four on a host */

    (void)state;
    for (int last = 0; last < 4; last++) {
        lot_hello hellos[4];

        four_ranks(hellos);
        for (int i = 0; i < 4; i++)
            hellos[i].local_rank = i <= last ? i : 0;
        assert_int_equal(lot_ledger_pairs(hellos, 4), pairs[last]);
    }
}

static void test_a_cpu_may_be_shared(void **state)
{
    lot_hello hellos[4];
    lot_error error;

    (void)state;
    four_ranks(hellos);
    for (int i = 0; i < 4; i++) {
        strcpy(hellos[i].kind, "host");
        strcpy(hellos[i].uuid, "HOST-0");
    }
    assert_int_equal(lot_ledger_check(hellos, 4, 0, &error), LOT_OK);
}

static void test_refusals_come_first_and_name_the_rank(void **state)
{
    lot_hello hellos[4];
    lot_error error;

    (void)state;
    four_ranks(hellos);
    hellos[2].config_digest = 1;
    assert_int_equal(lot_ledger_check(hellos, 4, 0, &error), LOT_RANKS_DIFFER);
    assert_non_null(strstr(error.text, "rank 2"));
    hellos[3].vote.status = LOT_NO_DRIVER;
    strcpy(hellos[3].vote.text, "no driver here");
    assert_int_equal(lot_ledger_check(hellos, 4, 0, &error), LOT_NO_DRIVER);
    assert_string_equal(error.text, "rank 3: no driver here");
    hellos[0].vote.status = LOT_OUTPUT;
    strcpy(hellos[0].vote.text, "x.h5 exists already");
    assert_int_equal(lot_ledger_check(hellos, 4, 0, &error), LOT_OUTPUT);
    assert_string_equal(error.text, "x.h5 exists already");
}

static void test_run_ids_differ(void **state)
{
    char one[40], two[40];

    (void)state;
    lot_ledger_run_id(one, sizeof one);
    lot_ledger_run_id(two, sizeof two);
    assert_string_not_equal(one, two);
    assert_int_equal(strlen(one), 16 + 1 + 16);
    assert_int_equal(one[8], 'T');
    assert_int_equal(one[15], 'Z');
}

static void test_one_process_agrees_with_itself(void **state)
{
    lot_team team = {.module = &lot_comm_alone, .limit_seconds = 1};
    lot_error mine = {0};
    lot_error verdict, error;

    (void)state;
    assert_int_equal(team.module->start(&team.comm, &team.facts, &error), LOT_OK);
    assert_int_equal(team.facts.size, 1);
    assert_int_equal(lot_comm_agree(&team, "point", &mine, &verdict, &error), LOT_OK);
    assert_int_equal(verdict.status, LOT_OK);
    (void)lot_error_set(&mine, LOT_INTERRUPTED, "signal", 15, "stopped");
    assert_int_equal(lot_comm_agree(&team, "point", &mine, &verdict, &error), LOT_OK);
    assert_int_equal(verdict.status, LOT_INTERRUPTED);
    assert_string_equal(verdict.text, "stopped");
    assert_int_equal(team.module->stop(team.comm, 1, 0), 1);
}

/* ---- a rank that comes to a meeting and is gone before the answer ---- */

static lot_status with_vote(const lot_error *others, void *all, const void *mine)
{
    lot_vote *votes = all;

    memcpy(&votes[0], mine, sizeof votes[0]);
    lot_comm_vote(&votes[1], 1, others);
    return LOT_OK;
}

static lot_status all_well(lot_comm *comm, const char *point, const void *mine, size_t bytes, void *all,
                           double limit_seconds, lot_error *error)
{
    const lot_error well = {0};

    (void)comm, (void)point, (void)bytes, (void)limit_seconds, (void)error;
    return with_vote(&well, all, mine);
}

static lot_status one_refuses(lot_comm *comm, const char *point, const void *mine, size_t bytes, void *all,
                              double limit_seconds, lot_error *error)
{
    lot_error refusal;

    (void)comm, (void)point, (void)bytes, (void)limit_seconds, (void)error;
    (void)lot_error_set(&refusal, LOT_USAGE, "options", 0, "refused");
    return with_vote(&refusal, all, mine);
}

static lot_status two_refuse(lot_comm *comm, const char *point, const void *mine, size_t bytes, void *all,
                             double limit_seconds, lot_error *error)
{
    lot_error refusal;

    (void)comm, (void)point, (void)bytes, (void)limit_seconds, (void)error;
    (void)lot_error_set(&refusal, LOT_USAGE, "options", 0, "refused");
    lot_comm_vote((lot_vote *)all + 2, 2, &refusal);
    return with_vote(&refusal, all, mine);
}

static lot_status all_hear(lot_comm *comm, const char *point, void *data, size_t bytes, double limit_seconds,
                           lot_error *error)
{
    (void)comm, (void)point, (void)data, (void)bytes, (void)limit_seconds, (void)error;
    return LOT_OK;
}

/* Of equally bad votes the lowest rank's is told. */
static void test_the_first_of_equally_bad(void **state)
{
    const lot_comm_module module = {.gather = two_refuse, .broadcast = all_hear};
    const lot_team team = {.module = &module, .facts = {.rank = 0, .size = 3}, .limit_seconds = 5};
    const lot_error mine = {0};
    lot_error verdict, error;

    (void)state;
    assert_int_equal(lot_comm_agree(&team, "start", &mine, &verdict, &error), LOT_OK);
    assert_string_equal(verdict.text, "rank 1: refused");
}

static lot_status one_was_stopped(lot_comm *comm, const char *point, const void *mine, size_t bytes,
                                  void *all, double limit_seconds, lot_error *error)
{
    lot_error stopped;

    (void)comm, (void)point, (void)bytes, (void)limit_seconds, (void)error;
    (void)lot_error_set(&stopped, LOT_INTERRUPTED, "signal", 15, "stopped by signal 15 to rank 1");
    return with_vote(&stopped, all, mine);
}

/* The same words as where the signal was told between two meetings. */
static void test_a_signal_is_told_as_it_is(void **state)
{
    const lot_comm_module module = {.gather = one_was_stopped, .broadcast = all_hear};
    const lot_team team = {.module = &module, .facts = {.rank = 0, .size = 2}, .limit_seconds = 5};
    const lot_error mine = {0};
    lot_error verdict, error;

    (void)state;
    assert_int_equal(lot_comm_agree(&team, "warm", &mine, &verdict, &error), LOT_OK);
    assert_int_equal(verdict.status, LOT_INTERRUPTED);
    assert_string_equal(verdict.text, "stopped by signal 15 to rank 1");
}

static lot_status nobody_answers(lot_comm *comm, const char *point, void *data, size_t bytes,
                                 double limit_seconds, lot_error *error)
{
    (void)comm, (void)data, (void)bytes;
    return lot_error_set(error, LOT_TIMEOUT, point, 1, "1 of 2 ranks did not come within %g s",
                         limit_seconds);
}

/* It ends no measurement of rank 0's: the meeting took place, and its verdict is that a rank is missing,
 * unless there is a worse one. */
static void test_a_rank_that_leaves_before_the_answer(void **state)
{
    lot_comm_module module = {.gather = all_well, .broadcast = nobody_answers};
    lot_team team = {.module = &module, .facts = {.rank = 0, .size = 2}, .limit_seconds = 5};
    const lot_error mine = {0};
    lot_error verdict, error;

    (void)state;
    assert_int_equal(lot_comm_agree(&team, "verify", &mine, &verdict, &error), LOT_OK);
    assert_int_equal(verdict.status, LOT_TIMEOUT);
    assert_string_equal(verdict.text, "1 of 2 ranks did not come within 5 s");
    module.gather = one_refuses;
    assert_int_equal(lot_comm_agree(&team, "verify", &mine, &verdict, &error), LOT_OK);
    assert_int_equal(verdict.status, LOT_USAGE);
    assert_string_equal(verdict.text, "rank 1: refused");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distinct_devices_pass),
        cmocka_unit_test(test_one_device_twice_names_both),
        cmocka_unit_test(test_ranks_that_are_shown_one_and_the_same_are_told),
        cmocka_unit_test(test_without_uuid_host_and_address_decide),
        cmocka_unit_test(test_pairs_of_the_fullest_host),
        cmocka_unit_test(test_a_cpu_may_be_shared),
        cmocka_unit_test(test_refusals_come_first_and_name_the_rank),
        cmocka_unit_test(test_run_ids_differ),
        cmocka_unit_test(test_one_process_agrees_with_itself),
        cmocka_unit_test(test_the_first_of_equally_bad),
        cmocka_unit_test(test_a_signal_is_told_as_it_is),
        cmocka_unit_test(test_a_rank_that_leaves_before_the_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
