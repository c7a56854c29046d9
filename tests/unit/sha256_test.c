/* SHA-256 against the examples of FIPS 180-2, appendix B, and the empty text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/sha256.h"

static const struct {
    const char *text;
    const char *digest;
} examples[] = {
    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
};

static void examples_from_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        char text[LOT_SHA256_TEXT_SIZE];
        lot_error error = {0};

        assert_int_equal(LOT_OK, lot_sha256_bytes(examples[i].text, strlen(examples[i].text), text, &error));
        assert_string_equal(examples[i].digest, text);
    }
}

/* A million times 'a', in a file, so that it is read in several pieces. */
static void a_million_from_a_file(void **state)
{
    char path[] = "/tmp/sha256_test_XXXXXX";
    const int file = mkstemp(path);
    char *text = malloc(1000000);
    char digest[LOT_SHA256_TEXT_SIZE];
    lot_error error = {0};
    int64_t size = 0;

    (void)state;
    assert_true(file >= 0);
    assert_non_null(text);
    (void)unlink(path);
    memset(text, 'a', 1000000);
    assert_int_equal(1000000, write(file, text, 1000000));
    assert_int_equal(0, lseek(file, 0, SEEK_SET));
    assert_int_equal(LOT_OK, lot_sha256_file(file, path, digest, &size, &error));
    assert_string_equal("cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0", digest);
    assert_int_equal(1000000, size);
    free(text);
    (void)close(file);
    assert_int_equal(LOT_IO, lot_sha256_file(file, path, digest, &size, &error)); /* closed */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_from_memory),
        cmocka_unit_test(a_million_from_a_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
