/* Events: their paths, responses and batches, in whatever state memory and the event are. */
#include "tests/backend/api_world.h"

#include "backend/effects/apply.h"
#include "backend/effects/snapshots.h"
#include "backend/lambda/event_http.h"
#include "backend/lambda/event_messages.h"
#include "backend/lambda/event_path.h"
#include "backend/lambda/event_snapshots.h"
#include "backend/lambda/event_sqs.h"
#include "backend/lambda/event_stream.h"
#include "backend/memory/memory_ports.h"
#include "backend/queued/dead_letters.h"
#include "tests/support/failing_allocator.h"
#include <kedge/limits.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define POINTS 200 /* of failing memory */
#define ROUNDS 4000

static const char request_event[] =
    "{\"version\":\"2.0\",\"rawPath\":\"/prod/v1/orgs/acme/projects/notes/pull\","
    "\"rawQueryString\":\"a=b\",\"headers\":{\"accept-encoding\":\"gzip\",\"origin\":\"https://"
    "a.b\"},"
    "\"requestContext\":{\"stage\":\"prod\",\"domainName\":\"x.execute-api.eu-west-1.amazonaws."
    "com\","
    "\"http\":{\"method\":\"POST\"}},\"isBase64Encoded\":true,\"body\":"
    /* {"pullVersion":1,"clientGroupID":"g","cookie":null} */
    "\"eyJwdWxsVmVyc2lvbiI6MSwiY2xpZW50R3JvdXBJRCI6ImciLCJjb29raWUiOm51bGx9\"}";

#define RECORD(id, body)                                                                           \
    "{\"messageId\":\"" id                                                                         \
    "\",\"receiptHandle\":\"r\",\"eventSource\":\"aws:sqs\",\"attributes\":"                       \
    "{\"MessageGroupId\":\"g\",\"ApproximateReceiveCount\":\"1\",\"SentTimestamp\":\"1\"},"        \
    "\"body\":\"" body "\"}"
static const char batch_event[] =
    "{\"Records\":[" RECORD("m1", "{\\\"format\\\":1,\\\"organization\\\":\\\"acme\\\","
                                  "\\\"project\\\":\\\"notes\\\","
                                  "\\\"user\\\":\\\"ann\\\",\\\"role\\\":\\\"\\\",\\\"push\\\":{"
                                  "\\\"pushVersion\\\":1,"
                                  "\\\"clientGroupID\\\":\\\"g\\\",\\\"mutations\\\":[{"
                                  "\\\"clientID\\\":\\\"c\\\","
                                  "\\\"id\\\":1,\\\"name\\\":\\\"none\\\",\\\"args\\\":{},"
                                  "\\\"timestamp\\\":0}]}}") "," RECORD("m2", "poison") "]}";

typedef struct lambda_world {
    api_world *api;
    kedge_auth *auth; /* open: everybody may do everything */
    kedge_queued *queued;
    kedge_cors_origins origins;
    kedge_logger log;
    kedge_environment environment; /* of the lambda: with the allocator of a test */
    kedge_lambda lambda;
} lambda_world;

static lambda_world world;

static int setup(void **state)
{
    (void)state;
    world = (lambda_world){.api = api_world_new()};
    kedge_environment *environment = &world.api->environment;
    kedge_auth_options auth = {.environment = environment, .open = true};
    kedge_queued_options queued = {
        .environment = environment, .records = world.api->records, .blobs = world.api->blobs};
    assert_int_equal(kedge_auth_new(&auth, &world.auth, NULL), KEDGE_OK);
    assert_int_equal(kedge_queued_new(&queued, &world.queued, NULL), KEDGE_OK);
    world.log = (kedge_logger){
        .environment = environment, .file = STDERR_FILENO, .level = KEDGE_LOGGER_ERROR};
    world.origins.allowed[world.origins.allowed_count++] = "https://a.b";
    world.environment = *environment;
    world.lambda = (kedge_lambda){.environment = &world.environment,
                                  .log = &world.log,
                                  .backend = world.api->backend,
                                  .auth = world.auth,
                                  .origins = &world.origins,
                                  .queued = world.queued};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    kedge_queued_free(world.queued);
    kedge_auth_free(world.auth);
    api_world_free(world.api);
    return 0;
}

