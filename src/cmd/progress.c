#include "cmd/progress.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/count.h"
#include "core/shell.h"
#include "core/units.h"
#include "measure/protocol.h"

#define REDRAW_SECONDS     0.1
#define FIRST_LINE_SECONDS 2.0
#define LINE_SECONDS       60.0
#define RATES_LISTED       8 /* ranks whose rates are shown one by one */

void lot_progress_start(lot_progress *progress, int quiet, int rank, int ranks)
{
    const char *term = getenv("TERM");
    const char *no_color = getenv("NO_COLOR");

    memset(progress, 0, sizeof *progress);
    progress->enabled = !quiet && rank == 0;
    progress->terminal = isatty(STDERR_FILENO) && term != NULL && strcmp(term, "dumb") != 0;
    progress->color = progress->terminal && (no_color == NULL || no_color[0] == '\0');
    progress->ranks = ranks;
    progress->news = progress->enabled ? calloc((size_t)ranks, sizeof *progress->news) : NULL;
    progress->began_seconds = lot_clock_seconds();
}

/* One line at once: several ranks may say it at one time. */
void lot_progress_recovery(const char *before, const char *spool_folder, const char *output)
{
    const lot_shell_argument arguments[] = {
        {"recover", false}, {spool_folder, true}, {"--output", false}, {output, true}, {NULL, false}};
    char *command = lot_shell_command(arguments);

    (void)fprintf(stderr, "%s: %s\n", before, command != NULL ? command : "gpulot recover");
    free(command);
}

void lot_progress_note(const lot_progress *progress, const char *spool_folder, const char *output)
{
    if (progress->enabled)
        lot_progress_recovery("gpulot: if this run dies", spool_folder, output);
}

/* Takes the line off the terminal. */
static void clear(lot_progress *progress)
{
    if (!progress->terminal || progress->width == 0)
        return;
    (void)fprintf(stderr, "\r%*s\r", progress->width, "");
    (void)fflush(stderr);
    progress->width = 0;
}

void lot_progress_stage(lot_progress *progress, const char *stage, int number, int64_t total)
{
    const double now = lot_clock_seconds();
    char elapsed[32];

    progress->stage = stage;
    progress->stage_number = number;
    progress->stage_total = total;
    atomic_store(&progress->stage_done, 0);
    progress->stage_began_seconds = now;
    progress->shown_seconds = progress->terminal ? 0 : now;
    if (!progress->enabled)
        return;
    if (progress->terminal) {
        lot_progress_show(progress);
        return;
    }
    lot_unit_print_seconds(elapsed, sizeof elapsed, now - progress->began_seconds);
    (void)fprintf(stderr, "gpulot: %s, %s, %s elapsed\n", stage, lot_count(progress->ranks, "rank").text,
                  elapsed);
}

void lot_progress_archived(lot_progress *progress, const char *output)
{
    char elapsed[32];
    char *word;

    if (!progress->enabled)
        return;
    clear(progress);
    word = lot_shell_word(output);
    lot_unit_print_seconds(elapsed, sizeof elapsed, lot_clock_seconds() - progress->began_seconds);
    (void)fprintf(stderr, "gpulot: made %s, %s, %s elapsed\n", word != NULL ? word : "the archive",
                  lot_count(progress->ranks, "rank").text, elapsed);
    free(word);
}

void lot_progress_step(lot_progress *progress)
{
    const double now = lot_clock_seconds();

    if (atomic_load(&progress->stage_done) == 0)
        atomic_store(&progress->stage_first_seconds, now);
    atomic_store(&progress->stage_latest_seconds, now);
    atomic_fetch_add(&progress->stage_done, 1);
}

/* ---- one line ---- */

/* A line as it grows; what does not fit is left out. */
typedef struct line {
    char text[256];
    size_t length;
} line;

__attribute__((format(printf, 2, 3))) static void add(line *to, const char *format, ...)
{
    const size_t left = sizeof to->text - to->length;
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(to->text + to->length, left, format, arguments);
    va_end(arguments);
    to->length += length < 0 ? 0 : (size_t)length < left ? (size_t)length : left - 1;
}

/* How many ranks are through with the stage. */
static void add_ranks(const lot_progress *progress, line *to)
{
    int done = 0;

    if (progress->ranks == 1 || progress->news == NULL)
        return;
    for (int rank = 0; rank < progress->ranks; rank++)
        done += progress->news[rank].stage > progress->stage_number ||
                (progress->news[rank].stage == progress->stage_number && progress->news[rank].done);
    add(to, ", %d of %d ranks done", done, progress->ranks);
}

