/* The command delete-project, which asks before it deletes. */
#include "backend/admin/verbs.h"
#include "backend/jobs/delete.h"
#include "common/error.h"
#include "common/json.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ANSWER_SIZE 256

/* Asks for the project's name on the terminal. Any other answer is a refusal. */
static kedge_status confirm(const kedge_admin_line *line, kedge_error *error)
{
    char answer[ANSWER_SIZE] = "";
    if (line->yes) return KEDGE_OK;
    if (!isatty(STDIN_FILENO)) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "usage",
                          "delete-project needs --yes, or a terminal to ask on");
    }
    fprintf(stderr,
            "This removes the project %s of %s for good. Type its name to go on: ", line->project,
            line->organization);
    if (fgets(answer, sizeof answer, stdin) != NULL) answer[strcspn(answer, "\n")] = '\0';
    if (strcmp(answer, line->project) == 0) return KEDGE_OK;
    return kedge_fail(error, KEDGE_CANCELLED, "not-confirmed", "nothing was removed");
}

int kedge_admin_delete_project(const kedge_admin *admin)
{
    kedge_error error = {0};
    kedge_project project = kedge_admin_project(admin);
    kedge_status status = confirm(admin->line, &error);
    if (status == KEDGE_OK) status = kedge_project_delete(&project, &error);
    if (status != KEDGE_OK) return kedge_admin_complain(&error);
    kedge_buffer text = kedge_buffer_make(admin->allocator);
    kedge_json_writer writer = kedge_json_write(&text);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "deleted");
    kedge_json_chars(&writer, admin->line->project);
    kedge_json_end_object(&writer);
    int code = kedge_admin_print(&text);
    kedge_buffer_free(&text);
    return code;
}