/* ---- paths ---- */

static void check_path(const char *domain, const char *stage, const char *raw, const char *expected)
{
    char event[512], context[256];
    snprintf(event, sizeof event, "{\"rawPath\":\"%s\"}", raw);
    snprintf(context, sizeof context, "{\"domainName\":\"%s\",\"stage\":\"%s\"}", domain, stage);
    kedge_buffer path = kedge_buffer_make(&kedge_allocator_default);
    assert_true(kedge_event_path(kedge_bytes_of(event), kedge_bytes_of(context), &path));
    assert_string_equal(path.data, expected);
    kedge_buffer_free(&path);
}

static void a_path_is_encoded_again_where_the_service_decoded_it(void **state)
{
    static const char api[] = "a1.execute-api.eu-west-1.amazonaws.com";
    static const char url[] = "a1.lambda-url.eu-west-1.on.aws";
    (void)state;
    check_path(api, "$default", "/v1/a b/\xC3\xA4%", "/v1/a%20b/%C3%A4%25");
    check_path(api, "$default", "/v1/-._~+", "/v1/-._~%2B");
    check_path(url, "$default", "/v1/a%20b", "/v1/a%20b");
    check_path("api.example.com", "$default", "/v1/50%", "/v1/50%25");
    check_path(api, "prod", "/prod/v1/x", "/v1/x");
    check_path(api, "prod", "/production/x", "/production/x");
    check_path(api, "prod", "/prod", "/prod");
    check_path(api, "", "/v1", "/v1");
    check_path(api, "v1", "/v1/v1/limits", "/v1/limits");
    check_path("api.example.com", "v1", "/v1/limits", "/v1/limits");
    check_path("api.example.com", "v1", "/v1/orgs/v1/projects", "/v1/orgs/v1/projects");
    check_path("api.example.com", "prod", "/v1/limits", "/v1/limits");
}

static void an_event_without_a_path_has_none(void **state)
{
    (void)state;
    kedge_buffer path = kedge_buffer_make(&kedge_allocator_default);
    assert_false(kedge_event_path(KEDGE_BYTES("{}"), KEDGE_BYTES("{}"), &path));
    assert_false(kedge_event_path(KEDGE_BYTES("{\"rawPath\":7}"), KEDGE_BYTES("{}"), &path));
    kedge_buffer_free(&path);
}

/* ---- handling ---- */

static kedge_status handle(kedge_bytes text, int64_t deadline_ms, kedge_buffer *out)
{
    kedge_bytes event;
    kedge_status status =
        kedge_json_check(text, KEDGE_LIMIT_JSON_DEPTH, &kedge_allocator_default, NULL);
    if (status != KEDGE_OK) return status;
    kedge_json_skip(text, &event, NULL);
    if (kedge_event_is_http(event))
        return kedge_event_http(&world.lambda, event, deadline_ms, out, NULL);
    char queue[128];
    if (kedge_event_messages_queue(event, queue, sizeof queue))
        return kedge_event_sqs(&world.lambda, event, deadline_ms, out, NULL);
    return KEDGE_INVALID_ARGUMENT;
}

static void a_request_is_answered(void **state)
{
    (void)state;
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    assert_int_equal(handle(KEDGE_BYTES(request_event), INT64_MAX, &out), KEDGE_OK);
    assert_non_null(strstr(out.data, "\"statusCode\":200"));
    assert_non_null(strstr(out.data, "\"Access-Control-Allow-Origin\":\"https://a.b\""));
    assert_non_null(strstr(out.data, "lastMutationIDChanges"));
    assert_int_equal(kedge_json_check(kedge_buffer_bytes(&out), 8, &kedge_allocator_default, NULL),
                     KEDGE_OK);
    kedge_buffer_free(&out);
}

