/* See settings.h. */
#include "backend/lambda/settings.h"

#include "backend/front/file.h"
#include "common/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NULL when it is not there, or empty. */
static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

char *kedge_settings_file(const kedge_allocator *allocator, const char *name)
{
    const char *root = variable("LAMBDA_TASK_ROOT");
    kedge_buffer path = kedge_buffer_make(allocator);
    if (root != NULL && name[0] != '/') {
        kedge_buffer_append_text(&path, root);
        kedge_buffer_append_byte(&path, '/');
    }
    kedge_buffer_append_text(&path, name);
    char *copy = path.no_memory ? NULL : kedge_copy_text(allocator, kedge_buffer_bytes(&path));
    kedge_buffer_free(&path);
    return copy;
}

/* `value` gets whether the variable has the second of two words; the first one is the default. */
static kedge_status read_choice(const char *name, const char *first, const char *second,
                                bool *value, kedge_error *error)
{
    const char *word = variable(name);
    *value = word != NULL && strcmp(word, second) == 0;
    if (*value || word == NULL || strcmp(word, first) == 0) return KEDGE_OK;
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "setting-invalid",
                      "%s is %s or %s, not \"%s\"", name, first, second, word);
}

static void name_snapshots(kedge_settings *settings)
{
    const char *queue = settings->stores.snapshots;
    const char *slash = queue == NULL ? NULL : strrchr(queue, '/');
    if (slash != NULL) queue = slash + 1;
    if (queue == NULL && settings->stores.data != NULL) queue = KEDGE_SETTINGS_SNAPSHOTS;
    snprintf(settings->snapshots, sizeof settings->snapshots, "%s", queue == NULL ? "" : queue);
}

static kedge_status read_stores(kedge_settings *settings, kedge_error *error)
{
    kedge_stores_options *stores = &settings->stores;
    stores->data = variable("KEDGE_DATA");
    stores->table = variable("KEDGE_TABLE");
    stores->bucket = variable("KEDGE_BUCKET");
    stores->queue = variable("KEDGE_QUEUE");
    stores->snapshots = variable("KEDGE_SNAPSHOTS");
    bool aws = stores->table != NULL && stores->bucket != NULL;
    bool any = aws || stores->table != NULL || stores->bucket != NULL || stores->queue != NULL ||
               stores->snapshots != NULL;
    if (stores->data != NULL ? any : !aws) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "setting-missing",
                          "KEDGE_TABLE and KEDGE_BUCKET name the stores, or else KEDGE_DATA does");
    }
    name_snapshots(settings);
    kedge_status status = read_choice("KEDGE_MODE", "direct", "queued", &settings->queued, error);
    if (status == KEDGE_OK && settings->queued && stores->data == NULL && stores->queue == NULL) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "setting-missing",
                          "KEDGE_MODE=queued needs a queue: KEDGE_QUEUE is missing");
    }
    return status;
}

static kedge_status read_number(const char *name, long long least, long long most, int64_t *value,
                                kedge_error *error)
{
    const char *text = variable(name);
    char *end = NULL;
    if (text == NULL) return KEDGE_OK;
    long long number = *text >= '0' && *text <= '9' ? strtoll(text, &end, 10) : -1;
    if (number < least || number > most || *end != '\0') {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "setting-invalid",
                          "%s is a number from %lld to %lld, not \"%s\"", name, least, most, text);
    }
    *value = number;
    return KEDGE_OK;
}

static kedge_status read_budgets(kedge_settings *settings, kedge_error *error)
{
    kedge_status status = read_number("KEDGE_ORGANIZATION_PROJECTS", 0, KEDGE_BUDGET_MAX,
                                      &settings->organization_projects, error);
    if (status != KEDGE_OK) return status;
    return read_number("KEDGE_ORGANIZATION_STORED_BYTES", 0, KEDGE_BUDGET_MAX,
                       &settings->organization_stored_bytes, error);
}

void kedge_settings_write_budgets(const void *context, kedge_json_writer *writer)
{
    const kedge_settings *settings = context;
    kedge_json_begin_object(writer);
    kedge_json_key(writer, KEDGE_USAGE_PROJECTS);
    kedge_json_integer(writer, settings->organization_projects);
    kedge_json_key(writer, KEDGE_USAGE_STORED);
    kedge_json_integer(writer, settings->organization_stored_bytes);
    kedge_json_end_object(writer);
}

static kedge_status read_claim_bytes(kedge_settings *settings, kedge_error *error)
{
    int64_t bytes = 0;
    kedge_status status =
        read_number("KEDGE_CLAIM_BYTES", 1, KEDGE_QUEUE_BODY_BYTES_MAX, &bytes, error);
    settings->claim_bytes = (uint32_t)bytes;
    return status;
}

