/* Checks of what the app calls: its parameters, and where it calls from. */
#ifndef KEDGE_SDK_RUNTIME_CHECK_H
#define KEDGE_SDK_RUNTIME_CHECK_H

#include "sdk/runtime/db.h"

/* KEDGE_INVALID_ARGUMENT "argument-null": the parameter `name` must not be NULL. */
kedge_status kedge_fail_null(const char *name, kedge_error *error);

/* The name of a collection and an item's id. `id` may be NULL when `id_size` is 0. */
kedge_status kedge_check_collection(const char *collection, kedge_error *error);
kedge_status kedge_check_key(const char *collection, const char *id, size_t id_size,
                             kedge_error *error);

/* KEDGE_INVALID_ARGUMENT "called-back" on the worker thread, which would wait for itself. With the
 * database's lock held. */
kedge_status kedge_check_may_wait(const kedge_db *db, kedge_error *error);
/* KEDGE_NETWORK "offline". */
kedge_status kedge_offline(const kedge_db *db, kedge_error *error);

#endif
