/* A mutator child: loads the plugin, says what it brings, and runs one mutation after another.
 *
 * It runs them with the same transaction as a client does, over an overlay of its own, so that
 * every limit and every refusal is the same. What is below the overlay is read from the server. */
#include "backend/plugin/child.h"

#include "backend/plugin/confine.h"
#include "backend/plugin/frame.h"
#include "backend/plugin/plugin.h"
#include "common/error.h"
#include "mutate/transaction.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct mutator_child {
    int socket_fd;
    int64_t run_id; /* of the mutation that runs, as the server counts */
    kedge_buffer sent;
    kedge_buffer received;
    kedge_buffer call; /* the payload of the mutation that runs */
    kedge_registry *registry;
    kedge_overlay *overlay;
    kedge_tx *tx;
} mutator_child;

/* ---- the socket; a failure means that the server is gone or does not want this child ---- */

static void begin_run_frame(mutator_child *child, kedge_frame_type type)
{
    kedge_frame_begin(&child->sent, type);
    kedge_frame_add_integer(&child->sent, child->run_id);
}

static void send_frame(mutator_child *child)
{
    if (kedge_frame_end(&child->sent, NULL) != KEDGE_OK) _exit(EXIT_FAILURE);
    size_t at = 0;
    while (at < child->sent.size) {
        ssize_t sent =
            send(child->socket_fd, child->sent.data + at, child->sent.size - at, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) _exit(EXIT_FAILURE);
        at += (size_t)sent;
    }
}

static void read_fully(mutator_child *child, char *out, size_t size)
{
    size_t at = 0;
    while (at < size) {
        ssize_t got = recv(child->socket_fd, out + at, size - at, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) _exit(EXIT_SUCCESS);
        at += (size_t)got;
    }
}

/* The payload of the next frame, which must be of the type. */
static kedge_frame_reader receive_frame(mutator_child *child, kedge_frame_type expected,
                                        kedge_buffer *into)
{
    size_t size;
    kedge_frame_type type;
    char header[KEDGE_FRAME_HEADER_BYTES];
    read_fully(child, header, sizeof header);
    if (!kedge_frame_header(header, &type, &size) || type != expected) _exit(EXIT_FAILURE);
    kedge_buffer_clear(into);
    char *payload = kedge_buffer_reserve(into, size);
    if (payload == NULL) _exit(EXIT_FAILURE);
    read_fully(child, payload, size);
    into->size = size;
    return (kedge_frame_reader){.rest = {payload, size}};
}

/* ---- reading the state, which the server holds ---- */

static kedge_status receive_found(mutator_child *child, kedge_buffer *id, kedge_buffer *value,
                                  kedge_error *error)
{
    kedge_frame_reader found = receive_frame(child, KEDGE_FRAME_FOUND, &child->received);
    kedge_status status = (kedge_status)kedge_frame_take_integer(&found);
    kedge_bytes found_id = kedge_frame_take_bytes(&found);
    kedge_bytes found_value = kedge_frame_take_bytes(&found);
    if (!kedge_frame_is_complete(&found)) _exit(EXIT_FAILURE);
    if (status != KEDGE_OK) {
        return kedge_fail(error, status, "read-failed", "the server could not read the state");
    }
    if (id != NULL) kedge_buffer_append_bytes(id, found_id);
    kedge_buffer_append_bytes(value, found_value);
    return KEDGE_OK;
}

static kedge_status remote_get(void *context, kedge_bytes collection, kedge_bytes id,
                               kedge_buffer *value, kedge_error *error)
{
    mutator_child *child = context;
    begin_run_frame(child, KEDGE_FRAME_GET);
    kedge_frame_add_bytes(&child->sent, collection);
    kedge_frame_add_bytes(&child->sent, id);
    send_frame(child);
    return receive_found(child, NULL, value, error);
}

static kedge_status remote_next(void *context, kedge_bytes collection, bool from_start,
                                kedge_bytes after, kedge_buffer *id, kedge_buffer *value,
                                kedge_error *error)
{
    mutator_child *child = context;
    begin_run_frame(child, KEDGE_FRAME_NEXT);
    kedge_frame_add_bytes(&child->sent, collection);
    kedge_frame_add_integer(&child->sent, from_start);
    kedge_frame_add_bytes(&child->sent, after);
    send_frame(child);
    return receive_found(child, id, value, error);
}

/* ---- running ---- */

static void send_changes(mutator_child *child)
{
    kedge_overlay_entry entry;
    bool more = kedge_overlay_next(child->overlay, NULL, &entry);
    while (more) {
        begin_run_frame(child, KEDGE_FRAME_CHANGE);
        kedge_frame_add_bytes(&child->sent, entry.collection);
        kedge_frame_add_bytes(&child->sent, entry.id);
        kedge_frame_add_integer(&child->sent, entry.deleted);
        kedge_frame_add_bytes(&child->sent, entry.value);
        send_frame(child);
        more = kedge_overlay_next(child->overlay, &entry, &entry);
    }
}

static char *take_text(kedge_frame_reader *reader)
{
    char *text = kedge_copy_text(&kedge_allocator_default, kedge_frame_take_bytes(reader));
    if (text == NULL) _exit(EXIT_FAILURE);
    return text;
}

