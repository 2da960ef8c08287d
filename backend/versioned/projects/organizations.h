/* The organizations that have a project: a marker each, in partitions that are queried in turn,
 * because the records port has no scan.
 *
 *   Organizations#{2 digits}    {organization}    token (text): random, of the transaction that
 *                                                 put it last
 *
 * Each transaction that puts a project's record puts the marker, too, with a new token. So whoever
 * removes a marker on the condition that its token is the one that was read knows that no project
 * came meanwhile. */
#ifndef KEDGE_BACKEND_PROJECTS_ORGANIZATIONS_H
#define KEDGE_BACKEND_PROJECTS_ORGANIZATIONS_H

#include "backend/base/project.h"
#include "backend/ports/records.h"
#include "backend/versioned/model/layout.h"

typedef struct kedge_organization_marker {
    kedge_key partition;
    kedge_attribute token;
} kedge_organization_marker;

/* The put of a marker, for a transaction. `token` is text that no other transaction has used; both
 * texts and `*memory` are borrowed until it is carried out. */
kedge_record_write kedge_organization_mark(kedge_bytes organization, const char *token,
                                           kedge_organization_marker *memory);
/* Removes the marker of the project's organization, unless it has a project. */
kedge_status kedge_organization_unmark(const kedge_project *project, kedge_error *error);
/* Whether there is a marker, by a consistent read. */
kedge_status kedge_organization_is_marked(const kedge_project *project, bool *marked,
                                          kedge_error *error);
/* Puts a marker that is missing. `lineage` is that of the project's record; nothing is put when
 * the project is not there any more. */
kedge_status kedge_organization_mark_again(const kedge_project *project, const char *lineage,
                                           kedge_error *error);

typedef kedge_status (*kedge_organization_visit)(void *context, kedge_bytes organization,
                                                 kedge_error *error);
/* The organizations after `after`, by name, at most `limit`; `*more` when there are more. */
kedge_status kedge_organization_list(kedge_backend *backend, kedge_bytes after, uint32_t limit,
                                     kedge_organization_visit visit, void *context, bool *more,
                                     kedge_error *error);

#endif
