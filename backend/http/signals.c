/* See signals.h. */
#include "backend/http/signals.h"

#include "backend/front/file.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>

#define LOOK_EVERY_S 30

static sigset_t all_signals(void)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    return signals;
}

void kedge_signals_block(void)
{
    sigset_t signals = all_signals();
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static void reload(const kedge_signals_keys *keys)
{
    char *text = NULL;
    kedge_error error = {0};
    kedge_status status = kedge_file_read(keys->environment->allocator, keys->path, &text, &error);
    if (status == KEDGE_OK) status = kedge_auth_set_keys(keys->auth, text, &error);
    kedge_release(keys->environment->allocator, text);
    if (status == KEDGE_OK) {
        kedge_logger_write(keys->log, KEDGE_LOGGER_INFO, "keys-loaded", "file", keys->path, NULL);
    } else {
        kedge_logger_write(keys->log, KEDGE_LOGGER_ERROR, "keys-not-loaded", "file", keys->path,
                           "code", error.code, "detail", error.message, NULL);
    }
}

/* What tells one state of the file from another. All zeros: there is no file. */
typedef struct mark {
    struct timespec changed;
    off_t size;
    ino_t number;
} mark;

static mark mark_of(const char *path)
{
    struct stat found;
    if (path == NULL || stat(path, &found) != 0) return (mark){.size = 0};
    return (mark){found.st_mtim, found.st_size, found.st_ino};
}

static bool same(const mark *a, const mark *b)
{
    return a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec &&
           a->size == b->size && a->number == b->number;
}

int kedge_signals_await_stop(const kedge_signals_keys *keys)
{
    const sigset_t signals = all_signals();
    const struct timespec pause = {.tv_sec = LOOK_EVERY_S};
    mark loaded = mark_of(keys->path);
    for (;;) {
        int signal_number = sigtimedwait(&signals, NULL, &pause);
        if (signal_number == SIGINT || signal_number == SIGTERM) return signal_number;
        if (signal_number < 0 && errno != EAGAIN) continue;
        mark now = mark_of(keys->path);
        if (keys->path == NULL || (signal_number != SIGHUP && same(&now, &loaded))) continue;
        loaded = now;
        reload(keys);
    }
}
