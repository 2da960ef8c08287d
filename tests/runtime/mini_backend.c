/* One project in memory behind one lock. */
#include "tests/runtime/mini_backend.h"
#include "common/gzip.h"
#include "common/hash.h"
#include "common/json.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ITEMS_MAX       4096
#define VALUE_BYTES_MAX 4096
#define MUTATIONS_MAX   16384
#define LINEAGE         "0123456789abcdef0123456789abcdef"
#define PROBLEM         "Content-Type: application/problem+json\r\n"
#define JSON            "Content-Type: application/json\r\n"

typedef struct item {
    char id[128];
    char value[VALUE_BYTES_MAX];
    int64_t version;
} item;

typedef struct mutation {
    char client[130];
    int64_t id;
    int64_t version;
    char digest[KEDGE_DIGEST_HEX];
} mutation;

struct mini_backend {
    pthread_mutex_t lock;
    bool failing;
    char token[64];
    int64_t version;
    size_t item_count;
    size_t mutation_count;
    item items[ITEMS_MAX];
    mutation mutations[MUTATIONS_MAX];
};

mini_backend *mini_backend_new(void)
{
    mini_backend *backend = calloc(1, sizeof *backend);
    if (backend == NULL) abort();
    pthread_mutex_init(&backend->lock, NULL);
    return backend;
}

void mini_backend_free(mini_backend *backend)
{
    pthread_mutex_destroy(&backend->lock);
    free(backend);
}

/* ---- state; the lock is held ---- */

static void put_item(mini_backend *backend, const char *id, const char *value)
{
    size_t at = 0;
    while (at < backend->item_count && strcmp(backend->items[at].id, id) != 0) {
        at++;
    }
    if (at == ITEMS_MAX) abort();
    if (at == backend->item_count) backend->item_count++;
    item *changed = &backend->items[at];
    snprintf(changed->id, sizeof changed->id, "%s", id);
    snprintf(changed->value, sizeof changed->value, "%s", value);
    changed->version = backend->version;
}

static int64_t lmid_of(const mini_backend *backend, const char *client)
{
    int64_t lmid = 0;
    for (size_t i = 0; i < backend->mutation_count; i++) {
        if (strcmp(backend->mutations[i].client, client) == 0) lmid = backend->mutations[i].id;
    }
    return lmid;
}

/* The digest of wire.md: over canonical {args, name, uid}. */
static void digest_of(kedge_bytes pushed, char hex[KEDGE_DIGEST_HEX])
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_bytes value;
    static const char *const names[] = {"args", "name", "uid"};
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer canonical = kedge_buffer_make(&kedge_allocator_default);
    kedge_json_writer writer = kedge_json_write(&text);
    kedge_json_begin_object(&writer);
    for (int i = 0; i < 3; i++) {
        if (!kedge_json_member(pushed, names[i], &value)) continue;
        kedge_json_key(&writer, names[i]);
        kedge_json_raw(&writer, value);
    }
    kedge_json_end_object(&writer);
    kedge_json_canonical(kedge_buffer_bytes(&text), &canonical, NULL);
    kedge_sha256(kedge_buffer_bytes(&canonical), hash);
    kedge_hex_encode(hash, KEDGE_DIGEST_SIZE, hex);
    kedge_buffer_free(&text);
    kedge_buffer_free(&canonical);
}

/* Applies one pushed mutation; `version` is the run's. False for one that was decided before. */
static bool apply(mini_backend *backend, kedge_bytes pushed)
{
    mutation made = {.version = backend->version};
    char id[128];
    char value[VALUE_BYTES_MAX];
    kedge_bytes args;
    kedge_bytes json;
    kedge_json_member_chars(pushed, "clientID", made.client, sizeof made.client);
    kedge_json_member_integer(pushed, "id", &made.id);
    if (made.id != lmid_of(backend, made.client) + 1) return false;
    if (backend->mutation_count == MUTATIONS_MAX) abort();
    digest_of(pushed, made.digest);
    backend->mutations[backend->mutation_count++] = made;
    if (kedge_json_member(pushed, "args", &args) &&
        kedge_json_member_chars(args, "id", id, sizeof id) &&
        kedge_json_member(args, "value", &json)) {
        snprintf(value, sizeof value, "%.*s", (int)json.size, json.data);
        put_item(backend, id, value);
    }
    return true;
}

/* ---- requests ---- */

static void respond_push(mini_backend *backend, const scripted_request *request, kedge_bytes body)
{
    char response[64];
    kedge_bytes list;
    kedge_bytes pushed;
    bool applied = false;
    kedge_json_member(body, "mutations", &list);
    kedge_json_iterator iterator = kedge_json_iterate(list);
    pthread_mutex_lock(&backend->lock);
    backend->version++;
    while (kedge_json_next_element(&iterator, &pushed)) {
        if (apply(backend, pushed)) applied = true;
    }
    if (!applied) backend->version--;
    snprintf(response, sizeof response, "{\"kedge\":{\"version\":%" PRId64 "}}", backend->version);
    pthread_mutex_unlock(&backend->lock);
    scripted_respond(request, 200, JSON, response);
}

