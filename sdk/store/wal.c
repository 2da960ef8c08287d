/* The two WALs: their size limits, and space that is reserved in them before it is needed.
 *
 * A commit appends a frame a page to the WAL. While the file is as long as it once was, that needs
 * no new blocks of the disk. So before an edit is acknowledged, zeros are written after the last
 * frames of both WALs, as far as the commits may need: if the disk is full, that fails while the
 * edit can still be refused. SQLite reads a WAL up to the first frame whose salts are not those of
 * the header, and takes zeros for that.
 *
 * Moving a WAL into its file frees space, but needs some first when the file must grow. This space
 * is also reserved in the WAL, and freed for the move.
 *
 * The numbers of frames and pages are read where SQLite keeps them for all processes: in the header
 * of the WAL's index (https://sqlite.org/walformat.html), which only a writer changes, and this one
 * has the write lock. */
#include "sdk/store/store_internal.h"

#include "common/error.h"

#define WAL_HEADER_BYTES 32
#define FRAME_BYTES      (24 + KEDGE_STORE_PAGE_BYTES)
#define INDEX_BYTES      32768 /* how the index is mapped: a region */
/* Words of its header. */
#define INDEX_FRAMES 4
#define INDEX_PAGES  5
/* Reserves this many frames more than needed, so that zeros are not written at each edit. */
#define RESERVE_AHEAD 15
/* The estimate for a commit of many rows is far too high; from here on its pages are counted. */
#define ESTIMATE_MAX KEDGE_STORE_WAL_PAGES_MIN
/* A commit writes its last frame, and may fill a sector with copies of it. */
#define FRAMES_OF_END 4
/* Most reads end within this time. */
#define READERS_WAIT_MS 200

/* Never written; not const, so that it takes no room in the library. */
static char zeros[RESERVE_AHEAD * FRAME_BYTES];

static sqlite3_file *file_of(const kedge_store_db *db, int which)
{
    sqlite3_file *file = NULL;
    if (sqlite3_file_control(db->handle, "main", which, &file) != SQLITE_OK) return NULL;
    return file && file->pMethods ? file : NULL;
}

typedef struct wal_facts {
    sqlite3_file *wal;
    int64_t size;
    int64_t used; /* up to the last frame */
    int64_t file_size;
    int64_t growth; /* of the file, when all is moved into it */
} wal_facts;

/* False: not known, with a VFS that has no index, or before there is a WAL. */
static bool look(const kedge_store_db *db, wal_facts *facts)
{
    void volatile *index = NULL;
    sqlite3_int64 size = 0;
    sqlite3_file *database = file_of(db, SQLITE_FCNTL_FILE_POINTER);
    facts->wal = file_of(db, SQLITE_FCNTL_JOURNAL_POINTER);
    if (!database || !facts->wal || database->pMethods->iVersion < 2) return false;
    int code = database->pMethods->xShmMap(database, 0, INDEX_BYTES, 0, &index);
    if (code != SQLITE_OK || !index) return false;
    const uint32_t volatile *words = index;
    if (database->pMethods->xFileSize(database, &size) != SQLITE_OK) return false;
    facts->file_size = size;
    facts->used = WAL_HEADER_BYTES + (int64_t)words[INDEX_FRAMES] * FRAME_BYTES;
    facts->growth = (int64_t)words[INDEX_PAGES] * KEDGE_STORE_PAGE_BYTES - size;
    if (facts->growth < 0 || words[INDEX_FRAMES] == 0) facts->growth = 0;
    if (facts->wal->pMethods->xFileSize(facts->wal, &size) != SQLITE_OK) return false;
    facts->size = size;
    return true;
}

/* Hardly ever less than it takes, from what was bound and run since the transaction began: a value
 * goes into its page or into pages of its own; a row may split its page, and the one above. */
static int64_t pages_of_commit(const kedge_store_db *db)
{
    return 4 + 2 * db->runs + 2 * (db->bound_bytes / KEDGE_STORE_PAGE_BYTES);
}

/* A WAL without frames was cut off, or begins anew. Should a power cut undo the cut, then the
 * frames of before are there once more, all of which are in the file; with zeros over some of them
 * SQLite would take the others for newer than the file. So the cut has to be on the disk first. */
static int extend(const wal_facts *at, int64_t to)
{
    int code = SQLITE_OK;
    int64_t size = at->size;
    if (at->used == WAL_HEADER_BYTES) code = at->wal->pMethods->xSync(at->wal, SQLITE_SYNC_NORMAL);
    while (size < to && code == SQLITE_OK) {
        int64_t part = to - size;
        if (part > (int64_t)sizeof zeros) part = (int64_t)sizeof zeros;
        code = at->wal->pMethods->xWrite(at->wal, zeros, (int)part, size);
        size += part;
    }
    return code;
}

