/* The tables of the records. */
#ifndef KEDGE_BACKEND_SQLITE_RECORDS_TABLES_H
#define KEDGE_BACKEND_SQLITE_RECORDS_TABLES_H

#include "backend/sqlite/database.h"

extern const kedge_sqlite_kind kedge_records_kind;

#endif
