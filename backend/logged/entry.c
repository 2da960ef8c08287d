/* See entry.h. */
#include "backend/logged/entry.h"

#include "backend/log/layout.h"
#include "backend/logged/logged.h"
#include "common/assert.h"
#include "common/error.h"
#include "wire/replay.h"

#include <string.h>

/* ---- writing ---- */

static kedge_wire_replay_decision decision_of(const kedge_version_mutation *mutation)
{
    switch (mutation->outcome) {
    case KEDGE_MUTATION_REJECTED:
        return KEDGE_WIRE_REPLAY_REJECTED;
    case KEDGE_MUTATION_DUPLICATE:
        return mutation->code.size > 0 ? KEDGE_WIRE_REPLAY_DUPLICATE_REJECTED
                                       : KEDGE_WIRE_REPLAY_DUPLICATE;
    case KEDGE_MUTATION_APPLIED:
        break;
    }
    return KEDGE_WIRE_REPLAY_OPEN;
}

kedge_wire_replay_mutation kedge_logged_mutation(const kedge_version_mutation *mutation)
{
    kedge_wire_replay_mutation out = {.client = mutation->client,
                                      .id = mutation->id,
                                      .name = mutation->name,
                                      .mutator = mutation->mutator,
                                      .args = mutation->args,
                                      .timestamp_ms = mutation->timestamp_ms,
                                      .user = mutation->user,
                                      .role = mutation->role,
                                      .uid = mutation->uid,
                                      .origin_client = mutation->origin_client,
                                      .origin_id = mutation->origin_id,
                                      .decision = decision_of(mutation),
                                      .code = mutation->code,
                                      .message = mutation->message};
    memcpy(out.digest, mutation->digest, sizeof out.digest);
    return out;
}

static void write_run(kedge_json_writer *writer, const kedge_run *run, int64_t version)
{
    kedge_json_begin_array(writer);
    kedge_json_text(writer, run->client);
    kedge_json_text(writer, run->group);
    kedge_json_text(writer, run->user);
    kedge_json_integer(writer, version);
    kedge_json_integer(writer, run->first);
    kedge_json_integer(writer, run->last);
    kedge_json_integer(writer, run->retired ? 1 : 0);
    kedge_json_end_array(writer);
}

static void write_runs(kedge_json_writer *writer, const char *name, const kedge_run *runs,
                       size_t count, bool own)
{
    kedge_json_key(writer, name);
    kedge_json_begin_array(writer);
    for (size_t i = 0; i < count; i++)
        write_run(writer, &runs[i], own ? 0 : runs[i].version);
    kedge_json_end_array(writer);
}

void kedge_logged_entry_write(const kedge_version *version, kedge_buffer *out)
{
    kedge_json_writer writer = kedge_json_write(out);
    KEDGE_ASSERT(version->recent_count >= version->run_count);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "created");
    kedge_json_integer(&writer, version->created_ms);
    kedge_json_key(&writer, "indexed_through");
    kedge_json_integer(&writer, version->indexed_through);
    kedge_json_key(&writer, "mutations");
    kedge_json_begin_array(&writer);
    for (size_t i = 0; i < version->mutation_count; i++) {
        kedge_wire_replay_mutation mutation = kedge_logged_mutation(&version->mutations[i]);
        kedge_wire_replay_mutation_write(&writer, &mutation, true);
    }
    kedge_json_end_array(&writer);
    write_runs(&writer, "recent", version->recent, version->recent_count - version->run_count,
               false);
    if (version->retired.size > 0) {
        kedge_json_key(&writer, "retired");
        kedge_json_text(&writer, version->retired);
    }
    write_runs(&writer, "runs", version->runs, version->run_count, true);
    kedge_json_end_object(&writer);
}

/* ---- reading ---- */

/* The error of a read that copies into the arena: no memory, or damage. */
static kedge_status damaged(const kedge_log *log, const kedge_log_entry *entry,
                            const kedge_arena *arena, const char *what, kedge_error *error)
{
    kedge_status status = kedge_arena_status(arena, error);
    if (status != KEDGE_OK) return status;
    return kedge_log_corrupt(log, entry->at.segment, entry->at.num, error, "%s", what);
}

