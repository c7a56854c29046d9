#include "io/table_csv.h"

#include <stdlib.h>
#include <string.h>

#include <csv.h>

#include "core/utf8.h"

typedef struct table_reader {
    const lot_table_listener *listener;
    struct csv_parser parser;
    const char *at; /* the next line */
    const char *end;
    int64_t line; /* of the line in hand */
    /* The record in hand. */
    bool begun;
    bool ended;
    int64_t first_line;
    const char *second_line; /* where its first line ends */
    size_t bytes;            /* read of it so far */
    char text[LOT_TABLE_RECORD_MAX + LOT_TABLE_FIELDS_MAX];
    size_t used;
    const char *fields[LOT_TABLE_FIELDS_MAX];
    size_t field_count;
    bool no_memory;
} table_reader;

/* libcsv would take blanks off a field's ends; RFC 4180 says that they belong to it. */
static int no_space(unsigned char byte)
{
    (void)byte;
    return 0;
}

static bool start_parser(table_reader *reader)
{
    if (csv_init(&reader->parser, CSV_STRICT | CSV_STRICT_FINI) != 0)
        return false;
    csv_set_space_func(&reader->parser, no_space);
    csv_set_blk_size(&reader->parser, 4096);
    return true;
}

/* What is wrong with the characters of a line, NULL where nothing is. */
static const char *bad_characters(const char *line, size_t length)
{
    size_t step;

    for (size_t i = 0; i < length; i += step) {
        const unsigned char byte = (unsigned char)line[i];

        step = byte < 0x80 ? 1 : lot_utf8_character(line + i, length - i);
        if (step == 0)
            return "not UTF-8";
        if (byte == '\r')
            return "a carriage return inside the line";
        if ((byte < 0x20 || byte >= 0x7F) && byte != '\t' && lot_utf8_control(line + i, step))
            return "a control character in the line";
    }
    return NULL;
}

static void take_field(void *field, size_t size, void *context)
{
    table_reader *reader = context;

    if (reader->field_count < LOT_TABLE_FIELDS_MAX) {
        char *copy = reader->text + reader->used;

        /* The fields of a record are never longer than its bytes, which were counted before. */
        if (size > 0)
            memcpy(copy, field, size);
        copy[size] = '\0';
        reader->fields[reader->field_count] = copy;
        reader->used += size + 1;
    }
    reader->field_count++;
}

static void end_record(int terminator, void *context)
{
    table_reader *reader = context;

    (void)terminator;
    reader->ended = true;
}

static void forget_record(table_reader *reader)
{
    reader->begun = false;
    reader->ended = false;
    reader->bytes = 0;
    reader->used = 0;
    reader->field_count = 0;
}

/* Gives a record up and goes on with the line after its first: a quote that is never closed must not hide the
 * faults of all later lines. */
static void drop_record(table_reader *reader, const char *why)
{
    reader->listener->fault(reader->listener->context, reader->first_line, false, why);
    reader->at = reader->second_line;
    reader->line = reader->first_line;
    forget_record(reader);
    csv_free(&reader->parser);
    reader->no_memory |= !start_parser(reader);
}

static void hand_over(table_reader *reader)
{
    const lot_table_listener *listener = reader->listener;

    if (reader->field_count > LOT_TABLE_FIELDS_MAX)
        listener->fault(listener->context, reader->first_line, false, "more than 256 fields");
    else if (!listener->record(listener->context, reader->first_line, reader->fields, reader->field_count))
        reader->no_memory = true;
    forget_record(reader);
}

