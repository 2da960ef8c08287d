/* The stories. */
#include "tests/crashpoints/resource_story.h"

#include <stdio.h>
#include <string.h>

#define PUT(uid, expected)                                                                         \
    {                                                                                              \
        EDIT_PUT, uid, expected, 0                                                                 \
    }
#define ROLLBACK(uid, expected, to)                                                                \
    {                                                                                              \
        EDIT_ROLLBACK, uid, expected, to                                                           \
    }
#define DELETE(expected)                                                                           \
    {                                                                                              \
        EDIT_DELETE, 0, expected, 0                                                                \
    }

const resource_story resource_stories[] = {
    {"two create", 0, false, {PUT('a', 0)}, {PUT('b', 0)}},
    {"one creation comes twice", 0, false, {PUT('a', 0)}, {PUT('a', 0)}},
    {"one creates, another creates and deletes", 0, false, {PUT('a', 0)}, {PUT('b', 0), DELETE(1)}},
    {"two update", 2, false, {PUT('a', 2)}, {PUT('b', 2)}},
    {"one update comes twice", 2, false, {PUT('a', 2)}, {PUT('a', 2)}},
    {"one updates, another updates twice", 2, false, {PUT('a', 2)}, {PUT('b', 2), PUT('c', 3)}},
    {"one updates, another deletes", 2, false, {PUT('a', 2)}, {DELETE(2)}},
    {"one updates, another rolls back", 2, false, {PUT('a', 2)}, {ROLLBACK('b', 2, 1)}},
    {"one rollback comes twice", 2, false, {ROLLBACK('a', 2, 1)}, {ROLLBACK('a', 2, 1)}},
    {"two delete", 2, false, {DELETE(2)}, {DELETE(2)}},
    {"one deletes, another deletes and creates", 2, false, {DELETE(2)}, {DELETE(2), PUT('b', 0)}},
    {"two create after a deletion", 2, true, {PUT('a', 0)}, {PUT('b', 0)}},
    {"one creates, another restores", 2, true, {PUT('a', 0)}, {ROLLBACK('b', 0, 1)}},
    {"one creates, another restores and deletes",
     2,
     true,
     {PUT('a', 0)},
     {ROLLBACK('b', 0, 1), DELETE(3)}},
};
const size_t resource_story_count = sizeof resource_stories / sizeof resource_stories[0];

edit_result resource_story_do(const resource_edit *wanted, kedge_backend *backend,
                              const kedge_resource_ref *ref)
{
    char uid[KEDGE_RESOURCE_UID_HEX] = "";
    char value[8];
    edit_result result = {KEDGE_OK, 0};
    memset(uid, wanted->uid, sizeof uid - 1);
    kedge_resource_edit edit = {.expected = wanted->expected, .user = "ann", .uid = uid};
    switch (wanted->kind) {
    case EDIT_PUT:
        snprintf(value, sizeof value, "\"%c\"", wanted->uid);
        result.status =
            kedge_resource_put(backend, ref, &edit, kedge_bytes_of(value), &result.version, NULL);
        break;
    case EDIT_ROLLBACK:
        result.status =
            kedge_resource_rollback(backend, ref, &edit, wanted->to, &result.version, NULL);
        break;
    case EDIT_DELETE:
        result.status = kedge_resource_delete(backend, ref, wanted->expected, NULL);
        break;
    case EDIT_NONE:
        break;
    }
    return result;
}

kedge_status resource_story_prepare(const resource_story *told, kedge_backend *backend,
                                    const kedge_resource_ref *ref, kedge_error *error)
{
    for (int version = 0; version < told->versions; version++) {
        char uid[KEDGE_RESOURCE_UID_HEX] = "";
        char value[8];
        int64_t written;
        memset(uid, '1' + version, sizeof uid - 1);
        kedge_resource_edit edit = {.expected = version, .user = "ann", .uid = uid};
        snprintf(value, sizeof value, "\"%c\"", uid[0]);
        kedge_status status =
            kedge_resource_put(backend, ref, &edit, kedge_bytes_of(value), &written, error);
        if (status != KEDGE_OK) return status;
    }
    return told->deleted ? kedge_resource_delete(backend, ref, told->versions, error) : KEDGE_OK;
}
