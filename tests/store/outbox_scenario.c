/* Edits in every state of an outbox, and raw access to its rows. */
#include "tests/store/outbox_scenario.h"

#include "sdk/store/outbox_rows.h"
#include "sdk/store/store_internal.h"
#include "tests/support/store_view.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- edits that can be counted ---- */

#define REFUSED 5

int64_t outbox_make_edit_anew(fixture *f, int number)
{
    char args[64];
    snprintf(args, sizeof args, "{\"id\":\"e%d\",\"by\":1}", number);
    return fixture_mutate(f, "add", args);
}

void outbox_make_edit(fixture *f, int number)
{
    assert_int_equal(outbox_make_edit_anew(f, number), number);
}

void outbox_fill(fixture *f, bool arrived)
{
    for (int i = 1; i <= 4; i++)
        outbox_make_edit(f, i);
    fixture_sync(f);
    naive_server_edit(f->server, "add", "{\"id\":\"n\",\"by\":9}");
    assert_int_equal(fixture_mutate(f, "refuse-over", "{\"id\":\"n\",\"limit\":5}"), REFUSED);
    fixture_sync(f);
    assert_int_equal(fixture_position(f).rejected, 1);
    for (int i = 6; i <= 8; i++)
        outbox_make_edit(f, i);
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    uint32_t count;
    assert_int_equal(fixture_push_body(f->store, 100, 1 << 20, &body, &count, NULL, NULL),
                     KEDGE_OK);
    assert_int_equal(count, 3);
    if (arrived)
        assert_int_equal(naive_server_push(f->server, kedge_buffer_bytes(&body)), NAIVE_OK);
    kedge_buffer_free(&body);
    for (int i = 9; i <= EDITS; i++)
        outbox_make_edit(f, i);
}

int outbox_applied(fixture *f, int number)
{
    char id[16];
    kedge_buffer value = kedge_buffer_make(&kedge_allocator_default);
    snprintf(id, sizeof id, "e%d", number);
    kedge_status status =
        store_get_canonical(f->store, KEDGE_BYTES("notes"), kedge_bytes_of(id), &value, NULL);
    int times = status == KEDGE_OK ? (int)strtol(value.data, NULL, 10) : 0;
    kedge_buffer_free(&value);
    return times;
}

bool outbox_read_entry(fixture *f, int64_t sequence, char code[64], char message[128])
{
    kedge_mutation_list *list;
    kedge_mutation mutation;
    bool found = false;
    assert_int_equal(kedge_store_rejected_open(f->store, &list, NULL), KEDGE_OK);
    while (!found && kedge_store_list_next(list, &mutation, NULL) == KEDGE_OK) {
        found = mutation.sequence == sequence;
        if (found) snprintf(code, 64, "%s", mutation.code);
        if (found) snprintf(message, 128, "%s", mutation.message);
    }
    kedge_store_list_close(list);
    return found;
}

bool outbox_is_in_inbox(fixture *f, int64_t sequence, char code[64])
{
    char message[128];
    return outbox_read_entry(f, sequence, code, message);
}

/* An edit whose sequence was damaged itself has a new one in the inbox, and its own contents. */
static bool has_new_sequence(fixture *f, int number)
{
    kedge_mutation_list *list;
    kedge_mutation mutation;
    char id[16];
    bool found = false;
    snprintf(id, sizeof id, "\"e%d\"", number);
    assert_int_equal(kedge_store_rejected_open(f->store, &list, NULL), KEDGE_OK);
    while (!found && kedge_store_list_next(list, &mutation, NULL) == KEDGE_OK)
        found = mutation.sequence > EDITS && strcmp(mutation.code, "damaged") == 0 &&
                (number == REFUSED ? strcmp(mutation.name, "refuse-over") == 0
                                   : strstr(mutation.args, id) != NULL);
    kedge_store_list_close(list);
    return found;
}

int outbox_expect_accounted(fixture *f, const char *what)
{
    int damaged = 0;
    char code[64] = "";
    for (int i = 1; i <= EDITS; i++) {
        int times = outbox_applied(f, i);
        bool shown = outbox_is_in_inbox(f, i, code);
        bool lost = shown && strcmp(code, "damaged") == 0;
        if (times == 0 && !shown) lost = shown = has_new_sequence(f, i);
        if (times > 1 || (times == 0 && !shown))
            fail_msg("%s: edit %d was applied %d times and is %s the inbox", what, i, times,
                     shown ? "in" : "not in");
        damaged += lost;
    }
    return damaged;
}

/* ---- raw access ---- */

sqlite3 *outbox_open_raw(const fixture *f)
{
    char path[256];
    sqlite3 *db;
    snprintf(path, sizeof path, "%s/outbox.db", f->path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    return db;
}

int outbox_run_raw(const fixture *f, const char *sql)
{
    sqlite3 *db = outbox_open_raw(f);
    int code = sqlite3_exec(db, sql, NULL, NULL, NULL);
    int changed = sqlite3_changes(db);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return code == SQLITE_OK ? changed : 0;
}

void outbox_make_layout_5(const char *folder)
{
    static const char sql[] = "UPDATE meta SET checksum = {outbox_meta_3#};"
                              "ALTER TABLE meta DROP COLUMN rejected_rows; PRAGMA user_version=5;"
                              "PRAGMA wal_checkpoint(TRUNCATE)";
    char path[256];
    kedge_store_db db;
    snprintf(path, sizeof path, "%s/outbox.db", folder);
    assert_int_equal(kedge_store_db_open(&db, path, "outbox.db", SQLITE_OPEN_READWRITE, NULL, NULL),
                     KEDGE_OK);
    assert_int_equal(kedge_store_db_execute(&db, sql, NULL), KEDGE_OK);
    kedge_store_db_close(&db);
}

void outbox_restore_folder(fixture *f, const char *whole)
{
    fixture_remove_tree(f->path);
    fixture_copy_tree(whole, f->path);
}
