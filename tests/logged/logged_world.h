/* A log project over a world of the backend's tests: a story of pushes, and the check of all that
 * is stored of it. */
#ifndef KEDGE_TESTS_LOGGED_LOGGED_WORLD_H
#define KEDGE_TESTS_LOGGED_LOGGED_WORLD_H

#include "tests/backend/world.h"

#include "backend/api/api.h"
#include "backend/logged/logged.h"
#include "backend/logged/snapshots.h"

#define STORY_PUSHES 24

/* The project acme/sheet by a backend of the world. Lives until 64 others were asked for. */
const kedge_project *sheet_of(kedge_backend *backend);
const kedge_project *sheet(test_world *world);
/* Creates it. */
void sheet_new(test_world *world);

/* Pushes what the builder has, by Ann. */
kedge_status sheet_send(push_builder *builder, kedge_backend *backend, kedge_push_result *result);
/* One put of the client's mutation `id`; must be fine. Gives the version. */
int64_t sheet_put(test_world *world, const char *client, int64_t id, const char *item, int value);
/* Push number i of the story, from 1 on: puts, bodies that go to blobs, rejections at the append
 * and at replay, deletions, the project record; two clients. */
kedge_status sheet_story(kedge_backend *backend, int i, kedge_push_result *result);

int64_t sheet_lmid(test_world *world, const char *client);
int64_t sheet_head(test_world *world);
/* Makes a snapshot; gives the entry. */
int64_t sheet_snap(test_world *world);

/* By a backend with nothing in memory: numbers without a gap (I3), each (client, id) once and in
 * order (I1, I2), lmids as counted; and every snapshot is what a replay of all entries up to it
 * gives: hash, items, rejections (I5). Gives the number of snapshots. */
size_t sheet_check(test_world *world);

#endif