/* A push of the mutations 1 to `last` of the client c. */
static kedge_status push(int last, int64_t deadline_ms, kedge_buffer *out)
{
    kedge_buffer event = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_text(&event,
                             "{\"version\":\"2.0\",\"rawPath\":\"/v1/orgs/acme/projects/notes/"
                             "push\",\"rawQueryString\":\"\",\"headers\":{},\"requestContext\":{"
                             "\"stage\":\"$default\",\"domainName\":\"a.example\",\"http\":{"
                             "\"method\":\"POST\"}},\"body\":\"{\\\"pushVersion\\\":1,"
                             "\\\"clientGroupID\\\":\\\"g\\\",\\\"mutations\\\":[");
    for (int id = 1; id <= last; id++)
        kedge_buffer_append_format(&event,
                                   "%s{\\\"clientID\\\":\\\"c\\\",\\\"id\\\":%d,"
                                   "\\\"name\\\":\\\"none\\\",\\\"args\\\":{},"
                                   "\\\"timestamp\\\":0}",
                                   id == 1 ? "" : ",", id);
    kedge_buffer_append_text(&event, "]}\"}");
    kedge_buffer_clear(out);
    kedge_status status = handle(kedge_buffer_bytes(&event), deadline_ms, out);
    kedge_buffer_free(&event);
    return status;
}

/* A push that has no time left decides nothing, and says so. */
static void a_push_that_has_no_time_left_is_not_begun(void **state)
{
    (void)state;
    int64_t now_ms = world.environment.now_ms(world.environment.context);
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    assert_int_equal(push(1, now_ms, &out), KEDGE_OK);
    assert_non_null(strstr(out.data, "\"statusCode\":503"));
    api_pull(world.api, "g", "null");
    assert_int_equal(api_number(world.api, "cookie.order"), 0);
    assert_int_equal(push(1, now_ms + 600000, &out), KEDGE_OK);
    assert_non_null(strstr(out.data, "\"statusCode\":200"));
    api_pull(world.api, "g", "null");
    assert_int_equal(api_number(world.api, "cookie.order"), 1);
    kedge_buffer_free(&out);
}

/* A function has three seconds when nobody says otherwise. */
static void a_push_to_a_function_with_a_short_timeout_is_decided(void **state)
{
    (void)state;
    int64_t now_ms = world.environment.now_ms(world.environment.context);
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    assert_int_equal(push(1, now_ms + 3000, &out), KEDGE_OK);
    assert_non_null(strstr(out.data, "\"statusCode\":200"));
    api_pull(world.api, "g", "null");
    assert_int_equal(api_number(world.api, "cookie.order"), 1);
    kedge_buffer_free(&out);
}

static void what_is_not_decided_is_named(void **state)
{
    (void)state;
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    assert_int_equal(handle(KEDGE_BYTES(batch_event), INT64_MAX, &out), KEDGE_OK);
    assert_string_equal(out.data, "{\"batchItemFailures\":[{\"itemIdentifier\":\"m2\"}]}");
    kedge_buffer_free(&out);
}

static void a_group_that_has_no_time_left_is_not_begun(void **state)
{
    (void)state;
    int64_t now_ms = world.environment.now_ms(world.environment.context);
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    assert_int_equal(handle(KEDGE_BYTES(batch_event), now_ms, &out), KEDGE_OK);
    assert_string_equal(out.data, "{\"batchItemFailures\":[{\"itemIdentifier\":\"m1\"},"
                                  "{\"itemIdentifier\":\"m2\"}]}");
    kedge_buffer_free(&out);
    api_pull(world.api, "g", "null");
    assert_int_equal(api_number(world.api, "cookie.order"), 0);
}

/* A function's timeout may be as short as the time that is kept for the commit. */
static void a_short_invocation_decides_in_its_first_half(void **state)
{
    (void)state;
    int64_t now_ms = world.environment.now_ms(world.environment.context);
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    assert_int_equal(handle(KEDGE_BYTES(batch_event), now_ms + KEDGE_EVENT_SQS_MARGIN_MS, &out),
                     KEDGE_OK);
    assert_string_equal(out.data, "{\"batchItemFailures\":[{\"itemIdentifier\":\"m2\"}]}");
    kedge_buffer_free(&out);
}

