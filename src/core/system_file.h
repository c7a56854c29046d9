/* What the system says in the small text files of /proc, /sys and /etc. */
#ifndef GPULOT_CORE_SYSTEM_FILE_H
#define GPULOT_CORE_SYSTEM_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* The first line of a file, without its end and cut where it does not fit; false, and "", where there is none
 * or it is empty. */
bool lot_system_line(const char *path, char *line, size_t size);

/* What stands behind `key` in the first line that begins with it and says something, without ':', '=', blanks
 * and quotes around it, cut where it does not fit. False, and "", where there is none. */
bool lot_system_value(const char *path, const char *key, char *value, size_t size);

#endif
