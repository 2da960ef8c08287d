/* The pool of mutator processes, and the mutators that stand for those of the plugin.
 *
 * A slot is empty, idle or busy. One thread, the keeper, fills empty slots: it starts every
 * process, because a process dies with the thread that started it. A caller takes an idle one and
 * brings it back, or ends it and leaves an empty slot. */
#include "backend/plugin/plugin.h"

#include "backend/plugin/call.h"
#include "backend/plugin/process.h"
#include "backend/ports/deadline.h"
#include "common/error.h"

#include <kedge/limits.h>
#include <pthread.h>
#include <string.h>

typedef enum slot_state { SLOT_EMPTY, SLOT_IDLE, SLOT_BUSY } slot_state;

typedef struct process_slot {
    slot_state state;
    kedge_process process;
} process_slot;

typedef struct mutator_proxy {
    kedge_plugin *plugin;
    char name[KEDGE_LIMIT_NAME_BYTES + 1];
} mutator_proxy;

/* A caller that waits for a process. They stand in the order in which they came. */
typedef struct process_waiter {
    struct process_waiter *next;
} process_waiter;

struct kedge_plugin {
    const kedge_environment *environment;
    kedge_plugin_options options;
    char *library_path;
    kedge_buffer hello; /* the payload that every process must send */
    kedge_mutator *mutators;
    mutator_proxy *proxies;
    size_t mutator_count;

    pthread_mutex_t mutex;
    pthread_cond_t changed; /* of anything below */
    pthread_t keeper;
    bool keeper_runs;
    bool stopping;
    bool asked;          /* a caller wants a process since the last one failed to start */
    kedge_error failure; /* why it failed */
    process_waiter *waiters;
    process_slot slots[KEDGE_PLUGIN_CHILDREN_MAX];
};

/* ---- starting a process (keeper) ---- */

static kedge_status told_to_fail(kedge_frame_reader *payload, kedge_error *error)
{
    kedge_bytes message = kedge_frame_take_bytes(payload);
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "plugin-invalid", "%.*s", (int)message.size,
                      message.size == 0 ? "" : message.data);
}

static kedge_status check_hello(kedge_plugin *plugin, kedge_bytes payload, kedge_error *error)
{
    if (plugin->hello.size == 0) {
        kedge_buffer_append_bytes(&plugin->hello, payload);
        return kedge_buffer_status(&plugin->hello, error);
    }
    if (kedge_bytes_equal(payload, kedge_buffer_bytes(&plugin->hello))) return KEDGE_OK;
    return kedge_fail(error, KEDGE_UNAVAILABLE, "mutators-unavailable",
                      "the plugin %s has other mutators than at the start; restart the server",
                      plugin->library_path);
}

static kedge_status receive_hello(kedge_plugin *plugin, kedge_process *process, kedge_error *error)
{
    kedge_frame_type type;
    kedge_frame_reader payload;
    kedge_process_watch watch = kedge_process_start_watch(
        process, plugin->environment, KEDGE_PLUGIN_LOAD_MS_MAX, KEDGE_PLUGIN_LOAD_MS_MAX);
    kedge_talk talk = kedge_process_receive(process, &watch, &type, &payload);
    if (talk == KEDGE_TALK_NO_MEMORY) return kedge_fail_no_memory(error);
    if (talk == KEDGE_TALK_TIMEOUT) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "plugin-invalid",
                          "the plugin %s did not load within %d seconds", plugin->library_path,
                          KEDGE_PLUGIN_LOAD_MS_MAX / 1000);
    }
    if (talk == KEDGE_TALK_OK && type == KEDGE_FRAME_LOAD_FAILED) {
        return told_to_fail(&payload, error);
    }
    if (talk != KEDGE_TALK_OK || type != KEDGE_FRAME_HELLO) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "plugin-invalid",
                          "the plugin %s ended its process while it was loaded",
                          plugin->library_path);
    }
    return check_hello(plugin, payload.rest, error);
}

static kedge_status start_process(kedge_plugin *plugin, kedge_process *process, kedge_error *error)
{
    kedge_status status = kedge_process_spawn(process, plugin->library_path, error);
    if (status != KEDGE_OK) return status;
    status = receive_hello(plugin, process, error);
    if (status != KEDGE_OK) kedge_process_end(process);
    return status;
}

static process_slot *find_slot(kedge_plugin *plugin, slot_state state)
{
    for (uint32_t i = 0; i < plugin->options.children; i++) {
        if (plugin->slots[i].state == state) return &plugin->slots[i];
    }
    return NULL;
}

