/* Mutators: the functions that make changes. A mutation is the name of a mutator and its args.
 *
 * A mutator is deterministic. The same code runs on the client when the app edits, on the client
 * again at each rebase, and on the server, whose result is final. Its only inputs are the
 * transaction, the args, the mutation's own timestamp and the caller's identity: no clock, no
 * randomness, no files, no global state. It may run any number of times and from any thread, one
 * transaction at a time.
 *
 * A mutator calls the functions of its transaction (kedge_tx_…), and not those of the database that
 * runs it. While it runs, its thread has the turn to write to that database. So a function that
 * would wait for a turn or for the server returns KEDGE_INVALID_ARGUMENT "called-back" there: every
 * function that edits, makes or drops an index, or changes the inbox; those of undo; kedge_sync,
 * kedge_wait, kedge_history, kedge_loop_run and kedge_close. Reads, the lists of edits, the status
 * and the counters work; they, too, may return "called-back" while cache.db cannot be written or
 * was just replaced. What they show lacks the changes of the mutation that runs, and the server has
 * none of these functions. So the result of a mutator must not depend on them.
 *
 * In a mutator these calls wait for ever: kedge_open of the same folder, and a call with another
 * kedge_db that has the folder open. A call that frees a watch may do so, too, while the callback
 * of the watch runs.
 *
 * When a mutator returns KEDGE_OK, all of its changes are applied; when it fails, none of them is.
 * It calls kedge_tx_reject() to refuse a mutation for a reason that a user should see.
 *
 * In the functions below, `collection` and `member` are NUL-terminated, all sizes are in bytes, and
 * JSON and ids that a transaction gives are not NUL-terminated. They return, beside the errors at
 * each of them: KEDGE_INVALID_ARGUMENT for a name or an id that is not allowed;
 * KEDGE_LIMIT_EXCEEDED "mutation-too-costly" (docs/reference/mutators.md has the limits); and the
 * error of a read that failed, such as KEDGE_IO. A mutator returns such a status as it is: after a
 * read that failed, the mutation is not rejected, and runs again. */
#ifndef KEDGE_MUTATOR_H
#define KEDGE_MUTATOR_H

#include <kedge/error.h>

KEDGE_BEGIN_DECLS

/* The state of one project as a mutator sees it. Valid only during the mutator's call. */
typedef struct kedge_tx kedge_tx;

/* `args` is canonical JSON (RFC 8785) of `args_size` bytes, not NUL-terminated. Must return
 * KEDGE_OK, the status that kedge_tx_reject returned, or the status of a function below that
 * failed. When memory of its own runs out, it returns KEDGE_NO_MEMORY: then the mutation is not
 * rejected, and the server runs it again. Any other status rejects it: with the code and message
 * in `error`, or as "mutator-failed" when there is no valid code. */
typedef kedge_status (*kedge_mutator_function)(kedge_tx *tx, const char *args, size_t args_size,
                                               void *KEDGE_NULLABLE userdata,
                                               kedge_error *KEDGE_NULLABLE error);

/* One mutator of an app. `name` is unique, matches [A-Za-z0-9_][A-Za-z0-9_.-]{0,63} and does not
 * start with "kedge.", which is for the built-in ones. `version` is at least 1; increase it when
 * the mutator's behaviour changes. `userdata` is passed to every call of `function`. Mutators stand
 * in arrays, so this struct never grows. */
typedef struct kedge_mutator {
    const char *name;
    uint32_t version;
    kedge_mutator_function function;
    void *KEDGE_NULLABLE userdata;
} kedge_mutator;

/* The entry point of a plugin, a shared library that brings an app's mutators to the server. It
 * exports the function `const kedge_mutator *kedge_plugin_mutators(size_t *count)`. The array must
 * stay valid until the library is unloaded. */
typedef const kedge_mutator *KEDGE_NULLABLE (*kedge_plugin_mutators_function)(size_t *count);
#define KEDGE_PLUGIN_ENTRY "kedge_plugin_mutators"

/* The user, role and client that make a mutation. The strings are borrowed and never NULL. On a
 * client whose user is not known yet, `user` is "". `now_ms` is the mutation's own timestamp: the
 * time of the device's clock when the edit was made, in milliseconds since 1970. It is the same at
 * each replay. The server does not check the timestamp, and kedge_rejected_resubmit makes the edit
 * again with a new one. So a date that matters should be an arg. */
typedef struct kedge_caller {
    const char *user;
    const char *role;
    const char *client;
    int64_t now_ms;
} kedge_caller;

