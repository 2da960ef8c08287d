/* The pieces of SQL, and how they are put into a statement.
 *
 * A piece is named in braces: {pending}. Its text may name pieces in turn. The name may be followed
 * by an argument, which stands in the text where it has an @: {sealed pending}.
 *
 * Pieces for a table tell how its rows are sealed (outbox_rows.h, cache_row.h). {pending} is the
 * columns over which the checksum of a row is taken; {pending#} is that checksum, after the number
 * of the table. {intact pending} is true of a row that has its checksum. {sealed pending} copies
 * into the table the rows of the subquery after it, each with its checksum. */
#include "sdk/store/pieces.h"

#include "common/assert.h"
#include "mutate/apply.h"
#include "sdk/store/cache_row.h"
#include <string.h>

#define NAME_BYTES 40

/* A line for each piece: its name, and its text after =. */
static const char OUTBOX_PIECES[] =
    "sealed=@({@}, checksum) SELECT {@}, {@#} FROM\n"
    "intact=checksum = {@#}\n"

    /* ---- the columns of tables as they are made ---- */
    "edit_types=client TEXT, id INTEGER, uid BLOB, digest BLOB, name TEXT, args TEXT,"
    " timestamp INTEGER, origin_client TEXT, origin_id INTEGER\n"
    "meta_types= copy INTEGER PRIMARY KEY, checksum INTEGER, client TEXT, highest_id INTEGER,"
    " last_sequence INTEGER, sent_through INTEGER, revision INTEGER, unrecovered INTEGER,"
    " trimmed_through INTEGER, tail_bytes INTEGER, settled_version INTEGER, settled_lineage TEXT,"
    " ask_settled INTEGER, pending_rows INTEGER, pending_sum INTEGER, organization TEXT,"
    " project TEXT\n"
    /* Few rows are withheld, and none while all is well: neither index costs an edit anything. */
    "withheld_index=CREATE INDEX pending_withheld ON pending(withheld) WHERE withheld <> 0;\n"
    "add=ALTER TABLE @ ADD\n"
    "old=ALTER TABLE @ RENAME TO old_@;\n"
    "moved=INSERT INTO {sealed @} old_@ ORDER BY rowid;DROP TABLE old_@;\n"
    "drop_staged=DELETE FROM staging; DELETE FROM staged_item; DELETE FROM staged_outcome\n"

    /* ---- parameters ---- */
    "?7=?1, ?2, ?3, ?4, ?5, ?6, ?7\n"
    "?11={?7}, ?8, ?9, ?10, ?11\n"
    "?15={?11}, ?12, ?13, ?14, ?15\n"
    "?16={?15}, ?16\n"

    /* ---- the rows of the outbox ---- */
    "edit=sequence, client, id, uid, digest, name, args, timestamp, origin_client, origin_id\n"
    "damaged=INTO {sealed rejected} (SELECT ?1 AS sequence, ?2 AS client, ?3 AS id, ?4 AS name,"
    " ?5 AS args, ?6 AS timestamp, {no_origin}, 0 AS version, 'damaged' AS code, ?7 AS message,"
    " 3 AS state, ?6 AS decided_ms)\n"
    "no_origin=NULL AS uid, NULL AS digest, NULL AS origin_client, NULL AS origin_id\n"
    "pending={edit}, covered_version, withheld\n"
    "pending_row={pending}, checksum, {intact pending}\n"
    "pending#=kedge_checksum(1, {pending})\n"
    "rejected={edit}, version, code, message, state, decided_ms\n"
    "rejected#=kedge_checksum(2, {rejected})\n"
    "confirmed={edit}, confirmed_ms\n"
    "confirmed#=kedge_checksum(3, {confirmed})\n"
    "trimmed=client, through\n"
    "trimmed#=kedge_checksum(4, {trimmed})\n"
    "outbox_meta_3=client, highest_id, last_sequence, sent_through, revision, unrecovered,"
    " trimmed_through, tail_bytes, settled_version, settled_lineage, ask_settled, pending_rows,"
    " pending_sum, organization, project\n"
    "outbox_meta_3#=kedge_checksum(5, {outbox_meta_3})\n"
    "outbox_meta={outbox_meta_3}, rejected_rows\n"
    "outbox_meta#=kedge_checksum(5, {outbox_meta})\n"
    "totals=name, rows, sum\n"
    "totals#=kedge_checksum(6, {totals})\n"
    "declared=name, collection, paths\n"
    "declared#=kedge_checksum(7, {declared})\n"

    /* ---- the next row that can be read (salvage.c) ---- */
    "by_sequence=SELECT sequence, {@}, checksum IS {@#} FROM @ WHERE sequence > ?1 {least}\n"
    "by_ordinal=SELECT ordinal, {@}, checksum IS {@#} FROM @ WHERE ordinal > ?1"
    " ORDER BY ordinal LIMIT 1\n";