static int by_id(const void *a, const void *b)
{
    return strcmp(((const item *)a)->id, ((const item *)b)->id);
}

static void write_patch(mini_backend *backend, kedge_buffer *out, int64_t from, bool whole)
{
    const char *comma = "";
    if (whole) kedge_buffer_append_text(out, "{\"op\":\"clear\"}");
    if (whole) comma = ",";
    qsort(backend->items, backend->item_count, sizeof(item), by_id);
    for (size_t i = 0; i < backend->item_count; i++) {
        const item *changed = &backend->items[i];
        if (changed->version <= from) continue;
        kedge_buffer_append_format(out, "%s{\"op\":\"put\",\"key\":\"notes/%s\",\"value\":%s}",
                                   comma, changed->id, changed->value);
        comma = ",";
    }
}

/* Outcomes from `lowest` on, at most 1,000; what to go on from, or 0. */
static int64_t write_outcomes(const mini_backend *backend, kedge_buffer *out, const char *client,
                              int64_t lowest)
{
    int count = 0;
    for (size_t i = 0; i < backend->mutation_count; i++) {
        const mutation *decided = &backend->mutations[i];
        if (strcmp(decided->client, client) != 0 || decided->id < lowest) continue;
        if (count == 1000) return decided->id;
        kedge_buffer_append_format(out,
                                   "%s{\"id\":%" PRId64 ",\"digest\":\"%s\",\"version\":%" PRId64
                                   ",\"outcome\":\"applied\"}",
                                   count++ == 0 ? "" : ",", decided->id, decided->digest,
                                   decided->version);
    }
    return 0;
}

static void write_next(kedge_buffer *out, int64_t next)
{
    if (next == 0) {
        kedge_buffer_append_text(out, "],\"outcomes_next\":null");
    } else {
        kedge_buffer_append_format(out, "],\"outcomes_next\":%" PRId64, next);
    }
}

static void respond_pull(mini_backend *backend, const scripted_request *request, kedge_bytes body)
{
    int64_t from = 0;
    int64_t lowest = 1;
    char client[130] = "";
    kedge_bytes cookie;
    kedge_bytes native;
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    bool whole = !kedge_json_member(body, "cookie", &cookie) ||
                 !kedge_json_member_integer(cookie, "order", &from);
    if (kedge_json_member(body, "kedge", &native)) {
        kedge_json_member_chars(native, "client", client, sizeof client);
        kedge_json_member_integer(native, "lowest_pending", &lowest);
    }
    pthread_mutex_lock(&backend->lock);
    int64_t lmid = lmid_of(backend, client);
    kedge_buffer_append_format(&out,
                               "{\"cookie\":{\"order\":%" PRId64 ",\"lineage\":\"" LINEAGE "\"},"
                               "\"lastMutationIDChanges\":{},\"patch\":[",
                               backend->version);
    write_patch(backend, &out, from, whole);
    kedge_buffer_append_format(&out,
                               "],\"kedge\":{\"from\":%" PRId64 ",\"version\":%" PRId64
                               ",\"lineage\":\"" LINEAGE "\",\"lmid\":%" PRId64
                               ",\"retired\":false,\"known\":%s,\"outcomes\":[",
                               from, backend->version, lmid, lmid > 0 ? "true" : "false");
    write_next(&out, write_outcomes(backend, &out, client, lowest));
    pthread_mutex_unlock(&backend->lock);
    kedge_buffer_append_text(&out, ",\"snapshot\":null,\"lost\":false}}");
    scripted_respond(request, 200, JSON, out.data);
    kedge_buffer_free(&out);
}

static void respond_outcomes(mini_backend *backend, const scripted_request *request)
{
    char client[130] = "";
    int64_t from = 1;
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    const char *path = strstr(request->target, "/clients/");
    const char *query = strstr(request->target, "from=");
    if (path != NULL) sscanf(path, "/clients/%129[^/]", client);
    if (query != NULL) from = strtoll(query + 5, NULL, 10);
    kedge_buffer_append_text(&out, "{\"outcomes\":[");
    pthread_mutex_lock(&backend->lock);
    write_next(&out, write_outcomes(backend, &out, client, from));
    pthread_mutex_unlock(&backend->lock);
    kedge_buffer_append_text(&out, "}");
    scripted_respond(request, 200, JSON, out.data);
    kedge_buffer_free(&out);
}

