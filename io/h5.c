#include "io/h5.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/field.h"
#include "io/archive_h5.h"

void lot_h5_quiet(void)
{
    (void)H5dont_atexit();
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    (void)H5PLset_loading_state(0);
}

typedef struct fold {
    char *text;
    size_t size;
    int64_t code;
} fold;

/* The innermost entry of the error stack tells the cause; where it quotes the system, only that is kept. */
static herr_t fold_first(unsigned depth, const H5E_error2_t *entry, void *context)
{
    static const char quoted[] = "error message = '";
    fold *to = context;
    const char *desc = entry->desc != NULL ? entry->desc : "no reason given";
    const char *system = strstr(desc, quoted);
    const char *number = strstr(desc, "errno = ");

    if (depth != 0)
        return 0;
    if (number != NULL)
        to->code = strtol(number + sizeof "errno = " - 1, NULL, 10);
    if (system != NULL)
        (void)snprintf(to->text, to->size, "%.*s", (int)strcspn(system + sizeof quoted - 1, "'"),
                       system + sizeof quoted - 1);
    else
        (void)snprintf(to->text, to->size, "%s", desc);
    return 0;
}

lot_status lot_h5_error(lot_error *error, lot_status status, const char *call, const char *subject)
{
    char reason[256] = "no reason given";
    fold to = {reason, sizeof reason, 0};

    (void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, fold_first, &to);
    return lot_error_set(error, status, call, to.code, "%s: HDF5: %s", subject, reason);
}

void lot_archive_hdf5_version(char *text, size_t size)
{
    unsigned major = 0, minor = 0, release = 0;

    lot_h5_quiet();
    (void)H5get_libversion(&major, &minor, &release);
    (void)snprintf(text, size, "%u.%u.%u", major, minor, release);
}

hid_t lot_h5_access_list(void)
{
    const hid_t list = H5Pcreate(H5P_FILE_ACCESS);

    if (list < 0)
        return list;
    (void)H5Pset_libver_bounds(list, H5F_LIBVER_EARLIEST, H5F_LIBVER_V110);
    (void)H5Pset_fclose_degree(list, H5F_CLOSE_STRONG);
#if H5_VERSION_GE(1, 12, 1) || (H5_VERSION_GE(1, 10, 7) && !H5_VERSION_GE(1, 12, 0))
    (void)H5Pset_file_locking(list, 1, 1);
#endif
    return list;
}

hid_t lot_h5_text_transfer(void)
{
    enum { TEXT_IN_FILE = 4 + 8 + 4 }; /* length, address and index of a text of variable length */
    const hid_t list = H5Pcreate(H5P_DATASET_XFER);

    if (list >= 0)
        (void)H5Pset_buffer(list, TEXT_IN_FILE, NULL, NULL);
    return list;
}

hid_t lot_h5_text_type(size_t size)
{
    const hid_t type = H5Tcopy(H5T_C_S1);

    if (type >= 0 && (H5Tset_size(type, size) < 0 || H5Tset_cset(type, H5T_CSET_UTF8) < 0)) {
        (void)H5Tclose(type);
        return H5I_INVALID_HID;
    }
    return type;
}

hid_t lot_h5_answer_type(void)
{
    static const struct {
        const char *name;
        int8_t value;
    } members[] = {{"FALSE", 0}, {"TRUE", 1}, {"NOT_MEASURED", LOT_NULL_BOOL}};
    const hid_t type = H5Tenum_create(H5T_STD_I8LE);

    for (size_t i = 0; i < sizeof members / sizeof members[0] && type >= 0; i++)
        if (H5Tenum_insert(type, members[i].name, &members[i].value) < 0) {
            (void)H5Tclose(type);
            return H5I_INVALID_HID;
        }
    return type;
}

/* These leave handles open where they fail: closing would clear the error stack, which is still
 * wanted. Closing the file closes them. */
static bool write_attribute(hid_t object, const char *name, hid_t type, hid_t space, const void *value)
{
    const hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);

    return attribute >= 0 && H5Awrite(attribute, type, value) >= 0 && H5Aclose(attribute) >= 0;
}

