/* Forks: bodies first, then the project and its first version in one transaction. */
#include "backend/versioned/projects/fork.h"

#include "backend/base/background.h"
#include "backend/versioned/projects/name_claim.h"
#include "backend/versioned/projects/organizations.h"
#include "backend/versioned/state/checkpoint.h"
#include "backend/versioned/versions/blob.h"
#include "backend/versioned/versions/version_codec.h"
#include "common/error.h"
#include "common/json.h"

#include <stdlib.h>
#include <string.h>

#define BLOBS_PER_PAGE 1000
#define ENTRY_BYTES    160 /* what an entry's JSON takes besides its texts */

/* A body that the fork refers to. */
typedef struct needed_body {
    kedge_bytes collection;
    uint8_t hash[KEDGE_SHA256_SIZE];
    bool there;
} needed_body;

typedef struct forking {
    const kedge_project *from;
    const kedge_project *to;
    kedge_state *state; /* of what is forked */
    kedge_arena *arena;
    kedge_bytes forked;
    kedge_version_collection *collections;
    size_t collection_count;
    kedge_version_change *changes;
    size_t change_count;
    needed_body *needed;
    size_t needed_count;
    /* The token of the last import that was discarded under the target's name, read before the
     * bodies were looked for; "": none ever was. */
    char discarded[KEDGE_LINEAGE_HEX];
    kedge_fork *result;
} forking;

/* ---- where it comes from ---- */

static kedge_status describe(forking *work, kedge_error *error)
{
    const kedge_version *version = work->state->version;
    kedge_buffer text = kedge_buffer_make(work->to->allocator);
    kedge_json_writer writer = kedge_json_write(&text);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "lineage");
    kedge_json_chars(&writer, version->lineage);
    kedge_json_key(&writer, "project");
    kedge_json_text(&writer, work->from->ref.project);
    kedge_json_key(&writer, "version");
    kedge_json_integer(&writer, version->number);
    kedge_json_end_object(&writer);
    kedge_status status = kedge_buffer_status(&text, error);
    if (status == KEDGE_OK &&
        !kedge_arena_copy(work->arena, kedge_buffer_bytes(&text), &work->forked)) {
        status = kedge_fail_no_memory(error);
    }
    kedge_buffer_free(&text);
    return status;
}

static kedge_status refuse_target(const forking *work, kedge_error *error)
{
    return kedge_fail(error, KEDGE_CONFLICT, "project-exists",
                      "the project \"%.*s\" exists and is not this fork",
                      (int)work->to->ref.project.size, work->to->ref.project.data);
}

/* `*there` when the target is this fork already. */
static kedge_status find_target(const forking *work, bool *there, kedge_error *error)
{
    const kedge_version *creation = NULL;
    *there = false;
    kedge_status status = kedge_version_load_creation(work->to, &creation, error);
    if (status == KEDGE_NOT_FOUND) return KEDGE_OK;
    if (status != KEDGE_OK) return status;
    *there = kedge_bytes_equal(creation->forked, work->forked);
    kedge_version_release(creation);
    return *there ? KEDGE_OK : refuse_target(work, error);
}

/* KEDGE_CONFLICT: an import is under way under the target's name. The bodies that it has put there
 * are removed when it is discarded, so no fork may rely on them. Otherwise `discarded` is the token
 * of the last import that was discarded there. */
static kedge_status check_claim(const forking *work, char discarded[KEDGE_LINEAGE_HEX],
                                kedge_error *error)
{
    kedge_name_claim claim;
    kedge_status status = kedge_name_claim_read(work->to, &claim, error);
    if (status == KEDGE_OK && !claim.importing) {
        return kedge_name_discarded_read(work->to, discarded, error);
    }
    if (status != KEDGE_OK) return status;
    return kedge_fail(error, KEDGE_CONFLICT, "import-under-way",
                      "a project is being imported under the name \"%.*s\"",
                      (int)work->to->ref.project.size, work->to->ref.project.data);
}

/* ---- the first version ---- */

