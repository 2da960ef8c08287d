/* A plugin of the tests: some mutators that behave, and many that do not. */
#include <kedge/mutator.h>

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

KEDGE_API const kedge_mutator *kedge_plugin_mutators(size_t *count);

static bool poisoned; /* what a broken mutator may leave behind for the others */

static kedge_status count_up(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                             kedge_error *error)
{
    (void)args, (void)args_size, (void)userdata;
    const char *value;
    size_t size;
    long count = 0;
    char text[32];
    if (poisoned) abort();
    kedge_status status = kedge_tx_get(tx, "c", "count", 5, &value, &size, error);
    if (status != KEDGE_OK && status != KEDGE_NOT_FOUND) return status;
    if (status == KEDGE_OK && size < sizeof text) {
        memcpy(text, value, size);
        text[size] = '\0';
        count = strtol(text, NULL, 10);
    }
    snprintf(text, sizeof text, "%ld", count + 1);
    return kedge_tx_put(tx, "c", "count", 5, text, strlen(text), error);
}

/* Moves all items of "c" to "d", puts the caller as d/by, and its args as the project record. */
static kedge_status move_all(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                             kedge_error *error)
{
    (void)userdata;
    const char *id = NULL;
    const char *value;
    size_t id_size = 0;
    size_t size;
    char caller[128];
    kedge_status status;
    while ((status = kedge_tx_next(tx, "c", id, id_size, &id, &id_size, &value, &size, error)) ==
           KEDGE_OK) {
        status = kedge_tx_put(tx, "d", id, id_size, value, size, error);
        if (status == KEDGE_OK) status = kedge_tx_delete(tx, "c", id, id_size, error);
        if (status != KEDGE_OK) return status;
    }
    if (status != KEDGE_DONE) return status;
    const kedge_caller *who = kedge_tx_caller(tx);
    snprintf(caller, sizeof caller, "\"%s %s %s %lld\"", who->user, who->role, who->client,
             (long long)who->now_ms);
    status = kedge_tx_put(tx, "d", "by", 2, caller, strlen(caller), error);
    return status == KEDGE_OK ? kedge_tx_put_project(tx, args, args_size, error) : status;
}

/* Puts the item c/large as d/large, and its args as d/args. */
static kedge_status copy_large(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                               kedge_error *error)
{
    (void)userdata;
    const char *value;
    size_t size;
    kedge_status status = kedge_tx_get(tx, "c", "large", 5, &value, &size, error);
    if (status == KEDGE_OK) status = kedge_tx_put(tx, "d", "large", 5, value, size, error);
    return status == KEDGE_OK ? kedge_tx_put(tx, "d", "args", 4, args, args_size, error) : status;
}

static kedge_status refuse(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                           kedge_error *error)
{
    (void)args, (void)args_size, (void)userdata;
    kedge_tx_put(tx, "c", "1", 1, "1", 1, NULL);
    return kedge_tx_reject(tx, "not-today", "come back tomorrow", error);
}

static kedge_status fault(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                          kedge_error *error)
{
    (void)tx, (void)args, (void)args_size, (void)userdata, (void)error;
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
    return KEDGE_OK;
}

static kedge_status abort_it(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                             kedge_error *error)
{
    (void)tx, (void)args, (void)args_size, (void)userdata, (void)error;
    abort();
}

static kedge_status exit_well(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                              kedge_error *error)
{
    (void)tx, (void)args, (void)args_size, (void)userdata, (void)error;
    _exit(0);
}

static kedge_status loop(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                         kedge_error *error)
{
    (void)tx, (void)args, (void)args_size, (void)userdata, (void)error;
    volatile bool endless = true;
    while (endless)
        continue;
    return KEDGE_OK;
}

/* Prints its process to stderr unless its args are null. */
static kedge_status hang(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                         kedge_error *error)
{
    (void)tx, (void)args_size, (void)userdata, (void)error;
    if (args[0] != 'n') dprintf(STDERR_FILENO, "%ld\n", (long)getpid());
    volatile bool endless = true;
    while (endless)
        pause();
    return KEDGE_OK;
}

static kedge_status write_garbage(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                  kedge_error *error)
{
    (void)tx, (void)args, (void)args_size, (void)userdata, (void)error;
    char garbage[64];
    memset(garbage, 0xA5, sizeof garbage);
    for (int fd = 3; fd < 64; fd++) {
        if (write(fd, garbage, sizeof garbage) < 0) continue;
    }
    return KEDGE_OK;
}

/* Writes the end of its own mutation (the args are its turn), so that the next mutation meets the
 * real end. */
static kedge_status chatter(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                            kedge_error *error)
{
    (void)tx, (void)args_size, (void)userdata, (void)error;
    char done[5 + 24] = {24, 0, 0, 0, 8};
    done[5] = (char)(args[0] - '0');
    if (write(3, done, sizeof done) < 0) return KEDGE_INTERNAL;
    struct pollfd next = {.fd = 3, .events = POLLIN};
    poll(&next, 1, -1); /* the next mutation has come, and meets the real end of this one */
    return KEDGE_OK;
}

static kedge_status poison(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                           kedge_error *error)
{
    (void)tx, (void)args, (void)args_size, (void)userdata, (void)error;
    poisoned = true;
    return KEDGE_OK;
}

