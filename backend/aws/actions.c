/* The counters, under one mutex: a call to AWS takes milliseconds, counting it some nanoseconds. */
#include "backend/aws/actions.h"

#include "common/error.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NO_RESPONSE "no-response"

typedef struct counted_action {
    const char *name; /* static storage */
    uint64_t calls;
    uint64_t retries;
    int64_t elapsed_ms;
} counted_action;

typedef struct counted_error {
    const char *action;
    char code[96];
    uint64_t count;
} counted_error;

struct kedge_aws_actions {
    const kedge_allocator *allocator;
    pthread_mutex_t mutex;
    int file; /* -1: none */
    size_t action_count;
    size_t error_count;
    counted_action actions[KEDGE_AWS_ACTIONS_MAX];
    counted_error errors[KEDGE_AWS_ACTION_ERRORS_MAX];
};

kedge_status kedge_aws_actions_new(const kedge_allocator *allocator, const char *file,
                                   kedge_aws_actions **actions, kedge_error *error)
{
    kedge_aws_actions *made = kedge_allocate(allocator, sizeof *made);
    if (made == NULL) return kedge_fail_no_memory(error);
    made->allocator = allocator;
    made->file = -1;
    if (file != NULL) made->file = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file != NULL && made->file < 0) {
        char text[128];
        const char *reason = strerror_r(errno, text, sizeof text);
        kedge_release(allocator, made);
        return kedge_fail(error, KEDGE_IO, "file-unwritable", "cannot append actions to %.100s: %s",
                          file, reason);
    }
    pthread_mutex_init(&made->mutex, NULL);
    *actions = made;
    return KEDGE_OK;
}

void kedge_aws_actions_free(kedge_aws_actions *actions)
{
    if (actions == NULL) return;
    if (actions->file >= 0) close(actions->file);
    pthread_mutex_destroy(&actions->mutex);
    kedge_release(actions->allocator, actions);
}

/* ---- counting ---- */

/* A line for each name in one write, so that processes that share the file do not mix theirs. A
 * line that is lost is missed by who compares, and by nobody else. */
static void append_name(const kedge_aws_actions *actions, const char *name)
{
    char line[128];
    int size = snprintf(line, sizeof line, "%s\n", name);
    if (actions->file < 0 || size <= 0 || (size_t)size >= sizeof line) return;
    for (char *at = strchr(line, ' '); at != NULL; at = strchr(at, ' '))
        *at = '\n';
    if (write(actions->file, line, (size_t)size) != size) errno = 0;
}

static counted_action *find_action(kedge_aws_actions *actions, const char *name)
{
    for (size_t i = 0; i < actions->action_count; i++) {
        if (strcmp(actions->actions[i].name, name) == 0) return &actions->actions[i];
    }
    if (actions->action_count == KEDGE_AWS_ACTIONS_MAX) return NULL;
    counted_action *added = &actions->actions[actions->action_count++];
    *added = (counted_action){.name = name};
    append_name(actions, name);
    return added;
}

/* The last place takes the codes that have none of their own. */
static counted_error *find_error(kedge_aws_actions *actions, const char *action, const char *code)
{
    for (size_t i = 0; i < actions->error_count; i++) {
        counted_error *found = &actions->errors[i];
        if (strcmp(found->action, action) == 0 && strcmp(found->code, code) == 0) return found;
    }
    if (actions->error_count == KEDGE_AWS_ACTION_ERRORS_MAX) {
        return &actions->errors[KEDGE_AWS_ACTION_ERRORS_MAX - 1];
    }
    counted_error *added = &actions->errors[actions->error_count++];
    bool last = actions->error_count == KEDGE_AWS_ACTION_ERRORS_MAX;
    *added = (counted_error){.action = last ? "other" : action};
    snprintf(added->code, sizeof added->code, "%s", last ? "other" : code);
    return added;
}

/* A label's value: a code is the peer's text. */
static void clean_code(const kedge_aws_observation *observation, char code[96])
{
    if (observation->code[0] != '\0') {
        snprintf(code, 96, "%s", observation->code);
    } else if (observation->status == 0) {
        snprintf(code, 96, NO_RESPONSE);
    } else {
        snprintf(code, 96, "%d", observation->status);
    }
    for (char *at = code; *at != '\0'; at++) {
        bool plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                     (*at >= '0' && *at <= '9') || strchr(".-_", *at) != NULL;
        if (!plain) *at = '?';
    }
}

void kedge_aws_actions_observe(void *context, const kedge_aws_observation *observation)
{
    kedge_aws_actions *actions = context;
    bool failed =
        observation->status < 200 || observation->status >= 300 || observation->code[0] != '\0';
    pthread_mutex_lock(&actions->mutex);
    counted_action *counted = find_action(actions, observation->action);
    if (counted != NULL) {
        counted->calls++;
        counted->retries += observation->tries > 1 ? observation->tries - 1 : 0;
        counted->elapsed_ms += observation->elapsed_ms;
        if (failed) {
            char code[96];
            clean_code(observation, code);
            find_error(actions, counted->name, code)->count++;
        }
    }
    pthread_mutex_unlock(&actions->mutex);
}

/* ---- telling ---- */

void kedge_aws_actions_write(kedge_aws_actions *actions, kedge_buffer *out)
{
    pthread_mutex_lock(&actions->mutex);
    kedge_buffer_append_text(out, "# TYPE kedge_aws_calls_total counter\n");
    for (size_t i = 0; i < actions->action_count; i++) {
        kedge_buffer_append_format(out, "kedge_aws_calls_total{action=\"%s\"} %llu\n",
                                   actions->actions[i].name,
                                   (unsigned long long)actions->actions[i].calls);
    }
    kedge_buffer_append_text(out, "# TYPE kedge_aws_retries_total counter\n");
    for (size_t i = 0; i < actions->action_count; i++) {
        kedge_buffer_append_format(out, "kedge_aws_retries_total{action=\"%s\"} %llu\n",
                                   actions->actions[i].name,
                                   (unsigned long long)actions->actions[i].retries);
    }
    kedge_buffer_append_text(out, "# TYPE kedge_aws_seconds_total counter\n");
    for (size_t i = 0; i < actions->action_count; i++) {
        kedge_buffer_append_format(out, "kedge_aws_seconds_total{action=\"%s\"} %.3f\n",
                                   actions->actions[i].name,
                                   (double)actions->actions[i].elapsed_ms / 1e3);
    }
    kedge_buffer_append_text(out, "# TYPE kedge_aws_errors_total counter\n");
    for (size_t i = 0; i < actions->error_count; i++) {
        kedge_buffer_append_format(out, "kedge_aws_errors_total{action=\"%s\",code=\"%s\"} %llu\n",
                                   actions->errors[i].action, actions->errors[i].code,
                                   (unsigned long long)actions->errors[i].count);
    }
    pthread_mutex_unlock(&actions->mutex);
}
