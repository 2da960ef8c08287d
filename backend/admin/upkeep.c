/* Commands that look after what a project keeps: each is a job that prints lines. */
#include "backend/admin/verbs.h"
#include "backend/jobs/verify.h"
#include "common/error.h"

#include <stdio.h>

static kedge_status print_line(void *context, kedge_bytes line, kedge_error *error)
{
    (void)context;
    if (fwrite(line.data, 1, line.size, stdout) == line.size && putchar('\n') != EOF) {
        return KEDGE_OK;
    }
    return kedge_fail(error, KEDGE_IO, "output-failed", "the lines could not be written");
}

static const kedge_lines printed = {print_line, NULL};

/* The exit code of a job that has ended. */
static int end(kedge_status status, const kedge_error *error)
{
    if (status != KEDGE_OK) return kedge_admin_complain(error);
    if (fflush(stdout) == 0) return 0;
    fputs("kedge-admin: the answer could not be written\n", stderr);
    return KEDGE_ADMIN_NO_ANSWER;
}

int kedge_admin_verify(const kedge_admin *admin)
{
    kedge_error error = {0};
    kedge_verify_summary summary;
    kedge_project_ref ref = kedge_admin_project(admin);
    kedge_status status = kedge_verify_project(admin->backend, &ref, &printed, &summary, &error);
    int code = end(status, &error);
    return code == 0 && summary.findings > 0 ? KEDGE_ADMIN_FINDINGS : code;
}