static bool read_text(kedge_bytes value, kedge_arena *arena, kedge_bytes *out)
{
    char chars[KEDGE_USER_BYTES_MAX + 1];
    return kedge_json_to_chars(value, chars, sizeof chars) &&
           kedge_arena_copy(arena, kedge_bytes_of(chars), out);
}

static bool read_run(kedge_bytes array, kedge_arena *arena, kedge_run *run)
{
    kedge_json_iterator iterator = kedge_json_iterate(array);
    kedge_bytes value[7];
    int64_t retired = 0;
    for (size_t i = 0; i < 7; i++) {
        if (!kedge_json_next_element(&iterator, &value[i])) return false;
    }
    bool fine =
        read_text(value[0], arena, &run->client) && read_text(value[1], arena, &run->group) &&
        read_text(value[2], arena, &run->user) && kedge_json_to_integer(value[3], &run->version) &&
        kedge_json_to_integer(value[4], &run->first) &&
        kedge_json_to_integer(value[5], &run->last) && kedge_json_to_integer(value[6], &retired);
    run->retired = retired != 0;
    return fine;
}

static size_t count_elements(kedge_bytes array)
{
    kedge_json_iterator iterator = kedge_json_iterate(array);
    kedge_bytes element;
    size_t count = 0;
    while (kedge_json_next_element(&iterator, &element))
        count++;
    return count;
}

/* `spare`: places after the runs. False: no memory, or the member is damaged. */
static bool read_runs(kedge_bytes body, const char *name, size_t spare, kedge_arena *arena,
                      kedge_run **runs, size_t *count)
{
    kedge_bytes array;
    kedge_bytes element;
    if (!kedge_json_member(body, name, &array)) return false;
    *count = count_elements(array);
    *runs = kedge_arena_take_array(arena, *count + spare, sizeof **runs);
    if (*runs == NULL) return false;
    kedge_json_iterator iterator = kedge_json_iterate(array);
    for (size_t i = 0; kedge_json_next_element(&iterator, &element); i++) {
        if (!read_run(element, arena, &(*runs)[i])) return false;
    }
    return true;
}

static void take_mutation(const kedge_wire_replay_mutation *read, kedge_version_mutation *out)
{
    static const kedge_mutation_outcome outcomes[] = {
        [KEDGE_WIRE_REPLAY_OPEN] = KEDGE_MUTATION_APPLIED,
        [KEDGE_WIRE_REPLAY_REJECTED] = KEDGE_MUTATION_REJECTED,
        [KEDGE_WIRE_REPLAY_DUPLICATE] = KEDGE_MUTATION_DUPLICATE,
        [KEDGE_WIRE_REPLAY_DUPLICATE_REJECTED] = KEDGE_MUTATION_DUPLICATE};
    *out = (kedge_version_mutation){.client = read->client,
                                    .id = read->id,
                                    .name = read->name,
                                    .args = read->args,
                                    .timestamp_ms = read->timestamp_ms,
                                    .user = read->user,
                                    .uid = read->uid,
                                    .origin_client = read->origin_client,
                                    .origin_id = read->origin_id,
                                    .outcome = outcomes[read->decision],
                                    .code = read->code,
                                    .message = read->message,
                                    .role = read->role,
                                    .mutator = read->mutator};
    memcpy(out->digest, read->digest, sizeof out->digest);
}

static kedge_status read_mutations(kedge_bytes body, kedge_arena *arena, kedge_version *version,
                                   kedge_error *error)
{
    kedge_bytes array;
    kedge_bytes object;
    if (!kedge_json_member(body, "mutations", &array)) return KEDGE_PROTOCOL;
    size_t count = count_elements(array);
    version->mutations = kedge_arena_take_array(arena, count, sizeof *version->mutations);
    if (version->mutations == NULL) return kedge_fail_no_memory(error);
    kedge_json_iterator iterator = kedge_json_iterate(array);
    for (size_t i = 0; kedge_json_next_element(&iterator, &object); i++) {
        kedge_wire_replay_mutation read;
        kedge_status status = kedge_wire_replay_mutation_read(object, i, arena, &read, error);
        if (status != KEDGE_OK) return status;
        take_mutation(&read, &version->mutations[i]);
    }
    version->mutation_count = count;
    return KEDGE_OK;
}