/* `value` is a JSON object, or names a file of the package with one; NULL: neither. */
static kedge_status read_text(const kedge_allocator *allocator, const char *value, char **text,
                              kedge_error *error)
{
    if (value == NULL) return KEDGE_OK;
    if (value[0] == '{') {
        *text = kedge_copy_text(allocator, kedge_bytes_of(value));
        return *text == NULL ? kedge_fail_no_memory(error) : KEDGE_OK;
    }
    char *path = kedge_settings_file(allocator, value);
    if (path == NULL) return kedge_fail_no_memory(error);
    kedge_status status = kedge_file_read(allocator, path, text, error);
    kedge_release(allocator, path);
    return status;
}

static kedge_status read_key_set(const kedge_allocator *allocator, kedge_settings *settings,
                                 kedge_error *error)
{
    const char *jwks = variable("KEDGE_JWKS");
    settings->issuer = variable("KEDGE_ISSUER");
    settings->audience = variable("KEDGE_AUDIENCE");
    settings->algorithms = variable("KEDGE_ALGORITHMS");
    settings->tokens = jwks != NULL;
    if ((jwks != NULL) != (settings->issuer != NULL) ||
        (jwks != NULL) != (settings->audience != NULL)) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "setting-missing",
                          "KEDGE_JWKS, KEDGE_ISSUER and KEDGE_AUDIENCE go together");
    }
    return read_text(allocator, jwks, &settings->jwks, error);
}

static kedge_status read_origins(const kedge_allocator *allocator, kedge_settings *settings,
                                 kedge_error *error)
{
    const char *text = variable("KEDGE_ORIGINS");
    kedge_cors_origins *origins = &settings->origins;
    if (text == NULL) return KEDGE_OK;
    settings->origin_text = kedge_copy_text(allocator, kedge_bytes_of(text));
    if (settings->origin_text == NULL) return kedge_fail_no_memory(error);
    for (char *at = settings->origin_text; at != NULL && *at != '\0';) {
        if (origins->allowed_count == KEDGE_ORIGINS_MAX) {
            return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "setting-invalid",
                              "KEDGE_ORIGINS has more than %d origins", KEDGE_ORIGINS_MAX);
        }
        origins->allowed[origins->allowed_count++] = at;
        at = strchr(at, ',');
        if (at != NULL) *at++ = '\0';
    }
    return kedge_cors_origins_check(origins, error);
}

static kedge_status read_log_level(kedge_settings *settings, kedge_error *error)
{
    const char *level = variable("KEDGE_LOG_LEVEL");
    settings->log_level = KEDGE_LOGGER_INFO;
    if (level == NULL || kedge_logger_level_of(level, &settings->log_level)) return KEDGE_OK;
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "setting-invalid",
                      "KEDGE_LOG_LEVEL is error, warning, info or debug, not \"%s\"", level);
}

kedge_status kedge_settings_read(const kedge_allocator *allocator, kedge_settings *settings,
                                 kedge_error *error)
{
    kedge_settings read = {.queued = false};
    bool seed = false;
    const char *mutators = variable("KEDGE_MUTATORS");
    kedge_status status = read_stores(&read, error);
    if (status == KEDGE_OK) status = read_claim_bytes(&read, error);
    if (status == KEDGE_OK) status = read_choice("KEDGE_CADENCE", "compact", "seed", &seed, error);
    if (status == KEDGE_OK) status = read_budgets(&read, error);
    if (status == KEDGE_OK) status = read_log_level(&read, error);
    if (status == KEDGE_OK)
        status = read_choice("KEDGE_STREAM", "ignored", "followed", &read.followed, error);
    if (status == KEDGE_OK)
        status = read_choice("KEDGE_COST_HEADER", "no", "yes", &read.cost_header, error);
    if (status == KEDGE_OK) status = read_origins(allocator, &read, error);
    if (status == KEDGE_OK) status = read_key_set(allocator, &read, error);
    read.builtins = variable("KEDGE_BUILTINS");
    if (status == KEDGE_OK)
        status = read_text(allocator, variable("KEDGE_POLICY"), &read.policy, error);
    if (status == KEDGE_OK && mutators != NULL) {
        read.mutators = kedge_settings_file(allocator, mutators);
        if (read.mutators == NULL) status = kedge_fail_no_memory(error);
    }
    if (status != KEDGE_OK) {
        kedge_settings_free(allocator, &read);
        return status;
    }
    read.cadence = seed ? KEDGE_CADENCE_SEED : KEDGE_CADENCE_COMPACT;
    *settings = read;
    return KEDGE_OK;
}

void kedge_settings_free(const kedge_allocator *allocator, kedge_settings *settings)
{
    kedge_release(allocator, settings->jwks);
    kedge_release(allocator, settings->policy);
    kedge_release(allocator, settings->mutators);
    kedge_release(allocator, settings->origin_text);
    *settings = (kedge_settings){.queued = false};
}
