/* POST pull of a log project: the entries after the client's version, or the last snapshot.
 *
 * The cookie is known or lost as that of a versioned project is. A response goes on from it, up to
 * an entry that has a snapshot, whose hash it then tells, or up to a bound. A client that has
 * nothing, or that is far behind the last snapshot, gets the name of the snapshot instead. The
 * entries are the truth: a snapshot whose object is damaged is passed over. */
#include "backend/api/pull_log.h"
#include "backend/api/decided_log.h"
#include "backend/api/open.h"
#include "backend/api/wire.h"
#include "backend/logged/entry.h"
#include "backend/logged/snapshots.h"
#include "backend/versioned/index/clients.h"
#include "backend/versioned/model/version.h"
#include "backend/versioned/versions/versions.h"
#include "common/assert.h"
#include "common/gzip.h"
#include "wire/pull.h"

#include <string.h>

/* A client that is so many entries behind the last snapshot pages through it instead. */
#define BEHIND_MAX 10000
#define READ_AHEAD 100

typedef struct log_pull {
    kedge_api_call *call;
    const kedge_wire_pull_request *request;
    const kedge_version *head;
    int64_t from;
    bool lost;
    int64_t last_snapshot;           /* -1: none */
    const kedge_version *reached;    /* the response's version; released in the end */
    bool reached_system;             /* it is an entry of the log itself: `recent` is not there */
    char snapshot[KEDGE_SHA256_HEX]; /* of `reached`, or empty */
    const kedge_version **versions;  /* with mutations, to be told */
    size_t count;
    size_t bytes;
    size_t bytes_max;
    kedge_arena arena;
} log_pull;

/* ---- the cookie ---- */

static bool is_first(const kedge_wire_pull_request *request)
{
    return request->cookie.kind == KEDGE_WIRE_COOKIE_NULL;
}

static kedge_status is_known(log_pull *pull, int64_t number, const char *lineage, bool *known)
{
    kedge_api_call *call = pull->call;
    int64_t oldest = 1;
    *known = false;
    if (number > pull->head->number) return KEDGE_OK;
    if (number == pull->head->number) {
        *known = strcmp(lineage, pull->head->lineage) == 0;
        return KEDGE_OK;
    }
    kedge_status status =
        kedge_version_is_known(&call->project, number, lineage, known, &call->error);
    if (status != KEDGE_OK || *known || number == 0) return status;
    /* An entry that is no longer kept cannot tell whether the cookie is of this history. What the
     * client pushes is still compared by its digests. */
    status = kedge_retained_oldest(&call->project, &oldest, &call->error);
    *known = status == KEDGE_OK && number < oldest;
    return status;
}

static kedge_status find_lost(log_pull *pull)
{
    const kedge_wire_pull_request *request = pull->request;
    kedge_status status = KEDGE_OK;
    bool known = true;
    if (!is_first(request)) {
        known = false;
        if (request->cookie.kind == KEDGE_WIRE_COOKIE_OURS)
            status = is_known(pull, request->cookie.version, request->cookie.lineage, &known);
    }
    if (status == KEDGE_OK && known && request->seen)
        status = is_known(pull, request->seen_version, request->seen_lineage, &known);
    pull->lost = !known;
    pull->from = pull->lost || is_first(request) ? 0 : request->cookie.version;
    return status;
}

/* ---- entries ---- */

static void reach(log_pull *pull, const kedge_logged_entry *entry)
{
    kedge_version_release(pull->reached);
    kedge_version_retain(entry->version);
    pull->reached = entry->version;
    pull->reached_system = entry->is_system;
    memcpy(pull->snapshot, entry->snapshot, sizeof pull->snapshot);
}

/* Whether the entry goes into the response. */
static bool fits(const log_pull *pull, const kedge_logged_entry *entry)
{
    if (entry->version->number > pull->head->number) return false;
    if (entry->version->mutation_count == 0 || pull->count == 0) return true;
    return pull->count < KEDGE_WIRE_REPLAY_ENTRIES_MAX &&
           pull->bytes + entry->bytes <= pull->bytes_max;
}

