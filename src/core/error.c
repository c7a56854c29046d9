#define LOT_ERROR_DEFINITIONS
#include "core/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/utf8.h"

#define WORDING_MAX ((size_t)8192) /* of a text before it is cut, the terminator included */

static size_t next_character(const char *text, size_t at)
{
    while ((text[at] & 0xC0) == 0x80)
        at++;
    return at;
}

/* A text that is too long loses its middle: its ends tell what failed and why. */
static void cut(char *to, size_t size, const char *text)
{
    static const char gap[] = "...";
    const size_t length = strlen(text);
    const size_t kept = size - sizeof gap;
    size_t head = kept / 2;

    if (length < size) {
        memcpy(to, text, length + 1);
        return;
    }
    while (head > 0 && (text[head] & 0xC0) == 0x80)
        head--;
    (void)snprintf(to, size, "%.*s%s%s", (int)head, text, gap,
                   text + next_character(text, length - (kept - head)));
}

/* Filled at the end, so that call and arguments may come from *error itself. */
static void fill(lot_error *error, lot_status status, const char *call, int64_t code, const char *text)
{
    char name[sizeof error->call];

    (void)snprintf(name, sizeof name, "%s", call);
    error->status = status;
    error->code = code;
    memcpy(error->call, name, sizeof name);
    cut(error->text, sizeof error->text, text);
    lot_utf8_clean(error->text);
}

lot_status lot_error_set(lot_error *error, lot_status status, const char *call, int64_t code,
                         const char *format, ...)
{
    char text[WORDING_MAX] = "";
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fill(error, status, call, code, text);
    return status;
}

lot_status lot_error_errno(lot_error *error, lot_status status, const char *call, int errno_value,
                           const char *format, ...)
{
    char text[WORDING_MAX + 128] = "";
    va_list arguments;
    size_t used;

    va_start(arguments, format);
    (void)vsnprintf(text, WORDING_MAX, format, arguments);
    va_end(arguments);
    used = strlen(text);
    (void)snprintf(text + used, sizeof text - used, ": %s", strerror(errno_value));
    fill(error, status, call, errno_value, text);
    return status;
}
