/* Private to this folder: the call that is being handled, and the functions that its handlers
 * share. */
#ifndef KEDGE_BACKEND_API_CALL_H
#define KEDGE_BACKEND_API_CALL_H

#include "backend/api/api.h"
#include "backend/base/backend.h"
#include "backend/base/project.h"
#include "backend/log/log.h"
#include "backend/logged/snapshots.h"
#include "backend/resource/settings.h"
#include "backend/versioned/commit/processor.h"
#include "backend/versioned/index/clients.h"
#include "backend/versioned/model/layout.h"
#include "backend/versioned/projects/projects.h"
#include "backend/versioned/state/state.h"
#include "backend/versioned/usage/usage.h"
#include "common/json.h"
#include "wire/address.h"
#include "wire/outcomes.h"
#include "wire/patch.h"
#include "wire/pull.h"
#include "wire/request.h"

#define KEDGE_API_BODY_BY_HASH_BYTES 65536 /* a native patch or page names larger ones by hash */
/* a larger first pull is sent as a snapshot in pages */
#define KEDGE_API_INLINE_PULL_BYTES 262144
#define KEDGE_API_DELTA_BYTES_MAX   8388608   /* a native delta over this becomes a snapshot */
#define KEDGE_API_ANSWER_BYTES_MAX  134217728 /* the largest response: 128 MiB */
/* What a pull response may have besides its patch: 1,000 outcomes with their messages, escaped. */
#define KEDGE_API_PULL_AROUND_BYTES 2097152
#define KEDGE_API_PAGE_BYTES        1048576 /* of a snapshot, when the request does not say */
#define KEDGE_API_PAGE_BYTES_MAX    4194304
#define KEDGE_API_LIST_MAX          100  /* versions or projects in one response */
#define KEDGE_API_ITEMS_MAX         1000 /* items of a collection in one response */
#define KEDGE_API_DAMAGED_MAX       100  /* lost items that a response names, or a page has */
#define KEDGE_API_ARGUMENTS_MAX     5    /* variable segments of a path */

/* What the access list of a project says of a user. */
typedef struct kedge_api_admission {
    bool listed; /* there is a list, and it gives the role */
    char role[KEDGE_USER_BYTES_MAX + 1];
} kedge_api_admission;

/* One request and its response. A function that fails fills `error`. */
typedef struct kedge_api_call {
    kedge_project project;
    const kedge_api_request *request;
    kedge_api_response *response;
    const kedge_allocator *allocator;
    kedge_bytes argument[KEDGE_API_ARGUMENTS_MAX]; /* decoded and checked, without ref's */
    size_t argument_count;
    char path_text[KEDGE_WIRE_PATH_BYTES_MAX]; /* what `argument` points into */
    size_t path_text_size;
    kedge_error error;
    /* When the project has an access list: the request with the role that the list gives. */
    kedge_api_admission admission;
    kedge_identity admitted;
    kedge_api_request admitted_request;
} kedge_api_call;

/* ---- refusing and finishing (call.c) ---- */

/* Discards what was written and responds with a problem. */
void kedge_api_refuse(kedge_api_call *call, int status, const char *code, const char *format, ...)
    KEDGE_PRINTF(4, 5);
/* Responds with the problem for call->error: transient (503) or internal (500). */
void kedge_api_fail(kedge_api_call *call, kedge_status status);
/* Finishes a response: 200 unless memory ran out while it was written. */
void kedge_api_finish(kedge_api_call *call);
/* KEDGE_UNAVAILABLE with the code no-room: the front end has no room for the response as it is
 * now. */
kedge_status kedge_api_check_room(kedge_api_call *call);
/* The same for the response and `size` bytes beside it. */
kedge_status kedge_api_check_room_beside(kedge_api_call *call, size_t size);
/* Returns whether the response is larger than KEDGE_API_ANSWER_BYTES_MAX. */
bool kedge_api_too_large(const kedge_api_call *call);
void kedge_api_refuse_too_large(kedge_api_call *call);

/* The smaller one of `limit` and `most`, the bytes that the front end can carry. `most` 0: the
 * front end has no limit. */
static inline size_t kedge_api_at_most(size_t limit, size_t most)
{
    return most > 0 && most < limit ? most : limit;
}

/* ---- the query (call.c) ---- */

/* Read parameters of the query. Each returns false after it refused the call with `query-invalid`.
 * The output is not changed when the parameter is absent. */
bool kedge_api_query_integer(kedge_api_call *call, const char *name, int64_t least, int64_t most,
                             int64_t *value);
