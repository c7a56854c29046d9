/* SHA-256 (FIPS 180-4) of a short message. */
#ifndef GPULOT_GPU_HOST_SHA256_H
#define GPULOT_GPU_HOST_SHA256_H

#include <stddef.h>
#include <stdint.h>

void lot_host_sha256(const void *message, size_t bytes, uint8_t digest[32]);

#endif
