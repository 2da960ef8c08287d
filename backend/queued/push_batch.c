/* Push batches: reading messages and their claim checks, and merging them into one push. */
#include "backend/queued/push_batch.h"

#include "backend/queued/queued_internal.h"
#include "backend/versioned/usage/usage.h"
#include "common/error.h"
#include "common/gzip.h"

#include <string.h>

/* ---- one message ---- */

static kedge_status fail_claim(const char *code, const kedge_message *read, kedge_error *error)
{
    return kedge_fail(error, KEDGE_CORRUPT, code,
                      "the push %s of the project %s/%s is not in blobs", read->claim,
                      read->organization, read->project);
}

static kedge_status unpack(const kedge_message *read, kedge_bytes compressed,
                           const uint8_t expected[KEDGE_SHA256_SIZE], kedge_buffer *text,
                           kedge_error *error)
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_status status = kedge_gunzip(compressed, KEDGE_MESSAGE_BYTES_MAX, text, error);
    if (status == KEDGE_NO_MEMORY) return status;
    if (status == KEDGE_OK) {
        kedge_sha256(kedge_buffer_bytes(text), hash);
        if (memcmp(hash, expected, sizeof hash) == 0) return KEDGE_OK;
    }
    return kedge_fail(error, KEDGE_CORRUPT, "claim-check-damaged",
                      "the push %s of the project %s/%s is damaged", read->claim,
                      read->organization, read->project);
}

/* Reads the message that a claim check stands for. */
static kedge_status redeem(kedge_queued *queued, kedge_push_batch_part *part, kedge_error *error)
{
    const kedge_blobs *blobs = &queued->options.blobs;
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_message check = part->read;
    kedge_project_ref ref = kedge_message_ref(&check);
    (void)kedge_hex_decode(kedge_bytes_of(check.claim), hash, sizeof hash);
    kedge_key key = kedge_key_push(&ref, hash);
    kedge_buffer compressed = kedge_buffer_make(queued->allocator);
    kedge_status status =
        blobs->vtable->get(blobs->self, kedge_key_bytes(&key), &compressed, error);
    if (status == KEDGE_NOT_FOUND) status = fail_claim("claim-check-missing", &check, error);
    if (status == KEDGE_OK) {
        status = unpack(&check, kedge_buffer_bytes(&compressed), hash, &part->claimed, error);
    }
    kedge_buffer_free(&compressed);
    if (status != KEDGE_OK) return status;
    status = kedge_message_read(kedge_buffer_bytes(&part->claimed), &part->read, error);
    if (status != KEDGE_OK) return status;
    bool same = strcmp(check.organization, part->read.organization) == 0 &&
                strcmp(check.project, part->read.project) == 0 && part->read.claim[0] == '\0';
    if (same) return KEDGE_OK;
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "message-unreadable",
                      "the claim check of a message leads to a push of another project, or to "
                      "another claim check");
}

static void free_part(kedge_push_batch_part *part)
{
    kedge_push_request_free(&part->request);
    kedge_buffer_free(&part->claimed);
}

static bool has_room(const kedge_push_batch *batch, const kedge_push_batch_part *part)
{
    return batch->count == 0 ||
           (batch->bytes + part->read.push.size <= KEDGE_LIMIT_PUSH_BYTES &&
            batch->mutation_count + part->request.push.count <= KEDGE_LIMIT_PUSH_MUTATIONS);
}

kedge_status kedge_push_batch_add(kedge_push_batch *batch, size_t index, const kedge_message *read,
                                  kedge_error *error)
{
    kedge_push_batch_part *part = &batch->parts[batch->count];
    *part = (kedge_push_batch_part){
        .message = index, .read = *read, .claimed = kedge_buffer_make(batch->queued->allocator)};
    kedge_status status = KEDGE_OK;
    if (read->claim[0] != '\0') status = redeem(batch->queued, part, error);
    part->identity = (kedge_identity){
        .user = part->read.user, .role = part->read.role, .organization = part->read.organization};
    if (status == KEDGE_OK) {
        status = kedge_push_body_read(batch->queued->allocator, part->read.push, &part->identity,
                                      &part->request, error);
    }
    if (status == KEDGE_OK && !has_room(batch, part)) {
        status = kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "batch-full", "the batch has no room");
    }
    if (status != KEDGE_OK) {
        free_part(part);
        return status;
    }
    batch->count++;
    batch->bytes += part->read.push.size;
    batch->mutation_count += part->request.push.count;
    return KEDGE_OK;
}

void kedge_push_batch_clear(kedge_push_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        free_part(&batch->parts[i]);
    batch->count = 0;
    batch->bytes = 0;
    batch->mutation_count = 0;
}

/* ---- deciding ---- */

/* The mutations of all messages in their order, each with the sender of its message. */
static void merge(const kedge_push_batch *batch, kedge_push_sender *senders,
                  kedge_push_mutation *mutations)
{
    size_t next = 0;
    for (size_t i = 0; i < batch->count; i++) {
        const kedge_push_batch_part *part = &batch->parts[i];
        const kedge_push *push = &part->request.push;
        senders[i] = part->request.sender;
        if (push->count > 0)
            memcpy(mutations + next, push->mutations, push->count * sizeof *mutations);
        for (size_t k = 0; k < push->count; k++)
            mutations[next + k].sender = i;
        next += push->count;
    }
}

static void count_dropped(kedge_queued *queued, const kedge_push_result *result)
{
    for (size_t i = 0; i < KEDGE_PUSH_PROBLEMS; i++) {
        if (result->refused[i] > 0)
            atomic_fetch_add(&queued->counters.dropped[i], result->refused[i]);
    }
}

/* A push with the origins of many clients is decided in several parts. */
static kedge_status push_all(kedge_push_batch *batch, kedge_backend *backend, kedge_push *push,
                             kedge_error *error)
{
    kedge_project_ref ref = kedge_message_ref(&batch->parts[0].read);
    kedge_project project = kedge_project_of(backend, &ref);
    kedge_status status = KEDGE_OK;
    kedge_usage_begin();
    while (status == KEDGE_OK && push->count > 0) {
        kedge_push_result result = {.version = 0};
        status = kedge_processor_push(&project, push, &result, error);
        if (status != KEDGE_OK) break;
        count_dropped(batch->queued, &result);
        push->mutations += result.taken;
        push->count -= result.taken;
    }
    kedge_usage_end(&project);
    return status;
}

kedge_status kedge_push_batch_decide(kedge_push_batch *batch, kedge_backend *backend,
                                     kedge_error *error)
{
    if (batch->mutation_count == 0) return KEDGE_OK;
    kedge_push_sender senders[KEDGE_QUEUE_RECEIVE_MAX];
    const kedge_allocator *allocator = batch->queued->allocator;
    kedge_push_mutation *mutations =
        kedge_allocate(allocator, batch->mutation_count * sizeof *mutations);
    if (mutations == NULL) return kedge_fail_no_memory(error);
    merge(batch, senders, mutations);
    kedge_push push = {.senders = senders,
                       .sender_count = batch->count,
                       .mutations = mutations,
                       .count = batch->mutation_count};
    kedge_status status = push_all(batch, backend, &push, error);
    kedge_release(allocator, mutations);
    return status;
}
