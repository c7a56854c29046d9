#include "io/anonymise.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "io/sha256.h"

/* A name and what it is called instead. Short names of hosts share the digest of the whole one. */
typedef struct alias {
    char name[64];
    char instead[24];
} alias;

struct lot_aliases {
    alias *items; /* sorted by name, without regard to case */
    size_t count;
};

#define DIGITS 10

/* "kind-" and the first digits of the digest of the name in lower case. */
static lot_status make_alias(const char *kind, const char *name, char instead[24], lot_error *error)
{
    char lower[160];
    char digest[LOT_SHA256_TEXT_SIZE];
    size_t length = 0;
    lot_status status;

    for (; name[length] != '\0' && length < sizeof lower - 1; length++)
        lower[length] = (char)tolower((unsigned char)name[length]);
    status = lot_sha256_bytes(lower, length, digest, error);
    if (status == LOT_OK)
        (void)snprintf(instead, 24, "%s-%.*s", kind, DIGITS, digest);
    return status;
}

static int by_name(const void *a, const void *b)
{
    return strcasecmp(((const alias *)a)->name, ((const alias *)b)->name);
}

static lot_status add_alias(lot_aliases *aliases, const char *kind, const char *name, const char *of,
                            lot_error *error)
{
    alias *item = &aliases->items[aliases->count];

    if (name[0] == '\0')
        return LOT_OK;
    (void)snprintf(item->name, sizeof item->name, "%s", name);
    aliases->count++;
    return make_alias(kind, of, item->instead, error);
}

lot_status lot_aliases_collect(const lot_record_head *devices, size_t count, lot_aliases **aliases,
                               lot_error *error)
{
    lot_aliases *made = calloc(1, sizeof *made);
    lot_status status = LOT_OK;

    if (made == NULL || (made->items = calloc(3 * count + 1, sizeof *made->items)) == NULL) {
        free(made);
        return lot_error_set(error, LOT_MEMORY, "calloc", 0, "no memory for the names of %zu ranks", count);
    }
    for (size_t i = 0; status == LOT_OK && i < count; i++) {
        const char *host = devices[i].identity.host;
        char brief[sizeof devices[i].identity.host];

        (void)snprintf(brief, sizeof brief, "%.*s", (int)strcspn(host, "."), host);
        status = add_alias(made, "host", host, host, error);
        if (status == LOT_OK && strcmp(brief, host) != 0)
            status = add_alias(made, "host", brief, host, error);
        if (status == LOT_OK)
            status = add_alias(made, "serial", devices[i].device.serial, devices[i].device.serial, error);
    }
    if (status != LOT_OK) {
        lot_aliases_free(made);
        return status;
    }
    qsort(made->items, made->count, sizeof *made->items, by_name);
    *aliases = made;
    return LOT_OK;
}

void lot_aliases_free(lot_aliases *aliases)
{
    if (aliases == NULL)
        return;
    free(aliases->items);
    free(aliases);
}

/* ---- finding ---- */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-';
}

static size_t hexadecimals(const char *at)
{
    return strspn(at, "0123456789abcdefABCDEF");
}

/* Bytes of the UUID at `at`, whole or abbreviated: GPU-, MIG- or HOST- and at least 4 hexadecimal digits;
 * else 0. */
static size_t uuid_length(const char *at)
{
    /* MIG-GPU-uuid/instance/instance is what older drivers say. */
    static const char *const starts[] = {"GPU-", "MIG-GPU-", "MIG-", "HOST-"};

    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        const size_t length = strlen(starts[i]);

        if (strncmp(at, starts[i], length) == 0 && hexadecimals(at + length) >= 4)
            return length + strspn(at + length, "0123456789abcdefABCDEF-/");
    }
    return 0;
}

/* Bytes of the PCI address at `at`, [domain:]bus:device.function; else 0. */
static size_t pci_length(const char *at)
{
    const size_t first = hexadecimals(at);
    size_t used = 0;

    if ((first == 4 || first == 8) && at[first] == ':')
        used = first + 1;
    if (hexadecimals(at + used) != 2 || at[used + 2] != ':' || hexadecimals(at + used + 3) != 2 ||
        at[used + 5] != '.' || hexadecimals(at + used + 6) != 1)
        return 0;
    return used + 7;
}

/* What stands for the UUID or the PCI address of `length` bytes at `at`. A PCI domain has 4 or 8 digits, or
 * none: the same address all the same. */
