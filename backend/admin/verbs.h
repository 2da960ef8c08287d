/* The commands of kedge-admin. Each prints its response to the standard output and its errors to
 * the standard error, and returns the exit code. */
#ifndef KEDGE_BACKEND_ADMIN_VERBS_H
#define KEDGE_BACKEND_ADMIN_VERBS_H

#include "backend/admin/commands.h"
#include "backend/api/api.h"
#include "backend/base/project.h"
#include "backend/versioned/versions/versions.h"

#define KEDGE_ADMIN_NO_RESPONSE 1
#define KEDGE_ADMIN_USAGE       2
#define KEDGE_ADMIN_FINDINGS    3 /* verify has left findings unrepaired */

struct kedge_admin {
    kedge_backend *backend;
    const kedge_stores *stores;
    const kedge_environment *environment;
    const kedge_allocator *allocator;
    const kedge_admin_command *command;
    const kedge_admin_line *line;
};

/* Prints the error to the standard error, and returns its exit code. */
int kedge_admin_complain(const kedge_error *error);
/* The backend's option `failed`: prints failures of background work to the standard error. */
void kedge_admin_warn(void *context, const kedge_background_failure *failure);
/* Prints the buffer and a newline. Returns the exit code. */
int kedge_admin_print(const kedge_buffer *buffer);

/* Runs the command. With --audit, a command that changes something is noted in the audit log before
 * it runs and again when it has ended. It is not run when the first line cannot be written. */
int kedge_admin_run_audited(const kedge_environment *environment,
                            const kedge_admin_command *command, const kedge_admin_line *line,
                            int (*run)(const kedge_admin_command *command,
                                       const kedge_admin_line *line));

/* The project that --org and --project name. */
kedge_project kedge_admin_project(const kedge_admin *admin);

/* Sends one request as an administrator. The caller initializes `response->body` as an empty
 * buffer. Returns false when the request was refused, after it has printed the problem. */
bool kedge_admin_request(const kedge_admin *admin, const char *method, const char *path,
                         kedge_bytes query, kedge_bytes body, kedge_api_response *response);

/* Sends `body` to the command's path, and prints the response. */
int kedge_admin_send(const kedge_admin *admin, const char *method, const kedge_buffer *body);
/* Reads a file that holds one JSON value; "-" is the standard input. */
kedge_status kedge_admin_read_value(const char *path, size_t bytes_max, kedge_buffer *text,
                                    kedge_error *error);

/* Reads a number from `least` to `most`; 0 when `text` is NULL. `what` names the option or argument
 * in the error. */
kedge_status kedge_admin_read_number(const char *what, const char *text, int64_t least,
                                     int64_t most, int64_t *number, kedge_error *error);

/* ---- commands ---- */

int kedge_admin_ask(const kedge_admin *admin); /* the request of the command's table row */
int kedge_admin_create_log_project(const kedge_admin *admin);
int kedge_admin_append_log(const kedge_admin *admin);
int kedge_admin_archive_segment(const kedge_admin *admin);
int kedge_admin_truncate_log(const kedge_admin *admin);
int kedge_admin_reprocess_logs(const kedge_admin *admin);
int kedge_admin_put_resource(const kedge_admin *admin);
int kedge_admin_rollback_resource(const kedge_admin *admin);
int kedge_admin_index(const kedge_admin *admin);
int kedge_admin_fork(const kedge_admin *admin);
int kedge_admin_rebase(const kedge_admin *admin);
int kedge_admin_verify(const kedge_admin *admin);
int kedge_admin_retention(const kedge_admin *admin);
int kedge_admin_gc(const kedge_admin *admin);
int kedge_admin_checkpoint(const kedge_admin *admin);
int kedge_admin_export(const kedge_admin *admin);
int kedge_admin_import(const kedge_admin *admin);
int kedge_admin_discard_import(const kedge_admin *admin);
int kedge_admin_delete_project(const kedge_admin *admin);
int kedge_admin_organizations_all(const kedge_admin *admin);
int kedge_admin_usage(const kedge_admin *admin);
int kedge_admin_recount_usage(const kedge_admin *admin);
/* make-keys, token, backup and restore run without a backend and without stores. */
int kedge_admin_make_keys(const kedge_admin *admin);
int kedge_admin_token(const kedge_admin *admin);
int kedge_admin_backup(const kedge_admin *admin);
int kedge_admin_restore(const kedge_admin *admin);
/* Dead letters. */
int kedge_admin_dead_letters(const kedge_admin *admin);
int kedge_admin_redrive(const kedge_admin *admin);
int kedge_admin_redrive_all(const kedge_admin *admin);

#endif
