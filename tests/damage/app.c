/* The app in the damaged folder, through the public API: see damage.h. */
#include "tests/damage/damage.h"

#include "common/json.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#define READ_TRIES      4
#define EDITS           3
#define SYNC_TRIES      12
#define SYNC_TIMEOUT_MS 1000
#define STOPS_MAX       3
#define WAITS           60
#define WAIT_MS         50
#define CLIENTS_MAX     5  /* ids that one session may go through */
#define VERSIONS_MAX    60 /* that one session may make; a push of everything is one */

typedef struct app {
    const char *folder, *url;
    damage_ledger *ledger;
    damage_seen *seen;
    bool cache_damaged; /* then reads may show an older state */
    kedge_db *db;
    char client[KEDGE_CLIENT_ID_SIZE];
} app;

/* ---- reading ---- */

/* An outbox that is found damaged while it is open is a refusal, too. */
static bool is_refusal(damage_seen *seen, const kedge_error *error)
{
    if (error->status != KEDGE_CORRUPT || !strstr(error->message, "outbox.db")) return false;
    if (!seen->refused) damage_note(seen, "refused while open: %s", error->message);
    seen->refused = true;
    seen->refusal = *error;
    return true;
}

static bool read_failed(damage_seen *seen, const char *what, const kedge_error *error)
{
    damage_note(seen, "%s: %s (%s)", what, error->message, error->code);
    is_refusal(seen, error);
    seen->told_by_read = true;
    return false;
}

static void read_value(const damage_ledger *ledger, damage_seen *seen, damage_view *view,
                       const char *collection, const char *id, kedge_bytes value)
{
    long token = damage_token_of(ledger, collection, id, value.data, value.size);
    if (kedge_json_check(value, 8, &kedge_allocator_default, NULL) != KEDGE_OK)
        damage_wrong(seen, "%s/%.40s reads %.60s, which is not JSON", collection, id, value.data);
    else if (token == 0)
        damage_wrong(seen, "%s/%.40s reads %.60s, which was never written", collection, id,
                     value.data);
    else if (strcmp(collection, "shared") == 0)
        view->shared = token;
    else
        view->shown[token]++;
}

static bool read_collection(kedge_db *db, const damage_ledger *ledger, damage_seen *seen,
                            damage_view *view, const char *collection)
{
    kedge_scan *scan = NULL;
    kedge_error error = {0};
    const char *id, *text;
    kedge_bytes value;
    size_t id_size;
    char before[600] = "";
    kedge_status status = kedge_scan_open(db, collection, NULL, &scan, &error);
    if (status != KEDGE_OK) return read_failed(seen, "a scan", &error);
    while ((status = kedge_scan_next(scan, &id, &id_size, &text, &value.size, &error)) ==
           KEDGE_OK) {
        value.data = text;
        read_value(ledger, seen, view, collection, id, value);
        if (before[0] && strcmp(before, id) >= 0) {
            damage_note(seen, "a scan of %s gave %.40s behind %.40s", collection, id, before);
            view->disorder = true;
        }
        (void)snprintf(before, sizeof before, "%s", id);
    }
    kedge_scan_close(scan);
    return status == KEDGE_DONE || read_failed(seen, "a scan", &error);
}

/* A query sees all collections, also one that nobody ever had. */
static bool read_query(kedge_db *db, const damage_ledger *ledger, damage_seen *seen,
                       damage_view *view)
{
    static const char sql[] = "SELECT collection, id, value FROM kedge_items";
    kedge_query *query = NULL;
    kedge_error error = {0};
    kedge_status status = kedge_query_open(db, sql, strlen(sql), NULL, 0, &query, &error);
    if (status != KEDGE_OK) return read_failed(seen, "a query", &error);
    while ((status = kedge_query_next(query, &error)) == KEDGE_OK) {
        const char *texts[3];
        kedge_bytes value = {NULL, 0};
        for (int32_t i = 0; i < 3; i++)
            texts[i] = kedge_query_text(query, i, i == 2 ? &value.size : NULL);
        if (!texts[0] || !texts[1] || !texts[2]) {
            damage_wrong(seen, "a query gave a row with NULL");
            continue;
        }
        value.data = texts[2];
        read_value(ledger, seen, view, texts[0], texts[1], value);
    }
    kedge_query_close(query);
    return status == KEDGE_DONE || read_failed(seen, "a query", &error);
}

