/* See effects.h. */
#include "backend/front/effects.h"

#include <string.h>

void kedge_effects_log_passed(kedge_logger *logger, const kedge_error *error)
{
    kedge_logger_write(logger, KEDGE_LOGGER_WARNING, "log-change-passed", "code", error->code,
                       "detail", error->message, NULL);
}

void kedge_effects_log_expired(kedge_logger *logger, const kedge_stream_expired *expired)
{
    kedge_logger_line line;
    const char *name = expired->damaged ? "stream-checkpoint-damaged" : "changes-expired";
    if (!kedge_logger_begin(&line, logger, KEDGE_LOGGER_ERROR, name)) return;
    kedge_json_key(&line.json, "shard");
    kedge_json_chars(&line.json, expired->shard);
    kedge_json_key(&line.json, "since_ms");
    kedge_json_integer(&line.json, expired->since_ms);
    kedge_json_key(&line.json, "detail");
    kedge_json_chars(
        &line.json, expired->damaged
                        ? "it is unknown how far the shard was read; the changes that are kept are "
                          "read again; kedge-admin reprocess-logs does what the others would "
                          "have caused"
                        : "changes were lost before they were read; kedge-admin "
                          "reprocess-logs does what they would have caused");
    kedge_logger_end(&line);
}

void kedge_effects_log_refused(kedge_logger *logger, const kedge_log *log,
                               const kedge_log_place *at, const kedge_error *error)
{
    kedge_logger_line line;
    bool usual = strcmp(error->code, "snapshot-type-unknown") == 0 ||
                 strcmp(error->code, "snapshot-empty") == 0;
    kedge_logger_level level = usual ? KEDGE_LOGGER_DEBUG : KEDGE_LOGGER_WARNING;
    if (!kedge_logger_begin(&line, logger, level, "snapshot-refused")) return;
    kedge_json_key(&line.json, "organization");
    kedge_json_text(&line.json, log->project->ref.organization);
    kedge_json_key(&line.json, "project");
    kedge_json_text(&line.json, log->project->ref.project);
    kedge_json_key(&line.json, "log");
    kedge_json_text(&line.json, log->name);
    kedge_json_key(&line.json, "number");
    kedge_json_integer(&line.json, at->number);
    kedge_json_key(&line.json, "code");
    kedge_json_chars(&line.json, error->code);
    kedge_json_key(&line.json, "detail");
    kedge_json_chars(&line.json, error->message);
    kedge_logger_end(&line);
}
