#include "analysis/groups.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* One field of a head by its place. */
typedef struct member {
    const char *name;
    lot_kind kind;
    size_t offset;
} member;

#define MEMBER(kind, section, field)                                                                         \
    {                                                                                                        \
#field, LOT_KIND_##kind, offsetof(lot_record_head, section.field)                                    \
    }

static const member model_members[] = {
    MEMBER(STR, device, kind),
    MEMBER(STR, device, name),
    MEMBER(I64, device, multiprocessors),
    MEMBER(I64, device, memory_bytes),
};

static const member work_members[] = {
    MEMBER(STR, synthetic_model, dtype),     MEMBER(STR, synthetic_model, math),
    MEMBER(STR, synthetic_model, gelu),      MEMBER(I64, synthetic_model, batch),
    MEMBER(I64, synthetic_model, width),     MEMBER(I64, synthetic_model, context),
    MEMBER(I64, synthetic_model, hidden),    MEMBER(I64, synthetic_model, seed),
    MEMBER(I64, synthetic_model, generator),
};

static const member setup_members[] = {
    MEMBER(F64, device, power_limit_watts), MEMBER(I64, device, threads),
    MEMBER(STR, device, library),           MEMBER(STR, device, library_version),
    MEMBER(STR, device, runtime_version),   MEMBER(STR, layer_1, algorithm_bytes),
    MEMBER(STR, layer_1, algorithm),        MEMBER(STR, layer_1, arithmetic),
    MEMBER(STR, layer_2, algorithm_bytes),  MEMBER(STR, layer_2, algorithm),
    MEMBER(STR, layer_2, arithmetic),
};

static const member identity_members[] = {
    MEMBER(STR, device, uuid),
    MEMBER(STR, identity, host),
    MEMBER(STR, device, pci_address),
    MEMBER(I64, identity, rank),
};

static int compare_numbers(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(b) - isnan(a);
    return (a > b) - (a < b);
}

static int compare_member(const member *m, const lot_record_head *a, const lot_record_head *b)
{
    const char *x = (const char *)a + m->offset;
    const char *y = (const char *)b + m->offset;
    int64_t i, j;
    double u, v;

    switch (m->kind) {
    case LOT_KIND_STR:
        return strcmp(x, y);
    case LOT_KIND_BOOL:
        return *(const int8_t *)x - *(const int8_t *)y;
    case LOT_KIND_I64:
        memcpy(&i, x, sizeof i);
        memcpy(&j, y, sizeof j);
        return (i > j) - (i < j);
    case LOT_KIND_F64:
        memcpy(&u, x, sizeof u);
        memcpy(&v, y, sizeof v);
        return compare_numbers(u, v);
    }
    return 0;
}

static int compare(const member *members, size_t count, const lot_record_head *a, const lot_record_head *b,
                   const member **differing)
{
    for (size_t i = 0; i < count; i++) {
        const int order = compare_member(&members[i], a, b);

        if (order != 0) {
            if (differing != NULL)
                *differing = &members[i];
            return order;
        }
    }
    return 0;
}

/* No member is a bool. */
static void print_value(char *text, size_t size, const member *m, const lot_record_head *head)
{
    const char *at = (const char *)head + m->offset;
    int64_t integer = LOT_NULL_I64;
    double number = NAN;

    if (m->kind == LOT_KIND_I64)
        memcpy(&integer, at, sizeof integer);
    else if (m->kind == LOT_KIND_F64)
        memcpy(&number, at, sizeof number);
    if (integer != LOT_NULL_I64)
        (void)snprintf(text, size, "%" PRId64, integer);
    else if (!isnan(number))
        (void)snprintf(text, size, "%g", number);
    else
        (void)lot_field_copy(text, size, lot_field_shown(m->kind == LOT_KIND_STR ? at : ""));
}

/* "generator 2 and 1" */
static void print_difference(char *text, size_t size, const member *m, const lot_record_head *a,
                             const lot_record_head *b)
{
    char of_a[64], of_b[64];

    print_value(of_a, sizeof of_a, m, a);
    print_value(of_b, sizeof of_b, m, b);
    (void)snprintf(text, size, "%s %s and %s", m->name, of_a, of_b);
}

int lot_model_compare(const lot_record_head *a, const lot_record_head *b)
{
    return compare(model_members, COUNT(model_members), a, b, NULL);
}

int lot_group_compare(const lot_record_head *a, const lot_record_head *b)
{
    int order = lot_model_compare(a, b);

    if (order == 0)
        order = compare(work_members, COUNT(work_members), a, b, NULL);
    if (order == 0)
        order = compare(setup_members, COUNT(setup_members), a, b, NULL);
    return order;
}

bool lot_work_equal(const lot_record_head *a, const lot_record_head *b, char *difference, size_t size)
{
    const member *differing = NULL;

    if (compare(work_members, COUNT(work_members), a, b, &differing) == 0)
        return true;
    print_difference(difference, size, differing, a, b);
    return false;
}

size_t lot_group_difference(const lot_record_head *a, const lot_record_head *b, char *difference, size_t size)
{
    static const struct {
        const member *members;
        size_t count;
    } lists[] = {{model_members, COUNT(model_members)},
                 {work_members, COUNT(work_members)},
                 {setup_members, COUNT(setup_members)}};
    size_t equal = 0;

    difference[0] = '\0';
    for (size_t i = 0; i < COUNT(lists); i++) {
        const member *differing = NULL;

        if (compare(lists[i].members, lists[i].count, a, b, &differing) != 0) {
            print_difference(difference, size, differing, a, b);
            return equal + (size_t)(differing - lists[i].members);
        }
        equal += lists[i].count;
    }
    return equal;
}

int lot_device_compare(const lot_record_head *a, const lot_record_head *b)
{
    const int order = lot_group_compare(a, b);

    return order != 0 ? order : compare(identity_members, COUNT(identity_members), a, b, NULL);
}

bool lot_device_known(const lot_record_head *head)
{
    return head->device.name[0] != '\0' || head->device.uuid[0] != '\0';
}