/* ---- time that passes ---- */

#define LONG_PUSH     30
#define INVOCATION_MS 15000

static int64_t passed_ms; /* with each look at the clock of the lambda, so much passes */
static int64_t looked_ms;

static int64_t passing_ms(void *context)
{
    (void)context;
    return looked_ms += passed_ms;
}

static int64_t still_ms(void *context)
{
    (void)context;
    return looked_ms;
}

/* One record: a message with the mutations 1 to `last` of a client. */
static void write_record(kedge_buffer *event, const char *id, const char *group, int deliveries,
                         const char *client, int last)
{
    kedge_buffer_append_format(event,
                               "{\"messageId\":\"%s\",\"receiptHandle\":\"r\","
                               "\"eventSource\":\"aws:sqs\",\"attributes\":{\"MessageGroupId\":"
                               "\"%s\",\"ApproximateReceiveCount\":\"%d\","
                               "\"SentTimestamp\":\"1\"},\"body\":\"",
                               id, group, deliveries);
    kedge_buffer_append_text(event, "{\\\"format\\\":1,\\\"organization\\\":\\\"acme\\\","
                                    "\\\"project\\\":\\\"notes\\\",\\\"user\\\":\\\"ann\\\","
                                    "\\\"role\\\":\\\"\\\",\\\"push\\\":{\\\"pushVersion\\\":1,"
                                    "\\\"clientGroupID\\\":\\\"g\\\",\\\"mutations\\\":[");
    for (int i = 1; i <= last; i++)
        kedge_buffer_append_format(event,
                                   "%s{\\\"clientID\\\":\\\"%s\\\",\\\"id\\\":%d,"
                                   "\\\"name\\\":\\\"none\\\",\\\"args\\\":{},"
                                   "\\\"timestamp\\\":0}",
                                   i == 1 ? "" : ",", client, i);
    kedge_buffer_append_text(event, "]}}\"}");
    assert_false(event->no_memory);
}

/* What it has decided by then is committed, and there is time left for the response. */
static void a_request_stops_in_time_for_its_response(void **state)
{
    (void)state;
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    world.environment.monotonic_ms = passing_ms;
    world.environment.now_ms = still_ms;
    passed_ms = 500;
    int64_t began_ms = looked_ms;
    assert_int_equal(push(LONG_PUSH, began_ms + INVOCATION_MS, &out), KEDGE_OK);
    assert_non_null(strstr(out.data, "\"statusCode\":503"));
    assert_non_null(strstr(out.data, "push-unfinished"));
    assert_in_range(looked_ms - began_ms, INVOCATION_MS - KEDGE_EVENT_HTTP_MARGIN_MS,
                    INVOCATION_MS);
    api_pull(world.api, "g", "null");
    assert_int_equal(api_number(world.api, "cookie.order"), 1);
    kedge_buffer_free(&out);
}

/* Each delivery decides a part in its time, and the message comes again until all is decided. */
static void a_push_that_takes_longer_than_an_invocation_is_decided_by_several(void **state)
{
    (void)state;
    kedge_buffer event = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    int64_t decided = 0;
    int deliveries = 0;
    kedge_buffer_append_text(&event, "{\"Records\":[");
    write_record(&event, "m1", "g", 1, "c", LONG_PUSH);
    kedge_buffer_append_text(&event, "]}");
    world.environment.monotonic_ms = passing_ms;
    world.environment.now_ms = still_ms;
    passed_ms = 500;
    do {
        int64_t before = decided;
        int64_t began_ms = looked_ms;
        assert_in_range(++deliveries, 1, LONG_PUSH);
        kedge_buffer_clear(&out);
        assert_int_equal(handle(kedge_buffer_bytes(&event), looked_ms + INVOCATION_MS, &out),
                         KEDGE_OK);
        assert_true(looked_ms - began_ms <= INVOCATION_MS);
        api_pull(world.api, "g", "null");
        decided = api_number(world.api, "lastMutationIDChanges.c");
        assert_true(decided > before);
    } while (strcmp(out.data, "{\"batchItemFailures\":[{\"itemIdentifier\":\"m1\"}]}") == 0);
    assert_string_equal(out.data, "{\"batchItemFailures\":[]}");
    assert_int_equal(decided, LONG_PUSH);
    assert_true(deliveries > 1);
    kedge_buffer_free(&event);
    kedge_buffer_free(&out);
}