static void feed(table_reader *reader, const char *line, size_t length)
{
    static const char line_end[] = "\n";
    size_t taken;

    if (!reader->begun) {
        reader->begun = true;
        reader->first_line = reader->line;
        reader->second_line = reader->at;
    }
    reader->bytes += length + 1;
    if (reader->bytes > LOT_TABLE_RECORD_MAX) {
        drop_record(reader, "a row of more than 65536 bytes; perhaps a quote is opened and not closed");
        return;
    }
    taken = csv_parse(&reader->parser, line, length, take_field, end_record, reader);
    if (taken == length && (length == 0 || line[length - 1] != '\n'))
        taken += csv_parse(&reader->parser, line_end, 1, take_field, end_record, reader) - 1;
    if (taken != length) {
        reader->no_memory = csv_error(&reader->parser) == CSV_ENOMEM;
        drop_record(reader,
                    "a quote where none may stand; a field with quotes is written \"like \"\"this\"\"\"");
    } else if (reader->ended) {
        hand_over(reader);
    }
}

static void hear_comment(table_reader *reader, const char *text, size_t length)
{
    char *copy = reader->text; /* no record is in hand */

    if (length > LOT_TABLE_RECORD_MAX)
        length = LOT_TABLE_RECORD_MAX;
    memcpy(copy, text, length);
    copy[length] = '\0';
    reader->listener->comment(reader->listener->context, reader->line, copy);
}

static void take_line(table_reader *reader)
{
    const char *line = reader->at;
    const char *end = memchr(line, '\n', (size_t)(reader->end - line));
    const char *after = end != NULL ? end + 1 : reader->end;
    size_t length = (size_t)((end != NULL ? end : reader->end) - line); /* without its end */
    bool comment;
    const char *why;

    reader->at = after;
    reader->line++;
    if (length > 0 && line[length - 1] == '\r')
        length--;
    comment = !reader->begun && length > 0 && line[0] == '#' && reader->listener->comment != NULL;
    why = bad_characters(line, length);
    if (why != NULL && reader->begun)
        drop_record(reader,
                    "a quote is opened and not closed"); /* this line is then read again, on its own */
    else if (why != NULL)
        reader->listener->fault(reader->listener->context, reader->line, comment, why);
    else if (comment)
        hear_comment(reader, line + 1, length - 1);
    else if (reader->begun || length > 0)
        feed(reader, line, (size_t)(after - line));
}

static bool utf_16(const char *bytes, size_t size)
{
    return size >= 2 && (memcmp(bytes, "\xFF\xFE", 2) == 0 || memcmp(bytes, "\xFE\xFF", 2) == 0);
}

lot_status lot_table_read(const char *bytes, size_t size, const lot_table_listener *listener,
                          lot_error *error)
{
    static const char byte_order_mark[] = "\xEF\xBB\xBF";
    table_reader *reader = calloc(1, sizeof *reader);
    bool no_memory;

    if (reader == NULL || !start_parser(reader)) {
        free(reader);
        return lot_error_set(error, LOT_MEMORY, "calloc", 0, "no memory to read CSV");
    }
    reader->listener = listener;
    reader->at = bytes;
    reader->end = bytes + size;
    if (size >= 3 && memcmp(bytes, byte_order_mark, 3) == 0)
        reader->at += 3;
    if (utf_16(bytes, size)) {
        listener->fault(listener->context, 1, false, "UTF-16; the file must be saved as UTF-8");
        reader->at = reader->end;
    }
    while (!reader->no_memory && (reader->at < reader->end || reader->begun)) {
        if (reader->at < reader->end)
            take_line(reader);
        else
            drop_record(reader, "a quote is opened and not closed");
    }
    no_memory = reader->no_memory;
    csv_free(&reader->parser);
    free(reader);
    if (no_memory)
        return lot_error_set(error, LOT_MEMORY, "malloc", 0, "no memory for the rows of a CSV file");
    return LOT_OK;
}

void lot_table_write_field(FILE *out, const char *text)
{
    if (text[strcspn(text, ",\"\r\n")] == '\0') {
        (void)fputs(text, out);
        return;
    }
    (void)fputc('"', out);
    for (; *text != '\0'; text++)
        (void)fprintf(out, *text == '"' ? "\"\"" : "%c", *text);
    (void)fputc('"', out);
}
