/* See failures.h. */
#include "backend/front/failures.h"

static void write_error(kedge_logger_line *line, const kedge_error *error)
{
    kedge_json_key(&line->json, "code");
    kedge_json_chars(&line->json, error->code);
    kedge_json_key(&line->json, "detail");
    kedge_json_chars(&line->json, error->message);
}

void kedge_failure_log(void *log, const kedge_queued_failure *failure)
{
    kedge_logger_line line;
    if (!kedge_logger_begin(&line, log, KEDGE_LOGGER_WARNING, "message-undecidable")) return;
    kedge_json_key(&line.json, "message");
    kedge_json_chars(&line.json, failure->id);
    kedge_json_key(&line.json, "organization");
    kedge_json_chars(&line.json, failure->organization);
    kedge_json_key(&line.json, "project");
    kedge_json_chars(&line.json, failure->project);
    kedge_json_key(&line.json, "deliveries");
    kedge_json_integer(&line.json, failure->receive_count);
    write_error(&line, failure->error);
    kedge_logger_end(&line);
}

void kedge_failure_log_call(void *log, kedge_queued_call call, const kedge_error *error)
{
    kedge_logger_line line;
    if (!kedge_logger_begin(&line, log, KEDGE_LOGGER_WARNING, "queue-call-failed")) return;
    kedge_json_key(&line.json, "call");
    kedge_json_chars(&line.json, kedge_queued_call_name(call));
    write_error(&line, error);
    kedge_logger_end(&line);
}

void kedge_failure_log_background(void *log, const kedge_background_failure *failure)
{
    kedge_logger_line line;
    if (!kedge_logger_begin(&line, log, KEDGE_LOGGER_WARNING, "background-failed")) return;
    kedge_json_key(&line.json, "work");
    kedge_json_chars(&line.json, kedge_background_name(failure->work));
    kedge_json_key(&line.json, "organization");
    kedge_json_text(&line.json, failure->organization);
    kedge_json_key(&line.json, "project");
    kedge_json_text(&line.json, failure->project);
    write_error(&line, failure->error);
    kedge_logger_end(&line);
}

void kedge_failure_log_mutator(void *log, const char *mutator, const kedge_error *error)
{
    kedge_logger_line line;
    if (!kedge_logger_begin(&line, log, KEDGE_LOGGER_WARNING, "mutator-failed")) return;
    kedge_json_key(&line.json, "mutator");
    kedge_json_chars(&line.json, mutator);
    write_error(&line, error);
    kedge_logger_end(&line);
}