bool kedge_api_query_text(kedge_api_call *call, const char *name, kedge_buffer *text,
                          bool *present);
/* Reads the parameter "after" of a list by name: it is empty, or a valid name of a `what`. */
bool kedge_api_query_after(kedge_api_call *call, const char *what, kedge_buffer *after);

/* ---- who may see what (access.c) ---- */

bool kedge_api_may_see(const kedge_identity *identity, kedge_bytes organization,
                       kedge_bytes project);
/* Checks whether the identity may use the project: KEDGE_OK, KEDGE_NOT_FOUND, or a failure of the
 * store. */
kedge_status kedge_api_admit(const kedge_project *project, const kedge_identity *identity,
                             kedge_api_admission *admission, kedge_error *error);
/* The same for the call; refuses it and returns false when the identity may not. From then on the
 * call's request has the role that the access list gives. */
bool kedge_api_enter_project(kedge_api_call *call);
/* The same for the request that creates the project, which need not exist. When an access list
 * keeps a member out of an existing project, the refusal is the one for a free name. */
bool kedge_api_may_create(kedge_api_call *call);
/* Whether any project of the organization has an access list. */
kedge_status kedge_api_has_access_lists(kedge_api_call *call, bool *any);
/* Returns true when the identity is an admin; otherwise refuses the call and returns false. */
bool kedge_api_is_admin(kedge_api_call *call);
/* Returns true when the call's organization is the identity's; otherwise responds that there is no
 * such organization and returns false. */
bool kedge_api_is_of_organization(kedge_api_call *call);

/* ---- the project of a call: its kind (open.c) ---- */

/* Sets the handle's history by the project's kind. KEDGE_NOT_FOUND: there is no such project. */
kedge_status kedge_api_find_kind(kedge_project *project, kedge_error *error);
/* The same for the call's project. Refuses the call, and returns false, when there is no such
 * project and its first use does not create it, or when it is a log project and not `logs`. */
bool kedge_api_choose_kind(kedge_api_call *call, bool logs);
/* Returns whether the call may write the log that it names. Refuses the call, and returns false,
 * for the log that holds the mutations of a log project. */
bool kedge_api_is_free_log(kedge_api_call *call);
/* Refuses a client that is not libkedge on a log project, since it could not replay the entries. */
void kedge_api_refuse_foreign(kedge_api_call *call);

/* ---- the project of a call: its versions (open.c) ---- */

/* Responds that there is no such project, also when this identity may not see it. */
void kedge_api_refuse_project(kedge_api_call *call);
/* Fails when the organization has used up its budget of projects or of stored bytes. KEDGE_OK when
 * the project exists. */
kedge_status kedge_api_check_new_project(const kedge_project *project, kedge_error *error);
/* Creates the project if its first use may create it (in open mode); otherwise KEDGE_NOT_FOUND. */
kedge_status kedge_api_create_on_use(const kedge_project *project, kedge_error *error);
/* The newest version, by a consistent read. Creates the project if its first use may create it. */
kedge_status kedge_api_head(const kedge_project *project, const kedge_version **head,
                            kedge_error *error);
/* The same; refuses the call when it fails, and returns false. */
bool kedge_api_open_head(kedge_api_call *call, const kedge_version **head);
/* Version `number` (0: the newest) of a project that exists; refuses with `status` and `code` when
 * there is no such version. */
bool kedge_api_open_version(kedge_api_call *call, int64_t number, int status, const char *code,
                            const kedge_version **version);
/* Sets `known` to whether the project has, or had, the version that a client names. */
kedge_status kedge_api_knows(kedge_api_call *call, const kedge_version *head, int64_t number,
                             const char *lineage, bool *known);
/* The parameter "version", a number or "latest"; latest when absent. */
bool kedge_api_query_version(kedge_api_call *call, int64_t *number);

/* ---- log projects (pull_log.c) ---- */

/* POST pull of a log project. */
void kedge_api_pull_log(kedge_api_call *call, const kedge_wire_pull_request *request);

/* ---- outcomes that the server of a log project knows (decided_log.c) ---- */

/* Sets a client's outcomes at or below the snapshot to those that the snapshot's replay gave. */
kedge_status kedge_api_tell_rejections(kedge_api_call *call, kedge_logged_snapshot *snapshot,
                                       kedge_bytes client, kedge_wire_outcomes *outcomes);
