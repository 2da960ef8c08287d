/* Locks, the record and inotify. */
#include "sdk/runtime/peers.h"

#include "common/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/inotify.h>
#endif

/* Places of the locks, far behind the record. */
enum { LEAD = 4096, PRESENT, RECORD };

#define RECORD_MAGIC 0x6B65646765303031u

typedef struct texts {
    char code[sizeof(((kedge_error *)0)->code)];
    char message[sizeof(((kedge_error *)0)->message)];
} texts;

typedef struct record {
    uint64_t magic;
    uint64_t changes;
    uint64_t sync_wanted;
    uint64_t sync_done;
    uint64_t sync_status;
    texts sync_texts; /* those from here on are missing in a record of an earlier release */
    uint64_t leader_status;
    texts leader_texts;
} record;

struct kedge_peers {
    const kedge_environment *environment;
    int file;
    int wake; /* inotify, or -1 */
    bool leading;
    bool changed;          /* seen while writing, not yet told by kedge_peers_look */
    uint64_t changes_seen; /* the record's `changes` that this process knows of */
};

static bool lock(const kedge_peers *peers, int place, short type)
{
    struct flock range = {.l_type = type, .l_whence = SEEK_SET, .l_start = place, .l_len = 1};
    int result;
    do {
        result = fcntl(peers->file, F_OFD_SETLK, &range);
    } while (result != 0 && errno == EINTR);
    return result == 0;
}

/* Reads the record; one that is not there or is damaged counts as new. True: RECORD is locked,
 * until write_record or an unlock. False: another process has the lock now. */
static bool read_record(const kedge_peers *peers, record *now)
{
    if (!lock(peers, RECORD, F_WRLCK)) return false;
    *now = (record){.magic = 0};
    ssize_t size = pread(peers->file, now, sizeof *now, 0);
    if (size < (ssize_t)offsetof(record, sync_texts) || now->magic != RECORD_MAGIC) {
        *now = (record){.magic = RECORD_MAGIC};
    }
    return true;
}

/* Writes the record, and unlocks RECORD, also when the write failed. */
static bool write_record(const kedge_peers *peers, const record *now)
{
    ssize_t size = pwrite(peers->file, now, sizeof *now, 0);
    lock(peers, RECORD, F_UNLCK);
    return size == (ssize_t)sizeof *now;
}

#ifdef __linux__

static int watch_file(const char *path)
{
    int wake = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (wake >= 0 && inotify_add_watch(wake, path, IN_MODIFY) < 0) {
        close(wake);
        wake = -1;
    }
    return wake;
}

static void drain(int wake)
{
    _Alignas(struct inotify_event) char events[4096];
    while (wake >= 0 && read(wake, events, sizeof events) > 0) {
    }
}

#else

static int watch_file(const char *path)
{
    (void)path;
    return -1; /* peers are looked for each tick */
}

static void drain(int wake)
{
    (void)wake;
}

#endif