/* By key what the scan gave, and nothing else. */
static bool read_by_key(kedge_db *db, const damage_ledger *ledger, damage_seen *seen,
                        damage_view *view)
{
    for (long token = 1; token < ledger->count; token++) {
        const damage_edit *edit = &ledger->edits[token];
        if (!edit->known || edit->shared || (ledger->count > 300 && token % 16 != 0)) continue;
        kedge_document *document = NULL;
        kedge_error error = {0};
        char id[32];
        int size = snprintf(id, sizeof id, "t%ld", token);
        const char *collection = edit->rejected ? "local" : "edits";
        kedge_status status = kedge_get(db, collection, id, (size_t)size, &document, &error);
        if (status != KEDGE_OK && status != KEDGE_NOT_FOUND)
            return read_failed(seen, "kedge_get", &error);
        if ((status == KEDGE_OK) != (view->shown[token] != 0)) {
            damage_note(seen, "%s/%s: kedge_get and a scan differ", collection, id);
            view->disorder = true;
        }
        size_t value_size = 0;
        const char *value = status == KEDGE_OK ? kedge_document_json(document, &value_size) : NULL;
        if (value && !damage_token_of(ledger, collection, id, value, value_size))
            damage_wrong(seen, "%s/%s: kedge_get gave %.60s", collection, id, value);
        kedge_document_free(document);
    }
    return true;
}

bool damage_read_all(kedge_db *db, const damage_ledger *ledger, damage_seen *seen,
                     damage_view *view)
{
    static damage_view queried;
    for (int tries = 0; tries < READ_TRIES; tries++) {
        memset(view, 0, sizeof *view);
        memset(&queried, 0, sizeof queried);
        if (!read_collection(db, ledger, seen, view, "edits") ||
            !read_collection(db, ledger, seen, view, "local") ||
            !read_collection(db, ledger, seen, view, "shared") ||
            !read_query(db, ledger, seen, &queried) || !read_by_key(db, ledger, seen, view))
            continue;
        if (memcmp(view->shown, queried.shown, sizeof queried.shown) != 0 ||
            view->shared != queried.shared)
            view->disorder = true;
        return true;
    }
    return false;
}

/* ---- lists and the status ---- */

static bool read_status(app *one, kedge_sync_status *status)
{
    kedge_error error = {0};
    damage_seen *seen = one->seen;
    if (kedge_get_sync_status(one->db, status, &error) != KEDGE_OK)
        return read_failed(seen, "the status", &error);
    if (status->resyncing && !seen->repaired) seen->healed = true;
    if (one->client[0] && strcmp(one->client, status->client) != 0) seen->rotated = true;
    (void)snprintf(one->client, sizeof one->client, "%s", status->client);
    seen->unrecovered = status->unrecovered;
    seen->pending = status->pending;
    return true;
}

/* A damaged entry tells its edit by its sequence, or by the args that can be read. */
static void read_rejected(app *one, const kedge_mutation *row)
{
    damage_seen *seen = one->seen;
    bool damaged = strcmp(row->code, "damaged") == 0;
    long named = damage_token_of_sequence(one->ledger, row->sequence);
    long written = damage_token_of_args(one->ledger, row->args, row->args_size);
    if (damaged) {
        if (!seen->set_aside)
            damage_note(seen, "set aside: %lld, %.60s: %s", (long long)row->sequence, row->args,
                        row->message);
        seen->set_aside = true;
        seen->inboxed[written]++;
    } else if (named == 0 || written != named) {
        damage_wrong(seen, "the inbox has %lld (%s) %.60s, which is not what was made",
                     (long long)row->sequence, row->code, row->args);
    } else if (!one->ledger->edits[named].rejected) {
        damage_note(seen, "t%ld was rejected: %s, %s", named, row->code, row->message);
    }
    seen->inboxed[named]++;
}

