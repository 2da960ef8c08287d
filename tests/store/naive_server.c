/* A server in a few naive structures. */
#include "tests/store/naive_server.h"

#include "common/json.h"
#include "tests/store/naive_log.h"
#include "wire/key.h"
#include "wire/page.h"
#include "wire/pull.h"
#include "wire/retire.h"

#include <kedge/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The server has no faults: what is not as it must be is a wrong test. */
static void must(bool holds)
{
    if (!holds) abort();
}

static const kedge_allocator *const memory = &kedge_allocator_default;

naive_server *naive_server_new(const kedge_environment *environment, const kedge_registry *registry)
{
    naive_server *server = calloc(1, sizeof *server);
    server->environment = environment;
    server->registry = registry;
    server->page_items = 3;
    server->entries_max = UINT32_MAX;
    server->states[0] = strdup("{}");
    kedge_random_hex(environment, 16, server->lineages[0]);
    return server;
}

void naive_server_free(naive_server *server)
{
    for (int64_t version = 0; version <= server->version; version++)
        free(server->states[version]);
    for (int64_t version = 0; version <= server->version; version++)
        free(server->entries[version]);
    free(server->outcomes);
    free(server);
}

kedge_overlay *naive_load(const char *state)
{
    kedge_overlay *overlay = kedge_overlay_new(memory);
    kedge_bytes key;
    kedge_bytes value;
    kedge_bytes collection;
    kedge_bytes id;
    kedge_json_iterator each = kedge_json_iterate(kedge_bytes_of(state));
    while (kedge_json_next_member(&each, &key, &value)) {
        kedge_buffer text = kedge_buffer_make(memory);
        bool read = kedge_json_to_text(key, &text);
        must(read);
        kedge_wire_key_split(kedge_buffer_bytes(&text), &collection, &id);
        kedge_overlay_put(overlay, collection, id, value, NULL);
        kedge_buffer_free(&text);
    }
    return overlay;
}

static char *save(const kedge_overlay *overlay)
{
    kedge_buffer text = kedge_buffer_make(memory);
    kedge_buffer canonical = kedge_buffer_make(memory);
    kedge_json_writer writer = kedge_json_write(&text);
    kedge_overlay_entry entry;
    kedge_overlay_entry at;
    kedge_json_begin_object(&writer);
    for (bool more = kedge_overlay_next(overlay, NULL, &entry); more;
         more = kedge_overlay_next(overlay, &at, &entry)) {
        at = entry;
        if (entry.deleted) continue;
        kedge_buffer key = kedge_buffer_make(memory);
        kedge_wire_key_join(entry.collection, entry.id, &key);
        kedge_json_key_bytes(&writer, kedge_buffer_bytes(&key));
        kedge_json_raw(&writer, entry.value);
        kedge_buffer_free(&key);
    }
    kedge_json_end_object(&writer);
    kedge_status status = kedge_json_canonical(kedge_buffer_bytes(&text), &canonical, NULL);
    must(status == KEDGE_OK);
    char *out = strdup(canonical.data);
    kedge_buffer_free(&text);
    kedge_buffer_free(&canonical);
    return out;
}

/* ---- deciding ---- */

const naive_outcome *naive_server_outcome(const naive_server *server, const char *client,
                                          int64_t id)
{
    for (size_t i = 0; i < server->outcome_count; i++) {
        if (server->outcomes[i].id == id && strcmp(server->outcomes[i].client, client) == 0)
            return &server->outcomes[i];
    }
    return NULL;
}

int64_t naive_server_lmid(const naive_server *server, const char *client, int64_t version)
{
    int64_t lmid = 0;
    for (size_t i = 0; i < server->outcome_count; i++) {
        const naive_outcome *outcome = &server->outcomes[i];
        if (strcmp(outcome->client, client) == 0 && outcome->version <= version &&
            outcome->id > lmid)
            lmid = outcome->id;
    }
    return lmid;
}

bool naive_is_retired(const naive_server *server, const char *client)
{
    for (size_t i = 0; i < server->retired_count; i++)
        if (strcmp(server->retired[i], client) == 0) return true;
    return false;
}

static const naive_outcome *origin_of(const naive_server *server, const naive_outcome *asked)
{
    bool renumbered = asked->origin_client[0] != '\0';
    /* One that was not renumbered may have been by a twin, before a restore forgot that its client
     * is retired. */
    const char *client = renumbered ? asked->origin_client : asked->client;
    int64_t id = renumbered ? asked->origin_id : asked->id;
    for (size_t i = 0; i < server->outcome_count; i++) {
        const naive_outcome *outcome = &server->outcomes[i];
        bool itself = outcome->id == id && strcmp(outcome->client, client) == 0;
        bool origin = outcome->origin_id == id && strcmp(outcome->origin_client, client) == 0;
        if ((itself || origin) && strcmp(outcome->digest, asked->digest) == 0) return outcome;
    }
    return NULL;
}

