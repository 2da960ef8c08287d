/* Makes a new folder from the readable rows of a damaged one.
 *
 * The new outbox has a new client id, since it is not known which ids the old one has used. Pending
 * mutations keep their sequences and get new ids, with their old client and id as origin, so that
 * the server applies each once. A pending mutation is withheld unless it is known that it was never
 * sent. The cache is not copied: it can be pulled again. */
#include "sdk/store/repair.h"

#include "common/error.h"
#include "sdk/store/outbox_heal.h"
#include "sdk/store/outbox_rows.h"
#include "sdk/store/repair_files.h"
#include "sdk/store/salvage.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct repair {
    const kedge_environment *environment;
    kedge_repair_report *report;
    bool meta_known;
    bool cache_known;   /* and of the same project */
    int64_t inbox_rows; /* of the old one that were found, in whatever state */
    int64_t pending_rows;
    kedge_outbox_healing made; /* of the new outbox */
    kedge_outbox_meta old_meta;
    kedge_cache_meta cache;
    kedge_store_db old;
} repair;

/* ---- what was pending ---- */

/* The outbox's highest sequence when the cache was last written; 0: unknown. */
static int64_t reflected(const repair *all)
{
    return all->cache_known ? all->cache.reflected_sequence : 0;
}

/* Damage may have taken the outbox back to an older state, which does not know what was sent since.
 * Only the cache that belongs to it can show that this is not so. */
static bool is_newest(const repair *all)
{
    return all->meta_known && all->cache_known && !all->cache.resyncing &&
           strcmp(all->cache.client, all->old_meta.client) == 0 &&
           all->cache.revision <= all->old_meta.revision &&
           all->cache.reflected_sequence <= all->old_meta.last_sequence;
}

static bool never_left(const repair *all, const kedge_pending *row)
{
    return is_newest(all) && row->id > all->cache.lmid &&
           !kedge_outbox_row_sent(&all->old_meta, row);
}

static kedge_status save_pending(repair *all, sqlite3_stmt *from, kedge_error *error)
{
    kedge_outbox_meta *meta = &all->made.meta;
    kedge_pending row = {.sequence = sqlite3_column_int64(from, 1),
                         .client = kedge_store_column(from, 2),
                         .id = sqlite3_column_int64(from, 3),
                         .uid = kedge_store_column(from, 4),
                         .digest = kedge_store_column(from, 5),
                         .name = kedge_store_column(from, 6),
                         .args = kedge_store_column(from, 7),
                         .timestamp_ms = sqlite3_column_int64(from, 8),
                         .origin_client = kedge_store_column(from, 9),
                         .origin_id = sqlite3_column_int64(from, 10),
                         .withheld = sqlite3_column_int64(from, 12) != 0};
    row.withheld = !never_left(all, &row);
    if (row.origin_client.size == 0) {
        row.origin_client = row.client;
        row.origin_id = row.id;
    }
    row.client = kedge_bytes_of(meta->client);
    row.id = ++meta->highest_id;
    all->report->pending++;
    return kedge_outbox_insert(&all->made.store->outbox, &row, meta, error);
}

static kedge_status save_damaged(repair *all, int64_t sequence, kedge_bytes name, kedge_bytes args,
                                 kedge_error *error)
{
    bool known = sequence >= 1 && sequence <= all->made.meta.last_sequence;
    kedge_inbox_entry entry = {.sequence = known ? sequence : ++all->made.meta.last_sequence,
                               .message = "this edit was damaged on the disk; the server may have"
                                          " it"};
    kedge_status status = kedge_inbox_read_legible(&all->made, name, args, &entry, error);
    if (status == KEDGE_OK) status = kedge_inbox_set_aside(&all->made, &entry, error);
    all->report->damaged++;
    return status;
}

static void note_sequence(repair *all, int64_t sequence)
{
    kedge_outbox_meta *meta = &all->made.meta;
    if (sequence > meta->last_sequence) meta->last_sequence = sequence;
}

/* A page of another table may be in the place of this one. Its rows have other columns and are not
 * damaged mutations; the rows that it replaced count as missing. */
