/* Reading the response of a pull; see pull.h. */
#include "wire/pull.h"

#include "wire/response.h"

#include <string.h>

enum { COOKIE, CHANGES, PATCH, NATIVE, MEMBERS };
enum {
    FROM,
    VERSION,
    LINEAGE,
    LMID,
    RETIRED,
    KNOWN,
    OUTCOMES,
    NEXT,
    SNAPSHOT,
    LOST,
    DAMAGED,
    LOG,
    NATIVE_MEMBERS
};

/* `{"<order>": V, "lineage": T}`, which must name the response's own version. */
static kedge_status check_pair(const char *name, const char *order, const kedge_wire_member *member,
                               const kedge_wire_pull_response *response, kedge_error *error)
{
    kedge_wire_place place = KEDGE_WIRE_PLACE(name);
    kedge_wire_member pair[2] = {{.name = order}, {.name = "lineage"}};
    int64_t version;
    char lineage[KEDGE_WIRE_LINEAGE_SIZE];
    if (member->value.data == NULL)
        return kedge_wire_response_fail(KEDGE_WIRE_PLACE(""), member, "", error);
    kedge_status status = kedge_wire_response_members(place, member->value, pair, 2, error);
    if (status == KEDGE_OK)
        status = kedge_wire_response_integer(place, &pair[0], 0, &version, error);
    if (status == KEDGE_OK) status = kedge_wire_response_lineage(place, &pair[1], lineage, error);
    if (status != KEDGE_OK) return status;
    if (version != response->version || strcmp(lineage, response->lineage) != 0) {
        return kedge_wire_response_fail(KEDGE_WIRE_PLACE(""), member, "the response's version",
                                        error);
    }
    return KEDGE_OK;
}

static kedge_status check_changes(const kedge_wire_member *member, kedge_error *error)
{
    kedge_json_iterator iterator = kedge_json_iterate(member->value);
    kedge_bytes client;
    kedge_bytes lmid;
    int64_t id;
    while (kedge_json_next_member(&iterator, &client, &lmid)) {
        if (!kedge_json_to_integer(lmid, &id) || id < 0) {
            return kedge_wire_response_fail(KEDGE_WIRE_PLACE(""), member, "an object of integers",
                                            error);
        }
    }
    if (iterator.failed) {
        return kedge_wire_response_fail(KEDGE_WIRE_PLACE(""), member, "an object of integers",
                                        error);
    }
    return KEDGE_OK;
}

/* Checks the members against each other. */
static kedge_status check_native(kedge_wire_place place, const kedge_wire_member *members,
                                 const kedge_wire_pull_response *response, kedge_error *error)
{
    if (response->version < response->from && !response->lost) {
        return kedge_wire_response_fail(place, &members[VERSION], "at or above 'from'", error);
    }
    if (!response->known && response->lmid > 0) {
        return kedge_wire_response_fail(place, &members[LMID], "0 for a client that is not known",
                                        error);
    }
    return KEDGE_OK;
}

static kedge_status read_scalars(kedge_wire_place place, const kedge_wire_member *members,
                                 kedge_wire_pull_response *out, kedge_error *error)
{
    kedge_status status = kedge_wire_response_integer(place, &members[FROM], 0, &out->from, error);
    if (status == KEDGE_OK) {
        status = kedge_wire_response_integer(place, &members[VERSION], 0, &out->version, error);
    }
    if (status == KEDGE_OK) {
        status = kedge_wire_response_lineage(place, &members[LINEAGE], out->lineage, error);
    }
    if (status == KEDGE_OK) {
        status = kedge_wire_response_integer(place, &members[LMID], 0, &out->lmid, error);
    }
    if (status == KEDGE_OK) {
        status = kedge_wire_response_boolean(place, &members[RETIRED], &out->retired, error);
    }
    if (status == KEDGE_OK) {
        status = kedge_wire_response_boolean(place, &members[KNOWN], &out->known, error);
    }
    if (status == KEDGE_OK) {
        status = kedge_wire_response_boolean(place, &members[LOST], &out->lost, error);
    }
    return status;
}

