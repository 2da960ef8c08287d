/* The bodies of requests: a push of the lowest uncovered mutations, a pull from the position. */
#include "sdk/store/store_internal.h"

#include "common/json.h"
#include <stdio.h>
#include <string.h>

typedef struct push {
    int64_t after_id;
    uint32_t count_max;
    size_t bytes_max;
    kedge_buffer *body;
    uint32_t count;
    int64_t last_id;
} push;

static void write_start(kedge_json_writer *writer, const char *kind, const char *client)
{
    kedge_json_begin_object(writer);
    kedge_json_key(writer, kind);
    kedge_json_integer(writer, 1);
    kedge_json_key(writer, "clientGroupID");
    kedge_json_chars(writer, client);
    kedge_json_key(writer, "profileID");
    kedge_json_chars(writer, "kedge");
    kedge_json_key(writer, "schemaVersion");
    kedge_json_chars(writer, "");
}

static void write_mutation(kedge_json_writer *writer, const kedge_pending *row)
{
    char uid[2 * KEDGE_STORE_UID_SIZE + 1];
    kedge_hex_encode((const uint8_t *)row->uid.data, row->uid.size, uid);
    kedge_json_begin_object(writer);
    kedge_json_key(writer, "clientID");
    kedge_json_text(writer, row->client);
    kedge_json_key(writer, "id");
    kedge_json_integer(writer, row->id);
    kedge_json_key(writer, "name");
    kedge_json_text(writer, row->name);
    kedge_json_key(writer, "args");
    kedge_json_raw(writer, row->args);
    kedge_json_key(writer, "timestamp");
    kedge_json_integer(writer, row->timestamp_ms);
    kedge_json_key(writer, "uid");
    kedge_json_chars(writer, uid);
    if (row->origin_client.size > 0) {
        kedge_json_key(writer, "origin");
        kedge_json_begin_object(writer);
        kedge_json_key(writer, "client");
        kedge_json_text(writer, row->origin_client);
        kedge_json_key(writer, "id");
        kedge_json_integer(writer, row->origin_id);
        kedge_json_end_object(writer);
    }
    kedge_json_end_object(writer);
}

static kedge_status write_mutations(kedge_store *store, push *asked, kedge_json_writer *writer,
                                    const char *client, const kedge_cache_meta *cache,
                                    kedge_error *error)
{
    kedge_pending row;
    sqlite3_stmt *walk;
    kedge_status status = kedge_outbox_walk(&store->outbox, cache, &walk, error);
    if (status != KEDGE_OK) return status;
    while (asked->count < asked->count_max) {
        status = kedge_outbox_walk_next(&store->outbox, walk, &row, error);
        if (status != KEDGE_OK) break;
        /* What an earlier client pushed waits for its version only. */
        if (!kedge_bytes_equal_text(row.client, client) || row.id <= asked->after_id) continue;
        if (asked->count > 0 && asked->body->size + row.args.size > asked->bytes_max) break;
        write_mutation(writer, &row);
        asked->count++;
        asked->last_id = row.id;
    }
    sqlite3_reset(walk);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

/* After this commit cancel refuses what the body holds. */
static kedge_status commit_sent(kedge_store *store, kedge_outbox_meta *outbox, int64_t last_id,
                                kedge_error *error)
{
    if (last_id <= outbox->sent_through) return KEDGE_OK;
    outbox->sent_through = last_id;
    kedge_status status = kedge_store_db_begin(&store->outbox, error);
    if (status == KEDGE_OK) status = kedge_outbox_meta_write(&store->outbox, outbox, error);
    if (status == KEDGE_OK) status = kedge_store_db_commit(&store->outbox, error);
    return status;
}

static kedge_status push_work(kedge_store *store, void *context, kedge_error *error)
{
    push *asked = context;
    kedge_outbox_meta outbox;
    kedge_cache_meta cache;
    asked->count = 0;
    asked->last_id = 0;
    kedge_buffer_clear(asked->body);
    kedge_status status = kedge_outbox_meta_read(&store->outbox, &outbox, error);
    if (status == KEDGE_OK) status = kedge_cache_meta_read(&store->cache, &cache, error);
    if (status != KEDGE_OK) return status;
    kedge_json_writer writer = kedge_json_write(asked->body);
    write_start(&writer, "pushVersion", outbox.client);
    kedge_json_key(&writer, "mutations");
    kedge_json_begin_array(&writer);
    status = write_mutations(store, asked, &writer, outbox.client, &cache, error);
    kedge_json_end_array(&writer);
    kedge_json_key(&writer, "kedge");
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "client");
    kedge_json_chars(&writer, outbox.client);
    kedge_json_end_object(&writer);
    kedge_json_end_object(&writer);
    if (status == KEDGE_OK) status = kedge_buffer_status(asked->body, error);
    if (status == KEDGE_OK && asked->count > 0)
        status = commit_sent(store, &outbox, asked->last_id, error);
    if (status != KEDGE_OK || asked->count == 0) kedge_buffer_clear(asked->body);
    if (status == KEDGE_OK && asked->count > 0) kedge_store_phase(store, "push-sent");
    return status;
}