static bool is_foreign(sqlite3_stmt *row)
{
    return sqlite3_column_type(row, 2) != SQLITE_TEXT || sqlite3_column_type(row, 6) != SQLITE_TEXT;
}

static int compare_sequences(const void *one, const void *other)
{
    int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
    return (a > b) - (a < b);
}

/* A disk may have brought back an old page. Its rows are sound, but the tail has the same edits. */
static bool is_confirmed(repair *all, sqlite3_stmt *row)
{
    static const char *const sql = "SELECT 1 FROM confirmed {at} AND uid = ?2";
    kedge_store_db *db = &all->made.store->outbox;
    const kedge_buffer *tail = &all->made.decided;
    int64_t sequence = sqlite3_column_int64(row, 1);
    sqlite3_stmt *find;
    if (tail->size == 0 || !bsearch(&sequence, tail->data, tail->size / sizeof sequence,
                                    sizeof sequence, compare_sequences))
        return false;
    if (kedge_store_db_take(db, sql, &find, NULL) != KEDGE_OK) return false;
    kedge_store_bind_integer(db, find, 1, sequence);
    sqlite3_bind_value(find, 2, sqlite3_column_value(row, 4));
    bool there = kedge_store_db_step(db, find, NULL) == KEDGE_OK;
    sqlite3_reset(find);
    return there;
}

static kedge_status save_all_pending(repair *all, kedge_error *error)
{
    int64_t key = 0;
    sqlite3_stmt *row;
    kedge_status status = KEDGE_OK;
    while (status == KEDGE_OK &&
           kedge_salvage_next(&all->old, kedge_salvage_pending, &key, &row) == KEDGE_OK) {
        bool sound = sqlite3_column_int(row, 13) == 1;
        if (!sound && is_foreign(row)) continue;
        bool confirmed = sound && is_confirmed(all, row);
        /* An old meta row counts such an edit; that of now does not. */
        if (!confirmed || !is_newest(all)) all->pending_rows++;
        if (confirmed) continue;
        if (sound)
            status = save_pending(all, row, error);
        else
            status = save_damaged(all, key, kedge_store_column(row, 6), kedge_store_column(row, 7),
                                  error);
    }
    return status;
}

/* ---- the other tables ---- */

static kedge_status copy_row(repair *all, const char *sql, sqlite3_stmt *from, kedge_error *error)
{
    kedge_store_db *db = &all->made.store->outbox;
    sqlite3_stmt *insert;
    kedge_status status = kedge_store_db_take(db, sql, &insert, error);
    if (status != KEDGE_OK) return status;
    int columns = sqlite3_bind_parameter_count(insert);
    for (int i = 1; i <= columns; i++) {
        int code = sqlite3_bind_value(insert, i, sqlite3_column_value(from, i));
        if (code != SQLITE_OK) return kedge_store_db_fail(db, code, "copying a row", error);
    }
    return kedge_store_db_run(db, insert, error);
}

/* As kedge_inbox_heal: an entry that the app has closed has nothing left to show. */
static bool is_closed(sqlite3_stmt *row)
{
    int state = sqlite3_column_int(row, 14);
    kedge_bytes args = kedge_store_column(row, 7);
    if (state == KEDGE_INBOX_REMADE)
        return args.size > 0 && args.data[0] >= '1' && args.data[0] <= '9';
    return (state == KEDGE_INBOX_DISMISSED || state == KEDGE_INBOX_RESUBMITTED) && args.size == 0;
}

static kedge_status save_inbox(repair *all, kedge_error *error)
{
    static const char *const sql = "INSERT OR IGNORE INTO rejected({rejected}, checksum)"
                                   " VALUES({?15}, kedge_checksum(2, {?15}))";
    int64_t key = 0;
    sqlite3_stmt *row;
    kedge_status status = KEDGE_OK;
    while (status == KEDGE_OK &&
           kedge_salvage_next(&all->old, kedge_salvage_rejected, &key, &row) == KEDGE_OK) {
        bool sound = sqlite3_column_int(row, 16) == 1;
        if (!sound && is_foreign(row)) continue;
        all->inbox_rows++;
        if (sound) {
            status = copy_row(all, sql, row, error);
            all->report->rejected++;
        } else if (!is_closed(row)) {
            status = save_damaged(all, key, kedge_store_column(row, 6), kedge_store_column(row, 7),
                                  error);
        }
    }
    return status;
}

