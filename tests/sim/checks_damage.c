/* Checkers of clients whose files lie (and of all others): what is shown on top of a state that has
 * it, what is sent that nobody made, what never ends. */
#include "common/json.h"
#include "mutate/apply.h"
#include "sdk/store/pieces.h"
#include "sdk/store/store_internal.h"
#include "tests/sim/files.h"
#include "tests/sim/sim.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MINUTE_MS 60000

static void count(sim_world *world, sim_check check)
{
    world->report->checks[check]++;
}

/* ---- I21 ---- */

/* A copy of the folder had it decided, and this one was given a new client id without the backend:
 * nothing here can know before the backend says so. */
static bool nobody_told(const sim_client *client, const void *uid)
{
    for (size_t i = 0; i < client->ledger.count; i++) {
        const sim_entry *entry = &client->ledger.entries[i];
        if (memcmp(entry->uid, uid, SIM_UID_SIZE) == 0)
            return entry->copied && client->damage.outbox_older;
    }
    return false;
}

static void check_row(sim_client *client, const sim_version *at, sqlite3_stmt *row)
{
    int64_t sequence = sqlite3_column_int64(row, 0);
    const void *uid = sqlite3_column_blob(row, 1), *digest = sqlite3_column_blob(row, 2);
    if (uid == NULL || sqlite3_column_bytes(row, 1) != SIM_UID_SIZE || digest == NULL ||
        sqlite3_column_bytes(row, 2) != KEDGE_DIGEST_SIZE)
        return;
    bool withheld = sqlite3_column_int(row, 3) != 0;
    const sim_version *where = NULL;
    const sim_decided *decided = sim_oracle_decided_as(at, uid, digest, &where);
    count(client->world, SIM_I21);
    if (!withheld && decided != NULL && !decided->rejected && !nobody_told(client, uid))
        sim_violate(client->world, SIM_I21,
                    "client %u: %" PRId64 " is predicted as (%.8s, %" PRId64 ") on version %" PRId64
                    ", which has it since version %" PRId64 " as (%.8s, %" PRId64 ")",
                    client->index, sequence, (const char *)sqlite3_column_text(row, 5),
                    (int64_t)sqlite3_column_int64(row, 6), at->number, where->number,
                    decided->client, decided->id);
    /* Nobody but this folder can have it, and its own client id has not had it decided. */
    if (withheld && sqlite3_column_type(row, 4) == SQLITE_NULL && !client->damage.outbox_older)
        sim_violate(client->world, SIM_I21,
                    "client %u: %" PRId64 " has no origin and is withheld all the same",
                    client->index, sequence);
}

const char *sim_withheld_column(struct sqlite3 *outbox)
{
    int there = sqlite3_table_column_metadata(outbox, NULL, "pending", "withheld", NULL, NULL, NULL,
                                              NULL, NULL);
    return there == SQLITE_OK ? "withheld" : "0";
}

void check_i21_shown_once(sim_client *client, const sim_version *at)
{
    char sql[512], *whole;
    kedge_cache_meta cache;
    sqlite3_stmt *cursor = NULL;
    sqlite3 *outbox = client->store->outbox.handle;
    (void)snprintf(sql, sizeof sql,
                   "SELECT sequence, uid, digest, %s, origin_client, client, id FROM pending"
                   " WHERE NOT {covered}",
                   sim_withheld_column(outbox));
    if (at == NULL || kedge_cache_meta_read(&client->store->cache, &cache, NULL) != KEDGE_OK ||
        kedge_pieces_put(sql, &whole) != SQLITE_OK)
        return;
    (void)sqlite3_prepare_v2(outbox, whole, -1, &cursor, NULL);
    sqlite3_free(whole);
    if (cursor == NULL) return;
    /* What was read since may have found the cache damaged, and set it aside. */
    if (cache.version != at->number) {
        sqlite3_finalize(cursor);
        return;
    }
    sqlite3_bind_text(cursor, 1, cache.client, -1, SQLITE_STATIC);
    sqlite3_bind_int64(cursor, 2, cache.lmid);
    sqlite3_bind_int64(cursor, 3, cache.version);
    while (sqlite3_step(cursor) == SQLITE_ROW)
        check_row(client, at, cursor);
    sqlite3_finalize(cursor);
}

/* ---- I12 ---- */

/* The cache's half of a rotation failed on the disk and was made up for later, in a commit that
 * nobody has synced; a power cut has taken that one. The cache is of the past that the outbox has
 * left: the outbox knows so, and the next pull asks for its lineage. */
