/* Finding, reading and parsing the profile files. An error names file and line, never a line's
 * text, which may hold a secret. */
#include "backend/aws/profile.h"

#include "backend/aws/credential_sources.h"
#include "common/error.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define READ_BYTES       4096
#define NO_SECTION       (-1)
#define OTHER_SECTION    0 /* of another profile, or none of ours */
#define RANK_DEFAULT     1 /* "[default]" of the config file */
#define RANK_CONFIG      2
#define RANK_CREDENTIALS 3 /* the credentials file */

static const char *const setting_names[KEDGE_AWS_SETTINGS] = {
    [KEDGE_AWS_SETTING_KEY_ID] = "aws_access_key_id",
    [KEDGE_AWS_SETTING_SECRET] = "aws_secret_access_key",
    [KEDGE_AWS_SETTING_TOKEN] = "aws_session_token",
    [KEDGE_AWS_SETTING_REGION] = "region",
    [KEDGE_AWS_SETTING_ROLE] = "role_arn",
    [KEDGE_AWS_SETTING_PROCESS] = "credential_process",
    [KEDGE_AWS_SETTING_SSO_SESSION] = "sso_session",
    [KEDGE_AWS_SETTING_SSO_URL] = "sso_start_url",
    [KEDGE_AWS_SETTING_LOGIN] = "login_session",
    [KEDGE_AWS_SETTING_WEB_IDENTITY] = "web_identity_token_file",
};

/* ---- the files ---- */

static void find_path(const kedge_aws_credentials_options *options, const char *variable,
                      const char *below_home, kedge_buffer *path)
{
    const char *given = kedge_aws_variable(options, variable);
    const char *home = kedge_aws_variable(options, "HOME");
    if (given[0] == '\0' && home[0] != '\0') {
        kedge_buffer_append_format(path, "%s/.aws/%s", home, below_home);
    } else if (given[0] == '~' && given[1] == '/' && home[0] != '\0') {
        kedge_buffer_append_format(path, "%s%s", home, given + 1);
    } else {
        kedge_buffer_append_text(path, given);
    }
}

static kedge_status fail_to_read(const char *path, const char *why, kedge_error *error)
{
    return kedge_fail(error, KEDGE_UNAUTHORIZED, "aws-credentials-invalid",
                      "the profile file %s cannot be read: %s", path, why);
}

static kedge_status read_all(int file, const char *path, kedge_buffer *text, kedge_error *error)
{
    for (;;) {
        char *room = kedge_buffer_reserve(text, READ_BYTES);
        if (room == NULL) return kedge_fail_no_memory(error);
        ssize_t got = read(file, room, READ_BYTES);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail_to_read(path, strerror(errno), error);
        if (got == 0) return KEDGE_OK;
        text->size += (size_t)got;
        if (text->size > KEDGE_AWS_PROFILE_FILE_BYTES_MAX) {
            return fail_to_read(path, "it has more than 1,048,576 bytes", error);
        }
    }
}

static kedge_status read_file(const char *path, kedge_buffer *text, kedge_error *error)
{
    if (path[0] == '\0') return KEDGE_OK;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        bool absent = errno == ENOENT || errno == ENOTDIR;
        return absent ? KEDGE_OK : fail_to_read(path, strerror(errno), error);
    }
    kedge_status status = read_all(file, path, text, error);
    close(file);
    return status;
}

/* ---- their lines ---- */

typedef struct parser {
    kedge_aws_profile *profile;
    const char *path;
    bool config;
    uint32_t line;
    int rank;           /* of the section that the line stands in */
    bool in_setting;    /* a deeper line would belong to it */
    size_t indentation; /* of that setting */
} parser;

static bool white(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\f' || byte == '\v';
}

static kedge_bytes trim(kedge_bytes text)
{
    while (text.size > 0 && white(text.data[0])) {
        text.data++;
        text.size--;
    }
    while (text.size > 0 && white(text.data[text.size - 1])) {
        text.size--;
    }
    return text;
}

static bool begins_comment(kedge_bytes text)
{
    return text.size > 0 && (text.data[0] == '#' || text.data[0] == ';');
}

static kedge_status fail_line(const parser *at, const char *what, kedge_error *error)
{
    return kedge_fail(error, KEDGE_UNAUTHORIZED, "aws-credentials-invalid", "%s, line %u: %s",
                      at->path, at->line, what);
}

static kedge_bytes without_quotes(kedge_bytes name)
{
    bool quoted = name.size >= 2 && (name.data[0] == '"' || name.data[0] == '\'') &&
                  name.data[name.size - 1] == name.data[0];
    return quoted ? (kedge_bytes){name.data + 1, name.size - 2} : name;
}

/* What a section of this name is to the profile that is looked for. */
static int rank_section(const parser *at, kedge_bytes name)
{
    const char *wanted = at->profile->name;
    if (!at->config) return kedge_bytes_equal_text(name, wanted) ? RANK_CREDENTIALS : OTHER_SECTION;
    if (kedge_bytes_equal_text(name, "default")) {
        return strcmp(wanted, "default") == 0 ? RANK_DEFAULT : OTHER_SECTION;
    }
    kedge_bytes prefix = KEDGE_BYTES("profile");
    if (!kedge_bytes_start_with(name, prefix) || name.size == prefix.size ||
        !white(name.data[prefix.size])) {
        return OTHER_SECTION;
    }
    name = trim((kedge_bytes){name.data + prefix.size, name.size - prefix.size});
    return kedge_bytes_equal_text(without_quotes(name), wanted) ? RANK_CONFIG : OTHER_SECTION;
}

