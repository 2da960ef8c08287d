/* Projects of organizations, and the inverted index from a project to its organizations. */
#ifndef KEDGE_BACKEND_PROJECTS_PROJECTS_H
#define KEDGE_BACKEND_PROJECTS_PROJECTS_H

#include "backend/base/project.h"
#include "backend/versioned/versions/versions.h"

typedef struct kedge_project_found {
    int64_t created_ms;
    kedge_project_kind kind;
} kedge_project_found;

/* The code of KEDGE_CONFLICT while an import is under way under the name, or a project of it is
 * half deleted. */
#define KEDGE_PROJECT_NAME_TAKEN "import-under-way"

/* `*created` tells whether it is new. Idempotent; a project keeps the kind that it was created
 * with, which `*found` tells. KEDGE_CONFLICT KEDGE_PROJECT_NAME_TAKEN. */
kedge_status kedge_project_create_kind(const kedge_project *project, kedge_project_kind kind,
                                       bool *created, kedge_project_found *found,
                                       kedge_error *error);
/* The same of the kind `versions`. KEDGE_CONFLICT "project-kind": there is one of another kind. */
kedge_status kedge_project_create(const kedge_project *project, bool *created, int64_t *created_ms,
                                  kedge_error *error);
/* KEDGE_CONFLICT KEDGE_PROJECT_NAME_TAKEN: no project of this name can be created now. */
kedge_status kedge_project_check_name(const kedge_project *project, kedge_error *error);
/* The kind of a project, by a consistent read unless this process knows it. KEDGE_NOT_FOUND. */
kedge_status kedge_project_find_kind(const kedge_project *project, kedge_project_kind *kind,
                                     kedge_error *error);
/* The same by a read in any case: before a project is made, since one that this process knows may
 * have been deleted, and its name taken anew. */
kedge_status kedge_project_read_kind(const kedge_project *project, kedge_project_kind *kind,
                                     kedge_error *error);

typedef kedge_status (*kedge_project_visit)(void *context, kedge_bytes name,
                                            const kedge_project_found *found, kedge_error *error);
/* The projects of an organization after `after`, by name, at most `limit`; `*more` when there are
 * more. */
kedge_status kedge_project_list(kedge_backend *backend, kedge_bytes organization, kedge_bytes after,
                                uint32_t limit, kedge_project_visit visit, void *context,
                                bool *more, kedge_error *error);
/* The organizations that have a project of this name. */
kedge_status kedge_project_organizations(kedge_backend *backend, kedge_bytes project,
                                         kedge_project_visit visit, void *context,
                                         kedge_error *error);

#endif
