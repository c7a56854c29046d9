#include "io/report.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/grown.h"
#include "core/units.h"
#include "core/utf8.h"

/* A column narrower than this is not worth having: it goes beyond the width instead. */
#define LEAST_WRAPPED 30

void lot_report_begin(lot_report *report, size_t columns, const char *align)
{
    memset(report, 0, sizeof *report);
    report->columns = columns;
    report->align = align;
}

void lot_report_line(FILE *out, const char *format, ...)
{
    char usual[1024], *line = usual;
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(usual, sizeof usual, format, arguments);
    va_end(arguments);
    if (length >= (int)sizeof usual && (line = malloc((size_t)length + 1)) != NULL) {
        va_start(arguments, format);
        (void)vsnprintf(line, (size_t)length + 1, format, arguments);
        va_end(arguments);
    }
    if (line == NULL)
        line = usual;
    lot_utf8_clean(line);
    (void)fprintf(out, "%s\n", line);
    if (line != usual)
        free(line);
}

void lot_report_cell(lot_report *report, const char *format, ...)
{
    char **grown = lot_grown(report->cells, report->count, sizeof *grown);
    char text[512];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    lot_utf8_clean(text);
    if (grown != NULL)
        report->cells = grown;
    if (grown != NULL && !report->failed && (grown[report->count] = strdup(text)) != NULL)
        report->count++;
    else
        report->failed = true;
}

/* Characters, not bytes; wide ones count as one. */
static size_t width_of(const char *text)
{
    size_t width = 0;

    for (; *text != '\0'; text++)
        width += ((unsigned char)*text & 0xC0) != 0x80;
    return width;
}

static size_t column_width(const lot_report *report, size_t column)
{
    size_t widest = 0;

    for (size_t i = column; i < report->count; i += report->columns) {
        const size_t width = width_of(report->cells[i]);

        widest = width > widest ? width : widest;
    }
    return widest;
}

static void print_cell(const char *text, size_t width, char align, bool last, FILE *out)
{
    const int blanks = (int)(width - width_of(text));

    if (align == 'r')
        (void)fprintf(out, "%*s%s", blanks, "", text);
    else if (last)
        (void)fputs(text, out);
    else
        (void)fprintf(out, "%s%*s", text, blanks, "");
    (void)fputs(last ? "\n" : "  ", out);
}

/* Bytes of `text` that make a line of at most `most` characters: up to its last blank there, or the whole
 * first word where that is longer. */
static size_t line_of(const char *text, size_t most)
{
    size_t width = 0, end = 0;

    for (size_t i = 0; text[i] != '\0'; i++) {
        if (text[i] == ' ' && (width <= most || end == 0))
            end = i;
        width += ((unsigned char)text[i] & 0xC0) != 0x80;
        if (width > most && end > 0)
            return end;
    }
    return width <= most || end == 0 ? strlen(text) : end;
}

/* A text that begins `indent` characters from the left and may take several lines. */
static void print_wrapped(const char *text, size_t indent, FILE *out)
{
    const size_t most = indent + LEAST_WRAPPED < LOT_REPORT_WIDTH ? LOT_REPORT_WIDTH - indent : LEAST_WRAPPED;

    for (;;) {
        const size_t size = line_of(text, most);

        (void)fprintf(out, "%.*s\n", (int)size, text);
        text += size + strspn(text + size, " ");
        if (*text == '\0')
            return;
        (void)fprintf(out, "%*s", (int)indent, "");
    }
}

static void print_row(char *const *cells, const size_t *widths, const char *align, size_t columns, FILE *out)
{
    size_t used = columns;
    size_t indent = 0;

    while (used > 1 && cells[used - 1][0] == '\0')
        used--;
    for (size_t i = 0; i < used; i++) {
        if (i + 1 == columns && align[i] == 'l')
            print_wrapped(cells[i], indent, out);
        else
            print_cell(cells[i], widths[i], align[i], i + 1 == used, out);
        indent += widths[i] + 2;
    }
}

static void release(lot_report *report)
{
    for (size_t i = 0; i < report->count; i++)
        free(report->cells[i]);
    free(report->cells);
    report->cells = NULL;
    report->count = 0;
}

void lot_report_seconds(lot_report *report, double seconds)
{
    char text[32];

    lot_unit_print_seconds(text, sizeof text, seconds);
    lot_report_cell(report, "%s", text);
}

lot_status lot_report_print(lot_report *report, FILE *out, lot_error *error)
{
    size_t *widths = calloc(report->columns, sizeof *widths);
    const bool good = widths != NULL && !report->failed;

    for (size_t i = 0; good && i < report->columns; i++)
        widths[i] = column_width(report, i);
    for (size_t i = 0; good && i + report->columns <= report->count; i += report->columns)
        print_row(report->cells + i, widths, report->align, report->columns, out);
    free(widths);
    release(report);
    return good ? LOT_OK : lot_error_set(error, LOT_MEMORY, "malloc", 0, "no memory for a table");
}
