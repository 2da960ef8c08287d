/* Dead letters of queued mode: showing them with their reasons, and putting them back. */
#include "backend/admin/verbs.h"

#include "backend/queued/dead_letters.h"
#include "common/error.h"
#include "common/hash.h"
#include "common/json.h"

#include <string.h>

/* What one redrive-all puts back at most, so that it ends though letters die again meanwhile. */
#define REDRIVE_ROUNDS_MAX 100

typedef struct letters {
    const kedge_admin *admin;
    kedge_queued *queued;
    kedge_queue queue;
    kedge_queue_batch batch;
} letters;

static kedge_status open_letters(const kedge_admin *admin, letters *all, kedge_error *error)
{
    *all = (letters){.admin = admin, .queue = kedge_stores_queue(admin->stores)};
    if (all->queue.vtable == NULL) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "no-queue",
                          "these stores have no queue; give --queue");
    }
    kedge_queued_options options = {.environment = admin->environment,
                                    .records = kedge_stores_records(admin->stores),
                                    .blobs = kedge_stores_blobs(admin->stores),
                                    .queue = all->queue};
    return kedge_queued_new(&options, &all->queued, error);
}

static kedge_status look(letters *all, kedge_error *error)
{
    kedge_queue_batch_free(&all->batch);
    return all->queue.vtable->dead_letters(all->queue.self, KEDGE_QUEUE_DEAD_LETTERS_MAX,
                                           &all->batch, error);
}

static void close_letters(letters *all)
{
    kedge_queue_batch_free(&all->batch);
    kedge_queued_free(all->queued);
}

/* ---- showing ---- */

static kedge_status write_all(letters *all, kedge_buffer *out, kedge_error *error)
{
    kedge_json_writer writer = kedge_json_write(out);
    kedge_status status = look(all, error);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "dead_letters");
    kedge_json_begin_array(&writer);
    for (size_t i = 0; i < all->batch.count && status == KEDGE_OK; i++)
        status = kedge_dead_letter_write(all->queued, &all->batch.messages[i], &writer, error);
    kedge_json_end_array(&writer);
    kedge_json_end_object(&writer);
    return status == KEDGE_OK ? kedge_buffer_status(out, error) : status;
}

int kedge_admin_dead_letters(const kedge_admin *admin)
{
    letters all;
    kedge_error error = {0};
    kedge_buffer out = kedge_buffer_make(admin->allocator);
    kedge_status status = open_letters(admin, &all, &error);
    if (status == KEDGE_OK) status = write_all(&all, &out, &error);
    int code = status == KEDGE_OK ? kedge_admin_print(&out) : kedge_admin_complain(&error);
    close_letters(&all);
    kedge_buffer_free(&out);
    return code;
}

/* ---- putting back ---- */

static int print_count(const kedge_admin *admin, size_t count)
{
    kedge_buffer out = kedge_buffer_make(admin->allocator);
    kedge_buffer_append_format(&out, "{\"redriven\":%zu}", count);
    int code = kedge_admin_print(&out);
    kedge_buffer_free(&out);
    return code;
}

static kedge_status redrive_one(letters *all, const char *id, kedge_error *error)
{
    kedge_status status = look(all, error);
    for (size_t i = 0; i < all->batch.count && status == KEDGE_OK; i++) {
        char found[KEDGE_SHA256_HEX];
        kedge_sha256_hex(all->batch.messages[i].body, found);
        if (strcmp(found, id) == 0)
            return kedge_dead_letter_redrive(all->queued, &all->batch.messages[i], error);
    }
    if (status != KEDGE_OK) return status;
    return kedge_fail(error, KEDGE_NOT_FOUND, "dead-letter-not-found",
                      "there is no dead letter %.80s among the %d oldest", id,
                      KEDGE_QUEUE_DEAD_LETTERS_MAX);
}

int kedge_admin_redrive(const kedge_admin *admin)
{
    letters all;
    kedge_error error = {0};
    kedge_status status = open_letters(admin, &all, &error);
    if (status == KEDGE_OK) status = redrive_one(&all, admin->line->arguments[0], &error);
    close_letters(&all);
    return status == KEDGE_OK ? print_count(admin, 1) : kedge_admin_complain(&error);
}

/* The oldest first, so that they come in their order. One that somebody else has put back meanwhile
 * is passed over. */
static kedge_status redrive_all(letters *all, size_t *count, kedge_error *error)
{
    for (size_t round = 0; round < REDRIVE_ROUNDS_MAX; round++) {
        kedge_status status = look(all, error);
        if (status != KEDGE_OK || all->batch.count == 0) return status;
        for (size_t i = 0; i < all->batch.count; i++) {
            status = kedge_dead_letter_redrive(all->queued, &all->batch.messages[i], error);
            if (status == KEDGE_OK) ++*count;
            if (status != KEDGE_OK && status != KEDGE_CONFLICT) return status;
        }
    }
    return KEDGE_OK;
}

int kedge_admin_redrive_all(const kedge_admin *admin)
{
    letters all;
    size_t count = 0;
    kedge_error error = {0};
    kedge_status status = open_letters(admin, &all, &error);
    if (status == KEDGE_OK) status = redrive_all(&all, &count, &error);
    close_letters(&all);
    return status == KEDGE_OK ? print_count(admin, count) : kedge_admin_complain(&error);
}
