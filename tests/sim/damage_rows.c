/* One value of one row of a database becomes another: with a connection of the simulator's own, so
 * that SQLite finds nothing wrong with the file, and without triggers and checks, so that nothing
 * in it follows. Tables and columns are those that the file has. */
#include "tests/sim/files.h"
#include "tests/sim/sim.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#define TABLES_MAX  16
#define COLUMNS_MAX 32
#define SQL_BYTES   1024

typedef struct column {
    char name[48];
    bool integer;
    bool nullable;
    bool key;
} column;

/* One row of one table, and the column to change. */
typedef struct target {
    sim_client *client;
    sqlite3 *db;
    char table[48];
    column columns[COLUMNS_MAX];
    size_t column_count;
    size_t chosen;
    int64_t offset;
    sim_entry *entry; /* whose row it is; NULL: of no edit */
    bool moved;       /* its sequence was changed, to: */
    int64_t sequence;
} target;

/* ---- a connection ---- */

static sqlite3 *open_database(sim_client *client, bool outbox)
{
    static const char setup[] = "PRAGMA synchronous=FULL; PRAGMA ignore_check_constraints=1";
    char path[SIM_VFS_PATH_BYTES];
    sqlite3 *db = NULL;
    sim_disk_path(&client->disk, outbox ? SIM_FILE_OUTBOX : SIM_FILE_CACHE, path);
    client->disk.suspended = true;
    int code = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, SIM_VFS_NAME);
    if (code == SQLITE_OK) {
        sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
        sqlite3_wal_autocheckpoint(db, 0);
        code = sqlite3_exec(db, setup, NULL, NULL, NULL);
    }
    if (code == SQLITE_OK) return db;
    sqlite3_close(db);
    client->disk.suspended = false;
    return NULL;
}

static void close_database(sim_client *client, sqlite3 *db)
{
    sqlite3_close(db);
    client->disk.suspended = false;
}

void sim_damage_checkpoint(sim_client *client, bool outbox)
{
    sqlite3 *db = open_database(client, outbox);
    if (db == NULL) return;
    (void)sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    close_database(client, db);
}

static bool read_number(sqlite3 *db, const char *sql, int64_t *number)
{
    sqlite3_stmt *read = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &read, NULL) != SQLITE_OK) return false;
    bool good = sqlite3_step(read) == SQLITE_ROW;
    if (good) *number = sqlite3_column_int64(read, 0);
    sqlite3_finalize(read);
    return good;
}

bool sim_damage_number(sim_client *client, bool outbox, const char *sql, int64_t *number)
{
    sqlite3 *db = open_database(client, outbox);
    if (db == NULL) return false;
    bool good = read_number(db, sql, number);
    close_database(client, db);
    return good;
}

/* ---- choosing ---- */

/* A table that has rows, any of them as likely. */
static bool choose_table(target *of, sim_dice *dice)
{
    static const char sql[] = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT"
                              " LIKE 'sqlite_%' ORDER BY name";
    char names[TABLES_MAX][sizeof of->table], count_sql[SQL_BYTES];
    int64_t rows[TABLES_MAX] = {0};
    size_t count = 0;
    sqlite3_stmt *cursor;
    if (sqlite3_prepare_v2(of->db, sql, -1, &cursor, NULL) != SQLITE_OK) return false;
    while (count < TABLES_MAX && sqlite3_step(cursor) == SQLITE_ROW) {
        (void)snprintf(names[count], sizeof names[count], "%s",
                       (const char *)sqlite3_column_text(cursor, 0));
        (void)snprintf(count_sql, sizeof count_sql, "SELECT count(*) FROM \"%s\"", names[count]);
        if (read_number(of->db, count_sql, &rows[count]) && rows[count] > 0) count++;
    }
    sqlite3_finalize(cursor);
    if (count == 0) return false;
    size_t chosen = (size_t)sim_dice_below(dice, count);
    memcpy(of->table, names[chosen], sizeof of->table);
    of->offset = (int64_t)sim_dice_below(dice, (uint64_t)rows[chosen]);
    return true;
}

static bool read_columns(target *of)
{
    char sql[SQL_BYTES];
    sqlite3_stmt *cursor;
    (void)snprintf(sql, sizeof sql, "PRAGMA table_info(\"%s\")", of->table);
    if (sqlite3_prepare_v2(of->db, sql, -1, &cursor, NULL) != SQLITE_OK) return false;
    while (of->column_count < COLUMNS_MAX && sqlite3_step(cursor) == SQLITE_ROW) {
        column *at = &of->columns[of->column_count++];
        (void)snprintf(at->name, sizeof at->name, "%s",
                       (const char *)sqlite3_column_text(cursor, 1));
        at->integer = sqlite3_stricmp((const char *)sqlite3_column_text(cursor, 2), "INTEGER") == 0;
        at->key = sqlite3_column_int(cursor, 5) > 0;
        at->nullable = sqlite3_column_int(cursor, 3) == 0 && !at->key;
    }
    sqlite3_finalize(cursor);
    return of->column_count > 0;
}

/* All columns of the row. */
static sqlite3_stmt *read_row(const target *of)
{
    char sql[SQL_BYTES];
    sqlite3_stmt *row = NULL;
    (void)snprintf(sql, sizeof sql, "SELECT * FROM \"%s\" LIMIT 1 OFFSET %" PRId64, of->table,
                   of->offset);
    if (sqlite3_prepare_v2(of->db, sql, -1, &row, NULL) != SQLITE_OK) return NULL;
    if (sqlite3_step(row) == SQLITE_ROW) return row;
    sqlite3_finalize(row);
    return NULL;
}

