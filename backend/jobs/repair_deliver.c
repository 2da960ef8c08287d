/* Repair: commits versions that put items again whose bodies were written back, for clients that
 * left them out when they pulled.
 *
 * Before a body is written back, a record says that its items are owed to the clients; the record
 * is removed after the commit. When a repair that was broken off in between is run again, it finds
 * no body lost, but finds the records, and delivers. */
#include "backend/jobs/verify_internal.h"

#include "backend/versioned/projects/redeliver.h"
#include "common/error.h"

#include <string.h>

typedef struct owing {
    verifying *work;
    kedge_redelivery *bodies;
    size_t count;
    size_t capacity;
} owing;

static kedge_status write_record(const verifying *work, kedge_bytes collection,
                                 const uint8_t hash[KEDGE_SHA256_SIZE], bool owed,
                                 kedge_error *error)
{
    const kedge_backend *backend = work->project->backend;
    const kedge_environment *environment = backend->environment;
    const kedge_records *records = &backend->options.records;
    kedge_key sort = kedge_key_repaired(collection, hash);
    kedge_attribute since = {"since", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, 0};
    since.number = environment->now_ms(environment->context);
    kedge_record_write write = {
        .kind = owed ? KEDGE_WRITE_PUT : KEDGE_WRITE_DELETE,
        .record = {{kedge_key_bytes(&work->partition), kedge_key_bytes(&sort)},
                   owed ? &since : NULL,
                   owed ? 1 : 0},
        .condition = KEDGE_IF_ANY};
    return records->vtable->write(records->self, &write, error);
}

kedge_status verify_note_owed(verifying *work, const verify_lost *lost, kedge_error *error)
{
    return write_record(work, lost->collection, lost->hash, true, error);
}

static kedge_status read_owed(void *context, const kedge_record *record, kedge_error *error)
{
    owing *all = context;
    kedge_arena *arena = &all->work->arena;
    kedge_redelivery body = {.unread = false};
    kedge_bytes collection;
    if (!kedge_key_read_repaired(record->key.sort, &collection, body.hash)) return KEDGE_OK;
    if (!kedge_arena_copy(arena, collection, &body.collection)) return kedge_fail_no_memory(error);
    if (all->count == all->capacity) {
        size_t capacity = all->capacity == 0 ? 64 : all->capacity * 2;
        kedge_redelivery *grown = kedge_arena_take_array(arena, capacity, sizeof *grown);
        if (grown == NULL) return kedge_fail_no_memory(error);
        if (all->count > 0) memcpy(grown, all->bodies, all->count * sizeof *grown);
        all->bodies = grown;
        all->capacity = capacity;
    }
    all->bodies[all->count++] = body;
    return KEDGE_OK;
}

static kedge_status tell_delivered(void *context, int64_t version, int64_t items,
                                   kedge_error *error)
{
    verifying *work = context;
    kedge_json_writer writer = kedge_json_write(&work->line);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "delivered");
    kedge_json_integer(&writer, items);
    kedge_json_key(&writer, "version");
    kedge_json_integer(&writer, version);
    kedge_json_end_object(&writer);
    return kedge_lines_put(work->lines, &work->line, error);
}

kedge_status verify_deliver_repaired(verifying *work, kedge_error *error)
{
    owing all = {.work = work};
    kedge_error failure = {0};
    if (!work->repair) return KEDGE_OK;
    kedge_status status =
        kedge_visit_records(work->project, KEDGE_KEY_REPAIRED, read_owed, &all, error);
    if (status != KEDGE_OK || all.count == 0) return status;
    status = kedge_processor_redeliver(work->project, all.bodies, all.count, tell_delivered, work,
                                       &failure);
    /* The newest version itself is damaged, for which there is a finding. The items are delivered
     * by a later repair, when it is no longer. */
    if (verify_is_damage(status)) return KEDGE_OK;
    if (status != KEDGE_OK) return kedge_fail(error, status, failure.code, "%s", failure.message);
    for (size_t i = 0; i < all.count && status == KEDGE_OK; i++) {
        const kedge_redelivery *body = &all.bodies[i];
        if (!body->unread) status = write_record(work, body->collection, body->hash, false, error);
    }
    return status;
}