/* Of the outbox, too: which rows, and what becomes of them. */
static const char ROW_PIECES[] =
    /* ---- copies from another table ---- */
    "set_aside=INSERT OR IGNORE INTO {sealed rejected}\n"
    "recalled_from=INSERT OR REPLACE INTO {sealed pending} (SELECT *, NULL AS covered_version,"
    " 0 AS withheld FROM\n"

    /* ---- which rows ---- */
    "at=WHERE sequence = ?1\n"
    "least=ORDER BY sequence LIMIT 1\n"
    "unsound=checksum IS NOT {@#}\n"
    "same=client = ?1 AND id = ?2 AND digest = ?3\n"
    "undecided=FROM pending WHERE client = ?1 AND id > ?2 {least}\n"
    "not_pending=sequence NOT IN (SELECT sequence FROM pending)\n"
    "between=FROM @ WHERE client = ?1 AND id > ?2 AND id <= ?3\n"
    /* The rule of store.h; ?1 is the cache's client, ?2 its lmid, ?3 its version. */
    "covered=(coalesce(client = ?1 AND id <= ?2, 0) OR coalesce(covered_version <= ?3, 0))\n"
    /* The same, in front of which only those rows are looked at that may be covered: since the ids
     * of a client rise with the sequences, the rows up to its first uncovered one, and those with
     * a covered_version. */
    "covered_rows=(sequence IN (SELECT sequence FROM pending WHERE sequence < coalesce((SELECT"
    " sequence {undecided}),"
    " 9223372036854775807) UNION ALL SELECT sequence FROM pending WHERE covered_version IS NOT"
    " NULL) AND {covered})\n"
    /* The mutation of a row of `rejected` is not predicted any more. */
    "decided=NOT EXISTS(SELECT 1 FROM pending WHERE pending.sequence = rejected.sequence AND NOT"
    " {covered})\n"

    /* ---- from the first attempt of a client-only edit to the newest one ---- */
    "remade_pending=CAST(args AS INTEGER) IN (SELECT sequence FROM pending)\n"
    "attempts=SELECT sequence AS newest, CASE WHEN json_valid(args) THEN"
    " args ->> '$.made.sequence' END AS first FROM @ WHERE name = '" KEDGE_APPLY_MUTATOR "' AND\n"
    "leads=(SELECT first, max(newest) AS newest FROM ({attempts pending} covered_version IS NULL"
    " AND {intact pending} UNION ALL {attempts rejected} state IN (0, 4) AND {intact rejected})"
    " WHERE typeof(first) = 'integer' AND first BETWEEN 1 AND newest - 1"
    " GROUP BY first)\n"

    /* ---- what rows amount to ---- */
    "bytes=length(CAST(args AS BLOB))\n"
    "sum=coalesce(sum(checksum & 4294967295), 0)\n"

    /* ---- what `totals` has of a table: counted, and kept by triggers ---- */
    "total=(SELECT rows FROM totals WHERE name = '@' AND {intact totals})\n"
    "counted=SELECT '@' AS name, count(*) AS rows, {sum} AS sum FROM @\n"
    "all_counted=({counted rejected} UNION ALL {counted confirmed} UNION ALL {counted trimmed})\n"
    "totals_of=INSERT INTO totals(name, rows, sum, checksum)"
    " VALUES('@', 0, 0, kedge_checksum(6, '@', 0, 0));"
    "CREATE TRIGGER @_in AFTER INSERT ON @ {rise} 1, sum = sum + new.checksum,"
    " {rise#} 1, sum + new.checksum{of @}"
    "CREATE TRIGGER @_out AFTER DELETE ON @ {rise} -1, sum = sum + -old.checksum,"
    " {rise#} -1, sum + -old.checksum{of @}"
    "CREATE TRIGGER @_anew AFTER UPDATE OF checksum ON @ {rise} 0,"
    " sum = sum + new.checksum - old.checksum, {rise#} 0, sum + new.checksum - old.checksum{of @}\n"
    "rise=BEGIN UPDATE totals SET rows = rows +\n"
    "rise#=checksum = kedge_checksum(6, name, rows +\n"
    "of=) WHERE name = '@'; END;\n"
    "no_totals_of=DROP TRIGGER @_in;DROP TRIGGER @_out;DROP TRIGGER @_anew;\n";

