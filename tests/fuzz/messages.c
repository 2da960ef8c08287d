/* Fuzz target: what the server reads of requests, each reader by itself, by the first byte of the
 * input. What a reader takes, its writer writes, and what is read of that is written the same. */
#include "tests/fuzz/fuzz.h"
#include "wire/address.h"
#include "wire/body.h"
#include "wire/cookie.h"
#include "wire/log.h"
#include "wire/pull.h"
#include "wire/resource.h"
#include "wire/retire.h"
#include "wire/upload.h"

#include "common/json.h"
#include "common/percent.h"
#include <kedge/limits.h>

#include <string.h>

/* Reads the body, and appends what was read to `out`. */
typedef kedge_status (*copy_function)(const kedge_wire_request *request, kedge_buffer *out);

#define COPY(name, type, write)                                                                    \
    static kedge_status copy_##name(const kedge_wire_request *request, kedge_buffer *out)          \
    {                                                                                              \
        type message;                                                                              \
        memset(&message, 0, sizeof message);                                                       \
        kedge_status status = kedge_wire_##name##_read(request, &message, NULL);                   \
        if (status == KEDGE_OK) (write);                                                           \
        return status;                                                                             \
    }

COPY(upload_request, kedge_wire_upload_request, kedge_wire_upload_request_write(&message, out))
COPY(retire_request, kedge_wire_retire_request, kedge_wire_retire_request_write(&message, out))
COPY(log_append, kedge_wire_log_append, kedge_wire_log_append_write(&message, out))
COPY(log_metadata, kedge_wire_log_metadata, kedge_wire_log_metadata_write(&message, out))
COPY(log_archive, kedge_wire_log_archive, kedge_wire_log_archive_write(&message, out))
COPY(log_truncate, int64_t, kedge_wire_log_truncate_write(message, out))
COPY(resource_put, kedge_wire_resource_put, kedge_wire_resource_put_write(&message, out))
COPY(resource_rollback, kedge_wire_resource_rollback,
     kedge_wire_resource_rollback_write(&message, out))

static kedge_status copy_pull(const kedge_wire_request *request, kedge_buffer *out)
{
    kedge_wire_pull_request message;
    memset(&message, 0, sizeof message);
    kedge_status status = kedge_wire_pull_request_read(request, &message, NULL);
    if (status != KEDGE_OK) return status;
    FUZZ_CHECK(strlen(message.group_id) <= KEDGE_LIMIT_CLIENT_ID_BYTES);
    /* Only libkedge writes requests, and its cookies are its own. */
    if (!message.supported || !message.native || message.cookie.kind == KEDGE_WIRE_COOKIE_OTHER)
        return KEDGE_UNSUPPORTED;
    kedge_wire_pull_request_write(&message, out);
    return KEDGE_OK;
}

static kedge_status copy_reference(const kedge_wire_request *request, kedge_buffer *out)
{
    uint8_t hash[KEDGE_SHA256_SIZE] = {0};
    bool named = false;
    kedge_status status = kedge_wire_upload_reference_read(request, &named, hash, NULL);
    if (status == KEDGE_OK && !named) return KEDGE_UNSUPPORTED;
    if (status == KEDGE_OK) kedge_wire_upload_reference_write(hash, out);
    return status;
}

static void check_copy(copy_function copy, kedge_bytes body)
{
    kedge_buffer once = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer twice = kedge_buffer_make(&kedge_allocator_default);
    if (copy(&(kedge_wire_request){body, false}, &once) == KEDGE_OK) {
        kedge_wire_request again = {kedge_buffer_bytes(&once), false};
        FUZZ_CHECK(copy(&again, &twice) == KEDGE_OK);
        FUZZ_CHECK(kedge_bytes_equal(kedge_buffer_bytes(&once), kedge_buffer_bytes(&twice)));
    }
    kedge_buffer_free(&once);
    kedge_buffer_free(&twice);
}

static void check_cookie(kedge_bytes value)
{
    kedge_wire_cookie cookie;
    if (kedge_json_check(value, KEDGE_LIMIT_JSON_DEPTH, &kedge_allocator_default, NULL) != KEDGE_OK)
        return;
    if (!kedge_wire_cookie_read(value, &cookie) || cookie.kind != KEDGE_WIRE_COOKIE_OURS) return;
    FUZZ_CHECK(cookie.version >= 0 && strlen(cookie.lineage) < sizeof cookie.lineage);
}

static void check_ranges(kedge_bytes header)
{
    kedge_wire_body_part part = {.size_bytes = 1000};
    kedge_wire_body_part told = {0};
    if (kedge_wire_range_read(header, &part) == KEDGE_WIRE_RANGE_PART)
        FUZZ_CHECK(part.first >= 0 && part.first <= part.last && part.last < 1000);
    if (kedge_wire_content_range_read(header, &told))
        FUZZ_CHECK(told.first >= 0 && told.first <= told.last && told.last < told.size_bytes);
}

static void check_address(kedge_bytes text)
{
    kedge_wire_path path;
    kedge_bytes value = {NULL, 0};
    int64_t number = 7;
    bool present = false;
    kedge_buffer decoded = kedge_buffer_make(&kedge_allocator_default);
    if (kedge_wire_path_cut(text, &path)) {
        FUZZ_CHECK(path.count <= KEDGE_WIRE_PATH_PARTS_MAX);
        for (size_t i = 0; i < path.count; i++)
            (void)kedge_percent_decode(path.part[i], &decoded, NULL);
        FUZZ_CHECK(decoded.size <= text.size);
    }
    (void)kedge_wire_query_find(text, "a", &value, &present, NULL);
    (void)kedge_wire_query_text(text, "b", &decoded, &present, NULL);
    if (kedge_wire_query_integer(text, "n", 1, 99, &number, NULL) == KEDGE_OK)
        FUZZ_CHECK(number >= 1 && number <= 99);
    (void)kedge_wire_version_read(text, &number);
    kedge_buffer_free(&decoded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* The seeds begin with 'A', 'B' and so on. */
    static const copy_function readers[] = {
        copy_pull,         copy_upload_request,    copy_reference,   copy_retire_request,
        copy_log_append,   copy_log_metadata,      copy_log_archive, copy_log_truncate,
        copy_resource_put, copy_resource_rollback,
    };
    static void (*const checks[])(kedge_bytes) = {check_cookie, check_ranges, check_address};
    const size_t reader_count = sizeof readers / sizeof readers[0];
    const size_t check_count = sizeof checks / sizeof checks[0];
    if (size == 0) return 0;
    kedge_bytes body = {(const char *)data + 1, size - 1};
    size_t which = (data[0] + 256u - 'A') % (reader_count + check_count);
    if (which < reader_count) {
        check_copy(readers[which], body);
    } else {
        checks[which - reader_count](body);
    }
    return 0;
}
