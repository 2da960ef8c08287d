/* The made-up machine. */
#include "tests/aws/credentials_world.h"
#include "tests/support/temporary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define WAIT_S 60

const char *world_variable_of(void *context, const char *name)
{
    const world *w = context;
    for (size_t i = 0; i < w->variable_count; i++) {
        if (strcmp(w->variables[i].name, name) == 0) return w->variables[i].value;
    }
    return NULL;
}

void world_set(world *w, const char *name, const char *value)
{
    world_unset(w, name);
    assert_true(w->variable_count < WORLD_VARIABLES_MAX);
    world_variable *added = &w->variables[w->variable_count++];
    assert_true(strlen(value) < sizeof added->value);
    added->name = name;
    snprintf(added->value, sizeof added->value, "%s", value);
}

void world_set_format(world *w, const char *name, const char *format, ...)
{
    char value[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(value, sizeof value, format, arguments);
    va_end(arguments);
    world_set(w, name, value);
}

void world_unset(world *w, const char *name)
{
    for (size_t i = 0; i < w->variable_count; i++) {
        if (strcmp(w->variables[i].name, name) != 0) continue;
        w->variables[i] = w->variables[--w->variable_count];
        return;
    }
}

const char *world_path(world *w, const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", w->home, name);
    return path;
}

void world_write(world *w, const char *name, const char *text)
{
    FILE *file = fopen(world_path(w, name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

/* ---- the server ---- */

void world_route_add(world *w, world_route route)
{
    pthread_mutex_lock(&w->lock);
    assert_true(w->route_count < WORLD_ROUTES_MAX);
    w->routes[w->route_count++] = route;
    pthread_mutex_unlock(&w->lock);
}

void world_routes_clear(world *w)
{
    pthread_mutex_lock(&w->lock);
    w->route_count = 0;
    pthread_mutex_unlock(&w->lock);
}

void world_hold(world *w, bool held)
{
    pthread_mutex_lock(&w->lock);
    w->held = held;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

bool world_wait_for_held(world *w, int requests)
{
    struct timespec until;
    int result = 0;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_S;
    pthread_mutex_lock(&w->lock);
    while (w->waiting < requests && result == 0) {
        result = pthread_cond_timedwait(&w->changed, &w->lock, &until);
    }
    pthread_mutex_unlock(&w->lock);
    return result == 0;
}

static bool find_route(world *w, const scripted_request *request, world_route *found)
{
    bool is_there = false;
    pthread_mutex_lock(&w->lock);
    w->waiting++;
    pthread_cond_broadcast(&w->changed);
    while (w->held) {
        pthread_cond_wait(&w->changed, &w->lock);
    }
    w->waiting--;
    for (size_t i = 0; i < w->route_count && !is_there; i++) {
        world_route *route = &w->routes[i];
        if (strcmp(route->method, request->method) != 0 || route->turns < 0 ||
            strcmp(route->target, request->target) != 0) {
            continue;
        }
        if (route->header != NULL && strcasestr(request->headers, route->header) == NULL) continue;
        if (route->turns > 0 && --route->turns == 0) route->turns = -1;
        *found = *route;
        is_there = true;
    }
    pthread_mutex_unlock(&w->lock);
    return is_there;
}

static bool serve(void *context, const scripted_request *request)
{
    world_route route;
    if (!find_route(context, request, &route)) {
        scripted_respond(request, 418, "", "no such route");
        return true;
    }
    if (route.status == 0) {
        scripted_hang(request);
        return false;
    }
    scripted_respond(request, route.status, "", route.body == NULL ? "" : route.body);
    return true;
}

/* ---- the world ---- */

static int64_t world_now(void *context)
{
    world *w = context;
    return atomic_load(&w->now_ms);
}

static int64_t world_monotonic(void *context)
{
    world *w = context;
    return atomic_load(&w->monotonic_ms);
}

static void world_random(void *context, void *bytes, size_t size)
{
    (void)context;
    memset(bytes, 0, size);
}

int world_begin(void **state)
{
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->environment = (kedge_environment){
        .allocator = &kedge_allocator_default,
        .now_ms = world_now,
        .monotonic_ms = world_monotonic,
        .random = world_random,
        .context = w,
    };
    atomic_store(&w->now_ms, WORLD_START_MS);
    atomic_store(&w->monotonic_ms, 1000000);
    assert_true(temporary_folder(w->home, sizeof w->home, "aws"));
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
    w->server = scripted_server_start(serve, w);
    world_set(w, "AWS_SHARED_CREDENTIALS_FILE", world_path(w, "credentials"));
    world_set(w, "AWS_CONFIG_FILE", world_path(w, "config"));
    world_set(w, "AWS_EC2_METADATA_DISABLED", "true");
    *state = w;
    return 0;
}

int world_end(void **state)
{
    static const char *const files[] = {"credentials", "config", "token"};
    world *w = *state;
    kedge_aws_credentials_provider_free(w->provider);
    scripted_server_stop(w->server);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        unlink(world_path(w, files[i]));
    }
    assert_int_equal(rmdir(w->home), 0);
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    free(w);
    return 0;
}

void world_make_provider(world *w, const char *profile)
{
    kedge_aws_credentials_options options = {
        .environment = &w->environment,
        .profile = profile,
        .variable = world_variable_of,
        .variable_context = w,
    };
    if (w->provider != NULL) kedge_aws_credentials_provider_free(w->provider);
    w->provider = NULL;
    assert_int_equal(kedge_aws_credentials_provider_new(&options, &w->provider, NULL), KEDGE_OK);
    kedge_aws_credentials_provider_redirect(w->provider, scripted_server_url(w->server),
                                            WORLD_TRY_MS);
}

void world_shorten_tries(world *w)
{
    if (w->provider == NULL) world_make_provider(w, NULL);
    kedge_aws_credentials_provider_redirect(w->provider, scripted_server_url(w->server),
                                            WORLD_SHORT_TRY_MS);
}

kedge_status world_get(world *w)
{
    if (w->provider == NULL) world_make_provider(w, NULL);
    w->got = (kedge_aws_credentials){.key_id = "untouched"};
    w->error = (kedge_error){0};
    return kedge_aws_credentials_get(w->provider, &w->got, &w->error);
}

void world_assert_refused(world *w, kedge_status status, const char *code, const char *part)
{
    kedge_status got = world_get(w);
    print_message("  %s\n", w->error.message);
    assert_int_equal(got, status);
    assert_int_equal(w->error.status, status);
    assert_string_equal(w->error.code, code);
    assert_non_null(strstr(w->error.message, part));
    assert_null(strstr(w->error.message, MARK));
    assert_string_equal(w->got.key_id, "untouched");
}

void world_assert_got(world *w, const char *key_id, const char *secret, const char *token)
{
    kedge_status status = world_get(w);
    if (status != KEDGE_OK) print_error("%s\n", w->error.message);
    assert_int_equal(status, KEDGE_OK);
    assert_string_equal(w->got.key_id, key_id);
    assert_string_equal(w->got.secret, secret);
    assert_string_equal(w->got.token, token);
}
