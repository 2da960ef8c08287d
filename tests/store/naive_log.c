/* See naive_log.h. */
#include "tests/store/naive_log.h"

#include "common/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const kedge_allocator *const memory = &kedge_allocator_default;

/* ---- appending ---- */

static void write_member(kedge_json_writer *writer, kedge_bytes object, const char *name,
                         const char *as, const char *otherwise)
{
    kedge_bytes value = kedge_bytes_of(otherwise);
    kedge_json_member(object, name, &value);
    kedge_json_key(writer, as);
    kedge_json_raw(writer, value);
}

bool naive_log_knows(const naive_server *server, const naive_outcome *outcome, int64_t by)
{
    return by <= server->snapshot || strcmp(outcome->code, "mutator-unknown") == 0;
}

/* The server knows these two, and leaves the rest to the clients. */
static void write_decided(kedge_json_writer *writer, const naive_outcome *outcome)
{
    bool duplicate = strcmp(outcome->decision, "duplicate") == 0;
    bool unknown = strcmp(outcome->code, "mutator-unknown") == 0;
    if (!duplicate && !unknown) return;
    kedge_json_key(writer, "outcome");
    kedge_json_chars(writer, duplicate ? "duplicate" : "rejected");
    if (duplicate && !unknown) return;
    kedge_json_key(writer, "code");
    kedge_json_chars(writer, outcome->code);
    kedge_json_key(writer, "message");
    kedge_json_chars(writer, outcome->message);
}

void naive_log_append(naive_server *server, kedge_bytes mutation, const naive_outcome *outcome)
{
    if (!server->log) return;
    kedge_buffer *out = &server->open_entry;
    if (!out->allocator) *out = kedge_buffer_make(memory);
    if (out->size > 0) kedge_buffer_append_bytes(out, KEDGE_BYTES(","));
    kedge_json_writer writer = kedge_json_write(out);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "client");
    kedge_json_chars(&writer, outcome->client);
    kedge_json_key(&writer, "id");
    kedge_json_integer(&writer, outcome->id);
    write_member(&writer, mutation, "name", "name", "\"\"");
    write_member(&writer, mutation, "version", "mutator", "1");
    write_member(&writer, mutation, "args", "args", "null");
    write_member(&writer, mutation, "timestamp", "timestamp", "0");
    write_member(&writer, mutation, "user", "user", "\"\"");
    write_member(&writer, mutation, "role", "role", "\"\"");
    kedge_json_key(&writer, "digest");
    kedge_json_chars(&writer, outcome->digest);
    if (outcome->origin_client[0] != '\0')
        write_member(&writer, mutation, "origin", "origin", "null");
    write_decided(&writer, outcome);
    kedge_json_end_object(&writer);
}

void naive_log_close_entry(naive_server *server)
{
    if (!server->log) return;
    kedge_buffer *out = &server->open_entry;
    server->entries[server->version] = strdup(out->size > 0 ? out->data : "");
    kedge_buffer_free(out);
}

/* ---- pulling ---- */

/* Where the response ends: at a snapshot, or where it is full. */
static int64_t end_of(const naive_server *server, int64_t from)
{
    int64_t version = from;
    uint32_t count = 0;
    while (version < server->version) {
        if (server->entries[version + 1][0] != '\0') {
            if (count == server->entries_max) break;
            count++;
        }
        version++;
        if (version == server->snapshot) break;
    }
    return version;
}

static void append_number(kedge_buffer *out, size_t number)
{
    for (int shift = 0; shift < 32; shift += 8) {
        char byte = (char)(number >> shift & 0xff);
        kedge_buffer_append_bytes(out, (kedge_bytes){&byte, 1});
    }
}

/* By the words of the contract, and with no more than SHA-256 of what they say. */
void naive_log_hash(const naive_server *server, int64_t version, char hex[KEDGE_SHA256_HEX])
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_buffer all = kedge_buffer_make(memory);
    kedge_overlay *state = naive_load(server->states[version]);
    kedge_overlay_entry entry;
    kedge_overlay_entry at;
    for (bool more = kedge_overlay_next(state, NULL, &entry); more;
         more = kedge_overlay_next(state, &at, &entry)) {
        char key[2048];
        at = entry;
        int size = entry.collection.size == 0
                       ? snprintf(key, sizeof key, "project")
                       : snprintf(key, sizeof key, "%.*s/%.*s", (int)entry.collection.size,
                                  entry.collection.data, (int)entry.id.size, entry.id.data);
        append_number(&all, (size_t)size);
        kedge_buffer_append_bytes(&all, (kedge_bytes){key, (size_t)size});
        append_number(&all, entry.value.size);
        kedge_buffer_append_bytes(&all, entry.value);
    }
    kedge_sha256(kedge_buffer_bytes(&all), hash);
    kedge_hex_encode(hash, sizeof hash, hex);
    kedge_overlay_free(state);
    kedge_buffer_free(&all);
}

/* A duplicate of the client that asks, whose first one a snapshot has rejected. */
static const naive_outcome *rejected_duplicate(const naive_server *server, const naive_pull *asked,
                                               kedge_bytes mutation)
{
    char client[64] = "";
    int64_t id = 0;
    kedge_json_member_chars(mutation, "client", client, sizeof client);
    kedge_json_member_integer(mutation, "id", &id);
    const naive_outcome *outcome = naive_server_outcome(server, client, id);
    bool told = outcome && strcmp(client, asked->client) == 0 && outcome->code[0] != '\0' &&
                strcmp(outcome->decision, "duplicate") == 0 &&
                strcmp(outcome->code, "mutator-unknown") != 0 &&
                outcome->first_version <= server->snapshot;
    return told ? outcome : NULL;
}

