/* Damage to rows, through a connection of its own that runs no triggers: see damage.h. */
#include "tests/damage/damage.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MAX 24
#define SQL_BYTES   2048
#define VALUE_BYTES 16384

typedef struct table {
    char name[64];
    int columns;
    char column[COLUMNS_MAX][64];
    bool key[COLUMNS_MAX];
} table;

static sqlite3 *open_file(const char *folder, const char *file)
{
    char path[FILES_PATH_BYTES], wal[FILES_PATH_BYTES + 8];
    sqlite3 *db = NULL;
    files_path(path, folder, file);
    (void)snprintf(wal, sizeof wal, "%s-wal", path);
    if (damage_size(path) == 0) return NULL;
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) {
        sqlite3_close(db);
        return NULL;
    }
    /* A folder without WALs stays one. */
    if (damage_size(wal) > 0) sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_exec(db, "PRAGMA ignore_check_constraints=1", NULL, NULL, NULL);
    return db;
}

/* The table number `index` in the order of names; false after the last. */
static bool read_table(sqlite3 *db, int index, table *out)
{
    sqlite3_stmt *find = NULL;
    *out = (table){.columns = 0};
    sqlite3_prepare_v2(db,
                       "SELECT name FROM sqlite_master WHERE type = 'table'"
                       " AND name NOT LIKE 'sqlite%' ORDER BY name LIMIT 1 OFFSET ?1",
                       -1, &find, NULL);
    sqlite3_bind_int(find, 1, index);
    bool found = sqlite3_step(find) == SQLITE_ROW;
    if (found)
        (void)snprintf(out->name, sizeof out->name, "%s",
                       (const char *)sqlite3_column_text(find, 0));
    sqlite3_finalize(find);
    if (!found) return false;
    sqlite3_prepare_v2(db, "SELECT name, pk FROM pragma_table_info(?1) ORDER BY cid", -1, &find,
                       NULL);
    sqlite3_bind_text(find, 1, out->name, -1, SQLITE_STATIC);
    while (out->columns < COLUMNS_MAX && sqlite3_step(find) == SQLITE_ROW) {
        int i = out->columns++;
        (void)snprintf(out->column[i], sizeof out->column[i], "%s",
                       (const char *)sqlite3_column_text(find, 0));
        out->key[i] = sqlite3_column_int(find, 1) > 0;
    }
    sqlite3_finalize(find);
    return out->columns > 0;
}

static int64_t count_rows(sqlite3 *db, const table *from)
{
    char sql[SQL_BYTES];
    sqlite3_stmt *count = NULL;
    int64_t rows = 0;
    (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM \"%s\"", from->name);
    if (sqlite3_prepare_v2(db, sql, -1, &count, NULL) == SQLITE_OK &&
        sqlite3_step(count) == SQLITE_ROW)
        rows = sqlite3_column_int64(count, 0);
    sqlite3_finalize(count);
    return rows;
}

/* Steps to the row number `index`, all columns of it. */
static sqlite3_stmt *find_row(sqlite3 *db, const table *from, int64_t index)
{
    char sql[SQL_BYTES];
    sqlite3_stmt *find = NULL;
    size_t size = (size_t)snprintf(sql, sizeof sql, "SELECT");
    for (int i = 0; i < from->columns; i++)
        size += (size_t)snprintf(sql + size, sizeof sql - size, "%s \"%s\"", i ? "," : "",
                                 from->column[i]);
    (void)snprintf(sql + size, sizeof sql - size, " FROM \"%s\" LIMIT 1 OFFSET ?1", from->name);
    if (sqlite3_prepare_v2(db, sql, -1, &find, NULL) != SQLITE_OK) return NULL;
    sqlite3_bind_int64(find, 1, index);
    if (sqlite3_step(find) == SQLITE_ROW) return find;
    sqlite3_finalize(find);
    return NULL;
}

