#include "core/date.h"

#include <stddef.h>
#include <string.h>

/* True where `text` begins with `pattern`, in which 0 stands for any digit. */
static bool begins_like(const char *text, const char *pattern)
{
    for (; *pattern != '\0'; text++, pattern++)
        if (*pattern == '0' ? *text < '0' || *text > '9' : *text != *pattern)
            return false;
    return true;
}

static int number(const char *text, size_t digits)
{
    int value = 0;

    for (size_t i = 0; i < digits; i++)
        value = 10 * value + (text[i] - '0');
    return value;
}

static bool begins_with_day(const char *text)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year;
    int month;
    int day;
    bool leap;

    if (!begins_like(text, "0000-00-00"))
        return false;
    year = number(text, 4);
    month = number(text + 5, 2);
    day = number(text + 8, 2);
    leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return month >= 1 && month <= 12 && day >= 1 && day <= lengths[month - 1] + (month == 2 && leap);
}

bool lot_date_valid(const char *text)
{
    return begins_with_day(text) && text[10] == '\0';
}

bool lot_date_time_valid(const char *text)
{
    const char *rest;

    if (!begins_with_day(text) || !begins_like(text + 10, "T00:00:00"))
        return false;
    rest = text + 19;
    if (begins_like(rest, ".000"))
        rest += 4;
    return strcmp(rest, "Z") == 0 && number(text + 11, 2) < 24 && number(text + 14, 2) < 60 &&
           number(text + 17, 2) < 60;
}
