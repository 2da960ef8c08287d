/* A push that is larger than the server's front end carries: three requests in a row.
 *
 *   POST push/upload  the SHA-256 and the size of the push as gzip: the server answers with a URL
 *   PUT {url}         the gzip, to the store of the server's blobs; neither our token nor our
 *                     headers are its business
 *   POST push         the SHA-256; the answer is that of a push
 *
 * To the core it is one push. Whatever fails, it begins again with the first of them. */
#include "common/error.h"
#include "common/gzip.h"
#include "sdk/net/net.h"
#include "sdk/runtime/driver_internal.h"
#include "wire/upload.h"

#include <string.h>

#define ANSWER_BYTES_MAX    65536 /* of the first request, and of the store of the blobs */
#define PUSHED_ANSWER_BYTES 4194304

void kedge_driver_upload_end(kedge_driver *driver)
{
    kedge_buffer_free(&driver->upload.packed);
    driver->upload.step = KEDGE_UPLOAD_NONE;
}

/* ---- the first request ---- */

kedge_status kedge_driver_upload_begin(kedge_driver *driver, kedge_buffer *path, kedge_buffer *body,
                                       kedge_error *error)
{
    kedge_driver_upload *upload = &driver->upload;
    kedge_status status = kedge_gzip(kedge_buffer_bytes(body), &upload->packed, error);
    if (status != KEDGE_OK) return status;
    kedge_sha256(kedge_buffer_bytes(&upload->packed), upload->sha256);
    upload->step = KEDGE_UPLOAD_ASKED;
    kedge_buffer_append_text(path, "/upload");
    kedge_buffer_clear(body);
    kedge_wire_upload_request request = {.size_bytes = (int64_t)upload->packed.size};
    memcpy(request.sha256, upload->sha256, sizeof request.sha256);
    kedge_wire_upload_request_write(&request, body);
    return KEDGE_OK;
}

/* ---- the second ---- */

static kedge_status put(kedge_driver *driver, kedge_bytes told, kedge_error *error)
{
    kedge_wire_upload_response to;
    kedge_http_header headers[KEDGE_WIRE_UPLOAD_HEADERS_MAX];
    kedge_status status = kedge_wire_upload_response_read(driver->allocator, told, &to, error);
    if (status == KEDGE_OK) {
        for (size_t i = 0; i < to.header_count; i++)
            headers[i] = (kedge_http_header){to.headers[i].name, to.headers[i].value};
        kedge_driver_request request = {.method = "PUT",
                                        .path = "push/upload",
                                        .url = to.url,
                                        .headers = headers,
                                        .header_count = to.header_count,
                                        .body = kedge_buffer_bytes(&driver->upload.packed),
                                        .deadline_ms = driver->upload.deadline_ms,
                                        .answer_bytes_max = ANSWER_BYTES_MAX};
        driver->upload.step = KEDGE_UPLOAD_PUT;
        status = kedge_driver_hand_over(driver, KEDGE_REQUEST_PUSH, &request, error);
    }
    kedge_wire_upload_response_free(&to);
    return status;
}

/* A server without uploads, be it an older one, has said its last word with the 413 before. */
static void read_no_grant(kedge_driver *driver, const kedge_driver_answer *answer,
                          kedge_core_event *event)
{
    kedge_driver_read_answer(driver, KEDGE_REQUEST_PUSH, answer, event);
    if (event->answer == KEDGE_ANSWER_SHORTER ||
        strcmp(event->error.code, "uploads-not-served") == 0 ||
        strcmp(event->error.code, "route-not-found") == 0) {
        event->answer = KEDGE_ANSWER_SHORTER;
        kedge_fail(&event->error, KEDGE_LIMIT_EXCEEDED, "push-too-large",
                   "the server takes no mutation as large as this one: %zu bytes as gzip",
                   driver->upload.packed.size);
    }
}

/* ---- the third ---- */

static kedge_status push(kedge_driver *driver, kedge_error *error)
{
    kedge_buffer body = kedge_buffer_make(driver->allocator);
    kedge_wire_upload_reference_write(driver->upload.sha256, &body);
    kedge_status status = kedge_buffer_status(&body, error);
    if (status == KEDGE_OK) {
        kedge_driver_request request = {.method = "POST",
                                        .path = "push",
                                        .body = kedge_buffer_bytes(&body),
                                        .accept = "application/json",
                                        .token = driver->token,
                                        .deadline_ms = driver->upload.deadline_ms,
                                        .answer_bytes_max = PUSHED_ANSWER_BYTES};
        driver->upload.step = KEDGE_UPLOAD_PUSHED;
        status = kedge_driver_hand_over(driver, KEDGE_REQUEST_PUSH, &request, error);
    }
    kedge_buffer_free(&body);
    return status;
}

static void read_no_put(const kedge_driver_answer *answer, kedge_core_event *event)
{
    event->retry_after_ms = answer->retry_after_ms;
    if (answer->status == 0) {
        event->answer = KEDGE_ANSWER_NETWORK;
        event->error = answer->error;
        return;
    }
    event->answer = KEDGE_ANSWER_TRANSIENT;
    kedge_fail(&event->error, KEDGE_UNAVAILABLE, "upload-refused",
               "the store to which the server sent an upload answered with status %d",
               answer->status);
}

/* An upload that got lost on its way is made again. */
static void read_pushed(kedge_driver *driver, const kedge_driver_answer *answer,
                        kedge_core_event *event)
{
    kedge_driver_read_answer(driver, KEDGE_REQUEST_PUSH, answer, event);
    if (strcmp(event->error.code, "upload-missing") == 0 ||
        strcmp(event->error.code, "upload-damaged") == 0) {
        event->answer = KEDGE_ANSWER_TRANSIENT;
    }
}

bool kedge_driver_upload_goes_on(kedge_driver *driver, const kedge_driver_answer *answer,
                                 kedge_core_event *event)
{
    kedge_status status;
    switch (driver->upload.step) {
    case KEDGE_UPLOAD_ASKED:
        if (answer->status != 200) {
            read_no_grant(driver, answer, event);
            return false;
        }
        status = put(driver, answer->body, &event->error);
        break;
    case KEDGE_UPLOAD_PUT:
        if (answer->status < 200 || answer->status > 299) {
            read_no_put(answer, event);
            return false;
        }
        status = push(driver, &event->error);
        break;
    default:
        read_pushed(driver, answer, event);
        return false;
    }
    event->answer = status == KEDGE_NETWORK ? KEDGE_ANSWER_NETWORK : KEDGE_ANSWER_TRANSIENT;
    return status == KEDGE_OK;
}
