/* Checks both files of a folder whole, and says what is wrong where. */
#include "sdk/store/inspect_internal.h"

#include "common/error.h"
#include "sdk/store/cache_row.h"
#include "sdk/store/outbox_rows.h"
#include "sdk/store/wal_damage.h"

#include <inttypes.h>
#include <string.h>

/* A statement that has a row, with one text, for each finding. */
typedef struct finding {
    const char *sql;
    const char *what; /* in front of the text */
} finding;

#define PAGES                                                                                      \
    {                                                                                              \
        "SELECT integrity_check FROM pragma_integrity_check(" KEDGE_SQL_NUMBER(                    \
            KEDGE_INSPECT_FINDINGS_MAX) ") WHERE integrity_check <> 'ok'",                         \
            ""                                                                                     \
    }
#define ROWS(table, key, checksum)                                                                 \
    {                                                                                              \
        "SELECT " key " FROM " table " WHERE checksum IS NOT " checksum,                           \
            "the checksum is wrong of a row of " table ": "                                        \
    }
#define TOTAL(table)                                                                               \
    {                                                                                              \
        "SELECT rows || ' rows should be there' FROM totals WHERE name = '" table                  \
        "' AND (rows, sum) IS NOT (SELECT count(*), ifnull(sum(checksum), 0) FROM " table ")",     \
            "rows are missing from " table ", or are too many: "                                   \
    }
/* The same where a row of `place` has the total, in columns of its own. */
#define TOTAL_IN(place, columns, table)                                                            \
    {                                                                                              \
        "SELECT " columns "_rows || ' rows should be there' FROM " place " WHERE (" columns        \
        "_rows, " columns "_sum) IS NOT (SELECT count(*), ifnull(sum(checksum), 0) FROM " table    \
        ")",                                                                                       \
            "rows are missing from " table ", or are too many: "                                   \
    }

static const finding OUTBOX[] = {
    PAGES,
    ROWS("meta", "copy", "{outbox_meta#}"),
    ROWS("pending", "sequence", "{pending#}"),
    ROWS("rejected", "sequence", "{rejected#}"),
    ROWS("confirmed", "sequence", "{confirmed#}"),
    ROWS("trimmed", "client", "{trimmed#}"),
    ROWS("totals", "name", "{totals#}"),
    ROWS("declared", "name", "{declared#}"),
    TOTAL("rejected"),
    TOTAL("confirmed"),
    TOTAL("trimmed"),
    {"SELECT pending_rows || ' rows should be there' FROM meta WHERE copy = 1 AND"
     " (pending_rows, pending_sum) IS NOT"
     " (SELECT count(*), ifnull(sum(checksum), 0) FROM pending)",
     "rows are missing from pending, or are too many: "},
    {"SELECT rejected_rows || ' rows should be there' FROM meta WHERE copy = 1 AND"
     " rejected_rows IS NOT (SELECT count(*) FROM rejected)",
     "rows are missing from rejected, or are too many: "},
    {"SELECT count(*) || ' of 2' FROM meta HAVING count(*) <> 2", "copies of meta: "},
};

static const finding CACHE[] = {
    PAGES,
    ROWS("meta", "only", "{cache_meta#}"),
    ROWS("item", "collection || '/' || id", "{item#}"),
    ROWS("base", "collection || '/' || id", "{base#}"),
    ROWS("staging", "version", "{staging#}"),
    ROWS("staged_item", "collection || '/' || id", "{item#}"),
    ROWS("staged_outcome", "id", "{staged_outcome#}"),
    ROWS("change", "number", "{change#}"),
    TOTAL_IN("meta", "item", "item"),
    TOTAL_IN("meta", "base", "base"),
    TOTAL_IN("staging", "item", "staged_item"),
    TOTAL_IN("staging", "outcome", "staged_outcome"),
};

typedef struct verification {
    kedge_inspect *inspect;
    kedge_inspect_sink sink;
    int64_t findings;
    kedge_error unreadable; /* told last; the same damage makes several statements fail */
} verification;

static kedge_status tell(verification *work, const kedge_store_db *db, const char *what,
                         kedge_bytes text, kedge_error *error)
{
    kedge_buffer *line = &work->inspect->line;
    work->findings++;
    kedge_buffer_append_format(line, "%s: %s", db->name, what);
    kedge_buffer_append_bytes(line, text);
    return kedge_inspect_put(work->inspect, work->sink, error);
}

static kedge_status tell_unreadable(verification *work, const kedge_store_db *db,
                                    const kedge_error *why, kedge_error *error)
{
    if (strcmp(work->unreadable.message, why->message) == 0) return KEDGE_OK;
    work->unreadable = *why;
    return tell(work, db, "", kedge_bytes_of(why->message), error);
}

/* What SQLite cannot read is a finding, too; the next statement goes on. */
static kedge_status look_for(verification *work, kedge_store_db *db, const finding *one,
                             kedge_error *error)
{
    sqlite3_stmt *rows;
    kedge_error why = {0};
    kedge_status status = kedge_store_db_take(db, one->sql, &rows, &why);
    while (status == KEDGE_OK && (status = kedge_store_db_step(db, rows, &why)) == KEDGE_OK) {
        status = tell(work, db, one->what, kedge_store_column(rows, 0), error);
        if (status != KEDGE_OK) return status;
    }
    kedge_store_db_reset(db);
    if (status == KEDGE_CORRUPT) return tell_unreadable(work, db, &why, error);
    if (status != KEDGE_DONE && error != NULL) *error = why;
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

static kedge_status verify(verification *work, kedge_store_db *db, const finding *list,
                           size_t count, kedge_error *error)
{
    kedge_status status = kedge_store_db_execute(db, "BEGIN", error);
    for (size_t i = 0; i < count && status == KEDGE_OK; i++)
        status = look_for(work, db, &list[i], error);
    kedge_store_db_rollback(db);
    return status;
}

kedge_status kedge_inspect_verify(kedge_inspect *inspect, kedge_inspect_sink sink,
                                  int64_t *findings, kedge_error *error)
{
    verification work = {.inspect = inspect, .sink = sink};
    kedge_status status =
        verify(&work, &inspect->outbox, OUTBOX, sizeof OUTBOX / sizeof *OUTBOX, error);
    if (status == KEDGE_OK && kedge_wal_is_damaged(&inspect->outbox))
        status = tell(&work, &inspect->outbox, "its WAL is damaged, and has commits after that",
                      (kedge_bytes){NULL, 0}, error);
    if (status == KEDGE_OK && inspect->cache.handle)
        status = verify(&work, &inspect->cache, CACHE, sizeof CACHE / sizeof *CACHE, error);
    *findings = work.findings;
    return status;
}
