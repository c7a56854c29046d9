/* Archives that another program wrote to after they were sealed: what lies in another order is not lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <hdf5.h>
#include <math.h>
#include <unistd.h>

#include "support/archived.h"

enum { RANKS = 3, REPEATS = 5, ROWS = 4 + REPEATS };

/* The power of a rank's row, known to whoever reads it back. */
static double watts(int64_t rank, int64_t row)
{
    return 100 * (double)rank + (double)row;
}

/* Every row has telemetry. */
static void write_archive(const char *path)
{
    lot_archive_writer *writer = NULL;
    lot_run_header header;
    lot_error error = {0};

    assert_int_equal(lot_archive_create(path, &writer, &error), LOT_OK);
    for (int64_t rank = 0; rank < RANKS; rank++) {
        lot_record record;

        sample_record(&record, rank, RANKS, REPEATS);
        for (int64_t row = 0; row < ROWS; row++)
            record.phases[row].telemetry.power_watts = watts(rank, row);
        assert_int_equal(append(writer, &record, &error), LOT_OK);
        lot_record_free(&record);
    }
    sample_header(&header, RANKS);
    assert_int_equal(lot_archive_finish(writer, &header, NULL, &error), LOT_OK);
}

/* Writes the rows of a table again, those of the first two ranks in each other's place where `swapped`. HDF5
 * takes the seal off. */
static void rewrite(const char *path, const char *table, bool swapped)
{
    const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t data = H5Dopen2(file, table, H5P_DEFAULT);
    const hid_t type = H5Dget_type(data);
    const size_t of_rank = ROWS * H5Tget_size(type);
    char *rows = malloc(RANKS * of_rank), *kept = malloc(of_rank);

    assert_true(file >= 0 && data >= 0 && type >= 0 && rows != NULL && kept != NULL);
    assert_true(H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0);
    if (swapped) {
        memcpy(kept, rows, of_rank);
        memcpy(rows, rows + of_rank, of_rank);
        memcpy(rows + of_rank, kept, of_rank);
    }
    assert_true(H5Dwrite(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) >= 0);
    free(kept);
    free(rows);
    (void)H5Tclose(type);
    (void)H5Dclose(data);
    assert_true(H5Fclose(file) >= 0);
}

static void make(char path[32])
{
    (void)snprintf(path, 32, "/tmp/gpulot-order-XXXXXX");
    assert_true(close(mkstemp(path)) == 0);
    assert_int_equal(unlink(path), 0);
    write_archive(path);
}

static void expect_rank(const char *path, int64_t rank, bool sealed)
{
    lot_error error = {0};
    lot_run run;

    assert_int_equal(lot_archive_read_rank(path, rank, &run, &error), LOT_OK);
    assert_int_equal(run.sealed, sealed);
    assert_int_equal(run.phase_count, ROWS);
    for (int64_t row = 0; row < ROWS; row++) {
        assert_int_equal(run.phases[row].rank, rank);
        assert_true(run.phases[row].telemetry.power_watts == watts(rank, row));
    }
    lot_run_free(&run);
}

static void test_in_order(void **state)
{
    char path[32];

    (void)state;
    make(path);
    for (int64_t rank = 0; rank < RANKS; rank++)
        expect_rank(path, rank, true);
    rewrite(path, "phase_telemetry", false);
    for (int64_t rank = 0; rank < RANKS; rank++)
        expect_rank(path, rank, false);
    assert_int_equal(unlink(path), 0);
}

/* Found by halving, the telemetry of ranks 0 and 1 would not be found, and nobody would say so. */
static void test_out_of_order(void **state)
{
    static const char *const tables[] = {"phase_telemetry", "phases"};

    (void)state;
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        char path[32];
        lot_error error = {0};
        lot_run run;

        make(path);
        rewrite(path, tables[i], true);
        for (int64_t rank = 0; rank < RANKS; rank++) {
            assert_int_equal(lot_archive_read_rank(path, rank, &run, &error), LOT_DAMAGED);
            assert_non_null(strstr(error.text, "phase_telemetry has"));
        }
        assert_int_equal(unlink(path), 0);
    }
}

/* Whoever reads the whole archive finds every row's telemetry, wherever it stands. */
static void test_telemetry_of_the_whole(void **state)
{
    char path[32];
    lot_error error = {0};
    lot_run run;

    (void)state;
    make(path);
    rewrite(path, "phase_telemetry", true);
    assert_int_equal(lot_archive_read(path, true, &run, &error), LOT_OK);
    for (size_t i = 0; i < run.phase_count; i++)
        assert_true(run.phases[i].telemetry.power_watts == watts(run.phases[i].rank, run.phases[i].row));
    lot_run_free(&run);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_order),
        cmocka_unit_test(test_out_of_order),
        cmocka_unit_test(test_telemetry_of_the_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
