/* Which collections a query reads, and whether a commit concerns it. */
#ifndef KEDGE_SDK_STORE_QUERY_READS_H
#define KEDGE_SDK_STORE_QUERY_READS_H

#include "sdk/store/store.h"

#define KEDGE_QUERY_READS_MAX 16 /* a query that names more counts as one that reads all */

typedef struct kedge_query_reads {
    bool any; /* of all collections, or the project record */
    size_t count;
    char names[KEDGE_QUERY_READS_MAX][KEDGE_LIMIT_NAME_BYTES + 1];
} kedge_query_reads;

/* Of an open query; the same for every query of that SQL. Borrowed until the query is closed. */
const kedge_query_reads *kedge_store_query_reads(const kedge_query *query);

/* True when the result may differ after a commit with these changes. */
bool kedge_query_reads_touched(const kedge_query_reads *reads, const kedge_change_set *changes);

/* ---- for query.c and authorizer.c ---- */
void kedge_query_reads_view(kedge_query_reads *reads, const char *view);
void kedge_query_reads_sql(kedge_query_reads *reads, kedge_bytes sql);

#endif