/* `head`, then "key = ?2 AND key = ?3", bound to what `row` has. */
static sqlite3_stmt *prepare_for_row(sqlite3 *db, const table *from, const char *head,
                                     sqlite3_stmt *row)
{
    char sql[SQL_BYTES];
    sqlite3_stmt *change = NULL;
    size_t size = (size_t)snprintf(sql, sizeof sql, "%s ", head);
    int keys = 0;
    for (int i = 0; i < from->columns; i++)
        if (from->key[i])
            size += (size_t)snprintf(sql + size, sizeof sql - size, "%s\"%s\" IS ?%d",
                                     keys ? " AND " : "", from->column[i], 2 + keys),
                keys++;
    if (keys == 0 || sqlite3_prepare_v2(db, sql, -1, &change, NULL) != SQLITE_OK) return NULL;
    keys = 0;
    for (int i = 0; i < from->columns; i++)
        if (from->key[i]) sqlite3_bind_value(change, 2 + keys++, sqlite3_column_value(row, i));
    return change;
}

/* ---- other values ---- */

static void bind_integer(sqlite3_stmt *change, int64_t old, uint64_t choice)
{
    const int64_t next[] = {old ^ 1,
                            old - 1,
                            0,
                            (int64_t)(0 - (uint64_t)old) - 1,
                            old ^ 1024,
                            old + 1,
                            old ^ ((int64_t)1 << 40),
                            INT64_MAX};
    sqlite3_bind_int64(change, 1, next[choice % 8]);
}

static void bind_bytes(sqlite3_stmt *change, const void *old, size_t size, bool text,
                       damage_dice *dice, uint64_t choice)
{
    unsigned char changed[VALUE_BYTES];
    if (size > sizeof changed - 8) size = sizeof changed - 8;
    if (size > 0) memcpy(changed, old, size);
    size_t at = size > 0 ? (size_t)damage_draw(dice, size) : 0;
    switch (choice % 5) {
    case 0:
        changed[at] ^= text ? 1 : 64;
        break;
    case 1:
        size /= 2;
        break;
    case 2:
        changed[size++] = 'x';
        break;
    case 3:
        size = 0;
        break;
    default:
        changed[at] = text ? 'x' : 0;
        break;
    }
    if (size == 0 && choice % 5 == 0) size = 1;
    if (text)
        sqlite3_bind_text(change, 1, (const char *)changed, (int)size, SQLITE_TRANSIENT);
    else
        sqlite3_bind_blob(change, 1, changed, (int)size, SQLITE_TRANSIENT);
}

static void bind_other(sqlite3_stmt *change, sqlite3_stmt *row, sqlite3_stmt *another, int column,
                       damage_dice *dice, uint64_t choice)
{
    int type = sqlite3_column_type(row, column);
    if (choice % 9 == 8) { /* of another type */
        if (type == SQLITE_INTEGER)
            sqlite3_bind_text(change, 1, "x", 1, SQLITE_STATIC);
        else
            sqlite3_bind_null(change, 1);
    } else if (another && choice % 3 == 1) {
        sqlite3_bind_value(change, 1, sqlite3_column_value(another, column));
    } else if (type == SQLITE_INTEGER || type == SQLITE_NULL) {
        bind_integer(change, sqlite3_column_int64(row, column), choice);
    } else {
        const void *old = sqlite3_column_blob(row, column);
        bind_bytes(change, old, (size_t)sqlite3_column_bytes(row, column), type == SQLITE_TEXT,
                   dice, choice);
    }
}

/* Before the step: it moves the row. */
static void describe(sqlite3_stmt *change, sqlite3_stmt *row, int column, damage_target *target)
{
    char *words = sqlite3_expanded_sql(change);
    const char *old = (const char *)sqlite3_column_text(row, column);
    (void)snprintf(target->what, sizeof target->what, "%.170s (was %.60s)", words ? words : "",
                   old ? old : "NULL");
    sqlite3_free(words);
}

