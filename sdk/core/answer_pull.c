/* The answer of a pull. */
#include "common/error.h"
#include "sdk/core/answer_read.h"

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
    NATIVE_MEMBERS
};

/* `{"<order>": V, "lineage": T}`, which must name the answer's own version. */
static kedge_status check_pair(const char *name, const char *order, const kedge_member *member,
                               const kedge_pull_answer *answer, kedge_error *error)
{
    kedge_place place = KEDGE_PLACE(name);
    kedge_member pair[2] = {{.name = order}, {.name = "lineage"}};
    int64_t version;
    char lineage[33];
    if (member->value.data == NULL) return kedge_answer_fail(KEDGE_PLACE(""), member, "", error);
    kedge_status status = kedge_answer_members(place, member->value, pair, 2, error);
    if (status == KEDGE_OK) status = kedge_answer_integer(place, &pair[0], 0, &version, error);
    if (status == KEDGE_OK) status = kedge_answer_lineage(place, &pair[1], lineage, error);
    if (status != KEDGE_OK) return status;
    if (version != answer->version || strcmp(lineage, answer->lineage) != 0) {
        return kedge_answer_fail(KEDGE_PLACE(""), member, "the answer's version", error);
    }
    return KEDGE_OK;
}

static kedge_status check_changes(const kedge_member *member, kedge_error *error)
{
    kedge_json_iterator walk = kedge_json_iterate(member->value);
    kedge_bytes client;
    kedge_bytes lmid;
    int64_t id;
    while (kedge_json_next_member(&walk, &client, &lmid)) {
        if (!kedge_json_to_integer(lmid, &id) || id < 0) {
            return kedge_answer_fail(KEDGE_PLACE(""), member, "an object of integers", error);
        }
    }
    if (walk.failed) {
        return kedge_answer_fail(KEDGE_PLACE(""), member, "an object of integers", error);
    }
    return KEDGE_OK;
}

/* What must hold between the members. */
static kedge_status check_native(kedge_place place, const kedge_member *members,
                                 const kedge_pull_answer *answer, kedge_error *error)
{
    if (answer->version < answer->from && !answer->lost) {
        return kedge_answer_fail(place, &members[VERSION], "at or above 'from'", error);
    }
    if (!answer->known && answer->lmid > 0) {
        return kedge_answer_fail(place, &members[LMID], "0 for a client that is not known", error);
    }
    return KEDGE_OK;
}

static kedge_status read_scalars(kedge_place place, const kedge_member *members,
                                 kedge_pull_answer *out, kedge_error *error)
{
    kedge_status status = kedge_answer_integer(place, &members[FROM], 0, &out->from, error);
    if (status == KEDGE_OK) {
        status = kedge_answer_integer(place, &members[VERSION], 0, &out->version, error);
    }
    if (status == KEDGE_OK) {
        status = kedge_answer_lineage(place, &members[LINEAGE], out->lineage, error);
    }
    if (status == KEDGE_OK) {
        status = kedge_answer_integer(place, &members[LMID], 0, &out->lmid, error);
    }
    if (status == KEDGE_OK) {
        status = kedge_answer_boolean(place, &members[RETIRED], &out->retired, error);
    }
    if (status == KEDGE_OK) {
        status = kedge_answer_boolean(place, &members[KNOWN], &out->known, error);
    }
    if (status == KEDGE_OK) {
        status = kedge_answer_boolean(place, &members[LOST], &out->lost, error);
    }
    return status;
}

static kedge_status read_native(kedge_bytes object, kedge_pull_answer *out, kedge_error *error)
{
    kedge_place place = KEDGE_PLACE("kedge");
    kedge_member members[NATIVE_MEMBERS] = {
        [FROM] = {.name = "from"},         [VERSION] = {.name = "version"},
        [LINEAGE] = {.name = "lineage"},   [LMID] = {.name = "lmid"},
        [RETIRED] = {.name = "retired"},   [KNOWN] = {.name = "known"},
        [OUTCOMES] = {.name = "outcomes"}, [NEXT] = {.name = "outcomes_next"},
        [SNAPSHOT] = {.name = "snapshot"}, [LOST] = {.name = "lost"},
        [DAMAGED] = {.name = "damaged"},
    };
    kedge_status status = kedge_answer_members(place, object, members, NATIVE_MEMBERS, error);
    if (status == KEDGE_OK) status = read_scalars(place, members, out, error);
    if (status == KEDGE_OK) status = check_native(place, members, out, error);
    if (status == KEDGE_OK) {
        status = kedge_answer_outcomes(place, &members[OUTCOMES], &members[NEXT], out->lmid,
                                       out->version, &out->outcomes, error);
    }
    if (status == KEDGE_OK) status = kedge_answer_damaged(&members[DAMAGED], &out->damaged, error);
    if (status != KEDGE_OK || kedge_answer_is_null(&members[SNAPSHOT])) return status;
    out->snapshot = true;
    return check_pair("snapshot", "version", &members[SNAPSHOT], out, error);
}

kedge_status kedge_pull_answer_decode(const kedge_allocator *allocator, kedge_bytes body,
                                      kedge_pull_answer *out, kedge_error *error)
{
    kedge_place place = KEDGE_PLACE("");
    kedge_member members[MEMBERS] = {[COOKIE] = {.name = "cookie"},
                                     [CHANGES] = {.name = "lastMutationIDChanges"},
                                     [PATCH] = {.name = "patch"},
                                     [NATIVE] = {.name = "kedge"}};
    out->outcomes.allocator = allocator;
    out->patch.text = kedge_buffer_make(allocator);

    kedge_status status = kedge_answer_members(place, body, members, MEMBERS, error);
    if (status == KEDGE_OK && members[NATIVE].value.data == NULL) {
        status = kedge_answer_fail(place, &members[NATIVE], "an object", error);
    }
    if (status == KEDGE_OK) status = read_native(members[NATIVE].value, out, error);
    if (status == KEDGE_OK) status = check_pair("cookie", "order", &members[COOKIE], out, error);
    if (status == KEDGE_OK) status = check_changes(&members[CHANGES], error);
    if (status == KEDGE_OK) {
        status = kedge_answer_patch(place, &members[PATCH], false, &out->patch, error);
    }
    if (status == KEDGE_OK && out->snapshot && out->patch.count > 0) {
        status = kedge_answer_fail(place, &members[PATCH], "empty beside a snapshot", error);
    }
    return status;
}

void kedge_pull_answer_free(kedge_pull_answer *answer)
{
    kedge_outcome_list_free(&answer->outcomes);
    kedge_patch_free(&answer->patch);
}