/* Behind the runs of earlier entries stand the entry's own. */
static bool add_own_runs(kedge_version *version)
{
    for (size_t i = 0; i < version->run_count; i++) {
        version->runs[i].version = version->number;
        version->recent[version->recent_count++] = version->runs[i];
    }
    return version->recent_count <= KEDGE_RECENT_RUNS_MAX + version->run_count;
}

static kedge_status read_body(const kedge_log *log, const kedge_log_entry *entry, kedge_bytes text,
                              kedge_version_object *object, kedge_error *error)
{
    kedge_version *version = &object->version;
    kedge_arena *arena = &object->arena;
    kedge_bytes body;
    kedge_bytes retired;
    if (!kedge_arena_copy(arena, text, &body)) return kedge_fail_no_memory(error);
    kedge_error why = {0};
    kedge_status status = read_mutations(body, arena, version, &why);
    if (status == KEDGE_NO_MEMORY) return kedge_fail_no_memory(error);
    if (status != KEDGE_OK) return damaged(log, entry, arena, why.message, error);
    bool fine = kedge_json_member_integer(body, "created", &version->created_ms) &&
                kedge_json_member_integer(body, "indexed_through", &version->indexed_through) &&
                read_runs(body, "runs", 0, arena, &version->runs, &version->run_count) &&
                read_runs(body, "recent", version->run_count, arena, &version->recent,
                          &version->recent_count) &&
                add_own_runs(version);
    if (fine && kedge_json_member(body, "retired", &retired))
        fine = read_text(retired, arena, &version->retired);
    return fine ? KEDGE_OK : damaged(log, entry, arena, "the body is no run of mutations", error);
}

static kedge_status check_type(const kedge_log *log, const kedge_log_entry *entry,
                               kedge_error *error)
{
    if (kedge_bytes_equal_text(entry->type, KEDGE_LOGGED_TYPE) &&
        entry->version == KEDGE_LOGGED_ENTRY_VERSION)
        return KEDGE_OK;
    return kedge_fail(error, KEDGE_UNSUPPORTED, "log-type-unknown",
                      "the log %.*s has at segment %lld, entry %lld, version %lld of the type "
                      "%.*s, which this server does not know",
                      (int)log->name.size, log->name.data, (long long)entry->at.segment,
                      (long long)entry->at.num, (long long)entry->version, (int)entry->type.size,
                      entry->type.data);
}

kedge_status kedge_logged_entry_read(const kedge_log *log, const kedge_log_entry *entry,
                                     kedge_version_object **object, size_t *bytes,
                                     kedge_error *error)
{
    kedge_version_object *made = kedge_version_object_new(log->project->allocator);
    if (made == NULL) return kedge_fail_no_memory(error);
    kedge_status status = KEDGE_OK;
    kedge_buffer body = kedge_buffer_make(log->project->allocator);
    made->version.number = entry->at.number;
    made->version.created_ms = entry->created_s * 1000;
    kedge_hex_encode(entry->id, sizeof entry->id, made->version.lineage);
    if (!kedge_log_entry_is_system(entry)) {
        status = check_type(log, entry, error);
        if (status == KEDGE_OK) status = kedge_log_read_body(log, entry, &body, error);
        if (status == KEDGE_OK)
            status = read_body(log, entry, kedge_buffer_bytes(&body), made, error);
    }
    *bytes = body.size;
    kedge_buffer_free(&body);
    if (status != KEDGE_OK) {
        kedge_version_release(&made->version);
        return status;
    }
    *object = made;
    return KEDGE_OK;
}
