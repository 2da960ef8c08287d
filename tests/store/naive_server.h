/* A server in a few naive structures: every version's whole state, every outcome ever. It speaks
 * the wire in both directions, so that the store is tested with real bodies through the real
 * decoder. It asserts instead of answering errors. */
#ifndef KEDGE_TESTS_STORE_NAIVE_SERVER_H
#define KEDGE_TESTS_STORE_NAIVE_SERVER_H

#include "common/environment.h"
#include "common/hash.h"
#include "mutate/transaction.h"

#define NAIVE_VERSIONS 4096

typedef struct naive_outcome {
    char client[64];
    int64_t id;
    int64_t version;
    char digest[KEDGE_DIGEST_HEX];
    char origin_client[64];
    int64_t origin_id;
    char decision[16];
    char code[64];
    char message[256];
    int64_t
        first_version; /* of a duplicate: where the first one was decided; otherwise `version` */
} naive_outcome;

typedef struct naive_server {
    const kedge_environment *environment;
    const kedge_registry *registry;
    int64_t version;
    char *states[NAIVE_VERSIONS]; /* as store_dump writes them */
    char lineages[NAIVE_VERSIONS][33];
    naive_outcome *outcomes;
    size_t outcome_count;
    size_t outcome_capacity;
    int64_t edits; /* by somebody else */
    char retired[64][64];
    size_t retired_count;
    bool paged;                    /* first pulls get a snapshot to page through */
    bool log;                      /* a log project: pulls get mutations to replay (naive_log.c) */
    char *entries[NAIVE_VERSIONS]; /* the mutations of each version */
    kedge_buffer open_entry;
    int64_t snapshot;     /* the version of the last one; 0: none */
    uint32_t entries_max; /* in one response */
    bool reads_seen;      /* the member `seen` of a pull; otherwise it is an older server */
    uint32_t page_items;
} naive_server;

typedef enum naive_response {
    NAIVE_OK,
    NAIVE_RETIRED,
    NAIVE_MISMATCH,
    NAIVE_UNKNOWN,
    NAIVE_GAP
} naive_response;

naive_server *naive_server_new(const kedge_environment *environment,
                               const kedge_registry *registry);
void naive_server_free(naive_server *server);
naive_response naive_server_push(naive_server *server, kedge_bytes body);
void naive_server_pull(naive_server *server, kedge_bytes body, kedge_buffer *response);
void naive_server_page(naive_server *server, int64_t version, kedge_bytes after,
                       kedge_buffer *response);
void naive_server_retire(naive_server *server, const char *client, int64_t lowest,
                         kedge_buffer *response);
/* An edit by somebody else: a version with one call. */
void naive_server_edit(naive_server *server, const char *name, const char *args);
/* A backup of version `version` is put back: what came later has never been. */
void naive_server_restore(naive_server *server, int64_t version);
int64_t naive_server_lmid(const naive_server *server, const char *client, int64_t version);
/* The hash of the state at a version. */
void naive_log_hash(const naive_server *server, int64_t version, char hex[KEDGE_SHA256_HEX]);
const naive_outcome *naive_server_outcome(const naive_server *server, const char *client,
                                          int64_t id);

#endif
