/* The head of a resource: its latest record, and the newest version of its history. */
#ifndef KEDGE_BACKEND_RESOURCE_HEAD_H
#define KEDGE_BACKEND_RESOURCE_HEAD_H

#include "backend/resource/row.h"

typedef struct kedge_resource_head {
    bool present;       /* there is a record among the latest ones */
    bool deleted;       /* that record says that its version was deleted */
    kedge_resource row; /* that record, with its memory; version 0: there is none */
} kedge_resource_head;

/* By a consistent read. Free head->row. */
kedge_status kedge_resource_head_load(kedge_backend *backend, const kedge_resource_ref *ref,
                                      kedge_resource_head *head, kedge_error *error);
/* The version that can be read as the latest; 0: none. */
int64_t kedge_resource_head_latest(const kedge_resource_head *head);

/* Version `version` of the history. KEDGE_NOT_FOUND without a code: there is none, or it is still
 * open. Free it. */
kedge_status kedge_resource_history_get(kedge_backend *backend, const kedge_resource_ref *ref,
                                        int64_t version, kedge_resource *row, kedge_error *error);
/* The newest version of the history that is not open, for a resource that has no latest one;
 * `row->version` 0: there is none. Free it. */
kedge_status kedge_resource_history_newest(kedge_backend *backend, const kedge_resource_ref *ref,
                                           kedge_resource *row, kedge_error *error);

#endif
