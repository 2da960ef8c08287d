/* Checkers of the server's responses, as they leave it: against what the oracle knows of the
 * version that they speak of. */
#include "tests/sim/sim.h"

#include "common/json.h"
#include "wire/page.h"
#include "wire/pull.h"
#include "wire/retire.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct answered {
    sim_world *world;
    const sim_message *message;
    kedge_bytes request;
    kedge_bytes body;
    const sim_version *before; /* the head when the request came in */
} answered;

static bool path_is(const answered *of, const char *start)
{
    return strncmp(of->message->path, start, strlen(start)) == 0;
}

static void count(sim_world *world, sim_check check)
{
    world->report->checks[check]++;
}

/* ---- outcomes, of pulls, retires and lists ---- */

static bool outcome_fits(const kedge_wire_outcome *row, const sim_decided *decided,
                         const sim_version *where)
{
    if (memcmp(row->digest, decided->digest, sizeof row->digest) != 0) return false;
    if (row->version != where->number) return false;
    if (decided->rejected) return kedge_wire_is_rejection(row->decision);
    return row->decision == (decided->duplicate ? KEDGE_WIRE_DUPLICATE : KEDGE_WIRE_APPLIED);
}

static void check_outcomes(const answered *of, const sim_version *at, const char *client,
                           const kedge_wire_outcomes *outcomes)
{
    for (size_t i = 0; i < outcomes->count; i++) {
        const kedge_wire_outcome *row = &outcomes->rows[i];
        const sim_version *where = NULL;
        const sim_decided *decided = sim_oracle_decided(at, client, row->id, &where);
        count(of->world, SIM_I13);
        if (decided == NULL || !outcome_fits(row, decided, where))
            sim_violate(of->world, SIM_I13,
                        "an answer of version %" PRId64 " tells another outcome of (%.8s, %" PRId64
                        ") than there is",
                        at == NULL ? 0 : at->number, client, row->id);
    }
}

/* A rejection that the version holds must have advanced the lmid that it tells. */
static void check_lmid(const answered *of, const sim_version *at, const char *client, int64_t lmid)
{
    int64_t expected = sim_oracle_lmid(at, client);
    const sim_decided *last = sim_oracle_decided(at, client, expected, NULL);
    bool rejected = last != NULL && last->rejected;
    if (rejected) count(of->world, SIM_I4);
    count(of->world, SIM_I13);
    if (lmid == expected) return;
    sim_violate(of->world, rejected && lmid < expected ? SIM_I4 : SIM_I13,
                "an answer of version %" PRId64 " gives %.8s the lmid %" PRId64 ", not %" PRId64,
                at == NULL ? 0 : at->number, client, lmid, expected);
}

/* ---- push ---- */

/* 200: each is decided, as this mutation, in a version up to the one that was told. */
static void check_pushed(const answered *of, kedge_bytes mutation, int64_t version)
{
    char client[130] = "", uid[64] = "";
    uint8_t bytes[SIM_UID_SIZE];
    int64_t id = 0;
    const sim_version *where = NULL;
    (void)kedge_json_member_chars(mutation, "clientID", client, sizeof client);
    (void)kedge_json_member_integer(mutation, "id", &id);
    (void)kedge_json_member_chars(mutation, "uid", uid, sizeof uid);
    const sim_decided *decided = sim_oracle_decided(of->world->oracle.head, client, id, &where);
    count(of->world, SIM_I2);
    count(of->world, SIM_I4);
    count(of->world, SIM_I13);
    if (decided == NULL)
        sim_violate(of->world, SIM_I4,
                    "a push was answered with 200, and (%.8s, %" PRId64 ") is not decided", client,
                    id);
    else if (where->number > version)
        sim_violate(of->world, SIM_I13,
                    "a push was answered with version %" PRId64 ", which lacks (%.8s, %" PRId64 ")",
                    version, client, id);
    else if (kedge_hex_decode(kedge_bytes_of(uid), bytes, sizeof bytes) &&
             memcmp(bytes, decided->uid, sizeof bytes) != 0)
        sim_violate(of->world, SIM_I2,
                    "a push of another mutation under (%.8s, %" PRId64 ") was answered with 200",
                    client, id);
}

