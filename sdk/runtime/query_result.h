/* The result of a watched query, held to be compared with the next one. */
#ifndef KEDGE_SDK_RUNTIME_QUERY_RESULT_H
#define KEDGE_SDK_RUNTIME_QUERY_RESULT_H

#include "common/bytes.h"
#include <kedge/read.h>
#include <kedge/watch.h>

typedef struct kedge_query_result kedge_query_result;

/* An empty one. */
kedge_status kedge_query_result_new(const kedge_allocator *allocator, kedge_query_result **result,
                                    kedge_error *error);
void kedge_query_result_free(kedge_query_result *result); /* NULL is allowed */
/* Adds a row after the others: its key, and all of it as a JSON array. */
kedge_status kedge_query_result_add(kedge_query_result *result, kedge_bytes key, kedge_bytes row,
                                    kedge_error *error);
/* All rows are added. KEDGE_INVALID_ARGUMENT when two have the same key. */
kedge_status kedge_query_result_end(kedge_query_result *result, kedge_error *error);
size_t kedge_query_result_count(const kedge_query_result *result);

/* The same from the rows of an open query; errors as kedge/watch.h says. */
kedge_status kedge_query_result_read(const kedge_allocator *allocator, kedge_query *query,
                                     kedge_query_result **result, kedge_error *error);

/* Lists what leads from `before` to `after`, as kedge/watch.h says of kedge_query_changes. `before`
 * NULL: an empty one. `*changes` is the caller's, to be freed with kedge_release; its texts are
 * borrowed from the two results. */
kedge_status kedge_query_result_compare(const kedge_query_result *before,
                                        const kedge_query_result *after, kedge_row_change **changes,
                                        size_t *count, kedge_error *error);

#endif
