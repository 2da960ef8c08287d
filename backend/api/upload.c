/* Pushes that are larger than the front end can receive: the client uploads their body as a blob
 * first.
 *
 * POST push/upload grants the upload of a gzip body, named by its SHA-256; the client makes it;
 * then POST push names it, and is handled as if it had that body. Afterwards the object is removed;
 * garbage collection removes old uploads that no push has used. A user who may push may name any
 * upload of the project; it is pushed as that user's own. */
#include "wire/upload.h"
#include "backend/api/handlers.h"
#include "backend/api/open.h"
#include "backend/api/upload.h"
#include "backend/base/background.h"
#include "backend/versioned/model/layout.h"
#include "backend/versioned/model/version.h"
#include "common/gzip.h"

#include <string.h>

#define LIFETIME_MS 300000 /* of a grant */

/* ---- the grant ---- */

static void write_grant(kedge_api_call *call, const kedge_blob_grant *grant)
{
    kedge_wire_upload_response response = {
        .url = grant->url.data, .header_count = grant->header_count, .expires_in_ms = LIFETIME_MS};
    for (size_t i = 0; i < grant->header_count; i++) {
        response.headers[i] =
            (kedge_wire_upload_header){grant->headers[i].name, grant->headers[i].value};
    }
    kedge_wire_upload_response_write(&response, &call->response->body);
}

static void grant_upload(kedge_api_call *call, kedge_blob_upload *upload)
{
    const kedge_blobs *blobs = call->project.blobs;
    kedge_key key = kedge_key_upload(&call->project.ref, upload->sha256);
    kedge_blob_grant grant = {.url = kedge_buffer_make(call->allocator)};
    upload->key = kedge_key_bytes(&key);
    kedge_status status = blobs->vtable->presign_put(blobs->self, upload, &grant, &call->error);
    if (status == KEDGE_OK) {
        write_grant(call, &grant);
    } else {
        kedge_api_fail(call, status);
    }
    kedge_buffer_free(&grant.url);
}

void kedge_api_push_upload(kedge_api_call *call)
{
    const kedge_version *head;
    kedge_wire_upload_request request;
    kedge_wire_request body = kedge_api_body(call);
    kedge_blob_upload upload = {.lifetime_ms = LIFETIME_MS};
    if (!kedge_api_uploads_are_served(call->project.backend)) {
        kedge_api_refuse(call, 501, "uploads-not-served",
                         "this server takes no uploads: a push comes in one request");
        return;
    }
    kedge_status status = kedge_wire_upload_request_read(&body, &request, &call->error);
    if (!kedge_api_body_is_read(call, status)) return;
    memcpy(upload.sha256, request.sha256, sizeof upload.sha256);
    upload.size_bytes = request.size_bytes;
    if (upload.size_bytes > KEDGE_LIMIT_PUSH_BYTES) {
        kedge_api_refuse(call, 413, "push-too-large", "a push has at most %d bytes",
                         KEDGE_LIMIT_PUSH_BYTES);
        return;
    }
    /* The project must exist, since garbage collection would not find an upload without a
     * project. */
    if (!kedge_api_open_head(call, &head)) return;
    kedge_version_release(head);
    grant_upload(call, &upload);
}

/* ---- the push that names it ---- */

static kedge_status fetch(kedge_api_call *call, const kedge_api_upload *upload,
                          kedge_buffer *packed)
{
    const kedge_blobs *blobs = call->project.blobs;
    return blobs->vtable->get(blobs->self, kedge_key_bytes(&upload->key), packed, &call->error);
}

/* What a gzip stream tells in its last four bytes (RFC 1952), as far as a push may have. */
static size_t told_size(kedge_bytes packed)
{
    uint32_t size = 0;
    for (size_t i = 0; i < sizeof size && i < packed.size; i++)
        size = size << 8 | (uint8_t)packed.data[packed.size - 1 - i];
    return size < KEDGE_LIMIT_PUSH_BYTES ? size : KEDGE_LIMIT_PUSH_BYTES;
}

/* A stream that holds more than it tells is damaged. */
static kedge_status unpack(kedge_api_call *call, kedge_bytes packed,
                           const uint8_t hash[KEDGE_SHA256_SIZE], kedge_buffer *body)
{
    uint8_t found[KEDGE_SHA256_SIZE];
    size_t size = told_size(packed);
    kedge_sha256(packed, found);
    if (memcmp(found, hash, sizeof found) != 0) return KEDGE_CORRUPT;
    kedge_status status = kedge_api_check_room_beside(call, packed.size + size);
    if (status == KEDGE_OK) status = kedge_gunzip(packed, size, body, &call->error);
    bool more = status == KEDGE_LIMIT_EXCEEDED && size < KEDGE_LIMIT_PUSH_BYTES;
    return more ? KEDGE_CORRUPT : status;
}

/* Of a request with the body of an upload. */
static bool has_room(void *context, size_t size)
{
    const kedge_api_upload *upload = context;
    return upload->has_room(upload->room_context, upload->body.size + size);
}

static void take_body(kedge_api_call *call, kedge_api_upload *upload)
{
    upload->opened = true;
    upload->has_room = call->request->has_room;
    upload->room_context = call->request->room_context;
    upload->request = *call->request;
    upload->request.body = kedge_buffer_bytes(&upload->body);
    if (upload->has_room != NULL) {
        upload->request.has_room = has_room;
        upload->request.room_context = upload;
    }
    call->request = &upload->request;
}

static bool refuse(kedge_api_call *call, kedge_status status)
{
    switch (status) {
    case KEDGE_NOT_FOUND:
        kedge_api_refuse(call, 409, "upload-missing",
                         "the upload that the push names is not there; upload it again");
        break;
    case KEDGE_CORRUPT:
        kedge_api_refuse(call, 409, "upload-damaged",
                         "the upload is not gzip of the hash that the push names; upload it again");
        break;
    case KEDGE_LIMIT_EXCEEDED:
        kedge_api_refuse(call, 413, "body-too-large", "the push has more than %d bytes",
                         KEDGE_LIMIT_PUSH_BYTES);
        break;
    default:
        kedge_api_fail(call, status);
        break;
    }
    return false;
}

bool kedge_api_upload_open(kedge_api_call *call, kedge_api_upload *upload)
{
    bool named;
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_wire_request body = kedge_api_body(call);
    upload->opened = false;
    upload->body = kedge_buffer_make(call->allocator);
    kedge_status status = kedge_wire_upload_reference_read(&body, &named, hash, &call->error);
    if (!kedge_api_body_is_read(call, status)) return false;
    if (!named) return true;
    upload->key = kedge_key_upload(&call->project.ref, hash);
    kedge_buffer packed = kedge_buffer_make(call->allocator);
    status = fetch(call, upload, &packed);
    if (status == KEDGE_OK) {
        status = unpack(call, kedge_buffer_bytes(&packed), hash, &upload->body);
    }
    kedge_buffer_free(&packed);
    if (status != KEDGE_OK) return refuse(call, status);
    take_body(call, upload);
    return true;
}

void kedge_api_upload_close(kedge_api_call *call, kedge_api_upload *upload)
{
    const kedge_blobs *blobs = call->project.blobs;
    kedge_error error = {0};
    /* When it cannot be removed now, garbage collection removes it later. */
    if (upload->opened && call->response->status == 200 &&
        blobs->vtable->remove(blobs->self, kedge_key_bytes(&upload->key), &error) != KEDGE_OK) {
        kedge_background_failed(&call->project, KEDGE_BACKGROUND_UPLOAD_REMOVAL, &error);
    }
    kedge_buffer_free(&upload->body);
}