static const char CACHE_PIECES[] =
    /* ---- the columns of tables ---- */
    "int=INTEGER NOT NULL\n"
    "text=TEXT NOT NULL\n"
    "key=collection {text}, id {text}\n"
    /* The same values under other names, which take no space on the disk: for the check of a row in
     * the views of queries. SQLite puts the constant of `id = 'a'` in place of `id` in all
     * conditions, and would check every row as if it were that one. */
    "own=own_collection TEXT AS (collection), own_id TEXT AS (id), own_value TEXT AS (value)\n"
    "keyed=({key}, value @, checksum {int}, {own}, UNIQUE(collection, id))\n"
    /* Each row of a view is checked by this condition, over columns that the app's conditions
     * cannot name. `likelihood` tells SQLite that it is always true, so that it does not change the
     * query plan. It comes before the conditions of the app's SQL, so that a damaged value cannot
     * hide its row. */
    "sound=likelihood(kedge_sound(own_collection, own_id, own_value, checksum), 1.0)\n"
    /* The view of all items. The table-valued functions are used once here, because making them for
     * the first time looks to the authorizer like the making of a table. */
    "items=CREATE TEMP VIEW IF NOT EXISTS kedge_items AS SELECT collection, id, value FROM @"
    " WHERE collection <> '' AND {sound};SELECT 0 FROM json_each('[]'), json_tree('[]')\n"
    "select_all=SELECT collection, id, value, checksum\n"
    /* Through the index of the keys, so that its entries are compared with the rows, too. */
    "in_order={select_all} FROM @ INDEXED BY sqlite_autoindex_@_1 ORDER BY collection, id\n"
    "rekeyed=INSERT INTO @(collection, id, value, checksum) {select_all} FROM"
    " old_@;DROP TABLE old_@;\n"
    "shown={select_all}, own_collection, own_id, own_value\n"

    /* ---- what the staged state lacks of the present one, or has more (lost.c) ---- */
    "lost=INSERT OR IGNORE INTO lost SELECT collection, id, ifnull(item.value, ''), item.checksum"
    " FROM @ USING(collection, id) WHERE item.value IS NOT staged_item.value;\n"

    /* ---- the rows of the cache ---- */
    "rows=SELECT id, value, checksum FROM @ WHERE collection = ?1\n"
    "find={rows @} AND id = ?2\n"
    "first={rows @} AND id >= ?2 ORDER BY id LIMIT 1\n"
    "behind={rows @} AND id > ?2 ORDER BY id LIMIT 1\n"
    "insert=INSERT INTO @ VALUES(?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING\n"
    "update=UPDATE @ SET value = ?3, checksum = ?4 WHERE collection = ?1 AND id = ?2\n"
    "remove=DELETE FROM @ WHERE collection = ?1 AND id = ?2\n"
    "item#=kedge_checksum(101, collection, id, value)\n"
    "base#=kedge_checksum(102, collection, id, value)\n"
    "position=client, lineage, version, lmid, revision, reflected_sequence, resyncing\n"
    "sums=item_rows, item_sum, base_rows, base_sum\n"
    "cache_meta#=kedge_checksum(103, only, {position}, organization, project, {sums})\n"
    "staged=version, lineage, lmid, client, lost, complete\n"
    "staged_sums=item_rows, item_sum, outcome_rows, outcome_sum\n"
    "staging#=kedge_checksum(104, only, {staged}, after, {staged_sums})\n"
    "staged_outcome#=kedge_checksum(105, id, version, digest, decision, code, message)\n"
    "change#=kedge_checksum(106, number, writer, by, changes)\n"
    "changes=SELECT number, writer, by, changes, {intact change} FROM change WHERE number > ?1"
    " ORDER BY number\n"
    "newest=SELECT max(number) FROM change\n";
