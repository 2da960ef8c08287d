/* Resources: JSON documents of an organization whose every version is kept, after the article
 * "DynamoDB: Row Versioning" (docs/explanation/resource.md). Settings and access lists are kept as
 * resources.
 *
 * The table of latest versions has one record a resource; the table of the history has one for each
 * version. Both stand in the one table of records (keys.h). Versions are 1, 2, 3… and every write,
 * a rollback too, makes a higher one. A deletion removes the latest record alone: the history
 * stays, can be read, and a resource that is created again goes on after it.
 *
 * Each write names the version that it replaces, so that no writer overwrites a version that it has
 * not seen. Before a write whose outcome is unknown is tried again, its `uid` is searched in the
 * records, so that it is never applied twice. docs/explanation/resource.md explains both ways of
 * writing. Any thread; calls block in the ports. */
#ifndef KEDGE_BACKEND_RESOURCE_RESOURCE_H
#define KEDGE_BACKEND_RESOURCE_RESOURCE_H

#include "backend/base/backend.h"
#include "common/hash.h"

#include <kedge/limits.h>

#define KEDGE_RESOURCE_UID_HEX     33 /* 32 lower-case digits and a NUL */
#define KEDGE_RESOURCE_VERSION_MAX 999999999999
#define KEDGE_RESOURCE_TRIES_MAX   8 /* of one write */

/* Which resource. Borrowed. Organization and kind are names (common/names.h); the id is UTF-8 of 1
 * to 512 bytes. */
typedef struct kedge_resource_ref {
    kedge_bytes organization;
    kedge_bytes kind;
    kedge_bytes id;
} kedge_resource_ref;

/* One version of a resource. Start from {0}; kedge_resource_free in the end. */
typedef struct kedge_resource {
    int64_t version;
    int64_t created_ms; /* when this version was written */
    char uid[KEDGE_RESOURCE_UID_HEX];
    kedge_bytes user;        /* who wrote it */
    int64_t restored;        /* the version whose value a rollback has taken; 0: none */
    kedge_bytes value;       /* canonical JSON */
    kedge_record_set memory; /* what `user` and `value` point into */
} kedge_resource;

void kedge_resource_free(kedge_resource *resource);

/* A write. */
typedef struct kedge_resource_edit {
    int64_t expected; /* the version that it replaces; 0: there is none, or it was deleted */
    const char *user;
    /* 32 lower-case hexadecimal digits that no other write has. A repeated write is recognized by
     * its uid as long as its version is the newest or the one after `expected`. NULL: random. */
    const char *uid;
} kedge_resource_edit;

/* Errors of all functions: KEDGE_INVALID_ARGUMENT and KEDGE_LIMIT_EXCEEDED for a wrong name, id,
 * value or uid; KEDGE_CORRUPT "resource-damaged" for a record that is not what was written, with
 * kind, id and version; and those of the records port. */

/* Creates (`expected` 0) or updates. `value` is one JSON value of at most
 * KEDGE_LIMIT_RESOURCE_BYTES in canonical form; of the kinds in settings.h, what these demand.
 * `*version` is the new version.
 * KEDGE_CONFLICT "resource-conflict": another version than `expected` is the latest.
 * KEDGE_UNAVAILABLE: it may or may not have been written; the caller may repeat it with its uid. */
kedge_status kedge_resource_put(kedge_backend *backend, const kedge_resource_ref *ref,
                                const kedge_resource_edit *edit, kedge_bytes value,
                                int64_t *version, kedge_error *error);
/* The same with the value of version `to`: also restores a deleted resource, with `expected` 0.
 * KEDGE_NOT_FOUND "resource-version-not-found" when there is no such version. */
kedge_status kedge_resource_rollback(kedge_backend *backend, const kedge_resource_ref *ref,
                                     const kedge_resource_edit *edit, int64_t to, int64_t *version,
                                     kedge_error *error);
/* Deletes version `expected`, from 1 on. KEDGE_OK also when it was deleted before and nothing was
 * written since; KEDGE_NOT_FOUND "resource-not-found"; KEDGE_CONFLICT as above. */
kedge_status kedge_resource_delete(kedge_backend *backend, const kedge_resource_ref *ref,
                                   int64_t expected, kedge_error *error);

/* The latest version (`version` 0), or one of the history. KEDGE_NOT_FOUND "resource-not-found" or
 * "resource-version-not-found"; the versions of a deleted resource can be read by number. */
kedge_status kedge_resource_read(kedge_backend *backend, const kedge_resource_ref *ref,
                                 int64_t version, kedge_resource *resource, kedge_error *error);

/* Called for each resource of a list; `resource` is borrowed during the call. */
typedef kedge_status (*kedge_resource_visit)(void *context, kedge_bytes id,
                                             const kedge_resource *resource, kedge_error *error);
typedef struct kedge_resource_page {
    kedge_resource_visit visit;
    void *context;
    uint32_t limit; /* from 1 on */
} kedge_resource_page;

/* The versions below `before` (0: from the newest), the newest first, at most page->limit.
 * `*latest` is 0 when the resource is deleted. `*next` is the `before` of the next page; 0: this
 * was the last.
 * KEDGE_NOT_FOUND "resource-not-found": there is no version at all. */
kedge_status kedge_resource_versions(kedge_backend *backend, const kedge_resource_ref *ref,
                                     int64_t before, const kedge_resource_page *page,
                                     int64_t *latest, int64_t *next, kedge_error *error);
/* The latest versions of the resources of a kind after the id `after` (empty: from the first), in
 * order of the bytes of their ids, at most page->limit; `*more` when there are more. ref->id is not
 * looked at. */
kedge_status kedge_resource_list(kedge_backend *backend, const kedge_resource_ref *ref,
                                 kedge_bytes after, const kedge_resource_page *page, bool *more,
                                 kedge_error *error);

#endif
