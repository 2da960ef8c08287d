/* The tables of the records and the statements on them.
 *
 * record: in the order of its keys; a record's attributes are one binary value in the compact form
 * of backend/ports/record_format.c. `inverted` repeats the attribute of that name for the index.
 *
 * stream: has one row once a stream was opened, for every process that writes to the file. Then
 * each put and delete of a partition that starts with `prefix` also inserts a change, in its own
 * transaction. The oldest changes are deleted by later writes: those older than `keep_ms`, and
 * those that make the table larger than `keep_bytes`; never the newest one. Ids have no gaps, so
 * that a reader sees what was trimmed. `total` is the sum of the sizes from some
 * change on: the difference of two of them is what stands between the two. */
#include "backend/sqlite/records_tables.h"
#include "backend/sqlite/records_internal.h"

#define APPLICATION_ID 0x4b445243 /* "KDRC" */
#define TRIM_MAX       "64"       /* changes that one write deletes at most */

#define QUERY_OF(key, range, order)                                                                \
    "SELECT partition, sort, attributes FROM record WHERE " key " = ?1 AND " range " >= ?2 AND "   \
    "" range " < ?3 ORDER BY " range " " order " LIMIT ?4"

/* ?1 partition, ?2 sort, ?3 attributes, ?4 now. */
#define NOTE(kind, condition)                                                                      \
    "INSERT INTO change(at_ms, kind, partition, sort, attributes, total) "                         \
    "SELECT ?4, " kind ", ?1, ?2, ?3, length(?1) + length(?2) + length(?3) + 64 + "                \
    "coalesce((SELECT total FROM change ORDER BY id DESC LIMIT 1), 0) "                            \
    "FROM stream WHERE substr(?1, 1, length(prefix)) = prefix" condition
#define RECORD_EXISTS "EXISTS (SELECT 1 FROM record WHERE partition = ?1 AND sort = ?2)"
#define OLDEST        "(SELECT id, at_ms, total FROM change ORDER BY id LIMIT " TRIM_MAX ")"

static const char *const statements[KEDGE_SQLITE_RECORDS_STATEMENTS] = {
    [KEDGE_RECORDS_SELECT_ONE] = "SELECT attributes FROM record WHERE partition = ?1 AND sort = ?2",
    [KEDGE_RECORDS_PUT_ONE] =
        "REPLACE INTO record(partition, sort, attributes, inverted) VALUES(?1, ?2, ?3, ?4)",
    [KEDGE_RECORDS_DELETE_ONE] = "DELETE FROM record WHERE partition = ?1 AND sort = ?2",
    [KEDGE_RECORDS_QUERY_UP] = QUERY_OF("partition", "sort", "ASC"),
    [KEDGE_RECORDS_QUERY_DOWN] = QUERY_OF("partition", "sort", "DESC"),
    [KEDGE_RECORDS_QUERY_INVERTED_UP] = QUERY_OF("inverted", "partition", "ASC"),
    [KEDGE_RECORDS_QUERY_INVERTED_DOWN] = QUERY_OF("inverted", "partition", "DESC"),

    [KEDGE_CHANGES_SET_STREAM] =
        "REPLACE INTO stream(id, prefix, keep_ms, keep_bytes) VALUES(1, ?1, ?2, ?3)",
    [KEDGE_CHANGES_NOTE_PUT] = NOTE("CASE WHEN " RECORD_EXISTS " THEN 1 ELSE 0 END", ""),
    [KEDGE_CHANGES_NOTE_DELETE] = NOTE("2", " AND " RECORD_EXISTS),
    [KEDGE_CHANGES_TRIM] =
        "DELETE FROM change WHERE id < coalesce("
        "(SELECT min(o.id) FROM " OLDEST " o, stream WHERE o.at_ms > ?1 - keep_ms AND "
        "(SELECT total FROM change ORDER BY id DESC LIMIT 1) - o.total < keep_bytes), "
        "(SELECT max(id) FROM " OLDEST "))",
    [KEDGE_CHANGES_BOUNDS] = "SELECT coalesce((SELECT min(id) FROM change), 0), coalesce((SELECT "
                             "max(id) FROM change), 0)",
    [KEDGE_CHANGES_BEHIND] = "SELECT id, at_ms, kind, partition, sort, attributes FROM change "
                             "WHERE id > ?1 AND id <= ?2 ORDER BY id LIMIT ?3",
};

#define STREAM_TABLES                                                                              \
    "CREATE TABLE stream("                                                                         \
    "  id INTEGER PRIMARY KEY CHECK (id = 1),"                                                     \
    "  prefix BLOB NOT NULL,"                                                                      \
    "  keep_ms INTEGER NOT NULL,"                                                                  \
    "  keep_bytes INTEGER NOT NULL);"                                                              \
    "CREATE TABLE change("                                                                         \
    "  id INTEGER PRIMARY KEY AUTOINCREMENT," /* never used twice: positions name it */            \
    "  at_ms INTEGER NOT NULL,"                                                                    \
    "  kind INTEGER NOT NULL," /* of kedge_stream_change_kind */                                   \
    "  partition BLOB NOT NULL,"                                                                   \
    "  sort BLOB NOT NULL,"                                                                        \
    "  attributes BLOB NOT NULL,"                                                                  \
    "  total INTEGER NOT NULL);"

/* Version 2 has the stream. */
static const char *const upgrades[] = {STREAM_TABLES};

const kedge_sqlite_kind kedge_records_kind = {
    .name = "records",
    .application_id = APPLICATION_ID,
    .version = 2,
    .schema = "CREATE TABLE record("
              "  partition BLOB NOT NULL,"
              "  sort BLOB NOT NULL,"
              "  inverted TEXT,"
              "  attributes BLOB NOT NULL,"
              "  PRIMARY KEY(partition, sort)) WITHOUT ROWID;"
              "CREATE INDEX record_inverted ON record(inverted, partition, sort)"
              "  WHERE inverted IS NOT NULL;" STREAM_TABLES,
    .upgrades = upgrades,
    .statements = statements,
    .statement_count = KEDGE_SQLITE_RECORDS_STATEMENTS,
};