/* Keeps one process idle, as long as there is a slot for it: so there are as many as were ever busy
 * at once, and one. After a failure it rests until a caller asks. */
static void *keep(void *context)
{
    kedge_plugin *plugin = context;
    pthread_mutex_lock(&plugin->mutex);
    while (!plugin->stopping) {
        process_slot *empty = find_slot(plugin, SLOT_EMPTY);
        if (empty == NULL || find_slot(plugin, SLOT_IDLE) != NULL ||
            (plugin->failure.status != KEDGE_OK && !plugin->asked)) {
            pthread_cond_wait(&plugin->changed, &plugin->mutex);
            continue;
        }
        plugin->asked = false;
        empty->state = SLOT_BUSY;
        pthread_mutex_unlock(&plugin->mutex);
        kedge_error failure = {0};
        kedge_status status = start_process(plugin, &empty->process, &failure);
        pthread_mutex_lock(&plugin->mutex);
        empty->state = status == KEDGE_OK ? SLOT_IDLE : SLOT_EMPTY;
        plugin->failure = failure;
        pthread_cond_broadcast(&plugin->changed);
    }
    pthread_mutex_unlock(&plugin->mutex);
    return NULL;
}

/* ---- taking and bringing back ---- */

static struct timespec deadline_in(int64_t ms)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += (time_t)(ms / 1000);
    at.tv_nsec += (long)(ms % 1000) * 1000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    return at;
}

/* An idle process that has kept quiet; one that has not is ended. With the mutex. */
static process_slot *take_idle(kedge_plugin *plugin)
{
    process_slot *idle;
    while ((idle = find_slot(plugin, SLOT_IDLE)) != NULL) {
        if (kedge_process_is_quiet(&idle->process)) {
            idle->state = SLOT_BUSY;
            return idle;
        }
        kedge_process_end(&idle->process);
        idle->state = SLOT_EMPTY;
        pthread_cond_broadcast(&plugin->changed);
    }
    return NULL;
}

static void leave(kedge_plugin *plugin, process_waiter *waiter)
{
    process_waiter **link = &plugin->waiters;
    while (*link != waiter)
        link = &(*link)->next;
    *link = waiter->next;
    pthread_cond_broadcast(&plugin->changed);
}

/* Whether no process can be had, or not in time. With the mutex; fails then. */
static bool is_hopeless(kedge_plugin *plugin, int64_t end_ms, kedge_error *error)
{
    if (kedge_deadline_check(error) != KEDGE_OK) return true;
    bool failed = plugin->failure.status != KEDGE_OK && !plugin->asked &&
                  find_slot(plugin, SLOT_BUSY) == NULL;
    const kedge_environment *environment = plugin->environment;
    if (!failed && environment->monotonic_ms(environment->context) < end_ms) return false;
    kedge_fail(error, KEDGE_UNAVAILABLE, "mutators-unavailable", "%s",
               plugin->failure.status != KEDGE_OK ? plugin->failure.message
                                                  : "all mutator processes are busy");
    return true;
}

static process_slot *acquire(kedge_plugin *plugin, kedge_error *error)
{
    process_slot *taken = NULL;
    process_waiter self = {NULL};
    const kedge_environment *environment = plugin->environment;
    int64_t end_ms = environment->monotonic_ms(environment->context) + plugin->options.wall_ms_max;
    pthread_mutex_lock(&plugin->mutex);
    plugin->asked = true;
    process_waiter **end = &plugin->waiters;
    while (*end != NULL)
        end = &(*end)->next;
    *end = &self;
    pthread_cond_broadcast(&plugin->changed);
    for (;;) {
        if (plugin->waiters == &self) taken = take_idle(plugin);
        if (taken != NULL || is_hopeless(plugin, end_ms, error)) break;
        struct timespec look = deadline_in(KEDGE_PLUGIN_LOOK_MS);
        pthread_cond_timedwait(&plugin->changed, &plugin->mutex, &look);
    }
    leave(plugin, &self);
    pthread_mutex_unlock(&plugin->mutex);
    return taken;
}

static void bring_back(kedge_plugin *plugin, process_slot *slot, bool fit)
{
    if (!fit) kedge_process_end(&slot->process);
    kedge_buffer_free(&slot->process.changes);
    pthread_mutex_lock(&plugin->mutex);
    slot->state = fit ? SLOT_IDLE : SLOT_EMPTY;
    pthread_cond_broadcast(&plugin->changed);
    pthread_mutex_unlock(&plugin->mutex);
}

