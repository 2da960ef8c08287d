/* Clients as a version sees them: last mutation ids, outcomes, groups. All results are those of the
 * given version: rows of later versions and of other lineages are ignored. */
#ifndef KEDGE_BACKEND_INDEX_CLIENTS_H
#define KEDGE_BACKEND_INDEX_CLIENTS_H

#include "backend/base/project.h"
#include "backend/versioned/versions/versions.h"

/* Client ids under which the backend itself applies mutations (rebase.h). For all users such a
 * client does not exist. */
#define KEDGE_CLIENT_RESERVED "rebase-"
bool kedge_client_is_reserved(kedge_bytes client);

typedef struct kedge_client_state {
    bool known; /* it has a decided mutation, or it was retired */
    bool retired;
    int64_t lmid;
    char group[KEDGE_LIMIT_CLIENT_ID_BYTES + 1];
    char user[KEDGE_USER_BYTES_MAX + 1];
} kedge_client_state;

kedge_status kedge_client_load(const kedge_project *project, const kedge_version *at,
                               kedge_bytes client, kedge_client_state *state, kedge_error *error);

/* The decided mutations of a client with from <= id <= to, in id order, at most `limit`; `*next`
 * the id to go on from, or 0. The mutation is borrowed during the callback; `version` is the one
 * that decided. */
typedef kedge_status (*kedge_mutation_visit)(void *context, int64_t version,
                                             const kedge_version_mutation *mutation,
                                             kedge_error *error);
kedge_status kedge_client_mutations(const kedge_project *project, const kedge_version *at,
                                    kedge_bytes client, int64_t from, int64_t to, uint32_t limit,
                                    kedge_mutation_visit visit, void *context, int64_t *next,
                                    kedge_error *error);

/* The clients of a group whose lmid changed after version `since` (0: all of
 * them), by client id. */
typedef kedge_status (*kedge_client_visit)(void *context, kedge_bytes client, int64_t lmid,
                                           kedge_error *error);
kedge_status kedge_group_clients(const kedge_project *project, const kedge_version *at,
                                 kedge_bytes group, int64_t since, kedge_client_visit visit,
                                 void *context, kedge_error *error);

#endif
