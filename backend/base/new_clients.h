/* Limits how many new client ids a user may begin to use: a bucket of tokens for each user of an
 * organization.
 *
 * Every client id leaves rows and a place in each pull of its group for ever. A client whose
 * outbox is damaged, or a program that is wrong, could make them without end. The buckets are in
 * the memory of this process; a bucket that was forgotten counts as full. Any thread. */
#ifndef KEDGE_BACKEND_BASE_NEW_CLIENTS_H
#define KEDGE_BACKEND_BASE_NEW_CLIENTS_H

#include "common/environment.h"

#include <pthread.h>

/* So many users are remembered at once. The one with the fullest bucket among the WAYS that share a
 * place is forgotten first. */
#define KEDGE_NEW_CLIENTS_SETS 1024
#define KEDGE_NEW_CLIENTS_WAYS 4

#define KEDGE_NEW_CLIENTS_PER_MINUTE_MAX     1000000
#define KEDGE_NEW_CLIENTS_PER_MINUTE_DEFAULT 600 /* of kedge-server: per user */

typedef struct kedge_client_bucket {
    uint64_t user;  /* hash of organization and user; 0: free */
    int64_t millis; /* thousandths of a token; below 0 after a push of very many clients */
    int64_t at_ms;  /* when that was so; monotonic */
} kedge_client_bucket;

typedef struct kedge_new_clients {
    const kedge_environment *environment;
    int64_t per_minute; /* 0: no limit, and no buckets */
    pthread_mutex_t lock;
    kedge_client_bucket *buckets;
} kedge_new_clients;

kedge_status kedge_new_clients_open(kedge_new_clients *limit, const kedge_environment *environment,
                                    int64_t per_minute, kedge_error *error);
void kedge_new_clients_close(kedge_new_clients *limit);

/* Takes `count` tokens of the user. False: there are too few, and none was taken; there will be
 * enough in `*wait_ms`. When `count` is more than a bucket holds, a full bucket is enough, and then
 * goes below 0. */
bool kedge_new_clients_take(kedge_new_clients *limit, kedge_bytes organization, const char *user,
                            size_t count, int64_t *wait_ms);

#endif