/* One attempt; false when the value would be the same, or the schema does not take it. */
static bool change_once(sqlite3 *db, const table *in, int column, int64_t rows,
                        damage_target *target)
{
    char head[256];
    bool changed = false;
    sqlite3_stmt *row = find_row(db, in, (int64_t)damage_draw(target->dice, (uint64_t)rows));
    sqlite3_stmt *another = find_row(db, in, (int64_t)damage_draw(target->dice, (uint64_t)rows));
    (void)snprintf(head, sizeof head, "UPDATE \"%s\" SET \"%s\" = ?1 WHERE \"%s\" IS NOT ?1 AND",
                   in->name, in->column[column], in->column[column]);
    sqlite3_stmt *change = row ? prepare_for_row(db, in, head, row) : NULL;
    if (change) {
        bind_other(change, row, another, column, target->dice, damage_draw(target->dice, 720));
        describe(change, row, column, target);
        sqlite3_finalize(another);
        another = NULL; /* an update of the row that a statement stands on is for the next step */
        changed = sqlite3_step(change) == SQLITE_DONE && sqlite3_changes(db) == 1;
    }
    sqlite3_finalize(change);
    sqlite3_finalize(row);
    sqlite3_finalize(another);
    return changed;
}

/* The column number `turn` of all columns of the file. */
static bool pick_column(sqlite3 *db, uint64_t turn, table *in, int *column)
{
    uint64_t all = 0;
    for (int i = 0; read_table(db, i, in); i++)
        all += (uint64_t)in->columns;
    if (all == 0) return false;
    turn %= all;
    for (int i = 0; read_table(db, i, in); i++) {
        if (turn < (uint64_t)in->columns) {
            *column = (int)turn;
            return true;
        }
        turn -= (uint64_t)in->columns;
    }
    return false;
}

bool damage_change_value(damage_target *target, const char *file)
{
    sqlite3 *db = open_file(target->folder, file);
    table in;
    int column = 0;
    bool changed = false;
    if (db && pick_column(db, target->turn, &in, &column)) {
        int64_t rows = count_rows(db, &in);
        for (int tries = 0; rows > 0 && tries < 16 && !changed; tries++)
            changed = change_once(db, &in, column, rows, target);
        (void)snprintf(target->place, sizeof target->place, "%s %.40s.%.40s", file, in.name,
                       in.column[column]);
    }
    sqlite3_close(db);
    return changed;
}

bool damage_remove_row(damage_target *target, const char *file)
{
    sqlite3 *db = open_file(target->folder, file);
    table in;
    bool removed = false;
    int tables = 0;
    while (db && read_table(db, tables, &in))
        tables++;
    int from = tables ? (int)damage_draw(target->dice, (uint64_t)tables) : 0;
    for (int i = 0; i < tables && !removed; i++) {
        read_table(db, (from + i) % tables, &in);
        int64_t rows = count_rows(db, &in);
        if (rows == 0) continue;
        int64_t index = (int64_t)damage_draw(target->dice, (uint64_t)rows);
        char head[160];
        (void)snprintf(head, sizeof head, "DELETE FROM \"%s\" WHERE ?1 IS NULL AND", in.name);
        sqlite3_stmt *row = find_row(db, &in, index);
        sqlite3_stmt *change = row ? prepare_for_row(db, &in, head, row) : NULL;
        removed = change && sqlite3_step(change) == SQLITE_DONE && sqlite3_changes(db) == 1;
        sqlite3_finalize(change);
        sqlite3_finalize(row);
        (void)snprintf(target->what, sizeof target->what, "row %lld of %lld of %s %s removed",
                       (long long)index + 1, (long long)rows, file, in.name);
    }
    sqlite3_close(db);
    return removed;
}

size_t damage_list_columns(const char *folder, char names[DAMAGE_COLUMNS_MAX][96])
{
    static const char *const files[] = {"outbox.db", "cache.db"};
    size_t count = 0;
    for (size_t f = 0; f < 2; f++) {
        sqlite3 *db = open_file(folder, files[f]);
        table one;
        for (int i = 0; db && read_table(db, i, &one); i++)
            for (int c = 0; c < one.columns && count < DAMAGE_COLUMNS_MAX; c++)
                (void)snprintf(names[count++], 96, "%s %.40s.%.40s", files[f], one.name,
                               one.column[c]);
        sqlite3_close(db);
    }
    return count;
}