/* Whether a failure is damage of a snapshot, and not of the entries. */
bool kedge_api_is_damaged_snapshot(const kedge_api_call *call, kedge_status status);
/* The same; counts and logs such a failure. */
bool kedge_api_report_damaged_snapshot(kedge_api_call *call, kedge_status status);
/* Discards a snapshot of which two reads have failed with the damage in call->error. Returns
 * KEDGE_CORRUPT with that damage, or the error of the discard. */
kedge_status kedge_api_discard_snapshot(kedge_api_call *call,
                                        const kedge_logged_snapshot *snapshot);
/* On a log project drops the outcomes that neither an append nor the last snapshot has decided. A
 * damaged snapshot has decided nothing. */
kedge_status kedge_api_keep_decided(kedge_api_call *call, kedge_bytes client,
                                    kedge_wire_outcomes *outcomes);

/* Finds out whether the mutation that a duplicate repeats was rejected.
 *
 * The snapshot of the entry `number` (below 1: there is none) knows it of the entries up to its
 * own. It is opened when it is first needed. Of the entries after it, up to the entry `passed`, a
 * replay tells: the client may have passed these without a replay of its own. When neither can
 * tell, the duplicate stays as it is. A damaged snapshot is KEDGE_CORRUPT, and another one is
 * requested. */
typedef struct kedge_api_decided {
    kedge_api_call *call;
    const kedge_version *head;
    int64_t number;
    int64_t passed;
    bool open;
    kedge_logged_snapshot snapshot;
    kedge_error damage; /* of the snapshot */
    bool tried;
    kedge_logged_replayed *replayed;
} kedge_api_decided;
kedge_api_decided kedge_api_decided_by(kedge_api_call *call, const kedge_version *head,
                                       int64_t snapshot, int64_t passed);
void kedge_api_decided_close(kedge_api_decided *decided);
kedge_status kedge_api_decide_duplicate(kedge_api_decided *decided,
                                        kedge_wire_replay_mutation *mutation, kedge_arena *arena);

/* ---- the wire (wire.c) ---- */

/* "value": …, or "hash" and "size" when `by_hash` and the value is large. */
kedge_status kedge_api_write_value(kedge_json_writer *writer, kedge_state *state,
                                   kedge_bytes collection, const kedge_entry *entry, bool by_hash,
                                   kedge_error *error);
/* "id", "hash", "size", "meta" of an item. */
void kedge_api_write_entry(kedge_json_writer *writer, const kedge_entry *entry);
/* "outcome", and "code" and "message" of a rejection. */
void kedge_api_write_outcome(kedge_json_writer *writer, const kedge_version_mutation *mutation);
/* The members of a mutation, without the braces. */
void kedge_api_write_mutation(kedge_json_writer *writer, const kedge_version_mutation *mutation);
/* The outcomes of a client's mutations `from` to `to` at a version, as many as a response may have;
 * the caller initializes `outcomes` as empty. */
kedge_status kedge_api_load_outcomes(kedge_api_call *call, const kedge_version *at,
                                     kedge_bytes client, int64_t from, int64_t to,
                                     kedge_wire_outcomes *outcomes);
/* Writes the member `name`: `next`, or null when that is 0. */
void kedge_api_write_next(kedge_json_writer *writer, const char *name, int64_t next);

/* ---- lost items (damage.c) ---- */

/* The items that a response leaves out because the backend has lost them. */
typedef struct kedge_api_damage {
    int64_t count;            /* of items, also of those that are not named */
    kedge_buffer keys;        /* of the first ones: a JSON array without its end, or empty */
    kedge_buffer collections; /* those that cannot be read at all, in the same form */
    kedge_buffer key;         /* scratch */
    kedge_error cause;        /* of the last one */
} kedge_api_damage;

kedge_api_damage kedge_api_damage_make(const kedge_allocator *allocator);
void kedge_api_damage_free(kedge_api_damage *damage);
void kedge_api_damage_item(kedge_api_damage *damage, kedge_bytes collection, kedge_bytes id,
                           const kedge_error *cause);
void kedge_api_damage_collection(kedge_api_damage *damage, kedge_bytes collection, int64_t items,
                                 const kedge_error *cause);
/* A position to which the notes are rolled back when a part of the response is discarded. */
typedef struct kedge_api_damage_mark {
    int64_t count;
    size_t keys;
    size_t collections;
} kedge_api_damage_mark;
kedge_api_damage_mark kedge_api_damage_position(const kedge_api_damage *damage);
void kedge_api_damage_roll_back(kedge_api_damage *damage, kedge_api_damage_mark mark);
/* Reports the noted items to the front end, for its log and metrics, and in `told` to the client.
 * Call it last: nothing may be noted after it. */