/* A damaged row of the tail counts as missing. */
static kedge_status save_tail(repair *all, kedge_error *error)
{
    static const char *const sql =
        "INSERT INTO confirmed({confirmed}, checksum) VALUES({?11}, kedge_checksum(3, {?11}))";
    kedge_buffer *decided = &all->made.decided;
    int64_t key = 0;
    sqlite3_stmt *row;
    kedge_status status = KEDGE_OK;
    while (status == KEDGE_OK &&
           kedge_salvage_next(&all->old, kedge_salvage_confirmed, &key, &row) == KEDGE_OK) {
        if (sqlite3_column_int(row, 12) != 1) continue;
        int64_t sequence = sqlite3_column_int64(row, 1);
        kedge_buffer_append(decided, &sequence, sizeof sequence);
        all->made.meta.tail_bytes += sqlite3_column_bytes(row, 7);
        all->report->confirmed++;
        status = copy_row(all, sql, row, error);
    }
    if (status == KEDGE_OK) status = kedge_buffer_status(decided, error);
    if (status == KEDGE_OK && decided->size > 0)
        qsort(decided->data, decided->size / sizeof(int64_t), sizeof(int64_t), compare_sequences);
    return status;
}

/* Returns how many rows the table had, or -1 when `totals` is damaged. */
static int64_t read_total(repair *all, const char *table)
{
    static const char *const sql = "SELECT coalesce((SELECT rows FROM totals WHERE name = ?1), -1)";
    static const char *const damaged = "SELECT count(*) FROM totals WHERE {unsound totals}";
    int64_t wrong = 0, rows = 0;
    if (kedge_store_db_number(&all->old, damaged, &wrong, NULL) != KEDGE_OK || wrong > 0 ||
        kedge_store_db_find_number(&all->old, sql, &rows, NULL, "c", table) != KEDGE_OK)
        return -1;
    return rows;
}

/* `totals` and meta have the number of rows of the inbox; it includes the damaged rows that were
 * found. An old meta row also counts what left the inbox since. */
static int64_t missing_rejections(repair *all, bool *known)
{
    int64_t rows = read_total(all, "rejected");
    if (is_newest(all) && all->old_meta.rejected_rows > rows) rows = all->old_meta.rejected_rows;
    *known = rows >= 0;
    return rows > all->inbox_rows ? rows - all->inbox_rows : 0;
}

/* Of the ids up to the lowest pending one, those in the tail can be sent again, and the others
 * cannot. */
static kedge_status mark_old_client(repair *all, kedge_error *error)
{
    bool known;
    kedge_store_db *db = &all->made.store->outbox;
    kedge_cache_meta nothing = {0};
    kedge_tail_mark mark = {all->old_meta.client, all->old_meta.trimmed_through, 0};
    int64_t lowest = 1;
    int64_t absent = all->old_meta.pending_rows - all->pending_rows;
    int64_t missing = read_total(all, "confirmed") - all->report->confirmed;
    if (all->meta_known &&
        kedge_outbox_lowest(&all->old, &all->old_meta, &nothing, &lowest, NULL) == KEDGE_OK)
        mark.through = lowest - 1;
    /* The mark counts pending and rejected edits, too, whose rows are missing. */
    if (missing > 0) missing += missing_rejections(all, &known) + (absent > 0 ? absent : 0);
    kedge_status status = kedge_tail_note_missing(db, &mark, missing, all->made.now_ms, error);
    if (status == KEDGE_OK)
        status = kedge_trimmed_keep(db, all->old_meta.client, mark.through, error);
    return status;
}

