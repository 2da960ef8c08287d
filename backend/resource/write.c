/* Writes a version of a resource: reads where the resource stands, tries to commit, and after a
 * lost race or an unknown outcome reads again before it decides.
 *
 * A write is recognized by its uid. It has happened when the latest record has it, or the record of
 * the history that it would have made. Absence is never taken for failure: a try that failed with
 * an unknown outcome may still take effect, but only as long as the condition of its commit holds,
 * that is, until this write or another one has succeeded. */
#include "backend/base/pause.h"
#include "backend/resource/commit.h"
#include "backend/resource/settings.h"
#include "common/assert.h"
#include "common/error.h"
#include "common/json.h"

#include <kedge/limits.h>
#include <string.h>

#define SHOW(bytes) (int)((bytes).size < 64 ? (bytes).size : 64), (bytes).data

typedef struct resource_write {
    kedge_backend *backend;
    const kedge_resource_ref *ref;
    int64_t expected;
    kedge_resource next; /* its version: of the last try; 0 before */
    bool deletes;
    bool decided; /* what the last try gave is the result of the write */
} resource_write;

/* ---- checks ---- */

static kedge_status check_edit(const kedge_resource_ref *ref, const kedge_resource_edit *edit,
                               kedge_error *error)
{
    uint8_t uid[(KEDGE_RESOURCE_UID_HEX - 1) / 2];
    kedge_status status = kedge_resource_check_ref(ref, error);
    if (status != KEDGE_OK) return status;
    if (edit->expected < 0 || edit->expected >= KEDGE_RESOURCE_VERSION_MAX) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "resource-version-invalid",
                          "the expected version is a number from 0 to %lld",
                          (long long)KEDGE_RESOURCE_VERSION_MAX - 1);
    }
    if (edit->uid != NULL && !kedge_hex_decode(kedge_bytes_of(edit->uid), uid, sizeof uid)) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "resource-uid-invalid",
                          "a uid is 32 lower-case hexadecimal digits");
    }
    if (strlen(edit->user) > KEDGE_USER_BYTES_MAX) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "user-too-long",
                          "the name of the user is longer than %d bytes", KEDGE_USER_BYTES_MAX);
    }
    return KEDGE_OK;
}

/* Appends the canonical form. */
static kedge_status check_value(const kedge_resource_ref *ref, kedge_bytes value,
                                kedge_buffer *canonical, kedge_error *error)
{
    kedge_status status = kedge_json_normalize(value, KEDGE_LIMIT_JSON_DEPTH, canonical, error);
    if (status != KEDGE_OK) return status;
    if (canonical->size > KEDGE_LIMIT_RESOURCE_BYTES) {
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "resource-too-large",
                          "the value has %zu bytes; at most %d are allowed", canonical->size,
                          KEDGE_LIMIT_RESOURCE_BYTES);
    }
    return kedge_resource_check_kind(ref->kind, kedge_buffer_bytes(canonical), error);
}

/* ---- one try ---- */

static kedge_status done(resource_write *at, int64_t version)
{
    at->decided = true;
    at->next.version = version;
    return KEDGE_OK;
}

static kedge_status refuse(resource_write *at, const kedge_resource_head *head, kedge_error *error)
{
    int64_t latest = kedge_resource_head_latest(head);
    at->decided = true;
    if (latest > 0) {
        return kedge_fail(error, KEDGE_CONFLICT, "resource-conflict",
                          "the latest version of the resource %.*s/%.*s is %lld, not %lld",
                          SHOW(at->ref->kind), SHOW(at->ref->id), (long long)latest,
                          (long long)at->expected);
    }
    if (at->deletes) {
        return kedge_fail(error, KEDGE_NOT_FOUND, "resource-not-found",
                          "there is no resource %.*s/%.*s", SHOW(at->ref->kind), SHOW(at->ref->id));
    }
    return kedge_fail(error, KEDGE_CONFLICT, "resource-conflict",
                      "there is no resource %.*s/%.*s: it is created by a write that expects 0",
                      SHOW(at->ref->kind), SHOW(at->ref->id));
}