/* A gap was told: there must be one, whatever was rejected before. */
static void check_gap(const answered *of, kedge_bytes mutation)
{
    char client[130] = "";
    int64_t id = 0;
    (void)kedge_json_member_chars(mutation, "clientID", client, sizeof client);
    (void)kedge_json_member_integer(mutation, "id", &id);
    count(of->world, SIM_I4);
    if (id <= sim_oracle_lmid(of->before, client) + 1)
        sim_violate(of->world, SIM_I4,
                    "a push from (%.8s, %" PRId64 ") on was refused as a gap, behind lmid %" PRId64,
                    client, id, sim_oracle_lmid(of->before, client));
}

static void check_push(const answered *of)
{
    kedge_bytes mutations, mutation, kedge, code;
    int64_t version = 0;
    if (!kedge_json_member(of->request, "mutations", &mutations)) return;
    kedge_json_iterator each = kedge_json_iterate(mutations);
    if (of->message->status == 409 && kedge_json_member(of->body, "code", &code) &&
        kedge_json_text_equals(code, "mutation-gap")) {
        if (kedge_json_next_element(&each, &mutation)) check_gap(of, mutation);
        return;
    }
    if (of->message->status != 200) return;
    if (!kedge_json_member(of->body, "kedge", &kedge) ||
        !kedge_json_member_integer(kedge, "version", &version))
        return;
    while (kedge_json_next_element(&each, &mutation))
        check_pushed(of, mutation, version);
}

/* ---- pull ---- */

static void put_by_hash(const kedge_wire_patch_operation *operation, const kedge_overlay *there,
                        kedge_overlay *state)
{
    kedge_overlay_entry entry;
    uint8_t hash[KEDGE_SHA256_SIZE];
    if (!kedge_overlay_get(there, operation->collection, operation->id, &entry)) return;
    kedge_sha256(entry.value, hash);
    if (memcmp(hash, operation->hash, sizeof hash) == 0)
        (void)kedge_overlay_put(state, operation->collection, operation->id, entry.value, NULL);
}

static void apply(const kedge_wire_patch *patch, const kedge_overlay *there, kedge_overlay *state)
{
    for (size_t i = 0; i < patch->count; i++) {
        const kedge_wire_patch_operation *operation = &patch->operations[i];
        switch (operation->kind) {
        case KEDGE_WIRE_PATCH_CLEAR:
            kedge_overlay_clear(state);
            break;
        case KEDGE_WIRE_PATCH_PUT:
            (void)kedge_overlay_put(state, operation->collection, operation->id, operation->value,
                                    NULL);
            break;
        case KEDGE_WIRE_PATCH_PUT_HASH:
            put_by_hash(operation, there, state);
            break;
        case KEDGE_WIRE_PATCH_DELETE:
            kedge_overlay_forget(state, operation->collection, operation->id);
            break;
        }
    }
}

static kedge_overlay *copy_of(const kedge_overlay *state)
{
    kedge_overlay_entry entry;
    kedge_overlay *copy = kedge_overlay_new(&kedge_allocator_default);
    for (bool more = kedge_overlay_next(state, NULL, &entry); more;
         more = kedge_overlay_next(state, &entry, &entry))
        (void)kedge_overlay_put(copy, entry.collection, entry.id, entry.value, NULL);
    return copy;
}

static bool is_state(const kedge_overlay *state, const sim_version *at)
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    sim_oracle_dump(state, &text);
    kedge_sha256(kedge_buffer_bytes(&text), hash);
    bool same = at == NULL ? text.size == 2 : memcmp(hash, at->state_hash, sizeof hash) == 0;
    kedge_buffer_free(&text);
    return same;
}

static void check_delta(const answered *of, const kedge_wire_pull_response *pull,
                        const sim_version *at)
{
    sim_oracle *oracle = &of->world->oracle;
    const sim_version *from = sim_oracle_ancestor(at, pull->from);
    bool whole = pull->patch.count > 0 && pull->patch.operations[0].kind == KEDGE_WIRE_PATCH_CLEAR;
    kedge_overlay *state = copy_of(sim_oracle_state(oracle, whole ? NULL : from));
    apply(&pull->patch, sim_oracle_state(oracle, at), state);
    count(of->world, SIM_I5);
    count(of->world, SIM_I13);
    if (!is_state(state, at))
        sim_violate(of->world, SIM_I13,
                    "the patch of a pull does not lead from version %" PRId64 " to %" PRId64,
                    pull->from, pull->version);
    kedge_overlay_free(state);
}

