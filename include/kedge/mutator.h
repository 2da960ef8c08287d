/* Mutators: the functions that mutations name.
 *
 * A mutator is deterministic. The same code runs on the client when the app edits, on the client
 * again at each rebase, and on the server, which decides. Its only inputs are the transaction, the
 * args, the mutation's own timestamp and the caller's identity: no clock, no randomness, no files,
 * no global state. It may run any number of times and from any thread, one transaction at a time.
 *
 * A mutator either returns KEDGE_OK, and its changes count, or fails, and none of them does:
 * kedge_tx_reject() is how it refuses for a reason that a user should see. */
#ifndef KEDGE_MUTATOR_H
#define KEDGE_MUTATOR_H

#include <kedge/error.h>

KEDGE_BEGIN_DECLS

/* The state of one project as a mutator sees it. Valid only during the mutator's call. */
typedef struct kedge_tx kedge_tx;

/* `args` is canonical JSON (RFC 8785) of `args_size` bytes, not NUL-terminated. Returns KEDGE_OK,
 * what kedge_tx_reject returned, or the failure of a call below, passed on as it is. */
typedef kedge_status (*kedge_mutator_function)(kedge_tx *tx, const char *args, size_t args_size,
                                               void *KEDGE_NULLABLE userdata,
                                               kedge_error *KEDGE_NULLABLE error);

/* One mutator of an app. `name` is unique, matches [A-Za-z0-9_][A-Za-z0-9_.-]{0,63} and does not
 * start with "kedge.", which is for the built-in ones. `version` tells behaviours of one name
 * apart and is at least 1. `userdata` is handed to every call. */
typedef struct kedge_mutator {
    const char *name;
    uint32_t version;
    kedge_mutator_function function;
    void *KEDGE_NULLABLE userdata;
} kedge_mutator;

/* The entry point of a plugin: a shared library that brings an app's mutators to the server exports
 * `const kedge_mutator *kedge_plugin_mutators(size_t *count)`. The array lives as long as the
 * library. */
typedef const kedge_mutator *KEDGE_NULLABLE (*kedge_plugin_mutators_function)(size_t *count);
#define KEDGE_PLUGIN_ENTRY "kedge_plugin_mutators"

/* Who makes the mutation. Borrowed strings, never NULL. On a client whose user is not known yet
 * `user` is "". `now_ms` is the mutation's own timestamp, milliseconds since 1970, the same at each
 * replay. */
typedef struct kedge_caller {
    const char *user;
    const char *role;
    const char *client;
    int64_t now_ms;
} kedge_caller;

/* Who makes the mutation that runs. */
KEDGE_API const kedge_caller *kedge_tx_caller(kedge_tx *tx);

/* Reads the item (collection, id). KEDGE_NOT_FOUND when there is none. `value` is canonical JSON,
 * borrowed until the next call on `tx`. */
KEDGE_API kedge_status kedge_tx_get(kedge_tx *tx, const char *collection, const char *id,
                                    size_t id_size, const char **value, size_t *value_size,
                                    kedge_error *KEDGE_NULLABLE error);

/* Reads the first item of the collection whose id follows `after` in byte order; `after`
 * NULL asks for the first of all. KEDGE_DONE when there is none. Outputs are borrowed until
 * the next call on `tx`; `after` may be the `id` that the previous call gave. The mutator
 * may write between calls. */
KEDGE_API kedge_status kedge_tx_next(kedge_tx *tx, const char *collection,
                                     const char *KEDGE_NULLABLE after, size_t after_size,
                                     const char **id, size_t *id_size, const char **value,
                                     size_t *value_size, kedge_error *KEDGE_NULLABLE error);

/* Puts any JSON value under (collection, id). The value is checked and made canonical. */
KEDGE_API kedge_status kedge_tx_put(kedge_tx *tx, const char *collection, const char *id,
                                    size_t id_size, const char *value, size_t value_size,
                                    kedge_error *KEDGE_NULLABLE error);

/* Deletes the item; deleting one that is absent changes nothing and is KEDGE_OK. */
KEDGE_API kedge_status kedge_tx_delete(kedge_tx *tx, const char *collection, const char *id,
                                       size_t id_size, kedge_error *KEDGE_NULLABLE error);

/* The project record, a JSON object; KEDGE_NOT_FOUND before it was first set. Borrowed until the
 * next call on `tx`. */
KEDGE_API kedge_status kedge_tx_project(kedge_tx *tx, const char **value, size_t *value_size,
                                        kedge_error *KEDGE_NULLABLE error);

/* Replaces the project record: a JSON object of at most 1,536 bytes. */
KEDGE_API kedge_status kedge_tx_put_project(kedge_tx *tx, const char *value, size_t value_size,
                                            kedge_error *KEDGE_NULLABLE error);

/* Refuses the mutation: returns KEDGE_REJECTED for the mutator to return. `code` matches
 * [a-z0-9-]{1,63} and is meant for programs, `message` for people; a longer message is cut. */
KEDGE_API kedge_status kedge_tx_reject(kedge_tx *tx, const char *code, const char *message,
                                       kedge_error *KEDGE_NULLABLE error);

/* A string or integer member of a JSON object, decoded: what most mutators need of their args.
 * kedge_args_text copies the decoded UTF-8 and a NUL into `buffer` (KEDGE_LIMIT_EXCEEDED when
 * `buffer_size` is too small). KEDGE_NOT_FOUND when the member is absent, KEDGE_INVALID_ARGUMENT
 * when it has another type. */
KEDGE_API kedge_status kedge_args_text(const char *object, size_t object_size, const char *member,
                                       char *buffer, size_t buffer_size, size_t *text_size,
                                       kedge_error *KEDGE_NULLABLE error);
KEDGE_API kedge_status kedge_args_integer(const char *object, size_t object_size,
                                          const char *member, int64_t *value,
                                          kedge_error *KEDGE_NULLABLE error);

KEDGE_END_DECLS

#endif
