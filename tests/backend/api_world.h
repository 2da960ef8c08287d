/* A backend over ports in memory, and requests to it: what the tests of the API share. */
#ifndef KEDGE_TESTS_API_WORLD_H
#define KEDGE_TESTS_API_WORLD_H

/* cmocka.h wants these in front of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backend/api/api.h"

#include <cjson/cJSON.h>

typedef struct api_world {
    kedge_environment environment;
    kedge_records records;
    kedge_blobs blobs;
    kedge_registry *registry;
    kedge_backend *backend;
    bool open;                   /* creates projects by their first use */
    bool queued;                 /* enqueues what is pushed */
    int64_t new_clients;         /* that a user may begin with in a minute; 0: no limit */
    int64_t projects_max;        /* of an organization; 0: no limit */
    int64_t stored_max;          /* bytes of an organization; 0: no limit */
    size_t carried_max;          /* bytes that the front end can carry; 0: no limit */
    kedge_api_response response; /* to the last request */
    cJSON *json;                 /* its body, or NULL */
    /* Sent with the next requests. */
    bool accepts_gzip;
    bool truncated;
    bool goes_on; /* in another time slice */
    size_t room;  /* that a response may have; 0: all */
    size_t asked; /* the largest response for which room was asked */
    const char *range;
    /* Of a world in queued mode: what was enqueued, and what the queue answers. */
    size_t enqueued;
    kedge_buffer last_enqueued;
    char enqueued_by[64];
    kedge_status enqueue_status;
    size_t background_failures[KEDGE_BACKGROUND_WORKS];
} api_world;

/* Ann and Bob of the organization acme; Eve of another one; Rob may use the project notes alone;
 * root. */
extern const kedge_identity ann, bob, eve, rob, root;

/* With the project acme/notes. The environment variable KEDGE_TEST_CADENCE "seed" makes all worlds
 * write that way. */
api_world *api_world_new(void);
api_world *api_world_new_open(void); /* in open mode, without projects */
/* With an allocator of its own, and ports that `wrap` (may be NULL) has put
 * something in front of. */
api_world *api_world_new_with(const kedge_allocator *allocator, void (*wrap)(api_world *world));
/* In queued mode, with the project acme/notes. Nothing is ever decided by itself. */
api_world *api_world_new_queued(void);
/* Another backend over the same ports, with nothing cached: as after a crash. */
void api_world_restart(api_world *world);
/* Removes, or damages, the blobs with this prefix, of which there must be some, and restarts. */
void api_world_lose_blobs(api_world *world, const char *prefix, bool damages);
void api_world_free(api_world *world);

/* Asks and gives the status. The response stays in world->response until the next request. `path`
 * may have a query after '?'. */
int api_ask(api_world *world, const kedge_identity *who, const char *method, const char *path,
            kedge_bytes body);
/* The same for a path below /v1/orgs/acme/projects/notes/, asked by Ann. */
int api_get(api_world *world, const char *path);
int api_post(api_world *world, const char *path, const char *body);
int api_post_as(api_world *world, const kedge_identity *who, const char *path, const char *body);

/* The response: its text, the code of a problem ("" for none), members by a path such as
 * "kedge.outcomes.0.id". */
const char *api_text(const api_world *world);
const char *api_patch(const api_world *world); /* the response's `patch` */
/* One pull of a Replicache group. */
void api_pull(api_world *world, const char *group, const char *cookie);
const char *api_code(const api_world *world);
const cJSON *api_at(const api_world *world, const char *path);
int64_t api_number(const api_world *world, const char *path);
const char *api_string(const api_world *world, const char *path);
int api_count(const api_world *world, const char *path); /* elements; -1: no such array */

#define assert_response_is(world, expected_status, expected_code)                                  \
    do {                                                                                           \
        assert_string_equal(api_code(world), expected_code);                                       \
        assert_int_equal((world)->response.status, expected_status);                               \
    } while (0)

/* Pushes one mutation of a native client; the response must be fine. Gives the version. */
int64_t api_put(api_world *world, const char *client, int64_t id, const char *key,
                const char *value);
/* Formats into a buffer that lives for the next 63 calls. */
const char *api_format(const char *format, ...) KEDGE_PRINTF(1, 2);

/* The cookie of the last pull's response as text, and the head's version. */
const char *api_cookie(const api_world *world);
int64_t api_head(api_world *world);

#endif
