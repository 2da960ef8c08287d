/* What the tests of jobs share: a story to work on, lines that are kept, and damage. */
#ifndef KEDGE_TESTS_JOBS_WORLD_H
#define KEDGE_TESTS_JOBS_WORLD_H

#include "backend/api/api.h"
#include "tests/backend/world.h"

#include "backend/jobs/verify.h"

/* A request of an administrator to this backend. Returns the status. `answer` takes the body of
 * the response, as a text, and is then the caller's; NULL: nobody wants it. */
int jobs_ask_by(kedge_backend *backend, const char *method, const char *path, const char *body,
                kedge_buffer *answer);
/* The same to the world's backend; it must succeed. */
void jobs_ask(test_world *world, const char *method, const char *path, const char *body);

/* ---- lines ---- */

typedef struct kept_lines {
    kedge_lines lines;
    kedge_buffer text; /* each line and a line feed */
} kept_lines;

void lines_begin(kept_lines *kept);
void lines_end(kept_lines *kept);

/* ---- a story ---- */

/* Pushes `count` more mutations of three clients from a seed: small and large items, deletions,
 * rejections, the project record, and sometimes large args. Never the same client id twice with
 * another mutation. */
typedef struct jobs_story {
    uint64_t seed;   /* what the mutations are drawn from */
    uint64_t pushes; /* and how many there are in a push */
    int64_t next[3];
} jobs_story;

void story_begin(jobs_story *story, uint64_t seed);
void story_tell(jobs_story *story, test_world *world, int count);

/* ---- verify ---- */

/* The findings of a verification, "" when there is none: "finding finding …". Lives until the next
 * call. */
const char *jobs_findings(test_world *world, const kedge_project_ref *ref);
/* There are none. */
void jobs_check(test_world *world);

/* ---- time ---- */

/* The world's clock runs this much ahead from now on; 0 at its setup. */
void jobs_set_ahead(test_world *world, int64_t ms);

/* ---- what is derived ---- */

/* Deletes the index rows and checkpoints of versions above `through`. */
void jobs_delete_derived_above(test_world *world, int64_t through);

/* ---- damage ---- */

/* The first record whose sort key starts with `prefix`: deleted, or with an attribute of another
 * text or number. */
void damage_delete(test_world *world, const char *prefix);
void damage_text(test_world *world, const char *prefix, const char *name, const char *text);
void damage_number(test_world *world, const char *prefix, const char *name, int64_t number);
/* The same value of an attribute that is gzip, as another version of zlib may write it. */
void damage_nothing_but_bytes(test_world *world, const char *prefix, const char *name);
/* Replaces the first blob with this prefix by other bytes of gzip. */
void damage_blob(test_world *world, const char *prefix, const char *plain);

#endif
