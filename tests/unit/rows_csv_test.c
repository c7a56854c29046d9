/* The grid's lines: what another program put into an archive reaches no terminal as it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/utf8.h"
#include "io/rows_csv.h"
#include "support/sample.h"

static void texts_are_clean(void **state)
{
    static const char odd[] = "a\xFF\x1B[2J\n\x7F\r\xC2\x9B\"z";
    lot_record record;
    char *text = NULL;
    size_t size = 0, lines = 0;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    assert_non_null(out);
    sample_record(&record, 0, 1, 2);
    assert_true(lot_field_copy(record.head.identity.host, sizeof record.head.identity.host, odd));
    lot_rows_csv_rank(out, &record.head, record.phases, record.phase_count);
    assert_int_equal(0, fclose(out));
    assert_true(lot_utf8_valid(text, size));
    assert_non_null(strstr(text, ",\"a??[2J?????\"\"z\","));
    for (size_t i = 0; i < size; i++) {
        assert_true((unsigned char)text[i] >= 0x20 || text[i] == '\n');
        lines += text[i] == '\n';
    }
    for (size_t i = 0; i < record.phase_count; i++)
        lines -= record.phases[i].passes > 0;
    assert_int_equal(0, lines);
    free(text);
    lot_record_free(&record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(texts_are_clean)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
