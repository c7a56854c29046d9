/* Runs a fuzz target over a corpus where there is no libFuzzer: every file that is named, every file in a
 * folder that is named, and of each a few thousand changed copies made by a fixed generator, so that a run is
 * repeatable.
 *
 *     record_json_fuzz_corpus [FILE|FOLDER ...] */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LARGEST ((size_t)1 << 20)

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Flips, overwrites, cuts or doubles a part of the text; returns its new size, at most 2 * LARGEST. */
static size_t change(uint8_t *data, size_t size, uint64_t *state)
{
    static const uint8_t telling[] = {0,   0xFF, '"', '{',  '}',  '[', ']', ',',
                                      ':', '-',  '9', '\n', '\\', '.', 'e'};
    const size_t at = size == 0 ? 0 : next(state) % size;
    const size_t part = size == 0 ? 0 : next(state) % (size - at < 64 ? size - at : 64);

    if (size == 0)
        return 0;
    switch (next(state) % 4) {
    case 0:
        data[at] ^= (uint8_t)(1u << (next(state) % 8));
        return size;
    case 1:
        data[at] = telling[next(state) % sizeof telling];
        return size;
    case 2:
        memmove(data + at, data + at + part, size - at - part);
        return size - part;
    default:
        memmove(data + at + part, data + at, size - at);
        return size + part;
    }
}

/* Runs a copy that ends where its memory ends, so that a sanitizer sees one byte too many. */
static void run_copy(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size == 0 ? 1 : size);

    if (copy == NULL)
        abort();
    memcpy(copy, data, size);
    (void)LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static size_t run_file(const char *path, size_t changes)
{
    uint8_t *data = malloc(2 * LARGEST), *changed = malloc(4 * LARGEST);
    FILE *file = fopen(path, "rb");
    uint64_t state = 0x9E3779B97F4A7C15u;
    size_t size, done = 0;

    if (data == NULL || changed == NULL || file == NULL) {
        perror(path);
        exit(1);
    }
    size = fread(data, 1, LARGEST, file);
    (void)fclose(file);
    run_copy(data, size);
    for (; done < changes; done++) {
        const size_t steps = 1 + next(&state) % 4;
        size_t length = size;

        memcpy(changed, data, size);
        for (size_t i = 0; i < steps; i++)
            length = change(changed, length, &state);
        run_copy(changed, length);
    }
    free(changed);
    free(data);
    return done + 1;
}

static size_t run_folder(const char *folder, size_t changes)
{
    DIR *opened = opendir(folder);
    size_t done = 0;
    char path[4096];

    if (opened == NULL) {
        perror(folder);
        exit(1);
    }
    for (const struct dirent *entry; (entry = readdir(opened)) != NULL;)
        if (entry->d_name[0] != '.') {
            (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            done += run_file(path, changes);
        }
    (void)closedir(opened);
    return done;
}

int main(int argc, char **argv)
{
    const char *wanted = getenv("FUZZ_CHANGES");
    const size_t changes = wanted != NULL ? strtoul(wanted, NULL, 10) : 1000;
    static const uint8_t nothing[1] = {0};
    size_t done = 1;

    run_copy(nothing, 0);
    for (int i = 1; i < argc; i++) {
        struct stat info;

        if (stat(argv[i], &info) == 0 && S_ISDIR(info.st_mode))
            done += run_folder(argv[i], changes);
        else
            done += run_file(argv[i], changes);
    }
    printf("%zu inputs\n", done);
    return 0;
}
