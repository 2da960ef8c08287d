/* One mutator process. The socket does not block on this side, so that a child that stops talking
 * or listening is always found out. */
#include "backend/plugin/process.h"

#include "backend/plugin/child.h"
#include "backend/ports/deadline.h"
#include "common/error.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK_MS_MIN 5 /* between two looks at the CPU clock */
#define VARIABLES    (sizeof variables / sizeof variables[0])

static const char *const variables[] = {
    "LD_LIBRARY_PATH", "LANG",         "LC_ALL",       "TZ",
    "ASAN_OPTIONS",    "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"};

void kedge_process_init(kedge_process *process, const kedge_allocator *allocator)
{
    *process = (kedge_process){.socket_fd = -1};
    process->sent = process->received = kedge_buffer_make(allocator);
    process->id = process->value = process->changes = kedge_buffer_make(allocator);
}

void kedge_process_free(kedge_process *process)
{
    kedge_buffer_free(&process->sent);
    kedge_buffer_free(&process->received);
    kedge_buffer_free(&process->id);
    kedge_buffer_free(&process->value);
    kedge_buffer_free(&process->changes);
}

/* ---- life ---- */

/* What a child gets of the server's environment: how the dynamic linker finds libraries, language
 * and time zone, and the settings of sanitizers. Credentials are not among it. */
static void choose_environment(char **chosen)
{
    for (size_t i = 0; i < VARIABLES; i++) {
        size_t size = strlen(variables[i]);
        for (char **at = environ; at != NULL && *at != NULL; at++) {
            if (strncmp(*at, variables[i], size) != 0 || (*at)[size] != '=') continue;
            *chosen++ = *at;
            break;
        }
    }
    *chosen = NULL;
}

/* Nothing is inherited but the socket, stderr and the chosen environment; signals are as a new
 * program expects them. */
static int spawn_child(pid_t *pid, int socket_fd, char **argv)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigset_t all;
    char *chosen[VARIABLES + 1];
    choose_environment(chosen);
    sigemptyset(&none);
    sigfillset(&all);
    int failure = posix_spawn_file_actions_init(&files);
    if (failure != 0) return failure;
    failure = posix_spawnattr_init(&attributes);
    if (failure != 0) {
        posix_spawn_file_actions_destroy(&files);
        return failure;
    }
    failure = posix_spawn_file_actions_adddup2(&files, socket_fd, KEDGE_CHILD_SOCKET);
    if (failure == 0) {
        failure = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    }
    if (failure == 0) {
        failure = posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    }
    if (failure == 0) {
        failure = posix_spawn_file_actions_addclosefrom_np(&files, KEDGE_CHILD_SOCKET + 1);
    }
    if (failure == 0) failure = posix_spawnattr_setsigmask(&attributes, &none);
    if (failure == 0) failure = posix_spawnattr_setsigdefault(&attributes, &all);
    /* A group of its own: what a mutator has started ends with its process. */
    if (failure == 0) failure = posix_spawnattr_setpgroup(&attributes, 0);
    if (failure == 0) {
        failure = posix_spawnattr_setflags(
            &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    }
    if (failure == 0) {
        failure = posix_spawn(pid, "/proc/self/exe", &files, &attributes, argv, chosen);
    }
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return failure;
}

kedge_status kedge_process_spawn(kedge_process *process, const char *library_path,
                                 kedge_error *error)
{
    char name[] = "kedge-mutators";
    char argument[] = KEDGE_CHILD_ARGUMENT;
    char parent[24];
    int sockets[2];
    pid_t pid;
    snprintf(parent, sizeof parent, "%ld", (long)getpid());
    char *argv[] = {name, argument, (char *)(uintptr_t)library_path, parent, NULL};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
        return kedge_fail(error, KEDGE_UNAVAILABLE, "mutators-unavailable",
                          "no socket for a mutator process: %s", strerror(errno));
    }
    int failure = spawn_child(&pid, sockets[1], argv);
    close(sockets[1]);
    if (failure == 0 && fcntl(sockets[0], F_SETFL, O_NONBLOCK) != 0) failure = errno;
    if (failure != 0) {
        close(sockets[0]);
        return kedge_fail(error, KEDGE_UNAVAILABLE, "mutators-unavailable",
                          "a mutator process could not be started: %s", strerror(failure));
    }
    process->pid = pid;
    process->socket_fd = sockets[0];
    process->mutations = 0;
    if (clock_getcpuclockid(pid, &process->cpu_clock) == 0) return KEDGE_OK;
    kedge_process_end(process);
    return kedge_fail(error, KEDGE_UNAVAILABLE, "mutators-unavailable",
                      "a mutator process has no CPU clock");
}

