/* Opens an outbox whose header or schema is damaged.
 *
 * All outboxes of one layout are created in the same way, so their header and schema are on the
 * same pages with the same contents, and their tables begin at the same pages. So these pages of
 * the copy are exchanged with those of an empty outbox. If rows that are then read are sound, this
 * was right; otherwise the pages are exchanged back.
 *
 * In a file that shrink.c has written anew the tables begin at other pages, which are the same in
 * all such files. The rest of the schema then comes after the rows, and is not needed to read them.
 * So both kinds of an empty outbox are tried, and the one with which more can be read is used. */
#include "sdk/store/salvage.h"

#include "common/error.h"
#include "sdk/store/outbox_rows.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGES_MAX  64 /* of an empty outbox: a dozen */
#define PAGE_BYTES KEDGE_STORE_PAGE_BYTES

/* ---- what is sound ---- */

static int64_t count_rows(kedge_store_db *db, const char *table)
{
    int64_t key = 0, rows = 0;
    sqlite3_stmt *row;
    while (kedge_salvage_next(db, table, &key, &row) == KEDGE_OK)
        rows += sqlite3_column_int(row, sqlite3_column_count(row) - 1) == 1;
    return rows;
}

static bool is_sound(kedge_store_db *db)
{
    static const char *const sql = "PRAGMA integrity_check(1)";
    sqlite3_stmt *check;
    if (kedge_store_db_take(db, sql, &check, NULL) != KEDGE_OK) return false;
    if (kedge_store_db_step(db, check, NULL) != KEDGE_OK) return false;
    bool sound = kedge_bytes_equal_text(kedge_store_column(check, 0), "ok");
    sqlite3_reset(check);
    return sound;
}

static void count(kedge_store_db *db, kedge_salvage_count *found)
{
    kedge_outbox_meta meta;
    int copies = 0;
    (void)kedge_outbox_meta_copies(db, &meta, &copies, NULL);
    *found = (kedge_salvage_count){
        .copies = copies,
        .rows = count_rows(db, kedge_salvage_pending) + count_rows(db, kedge_salvage_rejected) +
                count_rows(db, kedge_salvage_confirmed) + count_rows(db, kedge_salvage_trimmed),
    };
    found->whole = copies > 0 && is_sound(db);
}

static int64_t proofs(const kedge_salvage_count *found)
{
    return found->rows + found->copies;
}

/* ---- the exchange ---- */

typedef struct graft {
    int64_t pages[PAGES_MAX]; /* those of header and schema, from 1 */
    size_t count;
} graft;

/* Each table and index of an empty outbox has one page, its root. All others are the schema's. */
static kedge_status list_pages(kedge_store_db *db, graft *list, kedge_error *error)
{
    static const char *const sql = "SELECT 1 FROM sqlite_master WHERE rootpage = ?1";
    int64_t pages = 0;
    sqlite3_stmt *find;
    kedge_status status = kedge_store_db_number(db, "PRAGMA page_count", &pages, error);
    for (int64_t page = 1; page <= pages && status == KEDGE_OK; page++) {
        status = kedge_store_db_find(db, sql, &find, error, "i", page);
        if (status == KEDGE_DONE && list->count < PAGES_MAX) list->pages[list->count++] = page;
        if (status == KEDGE_DONE) status = KEDGE_OK;
    }
    kedge_store_db_reset(db);
    return status;
}

/* Writes an empty outbox anew as shrink.c does, so that its schema has one page. */
static const char *const WRITE_ANEW = "{no_totals_of rejected}"
                                      "{no_totals_of confirmed}{no_totals_of trimmed} VACUUM";

/* It is made without a WAL, so that the whole outbox is in one file. */
static kedge_status make_fresh(const char *path, bool anew, graft *list, kedge_error *error)
{
    kedge_store_db db;
    kedge_outbox_meta nothing = {0};
    *list = (graft){0};
    (void)unlink(path);
    kedge_status status = kedge_store_db_open(
        &db, path, "an empty outbox", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL, error);
    if (status != KEDGE_OK) return status;
    status = kedge_store_db_execute(&db, "PRAGMA synchronous=OFF", error);
    if (status == KEDGE_OK) status = kedge_schema_make_outbox(&db, &nothing, error);
    if (status == KEDGE_OK && anew) status = kedge_store_db_execute(&db, WRITE_ANEW, error);
    if (status == KEDGE_OK) status = list_pages(&db, list, error);
    kedge_store_db_close(&db);
    return status;
}

/* The parts of the header that are not the same in all files. */
static void adapt_header(unsigned char *page)
{
    page[18] = page[19] = 2; /* WAL */
    memset(page + 28, 0, 4); /* 0 pages: SQLite takes the size of the file */
    memset(page + 32, 0, 8); /* free pages */
}

