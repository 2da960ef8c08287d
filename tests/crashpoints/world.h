/* The stores of the runs: in memory, or DynamoDB and S3. Each run has a project of its own, which
 * is a copy of the one that its story prepared. */
#ifndef KEDGE_TESTS_CRASHPOINTS_WORLD_H
#define KEDGE_TESTS_CRASHPOINTS_WORLD_H

#include "backend/aws/aws.h"
#include "tests/crashpoints/known_versions.h"
#include "tests/crashpoints/story.h"

typedef struct world {
    kedge_environment environment;
    kedge_registry *registry;
    kedge_aws *aws; /* NULL: in memory */
    kedge_records records;
    kedge_blobs blobs;
    const story *prepared;          /* whose state is in the templates; NULL: none */
    kedge_records template_records; /* in memory: what each run starts from */
    kedge_blobs template_blobs;
    char template_project[32];
    char project[32];
    uint64_t projects;    /* made so far */
    known_versions known; /* of the checks */
} world;

kedge_status world_open(world *made, bool engines, kedge_error *error);
void world_close(world *gone);

/* Makes the state that the story starts from, unless it is that of the call before. */
kedge_status world_prepare(world *here, const story *told, kedge_error *error);
/* A fresh copy of it. `ref` borrows from the world. */
kedge_status world_fresh(world *here, kedge_project_ref *ref, kedge_error *error);
/* Everything that is made of versions is gone. */
kedge_status world_delete_derived(world *here, const kedge_project_ref *ref, kedge_error *error);

/* A backend with nothing in memory, over these ports; the same without a story. */
kedge_backend *world_backend(world *here, const story *told, const kedge_records *records,
                             const kedge_blobs *blobs);
kedge_backend *world_plain_backend(world *here, bool resources_in_order,
                                   const kedge_records *records, const kedge_blobs *blobs);

#endif