static kedge_status save_trimmed(repair *all, kedge_error *error)
{
    static const char *const sql =
        "INSERT INTO trimmed({trimmed}, checksum) VALUES(?1, ?2, kedge_checksum(4, ?1, ?2))";
    int64_t key = 0;
    sqlite3_stmt *row;
    kedge_status status = KEDGE_OK;
    while (status == KEDGE_OK &&
           kedge_salvage_next(&all->old, kedge_salvage_trimmed, &key, &row) == KEDGE_OK)
        if (sqlite3_column_int(row, 3) == 1) status = copy_row(all, sql, row, error);
    if (status == KEDGE_OK) status = mark_old_client(all, error);
    return status;
}

static kedge_status save_declared(repair *all, kedge_error *error)
{
    static const char *const sql = "INSERT INTO declared({declared}, checksum) VALUES(?1, ?2, ?3, "
                                   "kedge_checksum(7, ?1, ?2, ?3))";
    int64_t key = 0;
    sqlite3_stmt *row;
    kedge_status status = KEDGE_OK;
    while (status == KEDGE_OK &&
           kedge_salvage_next(&all->old, kedge_salvage_declared, &key, &row) == KEDGE_OK)
        if (sqlite3_column_int(row, 4) == 1) status = copy_row(all, sql, row, error);
    return status;
}

/* ---- the folders ---- */

static void count_missing(repair *all)
{
    int64_t missing = all->old_meta.pending_rows - all->pending_rows;
    if (missing < 0) missing = 0;
    bool known;
    missing += missing_rejections(all, &known);
    known = known && all->meta_known;
    /* The cache was written after edits that the outbox has lost. */
    int64_t behind = reflected(all) - all->old_meta.last_sequence;
    if (behind > 0) missing += behind;
    all->report->missing = known ? missing : -1;
    if (all->meta_known) all->made.meta.unrecovered += missing;
}

static kedge_status save_rows(repair *all, kedge_error *error)
{
    kedge_store_db *db = &all->made.store->outbox;
    kedge_status status = kedge_store_db_begin(db, error);
    if (status == KEDGE_OK) status = save_inbox(all, error);
    if (status == KEDGE_OK) status = save_tail(all, error);
    if (status == KEDGE_OK) status = save_all_pending(all, error);
    if (status == KEDGE_OK) status = kedge_inbox_make_leads(&all->made, error);
    if (status == KEDGE_OK) status = save_trimmed(all, error);
    if (status == KEDGE_OK) status = save_declared(all, error);
    if (status != KEDGE_OK) return status;
    count_missing(all);
    status = kedge_outbox_count_rejected(db, &all->made.meta, error);
    if (status == KEDGE_OK) status = kedge_outbox_meta_write(db, &all->made.meta, error);
    if (status == KEDGE_OK) status = kedge_store_db_commit(db, error);
    return status;
}

/* What a cache of the same project shows: the organization and project, when the outbox does not
 * tell; the highest sequence; and which edits its state has. */
static void ask_cache(repair *all, const kedge_repair_files *files)
{
    static const char *const sql = "SELECT organization, project FROM meta"
                                   " WHERE {intact cache_meta}";
    kedge_outbox_meta *meta = &all->made.meta;
    char names[2][KEDGE_LIMIT_NAME_BYTES + 1];
    kedge_store_db cache;
    sqlite3_stmt *row;
    char file[KEDGE_STORE_PATH_BYTES];
    kedge_repair_file(files, "cache.db", file);
    if (kedge_store_db_open_cache(&cache, file, SQLITE_OPEN_READWRITE, NULL, NULL) != KEDGE_OK)
        return;
    bool sound = kedge_cache_meta_read(&cache, &all->cache, NULL) == KEDGE_OK &&
                 kedge_store_db_take(&cache, sql, &row, NULL) == KEDGE_OK &&
                 kedge_store_db_step(&cache, row, NULL) == KEDGE_OK &&
                 kedge_store_column_chars(row, 0, names[0], sizeof names[0]) &&
                 kedge_store_column_chars(row, 1, names[1], sizeof names[1]);
    if (sound && !all->meta_known) {
        memcpy(meta->organization, names[0], sizeof names[0]);
        memcpy(meta->project, names[1], sizeof names[1]);
    }
    all->cache_known =
        sound && strcmp(meta->organization, names[0]) == 0 && strcmp(meta->project, names[1]) == 0;
    kedge_store_db_close(&cache);
}