/* `*gap`: what follows `from` is no longer kept. */
static kedge_status read_entries(log_pull *pull, bool *gap)
{
    kedge_api_call *call = pull->call;
    kedge_logged_reader reader;
    bool more = true;
    kedge_status status = kedge_logged_reader_open(&call->project, pull->from + 1, false,
                                                   READ_AHEAD, &reader, &call->error);
    while (status == KEDGE_OK && more) {
        kedge_logged_entry entry;
        status = kedge_logged_read(&reader, &entry, &call->error);
        if (status != KEDGE_OK) break;
        *gap = pull->reached == NULL && entry.version->number != pull->from + 1;
        more = !*gap && fits(pull, &entry);
        if (more) {
            reach(pull, &entry);
            if (entry.version->mutation_count > 0) {
                kedge_version_retain(entry.version);
                pull->versions[pull->count++] = entry.version;
                pull->bytes += entry.bytes;
            }
            more = entry.snapshot[0] == '\0' && entry.version->number < pull->head->number;
        }
        kedge_version_release(entry.version);
    }
    kedge_logged_reader_close(&reader);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

/* ---- the client ---- */

/* The native client's own state; one of another group or user is not known. */
static kedge_status load_own(log_pull *pull, const kedge_version *at, kedge_wire_pull_response *out)
{
    kedge_api_call *call = pull->call;
    const kedge_wire_pull_request *request = pull->request;
    kedge_client_state own;
    kedge_status status = kedge_client_load(&call->project, at, kedge_bytes_of(request->client_id),
                                            &own, &call->error);
    if (status != KEDGE_OK) return status;
    bool mine = own.known && kedge_bytes_equal_text(kedge_bytes_of(own.group), request->group_id) &&
                kedge_bytes_equal_text(kedge_bytes_of(own.user), call->request->identity->user);
    if (!mine) own = (kedge_client_state){.known = false};
    out->version = at->number;
    memcpy(out->lineage, at->lineage, sizeof out->lineage);
    out->lmid = own.lmid;
    out->retired = own.retired;
    out->known = own.known;
    out->from = pull->from;
    out->lost = pull->lost;
    out->log.present = true;
    out->log.more = at->number < pull->head->number;
    return KEDGE_OK;
}

/* ---- the response ---- */

static void write_response(log_pull *pull, const kedge_wire_pull_response *response)
{
    kedge_json_writer writer = kedge_json_write(&pull->call->response->body);
    kedge_wire_cookie cookie = kedge_wire_cookie_of(response->version, response->lineage);
    kedge_wire_pull_response_begin(&writer, &cookie);
    kedge_wire_pull_response_patch_begin(&writer);
    kedge_wire_pull_response_patch_end(&writer);
    kedge_wire_pull_response_native(&writer, response);
    kedge_wire_pull_response_end(&writer);
}

static kedge_status fill_mutations(log_pull *pull, kedge_api_decided *decided,
                                   const kedge_version *version,
                                   kedge_wire_replay_mutation *mutations)
{
    kedge_bytes own = kedge_bytes_of(pull->request->client_id);
    kedge_status status = KEDGE_OK;
    for (size_t at = 0; at < version->mutation_count && status == KEDGE_OK; at++) {
        mutations[at] = kedge_logged_mutation(&version->mutations[at]);
        if (mutations[at].decision == KEDGE_WIRE_REPLAY_DUPLICATE &&
            kedge_bytes_equal(mutations[at].client, own))
            status = kedge_api_decide_duplicate(decided, &mutations[at], &pull->arena);
    }
    return status;
}

static kedge_status fill_entries(log_pull *pull, kedge_wire_replay *out)
{
    kedge_status status = KEDGE_OK;
    kedge_api_decided decided =
        kedge_api_decided_by(pull->call, pull->head, pull->last_snapshot, pull->from);
    kedge_wire_replay_entry *entries =
        kedge_arena_take_array(&pull->arena, pull->count, sizeof *entries);
    if (entries == NULL && pull->count > 0) return KEDGE_NO_MEMORY;
    for (size_t i = 0; i < pull->count && status == KEDGE_OK; i++) {
        const kedge_version *version = pull->versions[i];
        kedge_wire_replay_mutation *mutations =
            kedge_arena_take_array(&pull->arena, version->mutation_count, sizeof *mutations);
        status = mutations == NULL ? KEDGE_NO_MEMORY
                                   : fill_mutations(pull, &decided, version, mutations);
        entries[i] = (kedge_wire_replay_entry){version->number, mutations, version->mutation_count};
    }
    kedge_api_decided_close(&decided);
    out->entries = entries;
    out->count = pull->count;
    return status;
}

/* The hash of the state at the version that was reached, if it has a snapshot. */
static kedge_status find_hash(log_pull *pull, kedge_wire_replay *out)
{
    kedge_api_call *call = pull->call;
    if (pull->snapshot[0] == '\0') return KEDGE_OK;
    kedge_status status =
        kedge_logged_snapshot_hash(&call->project, pull->snapshot, out->hash, &call->error);
    out->hashed = status == KEDGE_OK;
    return kedge_api_report_damaged_snapshot(call, status) ? KEDGE_OK : status;
}

/* The version that was reached, with `recent`, for the lmid. */
static kedge_status open_reached(log_pull *pull, const kedge_version **at)
{
    kedge_api_call *call = pull->call;
    *at = pull->head;
    if (pull->reached != NULL && pull->reached->number < pull->head->number) {
        if (pull->reached_system)
            return kedge_version_load(&call->project, pull->reached->number, at, &call->error);
        *at = pull->reached;
    }
    kedge_version_retain(*at);
    return KEDGE_OK;
}

static kedge_status respond_entries(log_pull *pull)
{
    kedge_api_call *call = pull->call;
    const kedge_version *at;
    kedge_wire_pull_response response = {.outcomes = kedge_wire_outcomes_make(call->allocator)};
    kedge_status status = open_reached(pull, &at);
    if (status != KEDGE_OK) return status;
    KEDGE_ASSERT(pull->reached != NULL || pull->from == pull->head->number);
    status = load_own(pull, at, &response);
    if (status == KEDGE_OK) status = fill_entries(pull, &response.log);
    if (status == KEDGE_OK) status = find_hash(pull, &response.log);
    if (status == KEDGE_OK) write_response(pull, &response);
    kedge_wire_outcomes_free(&response.outcomes);
    kedge_version_release(at);
    return status;
}

/* ---- the snapshot ---- */

static kedge_status respond_snapshot(log_pull *pull)
{
    kedge_api_call *call = pull->call;
    const kedge_wire_pull_request *request = pull->request;
    kedge_logged_snapshot snapshot;
    kedge_wire_pull_response response = {.outcomes = kedge_wire_outcomes_make(call->allocator),
                                         .snapshot = true};
    kedge_status status =
        kedge_logged_snapshot_open(&call->project, pull->last_snapshot, &snapshot, &call->error);
    if (status != KEDGE_OK) return status;
    pull->from = 0;
    status = load_own(pull, snapshot.at, &response);
    if (status == KEDGE_OK) {
        int64_t to = response.lmid < request->highest_id ? response.lmid : request->highest_id;
        status = kedge_api_load_outcomes(call, snapshot.at, kedge_bytes_of(request->client_id),
                                         request->lowest_pending < 1 ? 1 : request->lowest_pending,
                                         to, &response.outcomes);
    }
    if (status == KEDGE_OK)
        status = kedge_api_tell_rejections(call, &snapshot, kedge_bytes_of(request->client_id),
                                           &response.outcomes);
    response.log.hashed = true;
    memcpy(response.log.hash, snapshot.hash, sizeof response.log.hash);
    if (status == KEDGE_OK) write_response(pull, &response);
    kedge_wire_outcomes_free(&response.outcomes);
    kedge_logged_snapshot_close(&snapshot);
    return status;
}

/* ---- the pull ---- */

static bool wants_snapshot(const log_pull *pull, bool gap)
{
    if (pull->last_snapshot < 1 || pull->last_snapshot <= pull->from) return false;
    return gap || pull->lost || is_first(pull->request) ||
           pull->last_snapshot - pull->from > BEHIND_MAX;
}

/* `*carried` false: the response has more bytes than the front end can carry. Its entry was
 * appended by another front end, or was small enough as gzip, which this client does not take. */
static kedge_status check_size(const log_pull *pull, bool *carried)
{
    kedge_api_call *call = pull->call;
    size_t most = call->project.backend->options.response_bytes_max;
    const kedge_buffer *body = &call->response->body;
    *carried = most == 0 || body->size <= most;
    if (*carried || !call->request->accepts_gzip) return KEDGE_OK;
    kedge_buffer packed = kedge_buffer_make(call->allocator);
    kedge_status status = kedge_gzip(kedge_buffer_bytes(body), &packed, &call->error);
    *carried = packed.size <= most;
    kedge_buffer_free(&packed);
    return status;
}

/* A snapshot behind entries that the front end cannot carry takes their place. */
static kedge_status respond_news(log_pull *pull)
{
    bool carried;
    kedge_status status = respond_entries(pull);
    if (status == KEDGE_OK) status = check_size(pull, &carried);
    if (status != KEDGE_OK || carried || pull->reached == NULL) return status;
    if (pull->last_snapshot < pull->reached->number) {
        kedge_logged_make_anew(&pull->call->project, pull->head);
        return KEDGE_OK;
    }
    kedge_buffer_clear(&pull->call->response->body);
    status = respond_snapshot(pull);
    if (kedge_api_report_damaged_snapshot(pull->call, status))
        kedge_logged_make_anew(&pull->call->project, pull->head);
    return status;
}

static kedge_status respond(log_pull *pull)
{
    kedge_api_call *call = pull->call;
    bool gap = false;
    kedge_status status = find_lost(pull);
    bool news = status == KEDGE_OK && pull->from < pull->head->number;
    int64_t from = pull->from;
    if (news)
        status = kedge_logged_last_snapshot(&call->project, &pull->last_snapshot, &call->error);
    if (status == KEDGE_OK && wants_snapshot(pull, false)) {
        status = respond_snapshot(pull);
        if (!kedge_api_report_damaged_snapshot(call, status)) return status;
        pull->from = from;
        status = KEDGE_OK;
    }
    if (status == KEDGE_OK && news) status = read_entries(pull, &gap);
    if (status == KEDGE_OK && gap && wants_snapshot(pull, true)) return respond_snapshot(pull);
    if (status == KEDGE_OK && gap) {
        kedge_api_refuse(call, 500, "entries-missing",
                         "the entries after %lld are no longer kept, and there is no snapshot",
                         (long long)pull->from);
        return KEDGE_OK;
    }
    return status == KEDGE_OK ? respond_news(pull) : status;
}

void kedge_api_pull_log(kedge_api_call *call, const kedge_wire_pull_request *request)
{
    const kedge_backend_options *options = &call->project.backend->options;
    log_pull pull = {
        .call = call,
        .request = request,
        .last_snapshot = -1,
        .bytes_max = kedge_api_at_most(KEDGE_WIRE_REPLAY_BYTES, options->response_bytes_max / 2),
        .arena = kedge_arena_make(call->allocator)};
    if (!request->native) {
        kedge_api_refuse_foreign(call);
        return;
    }
    if (!kedge_api_open_head(call, &pull.head)) return;
    pull.versions =
        kedge_arena_take_array(&pull.arena, KEDGE_WIRE_REPLAY_ENTRIES_MAX, sizeof *pull.versions);
    kedge_status status = pull.versions == NULL ? KEDGE_NO_MEMORY : respond(&pull);
    while (pull.count > 0)
        kedge_version_release(pull.versions[--pull.count]);
    kedge_version_release(pull.reached);
    kedge_version_release(pull.head);
    kedge_arena_free(&pull.arena);
    if (status != KEDGE_OK) kedge_api_fail(call, status);
}
