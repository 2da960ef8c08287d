/* The stories. */
#include "tests/crashpoints/story.h"

#include <stdio.h>
#include <string.h>

#define LARGE_BYTES 9000  /* over what stays in a version */
#define DENSE_BYTES 16000 /* of random text: the args do not stay in the record either */
#define DENSE       "dense"

#define PUSH(client, first, last)                                                                  \
    {                                                                                              \
        OPERATION_PUSH, client, first, last, 0                                                     \
    }

const story stories[] = {
    {"one push comes twice", KEDGE_CADENCE_COMPACT, 1, PUSH("c1", 2, 5), PUSH("c1", 2, 5)},
    {"two clients push", KEDGE_CADENCE_COMPACT, 1, PUSH("c1", 2, 3), PUSH("c2", 2, 3)},
    {"a push comes again, longer", KEDGE_CADENCE_COMPACT, 1, PUSH("c1", 2, 3), PUSH("c1", 2, 6)},
    {"a client pushes and is retired",
     KEDGE_CADENCE_COMPACT,
     1,
     PUSH("c1", 2, 3),
     {OPERATION_RETIRE, "c1", 0, 0, 0}},
    {"two twins bring one origin",
     KEDGE_CADENCE_COMPACT,
     1,
     {OPERATION_PUSH, "c3", 1, 2, 1},
     {OPERATION_PUSH, "c4", 1, 1, 1}},
    {"index rows are due", KEDGE_CADENCE_COMPACT, 13, PUSH("c1", 2, 3), PUSH("c2", 2, 3)},
    {"rows and a checkpoint are due", KEDGE_CADENCE_COMPACT, 94, PUSH("c1", 2, 2),
     PUSH("c1", 2, 2)},
    {"a tool completes the rows beside a push",
     KEDGE_CADENCE_COMPACT,
     6,
     {OPERATION_INDEX, "c1", 0, 0, 0},
     PUSH("c1", 2, 3)},
    {"one push comes twice, seed cadence", KEDGE_CADENCE_SEED, 1, PUSH("c1", 2, 4),
     PUSH("c1", 2, 4)},
    {"two clients push, seed cadence", KEDGE_CADENCE_SEED, 1, PUSH("c1", 2, 3), PUSH("c2", 2, 3)},
    {"a push of large args comes twice", KEDGE_CADENCE_COMPACT, 1, PUSH(DENSE, 1, 2),
     PUSH(DENSE, 1, 2)},
};
const size_t story_count = sizeof stories / sizeof stories[0];

static const kedge_identity ann = {"ann", "writer", "acme", NULL, 0, false};
static const kedge_push_sender sender = {{"g1", 2}, &ann};

typedef struct pushed {
    kedge_push_mutation mutations[STORY_MUTATIONS_MAX];
    char args[STORY_MUTATIONS_MAX][DENSE_BYTES + 256];
    kedge_push push;
} pushed;

static void add(pushed *made, const char *client, int64_t id, int64_t origin)
{
    size_t at = made->push.count++;
    kedge_push_mutation *mutation = &made->mutations[at];
    char *args = made->args[at];
    int size = snprintf(args, 200,
                        "{\"collection\":\"items\",\"id\":\"i%d\",\"value\":{\"by\":\"%s\","
                        "\"n\":%d,\"text\":\"",
                        (int)(id % 4), origin > 0 ? "old" : client, (int)id);
    bool dense = strcmp(client, DENSE) == 0;
    size_t text = dense ? DENSE_BYTES : id % 3 == 0 ? LARGE_BYTES : 10;
    memset(args + size, 'x', text);
    uint64_t seed = (uint64_t)id;
    for (size_t i = 0; dense && i < text; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        args[(size_t)size + i] = (char)('a' + (seed >> 40) % 26);
    }
    snprintf(args + size + text, 8, "\"}}");
    *mutation = (kedge_push_mutation){
        .client = kedge_bytes_of(client),
        .id = id,
        .name = kedge_bytes_of(id % 5 == 0 ? "no.such.mutator" : "kedge.put"),
        .args = kedge_bytes_of(args),
        .timestamp_ms = 1700000000000 + id,
    };
    if (origin > 0) {
        mutation->origin_client = KEDGE_BYTES("old");
        mutation->origin_id = origin;
    }
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_sha256(mutation->args, hash);
    memcpy(mutation->digest, hash, sizeof mutation->digest);
}

static kedge_status push_ids(const kedge_project *project, const operation *wanted,
                             kedge_error *error)
{
    static _Thread_local pushed made;
    kedge_push_result result = {0};
    memset(&made.push, 0, sizeof made.push);
    made.push.senders = &sender;
    made.push.sender_count = 1;
    made.push.mutations = made.mutations;
    for (int64_t id = wanted->first; id <= wanted->last; id++)
        add(&made, wanted->client, id, id == wanted->first ? wanted->origin : 0);
    return kedge_processor_push(project, &made.push, &result, error);
}

kedge_status story_warm(const kedge_project *project, int64_t id, kedge_error *error)
{
    const operation one = PUSH("w", id, id);
    return push_ids(project, &one, error);
}

kedge_status story_prepare(const story *told, const kedge_project *project, kedge_error *error)
{
    const operation known[] = {PUSH("c1", 1, 1), PUSH("c2", 1, 1)};
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < 2 && status == KEDGE_OK; i++)
        status = push_ids(project, &known[i], error);
    for (int id = 1; id <= told->versions && status == KEDGE_OK; id++)
        status = story_warm(project, id, error);
    return status;
}

kedge_status story_do(const operation *wanted, const kedge_project *project, kedge_error *error)
{
    const kedge_version *at = NULL;
    kedge_status status = KEDGE_OK;
    switch (wanted->kind) {
    case OPERATION_PUSH:
        return push_ids(project, wanted, error);
    case OPERATION_INDEX:
        return kedge_processor_index(project, error);
    case OPERATION_RETIRE:
        break;
    }
    status = kedge_processor_retire(project, &ann, sender.group, kedge_bytes_of(wanted->client),
                                    &at, error);
    if (status == KEDGE_OK) kedge_version_release(at);
    return status;
}

int64_t story_last_id(const story *told, const operation *done)
{
    bool retires = told->first.kind == OPERATION_RETIRE || told->second.kind == OPERATION_RETIRE;
    return done->kind == OPERATION_PUSH && !retires ? done->last : 0;
}