kedge_status kedge_peers_open(const kedge_environment *environment, const char *folder,
                              kedge_peers **peers, kedge_error *error)
{
    kedge_buffer path = kedge_buffer_make(environment->allocator);
    kedge_peers *made = kedge_allocate(environment->allocator, sizeof *made);
    kedge_status status = KEDGE_OK;
    record now;

    kedge_buffer_append_format(&path, "%s/leader.lock", folder);
    if (made != NULL) *made = (kedge_peers){.environment = environment, .file = -1, .wake = -1};
    if (made == NULL || path.no_memory) {
        status = kedge_fail_no_memory(error);
        goto out;
    }
    made->file = open(path.data, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (made->file < 0 || !lock(made, PRESENT, F_RDLCK)) {
        status = kedge_fail(error, KEDGE_IO, "lock-failed", "\"%s\" could not be %s: %s", path.data,
                            made->file < 0 ? "opened" : "locked", strerror(errno));
        goto out;
    }
    made->wake = watch_file(path.data);
    if (read_record(made, &now)) {
        made->changes_seen = now.changes;
        lock(made, RECORD, F_UNLCK);
    }
    *peers = made;
    made = NULL;
out:
    if (made != NULL && made->file >= 0) close(made->file);
    kedge_release(environment->allocator, made);
    kedge_buffer_free(&path);
    return status;
}

void kedge_peers_close(kedge_peers *peers)
{
    if (peers == NULL) return;
    if (peers->wake >= 0) close(peers->wake);
    /* Closing alone would leave the locks to a child that was forked meanwhile. */
    kedge_peers_resign(peers);
    lock(peers, PRESENT, F_UNLCK);
    close(peers->file);
    kedge_release(peers->environment->allocator, peers);
}

bool kedge_peers_lead(kedge_peers *peers)
{
    if (!peers->leading) peers->leading = lock(peers, LEAD, F_WRLCK);
    return peers->leading;
}

void kedge_peers_resign(kedge_peers *peers)
{
    if (peers->leading) lock(peers, LEAD, F_UNLCK);
    peers->leading = false;
}

bool kedge_peers_present(const kedge_peers *peers)
{
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = PRESENT, .l_len = 1};
    return fcntl(peers->file, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

int kedge_peers_wake_fd(const kedge_peers *peers)
{
    return peers->wake;
}

/* What stands in a file may be anything; kedge_fail makes clean text of it. */
static kedge_error error_of(uint64_t status, const texts *its)
{
    kedge_error error = {.status =
                             status <= KEDGE_INTERNAL ? (kedge_status)status : KEDGE_UNAVAILABLE};
    if (error.status == KEDGE_OK) return error;
    memcpy(error.code, its->code, sizeof error.code - 1);
    memcpy(error.message, its->message, sizeof error.message - 1);
    kedge_fail(&error, error.status, error.code, "%s", error.message);
    return error;
}

static texts texts_of(const kedge_error *error)
{
    texts its = {.code = ""};
    if (error->status == KEDGE_OK) return its;
    memcpy(its.code, error->code, strlen(error->code));
    memcpy(its.message, error->message, strlen(error->message));
    return its;
}

bool kedge_peers_look(kedge_peers *peers, kedge_peers_news *news)
{
    record now;
    drain(peers->wake); /* first: what is written after this wakes again */
    if (!read_record(peers, &now)) return false;
    lock(peers, RECORD, F_UNLCK);
    *news = (kedge_peers_news){.changed = peers->changed || now.changes != peers->changes_seen,
                               .sync_wanted = now.sync_wanted,
                               .sync_done = now.sync_done,
                               .sync_error = error_of(now.sync_status, &now.sync_texts),
                               .leader_error = error_of(now.leader_status, &now.leader_texts)};
    peers->changed = false;
    peers->changes_seen = now.changes;
    return true;
}

bool kedge_peers_tell(kedge_peers *peers)
{
    record now;
    if (!read_record(peers, &now)) return false;
    if (now.changes != peers->changes_seen) peers->changed = true;
    peers->changes_seen = now.changes++;
    if (!write_record(peers, &now)) return false;
    peers->changes_seen = now.changes;
    return true;
}

bool kedge_peers_want_sync(kedge_peers *peers, uint64_t *ticket)
{
    record now;
    if (!read_record(peers, &now)) return false;
    now.sync_wanted++;
    if (!write_record(peers, &now)) return false;
    *ticket = now.sync_wanted;
    return true;
}

bool kedge_peers_sync_done(kedge_peers *peers, uint64_t ticket, const kedge_error *error)
{
    record now;
    if (!read_record(peers, &now)) return false;
    now.sync_done = ticket;
    now.sync_status = (uint64_t)error->status;
    now.sync_texts = texts_of(error);
    return write_record(peers, &now);
}

bool kedge_peers_tell_error(kedge_peers *peers, const kedge_error *error)
{
    record now;
    if (!read_record(peers, &now)) return false;
    now.leader_status = (uint64_t)error->status;
    now.leader_texts = texts_of(error);
    return write_record(peers, &now);
}
