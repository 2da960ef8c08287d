/* The checks: every version from the first on, folded by hand. */
#include "tests/crashpoints/check.h"

#include "mutate/overlay.h"
#include "tests/support/project.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLIENTS_MAX 16
#define ORIGINS_MAX 16
#define PINS        4 /* versions, from the head down, that are looked at as a pull would */

const char *const check_names[CHECKS] = {"I1", "I2", "I3", "I4", "I5", "I13", "I14", "I17"};

typedef struct seen_client {
    char name[KEDGE_LIMIT_CLIENT_ID_BYTES + 1];
    int64_t last[PINS]; /* at head, head - 1, … */
} seen_client;

typedef struct history_check {
    known_versions *known;
    kedge_backend *reader;
    const kedge_project_ref *ref;
    suite_checks *all;
    kedge_overlay *fold;
    int64_t head;
    seen_client clients[CLIENTS_MAX];
    size_t client_count;
    uint8_t origins[ORIGINS_MAX][KEDGE_DIGEST_SIZE];
    size_t origin_count;
} history_check;

bool check_holds(suite_checks *all, check_name name, bool holds, const char *format, ...)
{
    all->evaluated[name]++;
    if (holds) return true;
    if (all->violated[name]++ == 0 && all->first[0] == '\0') {
        va_list arguments;
        int size = snprintf(all->first, sizeof all->first, "%s: ", check_names[name]);
        va_start(arguments, format);
        vsnprintf(all->first + size, sizeof all->first - (size_t)size, format, arguments);
        va_end(arguments);
    }
    return false;
}

/* ---- versions as they were ---- */

static const kedge_version *load_newest(kedge_backend *reader, const kedge_project_ref *ref)
{
    const kedge_version *version = NULL;
    return kedge_version_load(HANDLE(reader, ref), 0, &version, NULL) == KEDGE_OK ? version : NULL;
}

void witness_look(witness *seen, kedge_backend *reader, const kedge_project_ref *ref,
                  suite_checks *all, check_name name)
{
    for (int64_t number = seen->from; number < KNOWN_VERSIONS_MAX; number++) {
        const kedge_version *version =
            known_versions_load(seen->known, HANDLE(reader, ref), number);
        char *lineage = seen->lineages[number];
        if (number <= seen->count) {
            check_holds(all, name, version != NULL && strcmp(version->lineage, lineage) == 0,
                        "version %lld is gone or another one", (long long)number);
        } else if (version != NULL) {
            snprintf(lineage, KEDGE_LINEAGE_HEX, "%s", version->lineage);
            seen->count = number;
        }
        if (version == NULL) return;
        kedge_version_release(version);
    }
}

/* ---- mutations ---- */

static seen_client *find_client(history_check *at, kedge_bytes name)
{
    for (size_t i = 0; i < at->client_count; i++) {
        if (kedge_bytes_equal_text(name, at->clients[i].name)) return &at->clients[i];
    }
    if (at->client_count == CLIENTS_MAX) abort();
    seen_client *client = &at->clients[at->client_count++];
    memset(client, 0, sizeof *client);
    snprintf(client->name, sizeof client->name, "%.*s", (int)name.size, name.data);
    return client;
}

/* The digest tells what an origin was; its name is the same for all of a scenario. */
static void check_origin(history_check *at, const kedge_version_mutation *mutation)
{
    bool applied = mutation->outcome == KEDGE_MUTATION_APPLIED;
    bool again = false;
    for (size_t i = 0; i < at->origin_count; i++)
        again = again || memcmp(at->origins[i], mutation->digest, KEDGE_DIGEST_SIZE) == 0;
    check_holds(at->all, CHECK_I1, !applied || !again, "an origin is applied twice");
    if (!applied || at->origin_count == ORIGINS_MAX) return;
    memcpy(at->origins[at->origin_count++], mutation->digest, KEDGE_DIGEST_SIZE);
}

static void check_mutations(history_check *at, const kedge_version *version)
{
    for (size_t i = 0; i < version->mutation_count; i++) {
        const kedge_version_mutation *mutation = &version->mutations[i];
        seen_client *client = find_client(at, mutation->client);
        int64_t last = client->last[0];
        check_holds(at->all, CHECK_I1, mutation->id > last, "%s/%lld is decided again",
                    client->name, (long long)mutation->id);
        check_holds(at->all, CHECK_I2, mutation->id <= last + 1, "%s/%lld comes behind %lld",
                    client->name, (long long)mutation->id, (long long)last);
        bool unknown = kedge_bytes_equal_text(mutation->name, "no.such.mutator");
        check_holds(at->all, CHECK_I4, unknown == (mutation->outcome == KEDGE_MUTATION_REJECTED),
                    "%s/%lld has the wrong outcome", client->name, (long long)mutation->id);
        if (mutation->origin_client.size > 0) check_origin(at, mutation);
        for (int64_t pin = 0; pin < PINS; pin++)
            if (version->number <= at->head - pin) client->last[pin] = mutation->id;
    }
}

/* ---- state ---- */

