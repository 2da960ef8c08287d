/* What two processors do to one resource, from a state that each story prepares. */
#ifndef KEDGE_TESTS_CRASHPOINTS_RESOURCE_STORY_H
#define KEDGE_TESTS_CRASHPOINTS_RESOURCE_STORY_H

#include "backend/resource/resource.h"

#define RESOURCE_EDITS_MAX    2
#define RESOURCE_VERSIONS_MAX 16

typedef enum edit_kind { EDIT_NONE, EDIT_PUT, EDIT_ROLLBACK, EDIT_DELETE } edit_kind;

typedef struct resource_edit {
    edit_kind kind;
    char uid; /* a digit that fills the uid; a put writes it as its value */
    int64_t expected;
    int64_t to; /* of a rollback */
} resource_edit;

/* What became of an edit. */
typedef struct edit_result {
    kedge_status status;
    int64_t version; /* of a write that succeeded */
} edit_result;

typedef struct resource_story {
    const char *name;
    int versions;                            /* that are there before, by uids 1, 2… */
    bool deleted;                            /* … and the last one was deleted */
    resource_edit first[RESOURCE_EDITS_MAX]; /* one after the other */
    resource_edit second[RESOURCE_EDITS_MAX];
} resource_story;

extern const resource_story resource_stories[];
extern const size_t resource_story_count;

kedge_status resource_story_prepare(const resource_story *told, kedge_backend *backend,
                                    const kedge_resource_ref *ref, kedge_error *error);
/* Does it, once. */
edit_result resource_story_do(const resource_edit *wanted, kedge_backend *backend,
                              const kedge_resource_ref *ref);

#endif
