/* See reload.h. */
#include "backend/http/reload.h"

#include "backend/front/file.h"
#include "backend/http/key_source.h"
#include "backend/http/tls.h"
#include "common/error.h"
#include "common/hash.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

typedef enum reload_what { KEYS, REVOKED, POLICY, CERTIFICATE, KINDS } reload_what;

static const struct {
    const char *metric;
    const char *loaded; /* events of the log */
    const char *failed;
} names[KINDS] = {{"keys", "keys-loaded", "keys-not-loaded"},
                  {"revoked", "revoked-loaded", "revoked-not-loaded"},
                  {"policy", "policy-loaded", "policy-not-loaded"},
                  {"certificate", "certificate-loaded", "certificate-not-loaded"}};

/* What tells one state of a file from another. All zeros: there is no file. */
typedef struct file_mark {
    struct timespec changed;
    off_t size;
    ino_t number;
} file_mark;

struct kedge_reload {
    kedge_reload_options options;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t signal; /* `asked` or `stopping` */
    bool asked;
    atomic_bool stopping;
    bool ended; /* the thread */
    file_mark keys_mark;
    file_mark revoked_mark;
    /* The file of this mark could not be read, or is wrong. That may pass without a change of the
     * file, as when the system had no more files to open: so it is tried again at each look. */
    bool keys_failed;
    bool revoked_failed;
    int64_t keys_due_ms; /* of a URL; monotonic */
    atomic_uint_fast64_t loaded[KINDS];
    atomic_uint_fast64_t failed[KINDS];
};

static file_mark mark_of(const char *path)
{
    struct stat found;
    if (path == NULL || stat(path, &found) != 0) return (file_mark){.size = 0};
    return (file_mark){found.st_mtim, found.st_size, found.st_ino};
}

static bool same(const file_mark *a, const file_mark *b)
{
    return a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec &&
           a->size == b->size && a->number == b->number;
}

/* ---- reading ---- */

static kedge_status read_keys(const kedge_reload_options *options, const atomic_bool *stop,
                              bool *changed, kedge_error *error)
{
    char *text = NULL;
    kedge_status status =
        kedge_key_source_read(options->environment, options->jwks, stop, &text, error);
    if (status == KEDGE_OK) status = kedge_auth_set_keys(options->auth, text, changed, error);
    kedge_release(options->environment->allocator, text);
    return status;
}

kedge_status kedge_reload_read_revoked(const kedge_reload_options *options, bool *changed,
                                       kedge_error *error)
{
    char *text = NULL;
    kedge_status status =
        kedge_file_read(options->environment->allocator, options->revoked, &text, error);
    if (status == KEDGE_OK) status = kedge_auth_set_revoked(options->auth, text, changed, error);
    kedge_release(options->environment->allocator, text);
    return status;
}

kedge_status kedge_reload_read_certificate(const kedge_reload_options *options, kedge_error *error)
{
    const kedge_allocator *allocator = options->environment->allocator;
    char *certificate = NULL;
    char *key = NULL;
    kedge_status status = kedge_file_read(allocator, options->certificate, &certificate, error);
    if (status == KEDGE_OK) status = kedge_file_read(allocator, options->key, &key, error);
    if (status == KEDGE_OK) status = kedge_tls_load(certificate, key, error);
    if (key) kedge_cleanse(key, strlen(key));
    kedge_release(allocator, certificate);
    kedge_release(allocator, key);
    return status;
}

/* ---- on the thread ---- */

/* `told`: also that nothing has changed. */
static void note(kedge_reload *reload, reload_what what, const char *from, bool told,
                 kedge_status status, const kedge_error *error)
{
    kedge_logger *log = reload->options.log;
    if (status == KEDGE_CANCELLED) return;
    const kedge_audit_entry entry = {.what = status == KEDGE_OK ? names[what].loaded
                                                                : names[what].failed,
                                     .code = status == KEDGE_OK ? NULL : error->code,
                                     .detail = from};
    if (status != KEDGE_OK || told) kedge_audit_act(reload->options.audit, &entry);
    atomic_fetch_add(status == KEDGE_OK ? &reload->loaded[what] : &reload->failed[what], 1);
    if (status != KEDGE_OK) {
        kedge_logger_write(log, KEDGE_LOGGER_ERROR, names[what].failed, "from", from, "code",
                           error->code, "detail", error->message, NULL);
    } else if (told) {
        kedge_logger_write(log, KEDGE_LOGGER_INFO, names[what].loaded, "from", from, NULL);
    }
}

static void look_at_keys(kedge_reload *reload, bool asked)
{
    const kedge_reload_options *options = &reload->options;
    const kedge_environment *environment = options->environment;
    file_mark mark = mark_of(options->jwks);
    bool url = kedge_key_source_is_url(options->jwks);
    bool due = url ? environment->monotonic_ms(environment->context) >= reload->keys_due_ms
                   : !same(&mark, &reload->keys_mark);
    if (!asked && !due && (url || !reload->keys_failed)) return;
    kedge_error error = {0};
    bool changed = false;
    reload->keys_mark = mark;
    kedge_status status = read_keys(options, &reload->stopping, &changed, &error);
    int64_t wait_ms = options->jwks_every_ms;
    if (status != KEDGE_OK && wait_ms > KEDGE_KEYS_RETRY_MS) wait_ms = KEDGE_KEYS_RETRY_MS;
    reload->keys_due_ms = environment->monotonic_ms(environment->context) + wait_ms;
    reload->keys_failed = status != KEDGE_OK;
    if (asked || due || status == KEDGE_OK)
        note(reload, KEYS, options->jwks, asked || changed, status, &error);
    if (changed) options->changed(options->context);
}

