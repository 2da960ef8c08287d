/* Signature version 4: the string to sign, the key derived for a day, region and service, and the
 * two places a signature goes to. */
#include "backend/aws/canonical.h"

#include "common/error.h"
#include "common/hash.h"
#include "common/percent.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define ALGORITHM         "AWS4-HMAC-SHA256"
#define UNSIGNED_PAYLOAD  "UNSIGNED-PAYLOAD"
#define DATE_BYTES        8 /* of a timestamp "20150830T123600Z" */
#define EXPIRES_TEXT_SIZE 12

/* ---- a signature's memory ---- */

void kedge_aws_signature_make(const kedge_allocator *allocator, kedge_aws_signature *signature)
{
    memset(signature, 0, sizeof *signature);
    kedge_wiping_init(&signature->wiping, allocator);
    signature->canonical_request = kedge_buffer_make(&signature->wiping.allocator);
    signature->string_to_sign = kedge_buffer_make(&signature->wiping.allocator);
    signature->authorization = kedge_buffer_make(&signature->wiping.allocator);
}

static void empty(kedge_aws_signature *signature)
{
    kedge_buffer_free(&signature->canonical_request);
    kedge_buffer_free(&signature->string_to_sign);
    kedge_buffer_free(&signature->authorization);
    signature->signature[0] = '\0';
    signature->timestamp[0] = '\0';
    signature->payload_sha256[0] = '\0';
}

void kedge_aws_signature_free(kedge_aws_signature *signature)
{
    empty(signature);
}

/* ---- the steps ---- */

static kedge_status check_request(const kedge_aws_signed_request *request, kedge_error *error)
{
    if (request->header_count > KEDGE_HTTP_HEADERS_MAX ||
        request->query_count > KEDGE_AWS_PARAMETERS_MAX) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "aws-request-invalid",
                          "the request has %zu headers and %zu parameters; at most %d and %d can "
                          "be signed",
                          request->header_count, request->query_count, KEDGE_HTTP_HEADERS_MAX,
                          KEDGE_AWS_PARAMETERS_MAX);
    }
    if (request->path.size == 0 || request->path.data[0] != '/') {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "aws-request-invalid",
                          "the request's path does not start with '/'");
    }
    return KEDGE_OK;
}

static void begin(const kedge_aws_signing *signing, const kedge_aws_signed_request *request,
                  kedge_aws_signature *signature)
{
    struct tm utc = {0};
    time_t seconds = (time_t)(signing->now_ms / 1000);
    empty(signature);
    gmtime_r(&seconds, &utc);
    if (strftime(signature->timestamp, sizeof signature->timestamp, "%Y%m%dT%H%M%SZ", &utc) == 0) {
        signature->timestamp[0] = '\0'; /* a year of five digits: the service refuses it */
    }
    if (signing->unsigned_payload) {
        memcpy(signature->payload_sha256, UNSIGNED_PAYLOAD, sizeof UNSIGNED_PAYLOAD);
    } else {
        kedge_sha256_hex(request->body, signature->payload_sha256);
    }
}

static void append_scope(const kedge_aws_signing *signing, const kedge_aws_signature *signature,
                         kedge_buffer *out)
{
    kedge_buffer_append_format(out, "%.*s/%s/%s/aws4_request", DATE_BYTES, signature->timestamp,
                               signing->region, signing->service);
}

static void derive(uint8_t key[KEDGE_SHA256_SIZE], const char *step)
{
    kedge_hmac_sha256((kedge_bytes){(const char *)key, KEDGE_SHA256_SIZE}, kedge_bytes_of(step),
                      key);
}

/* HMAC of HMACs: a key that gets out is good for one day, region and service. */
static void sign_string(const kedge_aws_signing *signing, kedge_aws_signature *signature)
{
    char secret[4 + KEDGE_AWS_SECRET_BYTES_MAX + 1];
    uint8_t key[KEDGE_SHA256_SIZE];
    int size = snprintf(secret, sizeof secret, "AWS4%s", signing->credentials->secret);
    kedge_hmac_sha256(
        (kedge_bytes){secret, (size_t)size},
        (kedge_bytes){signature->timestamp, strnlen(signature->timestamp, DATE_BYTES)}, key);
    derive(key, signing->region);
    derive(key, signing->service);
    derive(key, "aws4_request");
    kedge_hmac_sha256((kedge_bytes){(const char *)key, sizeof key},
                      kedge_buffer_bytes(&signature->string_to_sign), key);
    kedge_hex_encode(key, sizeof key, signature->signature);
    kedge_cleanse(secret, sizeof secret);
    kedge_cleanse(key, sizeof key);
}

