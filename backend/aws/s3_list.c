/* ListObjectsV2: a page of keys, in byte order.
 *
 * Keys come percent-encoded (encoding-type=url), since XML cannot hold all that a key may. A '+' in
 * them stands for a space, as AWS writes it; the plus sign itself comes as %2B. */
#include "backend/aws/date.h"
#include "backend/aws/s3_internal.h"
#include "backend/ports/blobs_support.h"
#include "common/error.h"

#include <stdio.h>
#include <string.h>

typedef struct page {
    const kedge_s3 *s3;
    kedge_blob_list *list;
    kedge_bytes prefix; /* what was asked for, with the port's prefix */
    kedge_bytes after;
    uint32_t limit;
    kedge_buffer key; /* of the element that is being read, decoded */
    int64_t size_bytes;
    int64_t modified_ms;
    bool truncated;
    bool said_truncated;
    bool invalid; /* something in it is not as S3 writes it */
} page;

/* ---- texts ---- */

static int digit_of(char digit)
{
    if (digit >= '0' && digit <= '9') return digit - '0';
    if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
    if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
    return -1;
}

static bool decode(kedge_bytes text, kedge_buffer *out)
{
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] != '%') {
            kedge_buffer_append_byte(out, text.data[i] == '+' ? ' ' : text.data[i]);
            continue;
        }
        if (text.size - i < 3) return false;
        int high = digit_of(text.data[i + 1]), low = digit_of(text.data[i + 2]);
        if (high < 0 || low < 0) return false;
        kedge_buffer_append_byte(out, (char)(high * 16 + low));
        i += 2;
    }
    return true;
}

static bool read_size(kedge_bytes text, int64_t *size)
{
    *size = 0;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9' || i == 15) return false;
        *size = *size * 10 + (text.data[i] - '0');
    }
    return text.size > 0;
}

/* ---- what XML cannot hold ---- */

/* The size of a reference to a control character ("&#x01;") at `at`, or of U+FFFE or U+FFFF. */
static size_t unreadable_at(const char *at, size_t size)
{
    if (size >= 3 && memcmp(at, "\xef\xbf", 2) == 0 && (unsigned char)at[2] >= 0xbe) return 3;
    if (size < 6 || memcmp(at, "&#x", 3) != 0 || (at[3] != '0' && at[3] != '1') || at[5] != ';')
        return 0;
    int low = digit_of(at[4]);
    bool readable = at[3] == '0' && (low == 0x9 || low == 0xa || low == 0xd);
    return low >= 0 && !readable ? 6 : 0;
}

/* S3 encodes all keys in the response. radosgw encodes those of the objects, but repeats the prefix
 * and the key to start after as references to characters that XML does not have. Nobody reads them;
 * they become spaces. */
static void blank_unreadable(kedge_buffer *body)
{
    for (size_t i = 0; i < body->size; i++) {
        if (body->data[i] != '&' && body->data[i] != '\xef') continue;
        size_t size = unreadable_at(body->data + i, body->size - i);
        memset(body->data + i, ' ', size);
    }
}

/* ---- the page ---- */

/* At the end of a Contents. A key that was not asked for is not a response: who goes from page to
 * page would go in a circle. */
static bool take_blob(page *self)
{
    kedge_bytes key = kedge_buffer_bytes(&self->key);
    size_t hidden = strlen(self->s3->prefix);
    kedge_error failure = {0};
    if (self->list->count == self->limit || key.size <= hidden ||
        !kedge_bytes_start_with(key, self->prefix) || kedge_bytes_compare(key, self->after) <= 0 ||
        kedge_blob_key_check(key, NULL) != KEDGE_OK) {
        self->invalid = true;
        return true;
    }
    key = (kedge_bytes){key.data + hidden, key.size - hidden};
    kedge_status status = kedge_blob_list_offer(self->list, self->limit, key, self->size_bytes,
                                                self->modified_ms, &failure);
    kedge_buffer_clear(&self->key);
    self->size_bytes = self->modified_ms = -1;
    return status == KEDGE_OK;
}

