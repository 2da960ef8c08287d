/* Key pairs in files, and tokens that are signed with them. */
#include "backend/admin/verbs.h"
#include "backend/auth/issue.h"
#include "common/error.h"
#include "common/hash.h"
#include "common/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOKEN_MINUTES_DEFAULT 60

/* ---- files ---- */

static kedge_status fail_file(const char *what, const char *path, kedge_error *error)
{
    return kedge_fail(error, KEDGE_IO, "file-failed", "%s %s: %s", what, path, strerror(errno));
}

/* Writes a new file, which is on the disk then. A file that failed is removed. */
static kedge_status write_new(const char *path, mode_t mode, const kedge_buffer *text,
                              kedge_error *error)
{
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0 && errno == EEXIST) {
        return kedge_fail(error, KEDGE_CONFLICT, "file-exists",
                          "%s is there already, and is not overwritten", path);
    }
    if (file < 0) return fail_file("cannot make", path, error);
    ssize_t written = write(file, text->data, text->size);
    bool fine = written == (ssize_t)text->size && fchmod(file, mode) == 0 && fsync(file) == 0;
    kedge_status status = fine ? KEDGE_OK : fail_file("cannot write", path, error);
    close(file);
    if (!fine) unlink(path);
    return status;
}

/* A reader of `path` sees the file of before or the new one, as a whole. */
static kedge_status replace(const char *path, mode_t mode, const kedge_buffer *text,
                            kedge_error *error)
{
    kedge_buffer fresh = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_format(&fresh, "%s.new-%ld", path, (long)getpid());
    kedge_status status = kedge_buffer_status(&fresh, error);
    if (status == KEDGE_OK) status = write_new(fresh.data, mode, text, error);
    if (status == KEDGE_OK && rename(fresh.data, path) != 0) {
        status = fail_file("cannot replace", path, error);
        unlink(fresh.data);
    }
    kedge_buffer_free(&fresh);
    return status;
}

/* The key set that gets the new key in addition. False: there is none yet. */
static bool has_others(const char *path, kedge_buffer *others, mode_t *mode, kedge_status *status,
                       kedge_error *error)
{
    struct stat found;
    *mode = 0644;
    *status = KEDGE_OK;
    if (stat(path, &found) != 0 && errno == ENOENT) return false;
    *status = kedge_admin_read_value(path, KEDGE_KEYS_BYTES_MAX, others, error);
    if (*status != KEDGE_OK) return false;
    *mode = found.st_mode & 0777;
    return true;
}

/* ---- commands ---- */

static int tell(const kedge_admin *admin, const char *kid)
{
    const struct {
        const char *name;
        const char *value;
    } members[] = {{"private", admin->line->arguments[0]},
                   {"public", admin->line->arguments[1]},
                   {"kid", kid}};
    kedge_buffer text = kedge_buffer_make(admin->allocator);
    kedge_json_writer writer = kedge_json_write(&text);
    kedge_json_begin_object(&writer);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        kedge_json_key(&writer, members[i].name);
        kedge_json_chars(&writer, members[i].value);
    }
    kedge_json_end_object(&writer);
    int code = kedge_admin_print(&text);
    kedge_buffer_free(&text);
    return code;
}

int kedge_admin_make_keys(const kedge_admin *admin)
{
    const char *secret = admin->line->arguments[0];
    const char *shown = admin->line->arguments[1];
    const char *algorithm = admin->line->algorithm == NULL ? "ES256" : admin->line->algorithm;
    char kid[KEDGE_KID_SIZE] = "";
    mode_t mode;
    kedge_error error = {0};
    kedge_status status;
    kedge_buffer others = kedge_buffer_make(admin->allocator);
    kedge_buffer key = kedge_buffer_make(admin->allocator);
    kedge_buffer set = kedge_buffer_make(admin->allocator);
    bool more = has_others(shown, &others, &mode, &status, &error);
    if (status == KEDGE_OK) {
        if (more) kedge_buffer_append_byte(&others, '\0');
        status =
            kedge_auth_make_keys(algorithm, more ? others.data : NULL, &key, &set, kid, &error);
    }
    if (status == KEDGE_OK) status = write_new(secret, 0600, &key, &error);
    if (status == KEDGE_OK) {
        status = replace(shown, mode, &set, &error);
        if (status != KEDGE_OK) unlink(secret);
    }
    kedge_buffer_free(&others);
    kedge_buffer_wipe(&key);
    kedge_buffer_free(&set);
    return status == KEDGE_OK ? tell(admin, kid) : kedge_admin_complain(&error);
}

static kedge_status read_minutes(const char *text, uint32_t *minutes, kedge_error *error)
{
    *minutes = TOKEN_MINUTES_DEFAULT;
    if (text == NULL) return KEDGE_OK;
    char *end = NULL;
    bool digits = *text >= '0' && *text <= '9';
    unsigned long value = digits ? strtoul(text, &end, 10) : 0;
    if (!digits || *end != '\0' || value < 1 || value > KEDGE_TOKEN_MINUTES_MAX) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "usage",
                          "--minutes takes a number from 1 to %d, not \"%s\"",
                          KEDGE_TOKEN_MINUTES_MAX, text);
    }
    *minutes = (uint32_t)value;
    return KEDGE_OK;
}

static kedge_status check_needed(const kedge_admin_line *line, kedge_error *error)
{
    const char *missing = line->issuer == NULL     ? "--issuer I"
                          : line->audience == NULL ? "--audience A"
                          : line->user == NULL     ? "--user U"
                                                   : NULL;
    if (missing == NULL) return KEDGE_OK;
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "usage", "token needs %s", missing);
}

int kedge_admin_token(const kedge_admin *admin)
{
    const kedge_admin_line *line = admin->line;
    kedge_auth_claims claims = {.issuer = line->issuer,
                                .audience = line->audience,
                                .user = line->user,
                                .organization = line->organization,
                                .role = line->role,
                                .projects = line->projects,
                                .more = line->claims};
    kedge_error error = {0};
    kedge_buffer key = kedge_buffer_make(admin->allocator);
    kedge_buffer token = kedge_buffer_make(admin->allocator);
    kedge_status status = check_needed(line, &error);
    if (status == KEDGE_OK) status = read_minutes(line->minutes, &claims.minutes, &error);
    if (status == KEDGE_OK) {
        status = kedge_admin_read_value(line->arguments[0], KEDGE_KEYS_BYTES_MAX, &key, &error);
    }
    if (status == KEDGE_OK) {
        kedge_buffer_append_byte(&key, '\0');
        status = kedge_buffer_status(&key, &error);
    }
    if (status == KEDGE_OK) {
        status = kedge_auth_issue(admin->environment, key.data, &claims, &token, &error);
    }
    int code = status == KEDGE_OK ? kedge_admin_print(&token) : kedge_admin_complain(&error);
    kedge_buffer_wipe(&key);
    kedge_buffer_free(&token);
    return code;
}