/* The edit whose row it is. Of a row with two wrong values nobody could tell which edit it was, and
 * a row of no edit that the app was told of is owed to nobody. */
static bool may_change(target *of, sqlite3_stmt *row)
{
    size_t at = 0;
    while (at < of->column_count && strcmp(of->columns[at].name, "sequence") != 0)
        at++;
    if (at == of->column_count) return true;
    int64_t sequence = sqlite3_column_int64(row, (int)at);
    sim_ledger *ledger = &of->client->ledger;
    for (size_t i = 0; i < ledger->count && of->entry == NULL; i++)
        if (ledger->entries[i].sequence == sequence) of->entry = &ledger->entries[i];
    return of->entry != NULL && !of->entry->damaged;
}

/* ---- changing ---- */

static void bind_bytes(sqlite3_stmt *update, sqlite3_value *value, sim_dice *dice)
{
    bool text = sqlite3_value_type(value) == SQLITE_TEXT;
    size_t size = (size_t)sqlite3_value_bytes(value);
    const void *was = sqlite3_value_blob(value);
    char *bytes = sim_must_copy(was, size);
    if (size == 0) {
        bytes[0] = 'x';
        size = 1;
    } else if (sim_dice_chance(dice, 850)) {
        bytes[sim_dice_below(dice, size)] ^= (char)(1 << sim_dice_below(dice, 8));
    } else {
        size--;
    }
    if (text)
        sqlite3_bind_text(update, 1, bytes, (int)size, SQLITE_TRANSIENT);
    else
        sqlite3_bind_blob(update, 1, bytes, (int)size, SQLITE_TRANSIENT);
    free(bytes);
}

static void bind_other(target *of, sqlite3_stmt *update, sqlite3_value *value, sim_dice *dice)
{
    const column *at = &of->columns[of->chosen];
    int type = sqlite3_value_type(value);
    int64_t number = sqlite3_value_int64(value);
    if (type == SQLITE_NULL) {
        if (at->integer)
            sqlite3_bind_int64(update, 1, 1 + (int64_t)sim_dice_below(dice, 40));
        else
            sqlite3_bind_text(update, 1, "x", 1, SQLITE_STATIC);
    } else if (at->nullable && sim_dice_chance(dice, 100)) {
        sqlite3_bind_null(update, 1);
    } else if (type == SQLITE_INTEGER) {
        uint64_t bits = sim_dice_chance(dice, 700) ? 4 : 62;
        number ^= INT64_C(1) << sim_dice_below(dice, bits);
        sqlite3_bind_int64(update, 1, number);
        of->moved = strcmp(at->name, "sequence") == 0;
        if (of->moved) of->sequence = number;
    } else {
        bind_bytes(update, value, dice);
    }
}

/* UPDATE … WHERE its key is the row's. */
static sqlite3_stmt *prepare_update(const target *of, sqlite3_stmt *row)
{
    char sql[SQL_BYTES];
    sqlite3_stmt *update = NULL;
    int size = snprintf(sql, sizeof sql, "UPDATE \"%s\" SET \"%s\" = ?1 WHERE 1", of->table,
                        of->columns[of->chosen].name);
    int without_key = size;
    for (size_t i = 0; i < of->column_count; i++)
        if (of->columns[i].key)
            size += snprintf(sql + size, sizeof sql - (size_t)size, " AND \"%s\" = ?%zu",
                             of->columns[i].name, i + 2);
    if (size == without_key) return NULL;
    if (sqlite3_prepare_v2(of->db, sql, -1, &update, NULL) != SQLITE_OK) return NULL;
    for (size_t i = 0; i < of->column_count; i++)
        if (of->columns[i].key)
            sqlite3_bind_value(update, (int)i + 2, sqlite3_column_value(row, (int)i));
    return update;
}

static bool change(target *of, sim_dice *dice)
{
    sqlite3_stmt *row = read_row(of);
    if (row == NULL) return false;
    sqlite3_stmt *update = may_change(of, row) ? prepare_update(of, row) : NULL;
    if (update != NULL) {
        sqlite3_value *value = sqlite3_value_dup(sqlite3_column_value(row, (int)of->chosen));
        bind_other(of, update, value, dice);
        sqlite3_value_free(value);
    }
    sqlite3_finalize(row);
    if (update == NULL) return false;
    bool changed = sqlite3_step(update) == SQLITE_DONE && sqlite3_changes(of->db) == 1;
    sqlite3_finalize(update);
    return changed;
}

static void note(target *of, bool outbox)
{
    sim_client *client = of->client;
    sim_trace(client->world, "client %u: %s.%s of a row of its %s is another one", client->index,
              of->table, of->columns[of->chosen].name, outbox ? "outbox" : "cache");
    if (outbox && strncmp(of->table, "meta", 4) == 0) client->damage.meta_flips++;
    if (of->entry == NULL) return;
    of->entry->damaged = true;
    of->entry->moved = of->moved;
    of->entry->damaged_sequence = of->sequence;
}

bool sim_damage_flip(sim_client *client, bool outbox)
{
    sim_dice *dice = &client->world->dice;
    target of = {.client = client, .db = open_database(client, outbox)};
    if (of.db == NULL) return false;
    bool changed = choose_table(&of, dice) && read_columns(&of);
    if (changed) {
        of.chosen = (size_t)sim_dice_below(dice, of.column_count);
        changed = change(&of, dice);
    }
    close_database(client, of.db);
    if (changed) note(&of, outbox);
    return changed;
}
