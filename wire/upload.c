/* See upload.h. */
#include "wire/upload.h"

#include "common/assert.h"
#include "common/error.h"

#include <string.h>

#define REFERENCE_BYTES_MAX 1024
#define URL_BYTES_MAX       16384
#define HEADER_BYTES_MAX    512

/* ---- the request ---- */

static void write_hash(kedge_json_writer *writer, const char *name,
                       const uint8_t sha256[KEDGE_SHA256_SIZE])
{
    char hex[KEDGE_SHA256_HEX];
    kedge_hex_encode(sha256, KEDGE_SHA256_SIZE, hex);
    kedge_json_key(writer, name);
    kedge_json_chars(writer, hex);
}

void kedge_wire_upload_request_write(const kedge_wire_upload_request *request, kedge_buffer *out)
{
    KEDGE_ASSERT(request->size_bytes > 0);
    kedge_json_writer writer = kedge_json_write(out);
    kedge_json_begin_object(&writer);
    write_hash(&writer, "sha256", request->sha256);
    kedge_json_key(&writer, "bytes");
    kedge_json_integer(&writer, request->size_bytes);
    kedge_json_end_object(&writer);
}

kedge_status kedge_wire_upload_request_read(const kedge_wire_request *request,
                                            kedge_wire_upload_request *out, kedge_error *error)
{
    kedge_bytes object;
    kedge_status status = kedge_wire_request_object(request, &object, error);
    if (status == KEDGE_OK) status = kedge_wire_request_hash(object, "sha256", out->sha256, error);
    if (status == KEDGE_OK) {
        status = kedge_wire_request_integer(object, "bytes", "bytes", 1, &out->size_bytes, error);
    }
    return status;
}

/* ---- the response ---- */

void kedge_wire_upload_response_write(const kedge_wire_upload_response *response, kedge_buffer *out)
{
    KEDGE_ASSERT(response->header_count <= KEDGE_WIRE_UPLOAD_HEADERS_MAX);
    kedge_json_writer writer = kedge_json_write(out);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "url");
    kedge_json_chars(&writer, response->url);
    kedge_json_key(&writer, "headers");
    kedge_json_begin_object(&writer);
    for (size_t i = 0; i < response->header_count; i++) {
        kedge_json_key(&writer, response->headers[i].name);
        kedge_json_chars(&writer, response->headers[i].value);
    }
    kedge_json_end_object(&writer);
    kedge_json_key(&writer, "expires_in_ms");
    kedge_json_integer(&writer, response->expires_in_ms);
    kedge_json_end_object(&writer);
}

/* Decodes a string into `text`, which has room: no string is longer decoded than in the body. */
static bool take_chars(kedge_buffer *text, kedge_bytes value, size_t bytes_max, const char **out)
{
    char *place = text->data + text->size;
    size_t room = text->capacity - text->size;
    if (!kedge_json_to_chars(value, place, room < bytes_max ? room : bytes_max)) return false;
    text->size += strlen(place) + 1;
    *out = place;
    return true;
}

static bool read_headers(kedge_bytes object, kedge_wire_upload_response *out)
{
    kedge_bytes name;
    kedge_bytes value;
    kedge_json_iterator members = kedge_json_iterate(object);
    if (kedge_json_type_of(object) != KEDGE_JSON_OBJECT) return false;
    while (kedge_json_next_member(&members, &name, &value)) {
        if (out->header_count == KEDGE_WIRE_UPLOAD_HEADERS_MAX) return false;
        kedge_wire_upload_header *header = &out->headers[out->header_count++];
        if (!take_chars(&out->text, name, HEADER_BYTES_MAX, &header->name) ||
            !take_chars(&out->text, value, HEADER_BYTES_MAX, &header->value)) {
            return false;
        }
    }
    return !members.failed;
}

kedge_status kedge_wire_upload_response_read(const kedge_allocator *allocator, kedge_bytes body,
                                             kedge_wire_upload_response *out, kedge_error *error)
{
    kedge_bytes url;
    kedge_bytes headers;
    *out = (kedge_wire_upload_response){.text = kedge_buffer_make(allocator)};
    if (kedge_buffer_reserve(&out->text, body.size) == NULL) return kedge_fail_no_memory(error);
    kedge_status status = kedge_json_check(body, KEDGE_LIMIT_JSON_DEPTH, allocator, error);
    if (status == KEDGE_NO_MEMORY) return status;
    if (status == KEDGE_OK && kedge_json_member(body, "url", &url) &&
        take_chars(&out->text, url, URL_BYTES_MAX, &out->url) &&
        kedge_json_member(body, "headers", &headers) && read_headers(headers, out)) {
        if (!kedge_json_member_integer(body, "expires_in_ms", &out->expires_in_ms)) {
            out->expires_in_ms = 0;
        }
        return KEDGE_OK;
    }
    return kedge_fail(error, KEDGE_PROTOCOL, "response-invalid",
                      "the response that should say where to upload a push is not Kedge's");
}

void kedge_wire_upload_response_free(kedge_wire_upload_response *response)
{
    kedge_buffer_wipe(&response->text);
}

/* ---- the push that names it ---- */

void kedge_wire_upload_reference_write(const uint8_t sha256[KEDGE_SHA256_SIZE], kedge_buffer *out)
{
    kedge_json_writer writer = kedge_json_write(out);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "pushVersion");
    kedge_json_integer(&writer, 1);
    write_hash(&writer, "upload", sha256);
    kedge_json_end_object(&writer);
}

kedge_status kedge_wire_upload_reference_read(const kedge_wire_request *request, bool *named,
                                              uint8_t sha256[KEDGE_SHA256_SIZE], kedge_error *error)
{
    int64_t version;
    kedge_bytes object;
    kedge_bytes value;
    *named = request->body.size <= REFERENCE_BYTES_MAX &&
             kedge_wire_request_object(request, &object, NULL) == KEDGE_OK &&
             kedge_json_member(object, "upload", &value) &&
             !kedge_json_member(object, "mutations", &value) &&
             kedge_json_member_integer(object, "pushVersion", &version) && version == 1;
    return *named ? kedge_wire_request_hash(object, "upload", sha256, error) : KEDGE_OK;
}