_Static_assert(KEDGE_ROW_ITEM == 101 && KEDGE_ROW_BASE == 102 && KEDGE_ROW_CACHE_META == 103 &&
                   KEDGE_ROW_STAGING == 104 && KEDGE_ROW_STAGED_OUTCOME == 105 &&
                   KEDGE_ROW_CHANGE == 106,
               "the checksums above have these kinds");

/* Returns the text of a piece, up to the end of its line; NULL: it is none of these. */
static const char *find_among(const char *line, const char *name)
{
    size_t size = strlen(name);
    for (; *line != '\0'; line = strchr(line, '\n') + 1)
        if (strncmp(line, name, size) == 0 && line[size] == '=') return line + size + 1;
    return NULL;
}

static const char *find(const char *name)
{
    const char *text = find_among(OUTBOX_PIECES, name);
    if (!text) text = find_among(ROW_PIECES, name);
    if (!text) text = find_among(CACHE_PIECES, name);
    KEDGE_ASSERT(text != NULL);
    return text;
}

/* Reads the name of a piece, up to the brace, with the argument in place of an @. Returns what is
 * after the brace. */
static const char *read_name(const char *text, const char *argument, char name[NAME_BYTES])
{
    size_t size = 0;
    for (; *text != '}'; text++) {
        bool is_argument = *text == '@';
        size_t part = is_argument ? strlen(argument) : 1;
        KEDGE_ASSERT(*text != '\0' && size + part < NAME_BYTES);
        memcpy(name + size, is_argument ? argument : text, part);
        size += part;
    }
    name[size] = '\0';
    return text + 1;
}

/* Pieces are named a few deep, and never by themselves. */
static void put(sqlite3_str *out, const char *text, const char *argument)
{
    char name[NAME_BYTES];
    for (;;) {
        size_t plain = strcspn(text, "{@\n");
        sqlite3_str_append(out, text, (int)plain);
        text += plain;
        if (*text == '@') {
            sqlite3_str_appendall(out, argument);
            text++;
        } else if (*text == '{') {
            text = read_name(text + 1, argument, name);
            char *behind = strchr(name, ' ');
            if (behind) *behind++ = '\0';
            put(out, find(name), behind ? behind : "");
        } else {
            return;
        }
    }
}

int kedge_pieces_put(const char *sql, char **whole)
{
    *whole = NULL;
    if (!strchr(sql, '{')) return SQLITE_OK;
    sqlite3_str *out = sqlite3_str_new(NULL);
    put(out, sql, "");
    *whole = sqlite3_str_finish(out);
    return *whole ? SQLITE_OK : SQLITE_NOMEM;
}