/* Groups that come anew with each invocation cannot keep the others waiting for ever. */
static void a_group_that_found_no_time_is_the_first_of_the_next_invocation(void **state)
{
    (void)state;
    kedge_buffer event = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_text(&event, "{\"Records\":[");
    write_record(&event, "long", "g", 1, "c", LONG_PUSH);
    kedge_buffer_append_byte(&event, ',');
    write_record(&event, "short", "h", 2, "d", 1);
    kedge_buffer_append_text(&event, "]}");
    world.environment.monotonic_ms = passing_ms;
    world.environment.now_ms = still_ms;
    passed_ms = 500;
    assert_int_equal(handle(kedge_buffer_bytes(&event), looked_ms + INVOCATION_MS, &out), KEDGE_OK);
    assert_string_equal(out.data, "{\"batchItemFailures\":[{\"itemIdentifier\":\"long\"}]}");
    api_pull(world.api, "g", "null");
    assert_int_equal(api_number(world.api, "lastMutationIDChanges.d"), 1);
    kedge_buffer_free(&event);
    kedge_buffer_free(&out);
}

/* ---- a message that has ended its function ---- */

/* The invocation that it ends is a delivery of all that came with it, of whatever group. */
static void what_has_ended_a_function_is_tried_only_when_it_comes_alone(void **state)
{
    (void)state;
    kedge_bytes read;
    kedge_event_messages messages = {.count = 0};
    kedge_buffer alone = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer beside = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_text(&alone, "{\"Records\":[");
    kedge_buffer_append_text(&beside, "{\"Records\":[");
    write_record(&alone, "killer", "g", 6, "c", 1);
    write_record(&beside, "killer", "g", 5, "c", 1);
    kedge_buffer_append_byte(&beside, ',');
    write_record(&beside, "other", "h", 1, "d", 1);
    kedge_buffer_append_text(&alone, "]}");
    kedge_buffer_append_text(&beside, "]}");
    kedge_json_skip(kedge_buffer_bytes(&beside), &read, NULL);
    assert_int_equal(kedge_event_messages_read(&kedge_allocator_default, read, &messages, NULL),
                     KEDGE_OK);
    kedge_queue_message killer = kedge_event_message_of(&messages.of[0]);
    assert_int_equal(kedge_dead_letter_mark(world.queued, &killer, 0, NULL), KEDGE_OK);
    kedge_event_messages_free(&messages);

    assert_int_equal(handle(kedge_buffer_bytes(&beside), INT64_MAX, &out), KEDGE_OK);
    assert_string_equal(out.data, "{\"batchItemFailures\":[{\"itemIdentifier\":\"killer\"}]}");
    api_pull(world.api, "g", "null");
    assert_int_equal(api_number(world.api, "lastMutationIDChanges.d"), 1);
    kedge_buffer_clear(&out);
    assert_int_equal(handle(kedge_buffer_bytes(&alone), INT64_MAX, &out), KEDGE_OK);
    assert_string_equal(out.data, "{\"batchItemFailures\":[]}");
    api_pull(world.api, "g", "null");
    assert_int_equal(api_number(world.api, "lastMutationIDChanges.c"), 1);
    kedge_buffer_free(&alone);
    kedge_buffer_free(&beside);
    kedge_buffer_free(&out);
}

/* ---- the time of what works on logs ---- */

#define LOG_INVOCATION_MS 60000

static int64_t left_ms; /* when the work began that was called last */

kedge_status __wrap_kedge_effects_handle(void *context, const kedge_stream_change *changes,
                                         size_t count, size_t *handled, kedge_error *error);
