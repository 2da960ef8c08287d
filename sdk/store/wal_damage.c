/* A WAL that is damaged in the middle.
 *
 * Each frame has a checksum over itself and over all frames in front of it
 * (https://sqlite.org/fileformat2.html#walformat). SQLite reads a WAL up to the first frame whose
 * checksum is wrong, and takes the others for what a power cut left of a commit. So one flipped bit
 * takes away all commits after it, though they are still there.
 *
 * That they were durable is proved by a frame that follows a commit and continues its checksum:
 * with synchronous=FULL nothing is written after a commit before that is on the disk. Frames that
 * were left over by a commit which failed prove nothing, since what was written there later has
 * another checksum. */
#include "sdk/store/wal_damage.h"

#include "sdk/store/store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER_BYTES 32
#define HEAD_BYTES   24 /* of a frame */
#define FRAME_BYTES  (HEAD_BYTES + KEDGE_STORE_PAGE_BYTES)
#define MAGIC        0x377f0682u /* the last bit: the checksum's words are big-endian */
/* So many frames with other salts in a row are the end, and no damage. */
#define FOREIGN_MAX 16

typedef struct sum {
    uint32_t words[2];
} sum;

typedef struct frames {
    void *context;
    bool (*read)(void *context, void *out, int size, int64_t at);
    bool big;
    unsigned char salts[8];
    sum start;     /* the checksum of the WAL's header */
    int64_t index; /* of the frame, from 1; 0: none was read */
    unsigned char frame[FRAME_BYTES];
    uint32_t page; /* its number */
    uint32_t size; /* of the database after this commit, in pages; 0: it ends none */
    sum stored;    /* the checksum that the frame has */
    bool ours;     /* it has the salts of the header */
    bool linked;   /* … and continues the checksum of the frame before */
} frames;