/* ---- the mutators ---- */

static kedge_status ended_badly(kedge_plugin_call *call, kedge_talk talk, kedge_error *error)
{
    kedge_error why = {0};
    const kedge_plugin_options *options = call->options;
    if (talk == KEDGE_TALK_NO_MEMORY) {
        kedge_fail_no_memory(&why);
        return kedge_tx_postpone(call->tx, &why, error);
    }
    if (talk == KEDGE_TALK_STOPPED) {
        kedge_deadline_check(&why);
        return kedge_tx_postpone(call->tx, &why, error);
    }
    if (talk == KEDGE_TALK_TIMEOUT)
        kedge_fail(&why, KEDGE_REJECTED, "mutator-timeout",
                   "the mutator \"%s\" ran for more than %lld ms, or %lld ms of CPU", call->name,
                   (long long)options->wall_ms_max, (long long)options->cpu_ms_max);
    else
        kedge_fail(&why, KEDGE_REJECTED, "mutator-crashed", "the mutator \"%s\" %s", call->name,
                   talk == KEDGE_TALK_GARBAGE ? "wrote to its process's socket"
                                              : "ended its process");
    if (options->failed != NULL) options->failed(options->failed_context, call->name, &why);
    return kedge_tx_reject(call->tx, why.code, why.message, error);
}

static kedge_status call_proxy(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                               kedge_error *error)
{
    const mutator_proxy *proxy = userdata;
    kedge_plugin *plugin = proxy->plugin;
    kedge_plugin_call call = {.tx = tx,
                              .name = proxy->name,
                              .args = {args, args_size},
                              .environment = plugin->environment,
                              .options = &plugin->options};
    for (int ended = 0, attempt = 0;; attempt++) {
        kedge_status status;
        kedge_error why = {0};
        process_slot *slot = acquire(plugin, &why);
        if (slot == NULL) return kedge_tx_postpone(tx, &why, error);
        bool harmed = attempt == 0 && slot->process.mutations > 0; /* it may be */
        kedge_talk talk = kedge_plugin_call_run(&call, &slot->process, &status, error);
        bring_back(plugin, slot, talk == KEDGE_TALK_OK);
        if (talk == KEDGE_TALK_OK) return status;
        ended += !harmed;
        bool others_may_be_guilty = talk == KEDGE_TALK_DEAD || talk == KEDGE_TALK_GARBAGE;
        if (ended == KEDGE_PLUGIN_TRIES || !others_may_be_guilty)
            return ended_badly(&call, talk, error);
    }
}

/* The hello holds what kedge_registry_new has found good in the child, so only
 * its form is checked. */
static kedge_status make_mutators(kedge_plugin *plugin, kedge_error *error)
{
    size_t count = 0;
    kedge_frame_reader hello = {.rest = kedge_buffer_bytes(&plugin->hello)};
    for (; hello.rest.size > 0 && !hello.failed; count++) {
        kedge_frame_take_bytes(&hello);
        kedge_frame_take_integer(&hello);
    }
    const kedge_allocator *allocator = plugin->environment->allocator;
    plugin->mutators = kedge_allocate(allocator, count * sizeof *plugin->mutators);
    plugin->proxies = kedge_allocate(allocator, count * sizeof *plugin->proxies);
    if (plugin->mutators == NULL || plugin->proxies == NULL) return kedge_fail_no_memory(error);
    hello = (kedge_frame_reader){.rest = kedge_buffer_bytes(&plugin->hello)};
    for (size_t i = 0; i < count; i++) {
        mutator_proxy *proxy = &plugin->proxies[i];
        kedge_bytes name = kedge_frame_take_bytes(&hello);
        int64_t version = kedge_frame_take_integer(&hello);
        if (hello.failed || name.size >= sizeof proxy->name) {
            return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "plugin-invalid",
                              "the process of the plugin %s has not sent the list of its mutators",
                              plugin->library_path);
        }
        proxy->plugin = plugin;
        memcpy(proxy->name, name.data, name.size);
        plugin->mutators[i] = (kedge_mutator){proxy->name, (uint32_t)version, call_proxy, proxy};
    }
    plugin->mutator_count = count;
    return KEDGE_OK;
}