static void run_one(mutator_child *child)
{
    kedge_error error = {0};
    kedge_frame_reader run = receive_frame(child, KEDGE_FRAME_RUN, &child->call);
    child->run_id = kedge_frame_take_integer(&run);
    kedge_bytes name = kedge_frame_take_bytes(&run);
    /* The parent's transaction has made the args canonical. */
    kedge_call call = {
        .name = name, .args = kedge_frame_take_bytes(&run), .args_are_canonical = true};
    char *user = take_text(&run);
    char *role = take_text(&run);
    char *client = take_text(&run);
    call.caller = (kedge_caller){user, role, client, kedge_frame_take_integer(&run)};
    if (!kedge_frame_is_complete(&run)) _exit(EXIT_FAILURE);

    kedge_status status = kedge_tx_run(child->tx, &call, &error);
    if (status == KEDGE_OK) send_changes(child);
    begin_run_frame(child, KEDGE_FRAME_DONE);
    kedge_frame_add_integer(&child->sent, status);
    kedge_frame_add_text(&child->sent, error.code);
    kedge_frame_add_text(&child->sent, error.message);
    send_frame(child);
    kedge_overlay_clear(child->overlay);
    kedge_release(&kedge_allocator_default, user);
    kedge_release(&kedge_allocator_default, role);
    kedge_release(&kedge_allocator_default, client);
}

/* ---- starting ---- */

static int load_failed(mutator_child *child, const char *library_path, const char *reason)
{
    kedge_error error = {0};
    kedge_fail(&error, KEDGE_INVALID_ARGUMENT, "plugin-invalid", "the plugin %s: %s", library_path,
               reason);
    kedge_frame_begin(&child->sent, KEDGE_FRAME_LOAD_FAILED);
    kedge_frame_add_text(&child->sent, error.message);
    send_frame(child);
    return EXIT_FAILURE;
}

static kedge_plugin_mutators_function find_entry(void *library)
{
    /* POSIX lets a pointer to data and one to a function hold each other's bits. */
    kedge_plugin_mutators_function entry = NULL;
    void *symbol = dlsym(library, KEDGE_PLUGIN_ENTRY);
    memcpy(&entry, &symbol, sizeof entry);
    return entry;
}

static kedge_status open_transaction(mutator_child *child, const kedge_mutator *mutators,
                                     size_t count, kedge_error *error)
{
    const kedge_allocator *allocator = &kedge_allocator_default;
    kedge_status status = kedge_registry_new(allocator, mutators, count, &child->registry, error);
    if (status != KEDGE_OK) return status;
    child->overlay = kedge_overlay_new(allocator);
    if (child->overlay == NULL) return kedge_fail_no_memory(error);
    kedge_state_reader reader = {child, remote_get, remote_next};
    return kedge_tx_new(allocator, child->registry, child->overlay, reader, &child->tx, error);
}

static int serve(mutator_child *child, const char *library_path)
{
    char beside[PATH_MAX];
    const char *file = library_path;
    /* A bare name is a file here, as for every other option, and none of the system's libraries. */
    if (strchr(library_path, '/') == NULL) {
        int size = snprintf(beside, sizeof beside, "./%s", library_path);
        if (size > 0 && (size_t)size < sizeof beside) file = beside;
    }
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return load_failed(child, library_path, dlerror());
    kedge_plugin_mutators_function entry = find_entry(library);
    if (entry == NULL) {
        return load_failed(child, library_path, "it exports no function " KEDGE_PLUGIN_ENTRY);
    }
    size_t count = 0;
    kedge_error error = {0};
    const kedge_mutator *mutators = entry(&count);
    if (mutators == NULL || count == 0) {
        return load_failed(child, library_path, KEDGE_PLUGIN_ENTRY " gave no mutators");
    }
    if (open_transaction(child, mutators, count, &error) != KEDGE_OK) {
        return load_failed(child, library_path, error.message);
    }
    kedge_frame_begin(&child->sent, KEDGE_FRAME_HELLO);
    for (size_t i = 0; i < count; i++) {
        kedge_frame_add_text(&child->sent, mutators[i].name);
        kedge_frame_add_integer(&child->sent, mutators[i].version);
    }
    send_frame(child);
    for (;;)
        run_one(child);
}

int kedge_plugin_child_main(int socket_fd, const char *library_path)
{
    mutator_child child = {.socket_fd = socket_fd,
                           .sent = kedge_buffer_make(&kedge_allocator_default),
                           .received = kedge_buffer_make(&kedge_allocator_default),
                           .call = kedge_buffer_make(&kedge_allocator_default)};
    int code = serve(&child, library_path);
    kedge_buffer_free(&child.sent);
    return code;
}

int kedge_plugin_child_dispatch(int argc, char **argv)
{
    if (argc != 4 || strcmp(argv[1], KEDGE_CHILD_ARGUMENT) != 0) return -1;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* The parent may have died before that line. */
    if (strtol(argv[3], NULL, 10) != (long)getppid()) return EXIT_FAILURE;
    kedge_child_confine();
    return kedge_plugin_child_main(KEDGE_CHILD_SOCKET, argv[2]);
}