static kedge_status add_entries(forking *work, kedge_bytes collection, kedge_error *error)
{
    kedge_entry entry = {0};
    kedge_status status = kedge_state_next(work->state, collection, true, entry.id, &entry, error);
    while (status == KEDGE_OK) {
        kedge_version_change *change = &work->changes[work->change_count++];
        change->collection = collection;
        change->entry = entry;
        if (entry.body.data == NULL) {
            needed_body *body = &work->needed[work->needed_count++];
            body->collection = collection;
            memcpy(body->hash, entry.hash, sizeof body->hash);
        }
        status = kedge_state_next(work->state, collection, false, entry.id, &entry, error);
    }
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

static int compare_bodies(const void *a, const void *b)
{
    const needed_body *left = a;
    const needed_body *right = b;
    int order = kedge_bytes_compare(left->collection, right->collection);
    return order != 0 ? order : memcmp(left->hash, right->hash, sizeof left->hash);
}

/* Items of one content share their body. */
static void drop_repeated(forking *work)
{
    size_t kept = 0;
    if (work->needed_count > 1) {
        qsort(work->needed, work->needed_count, sizeof *work->needed, compare_bodies);
    }
    for (size_t i = 0; i < work->needed_count; i++) {
        if (kept > 0 && compare_bodies(&work->needed[kept - 1], &work->needed[i]) == 0) continue;
        work->needed[kept++] = work->needed[i];
    }
    work->needed_count = kept;
}

static kedge_status check_size(const forking *work, kedge_error *error)
{
    const int64_t most = (int64_t)KEDGE_VERSION_PARTS_MAX * KEDGE_VERSION_PART_BYTES;
    int64_t bytes = 0;
    for (size_t i = 0; i < work->change_count; i++) {
        const kedge_entry *entry = &work->changes[i].entry;
        /* An id may be escaped, byte by byte. */
        bytes += (int64_t)(ENTRY_BYTES + 6 * entry->id.size + entry->meta.size + entry->body.size);
    }
    if (bytes <= most) return KEDGE_OK;
    return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "fork-too-large",
                      "the items and their small bodies have about %lld bytes; a fork may have "
                      "%lld",
                      (long long)bytes, (long long)most);
}

/* All items of the state as changes of one version; collections without items are left out. */
static kedge_status gather(forking *work, kedge_error *error)
{
    const kedge_version *version = work->state->version;
    size_t items = 0;
    for (size_t i = 0; i < version->collection_count; i++) {
        items += (size_t)version->collections[i].items;
    }
    work->collections =
        kedge_arena_take_array(work->arena, version->collection_count, sizeof *work->collections);
    work->changes = kedge_arena_take_array(work->arena, items, sizeof *work->changes);
    work->needed = kedge_arena_take_array(work->arena, items, sizeof *work->needed);
    if (work->collections == NULL || work->changes == NULL || work->needed == NULL) {
        return kedge_fail_no_memory(error);
    }
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < version->collection_count && status == KEDGE_OK; i++) {
        const kedge_version_collection *collection = &version->collections[i];
        if (collection->items == 0) continue;
        work->collections[work->collection_count++] = (kedge_version_collection){
            .name = collection->name, .number = 1, .last = 1, .items = collection->items};
        status = add_entries(work, collection->name, error);
    }
    if (status != KEDGE_OK) return status;
    drop_repeated(work);
    return check_size(work, error);
}

/* ---- bodies ---- */

static void note_blob(forking *work, const char *name)
{
    const char *slash = strchr(name, '/');
    if (slash == NULL || strlen(slash + 1) < KEDGE_SHA256_HEX - 1) return;
    needed_body wanted = {.collection = {name, (size_t)(slash - name)}};
    kedge_bytes hex = {slash + 1, KEDGE_SHA256_HEX - 1};
    if (!kedge_hex_decode(hex, wanted.hash, sizeof wanted.hash)) return;
    needed_body *found =
        bsearch(&wanted, work->needed, work->needed_count, sizeof wanted, compare_bodies);
    if (found != NULL) found->there = true;
}

/* What earlier calls have copied. */
static kedge_status find_copied(forking *work, kedge_error *error)
{
    const kedge_blobs *blobs = work->to->blobs;
    kedge_key prefix = kedge_key_blobs(&work->to->ref);
    kedge_key after = {.size = 0};
    bool more = work->needed_count > 0;
    while (more) {
        kedge_blob_list list = {0};
        kedge_status status =
            blobs->vtable->list(blobs->self, kedge_key_bytes(&prefix), kedge_key_bytes(&after),
                                BLOBS_PER_PAGE, &list, error);
        if (status != KEDGE_OK) return status;
        for (size_t i = 0; i < list.count; i++) {
            note_blob(work, list.blobs[i].key + prefix.size);
        }
        more = list.more && list.count > 0;
        if (more) {
            const char *last = list.blobs[list.count - 1].key;
            after.size = strlen(last);
            more = after.size < sizeof after.text;
            if (more) memcpy(after.text, last, after.size);
        }
        kedge_blob_list_free(&list);
    }
    return KEDGE_OK;
}

