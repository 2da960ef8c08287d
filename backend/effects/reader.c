/* A round over the shards of a stream. */
#include "backend/effects/reader.h"

#include "backend/effects/checkpoint.h"
#include "common/assert.h"
#include "common/error.h"

#include <stdio.h>
#include <string.h>

struct kedge_stream_reader {
    kedge_stream_reader_options options;
    char owner[KEDGE_READER_OWNER_HEX];
    /* How far it has read its shards, which may be further than the written checkpoints say. A
     * batch in which nothing was handled is not written: the write of a checkpoint is itself a
     * change of the stream, so reader and stream would keep each other busy for ever. */
    kedge_reader_checkpoints standing;
};

/* What one round works on. */
typedef struct round_work {
    kedge_stream_reader *reader;
    const kedge_stream_reader_options *options;
    kedge_stream_round *round;
    kedge_reader_checkpoints checkpoints;
    kedge_stream_shards *pages; /* of the list of shards */
    size_t page_count;
    size_t shard_count;
    bool adopted; /* there was no checkpoint at all when the round began */
} round_work;

#define PAGES_MAX (KEDGE_READER_SHARDS_MAX / KEDGE_STREAM_SHARDS_MAX + 1)

kedge_status kedge_stream_reader_new(const kedge_stream_reader_options *options,
                                     kedge_stream_reader **reader, kedge_error *error)
{
    size_t name = strlen(options->name);
    if (name == 0 || name > KEDGE_READER_NAME_BYTES_MAX)
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-name",
                          "the name of a stream's reader has %zu bytes; 1 to %d are allowed", name,
                          KEDGE_READER_NAME_BYTES_MAX);
    kedge_stream_reader *made = kedge_allocate(options->environment->allocator, sizeof *made);
    if (made == NULL) return kedge_fail_no_memory(error);
    made->options = *options;
    if (made->options.lease_ms == 0) made->options.lease_ms = KEDGE_READER_LEASE_MS;
    if (made->options.batch == 0) made->options.batch = KEDGE_READER_BATCH;
    made->standing.allocator = options->environment->allocator;
    KEDGE_ASSERT(options->owner == NULL || strlen(options->owner) < sizeof made->owner);
    if (options->owner != NULL)
        snprintf(made->owner, sizeof made->owner, "%s", options->owner);
    else
        kedge_random_hex(options->environment, (KEDGE_READER_OWNER_HEX - 1) / 2, made->owner);
    *reader = made;
    return KEDGE_OK;
}

void kedge_stream_reader_free(kedge_stream_reader *reader)
{
    if (reader == NULL) return;
    kedge_reader_checkpoints_free(&reader->standing);
    kedge_release(reader->options.environment->allocator, reader);
}

static int64_t now_ms(const round_work *work)
{
    const kedge_environment *environment = work->options->environment;
    return environment->now_ms(environment->context);
}

/* ---- the shards that there are ---- */

static const kedge_stream_shard *shard_at(const round_work *work, size_t i)
{
    size_t page = 0;
    while (i >= work->pages[page].count)
        i -= work->pages[page++].count;
    return &work->pages[page].shards[i];
}

static bool is_listed(const round_work *work, const char *shard)
{
    for (size_t i = 0; i < work->shard_count; i++) {
        if (strcmp(shard_at(work, i)->id, shard) == 0) return true;
    }
    return false;
}

static kedge_status list_shards(round_work *work, kedge_error *error)
{
    const kedge_stream *stream = work->options->stream;
    kedge_bytes after = {0};
    for (work->page_count = 0; work->page_count < PAGES_MAX;) {
        kedge_stream_shards *page = &work->pages[work->page_count];
        kedge_status status =
            stream->vtable->shards(stream->self, after, KEDGE_STREAM_SHARDS_MAX, page, error);
        if (status != KEDGE_OK) return status;
        work->page_count++;
        work->shard_count += page->count;
        if (!page->more || page->count == 0) return KEDGE_OK;
        after = kedge_bytes_of(page->shards[page->count - 1].id);
    }
    return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "too-many-shards",
                      "the stream has more than %d shards", KEDGE_READER_SHARDS_MAX);
}

/* ---- what has expired ---- */

