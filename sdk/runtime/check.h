/* Checks of the app's parameters. */
#ifndef KEDGE_SDK_RUNTIME_CHECK_H
#define KEDGE_SDK_RUNTIME_CHECK_H

#include "common/bytes.h"

/* KEDGE_INVALID_ARGUMENT "argument-null": the parameter `name` must not be NULL. */
kedge_status kedge_fail_null(const char *name, kedge_error *error);

/* The name of a collection and an item's id. `id` may be NULL when `id_size` is 0. */
kedge_status kedge_check_collection(const char *collection, kedge_error *error);
kedge_status kedge_check_key(const char *collection, const char *id, size_t id_size,
                             kedge_error *error);

#endif