/* The version that a response names, on the present branch. False: there is no such. */
static bool find_version(const answered *of, int64_t number, const char *lineage,
                         const sim_version **at)
{
    *at = sim_oracle_ancestor(of->world->oracle.head, number);
    if (number == 0) return true;
    if (*at != NULL && (lineage == NULL || strcmp((*at)->lineage, lineage) == 0)) return true;
    sim_violate(of->world, SIM_I13, "an answer is of version %" PRId64 ", which does not exist",
                number);
    return false;
}

/* The server has lost the body of an item, says so, and answers the rest. */
static bool leaves_out(const answered *of)
{
    kedge_bytes damaged, native = of->body;
    (void)kedge_json_member(of->body, "kedge", &native);
    return kedge_json_member(native, "damaged", &damaged) ||
           kedge_json_member(of->body, "damaged", &damaged);
}

/* From now on the client lacks what was left out, until somebody writes over it. */
static void note_left_out(const answered *of)
{
    if (leaves_out(of)) of->world->clients[of->message->client].lacks_items = true;
}

static void check_pull(const answered *of)
{
    kedge_wire_pull_response pull = {0};
    kedge_bytes native;
    char client[130] = "";
    const sim_version *at;
    if (kedge_wire_pull_response_read(&kedge_allocator_default, of->body, &pull, NULL) !=
        KEDGE_OK) {
        sim_violate(of->world, SIM_I13, "the answer to a pull is not what the wire says");
    } else if (kedge_json_member(of->request, "kedge", &native) &&
               kedge_json_member_chars(native, "client", client, sizeof client) &&
               find_version(of, pull.version, pull.lineage, &at)) {
        check_lmid(of, at, client, pull.lmid);
        check_outcomes(of, at, client, &pull.outcomes);
        if (pull.retired != sim_oracle_retired(at, client))
            sim_violate(of->world, SIM_I13,
                        "version %" PRId64 " tells wrongly whether %.8s is"
                        " retired",
                        pull.version, client);
        if (pull.log.present != of->world->logged)
            sim_violate(of->world, SIM_I13, "the answer to a pull is of another kind of project");
        if (pull.log.present)
            check_log_pull(of->world, &pull, at);
        else if (!pull.snapshot && !leaves_out(of))
            check_delta(of, &pull, at);
    }
    kedge_wire_pull_response_free(&pull);
}

/* ---- the rest ---- */

static void check_retire(const answered *of)
{
    kedge_wire_retire_response retire = {0};
    char client[130] = "";
    const sim_version *at;
    (void)sscanf(of->message->path, "clients/%128[A-Za-z0-9_-]/", client);
    if (kedge_wire_retire_response_read(&kedge_allocator_default, of->body, &retire, NULL) ==
            KEDGE_OK &&
        find_version(of, retire.version, retire.lineage, &at)) {
        check_lmid(of, at, client, retire.lmid);
        check_outcomes(of, at, client, &retire.outcomes);
    }
    kedge_wire_retire_response_free(&retire);
}

static void check_outcome_list(const answered *of)
{
    char client[130] = "";
    kedge_wire_outcomes outcomes = {.allocator = &kedge_allocator_default};
    if (sscanf(of->message->path, "clients/%128[A-Za-z0-9_-]/mutations?", client) == 1 &&
        kedge_wire_outcomes_response_read(of->body, &outcomes, NULL) == KEDGE_OK)
        check_outcomes(of, of->world->oracle.head, client, &outcomes);
    kedge_wire_outcomes_free(&outcomes);
}

static void check_value(const answered *of, const kedge_overlay *state, int64_t version,
                        const kedge_wire_patch_operation *item)
{
    kedge_overlay_entry entry;
    uint8_t hash[KEDGE_SHA256_SIZE];
    count(of->world, SIM_I5);
    bool same = kedge_overlay_get(state, item->collection, item->id, &entry);
    if (same && item->kind == KEDGE_WIRE_PATCH_PUT)
        same = kedge_bytes_equal(entry.value, item->value);
    if (same && item->kind == KEDGE_WIRE_PATCH_PUT_HASH) {
        kedge_sha256(entry.value, hash);
        same = memcmp(hash, item->hash, sizeof hash) == 0;
    }
    if (!same)
        sim_violate(of->world, SIM_I5, "a page of version %" PRId64 " holds %.*s/%.*s wrongly",
                    version, (int)item->collection.size, item->collection.data, (int)item->id.size,
                    item->id.data);
}

