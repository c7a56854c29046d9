/* The seal against values computed from its definition (io/seal.h, gpu/digest.h) by another program. */
#include <fcntl.h>
#include <unistd.h>

#include "io/seal.h"
#include "support/archived.h"

enum { BIG = (1 << 20) + 13 }; /* more than is read at once, and no whole number of words */

/* Seals these bytes and compares the line behind them. */
static void expect_seal(const char *path, const unsigned char *bytes, size_t size, const char *expected)
{
    char line[LOT_SEAL_BYTES + 1] = "", padded[LOT_SEAL_BYTES + 1];
    lot_seal seal = LOT_SEAL_NONE;
    lot_error error = {0};
    int file;

    store(path, bytes, size);
    assert_int_equal(lot_seal_write(path, &error), LOT_OK);
    file = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(file >= 0);
    assert_int_equal(pread(file, line, sizeof line, (off_t)size), LOT_SEAL_BYTES);
    (void)snprintf(padded, sizeof padded, "%-*s\n", LOT_SEAL_BYTES - 1, expected);
    assert_string_equal(line, padded);
    assert_int_equal(lot_seal_check(file, path, &seal, &error), LOT_OK);
    assert_int_equal(seal, LOT_SEAL_WHOLE);
    (void)close(file);
}

static void test_known_values(void **state)
{
    unsigned char *bytes = malloc(BIG);

    (void)state;
    assert_non_null(bytes);
    expect_seal(in_folder("ten"), (const unsigned char *)"0123456789", 10,
                "\ngpulot-seal-1 19766d70d15d9451 10");
    for (size_t i = 0; i < BIG; i++)
        bytes[i] = (unsigned char)(i * i + 7 * i);
    expect_seal(in_folder("big"), bytes, BIG, "\ngpulot-seal-1 0dc4c08f88c46e99 1048589");
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_known_values)};

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
