#define _GNU_SOURCE /* program_invocation_name */
#include "core/shell.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/utf8.h"

/* Writes a character as it stands in $'...'; returns what comes behind it. */
static char *add_character(char *to, const char *at, size_t size)
{
    if (*at == '\'' || *at == '\\')
        *to++ = '\\';
    memcpy(to, at, size);
    return to + size;
}

static char *add_octal(char *to, const char *at, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const unsigned byte = (unsigned char)at[i];

        *to++ = '\\';
        *to++ = (char)('0' + (byte >> 6));
        *to++ = (char)('0' + (byte >> 3 & 7));
        *to++ = (char)('0' + (byte & 7));
    }
    return to;
}

char *lot_shell_word(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-";
    char *word, *end;

    if (text[0] != '\0' && text[strspn(text, plain)] == '\0')
        return strdup(text);
    word = malloc(4 * strlen(text) + sizeof "$''");
    if (word == NULL)
        return NULL;
    end = add_character(word, "$", 1);
    *end++ = '\'';
    while (*text != '\0') {
        const size_t size = lot_utf8_character(text, strnlen(text, 4));
        const size_t step = size > 0 ? size : 1;

        end = size == 0 || lot_utf8_unseen(text, size) ? add_octal(end, text, step)
                                                       : add_character(end, text, step);
        text += step;
    }
    *end++ = '\'';
    *end = '\0';
    return word;
}

/* In front of the word, which may be quoted: a shell joins the two. */
static const char *prefix_of(const lot_shell_argument *argument)
{
    return argument->is_file && argument->text[0] == '-' ? "./" : "";
}

char *lot_shell_command(const lot_shell_argument *arguments)
{
    const bool has_path = strchr(program_invocation_name, '/') != NULL;
    lot_shell_argument next = {has_path ? program_invocation_name : "gpulot", true};
    char *command = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&command, &size);
    bool good = out != NULL;

    for (bool first = true; good && next.text != NULL; first = false, next = *arguments++) {
        char *word = lot_shell_word(next.text);

        good = word != NULL && fprintf(out, "%s%s%s", first ? "" : " ", prefix_of(&next), word) >= 0;
        free(word);
    }
    if (out != NULL)
        good = fclose(out) == 0 && good;
    if (good)
        return command;
    free(command);
    return NULL;
}
