/* The audit log of kedge-admin: what changes something, or gives out all that there is, is noted
 * before it is done and afterwards. */
#include "backend/admin/verbs.h"
#include "backend/front/audit.h"
#include "common/error.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool only_looks(const kedge_admin_command *command, const kedge_admin_line *line)
{
    if (command->method != NULL) return strcmp(command->method, "GET") == 0;
    if ((command->traits & KEDGE_ADMIN_LOOKS_UNLESS_TOLD) != 0)
        return !line->repair && !line->remove;
    return (command->traits & KEDGE_ADMIN_LOOKS) != 0;
}

static bool note(kedge_audit *audit, const kedge_admin_command *command,
                 const kedge_admin_line *line, const char *outcome, const char *detail)
{
    char user[64];
    snprintf(user, sizeof user, "uid %ld, process %ld", (long)getuid(), (long)getpid());
    const kedge_audit_entry entry = {.what = command->name,
                                     .user = user,
                                     .organization = line->organization,
                                     .project = line->project,
                                     .words = line->arguments,
                                     .word_count = line->argument_count,
                                     .outcome = outcome,
                                     .detail = detail};
    return kedge_audit_act(audit, &entry);
}

int kedge_admin_run_audited(const kedge_environment *environment,
                            const kedge_admin_command *command, const kedge_admin_line *line,
                            int (*run)(const kedge_admin_command *command,
                                       const kedge_admin_line *line))
{
    kedge_error error = {0};
    kedge_audit *audit = NULL;
    char code_text[32] = "";
    if (line->audit == NULL || only_looks(command, line)) return run(command, line);
    if (kedge_audit_open(environment, line->audit, &audit, &error) != KEDGE_OK)
        return kedge_admin_complain(&error);
    if (!note(audit, command, line, "begun", line->user)) {
        kedge_audit_close(audit);
        kedge_fail(&error, KEDGE_IO, "audit-failed",
                   "cannot write the audit log %s: nothing is done", line->audit);
        return kedge_admin_complain(&error);
    }
    int code = run(command, line);
    if (code != 0) snprintf(code_text, sizeof code_text, "exit code %d", code);
    note(audit, command, line, code == 0 ? "done" : "failed", code == 0 ? line->user : code_text);
    kedge_audit_close(audit);
    return code;
}
