/* Many threads on one client: every caller gets its own response, and connections stay bounded. */
#include "tests/aws/client_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define THREADS         64
#define CALLS_OF_THREAD 20
#define CONNECTIONS_FEW 4

/* Answers with what was asked for; every seventeenth request gets a throttle first. */
static bool echo(void *context, const scripted_request *request)
{
    atomic_int *served = context;
    char body[512];
    if (atomic_fetch_add(served, 1) % 17 == 3) {
        scripted_respond(request, 400, "", "{\"__type\":\"ThrottlingException\"}");
        return true;
    }
    snprintf(body, sizeof body, "{\"asked\":%.*s}", (int)request->body_size, request->body);
    scripted_respond(request, 200, "", body);
    return true;
}

typedef struct caller {
    client_world *world;
    pthread_t thread;
    int number;
    int good;
} caller;

static void *call_often(void *context)
{
    caller *self = context;
    for (int i = 0; i < CALLS_OF_THREAD; i++) {
        char asked[64], expected[96];
        kedge_aws_response response = {0};
        kedge_aws_request request = request_for(KEDGE_AWS_DYNAMODB, "dynamodb:GetItem");
        snprintf(asked, sizeof asked, "\"%d of %d\"", i, self->number);
        snprintf(expected, sizeof expected, "{\"asked\":%s}", asked);
        request.body = kedge_bytes_of(asked);
        if (kedge_aws_call(self->world->client, &request, &response, NULL) == KEDGE_OK &&
            kedge_bytes_equal_text(kedge_buffer_bytes(&response.body), expected)) {
            self->good++;
        }
        kedge_aws_response_free(&response);
    }
    return NULL;
}

static void run_crowd(client_world *world)
{
    caller callers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        callers[i] = (caller){.world = world, .number = i};
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call_often, &callers[i]), 0);
    }
    int good = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(callers[i].thread, NULL);
        good += callers[i].good;
    }
    assert_int_equal(good, THREADS * CALLS_OF_THREAD);
}

static void test_every_caller_gets_its_own_response(void **state)
{
    client_world world;
    atomic_int served = 0;
    (void)state;
    BEGIN(&world, {.status = 500});
    scripted_server *server = scripted_server_start(echo, &served);
    client_world_open(
        &world, (kedge_aws_client_options){.endpoints = {scripted_server_url(server), NULL, NULL},
                                           .connections_max = CONNECTIONS_FEW});
    run_crowd(&world);
    assert_int_equal(world.observed, THREADS * CALLS_OF_THREAD);
    assert_true(atomic_load(&served) >= THREADS * CALLS_OF_THREAD);
    assert_true(scripted_server_connections(server) <= CONNECTIONS_FEW);
    client_world_end(&world);
    scripted_server_stop(server);
}

static void *call_once(void *context)
{
    caller *self = context;
    kedge_aws_response response = {0};
    kedge_aws_request request = request_for(KEDGE_AWS_DYNAMODB, "dynamodb:PutItem");
    request.deadline_ms = 1500;
    kedge_aws_call(self->world->client, &request, &response, NULL);
    kedge_aws_response_free(&response);
    return NULL;
}

static void test_a_call_that_no_connection_became_free_for_had_no_effect(void **state)
{
    client_world world;
    kedge_aws_response response = {0};
    kedge_error error = {0};
    (void)state;
    BEGIN(&world, {.action = REPLY_HANG});
    client_world_open(&world, (kedge_aws_client_options){.connections_max = 1});
    caller first = {.world = &world};
    assert_int_equal(pthread_create(&first.thread, NULL, call_once, &first), 0);
    assert_true(scripted_server_wait(world.server, 1));
    kedge_aws_request request = request_for(KEDGE_AWS_DYNAMODB, "dynamodb:PutItem");
    request.deadline_ms = 100;
    assert_int_equal(kedge_aws_call(world.client, &request, &response, &error), KEDGE_BUSY);
    assert_string_equal(error.code, "aws-connections-taken");
    assert_non_null(strstr(error.message, "dynamodb:PutItem"));
    assert_false(response.earlier_unknown);
    pthread_join(first.thread, NULL);
    assert_int_equal(scripted_server_requests(world.server), 1);
    kedge_aws_response_free(&response);
    client_world_end(&world);
}

static void test_a_client_that_is_idle_closes(void **state)
{
    client_world world;
    (void)state;
    BEGIN(&world, {.status = 200, .body = "{}"});
    for (int i = 0; i < 20; i++) {
        client_world_open(&world, (kedge_aws_client_options){0});
        if (i % 2 == 0) continue;
        caller once = {.world = &world};
        call_once(&once);
    }
    client_world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_caller_gets_its_own_response),
        cmocka_unit_test(test_a_call_that_no_connection_became_free_for_had_no_effect),
        cmocka_unit_test(test_a_client_that_is_idle_closes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
