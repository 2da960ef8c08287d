/* See failures.h. */
#include "backend/front/failures.h"

void kedge_failure_log(void *log, const kedge_queued_failure *failure)
{
    kedge_log_line line;
    if (!kedge_log_begin(&line, log, KEDGE_LOG_WARNING, "message-undecidable")) return;
    kedge_json_key(&line.json, "message");
    kedge_json_chars(&line.json, failure->id);
    kedge_json_key(&line.json, "organization");
    kedge_json_chars(&line.json, failure->organization);
    kedge_json_key(&line.json, "project");
    kedge_json_chars(&line.json, failure->project);
    kedge_json_key(&line.json, "deliveries");
    kedge_json_integer(&line.json, failure->receive_count);
    kedge_json_key(&line.json, "code");
    kedge_json_chars(&line.json, failure->error->code);
    kedge_json_key(&line.json, "detail");
    kedge_json_chars(&line.json, failure->error->message);
    kedge_log_end(&line);
}
