/* The two ways in which a version becomes the latest one: in a transaction (transaction.c), and
 * record by record in the article's order (in_order.c).
 *
 * Each call is one try. KEDGE_CONFLICT: another writer came first, or may have; KEDGE_UNAVAILABLE:
 * it may or may not have happened. In both cases the caller loads the head again. */
#ifndef KEDGE_BACKEND_RESOURCE_COMMIT_H
#define KEDGE_BACKEND_RESOURCE_COMMIT_H

#include "backend/resource/head.h"

/* Makes `next` the latest version in place of `head`; its number is one above every version there
 * was. */
kedge_status kedge_resource_commit_transaction(kedge_backend *backend,
                                               const kedge_resource_ref *ref,
                                               const kedge_resource_head *head,
                                               const kedge_resource *next, kedge_error *error);
kedge_status kedge_resource_commit_in_order(kedge_backend *backend, const kedge_resource_ref *ref,
                                            const kedge_resource_head *head,
                                            const kedge_resource *next, kedge_error *error);

/* Deletes the latest version, which is `head`. */
kedge_status kedge_resource_remove_transaction(kedge_backend *backend,
                                               const kedge_resource_ref *ref,
                                               const kedge_resource_head *head, kedge_error *error);
kedge_status kedge_resource_remove_in_order(kedge_backend *backend, const kedge_resource_ref *ref,
                                            const kedge_resource_head *head, kedge_error *error);

/* The condition that the latest record is still `head`. */
void kedge_resource_if_head(const kedge_resource_head *head, kedge_record_write *write);

#endif
