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

static void fill(lot_error *error, lot_status status, const char *call, int64_t code)
{
    error->status = status;
    error->code = code;
    (void)snprintf(error->call, sizeof error->call, "%s", call);
}

lot_status lot_error_set(lot_error *error, lot_status status, const char *call, int64_t code,
                         const char *format, ...)
{
    va_list arguments;

    fill(error, status, call, code);
    va_start(arguments, format);
    (void)vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    one_line(error->text);
    return status;
}

lot_status lot_error_errno(lot_error *error, lot_status status, const char *call, int errno_value,
                           const char *format, ...)
{
    va_list arguments;
    size_t used;

    fill(error, status, call, errno_value);
    va_start(arguments, format);
    (void)vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    used = strlen(error->text);
    (void)snprintf(error->text + used, sizeof error->text - used, ": %s", strerror(errno_value));
    one_line(error->text);
    return status;
}
