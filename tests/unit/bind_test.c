/* Which device a rank takes, for every form of spec and every refusal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure/bind.h"

#define UUID_0 "GPU-00000000-1111-2222-3333-4444444444a0"
#define UUID_2 "GPU-00000000-1111-2222-3333-4444444444a2"
#define MIG_1  "MIG-00000000-1111-2222-3333-4444444444a1"

/* `count` devices, their UUIDs ending in a0, a1, ... */
static lot_device_list *devices(size_t count)
{
    lot_device_list *list = calloc(1, sizeof *list);

    assert_non_null(list);
    list->count = count;
    for (size_t i = 0; i < count; i++)
        (void)snprintf(list->devices[i].uuid, sizeof list->devices[i].uuid,
                       "GPU-00000000-1111-2222-3333-4444444444%02x", 0xa0u + (unsigned)(i & 63));
    return list;
}

typedef struct choice {
    lot_status status;
    int ordinal;
    char reason[96];
    lot_error error;
} choice;

static choice choose(const char *spec, int local_rank, int local_size, int allow_shared, size_t visible)
{
    lot_device_list *list = devices(visible);
    const lot_bind_rank rank = {spec, local_rank, local_size, allow_shared != 0};
    choice result = {.ordinal = -7};

    result.status =
        lot_bind_choose(&rank, list, &result.ordinal, result.reason, sizeof result.reason, &result.error);
    free(list);
    return result;
}

static void test_parse_names_the_module(void **state)
{
    static const char *const good[] = {"cuda:local", "cuda:0", "cuda:3,1,2", "cuda:" UUID_0,
                                       "cuda:" UUID_0 "," MIG_1};
    char kind[16];
    lot_error error;

    (void)state;
    assert_int_equal(lot_bind_parse("host", kind, sizeof kind, &error), LOT_OK);
    assert_string_equal(kind, "host");
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_int_equal(lot_bind_parse(good[i], kind, sizeof kind, &error), LOT_OK);
        assert_string_equal(kind, "cuda");
    }
}

static void test_parse_refuses_other_forms(void **state)
{
    static const char *const bad[] = {"",           "auto",     "cuda",      "cuda:",      "cuda:-1",
                                      "cuda:0,",    "cuda:,0",  "cuda:0,,1", "cuda:1x",    "cuda:local0",
                                      "CUDA:0",     "host:0",   "cuda:+1",   "cuda:99999", "cuda:GPU-12",
                                      "cuda:gpu-0", "cuda:0, 1"};
    char kind[16] = "untouched";
    lot_error error;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(lot_bind_parse(bad[i], kind, sizeof kind, &error), LOT_USAGE);
        assert_string_equal(kind, "untouched");
        assert_non_null(strstr(error.text, "cuda:local"));
    }
}

static void test_parse_refuses_wrong_uuid_digits(void **state)
{
    char kind[16];
    lot_error error;

    (void)state;
    assert_int_equal(
        lot_bind_parse("cuda:GPU-0000000g-1111-2222-3333-4444444444a0", kind, sizeof kind, &error),
        LOT_USAGE);
    assert_int_equal(
        lot_bind_parse("cuda:GPU-00000000-1111-2222-33334-444444444a0", kind, sizeof kind, &error),
        LOT_USAGE);
}

static void test_parse_refuses_too_many_items(void **state)
{
    char spec[512] = "cuda:0";
    char kind[16];
    lot_error error;

    (void)state;
    for (int i = 0; i < 64; i++)
        (void)strcat(spec, ",1");
    assert_int_equal(lot_bind_parse(spec, kind, sizeof kind, &error), LOT_USAGE);
    assert_non_null(strstr(error.text, "64"));
}

static void test_host(void **state)
{
    const choice result = choose("host", 5, 8, 0, 1);

    (void)state;
    assert_int_equal(result.status, LOT_OK);
    assert_int_equal(result.ordinal, 0);
}

static void test_local_where_all_see_all(void **state)
{
    (void)state;
    for (int rank = 0; rank < 8; rank++) {
        const choice result = choose("cuda:local", rank, 8, 0, 8);

        assert_int_equal(result.status, LOT_OK);
        assert_int_equal(result.ordinal, rank);
        assert_non_null(strstr(result.reason, "visible devices 8"));
    }
}

static void test_local_where_the_launcher_shows_one_each(void **state)
{
    const choice result = choose("cuda:local", 3, 4, 0, 1);

    (void)state;
    assert_int_equal(result.status, LOT_OK);
    assert_int_equal(result.ordinal, 0);
}

static void test_local_with_more_ranks_than_devices(void **state)
{
    choice result = choose("cuda:local", 0, 5, 0, 4);

    (void)state;
    assert_int_equal(result.status, LOT_SHARED_DEVICE);
    assert_non_null(strstr(result.error.text, "5 ranks"));
    assert_non_null(strstr(result.error.text, "4 visible"));
    assert_non_null(strstr(result.error.text, "--allow-shared"));
    assert_int_equal(result.ordinal, -7);
    result = choose("cuda:local", 4, 5, 1, 4);
    assert_int_equal(result.status, LOT_OK);
    assert_int_equal(result.ordinal, 0);
}