void kedge_plugin_mutators(const kedge_plugin *plugin, const kedge_mutator **mutators,
                           size_t *count)
{
    *mutators = plugin->mutators;
    *count = plugin->mutator_count;
}

/* ---- start and stop ---- */

static kedge_status check_options(const kedge_plugin_options *options, kedge_error *error)
{
    if (options->children >= 1 && options->children <= KEDGE_PLUGIN_CHILDREN_MAX &&
        options->cpu_ms_max >= 1 && options->wall_ms_max >= 1) {
        return KEDGE_OK;
    }
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "plugin-invalid",
                      "%u mutator processes, %lld ms of CPU, %lld ms: 1 to %d processes and at "
                      "least 1 ms each are allowed",
                      options->children, (long long)options->cpu_ms_max,
                      (long long)options->wall_ms_max, KEDGE_PLUGIN_CHILDREN_MAX);
}

static kedge_plugin *new_plugin(const kedge_environment *environment, const char *library_path,
                                const kedge_plugin_options *options)
{
    const kedge_allocator *allocator = environment->allocator;
    kedge_plugin *plugin = kedge_allocate(allocator, sizeof *plugin);
    if (plugin == NULL) return NULL;
    plugin->library_path = kedge_copy_text(allocator, kedge_bytes_of(library_path));
    if (plugin->library_path == NULL) {
        kedge_release(allocator, plugin);
        return NULL;
    }
    plugin->environment = environment;
    plugin->options = *options;
    plugin->hello = kedge_buffer_make(allocator);
    for (size_t i = 0; i < KEDGE_PLUGIN_CHILDREN_MAX; i++) {
        kedge_process_init(&plugin->slots[i].process, allocator);
    }
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&plugin->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&plugin->mutex, NULL);
    return plugin;
}

/* Waits for the first process. */
static kedge_status wait_for_first(kedge_plugin *plugin, kedge_error *error)
{
    pthread_mutex_lock(&plugin->mutex);
    while (find_slot(plugin, SLOT_IDLE) == NULL && plugin->failure.status == KEDGE_OK) {
        pthread_cond_wait(&plugin->changed, &plugin->mutex);
    }
    kedge_error failure = plugin->failure;
    bool started = find_slot(plugin, SLOT_IDLE) != NULL;
    pthread_mutex_unlock(&plugin->mutex);
    if (started) return KEDGE_OK;
    return kedge_fail(error, failure.status, failure.code, "%s", failure.message);
}

kedge_status kedge_plugin_start(const kedge_environment *environment, const char *library_path,
                                const kedge_plugin_options *options, kedge_plugin **plugin,
                                kedge_error *error)
{
    kedge_status status = check_options(options, error);
    if (status != KEDGE_OK) return status;
    kedge_plugin *made = new_plugin(environment, library_path, options);
    if (made == NULL) return kedge_fail_no_memory(error);
    int failure = pthread_create(&made->keeper, NULL, keep, made);
    made->keeper_runs = failure == 0;
    if (failure == 0) {
        status = wait_for_first(made, error);
    } else {
        status = kedge_fail(error, KEDGE_UNAVAILABLE, "mutators-unavailable",
                            "no thread for the mutator processes: %s", strerror(failure));
    }
    if (status == KEDGE_OK) status = make_mutators(made, error);
    if (status != KEDGE_OK) {
        kedge_plugin_stop(made);
        return status;
    }
    *plugin = made;
    return KEDGE_OK;
}

void kedge_plugin_stop(kedge_plugin *plugin)
{
    if (plugin == NULL) return;
    const kedge_allocator *allocator = plugin->environment->allocator;
    pthread_mutex_lock(&plugin->mutex);
    plugin->stopping = true;
    pthread_cond_broadcast(&plugin->changed);
    pthread_mutex_unlock(&plugin->mutex);
    if (plugin->keeper_runs) pthread_join(plugin->keeper, NULL);
    for (size_t i = 0; i < KEDGE_PLUGIN_CHILDREN_MAX; i++) {
        kedge_process_end(&plugin->slots[i].process);
        kedge_process_free(&plugin->slots[i].process);
    }
    pthread_cond_destroy(&plugin->changed);
    pthread_mutex_destroy(&plugin->mutex);
    kedge_buffer_free(&plugin->hello);
    kedge_release(allocator, plugin->mutators);
    kedge_release(allocator, plugin->proxies);
    kedge_release(allocator, plugin->library_path);
    kedge_release(allocator, plugin);
}