static kedge_status copy_bodies(forking *work, kedge_error *error)
{
    kedge_buffer stored = kedge_buffer_make(work->to->allocator);
    kedge_buffer plain = kedge_buffer_make(work->to->allocator);
    size_t bytes = 0;
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < work->needed_count && status == KEDGE_OK; i++) {
        const needed_body *body = &work->needed[i];
        if (body->there) continue;
        if (work->result->copied == KEDGE_FORK_BODIES_MAX || bytes >= KEDGE_FORK_BYTES_MAX) {
            work->result->left++;
            continue;
        }
        kedge_buffer_clear(&stored);
        kedge_buffer_clear(&plain);
        status = kedge_blob_body(work->from, body->collection, body->hash, &stored, &plain, error);
        if (status != KEDGE_OK) break;
        kedge_key key = kedge_key_body(&work->to->ref, body->collection, body->hash);
        status = kedge_blob_put(work->to, &key, kedge_buffer_bytes(&stored), error);
        bytes += stored.size;
        work->result->copied++;
    }
    kedge_buffer_free(&stored);
    kedge_buffer_free(&plain);
    return status;
}

/* ---- the commit ---- */

/* Puts the project's record and its first version. The condition: no project and no import has the
 * name, and no import was discarded since the bodies were looked for. */
static kedge_status put_both(const forking *work, const kedge_version *version,
                             const kedge_version_record *record, kedge_error *error)
{
    char lineage[KEDGE_LINEAGE_HEX];
    kedge_random_hex(work->to->environment, (KEDGE_LINEAGE_HEX - 1) / 2, lineage);
    kedge_attribute attributes[] = {
        {"created", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, version->created_ms},
        {"lineage", KEDGE_ATTRIBUTE_TEXT, kedge_bytes_of(lineage), 0},
        {"forked", KEDGE_ATTRIBUTE_TEXT, work->forked, 0},
        {KEDGE_RECORDS_INVERTED, KEDGE_ATTRIBUTE_TEXT, work->to->ref.project, 0}};
    kedge_key organization = kedge_key_organization(work->to->ref.organization);
    kedge_key project = kedge_key_project(work->to->ref.project);
    kedge_key partition = kedge_key_partition(&work->to->ref);
    kedge_key first = kedge_key_version(1);
    kedge_key import = kedge_key_version(KEDGE_VERSION_IMPORTING);
    kedge_key discarded = kedge_key_discarded();
    bool never = work->discarded[0] == '\0';
    kedge_organization_marker marker;
    kedge_record_write writes[] = {
        kedge_organization_mark(work->to->ref.organization, lineage, &marker),
        {.kind = KEDGE_WRITE_PUT,
         .record = {{kedge_key_bytes(&organization), kedge_key_bytes(&project)}, attributes, 4},
         .condition = KEDGE_IF_ABSENT},
        {.kind = KEDGE_WRITE_PUT,
         .record = {{kedge_key_bytes(&partition), kedge_key_bytes(&first)},
                    record->attributes,
                    record->attribute_count},
         .condition = KEDGE_IF_ABSENT},
        {.kind = KEDGE_WRITE_CHECK,
         .record = {.key = {kedge_key_bytes(&partition), kedge_key_bytes(&import)}},
         .condition = KEDGE_IF_ABSENT},
        {.kind = KEDGE_WRITE_CHECK,
         .record = {.key = {kedge_key_bytes(&partition), kedge_key_bytes(&discarded)}},
         .condition = never ? KEDGE_IF_ABSENT : KEDGE_IF_EQUAL,
         .expected = {"token", KEDGE_ATTRIBUTE_TEXT, kedge_bytes_of(work->discarded), 0}}};
    const kedge_records *records = work->to->records;
    return records->vtable->transact(records->self, writes, 5, error);
}

