/* Which tariff is meant, and that nothing near is ever taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "analysis/tariff_match.h"

static char names[][32] = {"B200",      "H200",          "H100-SXM",     "H100-PCIE",
                           "L4",        "RTX-6000-ADA",  "RTX-PRO-6000", "L40S",
                           "RTX-A6000", "A100-SXM-80GB", "B200-NVL",     "rtx 6000 (ada)"};

typedef struct world {
    lot_tariff tariffs[sizeof names / sizeof names[0]];
    lot_catalogue catalogue;
    const lot_tariff *found;
    lot_error error;
} world;

/* The first `count` of the names. */
static world world_of(size_t count)
{
    world w;

    memset(&w, 0, sizeof w);
    for (size_t i = 0; i < count; i++)
        w.tariffs[i].gpu = names[i];
    w.catalogue.tariff_count = count;
    return w;
}

static lot_status find(world *w, const char *gpu)
{
    w->catalogue.tariffs = w->tariffs;
    return lot_tariff_find(&w->catalogue, gpu, &w->found, &w->error);
}

static lot_status find_device(world *w, const char *name)
{
    w->catalogue.tariffs = w->tariffs;
    return lot_tariff_find_device(&w->catalogue, name, &w->found, &w->error);
}

static void the_exact_name_is_found(void **state)
{
    world w = world_of(11);

    (void)state;
    assert_int_equal(LOT_OK, find(&w, "B200"));
    assert_string_equal("B200", w.found->gpu);
    assert_int_equal(LOT_OK, find(&w, "B200-NVL"));
    assert_string_equal("B200-NVL", w.found->gpu);
}

static void near_names_are_offered_and_not_taken(void **state)
{
    static const struct {
        const char *asked;
        const char *offered;
    } cases[] = {{"b200", "no tariff for 'b200'; the nearest are 'B200', "},
                 {"NVIDIA B200", "the nearest are 'B200', "},
                 {"H100", "the nearest are 'H100-SXM', 'H100-PCIE', "},
                 {"B2O0", "the nearest are 'B200', "},
                 {"B200 ", "the nearest are 'B200', "}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        world w = world_of(11);

        assert_int_equal(LOT_USAGE, find(&w, cases[i].asked));
        assert_null(w.found);
        assert_non_null(strstr(w.error.text, cases[i].offered));
    }
}

static void a_catalogue_of_one_offers_one(void **state)
{
    world w = world_of(1);

    (void)state;
    assert_int_equal(LOT_USAGE, find(&w, "x"));
    assert_string_equal("--gpu: no tariff for 'x'; the nearest are 'B200'", w.error.text);
}

static void devices_name_themselves_otherwise(void **state)
{
    static const struct {
        const char *gpu;
        const char *device;
        bool fits;
    } cases[] = {
        {"B200", "NVIDIA B200", true},
        {"H100-PCIE", "NVIDIA H100 PCIe", true},
        {"RTX-6000-ADA", "NVIDIA RTX 6000 Ada Generation", true},
        {"RTX-4090", "NVIDIA GeForce RTX 4090", true},
        {"L4", "NVIDIA L4", true},
        {"V100-SXM2-16GB", "Tesla V100-SXM2-16GB", true},
        {"L4", "NVIDIA L40S", false},
        {"L40S", "NVIDIA L40", false},
        {"H100-SXM", "NVIDIA H100 80GB HBM3", false}, /* SXM is not said */
        {"RTX-4090", "NVIDIA GeForce RTX 4090 Laptop GPU", false},
        {"RTX-6000-ADA", "Quadro RTX 6000", false},
        {"A100-SXM-80GB", "NVIDIA A100-SXM4-80GB", false},
        {"H200", "NVIDIA H200 NVL", false},
        {"NVIDIA", "NVIDIA", false}, /* no word that tells a model */
        {"", "", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(cases[i].fits, lot_tariff_fits_device(cases[i].gpu, cases[i].device));
}

static void a_device_finds_its_tariff_beyond_doubt_or_not_at_all(void **state)
{
    world w = world_of(11);

    (void)state;
    assert_int_equal(LOT_OK, find_device(&w, "NVIDIA RTX 6000 Ada Generation"));
    assert_string_equal("RTX-6000-ADA", w.found->gpu);
    w = world_of(11);
    assert_int_equal(LOT_USAGE, find_device(&w, "NVIDIA H100 80GB HBM3"));
    assert_null(w.found);
    assert_non_null(strstr(w.error.text, "say which with --gpu"));
    w = world_of(12);
    assert_int_equal(LOT_USAGE, find_device(&w, "NVIDIA RTX 6000 Ada Generation"));
    assert_null(w.found);
    assert_non_null(strstr(w.error.text, "fits two tariffs, 'RTX-6000-ADA' and 'rtx 6000 (ada)'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_exact_name_is_found),
        cmocka_unit_test(near_names_are_offered_and_not_taken),
        cmocka_unit_test(a_catalogue_of_one_offers_one),
        cmocka_unit_test(devices_name_themselves_otherwise),
        cmocka_unit_test(a_device_finds_its_tariff_beyond_doubt_or_not_at_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
