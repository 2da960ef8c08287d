/* Reading the entries of a log project; see replay.h. */
#include "wire/replay.h"

#include "common/error.h"
#include "common/names.h"
#include "wire/response.h"

#include <kedge/limits.h>

enum {
    CLIENT,
    ID,
    NAME,
    MUTATOR,
    ARGS,
    ARGS_TEXT,
    TIMESTAMP,
    USER,
    ROLE,
    DIGEST,
    UID,
    ORIGIN,
    OUTCOME,
    CODE,
    MESSAGE,
    MEMBERS
};

#define TEXT_OF(number) #number
#define LIMIT_OF(limit) TEXT_OF(limit)
#define ARGS_WANTED     "an I-JSON value of at most " LIMIT_OF(KEDGE_LIMIT_ARGS_BYTES) " bytes"

/* ---- texts ---- */

/* A string, decoded into the arena. */
static kedge_status read_text(kedge_wire_place place, const kedge_wire_member *member,
                              kedge_arena *arena, kedge_bytes *out, kedge_error *error)
{
    if (kedge_json_check_string(member->value, NULL) != KEDGE_OK) {
        return kedge_wire_response_fail(place, member, "a string", error);
    }
    return kedge_json_copy_text(member->value, arena, out) ? KEDGE_OK : kedge_fail_no_memory(error);
}

static kedge_status read_client(kedge_wire_place place, const kedge_wire_member *member,
                                kedge_arena *arena, kedge_bytes *out, kedge_error *error)
{
    kedge_status status = read_text(place, member, arena, out, error);
    if (status != KEDGE_OK || kedge_check_client_id(*out, NULL) == KEDGE_OK) return status;
    return kedge_wire_response_fail(place, member, "a client id", error);
}

/* Canonical JSON; borrowed when it is that already. */
static kedge_status read_args(kedge_wire_place place, const kedge_wire_member *member,
                              kedge_arena *arena, kedge_bytes *out, kedge_error *error)
{
    kedge_buffer canonical = kedge_buffer_make(arena->allocator);
    kedge_status status =
        member->value.data == NULL
            ? KEDGE_INVALID_JSON
            : kedge_json_normalize(member->value, KEDGE_LIMIT_JSON_DEPTH, &canonical, error);
    kedge_bytes made = kedge_buffer_bytes(&canonical);
    if (status == KEDGE_OK && made.size > KEDGE_LIMIT_ARGS_BYTES) status = KEDGE_LIMIT_EXCEEDED;
    if (status == KEDGE_OK && kedge_bytes_equal(made, member->value)) {
        *out = member->value;
    } else if (status == KEDGE_OK && !kedge_arena_copy(arena, made, out)) {
        status = kedge_fail_no_memory(error);
    } else if (status != KEDGE_OK && status != KEDGE_NO_MEMORY) {
        status = kedge_wire_response_fail(place, member, ARGS_WANTED, error);
    }
    kedge_buffer_free(&canonical);
    return status;
}

/* ---- one mutation ---- */

static kedge_status read_origin(kedge_wire_place place, const kedge_wire_member *member,
                                kedge_arena *arena, kedge_wire_replay_mutation *out,
                                kedge_error *error)
{
    if (member->value.data == NULL) return KEDGE_OK;
    kedge_wire_member pair[2] = {{.name = "client"}, {.name = "id"}};
    kedge_status status = kedge_wire_response_members(place, member->value, pair, 2, error);
    if (status == KEDGE_OK)
        status = read_client(place, &pair[0], arena, &out->origin_client, error);
    if (status == KEDGE_OK)
        status = kedge_wire_response_integer(place, &pair[1], 1, &out->origin_id, error);
    return status;
}

static kedge_status read_decision(kedge_wire_place place, const kedge_wire_member *members,
                                  kedge_arena *arena, kedge_wire_replay_mutation *out,
                                  kedge_error *error)
{
    kedge_bytes outcome = members[OUTCOME].value;
    out->decision = KEDGE_WIRE_REPLAY_OPEN;
    if (outcome.data == NULL) return KEDGE_OK;
    bool duplicate = kedge_json_text_equals(outcome, "duplicate");
    if (!duplicate && !kedge_json_text_equals(outcome, "rejected")) {
        return kedge_wire_response_fail(place, &members[OUTCOME], "'rejected' or 'duplicate'",
                                        error);
    }
    out->decision = duplicate ? KEDGE_WIRE_REPLAY_DUPLICATE : KEDGE_WIRE_REPLAY_REJECTED;
    if (duplicate && members[CODE].value.data == NULL) return KEDGE_OK;
    if (duplicate) out->decision = KEDGE_WIRE_REPLAY_DUPLICATE_REJECTED;
    kedge_status status = read_text(place, &members[CODE], arena, &out->code, error);
    if (status == KEDGE_OK)
        status = read_text(place, &members[MESSAGE], arena, &out->message, error);
    if (status == KEDGE_OK &&
        (out->code.size == 0 || out->code.size > KEDGE_LIMIT_REJECTION_CODE_BYTES)) {
        status = kedge_wire_response_fail(place, &members[CODE], "a code of 1 to 63 bytes", error);
    }
    if (status == KEDGE_OK && out->message.size > KEDGE_LIMIT_REJECTION_MESSAGE_BYTES) {
        status = kedge_wire_response_fail(place, &members[MESSAGE], "within its limit", error);
    }
    return status;
}

