/* The rows of a kedge_query_result, for the two files that read and compare them. */
#ifndef KEDGE_SDK_RUNTIME_QUERY_ROWS_H
#define KEDGE_SDK_RUNTIME_QUERY_ROWS_H

#include "sdk/runtime/query_result.h"

/* Both texts have a NUL after them. */
typedef struct kedge_query_row {
    kedge_bytes key;
    kedge_bytes row;
    size_t position;
} kedge_query_row;

struct kedge_query_result {
    const kedge_allocator *allocator;
    kedge_buffer texts;
    kedge_buffer list; /* of kedge_query_row; while rows are added, texts may still move */
    size_t count;
    /* Once all rows are added; NULL when there are none. */
    kedge_query_row *rows;    /* in the order of the result */
    kedge_query_row **by_key; /* in the order of their keys */
};

#endif