static bool read_inbox(app *one)
{
    kedge_mutation_list *list = NULL;
    kedge_mutation row = KEDGE_MUTATION_INIT;
    kedge_error error = {0};
    damage_seen *seen = one->seen;
    kedge_status status = kedge_rejected_open(one->db, &list, &error);
    if (status != KEDGE_OK) return read_failed(seen, "the inbox", &error);
    memset(seen->inboxed, 0, sizeof seen->inboxed);
    while ((status = kedge_mutation_list_next(list, &row, &error)) == KEDGE_OK) {
        read_rejected(one, &row);
    }
    kedge_mutation_list_close(list);
    return status == KEDGE_DONE || read_failed(seen, "the inbox", &error);
}

static bool read_pending(app *one, int64_t counted)
{
    kedge_mutation_list *list = NULL;
    kedge_mutation row = KEDGE_MUTATION_INIT;
    kedge_error error = {0};
    damage_seen *seen = one->seen;
    int64_t rows = 0;
    kedge_status status = kedge_pending_open(one->db, &list, &error);
    if (status != KEDGE_OK) return read_failed(seen, "what is pending", &error);
    memset(seen->listed, 0, sizeof seen->listed);
    while ((status = kedge_mutation_list_next(list, &row, &error)) == KEDGE_OK) {
        long token = damage_token_of_args(one->ledger, row.args, row.args_size);
        rows++;
        if (token && ++seen->listed[token] > 1) damage_wrong(seen, "t%ld is pending twice", token);
        if (!token && strcmp(row.name, "kedge.noop") != 0)
            damage_wrong(seen, "pending is %lld %.60s, which is not what was made",
                         (long long)row.sequence, row.args);
    }
    kedge_mutation_list_close(list);
    if (status == KEDGE_DONE && rows != counted)
        damage_wrong(seen, "the status counts %lld pending, the list has %lld", (long long)counted,
                     (long long)rows);
    return status == KEDGE_DONE || read_failed(seen, "what is pending", &error);
}

static bool read_lists(app *one)
{
    kedge_sync_status status = KEDGE_SYNC_STATUS_INIT;
    return read_status(one, &status) && read_inbox(one) && read_pending(one, status.pending);
}

/* ---- editing and syncing ---- */

static bool is_shown(app *one, long token)
{
    kedge_document *document = NULL;
    kedge_error error = {0};
    char id[32];
    int size = snprintf(id, sizeof id, "t%ld", token);
    kedge_status status = kedge_get(one->db, "edits", id, (size_t)size, &document, &error);
    if (status != KEDGE_OK && status != KEDGE_NOT_FOUND) {
        read_failed(one->seen, "kedge_get", &error);
        return true; /* it says so */
    }
    size_t value_size = 0;
    const char *value = document ? kedge_document_json(document, &value_size) : "";
    bool shown = damage_token_of(one->ledger, "edits", id, value, value_size) == token;
    kedge_document_free(document);
    return shown;
}

static void make_edits(app *one)
{
    damage_ledger *ledger = one->ledger;
    for (int i = 0; i < EDITS; i++) {
        kedge_error error = {0};
        long token = ledger->count++;
        damage_edit *edit = &ledger->edits[token];
        if (damage_make_edit(one->db, ledger, token, &error) != KEDGE_OK) {
            read_failed(one->seen, "an edit", &error);
            continue;
        }
        long other = damage_token_of_sequence(ledger, edit->sequence);
        if (other && one->seen->repaired)
            ledger->edits[other].sequence = 0; /* the new folder counts for itself */
        else if (other)
            damage_wrong(one->seen, "sequence %lld was given out again: t%ld, now t%ld",
                         (long long)edit->sequence, other, token);
        edit->ours = edit->late = true;
        if (!is_shown(one, token))
            damage_wrong(one->seen, "t%ld was acknowledged and is not shown", token);
    }
}

/* True when there is no point in asking again. */
static bool is_over(app *one, const kedge_sync_status *now, int64_t version, int clients,
                    const kedge_error *error, int stops)
{
    damage_seen *seen = one->seen;
    seen->waiting = strcmp(now->last_error.code, "client-id-unstable") == 0;
    if (clients > CLIENTS_MAX || now->version - version > VERSIONS_MAX) {
        damage_endless(seen, "%d client ids and %lld versions in one sync; last_error \"%s\"",
                       clients, (long long)(now->version - version), now->last_error.code);
        return true;
    }
    return seen->waiting || stops >= STOPS_MAX || is_refusal(seen, error) ||
           is_refusal(seen, &now->last_error);
}