/* The latest rate of each rank, or of the slowest and the fastest where they are many. */
static void add_rates(const lot_progress *progress, line *to)
{
    double least = INFINITY, most = 0;
    int slowest = 0;
    lot_unit unit;

    if (progress->news == NULL)
        return;
    for (int rank = 0; rank < progress->ranks; rank++) {
        const double rate = progress->news[rank].flops_per_second;

        if (progress->news[rank].stage != progress->stage_number || !(rate > 0))
            continue;
        slowest = rate < least ? rank : slowest;
        least = fmin(least, rate);
        most = fmax(most, rate);
    }
    if (!(most > 0))
        return;
    unit = lot_unit_for_rate(most);
    if (progress->ranks > RATES_LISTED) {
        add(to, ", %.4g (rank %d) to %.4g %s", lot_unit_in(least, unit), slowest, lot_unit_in(most, unit),
            lot_unit_label(unit));
        return;
    }
    for (int rank = 0; rank < progress->ranks; rank++) {
        const lot_news *news = &progress->news[rank];

        add(to, "%s", rank > 0 ? " " : progress->ranks > 1 ? ", by rank " : ", ");
        if (news->stage == progress->stage_number && news->flops_per_second > 0)
            add(to, "%.4g", lot_unit_in(news->flops_per_second, unit));
        else
            add(to, "?");
    }
    add(to, " %s", lot_unit_label(unit));
}

/* "about 3.2 s left" in this stage, from the time between its first and its latest step; nothing before the
 * second. What comes before the first, such as the filling of a soak's buffers, happens once. */
static void add_rest(lot_progress *progress, int64_t done, double now, line *to)
{
    const double first = atomic_load(&progress->stage_first_seconds);
    const double latest = atomic_load(&progress->stage_latest_seconds);
    char rest[32];
    double seconds;

    if (done < 2 || done >= progress->stage_total)
        return;
    seconds = (latest - first) / (double)(done - 1) * (double)(progress->stage_total - done) - (now - latest);
    if (seconds <= 0)
        return; /* longer than expected */
    lot_unit_print_seconds(rest, sizeof rest, seconds);
    add(to, ", about %s left", rest);
}

static void describe(lot_progress *progress, double now, line *to)
{
    const int64_t done = atomic_load(&progress->stage_done);
    char elapsed[32];

    add(to, "%s", progress->stage);
    if (progress->stage_total > 0)
        add(to, " %lld/%lld", (long long)done, (long long)progress->stage_total);
    if (done == 0 && progress->stage_number == LOT_GROUP_SOAK)
        add(to, ", fills memory first");
    add_rest(progress, done, now, to);
    add_ranks(progress, to);
    lot_unit_print_seconds(elapsed, sizeof elapsed, now - progress->began_seconds);
    add(to, ", %s elapsed", elapsed);
    add_rates(progress, to);
}

/* Characters that a line on the terminal may have, so that it can be rewritten in place. */
static int columns(void)
{
    struct winsize window;

    return ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 1 ? window.ws_col - 1 : 79;
}

static void draw(lot_progress *progress, const char *text)
{
    const int room = columns();
    const int length = (int)strlen(text) < room ? (int)strlen(text) : room;
    const int before = progress->width < room ? progress->width : room;

    (void)fprintf(stderr, "\r%s%.*s%s%*s", progress->color ? "\033[36m" : "", length, text,
                  progress->color ? "\033[0m" : "", before > length ? before - length : 0, "");
    (void)fflush(stderr);
    progress->width = length;
}

/* Whether it is time for another plain line: after twice the time, but at most a minute. */
static int line_is_due(const lot_progress *progress, double now)
{
    const double taken = progress->shown_seconds - progress->stage_began_seconds;

    return now - progress->shown_seconds >= fmin(fmax(taken, FIRST_LINE_SECONDS), LINE_SECONDS);
}

void lot_progress_show(void *context)
{
    lot_progress *progress = context;
    const double now = lot_clock_seconds();
    line made = {.length = 0};

    if (!progress->enabled || progress->stage == NULL ||
        !(progress->terminal ? now - progress->shown_seconds >= REDRAW_SECONDS : line_is_due(progress, now)))
        return;
    progress->shown_seconds = now;
    describe(progress, now, &made);
    if (progress->terminal)
        draw(progress, made.text);
    else
        (void)fprintf(stderr, "gpulot: %s\n", made.text);
}

void lot_progress_end(lot_progress *progress)
{
    if (progress->enabled)
        clear(progress);
    progress->enabled = 0;
    free(progress->news);
    progress->news = NULL;
}
