/* What a person may paste into a shell. */
#ifndef GPULOT_CORE_SHELL_H
#define GPULOT_CORE_SHELL_H

#include <stdbool.h>

/* A word that bash takes as this text, whatever bytes it holds: as it is where it is plain, else in $'...',
 * where what does not show stands as octal numbers. To be freed; NULL where there is no memory. */
char *lot_shell_word(const char *text);

typedef struct lot_shell_argument {
    const char *text; /* NULL ends a list of them */
    bool is_file; /* a path: behind "./" where it begins with '-', so that it is not taken for an option */
} lot_shell_argument;

/* A command of this program with its arguments. The program is the path that it was started with where that
 * was a path, else its name, "gpulot". To be freed; NULL where there is no memory. */
char *lot_shell_command(const lot_shell_argument *arguments);

#endif
