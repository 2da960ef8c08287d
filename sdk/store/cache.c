/* The cache's meta row and staging row, `item` and `base`. */
#include "sdk/store/store_internal.h"

#include "common/error.h"

kedge_status kedge_cache_meta_read(kedge_store_db *db, kedge_cache_meta *meta, kedge_error *error)
{
    static const char *const sql = "SELECT {position}, {sums}, {intact cache_meta} FROM meta";
    sqlite3_stmt *row;
    bool sound = false;
    kedge_cache_meta found;
    kedge_status status = kedge_store_db_find(db, sql, &row, error, "");
    if (status == KEDGE_DONE) return kedge_table_fail(db, "meta", error);
    if (status != KEDGE_OK) return status;
    bool fits = kedge_store_columns(
        row, "cciiiiniiiin", found.client, sizeof found.client, found.lineage, sizeof found.lineage,
        &found.version, &found.lmid, &found.revision, &found.reflected_sequence, &found.resyncing,
        &found.items.rows, &found.items.sum, &found.bases.rows, &found.bases.sum, &sound);
    sqlite3_reset(row);
    if (!fits || !sound) return kedge_table_fail(db, "meta", error);
    *meta = found;
    return KEDGE_OK;
}

kedge_status kedge_cache_meta_write(kedge_store_db *db, const kedge_cache_meta *meta,
                                    kedge_error *error)
{
    /* The columns that stay were checked when the row was read. */
    static const char *const sql =
        "UPDATE meta SET ({position}, {sums}, checksum) = ({?11}, kedge_checksum(" KEDGE_SQL_NUMBER(
            KEDGE_ROW_CACHE_META) ", only, {?7}, organization, project, ?8, ?9, ?10, ?11))";
    kedge_status status = kedge_store_db_change(
        db, sql, error, "cciiiiiiiii", meta->client, meta->lineage, meta->version, meta->lmid,
        meta->revision, meta->reflected_sequence, (int64_t)meta->resyncing, meta->items.rows,
        meta->items.sum, meta->bases.rows, meta->bases.sum);
    if (status != KEDGE_OK) return status;
    return sqlite3_changes(db->handle) == 1 ? KEDGE_OK : kedge_table_fail(db, "meta", error);
}

/* ---- the staging row ---- */

kedge_status kedge_staging_read(kedge_store_db *db, kedge_staging *staging, kedge_error *error)
{
    static const char *const sql = "SELECT {staged}, {staged_sums}, {intact staging} FROM staging";
    sqlite3_stmt *row;
    bool sound = false;
    kedge_staging found = {.version = -1};
    kedge_status status = kedge_store_db_find(db, sql, &row, error, "");
    *staging = found;
    if (status == KEDGE_DONE) return KEDGE_OK;
    if (status != KEDGE_OK) return status;
    bool fits = kedge_store_columns(
        row, "icicnniiiin", &found.version, found.lineage, sizeof found.lineage, &found.lmid,
        found.client, sizeof found.client, &found.lost, &found.complete, &found.items.rows,
        &found.items.sum, &found.outcomes.rows, &found.outcomes.sum, &sound);
    sqlite3_reset(row);
    if (!fits || !sound) return kedge_table_fail(db, "staging", error);
    *staging = found;
    return KEDGE_OK;
}

/* ---- one row of a table with keys ---- */

/* The statements of one table. All have the key in ?1 and ?2; ?3 is the value, ?4 the checksum. */
typedef struct keyed_table {
    char name[12];
    int kind;
    char find[24];
    char insert[24]; /* does not change an existing row */
    char update[24];
    char remove[24];
    char first[24];  /* the first row of the collection ?1 from the id ?2 on */
    char behind[24]; /* after it */
} keyed_table;

#define KEYED_TABLE(table, number)                                                                 \
    {                                                                                              \
        table, number, "{find " table "}", "{insert " table "}", "{update " table "}",             \
            "{remove " table "}", "{first " table "}", "{behind " table "}"                        \
    }

static const keyed_table ITEM = KEYED_TABLE("item", KEDGE_ROW_ITEM);
static const keyed_table BASE = KEYED_TABLE("base", KEDGE_ROW_BASE);
static const keyed_table STAGED = KEYED_TABLE("staged_item", KEDGE_ROW_ITEM);
_Static_assert(sizeof "{insert staged_item}" <= sizeof STAGED.insert, "with a NUL behind it");

