/* GET collections/{c}/bodies/{sha256}: an item's body as it is stored, compressed, by its hash. */
#include "backend/api/call.h"
#include "backend/versioned/state/state_internal.h"
#include "backend/versioned/versions/blob.h"

#include <stdio.h>
#include <string.h>

typedef enum range_kind {
    RANGE_NONE, /* absent, or of a kind that a server may ignore */
    RANGE_PART,
    RANGE_OUTSIDE
} range_kind;

/* ---- ranges (RFC 9110, section 14.2): one of bytes ---- */

static bool read_offset(kedge_bytes *text, int64_t *offset)
{
    size_t at = 0;
    int64_t number = 0;
    while (at < text->size && at < 15 && text->data[at] >= '0' && text->data[at] <= '9') {
        number = number * 10 + (text->data[at] - '0');
        at++;
    }
    if (at == 0) return false;
    *offset = number;
    *text = (kedge_bytes){text->data + at, text->size - at};
    return true;
}

static range_kind read_range(kedge_bytes text, int64_t size, int64_t *first, int64_t *last)
{
    kedge_bytes unit = KEDGE_BYTES("bytes=");
    int64_t from = -1;
    int64_t to = -1;
    if (!kedge_bytes_start_with(text, unit)) return RANGE_NONE;
    text = (kedge_bytes){text.data + unit.size, text.size - unit.size};
    bool has_from = read_offset(&text, &from);
    if (text.size == 0 || text.data[0] != '-') return RANGE_NONE;
    text = (kedge_bytes){text.data + 1, text.size - 1};
    bool has_to = read_offset(&text, &to);
    if (text.size != 0 || (!has_from && !has_to)) return RANGE_NONE;
    if (has_from && has_to && to < from) return RANGE_NONE;
    if (!has_from) { /* the last `to` bytes */
        if (to == 0) return RANGE_OUTSIDE;
        *first = to > size ? 0 : size - to;
        *last = size - 1;
        return RANGE_PART;
    }
    if (from >= size) return RANGE_OUTSIDE;
    *first = from;
    *last = has_to && to < size ? to : size - 1;
    return RANGE_PART;
}

/* ---- the answer ---- */

static void answer_stored(kedge_api_call *call, kedge_bytes stored)
{
    int64_t first;
    int64_t last;
    kedge_api_response *response = call->response;
    int64_t size = (int64_t)stored.size;
    response->content_encoding = "gzip";
    response->immutable = true;
    switch (read_range(call->request->range, size, &first, &last)) {
    case RANGE_NONE:
        kedge_buffer_append_bytes(&response->body, stored);
        return;
    case RANGE_PART:
        response->status = 206;
        snprintf(response->content_range, sizeof response->content_range, "bytes %lld-%lld/%lld",
                 (long long)first, (long long)last, (long long)size);
        kedge_buffer_append(&response->body, stored.data + first, (size_t)(last - first + 1));
        return;
    case RANGE_OUTSIDE:
        kedge_api_refuse(call, 416, "range-not-satisfiable",
                         "the body has %lld bytes as it is stored", (long long)size);
        snprintf(response->content_range, sizeof response->content_range, "bytes */%lld",
                 (long long)size);
        return;
    }
}

/* ---- bodies that are lost ---- */

typedef struct body_search {
    const uint8_t *hash;
    bool found;
} body_search;

static bool has_hash(void *context, kedge_item *item)
{
    body_search *search = context;
    search->found = memcmp(item->entry.hash, search->hash, KEDGE_SHA256_SIZE) == 0;
    return !search->found;
}

/* Whether an item of the newest version has this body. An older version that a client reads may
 * have gone in the meantime, and its bodies with it; that is no damage. */
static kedge_status is_referred_to(kedge_api_call *call, const kedge_version *head,
                                   const uint8_t hash[KEDGE_SHA256_SIZE], bool *referred)
{
    kedge_state *state;
    const kedge_map *map = NULL;
    body_search search = {.hash = hash};
    kedge_status status = kedge_state_open(call->backend, &call->ref, head, &state, &call->error);
    if (status != KEDGE_OK) return status;
    status = kedge_state_collection(state, call->argument[0], &map, &call->error);
    if (status == KEDGE_OK && map != NULL) kedge_map_walk(map, has_hash, &search);
    kedge_state_close(state);
    *referred = search.found;
    return status;
}

static void refuse_damaged(kedge_api_call *call, const kedge_error *damage)
{
    call->response->cause = *damage;
    call->response->damaged_items = 1;
    kedge_api_refuse(call, 404, damage->code, "%s", damage->message);
}

static kedge_status refuse_missing(kedge_api_call *call, const kedge_version *head,
                                   const uint8_t hash[KEDGE_SHA256_SIZE], const kedge_error *damage)
{
    bool referred = false;
    kedge_status status = is_referred_to(call, head, hash, &referred);
    if (status != KEDGE_OK) return status;
    if (referred) {
        refuse_damaged(call, damage);
    } else {
        kedge_api_refuse(call, 404, "body-not-found",
                         "no body of this hash is stored by itself in the collection \"%.*s\"",
                         (int)call->argument[0].size, call->argument[0].data);
    }
    return KEDGE_OK;
}

/* ---- the request ---- */

static kedge_status answer_body(kedge_api_call *call, const kedge_version *head)
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_error damage = {0};
    kedge_hex_decode(call->argument[1], hash, sizeof hash);
    kedge_buffer stored = kedge_buffer_make(call->allocator);
    kedge_buffer plain = kedge_buffer_make(call->allocator);
    kedge_status status = kedge_blob_body(call->backend, &call->ref, call->argument[0], hash,
                                          &stored, &plain, &damage);
    if (status == KEDGE_OK && call->request->accepts_gzip) {
        answer_stored(call, kedge_buffer_bytes(&stored));
    } else if (status == KEDGE_OK) {
        kedge_buffer_append_bytes(&call->response->body, kedge_buffer_bytes(&plain));
        call->response->immutable = true;
    } else if (strcmp(damage.code, "item-body-missing") == 0) {
        status = refuse_missing(call, head, hash, &damage);
    } else if (strcmp(damage.code, "item-body-damaged") == 0) {
        refuse_damaged(call, &damage);
        status = KEDGE_OK;
    } else {
        call->error = damage;
    }
    kedge_buffer_free(&plain);
    kedge_buffer_free(&stored);
    return status;
}

void kedge_api_item_body(kedge_api_call *call)
{
    const kedge_version *head;
    if (!kedge_api_open_head(call, &head)) return;
    kedge_status status = answer_body(call, head);
    kedge_version_release(head);
    if (status != KEDGE_OK) kedge_api_fail(call, status);
}