kedge_status kedge_api_damage_tell(kedge_api_response *response, kedge_api_damage *damage,
                                   kedge_wire_damaged *told, kedge_error *error);

/* ---- a cursor over a state (state_cursor.c) ---- */

/* A place in a state, in key order: the project record, then each collection's items. */
typedef struct kedge_api_cursor {
    kedge_state *state;
    const kedge_version *version;
    bool at_project;   /* the project record comes next */
    size_t collection; /* index of the one where it stands */
    bool from_start;   /* the first item of the collection comes next; else the one after `after` */
    kedge_bytes after;
    /* notes collections that cannot be read, which are skipped; NULL: such a collection ends the
     * cursor with its error */
    kedge_api_damage *damage;
    bool begun; /* an earlier part has items of the collection, so it cannot be skipped any more */
} kedge_api_cursor;

kedge_api_cursor kedge_api_cursor_from_start(kedge_state *state);
kedge_api_cursor kedge_api_cursor_behind(kedge_state *state, kedge_bytes collection,
                                         kedge_bytes id);
/* Returns KEDGE_DONE when there are no more. The project record has two empty names and its
 * body. */
kedge_status kedge_api_cursor_next(kedge_api_cursor *cursor, kedge_bytes *collection,
                                   kedge_entry *entry, kedge_error *error);

/* ---- responses in parts (rest.c) ---- */

/* The version that all parts of a response are made from. It is not held in memory, and retention
 * may remove it. */
typedef struct kedge_api_pin {
    kedge_backend *backend;
    char *names;
    kedge_project_ref ref;
    int64_t number;
    char lineage[KEDGE_LINEAGE_HEX];
} kedge_api_pin;

/* The caller frees the pin, also after a failure. */
kedge_status kedge_api_pin_make(const kedge_api_call *call, const kedge_version *version,
                                kedge_api_pin *pin, kedge_error *error);
void kedge_api_pin_free(kedge_api_pin *pin);
/* Opens the state of the version, from memory or from the store. KEDGE_UNAVAILABLE "version-gone":
 * the version was removed. */
kedge_status kedge_api_pin_open(const kedge_api_pin *pin, kedge_state **state, kedge_error *error);
/* Checks that the version is still kept. Call it before missing data is reported as lost. */
kedge_status kedge_api_pin_check(const kedge_api_pin *pin, kedge_error *error);

/* ---- the patch of a pull (patch.c) ---- */

typedef struct kedge_api_patch {
    kedge_json_writer writer;
    kedge_state *state; /* of the head */
    bool native;
    kedge_buffer scratch;
    kedge_api_damage damage;
    kedge_error *error;
    /* The last item of a walk; borrowed from the state. */
    kedge_bytes collection;
    kedge_bytes id;
} kedge_api_patch;

/* These two append operations. KEDGE_OK: the last operation has brought the buffer above `limit`
 * bytes. KEDGE_DONE: no operation is left. An item whose body is lost is left out. */
kedge_status kedge_api_patch_items(kedge_api_patch *patch, kedge_api_cursor *cursor, size_t limit);
/* `*at` is the operation to begin with, 0 at first, and then the next one. */
kedge_status kedge_api_patch_changes(kedge_api_patch *patch, const kedge_changes *changes,
                                     size_t *at, size_t limit);
/* After KEDGE_OK of the two above, for a Replicache client: leaves the rest of the patch and the
 * end of the response to the next parts. KEDGE_LIMIT_EXCEEDED: the response would be too large. */
kedge_status kedge_api_patch_leave_items(kedge_api_call *call, kedge_api_patch *patch,
                                         const kedge_api_cursor *cursor);
kedge_status kedge_api_patch_leave_changes(kedge_api_call *call, kedge_api_patch *patch,
                                           int64_t from, const kedge_changes *changes, size_t at);

/* ---- reading a request's body (call.c) ---- */

kedge_wire_request kedge_api_body(const kedge_api_call *call);
/* Takes the status of a function that has read the body, with call->error. Unless it is KEDGE_OK,
 * refuses the call and returns false. */
bool kedge_api_body_is_read(kedge_api_call *call, kedge_status status);
/* Checks the body as JSON of an object; refuses the call and returns false otherwise. */
bool kedge_api_body_object(kedge_api_call *call, kedge_bytes *object);
/* Members of a checked object. Each refuses the call with `body-invalid`, naming `path`, when the
 * member is absent or wrong, and returns false. `chars` holds KEDGE_LIMIT_CLIENT_ID_BYTES + 1. */