/* From the canonical query and headers to the signature. */
static kedge_status complete(const kedge_aws_signing *signing,
                             const kedge_aws_signed_request *request, const kedge_buffer *query,
                             const kedge_buffer *lines, const kedge_buffer *names,
                             kedge_aws_signature *signature, kedge_error *error)
{
    kedge_buffer *canonical = &signature->canonical_request;
    kedge_buffer *string = &signature->string_to_sign;
    char hash[KEDGE_SHA256_HEX];
    if (query->no_memory || lines->no_memory || names->no_memory) {
        return kedge_fail_no_memory(error);
    }
    kedge_buffer_append_format(canonical, "%s\n", request->method);
    kedge_aws_canonical_path(signing, request->path, canonical);
    kedge_buffer_append_byte(canonical, '\n');
    kedge_buffer_append_bytes(canonical, kedge_buffer_bytes(query));
    kedge_buffer_append_byte(canonical, '\n');
    kedge_buffer_append_bytes(canonical, kedge_buffer_bytes(lines));
    kedge_buffer_append_byte(canonical, '\n');
    kedge_buffer_append_bytes(canonical, kedge_buffer_bytes(names));
    kedge_buffer_append_format(canonical, "\n%s", signature->payload_sha256);
    kedge_status status = kedge_buffer_status(canonical, error);
    if (status != KEDGE_OK) return status;

    kedge_sha256_hex(kedge_buffer_bytes(canonical), hash);
    kedge_buffer_append_format(string, ALGORITHM "\n%s\n", signature->timestamp);
    append_scope(signing, signature, string);
    kedge_buffer_append_format(string, "\n%s", hash);
    status = kedge_buffer_status(string, error);
    if (status != KEDGE_OK) return status;
    sign_string(signing, signature);
    return KEDGE_OK;
}

/* ---- in a header ---- */

static size_t gather_headers(const kedge_aws_signing *signing,
                             const kedge_aws_signed_request *request,
                             const kedge_aws_signature *signature,
                             kedge_http_header headers[KEDGE_AWS_SIGNED_HEADERS_MAX])
{
    size_t count = 0;
    const char *token = signing->credentials->token;
    headers[count++] = (kedge_http_header){"Host", request->host};
    headers[count++] = (kedge_http_header){"X-Amz-Date", signature->timestamp};
    if (token[0] != '\0' && !signing->token_after_signature) {
        headers[count++] = (kedge_http_header){"X-Amz-Security-Token", token};
    }
    if (signing->payload_header) {
        headers[count++] = (kedge_http_header){"X-Amz-Content-Sha256", signature->payload_sha256};
    }
    for (size_t i = 0; i < request->header_count; i++) {
        headers[count++] = request->headers[i];
    }
    return count;
}

kedge_status kedge_aws_sign(const kedge_allocator *allocator, const kedge_aws_signing *signing,
                            const kedge_aws_signed_request *request, kedge_aws_signature *signature,
                            kedge_error *error)
{
    kedge_http_header headers[KEDGE_AWS_SIGNED_HEADERS_MAX];
    kedge_wiping wiping;
    kedge_wiping_init(&wiping, allocator);
    kedge_buffer query = kedge_buffer_make(&wiping.allocator);
    kedge_buffer lines = kedge_buffer_make(&wiping.allocator);
    kedge_buffer names = kedge_buffer_make(&wiping.allocator);
    kedge_status status = check_request(request, error);
    if (status != KEDGE_OK) goto out;

    begin(signing, request, signature);
    kedge_aws_canonical_query(request->query, request->query_count, &query);
    size_t count = gather_headers(signing, request, signature, headers);
    kedge_aws_canonical_headers(headers, count, &lines, &names);
    status = complete(signing, request, &query, &lines, &names, signature, error);
    if (status != KEDGE_OK) goto out;
    kedge_buffer_append_format(&signature->authorization, ALGORITHM " Credential=%s/",
                               signing->credentials->key_id);
    append_scope(signing, signature, &signature->authorization);
    kedge_buffer_append_format(&signature->authorization, ", SignedHeaders=%s, Signature=%s",
                               names.data, signature->signature);
    status = kedge_buffer_status(&signature->authorization, error);
out:
    if (status != KEDGE_OK) empty(signature);
    kedge_buffer_free(&query);
    kedge_buffer_free(&lines);
    kedge_buffer_free(&names);
    return status;
}

/* ---- in a query ---- */

typedef struct query_texts {
    kedge_buffer credential;
    kedge_buffer names;
    char expires[EXPIRES_TEXT_SIZE];
} query_texts;

static size_t gather_parameters(const kedge_aws_signing *signing,
                                const kedge_aws_signed_request *request,
                                const kedge_aws_signature *signature, const query_texts *texts,
                                kedge_aws_parameter parameters[KEDGE_AWS_SIGNED_PARAMETERS_MAX])
{
    size_t count = 0;
    kedge_bytes token = kedge_bytes_of(signing->credentials->token);
    for (size_t i = 0; i < request->query_count; i++) {
        parameters[count++] = request->query[i];
    }
    parameters[count++] =
        (kedge_aws_parameter){KEDGE_BYTES("X-Amz-Algorithm"), KEDGE_BYTES(ALGORITHM)};
    parameters[count++] = (kedge_aws_parameter){KEDGE_BYTES("X-Amz-Credential"),
                                                kedge_buffer_bytes(&texts->credential)};
    parameters[count++] =
        (kedge_aws_parameter){KEDGE_BYTES("X-Amz-Date"), kedge_bytes_of(signature->timestamp)};
    parameters[count++] =
        (kedge_aws_parameter){KEDGE_BYTES("X-Amz-Expires"), kedge_bytes_of(texts->expires)};
    parameters[count++] = (kedge_aws_parameter){KEDGE_BYTES("X-Amz-SignedHeaders"),
                                                kedge_buffer_bytes(&texts->names)};
    if (token.size > 0 && !signing->token_after_signature) {
        parameters[count++] = (kedge_aws_parameter){KEDGE_BYTES("X-Amz-Security-Token"), token};
    }
    return count;
}

