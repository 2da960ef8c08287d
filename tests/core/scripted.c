/* A scripted server for the driver's tests. */
#include "tests/core/scripted.h"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/error.h"
#include "common/json.h"
#include "tests/support/temporary.h"

/* ---- the transport ---- */

static kedge_status send_request(void *context, const kedge_driver_request *request,
                                 kedge_error *error)
{
    (void)error;
    scripted *s = context;
    sent_request *sent = strncmp(request->path, "push", 4) == 0 ? &s->push : &s->pull;
    size_t written = 0;
    assert_int_equal(sent->number, 0);
    assert_true(request->body.size < sizeof sent->body);
    assert_true(request->deadline_ms > 0 && request->response_bytes_max > 0);
    sent->number = request->number;
    snprintf(sent->method, sizeof sent->method, "%s", request->method);
    snprintf(sent->path, sizeof sent->path, "%s", request->path);
    snprintf(sent->token, sizeof sent->token, "%s", request->token == NULL ? "" : request->token);
    snprintf(sent->body, sizeof sent->body, "%.*s", (int)request->body.size, request->body.data);
    snprintf(sent->url, sizeof sent->url, "%s", request->url == NULL ? "" : request->url);
    sent->headers[0] = '\0';
    for (size_t i = 0; i < request->header_count; i++) {
        written +=
            (size_t)snprintf(sent->headers + written, sizeof sent->headers - written, "%s: %s\n",
                             request->headers[i].name, request->headers[i].value);
        assert_true(written < sizeof sent->headers);
    }
    return KEDGE_OK;
}

static void cancel_request(void *context, uint64_t number)
{
    scripted *s = context;
    if (s->push.number == number) s->push.number = 0;
    if (s->pull.number == number) s->pull.number = 0;
    s->cancelled++;
}

static kedge_status open_stream(void *context, const char *path, const char *token,
                                kedge_error *error)
{
    (void)token;
    (void)error;
    scripted *s = context;
    assert_false(s->stream_open);
    assert_string_equal(path, "events");
    s->stream_open = true;
    return KEDGE_OK;
}

static void close_stream(void *context)
{
    scripted *s = context;
    assert_true(s->stream_open);
    s->stream_open = false;
}

/* ---- the host ---- */

static void set_timer(void *context, int64_t at_ms)
{
    ((scripted *)context)->timer_ms = at_ms;
}

static void ask_token(void *context, bool doubted)
{
    scripted *s = context;
    s->tokens_asked++;
    s->token_doubted = doubted;
}

static void changed(void *context, const kedge_change_set *changes)
{
    scripted *s = context;
    (void)changes;
    s->changes++;
    s->now_ms += s->work_ms;
}

static void report(void *context, kedge_connection connection, const kedge_error *error)
{
    scripted *s = context;
    s->connection = connection;
    s->error = *error;
}

static void synced(void *context, bool ok, const kedge_error *error)
{
    (void)error;
    scripted *s = context;
    s->synced++;
    s->synced_ok = ok;
}

/* ---- opening and closing ---- */

static int64_t monotonic(void *context)
{
    return ((scripted *)context)->now_ms;
}

static void random_bytes(void *context, void *bytes, size_t size)
{
    (void)context;
    kedge_environment system = kedge_environment_system(NULL);
    system.random(system.context, bytes, size);
}

void scripted_open(scripted *s, const kedge_allocator *allocator)
{
    *s = (scripted){.timer_ms = INT64_MAX, .now_ms = 1000};
    assert_true(temporary_folder(s->folder, sizeof s->folder, "driver"));
    s->store_environment = kedge_environment_system(NULL);
    s->environment = (kedge_environment){.allocator = allocator,
                                         .now_ms = monotonic,
                                         .monotonic_ms = monotonic,
                                         .random = random_bytes,
                                         .context = s};
    assert_int_equal(kedge_registry_new(&kedge_allocator_default, NULL, 0, &s->registry, NULL),
                     KEDGE_OK);
    kedge_store_options options = {.environment = &s->store_environment,
                                   .path = s->folder,
                                   .organization = "acme",
                                   .project = "plan",
                                   .user = "ann",
                                   .role = "editor",
                                   .registry = s->registry};
    assert_int_equal(kedge_store_open(&options, &s->store, NULL), KEDGE_OK);
    /* The timer is the core's alone. */
    kedge_status checked = KEDGE_OK;
    while (checked == KEDGE_OK)
        checked = kedge_store_check_cache(s->store, NULL);
    assert_int_equal(checked, KEDGE_DONE);
    kedge_transport transport = {s, send_request, cancel_request, open_stream, close_stream};
    kedge_driver_host host = {s, set_timer, ask_token, changed, report, synced};
    if (kedge_driver_new(&s->environment, s->store, &transport, &host, true, &s->driver, NULL) !=
        KEDGE_OK) {
        s->driver = NULL;
    }
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *where)
{
    (void)facts;
    (void)kind;
    (void)where;
    return remove(path);
}

