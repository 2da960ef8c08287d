/* GET collections/{c}/bodies/{sha256}: an item's body as it is stored, compressed, by its hash. */
#include "backend/api/decided_log.h"
#include "backend/api/handlers.h"
#include "backend/api/open.h"
#include "backend/versioned/model/version.h"
#include "backend/versioned/state/state.h"
#include "backend/versioned/state/state_internal.h"
#include "backend/versioned/versions/blob.h"
#include "wire/body.h"

#include <string.h>

/* ---- the response ---- */

static void respond_stored(kedge_api_call *call, kedge_bytes stored)
{
    kedge_wire_body_part part = {.size_bytes = (int64_t)stored.size};
    kedge_api_response *response = call->response;
    response->content_encoding = "gzip";
    response->immutable = true;
    switch (kedge_wire_range_read(call->request->range, &part)) {
    case KEDGE_WIRE_RANGE_ALL:
        kedge_buffer_append_bytes(&response->body, stored);
        return;
    case KEDGE_WIRE_RANGE_PART:
        response->status = 206;
        kedge_wire_content_range_write(&part, response->content_range);
        kedge_buffer_append(&response->body, stored.data + part.first,
                            (size_t)(part.last - part.first + 1));
        return;
    case KEDGE_WIRE_RANGE_OUTSIDE:
        kedge_api_refuse(call, 416, "range-not-satisfiable",
                         "the body has %lld bytes as it is stored", (long long)part.size_bytes);
        kedge_wire_content_range_write_outside(part.size_bytes, response->content_range);
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

/* Whether an item of the state has this body. */
static kedge_status find_item(kedge_api_call *call, kedge_state *state,
                              const uint8_t hash[KEDGE_SHA256_SIZE], bool *found)
{
    const kedge_map *map = NULL;
    body_search search = {.hash = hash};
    kedge_status status = kedge_state_collection(state, call->argument[0], &map, &call->error);
    if (status == KEDGE_OK && map != NULL) kedge_map_visit_items(map, has_hash, &search);
    *found = search.found;
    return status;
}

/* Whether an item of the newest version has this body. An older version that a client reads may
 * have gone in the meantime, and its bodies with it; that is no damage. */
static kedge_status is_referred_to(kedge_api_call *call, const kedge_version *head,
                                   const uint8_t hash[KEDGE_SHA256_SIZE], bool *referred)
{
    kedge_state *state;
    kedge_status status = kedge_state_open(&call->project, head, &state, &call->error);
    if (status != KEDGE_OK) return status;
    status = find_item(call, state, hash, referred);
    kedge_state_close(state);
    return status;
}

static void refuse_damaged(kedge_api_call *call, const kedge_error *damage)
{
    call->response->cause = *damage;
    call->response->damaged_items = 1;
    kedge_api_refuse(call, 404, damage->code, "%s", damage->message);
}

static void refuse_unknown(kedge_api_call *call)
{
    kedge_api_refuse(call, 404, "body-not-found",
                     "no body of this hash is stored by itself in the collection \"%.*s\"",
                     (int)call->argument[0].size, call->argument[0].data);
}

static kedge_status refuse_missing(kedge_api_call *call, const kedge_version *head,
                                   const uint8_t hash[KEDGE_SHA256_SIZE], const kedge_error *damage)
{
    bool referred = false;
    kedge_status status = is_referred_to(call, head, hash, &referred);
    if (status != KEDGE_OK) return status;
    if (referred)
        refuse_damaged(call, damage);
    else
        refuse_unknown(call);
    return KEDGE_OK;
}

/* ---- of a log project, where only snapshots refer to bodies ---- */

static kedge_status discard_last_snapshot(kedge_api_call *call,
                                          const uint8_t hash[KEDGE_SHA256_SIZE],
                                          const kedge_error *damage)
{
    kedge_logged_snapshot snapshot;
    int64_t last = -1;
    bool found = false;
    kedge_status status = kedge_logged_last_snapshot(&call->project, &last, &call->error);
    if (status != KEDGE_OK || last < 1) return status;
    status = kedge_logged_snapshot_open(&call->project, last, &snapshot, &call->error);
    if (status != KEDGE_OK) return status;
    status = find_item(call, snapshot.state, hash, &found);
    if (found) {
        call->error = *damage;
        status = kedge_api_discard_snapshot(call, &snapshot);
    }
    kedge_logged_snapshot_close(&snapshot);
    return status;
}

/* The client pulls again, and gets the entries. */
static kedge_status refuse_of_snapshot(kedge_api_call *call, const uint8_t hash[KEDGE_SHA256_SIZE],
                                       const kedge_error *damage)
{
    kedge_status status = discard_last_snapshot(call, hash, damage);
    if (status != KEDGE_OK && !kedge_api_report_damaged_snapshot(call, status)) return status;
    refuse_unknown(call);
    return KEDGE_OK;
}

/* ---- the request ---- */

static kedge_status respond_body(kedge_api_call *call, const kedge_version *head)
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_error damage = {0};
    kedge_hex_decode(call->argument[1], hash, sizeof hash);
    kedge_buffer stored = kedge_buffer_make(call->allocator);
    kedge_buffer plain = kedge_buffer_make(call->allocator);
    bool of_log = call->project.history != NULL;
    kedge_status status =
        kedge_blob_body(&call->project, call->argument[0], hash, &stored, &plain, &damage);
    if (status == KEDGE_CORRUPT && of_log) /* one read proves nothing */
        status = kedge_blob_body(&call->project, call->argument[0], hash, &stored, &plain, &damage);
    if (status == KEDGE_OK && call->request->accepts_gzip) {
        respond_stored(call, kedge_buffer_bytes(&stored));
    } else if (status == KEDGE_OK) {
        kedge_buffer_append_bytes(&call->response->body, kedge_buffer_bytes(&plain));
        call->response->immutable = true;
    } else if (status == KEDGE_CORRUPT && of_log) {
        status = refuse_of_snapshot(call, hash, &damage);
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
    kedge_status status = respond_body(call, head);
    kedge_version_release(head);
    if (status != KEDGE_OK) kedge_api_fail(call, status);
}
