/* See settings.h. */
#include "backend/resource/settings.h"

#include "common/assert.h"
#include "common/error.h"
#include "common/json.h"

#include <stdio.h>
#include <string.h>

static kedge_bytes name_project(kedge_bytes project, char id[KEDGE_RESOURCE_NAMED_ID])
{
    int size =
        snprintf(id, KEDGE_RESOURCE_NAMED_ID, "project:%.*s", (int)project.size, project.data);
    KEDGE_ASSERT(size > 0 && size < KEDGE_RESOURCE_NAMED_ID);
    return (kedge_bytes){id, (size_t)size};
}

kedge_resource_ref kedge_resource_of_settings(kedge_bytes organization, kedge_bytes project,
                                              char id[KEDGE_RESOURCE_NAMED_ID])
{
    kedge_bytes name = project.size == 0 ? KEDGE_BYTES("organization") : name_project(project, id);
    return (kedge_resource_ref){organization, KEDGE_BYTES(KEDGE_RESOURCE_SETTINGS), name};
}

kedge_resource_ref kedge_resource_of_access(const kedge_project_ref *project,
                                            char id[KEDGE_RESOURCE_NAMED_ID])
{
    return (kedge_resource_ref){project->organization, KEDGE_BYTES(KEDGE_RESOURCE_ACCESS),
                                name_project(project->project, id)};
}

/* ---- values ---- */

static kedge_status fail_access(kedge_error *error)
{
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "access-list-invalid",
                      "an access list is {\"users\":{\"USER\":\"ROLE\", …}}; a user has 1 to %d "
                      "bytes, a role up to %d, and no list gives the role admin",
                      KEDGE_USER_BYTES_MAX, KEDGE_USER_BYTES_MAX);
}

static kedge_status check_access(kedge_bytes value, kedge_error *error)
{
    kedge_bytes key, users, role;
    char text[KEDGE_USER_BYTES_MAX + 1];
    if (kedge_json_type_of(value) != KEDGE_JSON_OBJECT) return fail_access(error);
    kedge_json_iterator members = kedge_json_iterate(value);
    size_t count = 0;
    while (kedge_json_next_member(&members, &key, &users))
        count++;
    if (count != 1 || !kedge_json_member(value, "users", &users) ||
        kedge_json_type_of(users) != KEDGE_JSON_OBJECT) {
        return fail_access(error);
    }
    kedge_json_iterator each = kedge_json_iterate(users);
    while (kedge_json_next_member(&each, &key, &role)) {
        if (!kedge_json_to_chars(key, text, sizeof text) || text[0] == '\0' ||
            kedge_json_type_of(role) != KEDGE_JSON_STRING ||
            !kedge_json_to_chars(role, text, sizeof text) || strcmp(text, "admin") == 0) {
            return fail_access(error);
        }
    }
    return KEDGE_OK;
}

kedge_status kedge_resource_check_kind(kedge_bytes kind, kedge_bytes value, kedge_error *error)
{
    if (kedge_bytes_equal_text(kind, KEDGE_RESOURCE_ACCESS)) return check_access(value, error);
    if (kedge_bytes_equal_text(kind, KEDGE_RESOURCE_SETTINGS) &&
        kedge_json_type_of(value) != KEDGE_JSON_OBJECT) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "settings-invalid",
                          "settings are a JSON object");
    }
    return KEDGE_OK;
}

bool kedge_resource_access_role(kedge_bytes list, const char *user,
                                char role[KEDGE_USER_BYTES_MAX + 1])
{
    kedge_bytes users, value;
    return kedge_json_member(list, "users", &users) && kedge_json_member(users, user, &value) &&
           kedge_json_to_chars(value, role, KEDGE_USER_BYTES_MAX + 1);
}
