/* See logger.h. A line is built whole and written with one call, so that lines of
 * threads do not mix. */
#include "backend/front/logger.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

static const char *const level_names[] = {"error", "warning", "info", "debug"};

bool kedge_logger_level_of(const char *name, kedge_logger_level *level)
{
    for (size_t i = 0; i < sizeof level_names / sizeof *level_names; i++) {
        if (strcmp(name, level_names[i]) != 0) continue;
        *level = (kedge_logger_level)i;
        return true;
    }
    return false;
}

bool kedge_logger_begin(kedge_logger_line *line, kedge_logger *log, kedge_logger_level level,
                        const char *event)
{
    if (level > log->level) return false;
    line->log = log;
    line->text = kedge_buffer_make(log->environment->allocator);
    line->json = kedge_json_write(&line->text);
    kedge_json_begin_object(&line->json);
    kedge_json_key(&line->json, "time");
    kedge_json_integer(&line->json, log->environment->now_ms(log->environment->context));
    kedge_json_key(&line->json, "level");
    kedge_json_chars(&line->json, level_names[level]);
    kedge_json_key(&line->json, "event");
    kedge_json_chars(&line->json, event);
    return true;
}

void kedge_logger_end(kedge_logger_line *line)
{
    kedge_json_end_object(&line->json);
    kedge_buffer_append_byte(&line->text, '\n');
    if (kedge_buffer_status(&line->text, NULL) == KEDGE_OK) {
        while (write(line->log->file, line->text.data, line->text.size) < 0 && errno == EINTR) {
        }
    }
    kedge_buffer_free(&line->text);
}

static void write_texts(kedge_logger_line *line, va_list fields)
{
    for (const char *name = va_arg(fields, const char *); name;
         name = va_arg(fields, const char *)) {
        kedge_json_key(&line->json, name);
        kedge_json_chars(&line->json, va_arg(fields, const char *));
    }
}

void kedge_logger_texts(kedge_logger_line *line, ...)
{
    va_list fields;
    va_start(fields, line);
    write_texts(line, fields);
    va_end(fields);
}

void kedge_logger_write(kedge_logger *log, kedge_logger_level level, const char *event, ...)
{
    kedge_logger_line line;
    if (!kedge_logger_begin(&line, log, level, event)) return;
    va_list fields;
    va_start(fields, event);
    write_texts(&line, fields);
    va_end(fields);
    kedge_logger_end(&line);
}