/* Finds a row and checks it, or returns KEDGE_NOT_FOUND. */
static kedge_status find_row(kedge_store_db *db, const keyed_table *table, kedge_bytes collection,
                             kedge_bytes id, kedge_cache_row *row, kedge_error *error)
{
    sqlite3_stmt *find;
    kedge_status status = kedge_store_db_find(db, table->find, &find, error, "tt", collection, id);
    if (status == KEDGE_DONE) return KEDGE_NOT_FOUND;
    if (status != KEDGE_OK) return status;
    /* When pages are out of order, SQLite can find a row with another key. */
    if (!kedge_row_read(kedge_row_begin(table->kind, collection), find, 0, row) ||
        !kedge_bytes_equal(row->id, id))
        return kedge_row_fail(db, table->name, collection, id, error);
    return KEDGE_OK;
}

static bool same_value(const kedge_cache_row *row, const kedge_bytes *value)
{
    return row->has_value == (value != NULL) && (!value || kedge_bytes_equal(row->value, *value));
}

/* Most rows that are put are new, so the old row is read only when the insert found one.
 * `*inserted` false: there was a row, which was not changed. */
static kedge_status insert_row(kedge_store_db *db, const keyed_table *table, kedge_row_total *total,
                               kedge_bytes collection, kedge_bytes id, const kedge_bytes *value,
                               bool *inserted, kedge_error *error)
{
    int64_t checksum = kedge_row_checksum(kedge_row_begin(table->kind, collection), id, value);
    kedge_status status =
        kedge_store_db_change(db, table->insert, error, "ttoi", collection, id, value, checksum);
    *inserted = status == KEDGE_OK && sqlite3_changes(db->handle) > 0;
    if (*inserted) kedge_row_total_add(total, checksum);
    return status;
}

/* The row must be there. */
static kedge_status replace_row(kedge_store_db *db, const keyed_table *table,
                                kedge_row_total *total, kedge_bytes collection, kedge_bytes id,
                                const kedge_bytes *value, bool *changed, kedge_error *error)
{
    kedge_cache_row old;
    *changed = false;
    kedge_status status = find_row(db, table, collection, id, &old, error);
    /* Another statement found the key, so the row is missing only if the index is out of order. */
    if (status == KEDGE_NOT_FOUND) return kedge_row_fail(db, table->name, collection, id, error);
    if (status != KEDGE_OK || same_value(&old, value)) return status;
    int64_t checksum = kedge_row_checksum(kedge_row_begin(table->kind, collection), id, value);
    status =
        kedge_store_db_change(db, table->update, error, "ttoi", collection, id, value, checksum);
    if (status != KEDGE_OK) return status;
    kedge_row_total_remove(total, old.checksum);
    kedge_row_total_add(total, checksum);
    *changed = true;
    return KEDGE_OK;
}

static kedge_status put_row(kedge_store_db *db, const keyed_table *table, kedge_row_total *total,
                            kedge_bytes collection, kedge_bytes id, const kedge_bytes *value,
                            bool *changed, kedge_error *error)
{
    kedge_status status = insert_row(db, table, total, collection, id, value, changed, error);
    if (status != KEDGE_OK || *changed) return status;
    return replace_row(db, table, total, collection, id, value, changed, error);
}

static kedge_status delete_row(kedge_store_db *db, const keyed_table *table, kedge_row_total *total,
                               kedge_bytes collection, kedge_bytes id, bool *changed,
                               kedge_error *error)
{
    kedge_cache_row old;
    *changed = false;
    kedge_status status = find_row(db, table, collection, id, &old, error);
    if (status == KEDGE_NOT_FOUND) return KEDGE_OK;
    if (status == KEDGE_OK)
        status = kedge_store_db_change(db, table->remove, error, "tt", collection, id);
    if (status != KEDGE_OK) return status;
    kedge_row_total_remove(total, old.checksum);
    *changed = true;
    return KEDGE_OK;
}

/* ---- item ---- */

kedge_status kedge_cache_item(kedge_store_db *db, kedge_bytes collection, kedge_bytes id,
                              kedge_bytes *value, kedge_error *error)
{
    kedge_cache_row row;
    kedge_status status = find_row(db, &ITEM, collection, id, &row, error);
    if (status == KEDGE_OK) *value = row.value;
    return status;
}

