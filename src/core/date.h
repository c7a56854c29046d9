/* Calendar dates as text. */
#ifndef GPULOT_CORE_DATE_H
#define GPULOT_CORE_DATE_H

#include <stdbool.h>

/* True where the text is exactly a day of the Gregorian calendar, YYYY-MM-DD. */
bool lot_date_valid(const char *text);

/* True where the text is exactly such a day followed by a time in UTC, Thh:mm:ssZ or Thh:mm:ss.fffZ. Such
 * texts of one length compare in time as they compare as text. */
bool lot_date_time_valid(const char *text);

#endif