/* No sequence may be used twice, so this is the highest one that is known. */
static void find_last_sequence(repair *all)
{
    static const char *const tables[] = {kedge_salvage_pending, kedge_salvage_rejected,
                                         kedge_salvage_confirmed};
    sqlite3_stmt *row;
    note_sequence(all, reflected(all));
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        int64_t key = 0;
        while (kedge_salvage_next(&all->old, tables[i], &key, &row) == KEDGE_OK)
            if (sqlite3_column_int(row, sqlite3_column_count(row) - 1) == 1)
                note_sequence(all, sqlite3_column_int64(row, 1));
    }
}

/* Nothing is sound. Decides whether the file is an outbox of this layout at all. */
static kedge_status refuse(repair *all, const char *file, kedge_error *error)
{
    int64_t layout = 0;
    kedge_status status = all->old.handle
                              ? kedge_schema_identify_outbox(&all->old, file, &layout, error)
                              : KEDGE_CORRUPT;
    if (status == KEDGE_NOT_A_DATABASE || status == KEDGE_NEWER_DATABASE) return status;
    if (status == KEDGE_OK && layout >= 1 && layout < kedge_schema_newest(&kedge_outbox_schema))
        return kedge_fail(error, KEDGE_UNSUPPORTED, "layout-too-old",
                          "%s was written by an older Kedge (layout %lld, whose rows prove"
                          " nothing); nothing of it is saved",
                          file, (long long)layout);
    return kedge_fail(error, KEDGE_CORRUPT, "nothing-readable",
                      "nothing in %s and its -wal can be read that proves itself", file);
}

/* Rows of a newer layout may look like ours and mean more. */
static kedge_status check_newer(repair *all, const char *file, kedge_error *error)
{
    int64_t layout = 0;
    kedge_status status = kedge_schema_identify_outbox(&all->old, file, &layout, error);
    if (status != KEDGE_NEWER_DATABASE || kedge_schema_is_outbox(&all->old)) return KEDGE_OK;
    return status;
}

static kedge_status open_old(repair *all, const kedge_repair_files *files, kedge_error *error)
{
    char file[KEDGE_STORE_PATH_BYTES], copy[KEDGE_STORE_PATH_BYTES], wal[KEDGE_STORE_PATH_BYTES];
    char fresh[KEDGE_STORE_PATH_BYTES];
    kedge_salvage_count found;
    bool grafted = false;
    (void)snprintf(file, sizeof file, "%s/outbox.db", files->path);
    kedge_repair_file(files, "old.db", copy);
    kedge_repair_file(files, "old.db-wal", wal);
    kedge_repair_file(files, "fresh.db", fresh);
    if (access(copy, F_OK) != 0 && !kedge_schema_has_content(wal))
        return kedge_fail(error, KEDGE_NOT_FOUND, "outbox-missing",
                          "there is no %s, and no -wal file of it", file);
    kedge_status status = kedge_salvage_open(&all->old, copy, fresh, &found, &grafted, error);
    if (status != KEDGE_OK) return status;
    if (found.rows == 0 && found.copies == 0) return refuse(all, file, error);
    return grafted ? KEDGE_OK : check_newer(all, file, error);
}

static kedge_status read_old(repair *all, const kedge_repair_files *files, kedge_error *error)
{
    kedge_outbox_meta *meta = &all->made.meta;
    kedge_status status = open_old(all, files, error);
    if (status != KEDGE_OK) return status;
    all->meta_known = kedge_outbox_meta_read(&all->old, &all->old_meta, NULL) == KEDGE_OK;
    if (all->meta_known) *meta = all->old_meta;
    ask_cache(all, files);
    if (meta->organization[0] == '\0')
        return kedge_fail(error, KEDGE_CORRUPT, "nothing-readable",
                          "neither outbox.db nor cache.db in %s tells which project they belong to",
                          files->path);
    find_last_sequence(all);
    kedge_random_hex(all->environment, 16, meta->client);
    meta->highest_id = meta->sent_through = meta->trimmed_through = meta->tail_bytes = 0;
    meta->pending_rows = meta->pending_sum = meta->rejected_rows = 0;
    meta->revision++;
    return KEDGE_OK;
}