static void append_query(const kedge_aws_signing *signing, const kedge_buffer *canonical,
                         const kedge_aws_signature *signature, kedge_buffer *query)
{
    kedge_bytes token = kedge_bytes_of(signing->credentials->token);
    kedge_buffer_append_bytes(query, kedge_buffer_bytes(canonical));
    if (token.size > 0 && signing->token_after_signature) {
        kedge_buffer_append_text(query, "&X-Amz-Security-Token=");
        kedge_percent_encode(token, KEDGE_PERCENT_UNRESERVED, query);
    }
    kedge_buffer_append_format(query, "&X-Amz-Signature=%s", signature->signature);
}

kedge_status kedge_aws_sign_query(const kedge_allocator *allocator,
                                  const kedge_aws_signing *signing,
                                  const kedge_aws_signed_request *request, uint32_t expires_s,
                                  kedge_aws_signature *signature, kedge_buffer *query,
                                  kedge_error *error)
{
    kedge_aws_parameter parameters[KEDGE_AWS_SIGNED_PARAMETERS_MAX];
    kedge_http_header headers[KEDGE_AWS_SIGNED_HEADERS_MAX];
    kedge_wiping wiping;
    kedge_wiping_init(&wiping, allocator);
    query_texts texts = {kedge_buffer_make(&wiping.allocator), kedge_buffer_make(&wiping.allocator),
                         ""};
    kedge_buffer lines = kedge_buffer_make(&wiping.allocator);
    kedge_buffer canonical = kedge_buffer_make(&wiping.allocator);
    size_t start = query->size;
    kedge_status status = check_request(request, error);
    if (status != KEDGE_OK) goto out;
    if (expires_s < 1 || expires_s > KEDGE_AWS_EXPIRES_MAX_S) {
        status = kedge_fail(error, KEDGE_INVALID_ARGUMENT, "aws-request-invalid",
                            "a signed URL cannot be good for %u seconds: 1 to %d are allowed",
                            expires_s, KEDGE_AWS_EXPIRES_MAX_S);
        goto out;
    }
    begin(signing, request, signature);
    headers[0] = (kedge_http_header){"Host", request->host};
    for (size_t i = 0; i < request->header_count; i++) {
        headers[1 + i] = request->headers[i];
    }
    kedge_aws_canonical_headers(headers, 1 + request->header_count, &lines, &texts.names);
    snprintf(texts.expires, sizeof texts.expires, "%u", expires_s);
    kedge_buffer_append_format(&texts.credential, "%s/", signing->credentials->key_id);
    append_scope(signing, signature, &texts.credential);
    status = kedge_buffer_status(&texts.credential, error);
    if (status != KEDGE_OK) goto out;
    size_t count = gather_parameters(signing, request, signature, &texts, parameters);
    kedge_aws_canonical_query(parameters, count, &canonical);
    status = complete(signing, request, &canonical, &lines, &texts.names, signature, error);
    if (status != KEDGE_OK) goto out;
    append_query(signing, &canonical, signature, query);
    status = kedge_buffer_status(query, error);
out:
    if (status != KEDGE_OK) {
        kedge_buffer_truncate(query, start);
        empty(signature);
    }
    kedge_buffer_free(&texts.credential);
    kedge_buffer_free(&texts.names);
    kedge_buffer_free(&lines);
    kedge_buffer_free(&canonical);
    return status;
}

kedge_status kedge_aws_presign(const kedge_allocator *allocator, const kedge_aws_signing *signing,
                               const kedge_aws_signed_request *request, const char *scheme_host,
                               uint32_t expires_s, kedge_buffer *url, kedge_error *error)
{
    kedge_aws_signing own = *signing;
    kedge_aws_signature signature;
    size_t start = url->size;
    own.unsigned_payload = true;
    kedge_aws_signature_make(allocator, &signature);
    kedge_buffer_append_text(url, scheme_host);
    kedge_percent_encode(request->path, KEDGE_PERCENT_UNRESERVED "/", url);
    kedge_buffer_append_byte(url, '?');
    kedge_status status =
        kedge_aws_sign_query(allocator, &own, request, expires_s, &signature, url, error);
    if (status != KEDGE_OK) kedge_buffer_truncate(url, start);
    kedge_aws_signature_free(&signature);
    return status;
}
