/* kedge/read.h: SQL queries: checks the app's parameters and calls the store. */
#include "sdk/runtime/check.h"
#include "sdk/runtime/db.h"

kedge_status kedge_query_open(kedge_db *db, const char *sql, size_t sql_size,
                              const char *parameters, size_t parameters_size, kedge_query **query,
                              kedge_error *error)
{
    KEDGE_CALL(db, error);
    if (sql == NULL) return kedge_fail_null("sql", error);
    if (query == NULL) return kedge_fail_null("query", error);
    if (parameters == NULL && parameters_size > 0) return kedge_fail_null("parameters", error);
    return kedge_store_query_open(db->store, (kedge_bytes){sql, sql_size},
                                  (kedge_bytes){parameters, parameters_size}, query, error);
}

kedge_status kedge_query_next(kedge_query *query, kedge_error *error)
{
    if (query == NULL) return kedge_fail_null("query", error);
    return kedge_store_query_next(query, error);
}

int32_t kedge_query_column_count(const kedge_query *query)
{
    return kedge_store_query_column_count(query);
}

const char *kedge_query_column_name(const kedge_query *query, int32_t column)
{
    return kedge_store_query_column_name(query, column);
}

kedge_column_type kedge_query_column_type(const kedge_query *query, int32_t column)
{
    return kedge_store_query_column_type(query, column);
}

const char *kedge_query_text(kedge_query *query, int32_t column, size_t *size)
{
    return kedge_store_query_text(query, column, size);
}

int64_t kedge_query_integer(kedge_query *query, int32_t column)
{
    return kedge_store_query_integer(query, column);
}

double kedge_query_real(kedge_query *query, int32_t column)
{
    return kedge_store_query_real(query, column);
}

void kedge_query_close(kedge_query *query)
{
    kedge_store_query_close(query);
}