bool kedge_api_body_client_id(kedge_api_call *call, kedge_bytes object, const char *name,
                              const char *path, char *chars);
bool kedge_api_body_integer(kedge_api_call *call, kedge_bytes object, const char *name,
                            const char *path, int64_t least, int64_t *value);
/* `chars` holds KEDGE_LIMIT_NAME_BYTES + 1. */
bool kedge_api_body_project(kedge_api_call *call, kedge_bytes object, const char *name,
                            char *chars);

/* ---- uploaded pushes (upload.c) ---- */

/* The body of a push that was uploaded. The call's request borrows from it. */
typedef struct kedge_api_upload {
    bool opened;
    kedge_key key;
    kedge_buffer body;
    kedge_api_request request;                    /* the call's, with that body, which takes room */
    bool (*has_room)(void *context, size_t size); /* of the call's; NULL: there is */
    void *room_context;
} kedge_api_upload;

static inline bool kedge_api_uploads_are_served(const kedge_backend *backend)
{
    return backend->options.blobs.vtable->presign_put != NULL;
}
/* When the request names an upload, replaces the request's body by that of the upload. Refuses the
 * call and returns false when there is no such upload. The caller must close it in both cases. */
bool kedge_api_upload_open(kedge_api_call *call, kedge_api_upload *upload);
/* Removes the upload when the response to the push is 200. */
void kedge_api_upload_close(kedge_api_call *call, kedge_api_upload *upload);

/* ---- resources (resources.c) ---- */

/* Each responds to one request about the resource. The caller has checked who may send it. */
void kedge_api_resource_respond(kedge_api_call *call, const kedge_resource_ref *ref);
void kedge_api_resource_write(kedge_api_call *call, const kedge_resource_ref *ref);

/* ---- event logs (logs.c) ---- */

/* The log that the path names. It borrows from the call. */
kedge_log kedge_api_log_of(const kedge_api_call *call);
/* Responds with the problem of a failed call of backend/log. */
void kedge_api_log_fail(kedge_api_call *call, kedge_status status);

/* ---- handlers, by route ---- */

void kedge_api_push(kedge_api_call *call);
void kedge_api_push_upload(kedge_api_call *call);
void kedge_api_pull(kedge_api_call *call);
void kedge_api_snapshot(kedge_api_call *call);
void kedge_api_snapshot_make(kedge_api_call *call);
void kedge_api_item_body(kedge_api_call *call);
void kedge_api_retire(kedge_api_call *call);
void kedge_api_versions(kedge_api_call *call);
void kedge_api_version(kedge_api_call *call);
void kedge_api_collection(kedge_api_call *call);
void kedge_api_item(kedge_api_call *call);
void kedge_api_mutations(kedge_api_call *call);
void kedge_api_mutation(kedge_api_call *call);
void kedge_api_project_create(kedge_api_call *call);
void kedge_api_project(kedge_api_call *call);
void kedge_api_project_list(kedge_api_call *call);
void kedge_api_project_organizations(kedge_api_call *call);
void kedge_api_limits(kedge_api_call *call);
void kedge_api_log_list(kedge_api_call *call);
void kedge_api_log_create(kedge_api_call *call);
void kedge_api_log(kedge_api_call *call);
void kedge_api_log_segments(kedge_api_call *call);
void kedge_api_log_new_segment(kedge_api_call *call);
void kedge_api_log_append(kedge_api_call *call);
void kedge_api_log_entries(kedge_api_call *call);
void kedge_api_log_snapshot(kedge_api_call *call);
void kedge_api_log_snapshot_chunk(kedge_api_call *call);
void kedge_api_log_metadata(kedge_api_call *call);
void kedge_api_log_archive(kedge_api_call *call);
void kedge_api_log_truncate(kedge_api_call *call);
void kedge_api_fork(kedge_api_call *call);
void kedge_api_rebase(kedge_api_call *call);
void kedge_api_resource_list(kedge_api_call *call);
void kedge_api_resource(kedge_api_call *call);
void kedge_api_resource_put(kedge_api_call *call);
void kedge_api_resource_delete(kedge_api_call *call);
void kedge_api_resource_versions(kedge_api_call *call);
void kedge_api_resource_rollback(kedge_api_call *call);
void kedge_api_organization_settings(kedge_api_call *call);
void kedge_api_organization_settings_put(kedge_api_call *call);
void kedge_api_project_settings(kedge_api_call *call);
void kedge_api_project_settings_put(kedge_api_call *call);
void kedge_api_project_access(kedge_api_call *call);
void kedge_api_project_access_put(kedge_api_call *call);

#endif
