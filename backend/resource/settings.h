/* Kinds that Kedge itself gives a meaning: settings and access lists.
 *
 *   kind       id                 value
 *   settings   organization       any object: the settings of the organization
 *   settings   project:{project}  any object: the settings of the project
 *   access     project:{project}  {"users":{"{user}":"{role}", …}}: the access list of the project
 *
 * Any other kind belongs to the apps, and its values are any JSON. */
#ifndef KEDGE_BACKEND_RESOURCE_SETTINGS_H
#define KEDGE_BACKEND_RESOURCE_SETTINGS_H

#include "backend/resource/resource.h"

#define KEDGE_RESOURCE_SETTINGS "settings"
#define KEDGE_RESOURCE_ACCESS   "access"

#define KEDGE_RESOURCE_NAMED_ID (KEDGE_LIMIT_NAME_BYTES + 16) /* with a NUL */

/* The settings of an organization (`project` empty) or of a project; `id` is where ref->id points
 * to. */
kedge_resource_ref kedge_resource_of_settings(kedge_bytes organization, kedge_bytes project,
                                              char id[KEDGE_RESOURCE_NAMED_ID]);
/* The access list of a project. */
kedge_resource_ref kedge_resource_of_access(const kedge_project_ref *project,
                                            char id[KEDGE_RESOURCE_NAMED_ID]);

/* The value, a checked JSON text, is one that the kind may have: KEDGE_INVALID_ARGUMENT
 * "settings-invalid" or "access-list-invalid" otherwise. */
kedge_status kedge_resource_check_kind(kedge_bytes kind, kedge_bytes value, kedge_error *error);

/* The role that an access list gives a user. False: the list does not name the user. */
bool kedge_resource_access_role(kedge_bytes list, const char *user,
                                char role[KEDGE_USER_BYTES_MAX + 1]);

#endif