static kedge_status commit(const forking *work, kedge_error *error)
{
    const kedge_environment *environment = work->to->environment;
    kedge_version version = {.number = 1,
                             .created_ms = environment->now_ms(environment->context),
                             .project_record = work->state->version->project_record,
                             .project_changed = work->state->version->project_record.size > 0,
                             .collections = work->collections,
                             .collection_count = work->collection_count,
                             .changes = work->changes,
                             .change_count = work->change_count,
                             .forked = work->forked};
    kedge_random_hex(environment, (KEDGE_LINEAGE_HEX - 1) / 2, version.lineage);
    kedge_version_record record;
    kedge_status status = kedge_version_encode(work->to->allocator, &version, &record, error);
    if (status == KEDGE_OK) status = kedge_version_put_parts(work->to, &record, error);
    if (status == KEDGE_OK) status = put_both(work, &version, &record, error);
    kedge_arena_free(&record.arena);
    return status;
}

/* So that no reader has to fold the whole first version. The fork is complete without them: a
 * failure is reported as one of background work. */
static void write_checkpoints(const forking *work)
{
    kedge_state *state = NULL;
    kedge_error error = {0};
    kedge_status status = kedge_state_open_newest(work->to, &state, &error);
    if (status == KEDGE_OK && state->version->number == 1) {
        status = kedge_checkpoint_write_due(state, true, &error);
    }
    if (status != KEDGE_OK) {
        kedge_background_failed(work->to, KEDGE_BACKGROUND_FORK_CHECKPOINTS, &error);
    }
    kedge_state_close(state);
}

/* Why the commit's condition did not hold. KEDGE_OK: the target is this fork, made meanwhile by
 * another process or by this very commit. */
static kedge_status see_conflict(const forking *work, kedge_error *error)
{
    bool there = false;
    char discarded[KEDGE_LINEAGE_HEX];
    kedge_status status = find_target(work, &there, error);
    if (status != KEDGE_OK || there) return status;
    status = check_claim(work, discarded, error);
    if (status != KEDGE_OK) return status;
    if (strcmp(discarded, work->discarded) == 0) return refuse_target(work, error);
    return kedge_fail(error, KEDGE_UNAVAILABLE, "fork-raced",
                      "an import under the name \"%.*s\" was discarded meanwhile; begin again",
                      (int)work->to->ref.project.size, work->to->ref.project.data);
}

static kedge_status make_project(forking *work, kedge_error *error)
{
    kedge_status status = check_claim(work, work->discarded, error);
    if (status == KEDGE_OK) status = gather(work, error);
    if (status == KEDGE_OK) status = find_copied(work, error);
    if (status == KEDGE_OK) status = copy_bodies(work, error);
    if (status != KEDGE_OK || work->result->left > 0) return status;
    status = commit(work, error);
    if (status == KEDGE_CONFLICT) return see_conflict(work, error);
    work->result->created = status == KEDGE_OK;
    return status;
}

static kedge_status fork_version(forking *work, kedge_error *error)
{
    bool there = false;
    kedge_status status = describe(work, error);
    if (status == KEDGE_OK) status = find_target(work, &there, error);
    if (status == KEDGE_OK && !there) status = make_project(work, error);
    if (status != KEDGE_OK || work->result->left > 0) return status;
    work->result->done = true;
    write_checkpoints(work);
    const kedge_backend_options *options = &work->to->backend->options;
    if (work->result->created && options->committed != NULL) {
        options->committed(options->committed_context, work->to->ref.organization,
                           work->to->ref.project, 1);
    }
    return KEDGE_OK;
}

kedge_status kedge_fork_project(const kedge_project *from, int64_t number, const kedge_project *to,
                                kedge_fork *fork, kedge_error *error)
{
    kedge_arena arena = kedge_arena_make(to->allocator);
    kedge_fork result = {.done = false};
    forking work = {.from = from, .to = to, .arena = &arena, .result = &result};
    const kedge_version *version = NULL;
    kedge_status status = kedge_project_ref_check(&to->ref, error);
    if (status == KEDGE_OK && number < 1) {
        status = kedge_fail(error, KEDGE_NOT_FOUND, "version-not-found",
                            "a fork starts from a version, which is 1 or above");
    }
    if (status == KEDGE_OK)
        status = kedge_version_load_detail(from, number, KEDGE_VERSION_STATE, &version, error);
    if (status == KEDGE_OK) {
        status = kedge_state_open(from, version, &work.state, error);
        kedge_version_release(version);
    }
    if (status == KEDGE_OK) status = fork_version(&work, error);
    kedge_state_close(work.state);
    kedge_arena_free(&arena);
    if (status == KEDGE_OK) *fork = result;
    return status;
}
