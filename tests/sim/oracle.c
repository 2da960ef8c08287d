/* Noting versions, and looking into what was noted. */
#include "tests/sim/oracle.h"

#include "backend/logged/logged.h"
#include "backend/ports/records_support.h"
#include "backend/versioned/model/layout.h"
#include "common/error.h"
#include "common/gzip.h"
#include "tests/sim/files.h"
#include "tests/sim/sim.h"
#include "wire/key.h"

#include <stdlib.h>
#include <string.h>

static const kedge_project_ref ref = {{SIM_ORGANIZATION, sizeof SIM_ORGANIZATION - 1},
                                      {SIM_PROJECT, sizeof SIM_PROJECT - 1}};

/* ---- ports that only read, the truth as it is ---- */

static kedge_status truth_get(void *self, const kedge_record_key *key, bool consistent,
                              kedge_record_set *set, kedge_error *error)
{
    const kedge_records *records = &((sim_world *)self)->server.records;
    return records->vtable->get(records->self, key, consistent, set, error);
}

static kedge_status truth_batch_get(void *self, const kedge_record_key *keys, size_t count,
                                    bool consistent, kedge_record_set *set, kedge_error *error)
{
    const kedge_records *records = &((sim_world *)self)->server.records;
    return records->vtable->batch_get(records->self, keys, count, consistent, set, error);
}

static kedge_status truth_query(void *self, const kedge_records_query *query, kedge_record_set *set,
                                kedge_error *error)
{
    const kedge_records *records = &((sim_world *)self)->server.records;
    return records->vtable->query(records->self, query, set, error);
}

static kedge_status truth_write(void *self, const kedge_record_write *write, kedge_error *error)
{
    (void)self;
    (void)write;
    return kedge_fail(error, KEDGE_UNAVAILABLE, "read-only", "the oracle only reads");
}

static kedge_status truth_transact(void *self, const kedge_record_write *writes, size_t count,
                                   kedge_error *error)
{
    (void)count;
    return truth_write(self, writes, error);
}

static void truth_close(void *self)
{
    (void)self;
}

static const kedge_records_vtable truth = {.get = truth_get,
                                           .batch_get = truth_batch_get,
                                           .query = truth_query,
                                           .write = truth_write,
                                           .transact = truth_transact,
                                           .close = truth_close};

bool sim_oracle_renew_reader(sim_world *world)
{
    kedge_backend_options options = {.environment = &world->server.environment,
                                     .records = {&truth, world},
                                     .blobs = world->server.blobs,
                                     .registry = world->server.registry};
    kedge_backend_free(world->oracle.reader);
    world->oracle.reader = NULL;
    return kedge_backend_new(&options, &world->oracle.reader, NULL) == KEDGE_OK;
}

kedge_project sim_oracle_handle(sim_world *world)
{
    kedge_project project = kedge_project_of(world->oracle.reader, &ref);
    if (world->logged) project.history = &kedge_logged_history;
    return project;
}

/* ---- what is stored ---- */

uint64_t sim_oracle_fnv(uint64_t hash, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(1099511628211);
    return hash;
}

bool sim_oracle_record_hash(sim_world *world, int64_t number, uint64_t *hash)
{
    kedge_key partition = kedge_key_partition(&ref);
    kedge_key sort = kedge_key_version(number);
    kedge_record_key key = {kedge_key_bytes(&partition), kedge_key_bytes(&sort)};
    kedge_record_set set = {0};
    const kedge_records *records = &world->server.records;
    if (world->logged) return sim_oracle_entry_hash(world, number, hash);
    if (records->vtable->get(records->self, &key, true, &set, NULL) != KEDGE_OK) return false;
    kedge_buffer encoded = kedge_buffer_make(&kedge_allocator_default);
    kedge_record_encode(&set.records[0], &encoded);
    *hash = sim_oracle_fnv(SIM_ORACLE_FNV, encoded.data, encoded.size);
    kedge_buffer_free(&encoded);
    kedge_record_set_free(&set);
    return true;
}

static bool load_body(sim_world *world, kedge_bytes collection, const kedge_entry *entry,
                      sim_change *change)
{
    kedge_key key = kedge_key_body(&ref, collection, entry->hash);
    kedge_buffer stored = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    const kedge_blobs *blobs = &world->server.blobs;
    bool good =
        blobs->vtable->get(blobs->self, kedge_key_bytes(&key), &stored, NULL) == KEDGE_OK &&
        kedge_gunzip(kedge_buffer_bytes(&stored), KEDGE_LIMIT_ITEM_BYTES, &body, NULL) == KEDGE_OK;
    if (good) {
        change->value = sim_must_copy(body.data, body.size);
        change->value_size = body.size;
    }
    kedge_buffer_free(&stored);
    kedge_buffer_free(&body);
    return good;
}

/* ---- noting ---- */

