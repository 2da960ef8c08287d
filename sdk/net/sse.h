/* Server-Sent Events: the event stream format of the WHATWG HTML standard, section 9.2.
 *
 *     stream = lines that end in CRLF, LF or CR, after an optional byte order mark
 *     "field: value"   the field's value; one space after the colon is dropped
 *     ": comment"      ignored
 *     ""               dispatches the event, when it has data
 *
 * `event` and `data` are kept; `id` and `retry` are ignored, since the driver has its own backoff
 * and a poke needs no place to resume from. A line, and an event's data, are at most
 * KEDGE_SSE_LINE_MAX bytes. */
#ifndef KEDGE_SDK_NET_SSE_H
#define KEDGE_SDK_NET_SSE_H

#include "common/bytes.h"

#define KEDGE_SSE_LINE_MAX 65536

/* Gets one event; `event` is "message" when the stream named none. False ends the feeding. */
typedef bool (*kedge_sse_function)(void *context, kedge_bytes event, kedge_bytes data);

typedef struct kedge_sse {
    kedge_sse_function function;
    void *context;
    kedge_buffer line;
    kedge_buffer event;
    kedge_buffer data;
    bool after_cr; /* an LF that comes now belongs to the CR before it */
    bool started;  /* the byte order mark is behind */
} kedge_sse;

kedge_sse kedge_sse_make(const kedge_allocator *allocator, kedge_sse_function function,
                         void *context);
void kedge_sse_free(kedge_sse *sse);

/* Takes the next bytes, in any portions. KEDGE_PROTOCOL "event-too-large" for a line or data over
 * the limit, and KEDGE_NO_MEMORY: the stream is to be closed then. KEDGE_CANCELLED when the
 * function said false; nothing is touched after that, so that the function may free the parser. */
kedge_status kedge_sse_feed(kedge_sse *sse, kedge_bytes bytes, kedge_error *error);

#endif