static void write_mutation(kedge_json_writer *writer, const naive_server *server,
                           const naive_pull *asked, kedge_bytes mutation)
{
    kedge_bytes name, value;
    const naive_outcome *rejected = rejected_duplicate(server, asked, mutation);
    kedge_json_iterator each = kedge_json_iterate(mutation);
    kedge_json_begin_object(writer);
    while (kedge_json_next_member(&each, &name, &value)) {
        kedge_json_key_bytes(writer, (kedge_bytes){name.data + 1, name.size - 2});
        kedge_json_raw(writer, value);
    }
    if (rejected) {
        kedge_json_key(writer, "code");
        kedge_json_chars(writer, rejected->code);
        kedge_json_key(writer, "message");
        kedge_json_chars(writer, rejected->message);
    }
    kedge_json_end_object(writer);
}

static void write_entries(kedge_json_writer *writer, const naive_server *server,
                          const naive_pull *asked, int64_t from, int64_t to)
{
    kedge_json_key(writer, "entries");
    kedge_json_begin_array(writer);
    for (int64_t version = from + 1; version <= to; version++) {
        const char *mutations = server->entries[version];
        if (mutations[0] == '\0') continue;
        kedge_buffer list = kedge_buffer_make(memory);
        kedge_buffer_append_bytes(&list, KEDGE_BYTES("["));
        kedge_buffer_append_bytes(&list, kedge_bytes_of(mutations));
        kedge_buffer_append_bytes(&list, KEDGE_BYTES("]"));
        kedge_json_begin_object(writer);
        kedge_json_key(writer, "version");
        kedge_json_integer(writer, version);
        kedge_json_key(writer, "mutations");
        kedge_json_begin_array(writer);
        kedge_bytes mutation;
        kedge_json_iterator each = kedge_json_iterate(kedge_buffer_bytes(&list));
        while (kedge_json_next_element(&each, &mutation))
            write_mutation(writer, server, asked, mutation);
        kedge_json_end_array(writer);
        kedge_json_end_object(writer);
        kedge_buffer_free(&list);
    }
    kedge_json_end_array(writer);
}

static void write_log(kedge_json_writer *writer, const naive_server *server,
                      const naive_pull *asked, int64_t from, int64_t to)
{
    kedge_json_key(writer, "log");
    kedge_json_begin_object(writer);
    write_entries(writer, server, asked, from, to);
    kedge_json_key(writer, "more");
    kedge_json_boolean(writer, to < server->version);
    if (to == server->snapshot) {
        char hash[KEDGE_SHA256_HEX];
        naive_log_hash(server, to, hash);
        kedge_json_key(writer, "hash");
        kedge_json_chars(writer, hash);
    }
    kedge_json_end_object(writer);
}

static void write_native(kedge_json_writer *writer, const naive_server *server,
                         const naive_pull *asked, bool snapshot, int64_t to)
{
    int64_t lmid = naive_server_lmid(server, asked->client, to);
    bool retired = naive_is_retired(server, asked->client);
    const char *names[] = {"retired", "known", "lost"};
    bool values[] = {retired, lmid > 0 || retired, asked->lost};
    const char *lineage = server->lineages[to];
    kedge_json_key(writer, "kedge");
    kedge_json_begin_object(writer);
    kedge_json_key(writer, "from");
    kedge_json_integer(writer, asked->from);
    kedge_json_key(writer, "version");
    kedge_json_integer(writer, to);
    kedge_json_key(writer, "lineage");
    kedge_json_chars(writer, lineage);
    kedge_json_key(writer, "lmid");
    kedge_json_integer(writer, lmid);
    for (int i = 0; i < 3; i++) {
        kedge_json_key(writer, names[i]);
        kedge_json_boolean(writer, values[i]);
    }
    int64_t high = lmid < asked->highest ? lmid : asked->highest;
    naive_write_outcomes(writer, server, asked->client, asked->lowest,
                         snapshot ? high : asked->lowest - 1);
    if (snapshot) {
        naive_write_pair(writer, "snapshot", "version", to, lineage);
    } else {
        kedge_json_key(writer, "snapshot");
        kedge_json_null(writer);
    }
    write_log(writer, server, asked, snapshot ? to : asked->from, to);
    kedge_json_end_object(writer);
}

void naive_log_pull(naive_server *server, const naive_pull *asked, kedge_buffer *response)
{
    bool whole = asked->first || asked->lost;
    bool snapshot = whole && server->snapshot > 0;
    int64_t to = snapshot ? server->snapshot : end_of(server, asked->from);
    kedge_json_writer writer = kedge_json_write(response);
    kedge_json_begin_object(&writer);
    naive_write_pair(&writer, "cookie", "order", to, server->lineages[to]);
    kedge_json_key(&writer, "lastMutationIDChanges");
    kedge_json_begin_object(&writer);
    kedge_json_end_object(&writer);
    kedge_json_key(&writer, "patch");
    kedge_json_begin_array(&writer);
    kedge_json_end_array(&writer);
    write_native(&writer, server, asked, snapshot, to);
    kedge_json_end_object(&writer);
}