/* Zeros after the last frame: for so many frames, and as far as the file would grow then. */
static kedge_status reserve(kedge_store_db *db, wal_facts *at, int64_t frames, kedge_error *error)
{
    sqlite3_int64 size;
    int64_t needed = at->used + frames * FRAME_BYTES + at->growth;
    if (at->size >= needed) return KEDGE_OK;
    int code = extend(at, needed + RESERVE_AHEAD * FRAME_BYTES);
    if (code == SQLITE_OK) return KEDGE_OK;
    /* The space that is needed may be there, though less than was wanted. */
    if (at->wal->pMethods->xFileSize(at->wal, &size) == SQLITE_OK && size >= needed)
        return KEDGE_OK;
    return kedge_store_db_fail(db, code, "reserving room for a commit", error);
}

/* How many frames the transaction has written: all but the last one, which the commit writes. */
static kedge_status flush(kedge_store_db *db, int64_t *frames, kedge_error *error)
{
    int written = 0, highest = 0;
    int code = sqlite3_db_cacheflush(db->handle);
    if (code == SQLITE_OK)
        code = sqlite3_db_status(db->handle, SQLITE_DBSTATUS_CACHE_WRITE, &written, &highest, 0);
    *frames = written - db->written;
    return code == SQLITE_OK ? KEDGE_OK
                             : kedge_store_db_fail(db, code, "writing what is to commit", error);
}

kedge_status kedge_wal_prepare(kedge_store_db *db, kedge_error *error)
{
    wal_facts at;
    int64_t frames = 0, pages = 0;
    kedge_store_db_reset(db);
    kedge_status status = flush(db, &frames, error);
    if (status != KEDGE_OK || !look(db, &at)) return status;
    status = kedge_store_db_number(db, "PRAGMA page_count", &pages, error);
    int64_t growth = pages * KEDGE_STORE_PAGE_BYTES - at.file_size;
    at.growth = growth > 0 ? growth : 0;
    return status == KEDGE_OK ? reserve(db, &at, frames + FRAMES_OF_END, error) : status;
}

kedge_status kedge_wal_reserve(kedge_store_db *db, kedge_error *error)
{
    wal_facts at;
    int64_t pages = pages_of_commit(db);
    if (pages > ESTIMATE_MAX) return kedge_wal_prepare(db, error);
    return look(db, &at) ? reserve(db, &at, pages, error) : KEDGE_OK;
}

kedge_status kedge_wal_commit(kedge_store_db *db, kedge_error *error)
{
    kedge_store_db_reset(db);
    if (db->rehearsing) return KEDGE_OK;
    kedge_status status = kedge_wal_prepare(db, error);
    return status == KEDGE_OK ? kedge_store_db_commit(db, error) : status;
}

sqlite3_file *kedge_wal_rest(const kedge_store_db *db, int64_t *frames)
{
    wal_facts at;
    if (!look(db, &at) || at.size <= at.used) return NULL;
    *frames = (at.used - WAL_HEADER_BYTES) / FRAME_BYTES;
    return at.wal;
}

/* A move reads the index of the whole WAL. So while a reader holds pages there, the next one comes
 * when there are twice as many. */
bool kedge_wal_is_large(const kedge_store_db *db)
{
    sqlite3_int64 size = 0;
    if (db->wal_pages <= KEDGE_STORE_WAL_PAGES_MIN || db->wal_pages / 2 < db->wal_held)
        return false;
    if (db->wal_pages > KEDGE_STORE_WAL_PAGES) return true;
    sqlite3_file *database = file_of(db, SQLITE_FCNTL_FILE_POINTER);
    if (!database || database->pMethods->xFileSize(database, &size) != SQLITE_OK) return true;
    return db->wal_pages > size / KEDGE_STORE_PAGE_BYTES;
}

static int move(kedge_store_db *db, bool cut, int wait_ms)
{
    int pages = 0, moved = 0, before = db->wal_pages;
    sqlite3_busy_timeout(db->handle, wait_ms);
    int code = sqlite3_wal_checkpoint_v2(
        db->handle, NULL, cut ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE, &pages,
        &moved);
    sqlite3_busy_timeout(db->handle, KEDGE_STORE_BUSY_TIMEOUT_MS);
    db->wal_pages = 0;
    db->wal_held = code == SQLITE_OK && moved == pages ? 0 : pages > before ? pages : before;
    return code;
}

int kedge_wal_move(kedge_store_db *db, bool cut)
{
    return move(db, cut, 0);
}

/* The reserve makes room for the file to grow. */
static void give_back(kedge_store_db *db)
{
    wal_facts at;
    if (kedge_store_db_begin(db, NULL) == KEDGE_OK && look(db, &at) && at.size > at.used)
        (void)at.wal->pMethods->xTruncate(at.wal, at.used);
    kedge_store_db_rollback(db);
}

void kedge_wal_cut(kedge_store_db *db)
{
    if (!db->handle) return;
    give_back(db);
    (void)move(db, true, 0);
}

void kedge_wal_make_room(kedge_store *store)
{
    kedge_store_db *const both[] = {&store->outbox, &store->cache};
    for (int i = 0; i < 2; i++)
        if (both[i]->handle) give_back(both[i]);
    /* The space that one WAL frees may be what the other one needs. */
    for (int i = 0; i < 3; i++)
        if (both[i % 2]->handle) (void)move(both[i % 2], true, READERS_WAIT_MS);
}