/* Whether version `version` of the history is this write. It may be below the latest version. */
static kedge_status find_own(resource_write *at, int64_t version, bool *own, kedge_error *error)
{
    kedge_resource row = {0};
    *own = false;
    if (version == 0) return KEDGE_OK;
    kedge_status status = kedge_resource_history_get(at->backend, at->ref, version, &row, error);
    if (status == KEDGE_NOT_FOUND) return KEDGE_OK;
    if (status != KEDGE_OK) return status;
    *own = strcmp(row.uid, at->next.uid) == 0;
    kedge_resource_free(&row);
    return KEDGE_OK;
}

/* The latest version is not the expected one: this write may have been there before. */
static kedge_status put_elsewhere(resource_write *at, const kedge_resource_head *head,
                                  kedge_error *error)
{
    bool own = false;
    int64_t version = at->expected > 0 ? at->expected + 1 : at->next.version;
    kedge_status status = find_own(at, version, &own, error);
    if (status != KEDGE_OK) return status;
    return own ? done(at, version) : refuse(at, head, error);
}

/* The newest version that there ever was, when there is no latest one: a new one goes on after
 * it. */
static kedge_status find_newest(resource_write *at, int64_t *newest, bool *own, kedge_error *error)
{
    kedge_resource row = {0};
    kedge_status status = kedge_resource_history_newest(at->backend, at->ref, &row, error);
    if (status != KEDGE_OK) return status;
    *newest = row.version;
    *own = row.version > 0 && strcmp(row.uid, at->next.uid) == 0;
    kedge_resource_free(&row);
    return KEDGE_OK;
}

static kedge_status commit(resource_write *at, const kedge_resource_head *head, int64_t newest,
                           kedge_error *error)
{
    if (newest >= KEDGE_RESOURCE_VERSION_MAX) {
        at->decided = true;
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "resource-versions-exhausted",
                          "a resource has at most %lld versions",
                          (long long)KEDGE_RESOURCE_VERSION_MAX);
    }
    at->next.version = newest + 1;
    bool in_order = at->backend->options.resources_in_order;
    return in_order
               ? kedge_resource_commit_in_order(at->backend, at->ref, head, &at->next, error)
               : kedge_resource_commit_transaction(at->backend, at->ref, head, &at->next, error);
}

static kedge_status try_put(resource_write *at, const kedge_resource_head *head, kedge_error *error)
{
    int64_t newest = kedge_resource_head_latest(head);
    bool own = newest > 0 && strcmp(head->row.uid, at->next.uid) == 0;
    if (own) return done(at, newest);
    if (newest != at->expected) return put_elsewhere(at, head, error);
    if (newest == 0) {
        kedge_status status = find_newest(at, &newest, &own, error);
        if (status != KEDGE_OK) return status;
        if (own) return done(at, newest);
    }
    return commit(at, head, newest, error);
}

static kedge_status try_delete(resource_write *at, const kedge_resource_head *head,
                               kedge_error *error)
{
    int64_t latest = kedge_resource_head_latest(head);
    int64_t newest = 0;
    bool own;
    if (latest == at->expected) {
        return at->backend->options.resources_in_order
                   ? kedge_resource_remove_in_order(at->backend, at->ref, head, error)
                   : kedge_resource_remove_transaction(at->backend, at->ref, head, error);
    }
    if (latest > 0) return refuse(at, head, error);
    kedge_status status = find_newest(at, &newest, &own, error);
    if (status != KEDGE_OK) return status;
    return newest == at->expected ? done(at, newest) : refuse(at, head, error);
}

static kedge_status try_once(resource_write *at, kedge_error *error)
{
    kedge_resource_head head;
    kedge_status status = kedge_resource_head_load(at->backend, at->ref, &head, error);
    if (status != KEDGE_OK) return status;
    status = at->deletes ? try_delete(at, &head, error) : try_put(at, &head, error);
    kedge_resource_free(&head.row);
    return status;
}