bool sim_is_back_before_rotation(const sim_client *client, const sim_version *at,
                                 const sim_version *was)
{
    kedge_outbox_meta meta;
    const sim_oracle *oracle = &client->world->oracle;
    if (kedge_outbox_meta_read(&client->store->outbox, &meta, NULL) != KEDGE_OK ||
        meta.ask_settled == 0)
        return false;
    const sim_version *settled =
        sim_oracle_find(oracle, meta.settled_lineage, meta.settled_version);
    return settled != NULL && sim_oracle_descends(was, settled) &&
           !sim_oracle_descends(at, settled) && !sim_oracle_descends(oracle->head, at);
}

/* ---- I22: opening, turning ---- */

static bool has_cache(sim_client *client)
{
    char *bytes = NULL;
    size_t size = 0;
    bool there = sim_disk_read(&client->disk, SIM_FILE_CACHE, &bytes, &size) && size > 0;
    free(bytes);
    return there;
}

/* One wrong value is mended or set aside; the store is refused only when pages are wrong, or both
 * copies of what nothing else can tell. And a refusal says that the file is damaged; without a
 * cache beside it, nothing says that it ever was one of ours. */
void check_i22_opened(sim_client *client, kedge_status status, const char *code)
{
    const sim_damage *damage = &client->damage;
    bool expected = damage->outbox_pages || damage->meta_flips > 1;
    count(client->world, SIM_I22);
    if (!expected)
        sim_violate(client->world, SIM_I22, "client %u cannot be opened: %s, %s", client->index,
                    kedge_status_name(status), code);
    else if (status != KEDGE_CORRUPT && (status != KEDGE_NOT_A_DATABASE || has_cache(client)))
        sim_violate(client->world, SIM_I22,
                    "client %u has a damaged outbox, and is told something else: %s, %s",
                    client->index, kedge_status_name(status), code);
}

/* Whether it was done too often. */
static bool is_often(const sim_client *client, int64_t times_ms[SIM_ROTATIONS_MAX])
{
    int64_t now_ms = client->world->now_ms + 1;
    int64_t oldest = times_ms[SIM_ROTATIONS_MAX - 1];
    memmove(times_ms + 1, times_ms, (SIM_ROTATIONS_MAX - 1) * sizeof times_ms[0]);
    times_ms[0] = now_ms;
    return oldest > 0 && now_ms - oldest < MINUTE_MS;
}

void check_i22_rotation(sim_client *client)
{
    count(client->world, SIM_I22);
    if (is_often(client, client->rotated_ms))
        sim_violate(client->world, SIM_I22, "client %u took %d client ids in a minute",
                    client->index, SIM_ROTATIONS_MAX + 1);
}

void check_i22_set_aside(sim_client *client)
{
    count(client->world, SIM_I22);
    if (is_often(client, client->aside_ms))
        sim_violate(client->world, SIM_I22, "client %u set %d caches aside in a minute",
                    client->index, SIM_ROTATIONS_MAX + 1);
}

/* ---- I22: sending ---- */

void sim_content(kedge_bytes name, kedge_bytes args, uint8_t content[KEDGE_SHA256_SIZE])
{
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer canonical = kedge_buffer_make(&kedge_allocator_default);
    kedge_apply_made own;
    bool valid;
    /* What has made a kedge.apply says more than what it does. */
    if (kedge_bytes_equal_text(name, KEDGE_APPLY_MUTATOR) &&
        kedge_apply_read_made(args, &own, &valid)) {
        name = kedge_bytes_of(own.name);
        args = own.args;
    }
    bool good = kedge_json_canonical(args, &canonical, NULL) == KEDGE_OK;
    kedge_buffer_append_bytes(&text, name);
    kedge_buffer_append_byte(&text, good ? '\0' : '\1');
    kedge_buffer_append_bytes(&text, good ? kedge_buffer_bytes(&canonical) : args);
    kedge_sha256(kedge_buffer_bytes(&text), content);
    kedge_buffer_free(&text);
    kedge_buffer_free(&canonical);
}

