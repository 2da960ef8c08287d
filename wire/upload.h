/* A push that is larger than a front end can receive: POST push/upload requests a URL for it, and
 * the push that follows names the upload. */
#ifndef KEDGE_WIRE_UPLOAD_H
#define KEDGE_WIRE_UPLOAD_H

#include "common/hash.h"
#include "wire/request.h"

#define KEDGE_WIRE_UPLOAD_HEADERS_MAX 8

typedef struct kedge_wire_upload_request {
    uint8_t sha256[KEDGE_SHA256_SIZE]; /* of the push as gzip */
    int64_t size_bytes;
} kedge_wire_upload_request;

typedef struct kedge_wire_upload_header {
    const char *name;
    const char *value;
} kedge_wire_upload_header;

/* The URL for the upload, and its headers. */
typedef struct kedge_wire_upload_response {
    const char *url;
    kedge_wire_upload_header headers[KEDGE_WIRE_UPLOAD_HEADERS_MAX];
    size_t header_count;
    int64_t expires_in_ms;
    kedge_buffer text; /* what the strings point into when they were read */
} kedge_wire_upload_response;

void kedge_wire_upload_request_write(const kedge_wire_upload_request *request, kedge_buffer *out);
/* The errors are those of wire/request.h. */
kedge_status kedge_wire_upload_request_read(const kedge_wire_request *request,
                                            kedge_wire_upload_request *out, kedge_error *error);

void kedge_wire_upload_response_write(const kedge_wire_upload_response *response,
                                      kedge_buffer *out);
/* KEDGE_PROTOCOL when the body is no such response. Free it in both cases. */
kedge_status kedge_wire_upload_response_read(const kedge_allocator *allocator, kedge_bytes body,
                                             kedge_wire_upload_response *out, kedge_error *error);
/* Overwrites the memory, since anyone who has the URL may upload. */
void kedge_wire_upload_response_free(kedge_wire_upload_response *response);

/* The body of a push that names an upload. */
void kedge_wire_upload_reference_write(const uint8_t sha256[KEDGE_SHA256_SIZE], kedge_buffer *out);
/* `*named` is false when the body does not name an upload: it is a push with its mutations, or not
 * a push. The errors are those of wire/request.h. */
kedge_status kedge_wire_upload_reference_read(const kedge_wire_request *request, bool *named,
                                              uint8_t sha256[KEDGE_SHA256_SIZE],
                                              kedge_error *error);

#endif