static void sync_bounded(app *one)
{
    damage_seen *seen = one->seen;
    kedge_sync_status now = KEDGE_SYNC_STATUS_INIT;
    kedge_error error = {0};
    int clients = 0, stops = 0;
    seen->synced = false;
    if (!read_status(one, &now) || kedge_set_online(one->db, true, &error) != KEDGE_OK) return;
    int64_t version = now.version;
    for (int tries = 0; tries < SYNC_TRIES && !seen->synced; tries++) {
        char before[KEDGE_CLIENT_ID_SIZE];
        (void)snprintf(before, sizeof before, "%s", one->client);
        error = (kedge_error){0};
        seen->synced = kedge_sync(one->db, SYNC_TIMEOUT_MS, &error) == KEDGE_OK;
        if (!read_status(one, &now)) break;
        clients += strcmp(before, one->client) != 0;
        if (now.version < version) version = now.version; /* another lineage */
        if (!seen->synced && now.connection == KEDGE_STOPPED) {
            stops++;
            kedge_set_online(one->db, true, NULL);
        }
        if (is_over(one, &now, version, clients, &error, stops)) break;
    }
    if (!seen->synced)
        damage_note(seen, "no sync: %s (%s); last_error \"%s\" %.100s", error.message, error.code,
                    now.last_error.code, now.last_error.message);
    kedge_set_online(one->db, false, NULL);
}

static void check_shared(app *one)
{
    damage_seen *seen = one->seen;
    long expected = one->ledger->shared_shown;
    kedge_sync_status now = KEDGE_SYNC_STATUS_INIT;
    if (!expected || one->cache_damaged || !read_status(one, &now) || now.resyncing) return;
    if (seen->view.shared != expected)
        damage_wrong(seen, "the shared item shows t%ld, and the newer t%ld was there",
                     seen->view.shared, expected);
}

/* ---- sessions ---- */

static bool open_one(app *one)
{
    kedge_options options = damage_options(one->folder, one->url);
    kedge_error error = {0};
    if (kedge_open(&options, &one->db, &error) == KEDGE_OK) return true;
    one->seen->refused = true;
    one->seen->refusal = error;
    damage_note(one->seen, "refused: %s (%s, %s)", error.message, error.code,
                kedge_status_name(error.status));
    return false;
}

/* True when the folder could be used to the end. */
static bool session(app *one, bool first)
{
    damage_seen *seen = one->seen;
    if (!open_one(one)) return false;
    seen->opened = true;
    bool read = damage_read_all(one->db, one->ledger, seen, &seen->view);
    read_lists(one);
    if (first && read) check_shared(one);
    if (first) make_edits(one);
    if (!seen->refused) sync_bounded(one);
    bool ended = !seen->refused && damage_read_all(one->db, one->ledger, seen, &seen->view) &&
                 read_lists(one);
    if (!ended && !seen->refused) damage_note(seen, "reads keep failing");
    kedge_close(one->db);
    one->db = NULL;
    return ended;
}

void damage_app(const char *folder, const char *url, bool cache_damaged, damage_ledger *ledger,
                damage_seen *seen)
{
    app one = {.folder = folder,
               .url = url,
               .cache_damaged = cache_damaged,
               .ledger = ledger,
               .seen = seen};
    bool ended = session(&one, true);
    if (seen->opened && !seen->endless && !seen->refused) {
        damage_note(seen, "opened again");
        ended = session(&one, false);
    }
    seen->finished = ended || seen->refused;
}

void damage_app_waits(const char *folder, const char *url, damage_ledger *ledger, damage_seen *seen)
{
    app one = {.folder = folder, .url = url, .ledger = ledger, .seen = seen};
    if (!open_one(&one)) return;
    damage_note(seen, "opened and waited for, since %s", damage_difference(seen));
    kedge_set_online(one.db, true, NULL);
    for (int i = 0; i < WAITS && damage_difference(seen); i++) {
        poll(NULL, 0, WAIT_MS);
        seen->synced = kedge_sync(one.db, SYNC_TIMEOUT_MS, NULL) == KEDGE_OK;
        if (!damage_read_all(one.db, ledger, seen, &seen->view) || !read_lists(&one)) break;
    }
    kedge_close(one.db);
}