static void digest_of(kedge_bytes name, kedge_bytes args, const char *uid, char *hex)
{
    kedge_buffer text = kedge_buffer_make(memory);
    kedge_buffer canonical = kedge_buffer_make(memory);
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_json_writer writer = kedge_json_write(&text);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "name");
    kedge_json_text(&writer, name);
    kedge_json_key(&writer, "uid");
    kedge_json_chars(&writer, uid);
    kedge_json_key(&writer, "args");
    kedge_json_raw(&writer, args);
    kedge_json_end_object(&writer);
    kedge_json_canonical(kedge_buffer_bytes(&text), &canonical, NULL);
    kedge_sha256(kedge_buffer_bytes(&canonical), hash);
    kedge_hex_encode(hash, KEDGE_DIGEST_SIZE, hex);
    kedge_buffer_free(&text);
    kedge_buffer_free(&canonical);
}

static void keep(naive_server *server, const naive_outcome *outcome)
{
    if (server->outcome_count == server->outcome_capacity) {
        server->outcome_capacity = server->outcome_capacity * 2 + 64;
        server->outcomes =
            realloc(server->outcomes, server->outcome_capacity * sizeof *server->outcomes);
    }
    server->outcomes[server->outcome_count++] = *outcome;
}

static void decide(naive_server *server, kedge_tx *tx, kedge_bytes mutation, naive_outcome *outcome)
{
    kedge_bytes args = KEDGE_BYTES("null");
    kedge_error error = {0};
    char name[65] = "";
    int64_t timestamp = 0;
    kedge_json_member_chars(mutation, "name", name, sizeof name);
    kedge_json_member(mutation, "args", &args);
    kedge_json_member_integer(mutation, "timestamp", &timestamp);
    outcome->version = outcome->first_version = server->version + 1;
    snprintf(outcome->decision, sizeof outcome->decision, "applied");
    const naive_outcome *first = origin_of(server, outcome);
    if (first) {
        snprintf(outcome->decision, sizeof outcome->decision, "duplicate");
        memcpy(outcome->code, first->code, sizeof outcome->code);
        memcpy(outcome->message, first->message, sizeof outcome->message);
        outcome->first_version = first->first_version;
        return;
    }
    kedge_call call = {
        .name = kedge_bytes_of(name), .args = args, .caller = {"", "", outcome->client, timestamp}};
    kedge_status status = kedge_tx_run(tx, &call, &error);
    must(status == KEDGE_OK || status == KEDGE_REJECTED);
    if (status == KEDGE_OK) return;
    snprintf(outcome->decision, sizeof outcome->decision, "rejected");
    memcpy(outcome->code, error.code, sizeof outcome->code);
    memcpy(outcome->message, error.message, sizeof outcome->message);
}

static void read_mutation(kedge_bytes mutation, naive_outcome *outcome)
{
    char uid[64] = "";
    char name[65] = "";
    kedge_bytes args = KEDGE_BYTES("null");
    kedge_bytes origin;
    *outcome = (naive_outcome){0};
    kedge_json_member_chars(mutation, "clientID", outcome->client, sizeof outcome->client);
    kedge_json_member_integer(mutation, "id", &outcome->id);
    kedge_json_member_chars(mutation, "name", name, sizeof name);
    kedge_json_member_chars(mutation, "uid", uid, sizeof uid);
    kedge_json_member(mutation, "args", &args);
    digest_of(kedge_bytes_of(name), args, uid, outcome->digest);
    if (!kedge_json_member(mutation, "origin", &origin)) return;
    kedge_json_member_chars(origin, "client", outcome->origin_client,
                            sizeof outcome->origin_client);
    kedge_json_member_integer(origin, "id", &outcome->origin_id);
}

static naive_response check(const naive_server *server, const naive_outcome *asked, int64_t lmid,
                            bool *skip)
{
    const naive_outcome *decided = naive_server_outcome(server, asked->client, asked->id);
    *skip = false;
    if (naive_is_retired(server, asked->client)) return NAIVE_RETIRED;
    if (decided && strcmp(decided->digest, asked->digest) != 0) return NAIVE_MISMATCH;
    if (lmid == 0 && asked->id > 1) return NAIVE_UNKNOWN;
    if (asked->id > lmid + 1) return NAIVE_GAP;
    *skip = asked->id <= lmid;
    return NAIVE_OK;
}

