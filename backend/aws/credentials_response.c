/* The JSON in which the endpoints of containers and instances give credentials. Nothing of it is
 * shown in an error but the endpoint's own code. */
#include "backend/aws/credential_sources.h"
#include "backend/aws/date.h"

#include "common/error.h"
#include "common/json.h"

#include <string.h>

#define JSON_DEPTH      8
#define CODE_BYTES      64
#define TIME_TEXT_BYTES 64

static kedge_status refuse(const char *where, const char *what, kedge_error *error)
{
    return kedge_fail(error, KEDGE_UNAUTHORIZED, "aws-credentials-invalid", "%s responded with %s",
                      where, what);
}

/* Appends the decoded string of a member; an absent one or null adds nothing. */
static bool read_text(kedge_bytes json, const char *name, kedge_buffer *text)
{
    kedge_bytes value;
    if (!kedge_json_member(json, name, &value)) return true;
    return kedge_json_type_of(value) == KEDGE_JSON_NULL || kedge_json_to_text(value, text);
}

/* An instance's metadata says 200 also when it has no credentials, and why in "Code". */
static kedge_status check_code(kedge_bytes json, const char *where, kedge_error *error)
{
    char code[CODE_BYTES];
    kedge_bytes value;
    if (!kedge_json_member(json, "Code", &value)) return KEDGE_OK;
    if (!kedge_json_to_chars(value, code, sizeof code)) return refuse(where, "no code", error);
    if (strcmp(code, "Success") == 0) return KEDGE_OK;
    return kedge_fail(error, KEDGE_UNAUTHORIZED, "aws-credentials-invalid",
                      "%s has no credentials for its role: %s", where, code);
}

static kedge_status read_expiry(kedge_bytes json, const char *where, int64_t *expires_ms,
                                kedge_error *error)
{
    char text[TIME_TEXT_BYTES];
    kedge_bytes value;
    *expires_ms = 0;
    if (!kedge_json_member(json, "Expiration", &value)) return KEDGE_OK;
    if (kedge_json_type_of(value) == KEDGE_JSON_NULL) return KEDGE_OK;
    if (kedge_json_to_chars(value, text, sizeof text) &&
        kedge_aws_timestamp_read(kedge_bytes_of(text), expires_ms)) {
        return KEDGE_OK;
    }
    return refuse(where, "an expiration that is not a time", error);
}

kedge_status kedge_aws_credentials_read(kedge_bytes json, kedge_aws_credentials *credentials,
                                        const kedge_allocator *allocator, const char *where,
                                        kedge_error *error)
{
    kedge_buffer parts[3] = {kedge_buffer_make(allocator), kedge_buffer_make(allocator),
                             kedge_buffer_make(allocator)};
    static const char *const names[3] = {"AccessKeyId", "SecretAccessKey", "Token"};
    int64_t expires_ms = 0;
    kedge_status status;
    if (kedge_json_type_of(json) == KEDGE_JSON_OBJECT) {
        status = kedge_json_check(json, JSON_DEPTH, &kedge_allocator_default, NULL);
    } else {
        status = KEDGE_INVALID_JSON;
    }
    if (status == KEDGE_NO_MEMORY) return kedge_fail_no_memory(error);
    if (status != KEDGE_OK) return refuse(where, "something that is not a JSON object", error);
    status = check_code(json, where, error);
    if (status == KEDGE_OK) status = read_expiry(json, where, &expires_ms, error);
    for (int i = 0; i < 3 && status == KEDGE_OK; i++) {
        bool is_text = read_text(json, names[i], &parts[i]);
        status = kedge_buffer_status(&parts[i], error);
        if (status == KEDGE_OK && !is_text) {
            status = refuse(where, "credentials that are not strings", error);
        }
    }
    if (status == KEDGE_OK) {
        status = kedge_aws_credentials_set(credentials, kedge_buffer_bytes(&parts[0]),
                                           kedge_buffer_bytes(&parts[1]),
                                           kedge_buffer_bytes(&parts[2]), where, error);
    }
    if (status == KEDGE_OK) credentials->expires_ms = expires_ms;
    for (int i = 0; i < 3; i++) {
        kedge_buffer_free(&parts[i]);
    }
    return status;
}