kedge_status __wrap_kedge_effects_handle(void *context, const kedge_stream_change *changes,
                                         size_t count, size_t *handled, kedge_error *error)
{
    (void)context, (void)changes, (void)count;
    *handled = 0;
    left_ms = kedge_deadline_left_ms(INT64_MAX);
    looked_ms += left_ms; /* a store that does not answer takes all of it */
    return kedge_deadline_check(error);
}

kedge_status __wrap_kedge_snapshot_work(const kedge_snapshot_worker *worker, kedge_bytes message,
                                        int64_t deadline_ms, kedge_snapshot_outcome *outcome,
                                        kedge_error *error);
kedge_status __wrap_kedge_snapshot_work(const kedge_snapshot_worker *worker, kedge_bytes message,
                                        int64_t deadline_ms, kedge_snapshot_outcome *outcome,
                                        kedge_error *error)
{
    (void)worker, (void)message, (void)deadline_ms;
    left_ms = kedge_deadline_left_ms(INT64_MAX);
    looked_ms += left_ms;
    *outcome = KEDGE_SNAPSHOT_RETURN;
    return kedge_deadline_check(error);
}

#define CHANGE(sequence)                                                                           \
    "{\"eventName\":\"INSERT\",\"eventSource\":\"aws:dynamodb\",\"dynamodb\":{"                    \
    "\"Keys\":{\"pk\":{\"S\":\"E#x\"},\"sk\":{\"S\":\"1-1\"}},"                                    \
    "\"NewImage\":{\"pk\":{\"S\":\"E#x\"},\"sk\":{\"S\":\"1-1\"}},"                                \
    "\"SequenceNumber\":\"" sequence "\"}}"

/* It ends before its invocation does, and the response names what is left. */
static void work_on_logs_ends_in_time(void **state)
{
    (void)state;
    kedge_bytes event;
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    world.environment.monotonic_ms = still_ms;
    world.environment.now_ms = still_ms;
    looked_ms = 1000;
    assert_int_equal(kedge_memory_queue_open(&world.environment, 50, &world.lambda.snapshots, NULL),
                     KEDGE_OK);
    kedge_json_skip(KEDGE_BYTES("{\"Records\":[" CHANGE("1") "," CHANGE("2") "]}"), &event, NULL);
    assert_int_equal(kedge_event_stream(&world.lambda, event, 1000 + LOG_INVOCATION_MS, &out, NULL),
                     KEDGE_OK);
    assert_int_equal(left_ms, LOG_INVOCATION_MS - KEDGE_EVENT_STREAM_MARGIN_MS);
    assert_string_equal(out.data, "{\"batchItemFailures\":[{\"itemIdentifier\":\"1\"}]}");
    kedge_buffer_clear(&out);
    looked_ms = 1000;
    kedge_json_skip(KEDGE_BYTES("{\"Records\":[" RECORD("m1", "{}") "]}"), &event, NULL);
    assert_int_equal(
        kedge_event_snapshots(&world.lambda, event, 1000 + LOG_INVOCATION_MS, &out, NULL),
        KEDGE_OK);
    assert_int_equal(left_ms, LOG_INVOCATION_MS - KEDGE_EVENT_SNAPSHOTS_MARGIN_MS);
    assert_string_equal(out.data, "{\"batchItemFailures\":[{\"itemIdentifier\":\"m1\"}]}");
    assert_int_equal(kedge_deadline_left_ms(INT64_MAX), INT64_MAX);
    kedge_buffer_free(&out);
    world.lambda.snapshots.vtable->close(world.lambda.snapshots.self);
}

static bool run_event(const kedge_allocator *allocator, void *context)
{
    world.environment.allocator = allocator;
    kedge_buffer out = kedge_buffer_make(allocator);
    kedge_status status = handle(kedge_bytes_of(context), INT64_MAX, &out);
    bool well = status == KEDGE_OK && strstr(out.data, "overloaded") == NULL &&
                strstr(out.data, "unavailable") == NULL;
    assert_true(status == KEDGE_OK || status == KEDGE_NO_MEMORY);
    /* It is never the event that is at fault. */
    if (status == KEDGE_OK) assert_null(strstr(out.data, "\"statusCode\":4"));
    kedge_buffer_free(&out);
    return well;
}

