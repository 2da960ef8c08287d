/* The outcomes of a client's mutations (queries 5 and 6). */
#include "backend/api/decided_log.h"
#include "backend/api/handlers.h"
#include "backend/api/open.h"
#include "backend/api/wire.h"
#include "backend/versioned/index/clients.h"
#include "backend/versioned/versions/versions.h"

/* ---- ranges of outcomes ---- */

void kedge_api_mutations(kedge_api_call *call)
{
    int64_t from = 1;
    int64_t to = KEDGE_LIMIT_MUTATION_ID;
    int64_t number;
    const kedge_version *version;
    kedge_client_state client;
    if (!kedge_api_query_integer(call, "from", 0, KEDGE_LIMIT_MUTATION_ID, &from) ||
        !kedge_api_query_integer(call, "to", 0, KEDGE_LIMIT_MUTATION_ID, &to) ||
        !kedge_api_query_version(call, &number) ||
        !kedge_api_open_version(call, number, 404, "version-not-found", &version)) {
        return;
    }
    kedge_wire_outcomes outcomes = kedge_wire_outcomes_make(call->allocator);
    kedge_status status =
        kedge_client_load(&call->project, version, call->argument[0], &client, &call->error);
    if (status == KEDGE_OK) {
        status = kedge_api_load_outcomes(call, version, call->argument[0], from < 1 ? 1 : from,
                                         to < client.lmid ? to : client.lmid, &outcomes);
    }
    if (status == KEDGE_OK) status = kedge_api_keep_decided(call, call->argument[0], &outcomes);
    if (status == KEDGE_OK) {
        kedge_wire_outcomes_response_write(&outcomes, &call->response->body);
    }
    kedge_wire_outcomes_free(&outcomes);
    kedge_version_release(version);
    if (status != KEDGE_OK) kedge_api_fail(call, status);
}

/* ---- one mutation ---- */

typedef struct one_mutation {
    kedge_api_call *call;
    kedge_json_writer writer;
    bool found;
} one_mutation;

static void write_members(one_mutation *one, int64_t version,
                          const kedge_version_mutation *mutation)
{
    one->found = true;
    kedge_json_begin_object(&one->writer);
    kedge_api_write_mutation(&one->writer, mutation);
    kedge_json_key(&one->writer, "version");
    kedge_json_integer(&one->writer, version);
    kedge_json_end_object(&one->writer);
}

/* An index row holds what deduplication needs; the whole mutation stands in its version, as long as
 * that is kept. */
static kedge_status write_one(void *context, int64_t number, const kedge_version_mutation *mutation,
                              kedge_error *error)
{
    one_mutation *one = context;
    const kedge_version *version;
    kedge_status status = kedge_version_load(&one->call->project, number, &version, error);
    if (status == KEDGE_NOT_FOUND) {
        write_members(one, number, mutation);
        return KEDGE_OK;
    }
    if (status != KEDGE_OK) return status;
    for (size_t at = 0; at < version->mutation_count && !one->found; at++) {
        const kedge_version_mutation *whole = &version->mutations[at];
        if (whole->id != mutation->id || !kedge_bytes_equal(whole->client, mutation->client)) {
            continue;
        }
        write_members(one, number, whole);
    }
    kedge_version_release(version);
    return KEDGE_OK;
}

/* `id` 0: the client's last. */
static kedge_status find_mutation(kedge_api_call *call, const kedge_version *at, int64_t id,
                                  one_mutation *one)
{
    int64_t next;
    kedge_client_state client;
    kedge_status status =
        kedge_client_load(&call->project, at, call->argument[0], &client, &call->error);
    if (status != KEDGE_OK) return status;
    if (id == 0) id = client.lmid;
    if (id == 0 || id > client.lmid) return KEDGE_OK;
    return kedge_client_mutations(&call->project, at, call->argument[0], id, id, 1, write_one, one,
                                  &next, &call->error);
}

void kedge_api_mutation(kedge_api_call *call)
{
    int64_t id = 0;
    const kedge_version *head;
    one_mutation one = {.call = call, .writer = kedge_json_write(&call->response->body)};
    kedge_wire_version_read(call->argument[1], &id);
    if (!kedge_api_open_head(call, &head)) return;
    kedge_status status = find_mutation(call, head, id, &one);
    kedge_version_release(head);
    if (status != KEDGE_OK) {
        kedge_api_fail(call, status);
    } else if (!one.found) {
        kedge_api_refuse(call, 404, "mutation-not-found",
                         "no version has a mutation %.*s of the client %.*s",
                         (int)call->argument[1].size, call->argument[1].data,
                         (int)call->argument[0].size, call->argument[0].data);
    }
}
