/* PutObject under the condition that the key is free, and whose object stands under a key. */
#include "backend/aws/s3_internal.h"
#include "backend/ports/blobs_support.h"
#include "common/base64.h"
#include "common/error.h"
#include "common/hash.h"

#include <string.h>

#define PUT_HEADERS_MAX (KEDGE_S3_CONTENT_HEADERS_MAX + 5)

/* ---- what travels with the bytes ---- */

size_t kedge_s3_content_headers(kedge_bytes key,
                                kedge_http_header headers[KEDGE_S3_CONTENT_HEADERS_MAX])
{
    const kedge_bytes end = KEDGE_BYTES(".json.gz");
    bool gzipped =
        key.size >= end.size && memcmp(key.data + key.size - end.size, end.data, end.size) == 0;
    headers[0].name = "Content-Type";
    headers[0].value = gzipped ? "application/json" : "application/octet-stream";
    headers[1] = (kedge_http_header){"Content-Encoding", "gzip"};
    return gzipped ? 2 : 1;
}

void kedge_s3_make_token(const kedge_s3 *self, char token[KEDGE_S3_WRITER_TOKEN_SIZE])
{
    kedge_random_hex(kedge_aws_client_environment(self->client),
                     (KEDGE_S3_WRITER_TOKEN_SIZE - 1) / 2, token);
}

static kedge_status write_base64(const kedge_s3 *self, const uint8_t *hash, size_t hash_size,
                                 char *out, size_t out_size, kedge_error *error)
{
    kedge_buffer text = kedge_buffer_make(kedge_aws_client_environment(self->client)->allocator);
    kedge_base64_encode((kedge_bytes){(const char *)hash, hash_size}, &text);
    kedge_status status = kedge_buffer_status(&text, error);
    if (status == KEDGE_OK) memcpy(out, text.data, out_size);
    kedge_buffer_free(&text);
    return status;
}

kedge_status kedge_s3_checksum(const kedge_s3 *self, const uint8_t sha256[KEDGE_SHA256_SIZE],
                               char checksum[KEDGE_S3_CHECKSUM_SIZE], kedge_error *error)
{
    return write_base64(self, sha256, KEDGE_SHA256_SIZE, checksum, KEDGE_S3_CHECKSUM_SIZE, error);
}

kedge_status kedge_s3_sum(const kedge_s3 *self, kedge_bytes bytes, kedge_s3_sums *sums,
                          kedge_error *error)
{
    uint8_t sha256[KEDGE_SHA256_SIZE], md5[(KEDGE_MD5_HEX - 1) / 2];
    char hex[KEDGE_MD5_HEX];
    kedge_sha256(bytes, sha256);
    kedge_md5_hex(bytes, hex);
    kedge_hex_decode(kedge_bytes_of(hex), md5, sizeof md5);
    kedge_status status = kedge_s3_checksum(self, sha256, sums->sha256, error);
    if (status == KEDGE_OK)
        status = write_base64(self, md5, sizeof md5, sums->md5, sizeof sums->md5, error);
    return status;
}

kedge_status kedge_s3_check_checksum(const kedge_s3_request *request,
                                     const kedge_aws_response *response, const char *checksum,
                                     kedge_error *error)
{
    kedge_bytes stored;
    if (!kedge_aws_response_header(response, KEDGE_S3_CHECKSUM_HEADER, &stored) ||
        kedge_bytes_equal_text(stored, checksum))
        return KEDGE_OK;
    return kedge_s3_response_invalid(request, "has the checksum of other bytes", error);
}

/* ---- whose object it is ---- */

