/* What the tests of archives share: archives of sample records, and files as plain bytes. */
#ifndef GPULOT_TESTS_ARCHIVED_H
#define GPULOT_TESTS_ARCHIVED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/archive_h5.h"
#include "io/record_json.h"
#include "support/folder.h"
#include "support/sample.h"

/* Appends the record and its text. */
static inline lot_status append(lot_archive_writer *writer, const lot_record *record, lot_error *error)
{
    char *json = NULL;
    size_t size = 0;
    lot_status status;

    assert_int_equal(lot_record_json_write(record, &json, &size, error), LOT_OK);
    status = lot_archive_append(writer, record, json, size, error);
    free(json);
    return status;
}

/* An archive of so many ranks; rank 1 has telemetry of one row, and a series. */
static inline void write_sample(const char *path, int64_t ranks, int64_t repeats)
{
    lot_archive_writer *writer = NULL;
    lot_run_header header;
    lot_error error = {0};

    assert_int_equal(lot_archive_create(path, &writer, &error), LOT_OK);
    for (int64_t rank = 0; rank < ranks; rank++) {
        lot_record record;

        sample_record(&record, rank, ranks, repeats);
        if (rank == 1) {
            record.phases[4].telemetry.power_watts = 321.5;
            record.phases[4].telemetry.clock_event_bits = 4;
            lot_record_add_sample(&record)->seconds = 7.25;
        }
        assert_int_equal(append(writer, &record, &error), LOT_OK);
        lot_record_free(&record);
    }
    sample_header(&header, ranks);
    assert_int_equal(lot_archive_finish(writer, &header, "{\"days\":7}", &error), LOT_OK);
}

/* The texts of all records, one after another. */
static inline lot_status collect(void *context, const char *json, size_t size, lot_error *error)
{
    char **all = context;
    const size_t used = *all != NULL ? strlen(*all) : 0;

    (void)error;
    *all = realloc(*all, used + size + 1);
    assert_non_null(*all);
    memcpy(*all + used, json, size + 1);
    return LOT_OK;
}

/* Makes a file of these bytes. */
static inline void store(const char *path, const unsigned char *data, size_t size)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

#endif
