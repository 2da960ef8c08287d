/* Dead letters: of queued mode, with their reasons, and of the requests of snapshots. Showing them,
 * and putting them back. */
#include "backend/admin/verbs.h"

#include "backend/effects/snapshots.h"
#include "backend/queued/dead_letters.h"
#include "common/error.h"
#include "common/hash.h"
#include "common/json.h"

#include <string.h>

/* What one redrive-all puts back of a queue at most, so that it ends though letters die again
 * meanwhile. */
#define REDRIVE_ROUNDS_MAX 100

typedef struct letters {
    kedge_queue queue;    /* vtable NULL: there is none */
    kedge_queued *queued; /* of the queue of pushes; NULL: they ask for snapshots */
    kedge_queue_batch batch;
} letters;

static kedge_status open_letters(const kedge_admin *admin, letters *pushes, letters *snapshots,
                                 kedge_error *error)
{
    *pushes = (letters){.queue = kedge_stores_queue(admin->stores)};
    *snapshots = (letters){.queue = kedge_stores_snapshots(admin->stores)};
    if (pushes->queue.vtable == NULL && snapshots->queue.vtable == NULL) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "no-queue",
                          "these stores have no queue; give --queue or --snapshots");
    }
    if (pushes->queue.vtable == NULL) return KEDGE_OK;
    kedge_queued_options options = {.environment = admin->environment,
                                    .records = kedge_stores_records(admin->stores),
                                    .blobs = kedge_stores_blobs(admin->stores),
                                    .queue = pushes->queue};
    return kedge_queued_new(&options, &pushes->queued, error);
}

/* Reads the dead letters. Without a queue there are none. */
static kedge_status look(letters *all, kedge_error *error)
{
    kedge_queue_batch_free(&all->batch);
    if (all->queue.vtable == NULL) return KEDGE_OK;
    return all->queue.vtable->dead_letters(all->queue.self, KEDGE_QUEUE_DEAD_LETTERS_MAX,
                                           &all->batch, error);
}

static void close_letters(letters *all)
{
    kedge_queue_batch_free(&all->batch);
    kedge_queued_free(all->queued);
}

/* ---- showing ---- */

static void write_name(kedge_json_writer *writer, const char *member, const char *name)
{
    kedge_json_key(writer, member);
    if (name[0] == '\0')
        kedge_json_null(writer);
    else
        kedge_json_chars(writer, name);
}

static void write_request(const kedge_queue_message *message, kedge_json_writer *writer)
{
    char id[KEDGE_SHA256_HEX];
    kedge_snapshot_message read;
    if (!kedge_snapshot_message_read(message->body, &read)) memset(&read, 0, sizeof read);
    kedge_sha256_hex(message->body, id);
    kedge_json_begin_object(writer);
    write_name(writer, "id", id);
    write_name(writer, "organization", read.organization);
    write_name(writer, "project", read.project);
    write_name(writer, "log", read.log);
    kedge_json_key(writer, "sent");
    kedge_json_integer(writer, message->sent_ms);
    kedge_json_end_object(writer);
}

static kedge_status write_letters(letters *all, const char *member, kedge_json_writer *writer,
                                  kedge_error *error)
{
    kedge_status status = look(all, error);
    kedge_json_key(writer, member);
    kedge_json_begin_array(writer);
    for (size_t i = 0; i < all->batch.count && status == KEDGE_OK; i++) {
        if (all->queued != NULL)
            status = kedge_dead_letter_write(all->queued, &all->batch.messages[i], writer, error);
        else
            write_request(&all->batch.messages[i], writer);
    }
    kedge_json_end_array(writer);
    return status;
}

static kedge_status write_all(letters *pushes, letters *snapshots, kedge_buffer *out,
                              kedge_error *error)
{
    kedge_json_writer writer = kedge_json_write(out);
    kedge_json_begin_object(&writer);
    kedge_status status = write_letters(pushes, "dead_letters", &writer, error);
    if (status == KEDGE_OK) status = write_letters(snapshots, "snapshots", &writer, error);
    kedge_json_key(&writer, "more");
    kedge_json_boolean(&writer, pushes->batch.more || snapshots->batch.more);
    kedge_json_end_object(&writer);
    return status == KEDGE_OK ? kedge_buffer_status(out, error) : status;
}

