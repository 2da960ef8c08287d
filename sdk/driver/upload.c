/* A push that is larger than the server's front end can receive: three requests in a row.
 *
 *   POST push/upload  the SHA-256 and the size of the push as gzip; the response has a URL
 *   PUT {url}         the gzip, to the store of the server's blobs; it goes without our token and
 *                     our headers
 *   POST push         the SHA-256; the response is that of a push
 *
 * To the core the three are one push. When one of them fails, the push begins again with the
 * first. */
#include "wire/upload.h"
#include "common/assert.h"
#include "common/error.h"
#include "sdk/driver/driver_internal.h"
#include "sdk/net/coding.h"
#include "sdk/net/net.h"

#include <string.h>

#define RESPONSE_BYTES_MAX    65536 /* of the first request, and of the store of the blobs */
#define PUSHED_RESPONSE_BYTES 4194304

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
    kedge_status status = kedge_coding_pack(kedge_buffer_bytes(body), &upload->packed, error);
    if (status != KEDGE_OK) {
        kedge_buffer_free(&upload->packed);
        return status;
    }
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
                                        .response_bytes_max = RESPONSE_BYTES_MAX};
        driver->upload.step = KEDGE_UPLOAD_PUT;
        status = kedge_driver_hand_over(driver, KEDGE_REQUEST_PUSH, &request, error);
    }
    kedge_wire_upload_response_free(&to);
    return status;
}

/* A server without uploads, for example an older one: the 413 before is final. */
static void read_no_grant(kedge_driver *driver, const kedge_driver_response *response,
                          kedge_core_event *event)
{
    kedge_request_result *result = &event->push_ended.result;
    kedge_driver_read_response(driver, KEDGE_REQUEST_PUSH, response, event);
    if (result->response == KEDGE_RESPONSE_SHORTER ||
        strcmp(result->error.code, "uploads-not-served") == 0 ||
        strcmp(result->error.code, "route-not-found") == 0) {
        result->response = KEDGE_RESPONSE_SHORTER;
        kedge_fail(&result->error, KEDGE_LIMIT_EXCEEDED, "push-too-large",
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
                                        .response_bytes_max = PUSHED_RESPONSE_BYTES};
        driver->upload.step = KEDGE_UPLOAD_PUSHED;
        status = kedge_driver_hand_over(driver, KEDGE_REQUEST_PUSH, &request, error);
    }
    kedge_buffer_free(&body);
    return status;
}

static void read_no_put(const kedge_driver_response *response, kedge_request_result *result)
{
    result->retry_after_ms = response->retry_after_ms;
    if (response->status == 0) {
        result->response = KEDGE_RESPONSE_NETWORK;
        result->error = response->error;
        return;
    }
    result->response = KEDGE_RESPONSE_TRANSIENT;
    kedge_fail(&result->error, KEDGE_UNAVAILABLE, "upload-refused",
               "the store to which the server sent an upload responded with status %d",
               response->status);
}

/* A lost upload is made again. */
static void read_pushed(kedge_driver *driver, const kedge_driver_response *response,
                        kedge_core_event *event)
{
    kedge_request_result *result = &event->push_ended.result;
    kedge_driver_read_response(driver, KEDGE_REQUEST_PUSH, response, event);
    if (strcmp(result->error.code, "upload-missing") == 0 ||
        strcmp(result->error.code, "upload-damaged") == 0) {
        result->response = KEDGE_RESPONSE_TRANSIENT;
    }
}

bool kedge_driver_upload_goes_on(kedge_driver *driver, const kedge_driver_response *response,
                                 kedge_core_event *event)
{
    kedge_status status;
    kedge_request_result *result = &event->push_ended.result;
    KEDGE_ASSERT(event->kind == KEDGE_EVENT_PUSH_ENDED);
    switch (driver->upload.step) {
    case KEDGE_UPLOAD_ASKED:
        if (response->status != 200) {
            read_no_grant(driver, response, event);
            return false;
        }
        status = put(driver, response->body, &result->error);
        break;
    case KEDGE_UPLOAD_PUT:
        if (response->status < 200 || response->status > 299) {
            read_no_put(response, result);
            return false;
        }
        status = push(driver, &result->error);
        break;
    default:
        read_pushed(driver, response, event);
        return false;
    }
    result->response = status == KEDGE_NETWORK ? KEDGE_RESPONSE_NETWORK : KEDGE_RESPONSE_TRANSIENT;
    return status == KEDGE_OK;
}