/* ---- writes ---- */

static bool is_transient(kedge_status status)
{
    return status == KEDGE_CONFLICT || status == KEDGE_UNAVAILABLE || status == KEDGE_BUSY ||
           status == KEDGE_TIMEOUT;
}

static kedge_status write_resource(resource_write *at, kedge_error *error)
{
    kedge_error failure = {0};
    for (uint32_t tries = 1;; tries++) {
        at->decided = false;
        kedge_status status = try_once(at, &failure);
        if (status == KEDGE_OK) return KEDGE_OK;
        if (at->decided || !is_transient(status)) {
            return kedge_fail(error, status, failure.code, "%s", failure.message);
        }
        if (tries == KEDGE_RESOURCE_TRIES_MAX) {
            return kedge_fail(error, KEDGE_UNAVAILABLE, "unavailable",
                              "the resource could not be written in %d tries: %s",
                              KEDGE_RESOURCE_TRIES_MAX, failure.message);
        }
        kedge_backend_pause(at->backend, tries);
    }
}

/* `value` is canonical. */
static kedge_status put_value(kedge_backend *backend, const kedge_resource_ref *ref,
                              const kedge_resource_edit *edit, kedge_bytes value, int64_t restored,
                              int64_t *version, kedge_error *error)
{
    const kedge_environment *environment = backend->environment;
    resource_write at = {.backend = backend,
                         .ref = ref,
                         .expected = edit->expected,
                         .next = {.created_ms = environment->now_ms(environment->context),
                                  .user = kedge_bytes_of(edit->user),
                                  .restored = restored,
                                  .value = value}};
    if (at.next.created_ms < 0) at.next.created_ms = 0; /* a clock before 1970 */
    if (edit->uid == NULL) {
        kedge_random_hex(environment, (KEDGE_RESOURCE_UID_HEX - 1) / 2, at.next.uid);
    } else {
        memcpy(at.next.uid, edit->uid, KEDGE_RESOURCE_UID_HEX);
    }
    kedge_status status = write_resource(&at, error);
    if (status == KEDGE_OK) *version = at.next.version;
    return status;
}

kedge_status kedge_resource_put(kedge_backend *backend, const kedge_resource_ref *ref,
                                const kedge_resource_edit *edit, kedge_bytes value,
                                int64_t *version, kedge_error *error)
{
    kedge_buffer canonical = kedge_buffer_make(backend->allocator);
    kedge_status status = check_edit(ref, edit, error);
    if (status == KEDGE_OK) status = check_value(ref, value, &canonical, error);
    if (status == KEDGE_OK) {
        status = put_value(backend, ref, edit, kedge_buffer_bytes(&canonical), 0, version, error);
    }
    kedge_buffer_free(&canonical);
    return status;
}

kedge_status kedge_resource_rollback(kedge_backend *backend, const kedge_resource_ref *ref,
                                     const kedge_resource_edit *edit, int64_t to, int64_t *version,
                                     kedge_error *error)
{
    kedge_resource old = {0};
    kedge_status status = check_edit(ref, edit, error);
    KEDGE_ASSERT(to > 0);
    if (status == KEDGE_OK) status = kedge_resource_read(backend, ref, to, &old, error);
    if (status != KEDGE_OK) return status;
    status = put_value(backend, ref, edit, old.value, to, version, error);
    kedge_resource_free(&old);
    return status;
}

kedge_status kedge_resource_delete(kedge_backend *backend, const kedge_resource_ref *ref,
                                   int64_t expected, kedge_error *error)
{
    resource_write at = {.backend = backend, .ref = ref, .expected = expected, .deletes = true};
    kedge_status status = kedge_resource_check_ref(ref, error);
    KEDGE_ASSERT(expected > 0);
    return status == KEDGE_OK ? write_resource(&at, error) : status;
}
