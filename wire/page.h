/* GET snapshot: one page of the items of a version, in key order. */
#ifndef KEDGE_WIRE_PAGE_H
#define KEDGE_WIRE_PAGE_H

#include "wire/cookie.h"
#include "wire/patch.h"

typedef struct kedge_wire_page_response {
    int64_t version;
    char lineage[KEDGE_WIRE_LINEAGE_SIZE];
    kedge_wire_patch items; /* KEDGE_WIRE_PATCH_PUT and _PUT_HASH only */
    bool last;
    kedge_bytes next; /* the key after which the next page starts, decoded; in next_text */
    kedge_buffer next_text;
    kedge_wire_damaged damaged;
} kedge_wire_page_response;

/* Appends the path and query of the request for the page after the key `after`, which is empty for
 * the first page. */
void kedge_wire_page_request_write(int64_t version, kedge_bytes after, kedge_buffer *path);

/* The response up to its items, and what follows them. `next` NULL: this page is the last. */
void kedge_wire_page_response_begin(kedge_json_writer *writer, int64_t version,
                                    const char *lineage);
void kedge_wire_page_response_end(kedge_json_writer *writer, const kedge_bytes *next,
                                  const kedge_wire_damaged *damaged);
/* Strict: returns KEDGE_PROTOCOL when the body is not exactly such a response. The caller must zero
 * `out` before and free it, also after a failure. It borrows from the body. */
kedge_status kedge_wire_page_response_read(const kedge_allocator *allocator, kedge_bytes body,
                                           kedge_wire_page_response *out, kedge_error *error);
void kedge_wire_page_response_free(kedge_wire_page_response *response);

#endif
