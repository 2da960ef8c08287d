/* The audit log: administrative changes and refused requests, with their users. One JSON object a
 * line:
 *
 *   {"time": ms, "what": "refused", "status": 401, "code": "token-expired", "user": "ann", ...}
 *
 * It is a file that only its user can read, or the standard error. Each line is appended in one
 * write, so that several processes may share the file. After an incomplete line, also one from
 * before the file was opened, a new line is begun. Changes are always written. Any peer can cause
 * refusals, so each status has an allowance of lines (allowance.h), and a later line says how many
 * were omitted. So peers can neither fill the disk nor hide refusals with another status. Any
 * thread. */
#ifndef KEDGE_BACKEND_FRONT_AUDIT_H
#define KEDGE_BACKEND_FRONT_AUDIT_H

#include "common/environment.h"

#define KEDGE_AUDIT_TEXT_BYTES 256 /* of a field; the rest is cut off */
#define KEDGE_AUDIT_WORDS      8

/* NULL or 0: the line has no such field. */
typedef struct kedge_audit_entry {
    const char *what;
    int status; /* of the response */
    const char *code;
    const char *user;
    const char *role;
    const char *organization;
    const char *project;
    const char *address;
    const char *request; /* its name, which the response has, too */
    const char *method;
    kedge_bytes path;         /* without the query */
    const char *const *words; /* of a command */
    size_t word_count;
    const char *outcome;
    const char *detail;
} kedge_audit_entry;

typedef struct kedge_audit kedge_audit;

/* `path`: "-" is the standard error. KEDGE_IO "audit-failed". */
kedge_status kedge_audit_open(const kedge_environment *environment, const char *path,
                              kedge_audit **audit, kedge_error *error);
/* Opens the file again, since it may have been renamed. After an error the file from before stays
 * in use. */
kedge_status kedge_audit_reopen(kedge_audit *audit, kedge_error *error);
/* With NULL this, kedge_audit_reopen, kedge_audit_act and kedge_audit_refusal do nothing. */
void kedge_audit_close(kedge_audit *audit);
/* False: the line could not be written. */
bool kedge_audit_act(kedge_audit *audit, const kedge_audit_entry *entry);
/* Sets `what`. */
void kedge_audit_refusal(kedge_audit *audit, const kedge_audit_entry *entry);
void kedge_audit_write_metrics(kedge_audit *audit, kedge_buffer *out);

#endif
