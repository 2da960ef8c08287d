/* See audit.h. */
#include "backend/front/audit.h"

#include "backend/front/allowance.h"
#include "common/error.h"
#include "common/json.h"
#include "common/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STATUSES 4

static const int statuses[STATUSES] = {401, 403, 413, 429};

struct kedge_audit {
    const kedge_environment *environment;
    char *path;
    int file;
    pthread_mutex_t mutex; /* over all that follows, and `file` */
    bool torn;             /* the last line was written in part */
    kedge_allowance allowed[STATUSES];
    uint64_t lines;
    uint64_t omitted;
    uint64_t failures;
};

/* ---- the file ---- */

static kedge_status open_file(const char *path, int *file, kedge_error *error)
{
    if (strcmp(path, "-") == 0) {
        *file = STDERR_FILENO;
        return KEDGE_OK;
    }
    *file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (*file >= 0) return KEDGE_OK;
    return kedge_fail(error, KEDGE_IO, "audit-failed", "cannot write the audit log %s: %s", path,
                      strerror(errno));
}

/* Whether the file, which may only be written, ends within a line: a process was cut off by a full
 * disk or a power cut. What is no file of a disk, or cannot be read, ends in none. */
static bool ends_torn(int file, const char *path)
{
    struct stat written, read;
    char last = '\n';
    if (fstat(file, &written) != 0 || !S_ISREG(written.st_mode) || written.st_size == 0)
        return false;
    int reader = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (reader < 0) return false;
    bool same = fstat(reader, &read) == 0 && read.st_dev == written.st_dev &&
                read.st_ino == written.st_ino && pread(reader, &last, 1, read.st_size - 1) == 1;
    close(reader);
    return same && last != '\n';
}

static void close_file(int file)
{
    if (file >= 0 && file != STDERR_FILENO) close(file);
}

kedge_status kedge_audit_open(const kedge_environment *environment, const char *path,
                              kedge_audit **audit, kedge_error *error)
{
    int file = -1;
    kedge_status status = open_file(path, &file, error);
    if (status != KEDGE_OK) return status;
    kedge_audit *made = kedge_allocate(environment->allocator, sizeof *made);
    char *copy = kedge_copy_text(environment->allocator, kedge_bytes_of(path));
    if (made == NULL || copy == NULL) {
        kedge_release(environment->allocator, made);
        kedge_release(environment->allocator, copy);
        close_file(file);
        return kedge_fail_no_memory(error);
    }
    made->environment = environment;
    made->path = copy;
    made->file = file;
    made->torn = ends_torn(file, path);
    pthread_mutex_init(&made->mutex, NULL);
    *audit = made;
    return KEDGE_OK;
}

kedge_status kedge_audit_reopen(kedge_audit *audit, kedge_error *error)
{
    int file = -1;
    if (audit == NULL) return KEDGE_OK;
    kedge_status status = open_file(audit->path, &file, error);
    if (status != KEDGE_OK) return status;
    pthread_mutex_lock(&audit->mutex);
    int before = audit->file;
    audit->file = file;
    audit->torn = ends_torn(file, audit->path);
    pthread_mutex_unlock(&audit->mutex);
    close_file(before);
    return KEDGE_OK;
}

/* ---- a line ---- */

/* What is not UTF-8 is cut off. */
static kedge_bytes clip(kedge_bytes text)
{
    return kedge_utf8_clip(text, KEDGE_AUDIT_TEXT_BYTES);
}

static void write_text(kedge_json_writer *json, const char *name, kedge_bytes text)
{
    if (text.data == NULL) return;
    kedge_json_key(json, name);
    kedge_json_text(json, clip(text));
}

static void write_number(kedge_json_writer *json, const char *name, int64_t number)
{
    kedge_json_key(json, name);
    kedge_json_integer(json, number);
}

static void write_words(kedge_json_writer *json, const kedge_audit_entry *entry)
{
    if (entry->word_count == 0) return;
    kedge_json_key(json, "arguments");
    kedge_json_begin_array(json);
    for (size_t i = 0; i < entry->word_count && i < KEDGE_AUDIT_WORDS; i++) {
        kedge_json_text(json, clip(kedge_bytes_of(entry->words[i])));
    }
    kedge_json_end_array(json);
}