static uint32_t get(const unsigned char *at, bool big)
{
    return big ? (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3]
               : (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}

static void put(unsigned char *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (unsigned char)(value >> (24 - 8 * i));
}

static sum add(sum so_far, const unsigned char *bytes, size_t size, bool big)
{
    for (size_t i = 0; i < size; i += 8) {
        so_far.words[0] += get(bytes + i, big) + so_far.words[1];
        so_far.words[1] += get(bytes + i + 4, big) + so_far.words[0];
    }
    return so_far;
}

static sum stored_at(const unsigned char *at)
{
    return (sum){{get(at, true), get(at + 4, true)}};
}

static bool equal(sum a, sum b)
{
    return a.words[0] == b.words[0] && a.words[1] == b.words[1];
}

static sum sum_of_frame(const frames *at, sum before)
{
    before = add(before, at->frame, 8, at->big);
    return add(before, at->frame + HEAD_BYTES, KEDGE_STORE_PAGE_BYTES, at->big);
}

static int64_t place(int64_t index)
{
    return HEADER_BYTES + (index - 1) * FRAME_BYTES;
}

/* Reads the header, and then stands at the frame `index`, which is right. False: SQLite reads
 * nothing of such a WAL. */
static bool begin(frames *at, int64_t index)
{
    unsigned char header[HEADER_BYTES];
    if (!at->read(at->context, header, HEADER_BYTES, 0)) return false;
    uint32_t magic = get(header, true);
    at->big = (magic & 1) != 0;
    at->start = stored_at(header + 24);
    if ((magic & ~1u) != MAGIC || get(header + 8, true) != KEDGE_STORE_PAGE_BYTES ||
        !equal(add((sum){{0, 0}}, header, 24, at->big), at->start))
        return false;
    memcpy(at->salts, header + 16, sizeof at->salts);
    at->index = index;
    at->size = at->page = 0;
    at->stored = at->start;
    if (index == 0) return true;
    if (!at->read(at->context, at->frame, FRAME_BYTES, place(index))) return false;
    at->page = get(at->frame, true);
    at->size = get(at->frame + 4, true);
    at->stored = stored_at(at->frame + 16);
    return true;
}

/* False at the end of the file. */
static bool next(frames *at)
{
    int64_t where = place(at->index + 1);
    if (!at->read(at->context, at->frame, HEAD_BYTES, where)) return false;
    at->ours = memcmp(at->frame + 8, at->salts, sizeof at->salts) == 0;
    if (at->ours &&
        !at->read(at->context, at->frame + HEAD_BYTES, KEDGE_STORE_PAGE_BYTES, where + HEAD_BYTES))
        return false;
    sum stored = stored_at(at->frame + 16);
    at->linked = at->ours && equal(sum_of_frame(at, at->stored), stored);
    at->index++;
    at->page = get(at->frame, true);
    at->size = at->ours ? get(at->frame + 4, true) : 0;
    at->stored = stored;
    return true;
}

/* The last frame of the commits that were durable and stand after damage; 0: there are none.
 * `pages`: how many the database has then.
 *
 * A commit may be filled up with copies of its last frame, to the end of a sector. What a copy has
 * after that sector is not durable with the commit. So a copy that is torn is no lost commit. */
static int64_t find_last(frames *at, uint32_t *pages)
{
    bool broken = false, durable = false, lost = false;
    int64_t last = 0;
    for (int foreign = 0; foreign < FOREIGN_MAX;) {
        uint32_t page = at->page, size = at->size;
        sum copied = size != 0 ? sum_of_frame(at, at->stored) : at->start;
        if (!next(at)) break;
        foreign = at->ours ? 0 : foreign + 1;
        broken = broken || !at->linked;
        bool follows = size != 0 && (at->page != page || at->size == 0);
        durable = at->linked && (durable || (lost && follows));
        if (size == 0 || !at->ours || !equal(at->stored, copied)) lost = broken;
        if (durable && follows && last < at->index - 1) {
            last = at->index - 1;
            *pages = size;
        }
        if (durable && at->size != 0) {
            last = at->index;
            *pages = at->size;
        }
    }
    return last;
}

static bool read_open(void *context, void *out, int size, int64_t at)
{
    sqlite3_file *file = context;
    return file->pMethods->xRead(file, out, size, at) == SQLITE_OK;
}

bool kedge_wal_is_damaged(const kedge_store_db *db)
{
    frames at = {.read = read_open};
    int64_t used = 0;
    uint32_t pages = 0;
    at.context = kedge_wal_rest(db, &used);
    return at.context != NULL && begin(&at, used) && find_last(&at, &pages) > 0;
}

/* ---- mending ---- */

static bool read_file(void *context, void *out, int size, int64_t at)
{
    const int *file = context;
    return pread(*file, out, (size_t)size, at) == size;
}

/* Frames that are not linked are damaged: only the last one is believed to end a commit, and one
 * whose page cannot be is left out. The others move up. */
static int rewrite(int file, frames *at, int64_t last, uint32_t pages)
{
    int64_t written = 0;
    sum so_far = at->start;
    while (at->index < last && next(at)) {
        if (!at->linked && (!at->ours || at->page == 0 || at->page > pages)) continue;
        if (!at->linked) put(at->frame + 4, at->index == last ? pages : 0);
        so_far = sum_of_frame(at, so_far);
        put(at->frame + 16, so_far.words[0]);
        put(at->frame + 20, so_far.words[1]);
        if (pwrite(file, at->frame, FRAME_BYTES, place(++written)) != FRAME_BYTES)
            return errno != 0 ? errno : ENOSPC;
    }
    return ftruncate(file, place(written + 1)) == 0 ? 0 : errno;
}

int kedge_wal_mend(const char *path)
{
    frames at = {.read = read_file};
    uint32_t pages = 0;
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return errno == ENOENT ? 0 : errno;
    at.context = &file;
    int64_t last = begin(&at, 0) ? find_last(&at, &pages) : 0;
    errno = 0;
    int code = last > 0 && begin(&at, 0) ? rewrite(file, &at, last, pages) : 0;
    close(file);
    return code;
}
