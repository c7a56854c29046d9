/* What went wrong, filled once by whoever saw it first and handed up unchanged.
 *
 * Every function that can fail takes a `lot_error *` that must not be NULL, returns a lot_status, and
 * sets its results on success only. Nobody but cmd/ prints an error. */
#ifndef GPULOT_CORE_ERROR_H
#define GPULOT_CORE_ERROR_H

#include <stdint.h>

#include "core/status.h"

typedef struct lot_error {
    lot_status status;
    int64_t code;   /* what the call returned (errno, cudaError_t, dnnl_status_t ...); 0 where it has none */
    char call[64];  /* the call that failed: "open", "cudaSetDevice", "--width" */
    char text[512]; /* one line: what, which value, what is allowed; no newline, no full stop needed */
} lot_error;

/* Fills *error and returns `status`, so that a detector can write `return lot_error_set(...)`.
 * `call` names the failing call or option; `format` follows printf. Control and format
 * characters in the formatted text are replaced by '?', so that a message is always one line and looks like
 * what it is; one that is too long loses its middle. */
lot_status lot_error_set(lot_error *error, lot_status status, const char *call, int64_t code,
                         const char *format, ...) __attribute__((format(printf, 5, 6)));

/* The same for a failed system call: code is `errno_value` and its text ends the line. */
lot_status lot_error_errno(lot_error *error, lot_status status, const char *call, int errno_value,
                           const char *format, ...) __attribute__((format(printf, 5, 6)));

/* A static analyser sees one file at a time and must know that these return their second argument. */
#if defined(__clang_analyzer__) && !defined(LOT_ERROR_DEFINITIONS)
#define lot_error_set(error, status, ...)   ((void)(lot_error_set)(error, status, __VA_ARGS__), (status))
#define lot_error_errno(error, status, ...) ((void)(lot_error_errno)(error, status, __VA_ARGS__), (status))
#endif

#endif