static void write_entry(kedge_json_writer *json, const kedge_audit_entry *entry)
{
    const struct {
        const char *name;
        const char *text;
    } fields[] = {{"code", entry->code},       {"user", entry->user},
                  {"role", entry->role},       {"organization", entry->organization},
                  {"project", entry->project}, {"address", entry->address},
                  {"request", entry->request}, {"method", entry->method}};
    write_text(json, "what", kedge_bytes_of(entry->what));
    if (entry->status != 0) write_number(json, "status", entry->status);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (fields[i].text && fields[i].text[0] != '\0')
            write_text(json, fields[i].name, kedge_bytes_of(fields[i].text));
    }
    write_text(json, "path", entry->path);
    write_words(json, entry);
    write_text(json, "outcome", kedge_bytes_of(entry->outcome));
    write_text(json, "detail", kedge_bytes_of(entry->detail));
}

/* With the mutex. A full disk may take a part of a line: the next one begins after its end. */
static bool put_line(kedge_audit *audit, kedge_bytes text)
{
    ssize_t written;
    do {
        written = write(audit->file, text.data, text.size);
    } while (written < 0 && errno == EINTR);
    if (written > 0) audit->torn = (size_t)written < text.size;
    return written == (ssize_t)text.size;
}

/* With the mutex. `omitted`: refusals of the status that have no line. */
static bool write_line(kedge_audit *audit, const kedge_audit_entry *entry, uint64_t omitted)
{
    const kedge_environment *environment = audit->environment;
    kedge_buffer text = kedge_buffer_make(environment->allocator);
    if (audit->torn) kedge_buffer_append_byte(&text, '\n');
    kedge_json_writer json = kedge_json_write(&text);
    kedge_json_begin_object(&json);
    write_number(&json, "time", environment->now_ms(environment->context));
    write_entry(&json, entry);
    if (omitted > 0) write_number(&json, "omitted", (int64_t)omitted);
    kedge_json_end_object(&json);
    kedge_buffer_append_byte(&text, '\n');
    bool whole =
        kedge_buffer_status(&text, NULL) == KEDGE_OK && put_line(audit, kedge_buffer_bytes(&text));
    audit->lines++;
    if (!whole) audit->failures++;
    kedge_buffer_free(&text);
    return whole;
}

bool kedge_audit_act(kedge_audit *audit, const kedge_audit_entry *entry)
{
    if (audit == NULL) return true;
    pthread_mutex_lock(&audit->mutex);
    bool written = write_line(audit, entry, 0);
    pthread_mutex_unlock(&audit->mutex);
    return written;
}

/* ---- refusals ---- */

void kedge_audit_refusal(kedge_audit *audit, const kedge_audit_entry *entry)
{
    size_t which = 0;
    while (which < STATUSES && statuses[which] != entry->status)
        which++;
    if (audit == NULL || which == STATUSES) return;
    kedge_audit_entry refusal = *entry;
    refusal.what = "refused";
    const kedge_environment *environment = audit->environment;
    uint64_t omitted = 0;
    pthread_mutex_lock(&audit->mutex);
    if (kedge_allowance_take(&audit->allowed[which],
                             environment->monotonic_ms(environment->context), &omitted)) {
        write_line(audit, &refusal, omitted);
    } else {
        audit->omitted++;
    }
    pthread_mutex_unlock(&audit->mutex);
}

void kedge_audit_close(kedge_audit *audit)
{
    if (audit == NULL) return;
    for (size_t i = 0; i < STATUSES; i++) {
        const kedge_audit_entry entry = {.what = "omitted", .status = statuses[i]};
        uint64_t omitted = atomic_load(&audit->allowed[i].omitted);
        if (omitted > 0) write_line(audit, &entry, omitted);
    }
    close_file(audit->file);
    pthread_mutex_destroy(&audit->mutex);
    kedge_release(audit->environment->allocator, audit->path);
    kedge_release(audit->environment->allocator, audit);
}

void kedge_audit_write_metrics(kedge_audit *audit, kedge_buffer *out)
{
    pthread_mutex_lock(&audit->mutex);
    kedge_buffer_append_format(out,
                               "# TYPE kedge_audit_lines_total counter\n"
                               "kedge_audit_lines_total %llu\n"
                               "# TYPE kedge_audit_omitted_total counter\n"
                               "kedge_audit_omitted_total %llu\n"
                               "# TYPE kedge_audit_failures_total counter\n"
                               "kedge_audit_failures_total %llu\n",
                               (unsigned long long)audit->lines, (unsigned long long)audit->omitted,
                               (unsigned long long)audit->failures);
    pthread_mutex_unlock(&audit->mutex);
}
