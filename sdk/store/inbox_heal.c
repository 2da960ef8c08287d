/* Puts edits that were damaged on the disk into the inbox. */
#include "mutate/apply.h"
#include "sdk/store/outbox_heal.h"
#include "sdk/store/outbox_rows.h"

#include "common/error.h"
#include "common/json.h"
#include "common/names.h"
#include <string.h>

void kedge_inbox_entry_free(kedge_inbox_entry *entry)
{
    kedge_buffer_free(&entry->name);
    kedge_buffer_free(&entry->args);
}

/* Args that are no longer JSON become a JSON string of their legible text. */
static void write_legible(kedge_bytes bytes, kedge_buffer *out)
{
    kedge_buffer_append_byte(out, '"');
    for (size_t i = 0; i < bytes.size; i++) {
        char byte = bytes.data[i];
        bool plain = byte >= ' ' && byte <= '~' && byte != '"' && byte != '\\';
        kedge_buffer_append_byte(out, plain ? byte : '?');
    }
    kedge_buffer_append_byte(out, '"');
}

static kedge_status append_args(kedge_bytes args, kedge_buffer *out, kedge_error *error)
{
    kedge_bytes legible = args.size == 0 ? KEDGE_BYTES("null") : args;
    kedge_status status = kedge_json_check(legible, KEDGE_LIMIT_JSON_DEPTH, out->allocator, NULL);
    if (status == KEDGE_NO_MEMORY) return kedge_fail_no_memory(error);
    if (status == KEDGE_OK)
        kedge_buffer_append_bytes(out, legible);
    else
        write_legible(legible, out);
    return kedge_buffer_status(out, error);
}

kedge_status kedge_inbox_read_legible(kedge_outbox_healing *heal, kedge_bytes name,
                                      kedge_bytes args, kedge_inbox_entry *entry,
                                      kedge_error *error)
{
    entry->name = kedge_buffer_make(heal->store->allocator);
    entry->args = kedge_buffer_make(heal->store->allocator);
    entry->timestamp_ms = heal->now_ms;
    if (kedge_check_name("mutator", name, NULL) == KEDGE_OK)
        kedge_buffer_append_bytes(&entry->name, name);
    kedge_status status = kedge_buffer_status(&entry->name, error);
    if (status == KEDGE_OK) status = append_args(args, &entry->args, error);
    if (status != KEDGE_OK) kedge_inbox_entry_free(entry);
    return status;
}

kedge_status kedge_inbox_read_orphan(kedge_outbox_healing *heal, int64_t key,
                                     kedge_inbox_entry *entry, kedge_error *error)
{
    static const char *const sql = "SELECT name, args FROM pending {at}";
    kedge_store_db *db = &heal->store->outbox;
    sqlite3_stmt *find;
    kedge_status status = kedge_store_db_find(db, sql, &find, error, "i", key);
    if (status == KEDGE_DONE)
        return kedge_inbox_read_legible(heal, KEDGE_BYTES(""), KEDGE_BYTES(""), entry, error);
    if (status == KEDGE_OK)
        status = kedge_inbox_read_legible(heal, kedge_store_column(find, 0),
                                          kedge_store_column(find, 1), entry, error);
    sqlite3_reset(find);
    return status;
}

static kedge_status insert_entry(kedge_outbox_healing *heal, const kedge_inbox_entry *entry,
                                 kedge_error *error)
{
    static const char *const beside = "INSERT OR IGNORE {damaged}";
    static const char *const over = "INSERT OR REPLACE {damaged}";
    kedge_store_db *db = &heal->store->outbox;
    bool replaces = entry->conflict == KEDGE_INBOX_REPLACES;
    return kedge_store_db_change(db, replaces ? over : beside, error, "icittic", entry->sequence,
                                 heal->meta.client, entry->id, kedge_buffer_bytes(&entry->name),
                                 kedge_buffer_bytes(&entry->args), entry->timestamp_ms,
                                 entry->message);
}

kedge_status kedge_inbox_set_aside(kedge_outbox_healing *heal, kedge_inbox_entry *entry,
                                   kedge_error *error)
{
    kedge_status status = insert_entry(heal, entry, error);
    bool there = status == KEDGE_OK && sqlite3_changes(heal->store->outbox.handle) == 0;
    if (there && entry->conflict == KEDGE_INBOX_MOVES) {
        entry->sequence = ++heal->meta.last_sequence;
        status = insert_entry(heal, entry, error);
    }
    kedge_inbox_entry_free(entry);
    heal->changed = true;
    return status;
}

/* ---- entries that are damaged themselves ---- */

/* Of a sound row of `pending` and the entry that has its sequence. A damaged value does not make
 * another edit of it: what identifies an edit stands in a row three times. */
static kedge_status is_the_same_edit(kedge_store_db *db, const kedge_pending *row,
                                     const kedge_inbox_entry *entry, bool *same, kedge_error *error)
{
    static const char *const sql = "SELECT uid = ?2 OR digest = ?3 FROM rejected {at}";
    sqlite3_stmt *find;
    kedge_status status =
        kedge_store_db_find(db, sql, &find, error, "ibb", row->sequence, row->uid, row->digest);
    if (status == KEDGE_OK)
        *same = sqlite3_column_int(find, 0) != 0 ||
                (kedge_bytes_equal(row->name, kedge_buffer_bytes(&entry->name)) &&
                 kedge_bytes_equal(row->args, kedge_buffer_bytes(&entry->args)));
    sqlite3_reset(find);
    return status;
}

