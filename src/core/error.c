#define LOT_ERROR_DEFINITIONS
#include "core/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void one_line(char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = '?';
}

/* Filled at the end, so that call and arguments may come from *error itself. */
static void fill(lot_error *error, lot_status status, const char *call, int64_t code, const char *text)
{
    char name[sizeof error->call];

    (void)snprintf(name, sizeof name, "%s", call);
    error->status = status;
    error->code = code;
    memcpy(error->call, name, sizeof name);
    memcpy(error->text, text, sizeof error->text);
    one_line(error->text);
}

lot_status lot_error_set(lot_error *error, lot_status status, const char *call, int64_t code,
                         const char *format, ...)
{
    char text[sizeof error->text] = "";
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
    char text[sizeof error->text] = "";
    va_list arguments;
    size_t used;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    used = strlen(text);
    (void)snprintf(text + used, sizeof text - used, ": %s", strerror(errno_value));
    fill(error, status, call, errno_value, text);
    return status;
}
