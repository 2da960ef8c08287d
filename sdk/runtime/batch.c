/* kedge/batch.h: the args of a kedge.batch, written edit by edit. */
#include <kedge/batch.h>

#include "common/error.h"
#include "mutate/batch.h"
#include "sdk/runtime/check.h"
#include "sdk/runtime/db.h"

struct kedge_batch {
    kedge_db *db;
    kedge_buffer text; /* `{"mutations":[` and the edits, without what closes it */
    size_t count;
};

static const char opening[] = "{\"mutations\":[";
static const char closing[] = "]}";

static void empty(kedge_batch *batch)
{
    batch->count = 0;
    kedge_buffer_clear(&batch->text);
    kedge_buffer_append_text(&batch->text, opening);
}

kedge_status kedge_batch_begin(kedge_db *db, kedge_batch **batch, kedge_error *error)
{
    KEDGE_CALL(db, error);
    if (batch == NULL) return kedge_fail_null("batch", error);
    const kedge_allocator *allocator = db->environment.allocator;
    kedge_batch *made = kedge_allocate(allocator, sizeof *made);
    if (made == NULL) return kedge_fail_no_memory(error);
    made->db = db;
    made->text = kedge_buffer_make(allocator);
    empty(made);
    kedge_status status = kedge_buffer_status(&made->text, error);
    if (status == KEDGE_OK)
        *batch = made;
    else
        kedge_batch_free(made);
    return status;
}

void kedge_batch_free(kedge_batch *batch)
{
    if (batch == NULL) return;
    kedge_buffer_free(&batch->text);
    kedge_release(batch->db->environment.allocator, batch);
}

/* ---- adding ---- */

static kedge_status find_mutator(const kedge_batch *batch, const char *name,
                                 const kedge_mutator **mutator, kedge_error *error)
{
    kedge_bytes bytes = kedge_bytes_of(name);
    if (kedge_bytes_equal_text(bytes, KEDGE_BATCH_MUTATOR))
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "batch-in-batch",
                          "a batch cannot have a batch in it; add its edits instead");
    *mutator = kedge_registry_find(batch->db->registry, bytes);
    if (*mutator != NULL) return KEDGE_OK;
    return kedge_fail(error, KEDGE_NOT_FOUND, "mutator-unknown",
                      "there is no mutator %.80s; the app's mutators are given when opening", name);
}

/* An edit as it stands in the args, with canonical args of its own. */
static kedge_status write_edit(const kedge_mutator *mutator, kedge_bytes args, kedge_buffer *edit,
                               kedge_error *error)
{
    if (args.size == 0) args = KEDGE_BYTES("null");
    kedge_buffer_append_text(edit, "{\"args\":");
    kedge_status status = kedge_json_normalize(args, KEDGE_BATCH_PART_DEPTH, edit, error);
    if (status != KEDGE_OK) return status;
    kedge_buffer_append_format(edit, ",\"name\":\"%s\"", mutator->name);
    if (mutator->version > 1) kedge_buffer_append_format(edit, ",\"version\":%u", mutator->version);
    kedge_buffer_append_byte(edit, '}');
    return kedge_buffer_status(edit, error);
}

static kedge_status append_edit(kedge_batch *batch, kedge_bytes edit, kedge_error *error)
{
    size_t size = batch->text.size;
    if (batch->count == KEDGE_LIMIT_BATCH_MUTATIONS)
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "batch-too-large",
                          "the batch has %d edits already, which is the most that is allowed",
                          KEDGE_LIMIT_BATCH_MUTATIONS);
    size_t larger = size + edit.size + sizeof closing; /* its NUL stands for the comma */
    if (larger > KEDGE_LIMIT_ARGS_BYTES)
        return kedge_fail(
            error, KEDGE_LIMIT_EXCEEDED, "batch-too-large",
            "with this edit of %zu bytes the batch would be %zu bytes; at most %d are "
            "allowed",
            edit.size, larger, KEDGE_LIMIT_ARGS_BYTES);
    char *room = kedge_buffer_reserve(&batch->text, edit.size + sizeof closing);
    if (room == NULL) {
        batch->text.no_memory = false; /* what is there is whole */
        return kedge_fail_no_memory(error);
    }
    if (batch->count > 0) kedge_buffer_append_byte(&batch->text, ',');
    kedge_buffer_append_bytes(&batch->text, edit);
    batch->count++;
    return KEDGE_OK;
}

kedge_status kedge_batch_add(kedge_batch *batch, const char *name, const char *args,
                             size_t args_size, kedge_error *error)
{
    const kedge_mutator *mutator;
    if (batch == NULL) return kedge_fail_null("batch", error);
    if (name == NULL) return kedge_fail_null("name", error);
    if (args == NULL) return kedge_fail_null("args", error);
    kedge_status status = find_mutator(batch, name, &mutator, error);
    if (status != KEDGE_OK) return status;
    kedge_buffer edit = kedge_buffer_make(batch->db->environment.allocator);
    status = write_edit(mutator, (kedge_bytes){args, args_size}, &edit, error);
    if (status == KEDGE_OK) status = append_edit(batch, kedge_buffer_bytes(&edit), error);
    kedge_buffer_free(&edit);
    return status;
}

kedge_status kedge_batch_commit(kedge_batch *batch, int64_t *sequence, kedge_error *error)
{
    if (batch == NULL) return kedge_fail_null("batch", error);
    if (batch->count == 0)
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "batch-empty",
                          "the batch has no edit; 1 to %d are allowed",
                          KEDGE_LIMIT_BATCH_MUTATIONS);
    size_t size = batch->text.size;
    kedge_buffer_append_text(&batch->text, closing); /* append_edit has made the room */
    kedge_status status = kedge_mutate(batch->db, KEDGE_BATCH_MUTATOR, batch->text.data,
                                       batch->text.size, sequence, error);
    if (status == KEDGE_OK)
        empty(batch);
    else
        kedge_buffer_truncate(&batch->text, size);
    return status;
}