void kedge_process_end(kedge_process *process)
{
    if (process->pid == 0) return;
    kill(-process->pid, SIGKILL);
    while (waitpid(process->pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    close(process->socket_fd);
    process->pid = 0;
    process->socket_fd = -1;
}

bool kedge_process_is_quiet(const kedge_process *process)
{
    char byte;
    ssize_t got = recv(process->socket_fd, &byte, 1, MSG_PEEK);
    return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

/* ---- limits ---- */

/* -1 when the process is gone. */
static int64_t cpu_ms(const kedge_process *process)
{
    struct timespec used;
    if (clock_gettime(process->cpu_clock, &used) != 0) return -1;
    return (int64_t)used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

static int64_t wall_ms(const kedge_environment *environment)
{
    return environment->monotonic_ms(environment->context);
}

kedge_process_watch kedge_process_start_watch(const kedge_process *process,
                                              const kedge_environment *environment,
                                              int64_t cpu_ms_max, int64_t wall_ms_max)
{
    int64_t used = cpu_ms(process);
    return (kedge_process_watch){.environment = environment,
                                 .wall_end_ms = wall_ms(environment) + wall_ms_max,
                                 .cpu_end_ms = (used < 0 ? 0 : used) + cpu_ms_max};
}

/* Waits until the socket is ready. A process cannot use more CPU than time passes, unless it has
 * threads, so a look at its clock is due when it could have used up what it has. */
static kedge_talk wait_for(const kedge_process *process, short events,
                           const kedge_process_watch *watch)
{
    for (;;) {
        struct pollfd ready = {.fd = process->socket_fd, .events = events};
        int64_t wall_left = watch->wall_end_ms - wall_ms(watch->environment);
        int64_t cpu_left = watch->cpu_end_ms - cpu_ms(process);
        if (cpu_left <= 0) return KEDGE_TALK_TIMEOUT;
        if (kedge_deadline_ask() == KEDGE_DEADLINE_STOP) return KEDGE_TALK_STOPPED;
        if (wall_left <= 0) {
            /* What it said in time still counts, for this process may itself have been stopped. */
            return poll(&ready, 1, 0) > 0 ? KEDGE_TALK_OK : KEDGE_TALK_TIMEOUT;
        }
        if (cpu_left < CHECK_MS_MIN) cpu_left = CHECK_MS_MIN;
        int64_t wait_ms = wall_left < cpu_left ? wall_left : cpu_left;
        int found =
            poll(&ready, 1, wait_ms > KEDGE_PLUGIN_LOOK_MS ? KEDGE_PLUGIN_LOOK_MS : (int)wait_ms);
        if (found > 0) return KEDGE_TALK_OK;
        if (found < 0 && errno != EINTR) return KEDGE_TALK_DEAD;
    }
}

static bool would_block(ssize_t result)
{
    return result < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

/* ---- talk ---- */

kedge_talk kedge_process_send(kedge_process *process, const kedge_process_watch *watch)
{
    if (kedge_frame_end(&process->sent, NULL) != KEDGE_OK) return KEDGE_TALK_NO_MEMORY;
    size_t at = 0;
    while (at < process->sent.size) {
        kedge_talk talk = wait_for(process, POLLOUT, watch);
        if (talk != KEDGE_TALK_OK) return talk;
        ssize_t sent = send(process->socket_fd, process->sent.data + at, process->sent.size - at,
                            MSG_NOSIGNAL);
        if (sent < 0 && !would_block(sent)) return KEDGE_TALK_DEAD;
        if (sent > 0) at += (size_t)sent;
    }
    return KEDGE_TALK_OK;
}

static kedge_talk read_fully(kedge_process *process, const kedge_process_watch *watch, char *out,
                             size_t size)
{
    size_t at = 0;
    while (at < size) {
        kedge_talk talk = wait_for(process, POLLIN, watch);
        if (talk != KEDGE_TALK_OK) return talk;
        ssize_t got = recv(process->socket_fd, out + at, size - at, 0);
        if (got == 0 || (got < 0 && !would_block(got))) return KEDGE_TALK_DEAD;
        if (got > 0) at += (size_t)got;
    }
    return KEDGE_TALK_OK;
}

kedge_talk kedge_process_receive(kedge_process *process, const kedge_process_watch *watch,
                                 kedge_frame_type *type, kedge_frame_reader *payload)
{
    size_t size;
    char header[KEDGE_FRAME_HEADER_BYTES];
    kedge_talk talk = read_fully(process, watch, header, sizeof header);
    if (talk != KEDGE_TALK_OK) return talk;
    if (!kedge_frame_header(header, type, &size)) return KEDGE_TALK_GARBAGE;
    kedge_buffer_clear(&process->received);
    char *bytes = kedge_buffer_reserve(&process->received, size);
    if (bytes == NULL) return KEDGE_TALK_NO_MEMORY;
    talk = read_fully(process, watch, bytes, size);
    if (talk != KEDGE_TALK_OK) return talk;
    process->received.size = size;
    *payload = (kedge_frame_reader){.rest = {bytes, size}};
    return KEDGE_TALK_OK;
}
