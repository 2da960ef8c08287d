/* A folder, an environment that repeats itself, a few mutators, and the steps of a sync between a
 * store and the naive server. */
#ifndef KEDGE_TESTS_STORE_FIXTURE_H
#define KEDGE_TESTS_STORE_FIXTURE_H

#include "sdk/store/store.h"
#include "tests/store/naive_server.h"

typedef struct fixture {
    char folder[128]; /* the store's folder is `folder`/db */
    char path[160];
    kedge_environment environment;
    uint64_t seed;
    int64_t now_ms;
    kedge_registry *registry;
    kedge_registry *watched; /* of fixture_set_up_watched; NULL: the store has `registry` */
    naive_server *server;
    kedge_store *store;
    kedge_store_options options;
    kedge_change_set changes;
    kedge_error error;
} fixture;

/* The mutators: "set" {id, value} puts notes/id; "add" {id, by} adds to a number; "remove" {id};
 * "refuse-over" {id, limit} touches notes/touched and rejects when the number is above the limit;
 * "refuse" always rejects; "pair" puts its args as notes/left and notes/right; "count-all" counts
 * the collection into counts/all. */
extern const kedge_mutator fixture_mutators[];
extern const size_t fixture_mutator_count;

void fixture_begin(fixture *f); /* a folder, a server, no store yet */
void fixture_end(fixture *f);   /* checks nothing, removes all */
/* For cmocka: `*state` is a fixture with an open store. */
int fixture_set_up(void **state);
int fixture_tear_down(void **state);
/* The same, but each of the store's mutators is `watch`, whose userdata is the one of
 * `fixture_mutators` that it stands for; the server's are as they are. A first pull has brought
 * notes/elsewhere, since nothing can be compared with a snapshot. */
int fixture_set_up_watched(void **state, kedge_mutator_function watch);
/* For `options`: another process has the folder open, and is told of each commit. */
extern const kedge_store_observer fixture_in_company;
kedge_status fixture_try_open(fixture *f, const char *path, kedge_store **store);
void fixture_open(fixture *f);
void fixture_close(fixture *f);
void fixture_reopen(fixture *f);
/* Closes, and leaves no WAL beside the files: nothing hides what is damaged in them then. */
void fixture_close_flat(fixture *f);
void fixture_remove_tree(const char *path);
void fixture_copy_tree(const char *from, const char *to);
void fixture_copy_file(const char *from, const char *to);

/* Each asserts success. */
int64_t fixture_mutate(fixture *f, const char *name, const char *args);
void fixture_expect(fixture *f, const char *id, const char *value); /* NULL: absent */
void fixture_expect_canonical(fixture *f, const char *id, const char *value);
kedge_store_position fixture_position(fixture *f);
kedge_outcome fixture_outcome(fixture *f, int64_t sequence);
char *fixture_dump(kedge_store *store, bool canonical); /* for free() */

/* One request each; `fixture_pull` follows pages and rotations to their end. */
/* The body of a push, of at most `count_max` mutations and about `bytes_max`. `*count` 0: there is
 * nothing to push. */
kedge_status fixture_push_body(kedge_store *store, uint32_t count_max, size_t bytes_max,
                               kedge_buffer *body, uint32_t *count, int64_t *last_id,
                               kedge_error *error);
naive_response fixture_push(fixture *f);
kedge_status fixture_try_pull(fixture *f, kedge_apply_result *result);
kedge_status fixture_try_page(fixture *f, kedge_apply_result *result);
kedge_status fixture_try_rotate(fixture *f);
kedge_status fixture_try_rotate_lost(fixture *f);
void fixture_pull(fixture *f);
void fixture_sync(fixture *f); /* pushes and pulls until nothing is pending */

/* I7: canonical is the server's state at the version, visible is the replay of pending over it. */
void fixture_check(fixture *f);

#endif