kedge_status kedge_cache_put(kedge_store_db *db, kedge_row_total *items, kedge_bytes collection,
                             kedge_bytes id, kedge_bytes value, bool *changed, kedge_error *error)
{
    db->runs += 1 + db->indexes; /* SQLite writes the key and each of them, as it writes a row */
    return put_row(db, &ITEM, items, collection, id, &value, changed, error);
}

kedge_status kedge_cache_delete(kedge_store_db *db, kedge_row_total *items, kedge_bytes collection,
                                kedge_bytes id, bool *changed, kedge_error *error)
{
    db->runs += 1 + db->indexes;
    return delete_row(db, &ITEM, items, collection, id, changed, error);
}

kedge_status kedge_cache_clear(kedge_store_db *db, kedge_row_total *items, kedge_error *error)
{
    *items = (kedge_row_total){0};
    return kedge_store_db_execute(db, "DELETE FROM item", error);
}

kedge_status kedge_cache_put_staged(kedge_store_db *db, kedge_row_total *items,
                                    kedge_bytes collection, kedge_bytes id, kedge_bytes value,
                                    kedge_error *error)
{
    bool changed;
    return put_row(db, &STAGED, items, collection, id, &value, &changed, error);
}

static kedge_status reader_get(void *context, kedge_bytes collection, kedge_bytes id,
                               kedge_buffer *value, kedge_error *error)
{
    kedge_bytes found;
    kedge_status status = kedge_cache_item(context, collection, id, &found, error);
    if (status != KEDGE_OK) return status;
    kedge_buffer_append_bytes(value, found);
    return kedge_buffer_status(value, error);
}

/* The first row of the collection, or the first one after `after`. */
static kedge_status next_row(kedge_store_db *db, const keyed_table *table, kedge_bytes collection,
                             bool from_start, kedge_bytes after, kedge_cache_row *row,
                             kedge_error *error)
{
    sqlite3_stmt *next;
    kedge_bytes from = from_start ? (kedge_bytes){"", 0} : after;
    kedge_status status = kedge_store_db_find(db, from_start ? table->first : table->behind, &next,
                                              error, "tt", collection, from);
    if (status != KEDGE_OK) return status;
    if (!kedge_row_read(kedge_row_begin(table->kind, collection), next, 0, row) ||
        (!from_start && kedge_bytes_compare(row->id, after) <= 0))
        return kedge_row_fail(db, table->name, collection, row->id, error);
    return KEDGE_OK;
}

static kedge_status give_row(const kedge_cache_row *row, kedge_buffer *id, kedge_buffer *value,
                             kedge_error *error)
{
    kedge_buffer_append_bytes(id, row->id);
    kedge_buffer_append_bytes(value, row->value);
    kedge_status status = kedge_buffer_status(id, error);
    return status == KEDGE_OK ? kedge_buffer_status(value, error) : status;
}

static kedge_status reader_next(void *context, kedge_bytes collection, bool from_start,
                                kedge_bytes after, kedge_buffer *id, kedge_buffer *value,
                                kedge_error *error)
{
    kedge_cache_row row;
    kedge_status status = next_row(context, &ITEM, collection, from_start, after, &row, error);
    return status == KEDGE_OK ? give_row(&row, id, value, error) : status;
}

kedge_state_reader kedge_cache_reader(kedge_store_db *db)
{
    return (kedge_state_reader){db, reader_get, reader_next};
}

/* ---- base ---- */

kedge_status kedge_cache_base(kedge_store_db *db, kedge_bytes collection, kedge_bytes id,
                              kedge_cache_row *row, kedge_error *error)
{
    return find_row(db, &BASE, collection, id, row, error);
}

kedge_status kedge_cache_put_base(kedge_store_db *db, kedge_row_total *bases,
                                  kedge_bytes collection, kedge_bytes id, const kedge_bytes *value,
                                  bool replaces, kedge_error *error)
{
    bool changed;
    if (replaces) return replace_row(db, &BASE, bases, collection, id, value, &changed, error);
    return put_row(db, &BASE, bases, collection, id, value, &changed, error);
}

kedge_status kedge_cache_keep_base(kedge_store_db *db, kedge_row_total *bases,
                                   kedge_bytes collection, kedge_bytes id, const kedge_bytes *value,
                                   kedge_error *error)
{
    bool inserted;
    return insert_row(db, &BASE, bases, collection, id, value, &inserted, error);
}