static void respond_versions(mini_backend *backend, const scripted_request *request)
{
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_text(&out, "{\"versions\":[");
    for (int64_t version = mini_backend_version(backend); version > 0; version--) {
        kedge_buffer_append_format(
            &out,
            "{\"version\":%" PRId64 ",\"created\":%" PRId64 ",\"lineage\":\"" LINEAGE
            "\",\"project\":{},\"collections\":{},\"mutations\":[{\"client\":\"c\",\"id\":1,"
            "\"name\":\"kedge.put\",\"args\":{},\"timestamp\":5,\"user\":\"\","
            "\"uid\":\"00\",\"digest\":\"00\",\"outcome\":\"applied\"}]}%s",
            version, version * 1000, version > 1 ? "," : "");
    }
    kedge_buffer_append_text(&out, "],\"next\":null}");
    scripted_respond(request, 200, JSON, out.data);
    kedge_buffer_free(&out);
}

static bool peer_left(const scripted_request *request)
{
    struct pollfd set = {.fd = request->connection, .events = POLLIN};
    return poll(&set, 1, 10) > 0;
}

static void respond_events(mini_backend *backend, const scripted_request *request)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
    int64_t told = -1;
    scripted_send(request, head, sizeof head - 1);
    while (!peer_left(request)) {
        char event[96];
        int64_t version = mini_backend_version(backend);
        if (version == told) continue;
        told = version;
        int size = snprintf(event, sizeof event, "event: poke\ndata: {\"version\":%" PRId64 "}\n\n",
                            version);
        scripted_send(request, event, (size_t)size);
    }
}

static bool refuses(mini_backend *backend, const scripted_request *request)
{
    char wanted[128];
    pthread_mutex_lock(&backend->lock);
    bool failing = backend->failing;
    snprintf(wanted, sizeof wanted, "Authorization: Bearer %s\r\n", backend->token);
    bool refused = backend->token[0] != '\0' && strstr(request->headers, wanted) == NULL;
    pthread_mutex_unlock(&backend->lock);
    if (failing) {
        scripted_respond(request, 503, PROBLEM, "{\"code\":\"unavailable\",\"detail\":\"later\"}");
    } else if (refused) {
        scripted_respond(request, 401, PROBLEM, "{\"code\":\"token-invalid\",\"detail\":\"no\"}");
    }
    return failing || refused;
}

bool mini_backend_respond(void *context, const scripted_request *request)
{
    mini_backend *backend = context;
    kedge_buffer plain = kedge_buffer_make(&kedge_allocator_default);
    kedge_bytes body = {request->body, request->body_size};
    if (refuses(backend, request)) return true;
    if (strstr(request->headers, "Content-Encoding: gzip") != NULL &&
        kedge_gunzip(body, 1 << 24, &plain, NULL) == KEDGE_OK) {
        body = kedge_buffer_bytes(&plain);
    }
    bool keep = true;
    if (strstr(request->target, "/push") != NULL) {
        respond_push(backend, request, body);
    } else if (strstr(request->target, "/pull") != NULL) {
        respond_pull(backend, request, body);
    } else if (strstr(request->target, "/mutations?") != NULL) {
        respond_outcomes(backend, request);
    } else if (strstr(request->target, "/versions") != NULL) {
        respond_versions(backend, request);
    } else if (strstr(request->target, "/events") != NULL) {
        respond_events(backend, request);
        keep = false;
    } else {
        scripted_respond(request, 404, PROBLEM, "{\"code\":\"route-not-found\",\"detail\":\"no\"}");
    }
    kedge_buffer_free(&plain);
    return keep;
}

/* ---- what a test does to it ---- */

void mini_backend_put(mini_backend *backend, const char *id, const char *value)
{
    pthread_mutex_lock(&backend->lock);
    backend->version++;
    put_item(backend, id, value);
    pthread_mutex_unlock(&backend->lock);
}

void mini_backend_fail(mini_backend *backend, bool failing)
{
    pthread_mutex_lock(&backend->lock);
    backend->failing = failing;
    pthread_mutex_unlock(&backend->lock);
}

void mini_backend_want_token(mini_backend *backend, const char *token)
{
    pthread_mutex_lock(&backend->lock);
    snprintf(backend->token, sizeof backend->token, "%s", token);
    pthread_mutex_unlock(&backend->lock);
}

int64_t mini_backend_version(mini_backend *backend)
{
    pthread_mutex_lock(&backend->lock);
    int64_t version = backend->version;
    pthread_mutex_unlock(&backend->lock);
    return version;
}

int64_t mini_backend_decided(mini_backend *backend)
{
    pthread_mutex_lock(&backend->lock);
    int64_t count = (int64_t)backend->mutation_count;
    pthread_mutex_unlock(&backend->lock);
    return count;
}
