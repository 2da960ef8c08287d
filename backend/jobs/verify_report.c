/* Verify: the lines that it puts out for what it has found and repaired. */
#include "backend/jobs/verify_internal.h"

#include "common/error.h"

#include <stdarg.h>
#include <stdio.h>

#define DETAIL_BYTES 512

kedge_status verify_tell(verifying *work, const char *finding, int64_t version, kedge_bytes key,
                         kedge_error *error, const char *format, ...)
{
    char detail[DETAIL_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(detail, sizeof detail, format, arguments);
    va_end(arguments);
    work->summary->findings++;
    kedge_json_writer writer = kedge_json_write(&work->line);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "finding");
    kedge_json_chars(&writer, finding);
    if (version > 0) {
        kedge_json_key(&writer, "version");
        kedge_json_integer(&writer, version);
    }
    if (key.size > 0) {
        kedge_json_key(&writer, "key");
        kedge_json_text(&writer, key);
    }
    kedge_json_key(&writer, "detail");
    kedge_json_chars(&writer, detail);
    kedge_json_end_object(&writer);
    return kedge_lines_put(work->lines, &work->line, error);
}

bool verify_is_damage(kedge_status status)
{
    switch (status) {
    case KEDGE_CORRUPT:
    case KEDGE_LIMIT_EXCEEDED:
    case KEDGE_NEWER_DATABASE:
    case KEDGE_NOT_FOUND:
    case KEDGE_INVALID_JSON:
        return true;
    default:
        return false;
    }
}

kedge_status verify_failure(verifying *work, kedge_status status, const char *finding,
                            int64_t version, kedge_bytes key, const kedge_error *failure,
                            kedge_error *error)
{
    if (status == KEDGE_OK) return KEDGE_OK;
    if (verify_is_damage(status))
        return verify_tell(work, finding, version, key, error, "%s", failure->message);
    return kedge_fail(error, status, failure->code, "%s", failure->message);
}

kedge_status verify_tell_repaired(verifying *work, const char *what, int64_t version,
                                  kedge_bytes key, const char *from, kedge_error *error)
{
    work->summary->repaired++;
    kedge_json_writer writer = kedge_json_write(&work->line);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "repaired");
    kedge_json_chars(&writer, what);
    kedge_json_key(&writer, "version");
    kedge_json_integer(&writer, version);
    kedge_json_key(&writer, "key");
    kedge_json_text(&writer, key);
    kedge_json_key(&writer, "from");
    kedge_json_chars(&writer, from);
    kedge_json_end_object(&writer);
    return kedge_lines_put(work->lines, &work->line, error);
}
