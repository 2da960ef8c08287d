/* A WAL that is damaged in the middle. */
#ifndef KEDGE_SDK_STORE_WAL_DAMAGE_H
#define KEDGE_SDK_STORE_WAL_DAMAGE_H

#include "sdk/store/database.h"

/* Whether the WAL has commits after the frames that SQLite reads, which were durable. Reads some
 * kilobytes when it is whole. The caller has the write lock. */
bool kedge_wal_is_damaged(const kedge_store_db *db);

/* Writes the frames of a damaged WAL anew, so that SQLite reads all of them, the damaged pages
 * included. The file is nobody's but the caller's. One that is whole is left as it is. Returns 0,
 * or errno. */
int kedge_wal_mend(const char *path);

#endif