static bool take_element(void *context, const char *path, kedge_bytes text)
{
    static const char root[] = "ListBucketResult/";
    page *self = context;
    if (strncmp(path, root, sizeof root - 1) != 0) return true;
    path += sizeof root - 1;
    bool good = true;
    if (strcmp(path, "Contents/Key") == 0) {
        kedge_buffer_clear(&self->key);
        good = decode(text, &self->key);
    } else if (strcmp(path, "Contents/Size") == 0) {
        good = read_size(text, &self->size_bytes);
    } else if (strcmp(path, "Contents/LastModified") == 0) {
        good = kedge_aws_timestamp_read(text, &self->modified_ms);
    } else if (strcmp(path, "Contents") == 0) {
        good = self->size_bytes >= 0 && self->modified_ms >= 0;
        if (good && !take_blob(self)) return false;
    } else if (strcmp(path, "IsTruncated") == 0) {
        self->said_truncated = true;
        self->truncated = kedge_bytes_equal_text(text, "true");
    }
    if (!good) self->invalid = true;
    return !self->key.no_memory;
}

static kedge_status read_page(page *self, const kedge_s3_request *request,
                              kedge_aws_response *response, kedge_error *error)
{
    blank_unreadable(&response->body);
    self->size_bytes = self->modified_ms = -1;
    kedge_status status = kedge_s3_read_xml(self->s3, request, response, take_element, self, error);
    if (status != KEDGE_OK) return status;
    if (self->invalid || !self->said_truncated || (self->truncated && self->list->count == 0))
        return kedge_s3_response_invalid(request, "is not a listing", error);
    self->list->more = self->truncated;
    return KEDGE_OK;
}

/* "list-type=2&encoding-type=url&max-keys=…&prefix=…&start-after=…" */
static kedge_status send_list(page *self, kedge_error *error)
{
    char count[16];
    snprintf(count, sizeof count, "%u", self->limit);
    const kedge_aws_parameter query[] = {
        {KEDGE_BYTES("encoding-type"), KEDGE_BYTES("url")},
        {KEDGE_BYTES("list-type"), KEDGE_BYTES("2")},
        {KEDGE_BYTES("max-keys"), kedge_bytes_of(count)},
        {KEDGE_BYTES("prefix"), self->prefix},
        {KEDGE_BYTES("start-after"), self->after},
    };
    const kedge_s3_request request = {.action = "s3:ListBucket",
                                      .method = "GET",
                                      .query = query,
                                      .query_count = self->after.size == 0 ? 4 : 5,
                                      .response_bytes_max = KEDGE_S3_LIST_BYTES_MAX};
    kedge_aws_response response = {0};
    kedge_status status = kedge_s3_call(self->s3, &request, &response, error);
    if (status == KEDGE_OK)
        status = read_page(self, &request, &response, error);
    else if (status == KEDGE_CONFLICT)
        status = kedge_s3_refused(&response, error);
    kedge_aws_response_free(&response);
    return status;
}

/* The port's prefix before a prefix, or before a key to start after; "" stays "". */
static void with_prefix(const kedge_s3 *self, kedge_bytes text, kedge_buffer *out)
{
    kedge_buffer_append_text(out, self->prefix);
    kedge_buffer_append_bytes(out, text);
}

kedge_status kedge_s3_list(const kedge_s3 *self, kedge_bytes prefix, kedge_bytes after,
                           uint32_t limit, kedge_blob_list *list, kedge_error *error)
{
    const kedge_allocator *allocator = kedge_aws_client_environment(self->client)->allocator;
    kedge_blob_list found = {.allocator = allocator};
    kedge_buffer whole_prefix = kedge_buffer_make(allocator);
    kedge_buffer whole_after = kedge_buffer_make(allocator);
    page state = {.s3 = self, .list = &found, .limit = limit, .key = kedge_buffer_make(allocator)};
    with_prefix(self, prefix, &whole_prefix);
    if (after.size > 0) with_prefix(self, after, &whole_after);
    kedge_status status = kedge_buffer_status(&whole_prefix, error);
    if (status == KEDGE_OK) status = kedge_buffer_status(&whole_after, error);
    state.prefix = kedge_buffer_bytes(&whole_prefix);
    state.after = kedge_buffer_bytes(&whole_after);
    if (status == KEDGE_OK) status = send_list(&state, error);
    if (status == KEDGE_OK)
        *list = found;
    else
        kedge_blob_list_free(&found);
    kedge_buffer_free(&whole_prefix);
    kedge_buffer_free(&whole_after);
    kedge_buffer_free(&state.key);
    return status;
}
