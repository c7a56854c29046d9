#include "io/sha256.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#define CHUNK_BYTES ((size_t)1 << 18)

static lot_status refused(lot_error *error, const char *call)
{
    return lot_error_set(error, LOT_INTERNAL, call, 0, "libcrypto did not compute a SHA-256");
}

/* The machine's openssl.cnf must neither cost time nor choose another implementation. */
static lot_status start(EVP_MD_CTX **context, lot_error *error)
{
    if (OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) != 1)
        return refused(error, "OPENSSL_init_crypto");
    *context = EVP_MD_CTX_new();
    if (*context == NULL)
        return lot_error_set(error, LOT_MEMORY, "EVP_MD_CTX_new", 0, "no memory for a SHA-256");
    if (EVP_DigestInit_ex(*context, EVP_sha256(), NULL) != 1)
        return refused(error, "EVP_DigestInit_ex");
    return LOT_OK;
}

static lot_status finish(EVP_MD_CTX *context, char text[LOT_SHA256_TEXT_SIZE], lot_error *error)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned length = 0;

    if (EVP_DigestFinal_ex(context, digest, &length) != 1 || 2 * length + 1 != LOT_SHA256_TEXT_SIZE)
        return refused(error, "EVP_DigestFinal_ex");
    for (unsigned i = 0; i < length; i++)
        (void)snprintf(text + 2 * (size_t)i, 3, "%02x", digest[i]);
    return LOT_OK;
}

lot_status lot_sha256_bytes(const void *bytes, size_t size, char text[LOT_SHA256_TEXT_SIZE], lot_error *error)
{
    EVP_MD_CTX *context = NULL;
    lot_status status = start(&context, error);

    if (status == LOT_OK && EVP_DigestUpdate(context, bytes, size) != 1)
        status = refused(error, "EVP_DigestUpdate");
    if (status == LOT_OK)
        status = finish(context, text, error);
    EVP_MD_CTX_free(context);
    return status;
}

static lot_status update_from(int file, const char *path, EVP_MD_CTX *context, int64_t *size,
                              lot_error *error)
{
    unsigned char *chunk = malloc(CHUNK_BYTES);
    lot_status status = LOT_OK;
    ssize_t got = 1;

    if (chunk == NULL)
        return lot_error_set(error, LOT_MEMORY, "malloc", 0, "no memory to read %s", path);
    for (*size = 0; status == LOT_OK && got != 0; *size += got > 0 ? got : 0) {
        got = read(file, chunk, CHUNK_BYTES);
        if (got < 0 && errno != EINTR)
            status = lot_error_errno(error, LOT_IO, "read", errno, "%s", path);
        else if (got > 0 && EVP_DigestUpdate(context, chunk, (size_t)got) != 1)
            status = refused(error, "EVP_DigestUpdate");
    }
    free(chunk);
    return status;
}

lot_status lot_sha256_file(int file, const char *path, char text[LOT_SHA256_TEXT_SIZE], int64_t *size,
                           lot_error *error)
{
    EVP_MD_CTX *context = NULL;
    lot_status status = start(&context, error);
    int64_t read_bytes = 0;

    if (status == LOT_OK)
        status = update_from(file, path, context, &read_bytes, error);
    if (status == LOT_OK)
        status = finish(context, text, error);
    if (status == LOT_OK)
        *size = read_bytes;
    EVP_MD_CTX_free(context);
    return status;
}