static kedge_status tell_process(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                 kedge_error *error)
{
    (void)args, (void)args_size, (void)userdata;
    char text[32];
    int size = snprintf(text, sizeof text, "%ld", (long)getpid());
    return kedge_tx_put(tx, "c", "process", 7, text, (size_t)size, error);
}

/* Leaves a process behind. */
static kedge_status start_process(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                  kedge_error *error)
{
    (void)args, (void)args_size, (void)userdata;
    char text[32];
    pid_t started = fork();
    if (started == 0) {
        for (;;)
            pause();
    }
    if (started < 0) return kedge_tx_reject(tx, "no-fork", "no process was started", error);
    int size = snprintf(text, sizeof text, "%ld", (long)started);
    return kedge_tx_put(tx, "c", "process", 7, text, (size_t)size, error);
}

static kedge_status become_another(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                   kedge_error *error)
{
    (void)args, (void)args_size, (void)userdata;
    char *const nothing[] = {NULL};
    execve("/bin/true", nothing, nothing);
    return kedge_tx_reject(tx, errno == EPERM ? "no-exec" : "exec-failed", "it did not", error);
}

/* Puts the open file descriptors, without the one that reads them. */
static kedge_status tell_files(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                               kedge_error *error)
{
    (void)args, (void)args_size, (void)userdata;
    bool is_open[256] = {false};
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL) return kedge_tx_reject(tx, "no-proc", "no /proc", error);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        long fd = strtol(entry->d_name, NULL, 10);
        if (entry->d_name[0] != '.' && fd != dirfd(folder) && fd < 256) is_open[fd] = true;
    }
    closedir(folder);
    char text[1024] = "\"";
    size_t size = 1;
    for (int fd = 0; fd < 256; fd++) {
        if (is_open[fd]) size += (size_t)snprintf(text + size, sizeof text - size, "%d ", fd);
    }
    text[size++] = '"';
    return kedge_tx_put(tx, "c", "files", 5, text, size, error);
}

/* Puts the names of two variables, if they are set. */
static kedge_status tell_variables(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                   kedge_error *error)
{
    (void)args, (void)args_size, (void)userdata;
    char text[64];
    int size = snprintf(text, sizeof text, "\"%s%s\"", getenv("LANG") != NULL ? "LANG " : "",
                        getenv("AWS_SECRET_ACCESS_KEY") != NULL ? "AWS_SECRET_ACCESS_KEY " : "");
    return kedge_tx_put(tx, "c", "variables", 9, text, (size_t)size, error);
}

static void *note_thread(void *context)
{
    *(bool *)context = true;
    return NULL;
}

static kedge_status start_thread(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                 kedge_error *error)
{
    (void)args, (void)args_size, (void)userdata;
    pthread_t thread;
    bool ran = false;
    if (pthread_create(&thread, NULL, note_thread, &ran) != 0)
        return kedge_tx_reject(tx, "no-thread", "no thread was started", error);
    pthread_join(thread, NULL);
    return kedge_tx_put(tx, "c", "thread", 6, ran ? "true" : "false", ran ? 4 : 5, error);
}

/* Writes the change of c/half as the process does it after the mutator's end. */
static void send_half(unsigned char turn)
{
    char frame[5 + 37] = {37, 0, 0, 0, 7};
    char *at = frame + 5;
    *at = (char)turn, at += 8;
    *at = 1, at += 4;
    *at++ = 'c';
    *at = 4, at += 4;
    memcpy(at, "half", 4), at += 4 + 8;
    *at = 4, at += 4;
    memcpy(at, "true", 4);
    if (write(3, frame, sizeof frame) < 0) _exit(1);
}

/* Is killed while it sends its changes, once for each file that it can remove; the args and a digit
 * name the files. Only this mutator has run in the process. */
static kedge_status is_killed(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                              kedge_error *error)
{
    (void)userdata;
    static unsigned char turn;
    char path[512];
    turn++;
    for (int i = 1; i <= 3; i++) {
        snprintf(path, sizeof path, "%.*s%d", (int)args_size - 2, args + 1, i);
        if (unlink(path) != 0) continue;
        send_half(turn);
        kill(getpid(), SIGKILL);
    }
    return kedge_tx_put(tx, "c", "alive", 5, "true", 4, error);
}

const kedge_mutator *kedge_plugin_mutators(size_t *count)
{
    static const kedge_mutator mutators[] = {
        {"count_up", 3, count_up, NULL},
        {"move_all", 1, move_all, NULL},
        {"copy_large", 1, copy_large, NULL},
        {"refuse", 1, refuse, NULL},
        {"fault", 1, fault, NULL},
        {"abort", 1, abort_it, NULL},
        {"exit_well", 1, exit_well, NULL},
        {"loop", 1, loop, NULL},
        {"hang", 1, hang, NULL},
        {"garbage", 1, write_garbage, NULL},
        {"chatter", 1, chatter, NULL},
        {"poison", 1, poison, NULL},
        {"process", 1, tell_process, NULL},
        {"start", 1, start_process, NULL},
        {"files", 1, tell_files, NULL},
        {"variables", 1, tell_variables, NULL},
        {"thread", 1, start_thread, NULL},
        {"exec", 1, become_another, NULL},
        {"is_killed", 1, is_killed, NULL},
    };
    *count = sizeof mutators / sizeof mutators[0];
    return mutators;
}