static kedge_status save_with(round_work *work, kedge_reader_checkpoint *checkpoint,
                              const kedge_stream_expired *expired, kedge_error *error)
{
    const kedge_stream_reader_options *options = work->options;
    kedge_status status = kedge_reader_checkpoint_save(options, checkpoint, expired, error);
    if (status != KEDGE_OK) return status;
    work->round->expired++;
    work->round->more = true;
    if (options->expired != NULL) options->expired(options->context, expired);
    return KEDGE_OK;
}

static kedge_status save_expired(round_work *work, kedge_reader_checkpoint *checkpoint,
                                 const char *missing, kedge_error *error)
{
    const kedge_stream_expired expired = {.shard = missing, .since_ms = checkpoint->at_ms};
    return save_with(work, checkpoint, &expired, error);
}

/* Another reader was first: it goes on with the shard. */
static kedge_status note_lost(round_work *work, kedge_status status)
{
    if (status != KEDGE_CONFLICT) return status;
    work->round->lost++;
    return KEDGE_OK;
}

/* Nobody knows how far the shard was read: it is read again from the oldest change that is kept. */
static kedge_status begin_anew(round_work *work, kedge_reader_checkpoint *checkpoint,
                               kedge_error *error)
{
    const kedge_stream_expired expired = {.shard = checkpoint->shard, .damaged = true};
    checkpoint->position[0] = '\0';
    checkpoint->at_ms = 0;
    return note_lost(work, save_with(work, checkpoint, &expired, error));
}

static kedge_status look_at_damaged(round_work *work, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < work->checkpoints.count && status == KEDGE_OK; i++) {
        if (work->checkpoints.of[i].damaged)
            status = begin_anew(work, &work->checkpoints.of[i], error);
    }
    return status;
}

/* Shards that vanished before they were read to their end, and checkpoints that nobody needs any
 * more: of shards that vanished, and whose children have checkpoints of their own. */
static kedge_status look_at_vanished(round_work *work, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < work->checkpoints.count && status == KEDGE_OK; i++) {
        kedge_reader_checkpoint *checkpoint = &work->checkpoints.of[i];
        if (is_listed(work, checkpoint->shard)) continue;
        bool needed = !checkpoint->finished;
        for (size_t j = 0; j < work->shard_count && !needed; j++) {
            const kedge_stream_shard *shard = shard_at(work, j);
            needed = strcmp(shard->parent, checkpoint->shard) == 0 &&
                     kedge_reader_checkpoints_find(&work->checkpoints, shard->id) == NULL;
        }
        if (!checkpoint->finished) {
            checkpoint->finished = true;
            status = save_expired(work, checkpoint, checkpoint->shard, error);
        } else if (!needed) {
            status = kedge_reader_checkpoint_remove(work->options, checkpoint, error);
        }
        status = note_lost(work, status);
    }
    return status;
}

/* ---- where the reader stands ---- */

/* Remembers how far the shard was read. Without memory the next round begins at the checkpoint. */
static void stand(round_work *work, const kedge_reader_checkpoint *checkpoint)
{
    kedge_reader_checkpoints *standing = &work->reader->standing;
    const kedge_stream_shard shard = {checkpoint->shard, checkpoint->parent, "", false};
    kedge_reader_checkpoint *known = kedge_reader_checkpoints_find(standing, checkpoint->shard);
    if (checkpoint->finished) {
        if (known != NULL) *known = standing->of[--standing->count];
        return;
    }
    if (known == NULL) known = kedge_reader_checkpoints_add(standing, &shard);
    if (known != NULL) *known = *checkpoint;
}

static void go_where_it_stood(const round_work *work, kedge_reader_checkpoint *checkpoint)
{
    const kedge_reader_checkpoint *known =
        kedge_reader_checkpoints_find(&work->reader->standing, checkpoint->shard);
    if (known != NULL && known->revision == checkpoint->revision) *checkpoint = *known;
}

/* ---- whose a shard is ---- */

static void renew(const round_work *work, kedge_reader_checkpoint *checkpoint)
{
    snprintf(checkpoint->owner, sizeof checkpoint->owner, "%s", work->reader->owner);
    checkpoint->until_ms = now_ms(work) + work->options->lease_ms;
}

/* A shard that is seen for the first time. Its parent was read to its end, or there was none that
 * this reader could have read. */