kedge_status kedge_cache_delete_base(kedge_store_db *db, kedge_row_total *bases,
                                     kedge_bytes collection, kedge_bytes id, kedge_error *error)
{
    bool changed;
    return delete_row(db, &BASE, bases, collection, id, &changed, error);
}

/* ---- the canonical state: base over item ---- */

static kedge_status canonical_get(void *context, kedge_bytes collection, kedge_bytes id,
                                  kedge_buffer *value, kedge_error *error)
{
    kedge_cache_row row;
    kedge_status status = kedge_cache_base(context, collection, id, &row, error);
    if (status == KEDGE_NOT_FOUND) return reader_get(context, collection, id, value, error);
    if (status != KEDGE_OK) return status;
    if (!row.has_value)
        return kedge_fail(error, KEDGE_NOT_FOUND, "item-not-found", "there is no such item");
    kedge_buffer_append_bytes(value, row.value);
    return kedge_buffer_status(value, error);
}

/* The lower one of the next item and the next base, which counts where both have the id.
 * `lowest->has_value` false: nothing is there. */
static kedge_status next_canonical(kedge_store_db *db, kedge_bytes collection, bool from_start,
                                   kedge_bytes after, kedge_cache_row *lowest, kedge_error *error)
{
    kedge_cache_row item;
    kedge_status has_item = next_row(db, &ITEM, collection, from_start, after, &item, error);
    if (has_item != KEDGE_OK && has_item != KEDGE_DONE) return has_item;
    kedge_status status = next_row(db, &BASE, collection, from_start, after, lowest, error);
    if (status != KEDGE_OK && status != KEDGE_DONE) return status;
    if (has_item == KEDGE_OK &&
        (status == KEDGE_DONE || kedge_bytes_compare(item.id, lowest->id) < 0)) {
        *lowest = item;
        return KEDGE_OK;
    }
    return status;
}

static kedge_status canonical_next(void *context, kedge_bytes collection, bool from_start,
                                   kedge_bytes after, kedge_buffer *id, kedge_buffer *value,
                                   kedge_error *error)
{
    kedge_store_db *db = context;
    kedge_cache_row row;
    kedge_buffer absent = kedge_buffer_make(id->allocator);
    kedge_status status = next_canonical(db, collection, from_start, after, &row, error);
    while (status == KEDGE_OK && !row.has_value) {
        kedge_buffer_clear(&absent);
        kedge_buffer_append_bytes(&absent, row.id);
        status = kedge_buffer_status(&absent, error);
        if (status == KEDGE_OK)
            status =
                next_canonical(db, collection, false, kedge_buffer_bytes(&absent), &row, error);
    }
    if (status == KEDGE_OK) status = give_row(&row, id, value, error);
    kedge_buffer_free(&absent);
    return status;
}

kedge_state_reader kedge_cache_canonical_reader(kedge_store_db *db)
{
    return (kedge_state_reader){db, canonical_get, canonical_next};
}

static kedge_status load_row(kedge_store_db *db, sqlite3_stmt *cursor, kedge_row_total *seen,
                             kedge_overlay *base, kedge_error *error)
{
    kedge_cache_row row;
    kedge_bytes collection;
    if (!kedge_row_read_any(KEDGE_ROW_BASE, cursor, &collection, &row))
        return kedge_row_fail(db, "base", collection, row.id, error);
    kedge_row_total_add(seen, row.checksum);
    if (!row.has_value) return kedge_overlay_delete(base, collection, row.id, error);
    return kedge_overlay_put(base, collection, row.id, row.value, error);
}

kedge_status kedge_cache_load_base(kedge_store_db *db, const kedge_row_total *bases,
                                   kedge_overlay *base, kedge_error *error)
{
    static const char *const sql = "{select_all} FROM base";
    sqlite3_stmt *cursor;
    kedge_row_total seen = {0};
    kedge_status status = kedge_store_db_take(db, sql, &cursor, error);
    if (status != KEDGE_OK) return status;
    while ((status = kedge_store_db_step(db, cursor, error)) == KEDGE_OK) {
        status = load_row(db, cursor, &seen, base, error);
        if (status != KEDGE_OK) {
            sqlite3_reset(cursor);
            return status;
        }
    }
    if (status != KEDGE_DONE) return status;
    return kedge_row_total_equal(&seen, bases) ? KEDGE_OK : kedge_table_fail(db, "base", error);
}