bool lot_h5_write_scalar(hid_t object, const char *name, hid_t type, const void *value)
{
    const hid_t space = H5Screate(H5S_SCALAR);

    return space >= 0 && write_attribute(object, name, type, space, value) && H5Sclose(space) >= 0;
}

bool lot_h5_write_text(hid_t object, const char *name, const char *value)
{
    const hid_t type = lot_h5_text_type(H5T_VARIABLE);

    return type >= 0 && lot_h5_write_scalar(object, name, type, &value) && H5Tclose(type) >= 0;
}

bool lot_h5_write_texts(hid_t object, const char *name, const char *const *values, size_t count)
{
    const hsize_t length = count;
    const hid_t type = lot_h5_text_type(H5T_VARIABLE);
    const hid_t space = H5Screate_simple(1, &length, NULL);

    return type >= 0 && space >= 0 && H5Fflush(object, H5F_SCOPE_LOCAL) >= 0 &&
           write_attribute(object, name, type, space, values) && H5Sclose(space) >= 0 && H5Tclose(type) >= 0;
}

bool lot_h5_write_answer(hid_t object, const char *name, int8_t value)
{
    const int8_t no = 0, yes = 1;
    const hid_t type = H5Tenum_create(H5T_STD_I8LE);

    return type >= 0 && H5Tenum_insert(type, "FALSE", &no) >= 0 && H5Tenum_insert(type, "TRUE", &yes) >= 0 &&
           lot_h5_write_scalar(object, name, type, &value) && H5Tclose(type) >= 0;
}

char *lot_h5_read_text(hid_t object, const char *name)
{
    const hid_t attribute =
        H5Aexists(object, name) > 0 ? H5Aopen(object, name, H5P_DEFAULT) : H5I_INVALID_HID;
    const hid_t type = attribute >= 0 ? H5Aget_type(attribute) : H5I_INVALID_HID;
    const hid_t space = attribute >= 0 ? H5Aget_space(attribute) : H5I_INVALID_HID;
    const bool text = type >= 0 && space >= 0 && H5Tget_class(type) == H5T_STRING &&
                      H5Sget_simple_extent_npoints(space) == 1;
    char *value = NULL;

    if (text && H5Tis_variable_str(type) > 0) {
        char *read = NULL;

        if (H5Aread(attribute, type, &read) >= 0 && read != NULL)
            value = strdup(read);
        (void)H5free_memory(read);
    } else if (text && H5Tget_size(type) < ((size_t)1 << 20)) {
        value = calloc(1, H5Tget_size(type) + 1);
        if (value != NULL && H5Aread(attribute, type, value) < 0) {
            free(value);
            value = NULL;
        }
    }
    if (space >= 0)
        (void)H5Sclose(space);
    if (type >= 0)
        (void)H5Tclose(type);
    if (attribute >= 0)
        (void)H5Aclose(attribute);
    return value;
}

bool lot_h5_read_scalar(hid_t object, const char *name, H5T_class_t class, hid_t type, void *value)
{
    const hid_t attribute =
        H5Aexists(object, name) > 0 ? H5Aopen(object, name, H5P_DEFAULT) : H5I_INVALID_HID;
    const hid_t stored = attribute >= 0 ? H5Aget_type(attribute) : H5I_INVALID_HID;
    const hid_t space = attribute >= 0 ? H5Aget_space(attribute) : H5I_INVALID_HID;
    const bool answer = class == H5T_ENUM && stored >= 0 && H5Tget_size(stored) == 1;
    const bool good = stored >= 0 && space >= 0 && H5Tget_class(stored) == class &&
                      (class != H5T_ENUM || answer) && H5Sget_simple_extent_npoints(space) == 1 &&
                      H5Aread(attribute, answer ? stored : type, value) >= 0;

    if (space >= 0)
        (void)H5Sclose(space);
    if (stored >= 0)
        (void)H5Tclose(stored);
    if (attribute >= 0)
        (void)H5Aclose(attribute);
    return good;
}