static kedge_status begin(round_work *work, const kedge_stream_shard *shard,
                          kedge_reader_checkpoint **begun, kedge_error *error)
{
    bool root = shard->parent[0] == '\0';
    bool parent_read =
        !root && kedge_reader_checkpoints_find(&work->checkpoints, shard->parent) != NULL;
    kedge_reader_checkpoint *checkpoint = kedge_reader_checkpoints_add(&work->checkpoints, shard);
    if (checkpoint == NULL) return kedge_fail_no_memory(error);
    if (parent_read || !work->adopted)
        snprintf(checkpoint->position, sizeof checkpoint->position, "%s", shard->start);
    renew(work, checkpoint);
    *begun = checkpoint;
    if (root || parent_read || work->adopted)
        return kedge_reader_checkpoint_save(work->options, checkpoint, NULL, error);
    return save_expired(work, checkpoint, shard->parent, error);
}

/* Its parent has changes that come first. */
static bool must_wait(const round_work *work, const kedge_stream_shard *shard)
{
    if (shard->parent[0] == '\0') return false;
    const kedge_reader_checkpoint *parent =
        kedge_reader_checkpoints_find(&work->checkpoints, shard->parent);
    return parent == NULL ? is_listed(work, shard->parent) : !parent->finished;
}

/* NULL in `*taken`: the shard is not this reader's now. */
static kedge_status take(round_work *work, const kedge_stream_shard *shard,
                         kedge_reader_checkpoint **taken, kedge_error *error)
{
    kedge_reader_checkpoint *checkpoint =
        kedge_reader_checkpoints_find(&work->checkpoints, shard->id);
    kedge_status status = KEDGE_OK;
    *taken = NULL;
    if (checkpoint == NULL) {
        if (must_wait(work, shard)) return KEDGE_OK;
        status = begin(work, shard, &checkpoint, error);
    } else {
        if (checkpoint->finished) return KEDGE_OK;
        bool own = strcmp(checkpoint->owner, work->reader->owner) == 0;
        int64_t left_ms = checkpoint->until_ms - now_ms(work);
        /* A lease beyond what any reader asks for was set by a clock that was wrong. */
        bool held = left_ms > 0 && left_ms <= 2 * work->options->lease_ms;
        if (!own && held) return KEDGE_OK;
        if (own) go_where_it_stood(work, checkpoint);
        if (!own || left_ms < work->options->lease_ms / 2 || !held) {
            renew(work, checkpoint);
            status = kedge_reader_checkpoint_save(work->options, checkpoint, NULL, error);
        }
    }
    if (status == KEDGE_OK) *taken = checkpoint;
    return note_lost(work, status);
}

/* ---- reading one shard ---- */

static kedge_status skip_trimmed(round_work *work, kedge_reader_checkpoint *checkpoint,
                                 kedge_error *error)
{
    if (checkpoint->position[0] == '\0') checkpoint->finished = true; /* the shard is gone */
    checkpoint->position[0] = '\0';
    return note_lost(work, save_expired(work, checkpoint, checkpoint->shard, error));
}

static void move_to(kedge_reader_checkpoint *checkpoint, kedge_bytes position)
{
    KEDGE_ASSERT(position.size < sizeof checkpoint->position);
    memcpy(checkpoint->position, position.data, position.size);
    checkpoint->position[position.size] = '\0';
}

/* Moves the checkpoint past what was handled. */
static kedge_status advance(round_work *work, kedge_reader_checkpoint *checkpoint,
                            const kedge_stream_batch *batch, size_t handled, kedge_error *error)
{
    bool all = handled == batch->count;
    if (!all && handled == 0) return KEDGE_OK;
    kedge_bytes position = all ? batch->next : batch->changes[handled - 1].position;
    bool ended = all && batch->ended;
    if (!ended && kedge_bytes_equal_text(position, checkpoint->position)) return KEDGE_OK;
    move_to(checkpoint, position);
    if (handled > 0) checkpoint->at_ms = batch->changes[handled - 1].at_ms;
    if (all && batch->idle) checkpoint->at_ms = now_ms(work) - KEDGE_READER_LATE_MS;
    checkpoint->finished = ended;
    kedge_status status = KEDGE_OK;
    if (handled > 0 || ended) {
        checkpoint->until_ms = now_ms(work) + work->options->lease_ms;
        status = kedge_reader_checkpoint_save(work->options, checkpoint, NULL, error);
    }
    if (status == KEDGE_OK) stand(work, checkpoint);
    return note_lost(work, status);
}