static lot_status alias_of_form(const char *at, size_t length, bool pci, char instead[24], lot_error *error)
{
    char name[96];
    const char *colon = memchr(at, ':', length);
    const size_t domain = pci && colon != NULL ? (size_t)(colon - at) : 0;

    if (pci && domain == 2)
        (void)snprintf(name, sizeof name, "0000:%.*s", (int)length, at);
    else if (pci && domain == 8)
        (void)snprintf(name, sizeof name, "%.*s", (int)length - 4, at + 4);
    else
        (void)snprintf(name, sizeof name, "%.*s", (int)length, at);
    return make_alias(pci            ? "pci"
                      : at[0] == 'M' ? "MIG"
                      : at[0] == 'H' ? "HOST"
                                     : "GPU",
                      name, instead, error);
}

/* The longest known name that begins at `at` and ends at the end of a word; *length its bytes. */
static const alias *find_name(const lot_aliases *aliases, const char *at, size_t *length)
{
    size_t size = 0;
    alias key;

    while (is_word(at[size]) || at[size] == '.')
        size++;
    for (size = size < sizeof key.name ? size : sizeof key.name - 1; size > 0; size--) {
        const alias *found;

        if (is_word(at[size]) || at[size - 1] == '.')
            continue;
        (void)snprintf(key.name, sizeof key.name, "%.*s", (int)size, at);
        found = bsearch(&key, aliases->items, aliases->count, sizeof key, by_name);
        if (found != NULL) {
            *length = size;
            return found;
        }
    }
    return NULL;
}

/* Writes what stands for the name at `at` and returns its bytes, or 0 where no name begins there. */
static size_t replace(const lot_aliases *aliases, const char *at, FILE *out, lot_status *status,
                      lot_error *error)
{
    size_t length = uuid_length(at);
    const bool pci = length == 0 && (length = pci_length(at)) > 0;
    char instead[24];
    const alias *found;

    if (length > 0) {
        *status = alias_of_form(at, length, pci, instead, error);
        if (*status == LOT_OK)
            (void)fputs(instead, out);
        return length;
    }
    found = find_name(aliases, at, &length);
    if (found == NULL)
        return 0;
    (void)fputs(found->instead, out);
    return length;
}

lot_status lot_anonymise_text(const lot_aliases *aliases, char *text, size_t size, lot_error *error)
{
    char *changed = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&changed, &length);
    lot_status status = LOT_OK;
    bool written;

    if (out == NULL)
        return lot_error_set(error, LOT_MEMORY, "open_memstream", 0, "no memory for a text");
    for (const char *at = text; status == LOT_OK && *at != '\0';) {
        size_t used = 0;

        if (at == text || !is_word(at[-1]))
            used = replace(aliases, at, out, &status, error);
        if (used == 0)
            (void)fputc(*at, out);
        at += used == 0 ? 1 : used;
    }
    written = ferror(out) == 0;
    written = fclose(out) == 0 && written;
    if (status == LOT_OK && !written)
        status = lot_error_set(error, LOT_MEMORY, "fclose", 0, "no memory for a text");
    if (status == LOT_OK)
        (void)lot_field_copy(text, size, changed);
    free(changed);
    return status;
}

/* ---- records ---- */

#define REPLACE(text)                                                                                        \
    if (status == LOT_OK)                                                                                    \
    status = lot_anonymise_text(aliases, text, sizeof(text), error)

lot_status lot_anonymise_head(const lot_aliases *aliases, lot_record_head *head, lot_error *error)
{
    lot_status status = LOT_OK;

    REPLACE(head->identity.run_id);
    REPLACE(head->identity.continues_run_id);
    REPLACE(head->identity.label);
    REPLACE(head->identity.host);
    REPLACE(head->identity.device_spec);
    REPLACE(head->identity.binding_reason);
    REPLACE(head->identity.visible_devices);
    REPLACE(head->device.pci_address);
    REPLACE(head->device.uuid);
    REPLACE(head->device.mig_parent_uuid);
    REPLACE(head->device.serial);
    REPLACE(head->outcome.error_text);
    return status;
}

lot_status lot_anonymise_record(const lot_aliases *aliases, lot_record *record, lot_error *error)
{
    lot_status status = lot_anonymise_head(aliases, &record->head, error);

    for (size_t i = 0; i < record->configuration_count; i++)
        REPLACE(record->configuration[i].text);
    for (size_t i = 0; i < record->variable_count; i++)
        REPLACE(record->variables[i].value);
    for (size_t i = 0; i < record->error_count; i++) {
        REPLACE(record->errors[i].error.call);
        REPLACE(record->errors[i].error.text);
    }
    for (size_t i = 0; i < record->absent_count; i++)
        REPLACE(record->absent[i].reason);
    return status;
}
