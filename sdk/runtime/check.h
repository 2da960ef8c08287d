/* Checks of the functions that the app calls: their parameters, and the thread that calls. */
#ifndef KEDGE_SDK_RUNTIME_CHECK_H
#define KEDGE_SDK_RUNTIME_CHECK_H

#include "sdk/runtime/db.h"

/* KEDGE_INVALID_ARGUMENT "argument-null": the parameter `name` must not be NULL. */
kedge_status kedge_fail_null(const char *name, kedge_error *error);

/* Whether this thread is in a callback or a mutator of the database. */
bool kedge_is_calling_back(kedge_db *db);

/* Begins a function of the API: "argument-null" when `db` is NULL, and KEDGE_CANCELLED "closing"
 * when the database is being closed. The function ends at the end of the block, and kedge_close
 * waits for that. A function that a callback or a mutator calls is never refused for that, since
 * kedge_close waits for both first. */
#define KEDGE_CALL(db, error)                                                                      \
    kedge_status begun = kedge_call_begin(db, error);                                              \
    if (begun != KEDGE_OK) return begun;                                                           \
    kedge_db *const called __attribute__((cleanup(kedge_call_end), unused)) = db
kedge_status kedge_call_begin(kedge_db *db, kedge_error *error);
void kedge_call_end(kedge_db *const *called);

/* The name of a collection and an item's id. `id` may be NULL when `id_size` is 0. */
kedge_status kedge_check_collection(const char *collection, kedge_error *error);
kedge_status kedge_check_key(const char *collection, const char *id, size_t id_size,
                             kedge_error *error);

/* KEDGE_INVALID_ARGUMENT "called-back" on the worker thread, and in a mutator: they would wait for
 * themselves. With the database's lock held. */
kedge_status kedge_check_may_wait(const kedge_db *db, kedge_error *error);
/* KEDGE_NETWORK "offline". */
kedge_status kedge_fail_offline(const kedge_db *db, kedge_error *error);
/* KEDGE_CANCELLED "closing". */
kedge_status kedge_fail_closing(kedge_error *error);

#endif