/* The entry shows the edit as its sound row has it. */
static kedge_status take_contents(kedge_inbox_entry *entry, const kedge_pending *row,
                                  kedge_error *error)
{
    kedge_buffer_clear(&entry->name);
    kedge_buffer_clear(&entry->args);
    kedge_buffer_append_bytes(&entry->name, row->name);
    kedge_buffer_append_bytes(&entry->args, row->args);
    kedge_status status = kedge_buffer_status(&entry->name, error);
    return status == KEDGE_OK ? kedge_buffer_status(&entry->args, error) : status;
}

/* A sequence that was never given out is damaged itself, and so is one that another edit has, which
 * is pending. The same edit is pending as long as the cache does not know that it was rejected. */
static kedge_status is_its_own(kedge_outbox_healing *heal, int64_t key, kedge_inbox_entry *entry,
                               bool *own, kedge_error *error)
{
    kedge_pending row;
    kedge_store_db *db = &heal->store->outbox;
    kedge_status status = kedge_outbox_find(db, key, &row, error);
    *own = key >= 1 && key <= heal->meta.last_sequence;
    if (status == KEDGE_OK && !kedge_bytes_equal_text(row.name, "kedge.noop")) {
        status = is_the_same_edit(db, &row, entry, own, error);
        if (status == KEDGE_OK && *own) status = take_contents(entry, &row, error);
    }
    heal->store->outbox.row_damaged = false; /* damaged pending rows are healed later */
    return status == KEDGE_NOT_FOUND || status == KEDGE_CORRUPT ? KEDGE_OK : status;
}

static kedge_status delete_entry(kedge_store_db *db, int64_t key, kedge_error *error)
{
    static const char *const sql = "DELETE FROM rejected {at}";
    return kedge_store_db_change(db, sql, error, "i", key);
}

/* An entry that was dismissed or resubmitted is kept without its args, for kedge_wait. When it is
 * damaged, it has nothing left to show. */
static kedge_status delete_closed(kedge_outbox_healing *heal, kedge_error *error)
{
    static const char *const sql = "DELETE FROM rejected WHERE ((state IN (1, 2) AND args = '')"
                                   " OR (state = 5 AND args GLOB '[1-9]*')) AND {unsound rejected}";
    kedge_store_db *db = &heal->store->outbox;
    kedge_status status = kedge_store_db_execute(db, sql, error);
    if (status == KEDGE_OK && sqlite3_changes(db->handle) > 0) heal->changed = true;
    return status;
}

kedge_status kedge_inbox_make_leads(kedge_outbox_healing *heal, kedge_error *error)
{
    static const char *const drop = "DELETE FROM rejected WHERE {unsound rejected} AND "
                                    "sequence IN (SELECT first FROM {leads})";
    static const char *const lead =
        "{set_aside} (SELECT first AS sequence, '' AS client, 0 AS id,"
        " '" KEDGE_APPLY_MUTATOR "' AS name, CAST(newest AS TEXT) AS args, ?1 AS timestamp,"
        " {no_origin}, 0 AS version, '" KEDGE_APPLY_CONFLICT "' AS code, '' AS message,"
        " 5 AS state, ?1 AS decided_ms FROM {leads})";
    kedge_store_db *db = &heal->store->outbox;
    kedge_status status = kedge_store_db_execute(db, drop, error);
    if (status == KEDGE_OK) status = kedge_store_db_change(db, lead, error, "i", heal->now_ms);
    if (status == KEDGE_OK && sqlite3_changes(db->handle) > 0) heal->changed = true;
    return status;
}

static kedge_status heal_leads(kedge_outbox_healing *heal, kedge_error *error)
{
    static const char *const any = "SELECT EXISTS(SELECT 1 FROM rejected WHERE checksum IS"
                                   " NOT {rejected#})";
    int64_t damaged = 0;
    kedge_status status = kedge_store_db_number(&heal->store->outbox, any, &damaged, error);
    if (status != KEDGE_OK || (damaged == 0 && !heal->totals_wrong)) return status;
    return kedge_inbox_make_leads(heal, error);
}

/* Returns KEDGE_DONE when all entries are sound. */
static kedge_status next_damaged(kedge_outbox_healing *heal, int64_t *key, kedge_inbox_entry *entry,
                                 kedge_error *error)
{
    static const char *const sql = "SELECT sequence, name, args FROM rejected WHERE checksum IS"
                                   " NOT {rejected#} LIMIT 1";
    kedge_store_db *db = &heal->store->outbox;
    sqlite3_stmt *find;
    kedge_status status = kedge_store_db_find(db, sql, &find, error, "");
    if (status != KEDGE_OK) return status;
    *key = sqlite3_column_int64(find, 0);
    status = kedge_inbox_read_legible(heal, kedge_store_column(find, 1),
                                      kedge_store_column(find, 2), entry, error);
    sqlite3_reset(find);
    return status;
}

kedge_status kedge_inbox_heal(kedge_outbox_healing *heal, kedge_error *error)
{
    kedge_inbox_entry entry;
    kedge_status status;
    int64_t key;
    bool own = false;
    status = heal_leads(heal, error);
    if (status == KEDGE_OK) status = delete_closed(heal, error);
    while (status == KEDGE_OK) {
        entry = (kedge_inbox_entry){.message = "this rejected edit was damaged on the disk"};
        status = next_damaged(heal, &key, &entry, error);
        if (status == KEDGE_DONE) return KEDGE_OK;
        if (status != KEDGE_OK) return status;
        status = is_its_own(heal, key, &entry, &own, error);
        entry.sequence = own ? key : ++heal->meta.last_sequence;
        if (status == KEDGE_OK) status = delete_entry(&heal->store->outbox, key, error);
        if (status != KEDGE_OK) {
            kedge_inbox_entry_free(&entry);
            return status;
        }
        status = kedge_inbox_set_aside(heal, &entry, error);
    }
    return status;
}