kedge_status kedge_s3_find_owner(const kedge_s3 *self, kedge_bytes key, const char *token,
                                 kedge_s3_owner *owner, kedge_error *error)
{
    const kedge_s3_request request = {.action = "s3:GetObject",
                                      .method = "HEAD",
                                      .key = key,
                                      .response_bytes_max = KEDGE_S3_XML_BYTES_MAX};
    kedge_aws_response response = {0};
    kedge_bytes found;
    kedge_status status = kedge_s3_call(self, &request, &response, error);
    if (status == KEDGE_OK) {
        *owner = kedge_aws_response_header(&response, KEDGE_S3_WRITER_HEADER, &found) &&
                         kedge_bytes_equal_text(found, token)
                     ? KEDGE_S3_OURS
                     : KEDGE_S3_OTHERS;
    } else if (status == KEDGE_CONFLICT && response.status == 404) { /* HEAD has no code */
        *owner = KEDGE_S3_NOBODY;
        status = KEDGE_OK;
    } else if (status == KEDGE_CONFLICT) {
        status = kedge_s3_refused(&response, error);
    }
    kedge_aws_response_free(&response);
    return status;
}

/* S3 says that the key is taken; an earlier try of ours may have taken it. KEDGE_OK must mean that
 * these bytes are stored, and KEDGE_CONFLICT that another writer's object is there. Under a content
 * address both objects are the same, under other keys they are not. So the writer's token is read
 * from the object. */
static kedge_status settle(const kedge_s3 *self, kedge_bytes key, const char *token,
                           kedge_error *error)
{
    kedge_s3_owner owner = KEDGE_S3_NOBODY;
    kedge_status status = kedge_s3_find_owner(self, key, token, &owner, error);
    if (status == KEDGE_OK && owner == KEDGE_S3_OTHERS) return kedge_blob_exists(key, error);
    if (status == KEDGE_OK && owner == KEDGE_S3_NOBODY)
        return kedge_fail(error, KEDGE_UNAVAILABLE, "blob-removed",
                          "the blob %.*s was there and was removed while it was being put",
                          (int)key.size, key.data);
    /* Why it could not be asked is not a response to the put: that one is unknown. */
    if (status != KEDGE_OK) status = KEDGE_UNAVAILABLE;
    if (status != KEDGE_OK && error != NULL) error->status = status;
    return status;
}

/* ---- put ---- */

kedge_status kedge_s3_put(const kedge_s3 *self, kedge_bytes key, kedge_bytes bytes,
                          const char *tagging, kedge_error *error)
{
    char token[KEDGE_S3_WRITER_TOKEN_SIZE];
    kedge_s3_sums sums;
    kedge_s3_make_token(self, token);
    kedge_status status = kedge_s3_sum(self, bytes, &sums, error);
    if (status != KEDGE_OK) return status;
    kedge_http_header headers[PUT_HEADERS_MAX];
    size_t count = kedge_s3_content_headers(key, headers);
    headers[count++] = (kedge_http_header){"If-None-Match", "*"};
    headers[count++] = (kedge_http_header){"Content-MD5", sums.md5};
    headers[count++] = (kedge_http_header){KEDGE_S3_CHECKSUM_HEADER, sums.sha256};
    headers[count++] = (kedge_http_header){KEDGE_S3_WRITER_HEADER, token};
    if (tagging != NULL) headers[count++] = (kedge_http_header){KEDGE_S3_TAGGING_HEADER, tagging};
    const kedge_s3_request request = {.action = tagging == NULL ? KEDGE_S3_PUT_ACTION
                                                                : KEDGE_S3_PUT_TAGGED,
                                      .method = "PUT",
                                      .key = key,
                                      .headers = headers,
                                      .header_count = count,
                                      .body = bytes,
                                      .response_bytes_max = KEDGE_S3_XML_BYTES_MAX};
    kedge_aws_response response = {0};
    status = kedge_s3_call(self, &request, &response, error);
    if (status == KEDGE_OK)
        status = kedge_s3_check_checksum(&request, &response, sums.sha256, error);
    else if (status == KEDGE_CONFLICT && response.status == 412)
        status = response.earlier_unknown ? settle(self, key, token, error)
                                          : kedge_blob_exists(key, error);
    else if (status == KEDGE_CONFLICT)
        status = kedge_s3_refused(&response, error);
    kedge_aws_response_free(&response);
    return status;
}