static void new_version(naive_server *server, char *state)
{
    must(server->version + 1 < NAIVE_VERSIONS);
    server->version++;
    server->states[server->version] = state;
    kedge_random_hex(server->environment, 16, server->lineages[server->version]);
    naive_log_close_entry(server);
}

naive_response naive_server_push(naive_server *server, kedge_bytes body)
{
    kedge_bytes mutations;
    kedge_bytes mutation;
    kedge_tx *tx = NULL;
    naive_response response = NAIVE_OK;
    bool any = false;
    must(kedge_json_check(body, KEDGE_LIMIT_JSON_DEPTH, &kedge_allocator_default, NULL) ==
         KEDGE_OK);
    bool found = kedge_json_member(body, "mutations", &mutations);
    must(found);
    kedge_overlay *state = naive_load(server->states[server->version]);
    kedge_tx_new(memory, server->registry, state, kedge_state_reader_empty, &tx, NULL);
    kedge_json_iterator each = kedge_json_iterate(mutations);
    while (response == NAIVE_OK && kedge_json_next_element(&each, &mutation)) {
        naive_outcome outcome;
        bool skip;
        read_mutation(mutation, &outcome);
        int64_t lmid = naive_server_lmid(server, outcome.client, INT64_MAX);
        response = check(server, &outcome, lmid, &skip);
        if (response != NAIVE_OK || skip) continue;
        decide(server, tx, mutation, &outcome);
        naive_log_append(server, mutation, &outcome);
        keep(server, &outcome);
        any = true;
    }
    if (any) new_version(server, save(state));
    kedge_tx_free(tx);
    kedge_overlay_free(state);
    return response;
}

/* The edit as a mutation of the client "somebody". */
static void append_edit(naive_server *server, const char *name, const char *args)
{
    char text[1024];
    naive_outcome outcome = {.client = "somebody", .id = ++server->edits};
    digest_of(kedge_bytes_of(name), kedge_bytes_of(args), "", outcome.digest);
    int size =
        snprintf(text, sizeof text, "{\"name\":\"%s\",\"args\":%s,\"timestamp\":1}", name, args);
    naive_log_append(server, (kedge_bytes){text, (size_t)size}, &outcome);
}

void naive_server_edit(naive_server *server, const char *name, const char *args)
{
    kedge_tx *tx = NULL;
    kedge_overlay *state = naive_load(server->states[server->version]);
    kedge_call call = {.name = kedge_bytes_of(name),
                       .args = kedge_bytes_of(args),
                       .caller = {"", "", "somebody", 1}};
    kedge_tx_new(memory, server->registry, state, kedge_state_reader_empty, &tx, NULL);
    kedge_status status = kedge_tx_run(tx, &call, NULL);
    must(status == KEDGE_OK);
    append_edit(server, name, args);
    new_version(server, save(state));
    kedge_tx_free(tx);
    kedge_overlay_free(state);
}

void naive_server_restore(naive_server *server, int64_t version)
{
    size_t kept = 0;
    for (int64_t later = version + 1; later <= server->version; later++)
        free(server->states[later]);
    for (int64_t later = version + 1; later <= server->version; later++) {
        free(server->entries[later]);
        server->entries[later] = NULL;
    }
    if (server->snapshot > version) server->snapshot = 0;
    for (size_t i = 0; i < server->outcome_count; i++)
        if (server->outcomes[i].version <= version) server->outcomes[kept++] = server->outcomes[i];
    server->outcome_count = kept;
    server->retired_count = 0;
    server->version = version;
}

/* ---- responding ---- */

void naive_write_outcomes(kedge_json_writer *writer, const naive_server *server, const char *client,
                          int64_t low, int64_t high)
{
    kedge_json_key(writer, "outcomes");
    kedge_json_begin_array(writer);
    for (int64_t id = low; id <= high; id++) {
        const naive_outcome *outcome = naive_server_outcome(server, client, id);
        if (!outcome || (server->log && !naive_log_knows(server, outcome, outcome->version)))
            continue;
        kedge_json_begin_object(writer);
        kedge_json_key(writer, "id");
        kedge_json_integer(writer, id);
        kedge_json_key(writer, "digest");
        kedge_json_chars(writer, outcome->digest);
        kedge_json_key(writer, "version");
        kedge_json_integer(writer, outcome->version);
        kedge_json_key(writer, "outcome");
        kedge_json_chars(writer, outcome->decision);
        if (outcome->code[0] != '\0') {
            kedge_json_key(writer, "code");
            kedge_json_chars(writer, outcome->code);
            kedge_json_key(writer, "message");
            kedge_json_chars(writer, outcome->message);
        }
        kedge_json_end_object(writer);
    }
    kedge_json_end_array(writer);
    kedge_json_key(writer, "outcomes_next");
    kedge_json_null(writer);
}

