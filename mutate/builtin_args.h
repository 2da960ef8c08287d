/* Reading the args of the built-in mutators. Each failure is a rejection "args-invalid" that names
 * the member and what is allowed. */
#ifndef KEDGE_MUTATE_BUILTIN_ARGS_H
#define KEDGE_MUTATE_BUILTIN_ARGS_H

#include "common/bytes.h"

#include <kedge/limits.h>
#include <kedge/mutator.h>

typedef struct kedge_builtin_item {
    char collection[KEDGE_LIMIT_NAME_BYTES + 1];
    char id[KEDGE_LIMIT_ITEM_ID_BYTES + 1];
    size_t id_size;
    kedge_bytes extra; /* the third member; borrowed from the args */
} kedge_builtin_item;

/* Args of the form {collection, id} or, when `extra` is not NULL, {collection, id, extra}. */
kedge_status kedge_builtin_read_item(kedge_tx *tx, kedge_bytes args, const char *extra,
                                     kedge_builtin_item *item, kedge_error *error);
/* Args of the form {collection, id, and the `count` members of `extra`}, whose values are borrowed
 * from the args. */
kedge_status kedge_builtin_read_members(kedge_tx *tx, kedge_bytes args, const char *const *extra,
                                        size_t count, kedge_builtin_item *item, kedge_bytes *values,
                                        kedge_error *error);
kedge_status kedge_builtin_refuse(kedge_tx *tx, kedge_error *error, const char *code,
                                  const char *format, ...) KEDGE_PRINTF(4, 5);

kedge_status kedge_builtin_put(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                               kedge_error *error);
kedge_status kedge_builtin_merge(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                 kedge_error *error);
kedge_status kedge_builtin_patch(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                 kedge_error *error);
kedge_status kedge_builtin_increment(kedge_tx *tx, const char *args, size_t args_size,
                                     void *userdata, kedge_error *error);
kedge_status kedge_builtin_delete(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                  kedge_error *error);
kedge_status kedge_builtin_text(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                kedge_error *error);
kedge_status kedge_builtin_restore(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                   kedge_error *error);
kedge_status kedge_builtin_project(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                   kedge_error *error);
/* Merges the patch `extra` into an item. */
kedge_status kedge_builtin_merge_item(kedge_tx *tx, const kedge_builtin_item *item,
                                      kedge_error *error);
kedge_status kedge_builtin_apply(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                 kedge_error *error);
kedge_status kedge_builtin_batch(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                 kedge_error *error);

#endif