static void look_at_revoked(kedge_reload *reload, bool asked)
{
    const kedge_reload_options *options = &reload->options;
    file_mark mark = mark_of(options->revoked);
    bool due = !same(&mark, &reload->revoked_mark);
    if (!asked && !due && !reload->revoked_failed) return;
    kedge_error error = {0};
    bool changed = false;
    reload->revoked_mark = mark;
    kedge_status status = kedge_reload_read_revoked(options, &changed, &error);
    reload->revoked_failed = status != KEDGE_OK;
    if (asked || due || status == KEDGE_OK)
        note(reload, REVOKED, options->revoked, asked || changed, status, &error);
    if (changed) options->changed(options->context);
}

static void look_at_policy(kedge_reload *reload)
{
    kedge_reload_options *options = &reload->options;
    kedge_error error = {0};
    bool changed;
    kedge_status status = kedge_policy_read(options->environment->allocator, options->policy_path,
                                            &options->policy, &changed, &error);
    note(reload, POLICY, options->policy_path, true, status, &error);
}

static void look(kedge_reload *reload, bool asked)
{
    const kedge_reload_options *options = &reload->options;
    kedge_error unopened = {0};
    if (asked && kedge_audit_reopen(options->audit, &unopened) != KEDGE_OK) {
        kedge_logger_write(options->log, KEDGE_LOGGER_ERROR, "audit-not-opened", "code",
                           unopened.code, "detail", unopened.message, NULL);
    }
    if (options->revoked) look_at_revoked(reload, asked);
    if (options->policy_path && asked) look_at_policy(reload);
    if (options->certificate && asked) {
        kedge_error error = {0};
        kedge_status status = kedge_reload_read_certificate(options, &error);
        note(reload, CERTIFICATE, options->certificate, true, status, &error);
    }
    if (options->jwks) look_at_keys(reload, asked);
}

/* Until it is asked for, the next look is due, or it ends. Whether it was asked for. */
static bool wait_for_next(kedge_reload *reload)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += KEDGE_RELOAD_LOOK_MS / 1000;
    int waited = 0;
    pthread_mutex_lock(&reload->mutex);
    while (!reload->asked && !atomic_load(&reload->stopping) && waited != ETIMEDOUT)
        waited = pthread_cond_timedwait(&reload->signal, &reload->mutex, &end);
    bool asked = reload->asked;
    reload->asked = false;
    pthread_mutex_unlock(&reload->mutex);
    return asked;
}

static void *run(void *argument)
{
    kedge_reload *reload = argument;
    while (!atomic_load(&reload->stopping)) {
        look(reload, wait_for_next(reload));
    }
    return NULL;
}

/* ---- from outside ---- */

kedge_status kedge_reload_start(const kedge_reload_options *options, kedge_reload **reload,
                                kedge_error *error)
{
    const kedge_environment *environment = options->environment;
    kedge_reload *made = kedge_allocate(environment->allocator, sizeof *made);
    if (!made) return kedge_fail_no_memory(error);
    made->options = *options;
    made->keys_due_ms = environment->monotonic_ms(environment->context) + options->jwks_every_ms;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&made->signal, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&made->mutex, NULL);
    if (pthread_create(&made->thread, NULL, run, made) != 0) {
        pthread_cond_destroy(&made->signal);
        pthread_mutex_destroy(&made->mutex);
        kedge_release(environment->allocator, made);
        return kedge_fail(error, KEDGE_NO_MEMORY, "no-threads",
                          "the system refused to start a thread");
    }
    *reload = made;
    return KEDGE_OK;
}

static void wake(kedge_reload *reload, bool stop)
{
    pthread_mutex_lock(&reload->mutex);
    if (stop) {
        atomic_store(&reload->stopping, true);
    } else {
        reload->asked = true;
    }
    pthread_cond_signal(&reload->signal);
    pthread_mutex_unlock(&reload->mutex);
}

void kedge_reload_now(kedge_reload *reload)
{
    wake(reload, false);
}

void kedge_reload_write_metrics(kedge_reload *reload, kedge_buffer *out)
{
    kedge_buffer_append_text(out, "# TYPE kedge_reloads_total counter\n");
    for (int what = 0; what < KINDS; what++) {
        kedge_buffer_append_format(
            out,
            "kedge_reloads_total{of=\"%s\",outcome=\"loaded\"} %llu\n"
            "kedge_reloads_total{of=\"%s\",outcome=\"failed\"} %llu\n",
            names[what].metric, (unsigned long long)atomic_load(&reload->loaded[what]),
            names[what].metric, (unsigned long long)atomic_load(&reload->failed[what]));
    }
    if (!reload->options.certificate) return;
    kedge_buffer_append_format(out,
                               "# TYPE kedge_certificate_expires_seconds gauge\n"
                               "kedge_certificate_expires_seconds %lld\n",
                               (long long)kedge_tls_expires_s());
}

void kedge_reload_stop(kedge_reload *reload)
{
    if (!reload || reload->ended) return;
    wake(reload, true);
    pthread_join(reload->thread, NULL);
    reload->ended = true;
}

void kedge_reload_free(kedge_reload *reload)
{
    if (!reload) return;
    kedge_reload_stop(reload);
    pthread_cond_destroy(&reload->signal);
    pthread_mutex_destroy(&reload->mutex);
    kedge_release(reload->options.environment->allocator, reload);
}