void scripted_close(scripted *s)
{
    kedge_driver_free(s->driver);
    kedge_store_close(s->store);
    kedge_registry_free(s->registry);
    nftw(s->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int scripted_setup(void **state)
{
    scripted *s = test_malloc(sizeof *s);
    scripted_open(s, &kedge_allocator_default);
    assert_non_null(s->driver);
    kedge_driver_start(s->driver);
    *state = s;
    return 0;
}

int scripted_teardown(void **state)
{
    scripted_close(*state);
    test_free(*state);
    return 0;
}

/* ---- events ---- */

void scripted_put(scripted *s, const char *id, int n)
{
    char args[256];
    kedge_change_set changes = kedge_change_set_make(&kedge_allocator_default);
    int size = snprintf(args, sizeof args,
                        "{\"collection\":\"notes\",\"id\":\"%s\",\"value\":{\"n\":%d}}", id, n);
    assert_int_equal(kedge_store_mutate(s->store, KEDGE_BYTES("kedge.put"),
                                        (kedge_bytes){args, (size_t)size}, &(int64_t){0}, &changes,
                                        NULL),
                     KEDGE_OK);
    kedge_change_set_free(&changes);
    kedge_driver_mutated(s->driver);
}

void scripted_timer(scripted *s)
{
    assert_true(s->timer_ms != INT64_MAX);
    if (s->timer_ms > s->now_ms) s->now_ms = s->timer_ms;
    s->timer_ms = INT64_MAX;
    kedge_driver_timer(s->driver);
}

void scripted_respond(scripted *s, uint64_t number, int status, const char *body)
{
    bool json = body[0] == '{';
    const char *type = !json           ? "text/html"
                       : status == 200 ? "application/json"
                                       : "application/problem+json";
    kedge_driver_response response = {.number = number,
                                      .status = status,
                                      .content_type = kedge_bytes_of(type),
                                      .body = kedge_bytes_of(body)};
    if (status == 0) kedge_fail(&response.error, KEDGE_NETWORK, "connection-reset", "reset");
    kedge_driver_response_arrived(s->driver, &response);
}

void scripted_respond_push(scripted *s, int status, const char *body)
{
    uint64_t number = s->push.number;
    assert_int_not_equal(number, 0);
    s->push.number = 0;
    scripted_respond(s, number, status, body);
}

void scripted_respond_pull(scripted *s, int status, const char *body)
{
    uint64_t number = s->pull.number;
    assert_int_not_equal(number, 0);
    s->pull.number = 0;
    scripted_respond(s, number, status, body);
}

static void write_problem(char *body, size_t size, int status, const char *code)
{
    snprintf(body, size,
             "{\"type\":\"about:blank\",\"title\":\"no\",\"status\":%d,\"code\":\"%s\","
             "\"detail\":\"as the test says\"}",
             status, code);
}

void scripted_refuse_push(scripted *s, int status, const char *code)
{
    char body[256];
    write_problem(body, sizeof body, status, code);
    scripted_respond_push(s, status, body);
}

void scripted_refuse_pull(scripted *s, int status, const char *code)
{
    char body[256];
    write_problem(body, sizeof body, status, code);
    scripted_respond_pull(s, status, body);
}

void scripted_pulled(scripted *s, int from, int version, int lmid, const char *patch,
                     const char *outcomes)
{
    char body[4096];
    assert_string_equal(s->pull.path, "pull");
    snprintf(body, sizeof body,
             "{\"cookie\":{\"order\":%d,\"lineage\":\"" LINEAGE "\"},\"lastMutationIDChanges\":{},"
             "\"patch\":[%s],\"kedge\":{\"from\":%d,\"version\":%d,\"lineage\":\"" LINEAGE
             "\",\"lmid\":%d,\"retired\":false,\"known\":%s,\"outcomes\":[%s],"
             "\"outcomes_next\":null,\"snapshot\":null,\"lost\":false}}",
             version, patch, from, version, lmid, lmid > 0 ? "true" : "false", outcomes);
    scripted_respond_pull(s, 200, body);
}

/* ---- looking ---- */

static kedge_bytes pushed_mutation(const scripted *s, int index)
{
    kedge_bytes mutations;
    kedge_bytes mutation = {NULL, 0};
    assert_true(kedge_json_member(kedge_bytes_of(s->push.body), "mutations", &mutations));
    kedge_json_iterator iterator = kedge_json_iterate(mutations);
    for (int i = 0; i <= index; i++)
        assert_true(kedge_json_next_element(&iterator, &mutation));
    return mutation;
}

const char *scripted_outcome(const scripted *s, int index, int version, char *out, size_t size)
{
    kedge_bytes mutation = pushed_mutation(s, index);
    kedge_bytes args;
    char name[64];
    char uid[40];
    char hex[KEDGE_SHA256_HEX];
    int64_t id;
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    assert_true(kedge_json_member(mutation, "args", &args));
    assert_true(kedge_json_member_integer(mutation, "id", &id));
    assert_true(kedge_json_member_chars(mutation, "name", name, sizeof name));
    assert_true(kedge_json_member_chars(mutation, "uid", uid, sizeof uid));
    kedge_buffer_append_format(&text, "{\"args\":%.*s,\"name\":\"%s\",\"uid\":\"%s\"}",
                               (int)args.size, args.data, name, uid);
    kedge_sha256_hex(kedge_buffer_bytes(&text), hex);
    kedge_buffer_free(&text);
    snprintf(out, size, "{\"id\":%lld,\"digest\":\"%.32s\",\"version\":%d,\"outcome\":\"applied\"}",
             (long long)id, hex, version);
    return out;
}

const char *scripted_get(scripted *s, const char *id, char *out, size_t size)
{
    kedge_buffer value = kedge_buffer_make(&kedge_allocator_default);
    kedge_status status =
        kedge_store_get(s->store, KEDGE_BYTES("notes"), kedge_bytes_of(id), &value, NULL);
    snprintf(out, size, "%s", status == KEDGE_OK ? value.data : "");
    kedge_buffer_free(&value);
    return out;
}
