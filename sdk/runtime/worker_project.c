/* The option `create_project`: a database that has never pulled creates its project before its
 * first request. A server that refuses is asked by the core nevertheless, since the project may be
 * there. */
#include "sdk/runtime/worker.h"

#include "common/error.h"
#include "sdk/core/core.h"

#include <string.h>

#define RESPONSE_BYTES_MAX 65536
/* Between two tries: twice as long after each, drawn from the upper half. */
#define RETRY_MIN_MS 2000
#define RETRY_MAX_MS 32000

/* Below 400 is also what a captive portal says: a page of its own, or where that is. */
static bool is_transient(int status)
{
    return status < 400 || status >= 500 || status == 408 || status == 425 || status == 429;
}

/* A server that is down, or overloaded, is not asked by all apps at once. */
static void plan_retry(kedge_db *db, int64_t retry_after_ms)
{
    kedge_project_creation *creation = &db->worker.creation;
    int64_t longest = RETRY_MIN_MS;
    for (uint32_t i = 0; i < creation->failures && longest < RETRY_MAX_MS; i++)
        longest *= 2;
    creation->failures++;
    if (retry_after_ms > KEDGE_CORE_RETRY_AFTER_MAX_MS)
        retry_after_ms = KEDGE_CORE_RETRY_AFTER_MAX_MS;
    uint64_t drawn = kedge_random_u64(&db->environment) % (uint64_t)(longest / 2);
    creation->at_ms = kedge_db_now_ms(db) + retry_after_ms + longest / 2 + (int64_t)drawn;
}

static void answered(void *context, const kedge_http_response *response)
{
    kedge_db *db = context;
    kedge_project_creation *creation = &db->worker.creation;
    creation->call = NULL;
    creation->error = (kedge_error){0};
    db->worker.moved = true;
    bool made = response->status == 200 || response->status == 201;
    if (made && kedge_bytes_start_with(response->content_type, KEDGE_BYTES("application/json"))) {
        creation->settled = true;
        kedge_log_write(db, KEDGE_LOG_INFO, "project-created", "%s/%s", db->organization,
                        db->project);
        return;
    }
    kedge_error error = response->error;
    bool kedge =
        response->status != 0 && kedge_net_problem(db->environment.allocator, response->status,
                                                   response->content_type, response->body, &error);
    if (response->status == 401 && kedge && !creation->token_renewed &&
        db->token.function != NULL) {
        creation->token_renewed = true;
        kedge_token_forget(&db->token); /* the next round asks for another one */
        return;
    }
    creation->token_renewed = false;
    creation->error = error;
    creation->settled = !is_transient(response->status);
    creation->doubtful = creation->settled && !kedge;
    plan_retry(db, response->retry_after_ms);
}

/* A project that was pulled is there. */
static bool was_pulled(kedge_db *db)
{
    kedge_store_position position;
    return kedge_store_position_get(db->store, &position, NULL) == KEDGE_OK && position.version > 0;
}

static void send_request(kedge_db *db)
{
    kedge_project_creation *creation = &db->worker.creation;
    kedge_status status = kedge_net_ask(db->net, "PUT", "", kedge_token_text(&db->token),
                                        KEDGE_LIMIT_REQUEST_DEADLINE_MS, false, RESPONSE_BYTES_MAX,
                                        answered, db, &creation->call, &creation->error);
    if (status != KEDGE_OK) plan_retry(db, 0);
}

bool kedge_worker_has_project(kedge_db *db, bool retry)
{
    kedge_project_creation *creation = &db->worker.creation;
    if (!db->create_project) return true;
    if (retry) {
        creation->settled = creation->settled && creation->error.status == KEDGE_OK;
        creation->at_ms = 0;
        creation->failures = 0;
    }
    if (!creation->settled && creation->call == NULL) creation->settled = was_pulled(db);
    /* Who refused was a proxy, which lets requests through by now. */
    if (creation->doubtful && creation->at_ms <= kedge_db_now_ms(db) &&
        strcmp(db->worker.core_error.code, "project-not-found") == 0)
        creation->settled = creation->doubtful = false;
    if (creation->settled) return true;
    if (creation->call == NULL && creation->at_ms <= kedge_db_now_ms(db)) send_request(db);
    return false;
}

bool kedge_worker_creates(const kedge_db *db)
{
    return db->create_project && !db->worker.creation.settled;
}

int64_t kedge_worker_creates_at_ms(const kedge_db *db)
{
    const kedge_worker *worker = &db->worker;
    bool waits = kedge_worker_creates(db) && worker->leading && !worker->token_refused &&
                 worker->creation.call == NULL;
    return waits ? worker->creation.at_ms : 0;
}

void kedge_worker_creation_cancel(kedge_db *db)
{
    kedge_project_creation *creation = &db->worker.creation;
    if (creation->call != NULL) kedge_http_cancel(creation->call);
    creation->call = NULL;
}
