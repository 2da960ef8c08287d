/* Commands that write a version of a resource. */
#include "backend/admin/verbs.h"
#include "backend/versioned/model/layout.h"
#include "common/error.h"
#include "wire/resource.h"

#define FILE_BYTES_MAX ((size_t)4 * KEDGE_LIMIT_RESOURCE_BYTES) /* with its white space */
#define VERSION_MAX    KEDGE_VERSION_NUMBER_MAX                 /* of a resource, as of a project */

static kedge_status read_edit(const kedge_admin *admin, kedge_wire_resource_edit *edit,
                              kedge_error *error)
{
    kedge_random_hex(admin->environment, (KEDGE_WIRE_RESOURCE_UID_SIZE - 1) / 2, edit->uid);
    return kedge_admin_read_number("--expected", admin->line->expected, 1, VERSION_MAX,
                                   &edit->expected, error);
}

/* ---- commands ---- */

int kedge_admin_put_resource(const kedge_admin *admin)
{
    kedge_error error = {0};
    kedge_wire_resource_put put;
    kedge_buffer text = kedge_buffer_make(admin->allocator);
    kedge_buffer body = kedge_buffer_make(admin->allocator);
    kedge_status status = read_edit(admin, &put.edit, &error);
    if (status == KEDGE_OK)
        status = kedge_admin_read_value(admin->line->arguments[2], FILE_BYTES_MAX, &text, &error);
    int code = KEDGE_ADMIN_NO_RESPONSE;
    if (status == KEDGE_OK) {
        put.value = kedge_buffer_bytes(&text);
        kedge_wire_resource_put_write(&put, &body);
        code = kedge_admin_send(admin, "PUT", &body);
    } else {
        code = kedge_admin_complain(&error);
    }
    kedge_buffer_free(&text);
    kedge_buffer_free(&body);
    return code;
}

int kedge_admin_rollback_resource(const kedge_admin *admin)
{
    kedge_error error = {0};
    kedge_wire_resource_rollback rollback;
    kedge_status status = read_edit(admin, &rollback.edit, &error);
    if (status == KEDGE_OK)
        status =
            kedge_admin_read_number("--to", admin->line->to, 1, VERSION_MAX, &rollback.to, &error);
    if (status == KEDGE_OK && rollback.to == 0) {
        status = kedge_fail(&error, KEDGE_INVALID_ARGUMENT, "usage", "%s needs --to V",
                            admin->command->name);
    }
    if (status != KEDGE_OK) return kedge_admin_complain(&error);
    kedge_buffer body = kedge_buffer_make(admin->allocator);
    kedge_wire_resource_rollback_write(&rollback, &body);
    int code = kedge_admin_send(admin, "POST", &body);
    kedge_buffer_free(&body);
    return code;
}