static kedge_status parse_section(parser *at, kedge_bytes text, kedge_error *error)
{
    const char *end = memchr(text.data, ']', text.size);
    if (end == NULL) return fail_line(at, "a section's name has no closing bracket", error);
    kedge_bytes behind = trim((kedge_bytes){end + 1, text.size - (size_t)(end + 1 - text.data)});
    if (behind.size > 0 && !begins_comment(behind)) {
        return fail_line(at, "there is text after a section's name", error);
    }
    at->rank = rank_section(at, trim((kedge_bytes){text.data + 1, (size_t)(end - text.data) - 1}));
    at->in_setting = false;
    if (at->rank != OTHER_SECTION) at->profile->found = true;
    return KEDGE_OK;
}

static kedge_bytes without_comment(kedge_bytes value)
{
    for (size_t i = 0; i < value.size; i++) {
        bool alone = i == 0 || white(value.data[i - 1]);
        if (alone && (value.data[i] == '#' || value.data[i] == ';')) value.size = i;
    }
    return trim(value);
}

static void keep(parser *at, kedge_bytes name, kedge_bytes value)
{
    for (int i = 0; i < KEDGE_AWS_SETTINGS; i++) {
        kedge_aws_profile_value *kept = &at->profile->values[i];
        if (strlen(setting_names[i]) != name.size ||
            strncasecmp(setting_names[i], name.data, name.size) != 0 ||
            kept->rank > (uint32_t)at->rank) {
            continue;
        }
        *kept = (kedge_aws_profile_value){value, at->path, at->line, (uint32_t)at->rank};
    }
}

static kedge_status parse_setting(parser *at, kedge_bytes text, size_t indentation,
                                  kedge_error *error)
{
    const char *equals = memchr(text.data, '=', text.size);
    if (equals == NULL) {
        return fail_line(at, "neither a section nor \"name = value\"", error);
    }
    if (at->rank == NO_SECTION) return fail_line(at, "a setting before any section", error);
    kedge_bytes name = trim((kedge_bytes){text.data, (size_t)(equals - text.data)});
    if (name.size == 0) return fail_line(at, "a setting without a name", error);
    at->in_setting = true;
    at->indentation = indentation;
    kedge_bytes value = {equals + 1, text.size - (size_t)(equals + 1 - text.data)};
    if (at->rank != OTHER_SECTION) keep(at, name, without_comment(trim(value)));
    return KEDGE_OK;
}

static kedge_status parse_line(parser *at, kedge_bytes line, kedge_error *error)
{
    kedge_bytes text = trim(line);
    if (text.size == 0 || begins_comment(text)) return KEDGE_OK;
    size_t indentation = (size_t)(text.data - line.data);
    if (at->in_setting && indentation > at->indentation) return KEDGE_OK;
    if (text.data[0] == '[') return parse_section(at, text, error);
    return parse_setting(at, text, indentation, error);
}

static kedge_status parse_file(kedge_aws_profile *profile, int file, kedge_error *error)
{
    parser at = {
        .profile = profile,
        .path = profile->paths[file].data,
        .config = file == 1,
        .rank = NO_SECTION,
    };
    kedge_bytes rest = kedge_buffer_bytes(&profile->texts[file]);
    kedge_bytes mark = KEDGE_BYTES("\xEF\xBB\xBF");
    kedge_status status = KEDGE_OK;
    if (kedge_bytes_start_with(rest, mark)) {
        rest = (kedge_bytes){rest.data + mark.size, rest.size - mark.size};
    }
    while (rest.size > 0 && status == KEDGE_OK) {
        const char *end = memchr(rest.data, '\n', rest.size);
        size_t size = end == NULL ? rest.size : (size_t)(end - rest.data);
        at.line++;
        status = parse_line(&at, (kedge_bytes){rest.data, size}, error);
        size_t taken = end == NULL ? size : size + 1;
        rest = (kedge_bytes){rest.data + taken, rest.size - taken};
    }
    return status;
}

/* ---- a profile ---- */

kedge_status kedge_aws_profile_load(const kedge_aws_credentials_options *options,
                                    const kedge_allocator *allocator, kedge_aws_profile *profile,
                                    kedge_error *error)
{
    const char *variable = kedge_aws_variable(options, "AWS_PROFILE");
    kedge_aws_profile made = {.name = "default"};
    if (options->profile != NULL || variable[0] != '\0') {
        made.name = options->profile != NULL ? options->profile : variable;
        made.named = true;
    }
    for (int i = 0; i < 2; i++) {
        made.paths[i] = kedge_buffer_make(allocator);
        made.texts[i] = kedge_buffer_make(allocator);
    }
    find_path(options, "AWS_SHARED_CREDENTIALS_FILE", "credentials", &made.paths[0]);
    find_path(options, "AWS_CONFIG_FILE", "config", &made.paths[1]);
    kedge_status status = KEDGE_OK;
    for (int i = 0; i < 2 && status == KEDGE_OK; i++) {
        status = kedge_buffer_status(&made.paths[i], error);
        if (status == KEDGE_OK) status = read_file(made.paths[i].data, &made.texts[i], error);
        if (status == KEDGE_OK) status = parse_file(&made, i, error);
    }
    if (status != KEDGE_OK) {
        kedge_aws_profile_free(&made);
        return status;
    }
    *profile = made;
    return KEDGE_OK;
}

void kedge_aws_profile_free(kedge_aws_profile *profile)
{
    for (int i = 0; i < 2; i++) {
        kedge_buffer_free(&profile->paths[i]);
        kedge_buffer_free(&profile->texts[i]);
    }
}
