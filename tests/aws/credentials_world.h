/* A provider of credentials in a made-up machine: variables, a home, clocks, and a server that is
 * the container's or the instance's endpoint. No test reaches the real ones. */
#ifndef KEDGE_TESTS_AWS_CREDENTIALS_WORLD_H
#define KEDGE_TESTS_AWS_CREDENTIALS_WORLD_H

#include "backend/aws/credential_sources.h"
#include "tests/support/scripted_server.h"

#include <pthread.h>
#include <stdatomic.h>

#define WORLD_VARIABLES_MAX 16
#define WORLD_ROUTES_MAX    8
#define WORLD_TRY_MS        20000 /* long enough for a busy machine */
#define WORLD_SHORT_TRY_MS  100
#define WORLD_START_MS      INT64_C(1800000000000) /* 2027-01-15T08:00:00Z */

/* Every secret of the tests has this in it, so that no error can show one unseen. */
#define MARK "S3CR3T"

typedef struct world_variable {
    const char *name;
    char value[256];
} world_variable;

/* What the server answers to a method and path; the first fitting one with turns left. Its texts
 * must outlive the world: the server may still send one that nobody waits for. */
typedef struct world_route {
    const char *method;
    const char *target;
    const char *header; /* must stand in the request, or NULL */
    int status;         /* 0: hangs */
    const char *body;
    int turns; /* 0: no bound */
} world_route;

typedef struct world {
    kedge_environment environment;
    world_variable variables[WORLD_VARIABLES_MAX];
    size_t variable_count;
    atomic_int_least64_t now_ms;
    atomic_int_least64_t monotonic_ms;
    char home[64];
    scripted_server *server;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    world_route routes[WORLD_ROUTES_MAX];
    size_t route_count;
    bool held; /* the server says nothing until it is released */
    int waiting;
    kedge_aws_credentials_provider *provider;
    kedge_aws_credentials got; /* by the last world_get */
    kedge_error error;
} world;

/* For cmocka's setup and teardown; the world is *state. */
int world_begin(void **state);
int world_end(void **state);

void world_set(world *w, const char *name, const char *value);
void world_set_format(world *w, const char *name, const char *format, ...) KEDGE_PRINTF(3, 4);
void world_unset(world *w, const char *name);
const char *world_variable_of(void *context, const char *name); /* for options of one's own */
/* A file of the home, "credentials" or "config", or another name. */
void world_write(world *w, const char *name, const char *text);
const char *world_path(world *w, const char *name); /* static storage */

void world_route_add(world *w, world_route route);
void world_routes_clear(world *w);
void world_hold(world *w, bool held);
bool world_wait_for_held(world *w, int requests); /* until that many wait; false after 10 s */

/* The provider, made at the first call; `profile` as in the options. */
void world_make_provider(world *w, const char *profile);
/* For servers that do not answer. */
void world_shorten_tries(world *w);
kedge_status world_get(world *w);
/* world_get fails with this, and the error shows no secret. */
void world_assert_refused(world *w, kedge_status status, const char *code, const char *part);
void world_assert_got(world *w, const char *key_id, const char *secret, const char *token);

#endif
