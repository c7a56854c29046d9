#include "cmd/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/units.h"

#define REDRAW_SECONDS 0.1

void lot_progress_start(lot_progress *progress, int quiet, int rank, int ranks)
{
    const char *term = getenv("TERM");
    const char *no_color = getenv("NO_COLOR");

    memset(progress, 0, sizeof *progress);
    progress->enabled = !quiet && rank == 0;
    progress->terminal = isatty(STDERR_FILENO) && term != NULL && strcmp(term, "dumb") != 0;
    progress->color = progress->terminal && (no_color == NULL || no_color[0] == '\0');
    progress->ranks = ranks;
    progress->began_seconds = lot_clock_seconds();
}

/* A word that bash takes as this text: in $'...' where it holds more than letters, digits and a few signs. */
static void print_word(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-";

    if (text[strspn(text, plain)] == '\0') {
        (void)fputs(text, stderr);
        return;
    }
    (void)fputs("$'", stderr);
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            (void)fprintf(stderr, "\\%03o", (unsigned)*text);
        else
            (void)fprintf(stderr, "%s%c", *text == '\'' || *text == '\\' ? "\\" : "", *text);
    (void)fputc('\'', stderr);
}

void lot_progress_recovery(const char *before, const char *spool_folder, const char *output)
{
    (void)fprintf(stderr, "%s: gpulot recover ", before);
    print_word(spool_folder);
    (void)fputs(" --output ", stderr);
    print_word(output);
    (void)fputc('\n', stderr);
}

void lot_progress_note(const lot_progress *progress, const char *spool_folder, const char *output)
{
    if (progress->enabled)
        lot_progress_recovery("gpulot: if this run dies", spool_folder, output);
}

void lot_progress_stage(lot_progress *progress, const char *stage, int64_t total)
{
    char elapsed[32];

    progress->stage = stage;
    progress->stage_total = total;
    atomic_store(&progress->stage_done, 0);
    progress->stage_began_seconds = lot_clock_seconds();
    progress->drawn_seconds = 0;
    if (!progress->enabled)
        return;
    if (progress->terminal) {
        lot_progress_draw(progress);
        return;
    }
    lot_unit_print_seconds(elapsed, sizeof elapsed, lot_clock_seconds() - progress->began_seconds);
    (void)fprintf(stderr, "gpulot: %s, %d rank%s, %s elapsed\n", stage, progress->ranks,
                  progress->ranks == 1 ? "" : "s", elapsed);
}

void lot_progress_step(lot_progress *progress)
{
    atomic_fetch_add(&progress->stage_done, 1);
}

/* "about 3.2 s left" of this stage, from the steps done so far; empty while nothing is known. */
static void print_rest(const lot_progress *progress, int64_t done, char *text, size_t size)
{
    const double spent = lot_clock_seconds() - progress->stage_began_seconds;
    char rest[32];

    text[0] = '\0';
    if (done < 1 || done >= progress->stage_total)
        return;
    lot_unit_print_seconds(rest, sizeof rest, spent / (double)done * (double)(progress->stage_total - done));
    (void)snprintf(text, size, ", about %s left in this step", rest);
}

void lot_progress_draw(void *context)
{
    lot_progress *progress = context;
    const double now = lot_clock_seconds();
    int64_t done;
    char elapsed[32], rest[64], line[200];
    int length;

    if (!progress->enabled || !progress->terminal || progress->stage == NULL ||
        now - progress->drawn_seconds < REDRAW_SECONDS)
        return;
    progress->drawn_seconds = now;
    done = atomic_load(&progress->stage_done);
    lot_unit_print_seconds(elapsed, sizeof elapsed, now - progress->began_seconds);
    print_rest(progress, done, rest, sizeof rest);
    length = snprintf(line, sizeof line, "%s %lld/%lld, %d rank%s, %s elapsed%s", progress->stage,
                      (long long)done, (long long)progress->stage_total, progress->ranks,
                      progress->ranks == 1 ? "" : "s", elapsed, rest);
    (void)fprintf(stderr, "\r%s%s%s%*s", progress->color ? "\033[36m" : "", line,
                  progress->color ? "\033[0m" : "", progress->width > length ? progress->width - length : 0,
                  "");
    (void)fflush(stderr);
    progress->width = length;
}

void lot_progress_end(lot_progress *progress)
{
    if (progress->enabled && progress->terminal && progress->width > 0) {
        (void)fprintf(stderr, "\r%*s\r", progress->width, "");
        (void)fflush(stderr);
        progress->width = 0;
    }
    progress->enabled = 0;
}