static kedge_status read_timestamp(kedge_wire_place place, const kedge_wire_member *member,
                                   int64_t *out, kedge_error *error)
{
    if (kedge_json_to_integer(member->value, out)) return KEDGE_OK;
    return kedge_wire_response_fail(place, member, "an integer", error);
}

static kedge_status read_call(kedge_wire_place place, const kedge_wire_member *members,
                              kedge_arena *arena, kedge_wire_replay_mutation *out,
                              kedge_error *error)
{
    kedge_status status = read_text(place, &members[NAME], arena, &out->name, error);
    if (status == KEDGE_OK)
        status = kedge_wire_response_integer(place, &members[MUTATOR], 1, &out->mutator, error);
    kedge_wire_member args = members[ARGS];
    if (status == KEDGE_OK && args.value.data == NULL && members[ARGS_TEXT].value.data != NULL)
        status = read_text(place, &members[ARGS_TEXT], arena, &args.value, error);
    if (status == KEDGE_OK) status = read_args(place, &args, arena, &out->args, error);
    if (status == KEDGE_OK)
        status = read_timestamp(place, &members[TIMESTAMP], &out->timestamp_ms, error);
    if (status == KEDGE_OK) status = read_text(place, &members[USER], arena, &out->user, error);
    if (status == KEDGE_OK) status = read_text(place, &members[ROLE], arena, &out->role, error);
    if (status == KEDGE_OK && members[UID].value.data != NULL)
        status = read_text(place, &members[UID], arena, &out->uid, error);
    return status;
}

kedge_status kedge_wire_replay_mutation_read(kedge_bytes object, size_t index, kedge_arena *arena,
                                             kedge_wire_replay_mutation *out, kedge_error *error)
{
    kedge_wire_place place = KEDGE_WIRE_PLACE_AT("mutations", index);
    kedge_wire_member members[MEMBERS] = {
        [CLIENT] = {.name = "client"},
        [ID] = {.name = "id"},
        [NAME] = {.name = "name"},
        [MUTATOR] = {.name = "mutator"},
        [ARGS] = {.name = "args"},
        [ARGS_TEXT] = {.name = "args_text"},
        [TIMESTAMP] = {.name = "timestamp"},
        [USER] = {.name = "user"},
        [ROLE] = {.name = "role"},
        [DIGEST] = {.name = "digest"},
        [UID] = {.name = "uid"},
        [ORIGIN] = {.name = "origin"},
        [OUTCOME] = {.name = "outcome"},
        [CODE] = {.name = "code"},
        [MESSAGE] = {.name = "message"},
    };
    *out = (kedge_wire_replay_mutation){.id = 0};
    kedge_status status = kedge_wire_response_members(place, object, members, MEMBERS, error);
    if (status == KEDGE_OK)
        status = read_client(place, &members[CLIENT], arena, &out->client, error);
    if (status == KEDGE_OK)
        status = kedge_wire_response_integer(place, &members[ID], 1, &out->id, error);
    if (status == KEDGE_OK) status = read_call(place, members, arena, out, error);
    if (status == KEDGE_OK) {
        status =
            kedge_wire_response_hex(place, &members[DIGEST], out->digest, KEDGE_DIGEST_SIZE, error);
    }
    if (status == KEDGE_OK) status = read_origin(place, &members[ORIGIN], arena, out, error);
    return status == KEDGE_OK ? read_decision(place, members, arena, out, error) : status;
}

/* ---- entries ---- */

/* How many elements the array has; KEDGE_PROTOCOL when it is none or has more than `most`. */
static kedge_status count_elements(kedge_wire_place place, const kedge_wire_member *member,
                                   size_t most, size_t *count, kedge_error *error)
{
    kedge_json_iterator iterator = kedge_json_iterate(member->value);
    kedge_bytes element;
    *count = 0;
    while (kedge_json_next_element(&iterator, &element) && *count <= most)
        (*count)++;
    if (iterator.failed) return kedge_wire_response_fail(place, member, "an array", error);
    if (*count <= most) return KEDGE_OK;
    return kedge_wire_response_fail(place, member, "within its limit", error);
}