kedge_status kedge_store_push_body(kedge_store *store, int64_t after_id, uint32_t count_max,
                                   size_t bytes_max, kedge_buffer *body, uint32_t *count,
                                   int64_t *last_id, kedge_error *error)
{
    push asked = {after_id, count_max > 0 ? count_max : 1, bytes_max, body, 0, 0};
    kedge_status status = kedge_store_take_turn(store, push_work, &asked, error);
    if (status != KEDGE_OK) return status;
    *count = asked.count;
    if (last_id) *last_id = asked.last_id;
    return KEDGE_OK;
}

/* ---- pulling ---- */

typedef struct cookie {
    int64_t version;
    char lineage[33]; /* "": null */
} cookie;

static kedge_status read_settled(kedge_store *store, cookie *settled, bool *ask, kedge_error *error)
{
    kedge_store_reader *reader;
    kedge_outbox_meta outbox;
    kedge_status status = kedge_reader_take(store, &reader, error);
    if (status != KEDGE_OK) return status;
    status = kedge_outbox_meta_read(&reader->outbox, &outbox, error);
    if (status == KEDGE_CORRUPT) (void)kedge_reader_heal(store, reader, error);
    kedge_reader_give(store, reader);
    if (status != KEDGE_OK) return status;
    if (ask) *ask = outbox.ask_settled != 0;
    settled->version = outbox.settled_version;
    memcpy(settled->lineage, outbox.settled_lineage, sizeof settled->lineage);
    return KEDGE_OK;
}

/* Without a cache a pull starts from nothing, and a restored backend would look like any other. So
 * the first pull then asks from where the outbox was last confirmed: the answer cannot be applied,
 * but it tells whether that lineage is lost. */
static kedge_status choose_cookie(kedge_store *store, const kedge_store_position *at, cookie *out,
                                  kedge_error *error)
{
    out->version = at->version;
    memcpy(out->lineage, at->lineage, sizeof out->lineage);
    if (at->lineage[0] != '\0' || atomic_load(&store->lineage_known)) return KEDGE_OK;
    return read_settled(store, out, NULL, error);
}

static void write_cookie(kedge_json_writer *writer, const char *name, const cookie *from)
{
    kedge_json_key(writer, name);
    if (from->lineage[0] == '\0') {
        kedge_json_null(writer);
        return;
    }
    kedge_json_begin_object(writer);
    kedge_json_key(writer, "order");
    kedge_json_integer(writer, from->version);
    kedge_json_key(writer, "lineage");
    kedge_json_chars(writer, from->lineage);
    kedge_json_end_object(writer);
}

kedge_status kedge_store_pull_body(kedge_store *store, kedge_buffer *body, kedge_error *error)
{
    kedge_store_position at;
    cookie from;
    cookie seen = {0};
    bool ask = false;
    kedge_status status = kedge_store_position_get(store, &at, error);
    if (status == KEDGE_OK) status = choose_cookie(store, &at, &from, error);
    if (status == KEDGE_OK) status = read_settled(store, &seen, &ask, error);
    if (status != KEDGE_OK) return status;
    kedge_buffer_clear(body);
    kedge_json_writer writer = kedge_json_write(body);
    write_start(&writer, "pullVersion", at.client);
    write_cookie(&writer, "cookie", &from);
    kedge_json_key(&writer, "kedge");
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "client");
    kedge_json_chars(&writer, at.client);
    kedge_json_key(&writer, "lowest_pending");
    kedge_json_integer(&writer, at.lowest_pending);
    kedge_json_key(&writer, "highest_id");
    kedge_json_integer(&writer, at.highest_id + KEDGE_STORE_IDS_AHEAD);
    /* Outcomes of a version that was not pulled yet, or an outbox of another past than the cache:
     * is it still the server's? */
    if (seen.version > from.version || (ask && seen.version > 0))
        write_cookie(&writer, "seen", &seen);
    kedge_json_end_object(&writer);
    kedge_json_end_object(&writer);
    return kedge_buffer_status(body, error);
}