static void note_decided(const kedge_version *version, sim_version *noted)
{
    noted->decided_count = version->mutation_count;
    noted->decided = sim_must_allocate((version->mutation_count + 1) * sizeof *noted->decided);
    for (size_t i = 0; i < version->mutation_count; i++) {
        const kedge_version_mutation *mutation = &version->mutations[i];
        sim_decided *decided = &noted->decided[i];
        (void)snprintf(decided->client, sizeof decided->client, "%.*s", (int)mutation->client.size,
                       mutation->client.data);
        decided->id = mutation->id;
        (void)kedge_hex_decode(mutation->uid, decided->uid, sizeof decided->uid);
        memcpy(decided->digest, mutation->digest, sizeof decided->digest);
        decided->rejected = mutation->outcome == KEDGE_MUTATION_REJECTED;
        decided->duplicate = mutation->outcome == KEDGE_MUTATION_DUPLICATE;
        decided->noop = kedge_bytes_equal_text(mutation->name, "kedge.noop");
    }
}

static void note_duplicates(sim_version *noted)
{
    /* A duplicate is what the first one was. */
    for (size_t i = 0; i < noted->decided_count; i++) {
        sim_decided *decided = &noted->decided[i];
        const sim_decided *first =
            decided->duplicate ? sim_oracle_decided_as(noted, decided->uid, decided->digest, NULL)
                               : NULL;
        if (first != NULL) decided->rejected = first->rejected;
    }
}

static void note_change(sim_world *world, const kedge_version_change *change, sim_change *noted)
{
    noted->collection = sim_must_copy(change->collection.data, change->collection.size);
    noted->id = sim_must_copy(change->entry.id.data, change->entry.id.size);
    noted->id_size = change->entry.id.size;
    if (change->deleted) return;
    memcpy(noted->hash, change->entry.hash, sizeof noted->hash);
    noted->in_blobs = change->entry.body.data == NULL;
    if (noted->in_blobs) {
        (void)load_body(world, change->collection, &change->entry, noted);
    } else {
        noted->value = sim_must_copy(change->entry.body.data, change->entry.body.size);
        noted->value_size = change->entry.body.size;
    }
}

static void note_changes(sim_world *world, const kedge_version *version, sim_version *noted)
{
    noted->changes = sim_must_allocate((version->change_count + 1) * sizeof *noted->changes);
    noted->change_count = version->change_count;
    for (size_t i = 0; i < version->change_count; i++)
        note_change(world, &version->changes[i], &noted->changes[i]);
    if (!version->project_changed) return;
    sim_change *project = &noted->changes[noted->change_count++];
    project->collection = sim_must_copy("", 0);
    project->id = sim_must_copy("", 0);
    project->value = sim_must_copy(version->project_record.data, version->project_record.size);
    project->value_size = version->project_record.size;
    kedge_sha256(version->project_record, project->hash);
}

static void fold(kedge_overlay *state, const sim_version *version)
{
    for (size_t i = 0; i < version->change_count; i++) {
        const sim_change *change = &version->changes[i];
        kedge_bytes collection = kedge_bytes_of(change->collection);
        kedge_bytes id = {change->id, change->id_size};
        if (change->value == NULL)
            kedge_overlay_forget(state, collection, id);
        else
            (void)kedge_overlay_put(state, collection, id,
                                    (kedge_bytes){change->value, change->value_size}, NULL);
    }
}

static void hash_state(const kedge_overlay *state, uint8_t hash[KEDGE_SHA256_SIZE])
{
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    sim_oracle_dump(state, &text);
    kedge_sha256(kedge_buffer_bytes(&text), hash);
    kedge_buffer_free(&text);
}

static bool note_version(sim_world *world, int64_t number)
{
    sim_oracle *oracle = &world->oracle;
    const kedge_version *version;
    kedge_project project = sim_oracle_handle(world);
    if (kedge_version_load(&project, number, &version, NULL) != KEDGE_OK) return false;
    sim_version *noted = sim_must_allocate(sizeof *noted);
    noted->number = number;
    memcpy(noted->lineage, version->lineage, sizeof noted->lineage);
    noted->parent = oracle->head;
    (void)snprintf(noted->retired, sizeof noted->retired, "%.*s", (int)version->retired.size,
                   version->retired.data);
    note_decided(version, noted);
    if (world->logged)
        sim_oracle_replay(world, version, noted);
    else
        note_changes(world, version, noted);
    note_duplicates(noted);
    kedge_version_release(version);
    (void)sim_oracle_record_hash(world, number, &noted->record_hash);
    fold(oracle->state, noted);
    hash_state(oracle->state, noted->state_hash);
    noted->all = oracle->newest;
    oracle->newest = noted;
    oracle->head = noted;
    return true;
}

void sim_oracle_catch_up(sim_world *world)
{
    sim_oracle *oracle = &world->oracle;
    uint64_t hash;
    check_i3_unchanged(world, 2);
    int64_t next = sim_server_version(world) + 1;
    for (; sim_oracle_record_hash(world, next, &hash); next++) {
        if (!note_version(world, next)) {
            sim_violate(world, SIM_I3, "version %lld is there and cannot be read", (long long)next);
            return;
        }
        const sim_version *noted = oracle->head;
        world->report->versions++;
        sim_trace(world, "version %lld %.8s: %zu mutations, %zu changes", (long long)next,
                  noted->lineage, noted->decided_count, noted->change_count);
        check_i3_versions(world, noted);
        check_i1_one_outcome(world, noted);
        check_i2_order(world, noted);
        check_i12_nothing_doubled(world, noted);
        check_i14_bodies(world, noted);
    }
}

