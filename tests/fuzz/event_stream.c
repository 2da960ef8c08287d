/* Fuzz target: the event stream parser. However the bytes are cut, the events are the same. The
 * first byte of the input says in portions of how many bytes they come. */
#include "sdk/net/sse.h"
#include "tests/fuzz/fuzz.h"

static bool hear(void *context, kedge_bytes event, kedge_bytes data)
{
    kedge_buffer *heard = context;
    kedge_buffer_append_bytes(heard, event);
    kedge_buffer_append_byte(heard, '=');
    kedge_buffer_append_bytes(heard, data);
    kedge_buffer_append_byte(heard, ';');
    return true;
}

static kedge_status feed(kedge_bytes stream, size_t portion, kedge_buffer *heard)
{
    kedge_status status = KEDGE_OK;
    kedge_sse sse = kedge_sse_make(&kedge_allocator_default, hear, heard);
    for (size_t at = 0; at < stream.size && status == KEDGE_OK; at += portion) {
        size_t now = stream.size - at < portion ? stream.size - at : portion;
        status = kedge_sse_feed(&sse, (kedge_bytes){stream.data + at, now}, NULL);
    }
    kedge_sse_free(&sse);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    kedge_bytes stream = {(const char *)data + 1, size - 1};
    kedge_buffer whole = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer pieces = kedge_buffer_make(&kedge_allocator_default);
    FUZZ_CHECK(feed(stream, stream.size, &whole) == feed(stream, data[0] % 7u + 1, &pieces));
    FUZZ_CHECK(kedge_bytes_equal(kedge_buffer_bytes(&whole), kedge_buffer_bytes(&pieces)));
    kedge_buffer_free(&whole);
    kedge_buffer_free(&pieces);
    return 0;
}
