/* HDF5 as this program uses it: silent, its errors folded into one line, its texts UTF-8. Only io/h5.c and
 * the archive's own files include it. */
#ifndef GPULOT_IO_H5_H
#define GPULOT_IO_H5_H

#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

/* Keeps the library from printing, and from trying to finish broken files when the process ends: after a
 * failed write it prints about that. To be called before any other HDF5 call; every file is then closed by
 * hand. Also from loading what a file asks for, a filter that is not its own: an archive needs none, and one
 * that somebody else made must not choose what code runs here. */
void lot_h5_quiet(void);

/* Fills the error with one line made of the failed call's error stack, "SUBJECT: HDF5: REASON", and returns
 * `status`; to be called before any other HDF5 call. */
lot_status lot_h5_error(lot_error *error, lot_status status, const char *call, const char *subject);

/* How files are opened: readable by HDF5 1.10 and later, locked where the file system can lock at all. A
 * property list, to be closed; negative where there is none. */
hid_t lot_h5_access_list(void);

/* For texts of variable length: has HDF5 convert them one at a time, however many a call hands over.
 * HDF5 1.14 crashes where it cannot write one after others of the same conversion (H5T__conv_vlen frees what
 * is no memory); and its default are two buffers of 1 MiB that every call clears. A property list, to be
 * closed; negative where there is none. */
hid_t lot_h5_text_transfer(void);

/* A text of `size` bytes, or H5T_VARIABLE; to be closed; negative on failure. */
hid_t lot_h5_text_type(size_t size);

/* A boolean that may be "not measured", in one byte; to be closed; negative on failure. Three values and not
 * h5py's two: with FALSE and TRUE alone it would read "not measured" as true. */
hid_t lot_h5_answer_type(void);

/* Each writes one attribute; false on failure, with the error stack still there for lot_h5_error. `type` of
 * a scalar is that of *value in memory and in the file. An answer is h5py's own boolean. Several texts are
 * converted together (lot_h5_text_transfer), so what waits to be written goes to the disk before. */
bool lot_h5_write_scalar(hid_t object, const char *name, hid_t type, const void *value);
bool lot_h5_write_text(hid_t object, const char *name, const char *value);
bool lot_h5_write_texts(hid_t object, const char *name, const char *const *values, size_t count);
bool lot_h5_write_answer(hid_t object, const char *name, int8_t value);

/* The text of a scalar string attribute, to be freed; NULL where there is none or it is not one. */
char *lot_h5_read_text(hid_t object, const char *name);

/* Reads a scalar attribute of class `class` as `type` (an enumeration of one byte as it is); *value is left
 * alone, and false returned, where it is missing or another kind. */
bool lot_h5_read_scalar(hid_t object, const char *name, H5T_class_t class, hid_t type, void *value);

#endif