static void fold(history_check *at, const kedge_version *version)
{
    for (size_t i = 0; i < version->change_count; i++) {
        const kedge_version_change *change = &version->changes[i];
        kedge_bytes hash = {(const char *)change->entry.hash, KEDGE_SHA256_SIZE};
        kedge_status status =
            change->deleted
                ? kedge_overlay_delete(at->fold, change->collection, change->entry.id, NULL)
                : kedge_overlay_put(at->fold, change->collection, change->entry.id, hash, NULL);
        if (status != KEDGE_OK) abort();
    }
}

static void check_item(history_check *at, kedge_state *state, const kedge_overlay_entry *expected)
{
    kedge_entry found;
    kedge_status status = kedge_state_find(state, expected->collection, expected->id, &found, NULL);
    bool right = expected->deleted ? status == KEDGE_NOT_FOUND
                                   : status == KEDGE_OK && memcmp(found.hash, expected->value.data,
                                                                  KEDGE_SHA256_SIZE) == 0;
    check_holds(at->all, CHECK_I5, right, "%.*s is not what the deltas make of it",
                (int)expected->id.size, expected->id.data);
    if (status != KEDGE_OK || expected->deleted) return;
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    uint8_t hash[KEDGE_SHA256_SIZE] = {0};
    status = kedge_state_body(state, expected->collection, &found, &body, NULL);
    if (status == KEDGE_OK) kedge_sha256(kedge_buffer_bytes(&body), hash);
    check_holds(
        at->all, CHECK_I14, status == KEDGE_OK && memcmp(hash, found.hash, sizeof hash) == 0,
        "the body of %.*s is gone or another one", (int)expected->id.size, expected->id.data);
    kedge_buffer_free(&body);
}

static void check_state(history_check *at, const kedge_version *head)
{
    kedge_state *state = NULL;
    kedge_overlay_entry entry;
    size_t living = 0;
    int64_t items = 0;
    if (!check_holds(at->all, CHECK_I5,
                     kedge_state_open(HANDLE(at->reader, at->ref), head, &state, NULL) == KEDGE_OK,
                     "the state cannot be opened"))
        return;
    bool more = kedge_overlay_next(at->fold, NULL, &entry);
    for (; more; more = kedge_overlay_next(at->fold, &entry, &entry)) {
        check_item(at, state, &entry);
        if (!entry.deleted) living++;
    }
    for (size_t i = 0; i < head->collection_count; i++)
        items += head->collections[i].items;
    check_holds(at->all, CHECK_I5, (size_t)items == living, "the version counts %lld items of %zu",
                (long long)items, living);
    kedge_state_close(state);
}

/* ---- last ids ---- */

static void check_pins(history_check *at)
{
    for (int64_t pin = 0; pin < PINS && at->head - pin >= 1; pin++) {
        const kedge_version *version =
            known_versions_load(at->known, HANDLE(at->reader, at->ref), at->head - pin);
        if (version == NULL) return;
        for (size_t i = 0; i < at->client_count; i++) {
            const seen_client *client = &at->clients[i];
            kedge_client_state state = {.lmid = -1};
            kedge_client_load(HANDLE(at->reader, at->ref), version, kedge_bytes_of(client->name),
                              &state, NULL);
            check_holds(at->all, CHECK_I13, state.lmid == client->last[pin],
                        "at version %lld the last id of %s is %lld, not %lld",
                        (long long)version->number, client->name, (long long)client->last[pin],
                        (long long)state.lmid);
        }
        kedge_version_release(version);
    }
}

void check_project(known_versions *known, kedge_backend *reader, const kedge_project_ref *ref,
                   suite_checks *all)
{
    history_check *at = calloc(1, sizeof *at);
    const kedge_version *head = load_newest(reader, ref);
    if (at == NULL) abort();
    *at = (history_check){.known = known,
                          .reader = reader,
                          .ref = ref,
                          .all = all,
                          .fold = kedge_overlay_new(&kedge_allocator_default),
                          .head = head == NULL ? 0 : head->number};
    check_holds(all, CHECK_I3, head != NULL, "the newest version cannot be read");
    for (int64_t number = 1; number <= at->head; number++) {
        const kedge_version *version = known_versions_load(known, HANDLE(reader, ref), number);
        if (!check_holds(all, CHECK_I3, version != NULL && version->number == number,
                         "version %lld is missing below %lld", (long long)number,
                         (long long)at->head))
            continue;
        check_mutations(at, version);
        fold(at, version);
        kedge_version_release(version);
    }
    if (head != NULL && head->number > 0) check_state(at, head);
    check_pins(at);
    if (head != NULL) kedge_version_release(head);
    kedge_overlay_free(at->fold);
    free(at);
}

int64_t check_last_id(kedge_backend *reader, const kedge_project_ref *ref, const char *client)
{
    kedge_client_state state = {.lmid = -1};
    const kedge_version *head = load_newest(reader, ref);
    if (head == NULL) return -1;
    kedge_client_load(HANDLE(reader, ref), head, kedge_bytes_of(client), &state, NULL);
    kedge_version_release(head);
    return state.lmid;
}