void sim_note_made(sim_world *world, const uint8_t *content, const uint8_t *uid,
                   int64_t timestamp_ms)
{
    sim_made_list *made = &world->made;
    if (made->count == made->capacity) {
        made->capacity = made->capacity == 0 ? 256 : made->capacity * 2;
        made->edits = sim_must_reallocate(made->edits, made->capacity * sizeof *made->edits);
    }
    sim_made *edit = &made->edits[made->count++];
    *edit = (sim_made){.told = uid != NULL, .timestamp_ms = timestamp_ms};
    memcpy(edit->content, content, sizeof edit->content);
    if (uid != NULL) memcpy(edit->uid, uid, sizeof edit->uid);
}

static bool is_made(sim_world *world, const uint8_t *uid, const uint8_t *content, int64_t timestamp)
{
    sim_made_list *made = &world->made;
    for (size_t i = 0; i < made->count; i++) {
        const sim_made *edit = &made->edits[i];
        if (!edit->told || memcmp(edit->uid, uid, SIM_UID_SIZE) != 0) continue;
        return edit->timestamp_ms == timestamp &&
               memcmp(edit->content, content, sizeof edit->content) == 0;
    }
    for (size_t i = 0; i < made->count; i++) {
        sim_made *edit = &made->edits[i];
        if (edit->told || memcmp(edit->content, content, sizeof edit->content) != 0) continue;
        edit->told = true;
        edit->timestamp_ms = timestamp;
        memcpy(edit->uid, uid, SIM_UID_SIZE);
        return true;
    }
    return false;
}

bool sim_was_made(const sim_world *world, const uint8_t *content)
{
    for (size_t i = 0; i < world->made.count; i++)
        if (memcmp(world->made.edits[i].content, content, KEDGE_SHA256_SIZE) == 0) return true;
    return false;
}

static bool is_again(kedge_bytes args)
{
    kedge_apply_made own;
    bool valid;
    return kedge_apply_read_made(args, &own, &valid) && own.attempt > 1 &&
           own.attempt <= KEDGE_LIMIT_APPLY_ATTEMPTS;
}

/* Another attempt of an edit that was made. */
static bool is_made_again(const sim_world *world, const uint8_t *content, int64_t timestamp)
{
    for (size_t i = 0; i < world->made.count; i++) {
        const sim_made *edit = &world->made.edits[i];
        if (memcmp(edit->content, content, sizeof edit->content) == 0 &&
            (!edit->told || edit->timestamp_ms == timestamp))
            return true;
    }
    return false;
}

static void check_mutation(sim_world *world, const sim_message *message, kedge_bytes mutation)
{
    char name[256] = "", uid_text[64] = "";
    uint8_t uid[SIM_UID_SIZE] = {0}, content[KEDGE_SHA256_SIZE];
    int64_t id = 0, timestamp = 0;
    kedge_bytes args = {"", 0};
    (void)kedge_json_member_chars(mutation, "name", name, sizeof name);
    (void)kedge_json_member_chars(mutation, "uid", uid_text, sizeof uid_text);
    (void)kedge_json_member_integer(mutation, "id", &id);
    (void)kedge_json_member_integer(mutation, "timestamp", &timestamp);
    (void)kedge_json_member(mutation, "args", &args);
    count(world, SIM_I22);
    /* What stands in for an edit that cannot be sent. */
    if (strcmp(name, "kedge.noop") == 0 && kedge_bytes_equal_text(args, "null")) return;
    sim_content(kedge_bytes_of(name), args, content);
    bool known = kedge_hex_decode(kedge_bytes_of(uid_text), uid, sizeof uid) &&
                 (is_again(args) ? is_made_again(world, content, timestamp)
                                 : is_made(world, uid, content, timestamp));
    if (!known)
        sim_violate(world, SIM_I22,
                    "client %u sends %s under id %" PRId64 " as %.8s…, which nobody made like that",
                    message->client, name, id, uid_text);
}

void check_i22_sent(sim_world *world, const sim_message *message)
{
    kedge_bytes body = {message->body, message->body_size};
    kedge_bytes mutations, mutation;
    if (strcmp(message->path, "push") != 0) return;
    count(world, SIM_I22);
    bool json =
        kedge_json_check(body, KEDGE_LIMIT_JSON_DEPTH, &kedge_allocator_default, NULL) == KEDGE_OK;
    if (!json || message->status == 400)
        sim_violate(world, SIM_I22, "client %u sends a push that is none: %d", message->client,
                    message->status);
    if (!json || !kedge_json_member(body, "mutations", &mutations)) return;
    kedge_json_iterator each = kedge_json_iterate(mutations);
    while (kedge_json_next_element(&each, &mutation))
        check_mutation(world, message, mutation);
}