void sim_oracle_restore(sim_world *world, const sim_version *head)
{
    sim_oracle *oracle = &world->oracle;
    (void)sim_oracle_renew_reader(world);
    oracle->head = head;
    kedge_overlay_clear(oracle->state);
    const sim_version **path = NULL;
    int64_t count = head == NULL ? 0 : head->number;
    path = sim_must_allocate(((size_t)count + 1) * sizeof *path);
    for (const sim_version *at = head; at != NULL; at = at->parent)
        path[at->number - 1] = at;
    for (int64_t i = 0; i < count; i++)
        fold(oracle->state, path[i]);
    free(path);
}

/* ---- making and ending ---- */

bool sim_oracle_open(sim_world *world)
{
    sim_oracle *oracle = &world->oracle;
    memset(oracle, 0, sizeof *oracle);
    oracle->state = kedge_overlay_new(&kedge_allocator_default);
    oracle->folded = kedge_overlay_new(&kedge_allocator_default);
    return oracle->state != NULL && oracle->folded != NULL && sim_oracle_renew_reader(world);
}

static void free_version(sim_version *version)
{
    for (size_t i = 0; i < version->change_count; i++) {
        free(version->changes[i].collection);
        free(version->changes[i].id);
        free(version->changes[i].value);
    }
    free(version->changes);
    free(version->decided);
    free(version);
}

void sim_oracle_close(sim_world *world)
{
    sim_oracle *oracle = &world->oracle;
    while (oracle->newest != NULL) {
        sim_version *next = oracle->newest->all;
        free_version(oracle->newest);
        oracle->newest = next;
    }
    kedge_overlay_free(oracle->state);
    kedge_overlay_free(oracle->folded);
    kedge_backend_free(oracle->reader);
}

/* ---- states ---- */

static kedge_status state_get(void *context, kedge_bytes collection, kedge_bytes id,
                              kedge_buffer *value, kedge_error *error)
{
    kedge_overlay_entry entry;
    (void)error;
    if (!kedge_overlay_get(context, collection, id, &entry) || entry.deleted)
        return KEDGE_NOT_FOUND;
    kedge_buffer_append_bytes(value, entry.value);
    return KEDGE_OK;
}

static kedge_status state_next(void *context, kedge_bytes collection, bool from_start,
                               kedge_bytes after, kedge_buffer *id, kedge_buffer *value,
                               kedge_error *error)
{
    kedge_overlay_entry entry;
    (void)error;
    for (bool more = kedge_overlay_next(context, NULL, &entry); more;
         more = kedge_overlay_next(context, &entry, &entry)) {
        if (entry.deleted || !kedge_bytes_equal(entry.collection, collection)) continue;
        if (!from_start && kedge_bytes_compare(entry.id, after) <= 0) continue;
        kedge_buffer_append_bytes(id, entry.id);
        kedge_buffer_append_bytes(value, entry.value);
        return KEDGE_OK;
    }
    return KEDGE_DONE;
}

kedge_state_reader sim_overlay_reader(const kedge_overlay *state)
{
    return (kedge_state_reader){(void *)(uintptr_t)state, state_get, state_next};
}

void sim_oracle_dump(const kedge_overlay *state, kedge_buffer *out)
{
    kedge_overlay_entry entry;
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer key = kedge_buffer_make(&kedge_allocator_default);
    kedge_json_writer writer = kedge_json_write(&text);
    kedge_json_begin_object(&writer);
    for (bool more = kedge_overlay_next(state, NULL, &entry); more;
         more = kedge_overlay_next(state, &entry, &entry)) {
        if (entry.deleted) continue;
        kedge_buffer_clear(&key);
        kedge_wire_key_join(entry.collection, entry.id, &key);
        kedge_json_key_bytes(&writer, kedge_buffer_bytes(&key));
        kedge_json_raw(&writer, entry.value);
    }
    kedge_json_end_object(&writer);
    (void)kedge_json_canonical(kedge_buffer_bytes(&text), out, NULL);
    kedge_buffer_free(&text);
    kedge_buffer_free(&key);
}

static void fold_path(kedge_overlay *state, const sim_version *version)
{
    size_t count = version == NULL ? 0 : (size_t)version->number;
    const sim_version **path = sim_must_allocate((count + 1) * sizeof *path);
    for (const sim_version *at = version; at != NULL; at = at->parent)
        path[at->number - 1] = at;
    for (size_t i = 0; i < count; i++)
        fold(state, path[i]);
    free(path);
}

const kedge_overlay *sim_oracle_state(sim_oracle *oracle, const sim_version *version)
{
    if (version == oracle->head) return oracle->state;
    if (version != NULL && version == oracle->folded_at) return oracle->folded;
    kedge_overlay_clear(oracle->folded);
    fold_path(oracle->folded, version);
    oracle->folded_at = version;
    return oracle->folded;
}