static void test_one_ordinal(void **state)
{
    choice result = choose("cuda:2", 0, 1, 0, 4);

    (void)state;
    assert_int_equal(result.status, LOT_OK);
    assert_int_equal(result.ordinal, 2);
    result = choose("cuda:7", 0, 1, 0, 4);
    assert_int_equal(result.status, LOT_NO_DEVICE);
    assert_string_equal(result.error.text, "cuda:7: 4 devices are visible, ordinals 0 to 3");
    result = choose("cuda:1", 0, 1, 0, 1);
    assert_string_equal(result.error.text, "cuda:1: 1 device is visible, ordinals 0 to 0");
}

static void test_list_of_ordinals(void **state)
{
    choice result = choose("cuda:3,1", 1, 2, 0, 4);

    (void)state;
    assert_int_equal(result.status, LOT_OK);
    assert_int_equal(result.ordinal, 1);
    result = choose("cuda:3,1", 0, 3, 0, 4);
    assert_int_equal(result.status, LOT_USAGE);
    assert_non_null(strstr(result.error.text, "2 devices are named for 3 ranks"));
    result = choose("cuda:3,1", 2, 3, 1, 4);
    assert_int_equal(result.status, LOT_OK);
    assert_int_equal(result.ordinal, 3);
}

static void test_list_that_names_one_twice(void **state)
{
    choice result = choose("cuda:1,0,1", 0, 3, 0, 4);

    (void)state;
    assert_int_equal(result.status, LOT_SHARED_DEVICE);
    assert_non_null(strstr(result.error.text, "local ranks 0 and 2"));
    assert_int_equal(choose("cuda:1,0,1", 0, 2, 0, 4).status, LOT_OK);
    assert_int_equal(choose("cuda:1,0,1", 2, 3, 1, 4).status, LOT_OK);
}

static void test_uuid(void **state)
{
    choice result = choose("cuda:" UUID_2, 0, 1, 0, 4);

    (void)state;
    assert_int_equal(result.status, LOT_OK);
    assert_int_equal(result.ordinal, 2);
    /* Written in capitals, and as a slice: the digits decide. */
    assert_int_equal(choose("cuda:GPU-00000000-1111-2222-3333-4444444444A2", 0, 1, 0, 4).ordinal, 2);
    assert_int_equal(choose("cuda:" MIG_1, 0, 1, 0, 4).ordinal, 1);
}

static void test_uuid_that_is_not_there(void **state)
{
    choice result = choose("cuda:" UUID_2, 0, 1, 0, 2);

    (void)state;
    assert_int_equal(result.status, LOT_NO_DEVICE);
    assert_non_null(strstr(result.error.text, UUID_2));
    assert_non_null(strstr(result.error.text, "0 " UUID_0));
    result = choose("cuda:GPU-ffffffff-1111-2222-3333-4444444444a2", 0, 1, 0, 64);
    assert_int_equal(result.status, LOT_NO_DEVICE); /* the list is cut, the line stays whole */
}

static void test_nothing_visible(void **state)
{
    static const char *const specs[] = {"cuda:local", "cuda:0", "cuda:" UUID_0};

    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        const choice result = choose(specs[i], 0, 1, 0, 0);

        assert_int_equal(result.status, LOT_NO_DEVICE);
        assert_non_null(strstr(result.error.text, "CUDA_VISIBLE_DEVICES"));
    }
}

static void test_impossible_launch(void **state)
{
    (void)state;
    assert_int_equal(choose("cuda:0", 2, 2, 0, 4).status, LOT_LAUNCH);
    assert_int_equal(choose("cuda:0", -1, 2, 0, 4).status, LOT_LAUNCH);
    assert_int_equal(choose("cuda:x", 0, 1, 0, 4).status, LOT_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse_names_the_module),
        cmocka_unit_test(test_parse_refuses_other_forms),
        cmocka_unit_test(test_parse_refuses_wrong_uuid_digits),
        cmocka_unit_test(test_parse_refuses_too_many_items),
        cmocka_unit_test(test_host),
        cmocka_unit_test(test_local_where_all_see_all),
        cmocka_unit_test(test_local_where_the_launcher_shows_one_each),
        cmocka_unit_test(test_local_with_more_ranks_than_devices),
        cmocka_unit_test(test_one_ordinal),
        cmocka_unit_test(test_list_of_ordinals),
        cmocka_unit_test(test_list_that_names_one_twice),
        cmocka_unit_test(test_uuid),
        cmocka_unit_test(test_uuid_that_is_not_there),
        cmocka_unit_test(test_nothing_visible),
        cmocka_unit_test(test_impossible_launch),
    };

    return cmocka_run_group_tests_name("bind", tests, NULL, NULL);
}