/* Returns the caller of the mutation that runs. Borrowed for the mutator's call. */
KEDGE_API const kedge_caller *kedge_tx_caller(kedge_tx *tx);

/* Reads the item (collection, id). Returns KEDGE_NOT_FOUND when there is none; a mutator that
 * returns this status is rejected with the code "item-not-found". `*value` is canonical JSON,
 * borrowed until the next call on `tx`. */
KEDGE_API kedge_status kedge_tx_get(kedge_tx *tx, const char *collection, const char *id,
                                    size_t id_size, const char **value, size_t *value_size,
                                    kedge_error *KEDGE_NULLABLE error);

/* Reads the first item of the collection whose id follows `after` in byte order; `after` NULL reads
 * the first item of the collection. Returns KEDGE_DONE when there is none. Outputs are borrowed
 * until the next call on `tx`; `after` may be the `*id` of the previous call. The mutator may write
 * between two calls. */
KEDGE_API kedge_status kedge_tx_next(kedge_tx *tx, const char *collection,
                                     const char *KEDGE_NULLABLE after, size_t after_size,
                                     const char **id, size_t *id_size, const char **value,
                                     size_t *value_size, kedge_error *KEDGE_NULLABLE error);

/* Writes the item (collection, id). `value` may be any JSON value, of at most 8 MiB in canonical
 * form. It is copied, checked and made canonical. Errors: KEDGE_INVALID_JSON; KEDGE_LIMIT_EXCEEDED
 * for a value that is too large or nested too deep, and for more changed items than
 * KEDGE_LIMIT_MUTATION_CHANGES; KEDGE_INVALID_ARGUMENT "item-edited" (kedge/cjson.h). */
KEDGE_API kedge_status kedge_tx_put(kedge_tx *tx, const char *collection, const char *id,
                                    size_t id_size, const char *value, size_t value_size,
                                    kedge_error *KEDGE_NULLABLE error);

/* Deletes the item. Returns KEDGE_OK, too, when there is no such item. Errors: as of
 * kedge_tx_put. */
KEDGE_API kedge_status kedge_tx_delete(kedge_tx *tx, const char *collection, const char *id,
                                       size_t id_size, kedge_error *KEDGE_NULLABLE error);

/* Reads the project record, a JSON object. Returns KEDGE_NOT_FOUND when it was never set. `value`
 * is borrowed until the next call on `tx`. */
KEDGE_API kedge_status kedge_tx_get_project(kedge_tx *tx, const char **value, size_t *value_size,
                                            kedge_error *KEDGE_NULLABLE error);

/* Replaces the project record: a JSON object of at most 1,536 bytes in canonical form, which is
 * copied. Errors: KEDGE_INVALID_JSON; KEDGE_INVALID_ARGUMENT when it is no object;
 * KEDGE_LIMIT_EXCEEDED when it is too large. */
KEDGE_API kedge_status kedge_tx_put_project(kedge_tx *tx, const char *value, size_t value_size,
                                            kedge_error *KEDGE_NULLABLE error);

/* Refuses the mutation: fills `error` and returns KEDGE_REJECTED, which the mutator must return.
 * `code` matches [a-z0-9-]{1,63} and is meant for programs, `message` for people. A message over
 * KEDGE_LIMIT_REJECTION_MESSAGE_BYTES is cut. */
KEDGE_API kedge_status kedge_tx_reject(kedge_tx *tx, const char *code, const char *message,
                                       kedge_error *KEDGE_NULLABLE error);

/* Read a string or an integer member of a JSON object, for example of a mutator's args.
 * kedge_args_text copies the decoded UTF-8 and a NUL into `buffer`; `*text_size` is without the
 * NUL. KEDGE_LIMIT_EXCEEDED when `buffer_size` is too small, KEDGE_NOT_FOUND when the member is
 * absent, KEDGE_INVALID_ARGUMENT when it has another type, or `object` is no object. Integers are
 * whole numbers from -(2^53 - 1) to 2^53 - 1. Any thread. */
KEDGE_API kedge_status kedge_args_text(const char *object, size_t object_size, const char *member,
                                       char *buffer, size_t buffer_size, size_t *text_size,
                                       kedge_error *KEDGE_NULLABLE error);
KEDGE_API kedge_status kedge_args_integer(const char *object, size_t object_size,
                                          const char *member, int64_t *value,
                                          kedge_error *KEDGE_NULLABLE error);

KEDGE_END_DECLS

#endif