/* The file is renamed alone, so it is written without a WAL. */
static kedge_status leave_ready(kedge_store_db *db, const char *file, kedge_error *error)
{
    char wal[KEDGE_STORE_PATH_BYTES + 8];
    kedge_status status = kedge_store_db_execute(db, "PRAGMA journal_mode=WAL", error);
    kedge_store_db_close(db);
    (void)snprintf(wal, sizeof wal, "%s-wal", file);
    if (status == KEDGE_OK && kedge_schema_has_content(wal))
        status = kedge_fail(error, KEDGE_INTERNAL, "repair-failed", "%s is not empty", wal);
    return status;
}

static kedge_status write_new(repair *all, const kedge_repair_files *files, kedge_error *error)
{
    kedge_store_db *db = &all->made.store->outbox;
    char file[KEDGE_STORE_PATH_BYTES];
    kedge_repair_file(files, "new.db", file);
    kedge_status status = kedge_store_db_open(
        db, file, "outbox.db", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL, error);
    if (status == KEDGE_OK)
        status = kedge_store_db_execute(db, "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=FULL",
                                        error);
    if (status == KEDGE_OK) status = kedge_schema_make_outbox(db, &all->made.meta, error);
    if (status == KEDGE_OK) status = save_rows(all, error);
    if (status == KEDGE_OK) status = leave_ready(db, file, error);
    kedge_store_db_close(db);
    return status;
}

static kedge_status check_paths(const char *path, const char *new_path, kedge_error *error)
{
    struct stat facts;
    kedge_status status = kedge_store_check_path(path, NULL, error);
    if (status == KEDGE_OK) status = kedge_store_check_path(new_path, NULL, error);
    if (status != KEDGE_OK) return status;
    if (stat(path, &facts) != 0 || !S_ISDIR(facts.st_mode))
        return kedge_fail(error, KEDGE_NOT_FOUND, "folder-missing", "there is no folder %s", path);
    return KEDGE_OK;
}

static kedge_status work(repair *all, kedge_repair_files *files, kedge_error *error)
{
    kedge_status status = kedge_repair_files_copy(files, error);
    if (status == KEDGE_OK) status = read_old(all, files, error);
    if (status == KEDGE_OK) status = write_new(all, files, error);
    if (status == KEDGE_OK) status = kedge_repair_files_publish(files, error);
    kedge_store_db_close(&all->old);
    return status;
}

kedge_status kedge_store_repair(const kedge_environment *environment, const char *path,
                                const char *new_path, kedge_repair_report *report,
                                kedge_error *error)
{
    kedge_repair_report found = KEDGE_REPAIR_REPORT_INIT;
    kedge_store made = {.environment = environment, .allocator = environment->allocator};
    kedge_repair_files files;
    kedge_status status = check_paths(path, new_path, error);
    if (status != KEDGE_OK) return status;
    repair *all = kedge_allocate(environment->allocator, sizeof *all);
    if (!all) return kedge_fail_no_memory(error);
    *all = (repair){.environment = environment, .report = &found, .made = {.store = &made}};
    all->made.now_ms = environment->now_ms(environment->context);
    all->made.decided = kedge_buffer_make(environment->allocator);
    status = kedge_repair_files_begin(&files, path, new_path, error);
    if (status == KEDGE_OK) {
        status = work(all, &files, error);
        kedge_repair_files_end(&files, status == KEDGE_OK);
    }
    kedge_buffer_free(&all->made.decided);
    kedge_release(environment->allocator, all);
    if (status == KEDGE_OK && report) *report = found;
    return status;
}
