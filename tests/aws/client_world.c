/* The world of the client's tests. */
#include "tests/aws/client_world.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static bool response(void *context, const scripted_request *request)
{
    client_world *world = context;
    pthread_mutex_lock(&world->mutex);
    size_t number = world->answered++;
    if (number < SCRIPT_MAX) {
        snprintf(world->requests[number], sizeof world->requests[number], "%.4000s",
                 request->headers);
        snprintf(world->bodies[number], sizeof world->bodies[number], "%.*s",
                 (int)request->body_size, request->body);
    }
    size_t at = number < world->script_size ? number : world->script_size - 1;
    const scripted_reply reply = world->script[at];
    pthread_mutex_unlock(&world->mutex);

    const char *headers = reply.headers == NULL ? "" : reply.headers;
    const char *body = reply.body == NULL ? "" : reply.body;
    char head[512];
    switch (reply.action) {
    case REPLY_HANG:
        scripted_hang(request);
        return false;
    case REPLY_CLOSE:
        return false;
    case REPLY_CUT:
        snprintf(head, sizeof head,
                 "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n%s\r\n{\"a\":", headers);
        scripted_send(request, head, strlen(head));
        return false;
    case REPLY_LATE:
        poll(NULL, 0, REPLY_LATE_MS);
        break;
    case REPLY_CLOSE_AFTER:
        scripted_respond(request, reply.status, headers, body);
        return false;
    case REPLY_WHOLE:
        break;
    }
    scripted_respond(request, reply.status, headers, body);
    return true;
}

static void observe(void *context, const kedge_aws_observation *observation)
{
    client_world *world = context;
    pthread_mutex_lock(&world->mutex);
    snprintf(world->observed_action, sizeof world->observed_action, "%s", observation->action);
    snprintf(world->observed_code, sizeof world->observed_code, "%s", observation->code);
    world->observed_status = observation->status;
    world->observed_tries = observation->tries;
    world->observed++;
    pthread_mutex_unlock(&world->mutex);
}

static int64_t shifted_now_ms(void *context)
{
    client_world *world = context;
    kedge_environment system = kedge_environment_system(NULL);
    return system.now_ms(NULL) + world->clock_ahead_ms;
}

static int64_t real_monotonic_ms(void *context)
{
    (void)context;
    return kedge_environment_system(NULL).monotonic_ms(NULL);
}

static void scripted_random(void *context, void *bytes, size_t size)
{
    client_world *world = context;
    if (world->no_pauses) {
        memset(bytes, 0, size);
    } else {
        kedge_environment_system(NULL).random(NULL, bytes, size);
    }
}

static const char *variable(void *context, const char *name)
{
    client_world *world = context;
    if (strcmp(name, "AWS_ACCESS_KEY_ID") == 0) return "AKIDEXAMPLE";
    if (strcmp(name, "AWS_SECRET_ACCESS_KEY") == 0) return "secret";
    if (strcmp(name, "AWS_SESSION_TOKEN") == 0) {
        return scripted_server_requests(world->server) == 0 ? world->token : world->next_token;
    }
    return NULL;
}

void client_world_open(client_world *world, kedge_aws_client_options options)
{
    kedge_aws_client_free(world->client);
    world->client = NULL;
    options.environment = &world->environment;
    options.credentials = world->credentials;
    options.region = "eu-west-1";
    for (size_t i = 0; i < KEDGE_AWS_SERVICES; i++) {
        if (options.endpoints[i] == NULL) options.endpoints[i] = scripted_server_url(world->server);
    }
    options.observe = observe;
    options.observe_context = world;
    assert_int_equal(kedge_aws_client_new(&options, &world->client, NULL), KEDGE_OK);
}

void client_world_begin(client_world *world, const scripted_reply *script, size_t script_size)
{
    memset(world, 0, sizeof *world);
    assert_true(script_size <= SCRIPT_MAX);
    memcpy(world->script, script, script_size * sizeof *script);
    world->script_size = script_size;
    pthread_mutex_init(&world->mutex, NULL);
    world->environment = (kedge_environment){.allocator = &kedge_allocator_default,
                                             .now_ms = shifted_now_ms,
                                             .monotonic_ms = real_monotonic_ms,
                                             .random = scripted_random,
                                             .context = world};
    const kedge_aws_credentials_options credentials = {
        .environment = &world->environment, .variable = variable, .variable_context = world};
    assert_int_equal(kedge_aws_credentials_provider_new(&credentials, &world->credentials, NULL),
                     KEDGE_OK);
    world->server = scripted_server_start(response, world);
    client_world_open(world, (kedge_aws_client_options){0});
}

void client_world_end(client_world *world)
{
    kedge_aws_client_free(world->client);
    scripted_server_stop(world->server);
    kedge_aws_credentials_provider_free(world->credentials);
    pthread_mutex_destroy(&world->mutex);
}

kedge_aws_request request_for(kedge_aws_service service, const char *action)
{
    static const kedge_http_header json[] = {{"Content-Type", "application/x-amz-json-1.0"},
                                             {"X-Amz-Target", "Service.Action"}};
    kedge_aws_request request = {.service = service,
                                 .action = action,
                                 .method = "POST",
                                 .path = KEDGE_BYTES("/"),
                                 .headers = json,
                                 .header_count = 2,
                                 .body = KEDGE_BYTES("{}"),
                                 .response_bytes_max = 65536};
    if (service == KEDGE_AWS_S3) {
        bool put = strstr(action, "Put") != NULL;
        request.method = put ? "PUT" : "GET";
        request.path = KEDGE_BYTES("/bucket/some key");
        request.header_count = 0;
        request.body = put ? KEDGE_BYTES("body") : (kedge_bytes){NULL, 0};
    }
    return request;
}
