/* The check of declared indexes in the background: a part of cache_check.c. */
#ifndef KEDGE_SDK_STORE_INDEX_CHECK_H
#define KEDGE_SDK_STORE_INDEX_CHECK_H

#include "sdk/store/index.h"

typedef struct kedge_index_check kedge_index_check;

/* Of the snapshot that `reader` has open in the cache. The caller owns `*check`. */
kedge_status kedge_index_check_begin(const kedge_allocator *allocator, kedge_store_reader *reader,
                                     kedge_index_check **check, kedge_error *error);
/* Looks at `rows` rows more. Returns KEDGE_DONE when all indexes were right, and KEDGE_CORRUPT when
 * one is not. */
kedge_status kedge_index_check_slice(kedge_index_check *check, int rows, kedge_error *error);
void kedge_index_check_end(kedge_index_check *check); /* NULL does nothing */

#endif
