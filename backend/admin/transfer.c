/* Export into a file, and import from one. */
#include "backend/admin/verbs.h"

#include "backend/jobs/export.h"
#include "backend/jobs/import.h"
#include "common/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define READ_BYTES 65536
#define LINE_BYTES_MAX                                                                             \
    ((size_t)1342177280) /* a version may have 1 GiB of changes, and its args: 1.25 GiB */

/* "-" is the standard input or output. */
static bool is_standard(const char *path)
{
    return strcmp(path, "-") == 0;
}

static void write_left_out(const kedge_left_out *left, kedge_json_writer *writer)
{
    kedge_json_key(writer, "left_out");
    kedge_json_begin_array(writer);
    for (size_t i = 0; i < left->count; i++)
        kedge_json_chars(writer, left->names[i]);
    kedge_json_end_array(writer);
}

/* `left` is NULL of an import. */
static int tell(const kedge_admin *admin, const char *what, int64_t oldest, int64_t newest,
                int64_t bodies, const kedge_left_out *left)
{
    kedge_buffer text = kedge_buffer_make(admin->allocator);
    kedge_json_writer writer = kedge_json_write(&text);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, what);
    kedge_json_chars(&writer, admin->line->project);
    kedge_json_key(&writer, "oldest");
    kedge_json_integer(&writer, oldest);
    kedge_json_key(&writer, "newest");
    kedge_json_integer(&writer, newest);
    kedge_json_key(&writer, "bodies");
    kedge_json_integer(&writer, bodies);
    if (left != NULL) write_left_out(left, &writer);
    kedge_json_end_object(&writer);
    int code = kedge_admin_print(&text);
    kedge_buffer_free(&text);
    return code;
}

/* ---- export ---- */

static kedge_status fail_output(kedge_error *error)
{
    return kedge_fail(error, KEDGE_IO, "output-failed", "the export could not be written: %s",
                      strerror(errno));
}

static kedge_status write_line(void *context, kedge_bytes line, kedge_error *error)
{
    FILE *file = context;
    if (fwrite(line.data, 1, line.size, file) == line.size && putc('\n', file) != EOF) {
        return KEDGE_OK;
    }
    return fail_output(error);
}

/* The name of a new file is on the disk when its folder is. */
static kedge_status sync_folder_of(const char *path, kedge_error *error)
{
    kedge_buffer folder = kedge_buffer_make(&kedge_allocator_default);
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        kedge_buffer_append_text(&folder, ".");
    else
        kedge_buffer_append(&folder, path, (size_t)(slash - path) + 1);
    kedge_buffer_append_byte(&folder, '\0');
    kedge_status status = kedge_buffer_status(&folder, error);
    int file = status == KEDGE_OK ? open(folder.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (status == KEDGE_OK && (file < 0 || fsync(file) != 0)) status = fail_output(error);
    if (file >= 0) close(file);
    kedge_buffer_free(&folder);
    return status;
}

static kedge_status export_to(const kedge_admin *admin, FILE *file, kedge_export_result *result,
                              kedge_error *error)
{
    kedge_lines lines = {write_line, file};
    kedge_project project = kedge_admin_project(admin);
    kedge_status status = kedge_export_project(&project, &lines, result, error);
    bool written = fflush(file) == 0 && (file == stdout || fsync(fileno(file)) == 0);
    return status != KEDGE_OK || written ? status : fail_output(error);
}

static void warn_of(const kedge_left_out *left)
{
    for (size_t i = 0; i < left->count; i++) {
        fprintf(stderr,
                "kedge-admin: warning: not in the export: the project's %s (export-left-out)\n",
                left->names[i]);
    }
}

int kedge_admin_export(const kedge_admin *admin)
{
    kedge_left_out left = {.count = 0};
    kedge_project project = kedge_admin_project(admin);
    const char *path = admin->line->arguments[0];
    kedge_error error = {0};
    kedge_export_result result;
    bool standard = is_standard(path);
    FILE *file = standard ? stdout : fopen(path, "wbx");
    if (file == NULL) {
        kedge_fail(&error, KEDGE_IO, "output-failed", "%s cannot be made: %s", path,
                   strerror(errno));
        return kedge_admin_complain(&error);
    }
    kedge_status status = export_to(admin, file, &result, &error);
    if (status == KEDGE_OK) status = kedge_export_left_out(&project, &left, &error);
    if (!standard && fclose(file) != 0 && status == KEDGE_OK) status = fail_output(&error);
    if (!standard && status == KEDGE_OK) status = sync_folder_of(path, &error);
    if (status != KEDGE_OK) {
        if (!standard) remove(path);
        return kedge_admin_complain(&error);
    }
    warn_of(&left);
    if (standard) return 0;
    return tell(admin, "exported", result.oldest, result.newest, result.bodies, &left);
}

/* ---- import ---- */

typedef struct line_file {
    FILE *file;
    char read[READ_BYTES];
    size_t size;
    size_t at;
} line_file;

static kedge_status fill(line_file *lines, kedge_error *error)
{
    lines->at = 0;
    lines->size = fread(lines->read, 1, sizeof lines->read, lines->file);
    if (lines->size > 0 || !ferror(lines->file)) return KEDGE_OK;
    return kedge_fail(error, KEDGE_IO, "input-failed", "the export could not be read: %s",
                      strerror(errno));
}

static kedge_status next_line(void *context, kedge_buffer *line, bool *end, kedge_error *error)
{
    line_file *lines = context;
    bool any = false;
    for (;;) {
        if (lines->at == lines->size) {
            kedge_status status = fill(lines, error);
            if (status != KEDGE_OK) return status;
        }
        if (lines->size == 0) break;
        any = true;
        const char *from = lines->read + lines->at;
        const char *stop = memchr(from, '\n', lines->size - lines->at);
        size_t size = stop == NULL ? lines->size - lines->at : (size_t)(stop - from);
        kedge_buffer_append(line, from, size);
        lines->at += size + (stop == NULL ? 0 : 1);
        if (stop != NULL) break;
        if (line->size > LINE_BYTES_MAX) {
            return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "export-damaged",
                              "a line of the export has more than %zu bytes", LINE_BYTES_MAX);
        }
    }
    *end = !any;
    return kedge_buffer_status(line, error);
}

int kedge_admin_import(const kedge_admin *admin)
{
    const char *path = admin->line->arguments[0];
    kedge_error error = {0};
    kedge_import_result result;
    bool standard = is_standard(path);
    line_file lines = {.file = standard ? stdin : fopen(path, "rb")};
    kedge_line_source source = {next_line, &lines};
    kedge_project project = kedge_admin_project(admin);
    if (lines.file == NULL) {
        kedge_fail(&error, KEDGE_IO, "input-failed", "%s cannot be read: %s", path,
                   strerror(errno));
        return kedge_admin_complain(&error);
    }
    kedge_status status = kedge_import_project(&project, &source, &result, &error);
    if (!standard) fclose(lines.file);
    if (status != KEDGE_OK) return kedge_admin_complain(&error);
    return tell(admin, "imported", result.oldest, result.newest, result.bodies, NULL);
}

int kedge_admin_discard_import(const kedge_admin *admin)
{
    kedge_error error = {0};
    kedge_project project = kedge_admin_project(admin);
    kedge_status status = kedge_import_discard(&project, &error);
    return status == KEDGE_OK ? 0 : kedge_admin_complain(&error);
}
