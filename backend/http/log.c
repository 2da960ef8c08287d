/* See log.h. A line is built whole and written with one call, so that lines of threads do not mix.
 */
#include "backend/http/log.h"

#include "common/json.h"

#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

void kedge_log_write(kedge_log *log, kedge_log_level level, const char *event, ...)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};
    if (level > log->level) return;
    kedge_buffer line = kedge_buffer_make(log->environment->allocator);
    kedge_json_writer json = kedge_json_write(&line);
    kedge_json_begin_object(&json);
    kedge_json_key(&json, "time");
    kedge_json_integer(&json, log->environment->now_ms(log->environment->context));
    kedge_json_key(&json, "level");
    kedge_json_chars(&json, names[level]);
    kedge_json_key(&json, "event");
    kedge_json_chars(&json, event);
    va_list fields;
    va_start(fields, event);
    for (const char *name = va_arg(fields, const char *); name;
         name = va_arg(fields, const char *)) {
        kedge_json_key(&json, name);
        kedge_json_chars(&json, va_arg(fields, const char *));
    }
    va_end(fields);
    kedge_json_end_object(&json);
    kedge_buffer_append_byte(&line, '\n');
    if (kedge_buffer_status(&line, NULL) == KEDGE_OK) {
        while (write(log->file, line.data, line.size) < 0 && errno == EINTR) {
        }
    }
    kedge_buffer_free(&line);
}