int kedge_admin_dead_letters(const kedge_admin *admin)
{
    letters pushes, snapshots;
    kedge_error error = {0};
    kedge_buffer out = kedge_buffer_make(admin->allocator);
    kedge_status status = open_letters(admin, &pushes, &snapshots, &error);
    if (status == KEDGE_OK) status = write_all(&pushes, &snapshots, &out, &error);
    int code = status == KEDGE_OK ? kedge_admin_print(&out) : kedge_admin_complain(&error);
    close_letters(&pushes);
    close_letters(&snapshots);
    kedge_buffer_free(&out);
    return code;
}

/* ---- putting back ---- */

static kedge_status put_back(letters *all, const kedge_queue_message *message, kedge_error *error)
{
    if (all->queued != NULL) return kedge_dead_letter_redrive(all->queued, message, error);
    return all->queue.vtable->redrive(all->queue.self, message->receipt, error);
}

/* `more` is what follows the count. */
static int print_count(const kedge_admin *admin, size_t count, const char *more)
{
    kedge_buffer out = kedge_buffer_make(admin->allocator);
    kedge_buffer_append_format(&out, "{\"redriven\":%zu%s}", count, more);
    int code = kedge_admin_print(&out);
    kedge_buffer_free(&out);
    return code;
}

/* KEDGE_NOT_FOUND: it is none of these. Requests for one log have one id: any of them will do. */
static kedge_status redrive_one(letters *all, const char *id, kedge_error *error)
{
    kedge_status status = look(all, error);
    for (size_t i = 0; i < all->batch.count && status == KEDGE_OK; i++) {
        char found[KEDGE_SHA256_HEX];
        kedge_sha256_hex(all->batch.messages[i].body, found);
        if (strcmp(found, id) == 0) return put_back(all, &all->batch.messages[i], error);
    }
    if (status != KEDGE_OK) return status;
    return kedge_fail(error, KEDGE_NOT_FOUND, "dead-letter-not-found",
                      "there is no dead letter %.80s among the %d oldest", id,
                      KEDGE_QUEUE_DEAD_LETTERS_MAX);
}

int kedge_admin_redrive(const kedge_admin *admin)
{
    letters pushes, snapshots;
    kedge_error error = {0};
    const char *id = admin->line->arguments[0];
    kedge_status status = open_letters(admin, &pushes, &snapshots, &error);
    if (status == KEDGE_OK) {
        status = redrive_one(&pushes, id, &error);
        if (status == KEDGE_NOT_FOUND) status = redrive_one(&snapshots, id, &error);
    }
    close_letters(&pushes);
    close_letters(&snapshots);
    return status == KEDGE_OK ? print_count(admin, 1, "") : kedge_admin_complain(&error);
}

/* The oldest first, so that they come in their order. One that somebody else has put back meanwhile
 * is passed over. Behind it the batch is that of the last look, and says whether there may be more:
 * letters that somebody else looks at now are not given to this look. */
static kedge_status redrive_all(letters *all, size_t *count, kedge_error *error)
{
    for (size_t round = 0; round < REDRIVE_ROUNDS_MAX; round++) {
        kedge_status status = look(all, error);
        if (status != KEDGE_OK || all->batch.count == 0) return status;
        for (size_t i = 0; i < all->batch.count; i++) {
            status = put_back(all, &all->batch.messages[i], error);
            if (status == KEDGE_OK) ++*count;
            if (status != KEDGE_OK && status != KEDGE_CONFLICT) return status;
        }
    }
    return KEDGE_OK;
}

int kedge_admin_redrive_all(const kedge_admin *admin)
{
    letters pushes, snapshots;
    size_t count = 0;
    kedge_error error = {0};
    kedge_status status = open_letters(admin, &pushes, &snapshots, &error);
    if (status == KEDGE_OK) status = redrive_all(&pushes, &count, &error);
    if (status == KEDGE_OK) status = redrive_all(&snapshots, &count, &error);
    bool more = pushes.batch.more || snapshots.batch.more;
    close_letters(&pushes);
    close_letters(&snapshots);
    if (status != KEDGE_OK) return kedge_admin_complain(&error);
    return print_count(admin, count, more ? ",\"more\":true" : ",\"more\":false");
}