static void check_page(const answered *of)
{
    kedge_wire_page_response page = {0};
    const sim_version *at;
    if (kedge_wire_page_response_read(&kedge_allocator_default, of->body, &page, NULL) ==
            KEDGE_OK &&
        find_version(of, page.version, page.lineage, &at)) {
        const kedge_overlay *state = sim_oracle_state(&of->world->oracle, at);
        for (size_t i = 0; i < page.items.count; i++)
            check_value(of, state, page.version, &page.items.operations[i]);
    }
    kedge_wire_page_response_free(&page);
}

/* GET versions/{v}?items=1: all of a version at once, from checkpoints and the deltas after
 * them. */
static bool same_item(const kedge_overlay *state, kedge_bytes collection, kedge_bytes item)
{
    kedge_bytes value, id_text;
    kedge_overlay_entry entry;
    kedge_buffer name = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer id = kedge_buffer_make(&kedge_allocator_default);
    bool same =
        kedge_json_member(item, "value", &value) && kedge_json_member(item, "id", &id_text) &&
        kedge_json_to_text(collection, &name) && kedge_json_to_text(id_text, &id) &&
        kedge_overlay_get(state, kedge_buffer_bytes(&name), kedge_buffer_bytes(&id), &entry) &&
        kedge_bytes_equal(entry.value, value);
    kedge_buffer_free(&name);
    kedge_buffer_free(&id);
    return same;
}

static void check_whole_version(const answered *of)
{
    kedge_bytes collections, collection, items, item, project;
    const sim_version *at;
    int64_t number = 0;
    size_t items_seen = 0, wrong = 0;
    if (!kedge_json_member_integer(of->body, "version", &number) ||
        !find_version(of, number, NULL, &at) ||
        !kedge_json_member(of->body, "collections", &collections))
        return;
    const kedge_overlay *state = sim_oracle_state(&of->world->oracle, at);
    kedge_json_iterator each = kedge_json_iterate(collections);
    while (kedge_json_next_member(&each, &collection, &items)) {
        kedge_json_iterator in = kedge_json_iterate(items);
        while (kedge_json_next_element(&in, &item)) {
            kedge_bytes value;
            items_seen++;
            /* An item without a value is one whose body is lost. */
            if (kedge_json_member(item, "value", &value) && !same_item(state, collection, item))
                wrong++;
        }
    }
    if (kedge_json_member(of->body, "project", &project) &&
        kedge_json_type_of(project) == KEDGE_JSON_OBJECT)
        items_seen++;
    if (leaves_out(of)) return;
    count(of->world, SIM_I5);
    if (wrong > 0 || items_seen != kedge_overlay_count(state))
        sim_violate(of->world, SIM_I5,
                    "version %" PRId64 " reads as %zu items, %zu of them wrong, instead of %zu",
                    number, items_seen, wrong, kedge_overlay_count(state));
}

void check_response_to(sim_world *world, const sim_message *message, const sim_version *head_before)
{
    answered of = {.world = world,
                   .message = message,
                   .request = {message->body, message->body_size},
                   .body = {message->response, message->response_size},
                   .before = head_before};
    if (path_is(&of, "push")) {
        check_push(&of);
        return;
    }
    /* Of an item whose body is gone nothing is told in a response. */
    if (message->status == 404 && strstr(message->path, "/bodies/") != NULL && !world->logged)
        of.world->clients[message->client].lacks_items = true;
    if (message->status != 200) return;
    if (path_is(&of, "pull") || path_is(&of, "snapshot")) note_left_out(&of);
    if (path_is(&of, "pull"))
        check_pull(&of);
    else if (path_is(&of, "snapshot"))
        check_page(&of);
    else if (path_is(&of, "versions/"))
        check_whole_version(&of);
    else if (path_is(&of, "clients/") && strstr(message->path, "/retire") != NULL)
        check_retire(&of);
    else if (path_is(&of, "clients/"))
        check_outcome_list(&of);
}
