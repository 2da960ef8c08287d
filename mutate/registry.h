/* The mutators that a client or a server knows by name: the built-in ones and the app's. */
#ifndef KEDGE_MUTATE_REGISTRY_H
#define KEDGE_MUTATE_REGISTRY_H

#include "common/bytes.h"
#include "mutate/batch.h"
#include <kedge/mutator.h>

#define KEDGE_LIMIT_MUTATORS 10000 /* of an app */

typedef struct kedge_registry kedge_registry;

/* Copies the array; names and userdata stay the caller's. Fails with KEDGE_INVALID_ARGUMENT on a
 * bad or reserved name, a duplicate, version 0, or a NULL function, naming it. */
kedge_status kedge_registry_new(const kedge_allocator *allocator, const kedge_mutator *mutators,
                                size_t count, kedge_registry **registry, kedge_error *error);
/* The same with client-only mutators, which the server does not have. A client sends what such a
 * mutator has read and written. */
kedge_status kedge_registry_new_for_client(const kedge_allocator *allocator,
                                           const kedge_mutator *mutators, size_t count,
                                           const kedge_mutator *client_only, size_t client_count,
                                           kedge_registry **registry, kedge_error *error);
void kedge_registry_free(kedge_registry *registry);

/* NULL when unknown. */
const kedge_mutator *kedge_registry_find(const kedge_registry *registry, kedge_bytes name);
/* Whether the mutation is run by client-only mutators: by one, or as a batch with one in it. All
 * that it needs must be known. `args` are canonical. */
bool kedge_registry_is_client_only(const kedge_registry *registry, kedge_bytes name,
                                   kedge_bytes args);
/* Whether the mutation needs a mutator that is unknown, or has an older version here: its own, of
 * `version`, or that of a part of a batch. `*lack` is the first such one, without args. `args` are
 * canonical; they are read for a batch alone. */
bool kedge_registry_lacks(const kedge_registry *registry, kedge_bytes name, int64_t version,
                          kedge_bytes args, kedge_batch_part *lack);
/* From now on no built-in mutator may be pushed but kedge.noop, which takes the place of a mutation
 * that was cancelled. */
void kedge_registry_forbid_builtins(kedge_registry *registry);
/* Allows one built-in mutator after kedge_registry_forbid_builtins. False: there is no built-in
 * mutator of this name. */
bool kedge_registry_allow_builtin(kedge_registry *registry, kedge_bytes name);
/* The name of the first mutator that the mutation needs and that may not be pushed: its own, or
 * that of a part of a batch. NULL: none. `args` are canonical. */
const char *kedge_registry_forbidden(const kedge_registry *registry, kedge_bytes name,
                                     kedge_bytes args);
/* Whether it has mutators of an app besides the built-in ones. */
bool kedge_registry_has_app(const kedge_registry *registry);
/* Names and versions, sorted, as canonical JSON [["name",version],…], with a third element
 * "client" of a client-only one: equal text, equal mutators. */
kedge_status kedge_registry_describe(const kedge_registry *registry, kedge_buffer *out,
                                     kedge_error *error);

#endif