static kedge_status read_log(const kedge_wire_member *member, const kedge_allocator *allocator,
                             kedge_wire_pull_response *out, kedge_error *error)
{
    kedge_status status =
        kedge_wire_replay_read(member, allocator, out->from, out->version, &out->log, error);
    if (status == KEDGE_OK && out->snapshot && out->log.count > 0) {
        status = kedge_wire_response_fail(KEDGE_WIRE_PLACE("kedge"), member,
                                          "without entries beside a snapshot", error);
    }
    return status;
}

static kedge_status read_native(kedge_bytes object, kedge_wire_pull_response *out,
                                kedge_error *error)
{
    kedge_wire_place place = KEDGE_WIRE_PLACE("kedge");
    kedge_wire_member members[NATIVE_MEMBERS] = {
        [FROM] = {.name = "from"},         [VERSION] = {.name = "version"},
        [LINEAGE] = {.name = "lineage"},   [LMID] = {.name = "lmid"},
        [RETIRED] = {.name = "retired"},   [KNOWN] = {.name = "known"},
        [OUTCOMES] = {.name = "outcomes"}, [NEXT] = {.name = "outcomes_next"},
        [SNAPSHOT] = {.name = "snapshot"}, [LOST] = {.name = "lost"},
        [DAMAGED] = {.name = "damaged"},   [LOG] = {.name = "log"},
    };
    kedge_status status =
        kedge_wire_response_members(place, object, members, NATIVE_MEMBERS, error);
    if (status == KEDGE_OK) status = read_scalars(place, members, out, error);
    if (status == KEDGE_OK) status = check_native(place, members, out, error);
    if (status == KEDGE_OK) {
        status = kedge_wire_outcomes_read(place, &members[OUTCOMES], &members[NEXT], out->lmid,
                                          out->version, &out->outcomes, error);
    }
    if (status == KEDGE_OK)
        status = kedge_wire_damaged_read(&members[DAMAGED], &out->damaged, error);
    if (status == KEDGE_OK && !kedge_wire_response_is_null(&members[SNAPSHOT])) {
        out->snapshot = true;
        status = check_pair("snapshot", "version", &members[SNAPSHOT], out, error);
    }
    if (status != KEDGE_OK) return status;
    return read_log(&members[LOG], out->outcomes.allocator, out, error);
}

kedge_status kedge_wire_pull_response_read(const kedge_allocator *allocator, kedge_bytes body,
                                           kedge_wire_pull_response *out, kedge_error *error)
{
    kedge_wire_place place = KEDGE_WIRE_PLACE("");
    kedge_wire_member members[MEMBERS] = {[COOKIE] = {.name = "cookie"},
                                          [CHANGES] = {.name = "lastMutationIDChanges"},
                                          [PATCH] = {.name = "patch"},
                                          [NATIVE] = {.name = "kedge"}};
    out->outcomes.allocator = allocator;
    out->patch.text = kedge_buffer_make(allocator);

    kedge_status status = kedge_wire_response_members(place, body, members, MEMBERS, error);
    if (status == KEDGE_OK && members[NATIVE].value.data == NULL) {
        status = kedge_wire_response_fail(place, &members[NATIVE], "an object", error);
    }
    if (status == KEDGE_OK) status = read_native(members[NATIVE].value, out, error);
    if (status == KEDGE_OK) status = check_pair("cookie", "order", &members[COOKIE], out, error);
    if (status == KEDGE_OK) status = check_changes(&members[CHANGES], error);
    if (status == KEDGE_OK) {
        status = kedge_wire_patch_read(place, &members[PATCH], false, &out->patch, error);
    }
    if (status == KEDGE_OK && (out->snapshot || out->log.present) && out->patch.count > 0) {
        status = kedge_wire_response_fail(place, &members[PATCH],
                                          "empty beside a snapshot or a log", error);
    }
    return status;
}

void kedge_wire_pull_response_free(kedge_wire_pull_response *response)
{
    kedge_wire_outcomes_free(&response->outcomes);
    kedge_wire_patch_free(&response->patch);
    kedge_wire_replay_free(&response->log);
}