static kedge_status read_mutations(kedge_wire_place place, const kedge_wire_member *member,
                                   size_t *left, kedge_wire_replay *log,
                                   kedge_wire_replay_entry *entry, kedge_error *error)
{
    kedge_status status = count_elements(place, member, *left, &entry->count, error);
    if (status != KEDGE_OK) return status;
    kedge_wire_replay_mutation *mutations =
        kedge_arena_take_array(&log->arena, entry->count, sizeof *mutations);
    if (mutations == NULL) return kedge_fail_no_memory(error);
    *left -= entry->count;
    entry->mutations = mutations;
    kedge_json_iterator iterator = kedge_json_iterate(member->value);
    kedge_bytes object;
    for (size_t i = 0; kedge_json_next_element(&iterator, &object) && status == KEDGE_OK; i++)
        status = kedge_wire_replay_mutation_read(object, i, &log->arena, &mutations[i], error);
    return status;
}

static kedge_status read_entry(kedge_bytes object, size_t index, int64_t above, int64_t version_max,
                               size_t *left, kedge_wire_replay *log, kedge_wire_replay_entry *entry,
                               kedge_error *error)
{
    enum { VERSION, MUTATIONS, ALL };
    kedge_wire_place place = KEDGE_WIRE_PLACE_AT("entries", index);
    kedge_wire_member members[ALL] = {
        [VERSION] = {.name = "version"}, [MUTATIONS] = {.name = "mutations"}};
    kedge_status status = kedge_wire_response_members(place, object, members, ALL, error);
    if (status == KEDGE_OK)
        status = kedge_wire_response_integer(place, &members[VERSION], 1, &entry->version, error);
    if (status == KEDGE_OK && (entry->version <= above || entry->version > version_max)) {
        status = kedge_wire_response_fail(place, &members[VERSION],
                                          "in order, after 'from', and within the response", error);
    }
    if (status != KEDGE_OK) return status;
    return read_mutations(place, &members[MUTATIONS], left, log, entry, error);
}

static kedge_status read_entries(kedge_wire_place place, const kedge_wire_member *member,
                                 int64_t from, int64_t version, kedge_wire_replay *out,
                                 kedge_error *error)
{
    size_t left = KEDGE_WIRE_REPLAY_MUTATIONS_MAX;
    kedge_status status =
        count_elements(place, member, KEDGE_WIRE_REPLAY_ENTRIES_MAX, &out->count, error);
    if (status != KEDGE_OK) return status;
    kedge_wire_replay_entry *entries =
        kedge_arena_take_array(&out->arena, out->count, sizeof *entries);
    if (entries == NULL) return kedge_fail_no_memory(error);
    out->entries = entries;
    kedge_json_iterator iterator = kedge_json_iterate(member->value);
    kedge_bytes object;
    for (size_t i = 0; kedge_json_next_element(&iterator, &object) && status == KEDGE_OK; i++) {
        int64_t above = i == 0 ? from : entries[i - 1].version;
        status = read_entry(object, i, above, version, &left, out, &entries[i], error);
    }
    return status;
}

kedge_status kedge_wire_replay_read(const kedge_wire_member *member,
                                    const kedge_allocator *allocator, int64_t from, int64_t version,
                                    kedge_wire_replay *out, kedge_error *error)
{
    enum { ENTRIES, MORE, HASH, ALL };
    kedge_wire_place place = KEDGE_WIRE_PLACE("log");
    kedge_wire_member members[ALL] = {
        [ENTRIES] = {.name = "entries"}, [MORE] = {.name = "more"}, [HASH] = {.name = "hash"}};
    *out = (kedge_wire_replay){.arena = kedge_arena_make(allocator)};
    if (member->value.data == NULL) return KEDGE_OK;
    out->present = true;
    kedge_status status = kedge_wire_response_members(place, member->value, members, ALL, error);
    if (status == KEDGE_OK)
        status = read_entries(place, &members[ENTRIES], from, version, out, error);
    if (status == KEDGE_OK)
        status = kedge_wire_response_boolean(place, &members[MORE], &out->more, error);
    out->hashed = members[HASH].value.data != NULL;
    if (status != KEDGE_OK || !out->hashed) return status;
    return kedge_wire_response_hex(place, &members[HASH], out->hash, KEDGE_SHA256_SIZE, error);
}

void kedge_wire_replay_free(kedge_wire_replay *log)
{
    kedge_arena_free(&log->arena);
    *log = (kedge_wire_replay){.present = false};
}