static void write_put(kedge_json_writer *writer, kedge_bytes key, kedge_bytes value, bool op)
{
    kedge_json_begin_object(writer);
    if (op) {
        kedge_json_key(writer, "op");
        kedge_json_chars(writer, "put");
    }
    kedge_json_key(writer, "key");
    kedge_json_raw(writer, key);
    kedge_json_key(writer, "value");
    kedge_json_raw(writer, value);
    kedge_json_end_object(writer);
}

static bool value_in(const char *state, kedge_bytes key, kedge_bytes *value)
{
    kedge_bytes name;
    kedge_json_iterator each = kedge_json_iterate(kedge_bytes_of(state));
    while (kedge_json_next_member(&each, &name, value))
        if (kedge_bytes_equal(name, key)) return true;
    return false;
}

static void write_delta(kedge_json_writer *writer, const char *from, const char *to)
{
    kedge_bytes key;
    kedge_bytes value;
    kedge_bytes other;
    kedge_json_iterator each = kedge_json_iterate(kedge_bytes_of(to));
    while (kedge_json_next_member(&each, &key, &value)) {
        if (!value_in(from, key, &other) || !kedge_bytes_equal(value, other))
            write_put(writer, key, value, true);
    }
    each = kedge_json_iterate(kedge_bytes_of(from));
    while (kedge_json_next_member(&each, &key, &value)) {
        if (value_in(to, key, &other)) continue;
        kedge_json_begin_object(writer);
        kedge_json_key(writer, "op");
        kedge_json_chars(writer, "del");
        kedge_json_key(writer, "key");
        kedge_json_raw(writer, key);
        kedge_json_end_object(writer);
    }
}

static bool is_lost(const naive_server *server, int64_t version, const char *lineage)
{
    return version > server->version || strcmp(server->lineages[version], lineage) != 0;
}

static naive_pull read_pull(const naive_server *server, kedge_bytes body)
{
    naive_pull asked = {.first = true};
    kedge_bytes native;
    kedge_bytes cookie;
    must(kedge_json_check(body, KEDGE_LIMIT_JSON_DEPTH, &kedge_allocator_default, NULL) ==
         KEDGE_OK);
    if (!kedge_json_member(body, "kedge", &native)) abort();
    kedge_json_member_chars(native, "client", asked.client, sizeof asked.client);
    kedge_json_member_integer(native, "lowest_pending", &asked.lowest);
    kedge_json_member_integer(native, "highest_id", &asked.highest);
    if (kedge_json_member(body, "cookie", &cookie) &&
        kedge_json_type_of(cookie) == KEDGE_JSON_OBJECT) {
        asked.first = false;
        kedge_json_member_integer(cookie, "order", &asked.from);
        kedge_json_member_chars(cookie, "lineage", asked.lineage, sizeof asked.lineage);
        asked.lost = is_lost(server, asked.from, asked.lineage);
    }
    kedge_bytes seen;
    if (server->reads_seen && kedge_json_member(native, "seen", &seen)) {
        int64_t version = 0;
        char lineage[33];
        kedge_json_member_integer(seen, "order", &version);
        kedge_json_member_chars(seen, "lineage", lineage, sizeof lineage);
        asked.lost = asked.lost || is_lost(server, version, lineage);
    }
    if (asked.lost) asked.from = 0;
    return asked;
}

void naive_write_pair(kedge_json_writer *writer, const char *name, const char *order,
                      int64_t version, const char *lineage)
{
    kedge_json_key(writer, name);
    kedge_json_begin_object(writer);
    kedge_json_key(writer, order);
    kedge_json_integer(writer, version);
    kedge_json_key(writer, "lineage");
    kedge_json_chars(writer, lineage);
    kedge_json_end_object(writer);
}