static kedge_status handle(round_work *work, kedge_reader_checkpoint *checkpoint,
                           const kedge_stream_batch *batch, kedge_error *error)
{
    const kedge_stream_reader_options *options = work->options;
    size_t handled = 0;
    kedge_error refusal = {0};
    kedge_status status = KEDGE_OK;
    if (batch->count > 0)
        status =
            options->handle(options->context, batch->changes, batch->count, &handled, &refusal);
    KEDGE_ASSERT(handled <= batch->count && (status != KEDGE_OK || handled == batch->count));
    work->round->handled += handled;
    if (status == KEDGE_OK && (!batch->idle || batch->ended)) work->round->more = true;
    kedge_status saved = advance(work, checkpoint, batch, handled, error);
    if (saved != KEDGE_OK || status == KEDGE_OK) return saved;
    if (error != NULL) *error = refusal;
    return status;
}

static kedge_status read_shard(round_work *work, kedge_reader_checkpoint *checkpoint,
                               kedge_error *error)
{
    const kedge_stream_reader_options *options = work->options;
    kedge_stream_batch batch = {0};
    const kedge_stream_query query = {.shard = checkpoint->shard,
                                      .position = kedge_bytes_of(checkpoint->position),
                                      .limit = options->batch,
                                      .patterns = options->patterns,
                                      .pattern_count = options->pattern_count};
    kedge_error failure = {0};
    kedge_status status =
        options->stream->vtable->read(options->stream->self, &query, &batch, &failure);
    if (status == KEDGE_NOT_FOUND) return skip_trimmed(work, checkpoint, error);
    if (status == KEDGE_INVALID_ARGUMENT && strcmp(failure.code, KEDGE_STREAM_NO_POSITION) == 0)
        return begin_anew(work, checkpoint, error);
    if (status != KEDGE_OK) {
        if (error != NULL) *error = failure;
        return status;
    }
    work->round->shards++;
    status = handle(work, checkpoint, &batch, error);
    kedge_stream_batch_free(&batch);
    return status;
}

static kedge_status read_shards(round_work *work, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < work->shard_count && status == KEDGE_OK; i++) {
        kedge_reader_checkpoint *taken;
        status = take(work, shard_at(work, i), &taken, error);
        if (status == KEDGE_OK && taken != NULL) status = read_shard(work, taken, error);
    }
    return status;
}

/* ---- the round ---- */

kedge_status kedge_stream_reader_round(kedge_stream_reader *reader, kedge_stream_round *round,
                                       kedge_error *error)
{
    kedge_stream_shards pages[PAGES_MAX] = {{0}};
    *round = (kedge_stream_round){0};
    round_work work = {.reader = reader,
                       .options = &reader->options,
                       .round = round,
                       .checkpoints = {.allocator = reader->options.environment->allocator},
                       .pages = pages};
    /* The checkpoints are loaded before the shards are listed. So a checkpoint whose shard is not
     * in the list is of a shard that has vanished. */
    kedge_status status = kedge_reader_checkpoints_load(work.options, &work.checkpoints, error);
    work.adopted = work.checkpoints.count == 0;
    if (status == KEDGE_OK) status = list_shards(&work, error);
    if (status == KEDGE_OK) status = look_at_damaged(&work, error);
    if (status == KEDGE_OK) status = look_at_vanished(&work, error);
    if (status == KEDGE_OK) status = read_shards(&work, error);
    kedge_reader_checkpoints_free(&work.checkpoints);
    for (size_t i = 0; i < work.page_count; i++)
        kedge_stream_shards_free(&pages[i]);
    return status;
}

/* ---- leaving ---- */

kedge_status kedge_stream_reader_leave(kedge_stream_reader *reader, kedge_error *error)
{
    kedge_reader_checkpoints checkpoints = {.allocator = reader->options.environment->allocator};
    kedge_status status = kedge_reader_checkpoints_load(&reader->options, &checkpoints, error);
    for (size_t i = 0; i < checkpoints.count && status == KEDGE_OK; i++) {
        kedge_reader_checkpoint *checkpoint = &checkpoints.of[i];
        if (checkpoint->finished || strcmp(checkpoint->owner, reader->owner) != 0) continue;
        checkpoint->until_ms = 0;
        status = kedge_reader_checkpoint_save(&reader->options, checkpoint, NULL, error);
        if (status == KEDGE_CONFLICT) status = KEDGE_OK; /* it is another's by now */
    }
    kedge_reader_checkpoints_free(&checkpoints);
    return status;
}
