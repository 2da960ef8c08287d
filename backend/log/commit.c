/* What the writing operations share. */
#include "backend/log/commit.h"

#include "backend/log/segments.h"
#include "common/error.h"

#include <string.h>

void kedge_log_new_id(const kedge_log *log, uint8_t id[KEDGE_LOG_ID_SIZE])
{
    const kedge_environment *environment = log->project->environment;
    environment->random(environment->context, id, KEDGE_LOG_ID_SIZE);
}

kedge_log_entry kedge_log_system_entry(const kedge_log *log, const char *type, int64_t segment,
                                       int64_t num)
{
    kedge_log_entry entry = {.at = {.segment = segment, .num = num},
                             .created_s = kedge_log_now_s(log),
                             .type = kedge_bytes_of(type),
                             .version = KEDGE_LOG_SYSTEM_VERSION};
    kedge_log_new_id(log, entry.id);
    return entry;
}

kedge_status kedge_log_look(const kedge_log *log, const kedge_log_segment *segment, int64_t num,
                            const uint8_t id[KEDGE_LOG_ID_SIZE], kedge_log_occupant *occupant,
                            kedge_error *error)
{
    kedge_log_page page = kedge_log_page_make(log->project->allocator);
    kedge_status status = kedge_log_entry_get(log, segment, num, &page, error);
    *occupant = KEDGE_LOG_FREE;
    if (status == KEDGE_OK) {
        bool own = memcmp(page.entries[0].id, id, KEDGE_LOG_ID_SIZE) == 0;
        *occupant = own ? KEDGE_LOG_OWN : KEDGE_LOG_OTHER;
    } else if (status == KEDGE_NOT_FOUND) {
        status = KEDGE_OK;
    }
    kedge_log_page_free(&page);
    return status;
}

kedge_status kedge_log_give_up(const char *what, const kedge_error *last, kedge_error *error)
{
    return kedge_fail(error, KEDGE_UNAVAILABLE, "unavailable", "%s not in %d tries: %s", what,
                      KEDGE_LOG_TRIES_MAX, last->message);
}

void kedge_log_tell(const kedge_log *log, int64_t number)
{
    const kedge_backend_options *options = &log->project->backend->options;
    if (options->appended == NULL) return;
    options->appended(options->appended_context, log->project->ref.organization,
                      log->project->ref.project, log->name, number);
}
