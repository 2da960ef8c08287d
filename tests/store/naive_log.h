/* What the naive server does for a log project: it keeps the mutations of each version, and a pull
 * gets those in the place of a patch. States and outcomes are kept as for any project; so they are
 * the oracle of the clients, which replay. Private to naive_server.c and naive_log.c. */
#ifndef KEDGE_TESTS_STORE_NAIVE_LOG_H
#define KEDGE_TESTS_STORE_NAIVE_LOG_H

#include "common/json.h"
#include "tests/store/naive_server.h"

typedef struct naive_pull {
    char client[64];
    char lineage[33];
    int64_t from;
    int64_t lowest;
    int64_t highest;
    bool first; /* a null cookie */
    bool lost;
} naive_pull;

/* naive_server.c: the outcomes at `version`. */
void naive_write_outcomes(kedge_json_writer *writer, const naive_server *server, const char *client,
                          int64_t low, int64_t high);
void naive_write_pair(kedge_json_writer *writer, const char *name, const char *order,
                      int64_t version, const char *lineage);
kedge_overlay *naive_load(const char *state);
bool naive_is_retired(const naive_server *server, const char *client);

/* Whether the server knows the outcome: it was decided at the append, or a snapshot has the version
 * `by`. */
bool naive_log_knows(const naive_server *server, const naive_outcome *outcome, int64_t by);
/* The next version of the log gets this mutation, too. */
void naive_log_append(naive_server *server, kedge_bytes mutation, const naive_outcome *outcome);
/* The log's next entry is complete. */
void naive_log_close_entry(naive_server *server);
void naive_log_pull(naive_server *server, const naive_pull *asked, kedge_buffer *response);

#endif