static bool exchange_page(int copy, int fresh, off_t offset)
{
    unsigned char ours[PAGE_BYTES] = {0}, theirs[PAGE_BYTES] = {0};
    /* Pages beyond the end of a copy that is too short are zeros. */
    if (pread(copy, ours, PAGE_BYTES, offset) < 0) return false;
    if (pread(fresh, theirs, PAGE_BYTES, offset) != PAGE_BYTES) return false;
    return pwrite(copy, theirs, PAGE_BYTES, offset) == PAGE_BYTES &&
           pwrite(fresh, ours, PAGE_BYTES, offset) == PAGE_BYTES;
}

static bool adapt_file(int fresh)
{
    unsigned char page[PAGE_BYTES];
    if (pread(fresh, page, PAGE_BYTES, 0) != PAGE_BYTES) return false;
    adapt_header(page);
    return pwrite(fresh, page, PAGE_BYTES, 0) == PAGE_BYTES;
}

static kedge_status exchange(const char *file, const char *fresh, const graft *list, bool adapt,
                             kedge_error *error)
{
    char shm[KEDGE_STORE_PATH_BYTES + 8];
    int copy = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int other = open(fresh, O_RDWR | O_CLOEXEC);
    bool good = copy >= 0 && other >= 0 && (!adapt || adapt_file(other));
    for (size_t i = 0; i < list->count && good; i++)
        good = exchange_page(copy, other, (off_t)(list->pages[i] - 1) * PAGE_BYTES);
    int code = errno;
    if (copy >= 0) close(copy);
    if (other >= 0) close(other);
    /* The index of the WAL is from before the exchange. */
    (void)snprintf(shm, sizeof shm, "%s-shm", file);
    (void)unlink(shm);
    if (good) return KEDGE_OK;
    return kedge_fail(error, code == ENOSPC ? KEDGE_DISK_FULL : KEDGE_IO, "repair-failed",
                      "cannot write the copy %s: %s", file, strerror(code));
}

/* ---- opening ---- */

static kedge_status open_copy(kedge_store_db *db, const char *file, kedge_salvage_count *found,
                              kedge_error *error)
{
    *found = (kedge_salvage_count){0};
    kedge_status status =
        kedge_store_db_open(db, file, "outbox.db", SQLITE_OPEN_READWRITE, NULL, error);
    if (status == KEDGE_OK) count(db, found);
    return status;
}

/* SQLite deletes the WAL of an empty file, so such a file is not opened. */
static bool has_a_page(const char *file)
{
    struct stat facts;
    return stat(file, &facts) == 0 && facts.st_size >= PAGE_BYTES;
}

static kedge_status open_grafted(kedge_store_db *db, const char *file, const char *fresh, bool anew,
                                 graft *list, kedge_salvage_count *found, kedge_error *error)
{
    kedge_status status = make_fresh(fresh, anew, list, error);
    if (status == KEDGE_OK) status = exchange(file, fresh, list, true, error);
    return status == KEDGE_OK ? open_copy(db, file, found, error) : status;
}

/* Leaves the copy as it was. */
static kedge_status count_grafted(kedge_store_db *db, const char *file, const char *fresh,
                                  bool anew, kedge_salvage_count *found, kedge_error *error)
{
    graft list;
    kedge_status status = open_grafted(db, file, fresh, anew, &list, found, error);
    kedge_store_db_close(db);
    return status == KEDGE_OK ? exchange(file, fresh, &list, false, error) : status;
}

static kedge_status try_grafts(kedge_store_db *db, const char *file, const char *fresh,
                               kedge_salvage_count *found, bool *grafted, kedge_error *error)
{
    graft list;
    kedge_salvage_count made, anew;
    bool readable = db->handle != NULL;
    kedge_store_db_close(db);
    kedge_status status = count_grafted(db, file, fresh, false, &made, error);
    if (status == KEDGE_OK) status = count_grafted(db, file, fresh, true, &anew, error);
    if (status != KEDGE_OK) return status;
    bool better = proofs(&anew) > proofs(&made);
    *grafted = proofs(better ? &anew : &made) > proofs(found);
    if (!*grafted && readable) return open_copy(db, file, found, error);
    return open_grafted(db, file, fresh, better, &list, found, error);
}

kedge_status kedge_salvage_open(kedge_store_db *db, const char *file, const char *fresh,
                                kedge_salvage_count *found, bool *grafted, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    *grafted = false;
    *found = (kedge_salvage_count){0};
    memset(db, 0, sizeof *db);
    if (has_a_page(file)) status = open_copy(db, file, found, error);
    if (status == KEDGE_OK && !found->whole)
        status = try_grafts(db, file, fresh, found, grafted, error);
    return status;
}