static void memory_that_fails_is_survived(void **state)
{
    (void)state;
    char *events[] = {(char *)request_event, (char *)batch_event};
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        assert_true(failing_allocator_try_every_call(run_event, events[i], POINTS) > 0);
    world.environment.allocator = &kedge_allocator_default;
}

/* ---- NULs ---- */

static void only_nuls_of_an_event_become_other_characters(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"{\"a\":\"\\u0000\"}", "{\"a\":\"\\ufffd\"}"},
        {"{\"a\":\"\\\\u0000\\u0000\\u0000x\"}", "{\"a\":\"\\\\u0000\\ufffd\\ufffdx\"}"},
        {"{\"u0000\":\"\\u0001\\\"\\\\\"}", "{\"u0000\":\"\\u0001\\\"\\\\\"}"},
        {"\\u000", "\\u000"},
        {"\\", "\\"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        kedge_buffer event = kedge_buffer_make(&kedge_allocator_default);
        kedge_buffer_append_text(&event, texts[i][0]);
        kedge_event_http_blank_nuls(&event);
        assert_true(kedge_bytes_equal_text(kedge_buffer_bytes(&event), texts[i][1]));
        kedge_buffer_free(&event);
    }
}

static void a_request_with_a_nul_is_refused(void **state)
{
    (void)state;
    kedge_bytes event;
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    kedge_json_skip(KEDGE_BYTES(request_event), &event, NULL);
    assert_int_equal(kedge_event_http_refuse_nul(&world.lambda, event, &out, NULL), KEDGE_OK);
    assert_non_null(strstr(out.data, "\"statusCode\":400"));
    assert_non_null(strstr(out.data, "event-invalid"));
    assert_non_null(strstr(out.data, "\"Access-Control-Allow-Origin\":\"https://a.b\""));
    kedge_buffer_free(&out);
}

/* One byte in each of some places is another one. */
static void any_event_is_survived(void **state)
{
    (void)state;
    const kedge_bytes events[] = {KEDGE_BYTES(request_event), KEDGE_BYTES(batch_event)};
    uint64_t random = 1;
    char text[sizeof request_event + sizeof batch_event];
    size_t handled = 0;
    for (size_t round = 0; round < ROUNDS; round++) {
        kedge_bytes event = events[round % 2];
        memcpy(text, event.data, event.size);
        for (size_t change = 0; change <= round % 3; change++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            text[(random >> 33) % event.size] = (char)(32 + (random >> 20) % 95);
        }
        kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
        if (handle((kedge_bytes){text, event.size}, INT64_MAX, &out) == KEDGE_OK) {
            handled++;
            assert_int_equal(
                kedge_json_check(kedge_buffer_bytes(&out), 8, &kedge_allocator_default, NULL),
                KEDGE_OK);
        }
        kedge_buffer_free(&out);
    }
    assert_true(handled > ROUNDS / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_is_encoded_again_where_the_service_decoded_it),
        cmocka_unit_test(an_event_without_a_path_has_none),
        cmocka_unit_test_setup_teardown(a_request_is_answered, setup, teardown),
        cmocka_unit_test_setup_teardown(a_push_that_has_no_time_left_is_not_begun, setup, teardown),
        cmocka_unit_test_setup_teardown(a_push_to_a_function_with_a_short_timeout_is_decided, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_is_not_decided_is_named, setup, teardown),
        cmocka_unit_test_setup_teardown(a_group_that_has_no_time_left_is_not_begun, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_short_invocation_decides_in_its_first_half, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_request_stops_in_time_for_its_response, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_push_that_takes_longer_than_an_invocation_is_decided_by_several, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_group_that_found_no_time_is_the_first_of_the_next_invocation, setup, teardown),
        cmocka_unit_test_setup_teardown(what_has_ended_a_function_is_tried_only_when_it_comes_alone,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(work_on_logs_ends_in_time, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_that_fails_is_survived, setup, teardown),
        cmocka_unit_test(only_nuls_of_an_event_become_other_characters),
        cmocka_unit_test_setup_teardown(a_request_with_a_nul_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(any_event_is_survived, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