static void write_native(kedge_json_writer *writer, const naive_server *server,
                         const naive_pull *asked)
{
    int64_t lmid = naive_server_lmid(server, asked->client, server->version);
    const char *names[] = {"retired", "known", "lost"};
    bool values[] = {naive_is_retired(server, asked->client),
                     lmid > 0 || naive_is_retired(server, asked->client), asked->lost};
    kedge_json_key(writer, "kedge");
    kedge_json_begin_object(writer);
    kedge_json_key(writer, "from");
    kedge_json_integer(writer, asked->from);
    kedge_json_key(writer, "version");
    kedge_json_integer(writer, server->version);
    kedge_json_key(writer, "lineage");
    kedge_json_chars(writer, server->lineages[server->version]);
    kedge_json_key(writer, "lmid");
    kedge_json_integer(writer, lmid);
    for (int i = 0; i < 3; i++) {
        kedge_json_key(writer, names[i]);
        kedge_json_boolean(writer, values[i]);
    }
    naive_write_outcomes(writer, server, asked->client, asked->lowest,
                         lmid < asked->highest ? lmid : asked->highest);
    if ((asked->first || asked->lost) && server->paged) {
        naive_write_pair(writer, "snapshot", "version", server->version,
                         server->lineages[server->version]);
    } else {
        kedge_json_key(writer, "snapshot");
        kedge_json_null(writer);
    }
    kedge_json_end_object(writer);
}

void naive_server_pull(naive_server *server, kedge_bytes body, kedge_buffer *response)
{
    naive_pull asked = read_pull(server, body);
    bool whole = asked.first || asked.lost;
    kedge_buffer_clear(response);
    if (server->log) {
        naive_log_pull(server, &asked, response);
        return;
    }
    kedge_json_writer writer = kedge_json_write(response);
    kedge_json_begin_object(&writer);
    naive_write_pair(&writer, "cookie", "order", server->version,
                     server->lineages[server->version]);
    kedge_json_key(&writer, "lastMutationIDChanges");
    kedge_json_begin_object(&writer);
    kedge_json_end_object(&writer);
    kedge_json_key(&writer, "patch");
    kedge_json_begin_array(&writer);
    if (whole && !server->paged) {
        kedge_json_begin_object(&writer);
        kedge_json_key(&writer, "op");
        kedge_json_chars(&writer, "clear");
        kedge_json_end_object(&writer);
        write_delta(&writer, "{}", server->states[server->version]);
    } else if (!whole) {
        write_delta(&writer, server->states[asked.from], server->states[server->version]);
    }
    kedge_json_end_array(&writer);
    write_native(&writer, server, &asked);
    kedge_json_end_object(&writer);
}

void naive_server_page(naive_server *server, int64_t version, kedge_bytes after,
                       kedge_buffer *response)
{
    kedge_bytes key;
    kedge_bytes value;
    kedge_bytes last = {"\"\"", 2};
    uint32_t count = 0;
    bool more = false;
    kedge_buffer text = kedge_buffer_make(memory);
    kedge_buffer_clear(response);
    kedge_json_writer writer = kedge_json_write(response);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "version");
    kedge_json_integer(&writer, version);
    kedge_json_key(&writer, "lineage");
    kedge_json_chars(&writer, server->lineages[version]);
    kedge_json_key(&writer, "items");
    kedge_json_begin_array(&writer);
    kedge_json_iterator each = kedge_json_iterate(kedge_bytes_of(server->states[version]));
    while (kedge_json_next_member(&each, &key, &value)) {
        kedge_buffer_clear(&text);
        kedge_json_to_text(key, &text);
        if (kedge_bytes_compare(kedge_buffer_bytes(&text), after) <= 0) continue;
        more = count == server->page_items;
        if (more) break;
        write_put(&writer, key, value, false);
        last = key;
        count++;
    }
    kedge_json_end_array(&writer);
    kedge_json_key(&writer, "next");
    if (more)
        kedge_json_raw(&writer, last);
    else
        kedge_json_null(&writer);
    kedge_json_end_object(&writer);
    kedge_buffer_free(&text);
}

void naive_server_retire(naive_server *server, const char *client, int64_t lowest,
                         kedge_buffer *response)
{
    if (!naive_is_retired(server, client)) {
        must(server->retired_count < 64);
        snprintf(server->retired[server->retired_count++], 64, "%s", client);
        new_version(server, strdup(server->states[server->version]));
    }
    int64_t lmid = naive_server_lmid(server, client, server->version);
    kedge_buffer_clear(response);
    kedge_json_writer writer = kedge_json_write(response);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "version");
    kedge_json_integer(&writer, server->version);
    kedge_json_key(&writer, "lineage");
    kedge_json_chars(&writer, server->lineages[server->version]);
    kedge_json_key(&writer, "lmid");
    kedge_json_integer(&writer, lmid);
    naive_write_outcomes(&writer, server, client, lowest, lmid);
    kedge_json_end_object(&writer);
}
