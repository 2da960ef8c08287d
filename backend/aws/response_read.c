/* Finding out what a service says went wrong: in JSON (DynamoDB, SQS) or in XML (S3). */
#include "backend/aws/internal.h"
#include "backend/aws/xml.h"
#include "common/json.h"

#include <kedge/limits.h>

#include <stdio.h>
#include <string.h>

/* Copies as much as there is room for. */
static void copy(char *out, size_t out_size, kedge_bytes text)
{
    size_t size = text.size < out_size ? text.size : out_size - 1;
    if (size > 0) memcpy(out, text.data, size);
    out[size] = '\0';
}

/* "com.amazonaws.dynamodb.v20120810#ThrottlingException:http://…" is a ThrottlingException. */
static void copy_code(char *out, size_t out_size, kedge_bytes text)
{
    const char *hash = text.size == 0 ? NULL : memchr(text.data, '#', text.size);
    if (hash != NULL) {
        text.size -= (size_t)(hash + 1 - text.data);
        text.data = hash + 1;
    }
    const char *colon = text.size == 0 ? NULL : memchr(text.data, ':', text.size);
    if (colon != NULL) text.size = (size_t)(colon - text.data);
    copy(out, out_size, text);
}

/* ---- JSON ---- */

static bool member_text(kedge_bytes object, const char *name, const kedge_allocator *allocator,
                        kedge_buffer *out)
{
    kedge_bytes value;
    *out = kedge_buffer_make(allocator);
    return kedge_json_member(object, name, &value) &&
           kedge_json_type_of(value) == KEDGE_JSON_STRING && kedge_json_to_text(value, out);
}

static void read_json_error(const kedge_allocator *allocator, kedge_aws_response *response)
{
    static const char *const codes[] = {"__type", "code"};
    static const char *const messages[] = {"message", "Message"};
    kedge_buffer text = kedge_buffer_make(allocator);
    kedge_bytes body = kedge_buffer_bytes(&response->body);
    kedge_bytes header;
    if (kedge_aws_response_header(response, "x-amzn-errortype", &header)) {
        copy_code(response->code, sizeof response->code, header);
    }
    if (kedge_json_check(body, KEDGE_LIMIT_JSON_DEPTH, &kedge_allocator_default, NULL) != KEDGE_OK)
        return;
    for (size_t i = 0; i < 2; i++) {
        if (response->code[0] == '\0' && member_text(body, codes[i], allocator, &text)) {
            copy_code(response->code, sizeof response->code, kedge_buffer_bytes(&text));
        }
        kedge_buffer_free(&text);
        if (response->message[0] == '\0' && member_text(body, messages[i], allocator, &text)) {
            copy(response->message, sizeof response->message, kedge_buffer_bytes(&text));
        }
        kedge_buffer_free(&text);
    }
}

/* A body that succeeds is read by the caller; this tells it from a page of something else. */
static bool looks_like_json(kedge_bytes body)
{
    return body.size == 0 || (body.data[0] == '{' && body.data[body.size - 1] == '}');
}

/* ---- XML ---- */

static bool take_element(void *context, const char *path, kedge_bytes text)
{
    kedge_aws_response *response = context;
    if (strcmp(path, "Error/Code") == 0) copy(response->code, sizeof response->code, text);
    if (strcmp(path, "Error/Message") == 0) copy(response->message, sizeof response->message, text);
    if (strcmp(path, "Error/Region") == 0) copy(response->region, sizeof response->region, text);
    return true;
}

/* The response to a HEAD has no body that could say more. */
static const char *code_of_status(int status)
{
    switch (status) {
    case 301:
        return "PermanentRedirect";
    case 304:
        return "NotModified";
    case 400:
        return "BadRequest";
    case 403:
        return "Forbidden";
    case 404:
        return "NotFound";
    case 412:
        return "PreconditionFailed";
    default:
        return "";
    }
}

static void read_xml_error(const kedge_allocator *allocator, kedge_aws_response *response)
{
    kedge_bytes body = kedge_buffer_bytes(&response->body);
    kedge_bytes region;
    if (body.size == 0) {
        snprintf(response->code, sizeof response->code, "%s", code_of_status(response->status));
    } else if (kedge_aws_xml_read(allocator, body, take_element, response, NULL) != KEDGE_OK) {
        response->code[0] = '\0';
    }
    if (response->region[0] == '\0' &&
        kedge_aws_response_header(response, "x-amz-bucket-region", &region)) {
        copy(response->region, sizeof response->region, region);
    }
}

/* Completing an upload takes long, so that S3 sends 200 before it knows; an error is in the body
 * then. */
static bool is_late_error(const char *method, const kedge_aws_response *response)
{
    return response->status == 200 && strcmp(method, "POST") == 0 && response->body.size > 0 &&
           memmem(response->body.data, response->body.size, "<Error>", 7) != NULL;
}

static bool read_s3(const char *method, const kedge_allocator *allocator,
                    kedge_aws_response *response)
{
    kedge_bytes id;
    bool ours = kedge_aws_response_header(response, "x-amz-request-id", &id);
    bool succeeded = response->status >= 200 && response->status < 300;
    if (!succeeded || is_late_error(method, response)) read_xml_error(allocator, response);
    return ours || response->status >= 500;
}

bool kedge_aws_response_read(kedge_aws_service service, const char *method,
                             const kedge_allocator *allocator, kedge_aws_response *response)
{
    if (service == KEDGE_AWS_S3) return read_s3(method, allocator, response);
    if (response->status >= 200 && response->status < 300) {
        return looks_like_json(kedge_buffer_bytes(&response->body));
    }
    read_json_error(allocator, response);
    return response->code[0] != '\0' || response->status >= 500 || response->status == 429;
}
