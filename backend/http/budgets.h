/* What one user and one organization may take of a server, so that the rest is left to others.
 *
 * A rate is a bucket of tokens that holds two seconds' worth; what goes beyond is refused until it
 * has filled up again. A level is what is open or held now. Each is counted for the user of a token
 * and for its organization; the smaller one decides. The counts are in the memory of this process.
 * Any thread. */
#ifndef KEDGE_BACKEND_HTTP_BUDGETS_H
#define KEDGE_BACKEND_HTTP_BUDGETS_H

#include "common/environment.h"
#include "common/json.h"

#define KEDGE_BUDGET_ROWS     16384 /* users and organizations that are remembered at once */
#define KEDGE_BUDGET_BURST_S  2     /* a bucket holds what its rate gives in so many seconds */
#define KEDGE_BUDGET_KEY_SIZE 16

/* All organizations together may hold HELD_POOL bytes of bodies and responses. One of them may hold
 * half of what the others leave of it, so that a few do not take all, and HELD_LEAST besides, for
 * its small requests when the others leave nothing. */
#define KEDGE_BUDGET_HELD_POOL  INT64_C(268435456)
#define KEDGE_BUDGET_HELD_LEAST INT64_C(1048576)

#define KEDGE_BUDGET_STRANGER_CONNECTIONS 1024 /* by default */
#define KEDGE_BUDGET_ADDRESS_CONNECTIONS  1024 /* beyond loopback and without a proxy */
#define KEDGE_BUDGET_PROJECTS             10000
#define KEDGE_BUDGET_STORED_BYTES         INT64_C(68719476736)
#define KEDGE_BUDGET_RETRY_MAX_S          600  /* that a refusal asks to wait */
#define KEDGE_BUDGET_LEVEL_RETRY_MS       5000 /* after a level that is used up */

typedef enum kedge_budget {
    KEDGE_BUDGET_REQUESTS, /* a second */
    KEDGE_BUDGET_BYTES,    /* a second, of bodies and responses */
    KEDGE_BUDGET_STREAMS,
    KEDGE_BUDGET_TICKETS, /* issued and not used */
    KEDGE_BUDGET_CONNECTIONS,
    KEDGE_BUDGET_HELD, /* bytes of bodies and responses, of all sizes */
    KEDGE_BUDGETS
} kedge_budget;

typedef enum kedge_budget_scope {
    KEDGE_BUDGET_OF_USER,
    KEDGE_BUDGET_OF_ORGANIZATION,
    KEDGE_BUDGET_SCOPES
} kedge_budget_scope;

/* 0: no limit. */
typedef struct kedge_budget_limits {
    int64_t of[KEDGE_BUDGETS][KEDGE_BUDGET_SCOPES];
    int64_t address_connections;  /* open at once from one address; of IPv6, from one /64 */
    int64_t stranger_connections; /* open at once that have shown no token yet */
    /* Of an organization over all servers: the backend counts them (backend/versioned/usage). */
    int64_t projects;
    int64_t stored_bytes;
} kedge_budget_limits;

/* Whose budgets: hashes of the organization, and of it and the user. */
typedef struct kedge_budget_owner {
    uint8_t of[KEDGE_BUDGET_SCOPES][KEDGE_BUDGET_KEY_SIZE];
} kedge_budget_owner;

/* A budget that is used up. */
typedef struct kedge_budget_refusal {
    const char *name; /* NULL: not one of the owner's, but the server's own */
    kedge_budget_scope scope;
    int64_t limit;
    int32_t retry_after_s;
} kedge_budget_refusal;

typedef struct kedge_budgets kedge_budgets;

/* The rows in which an owner's requests are counted: that of its user and that of its organization.
 * All zeros: an account of nobody, in which nothing is counted. */
typedef struct kedge_budget_account {
    kedge_budgets *budgets;
    uint32_t row[KEDGE_BUDGET_SCOPES];
} kedge_budget_account;

/* Those of kedge-server. In open mode everybody is one user, and only connections of strangers are
 * limited. */
kedge_budget_limits kedge_budget_limits_default(bool open);
/* "user_event_streams=64". KEDGE_INVALID_ARGUMENT "budget-invalid" says what is allowed. */
kedge_status kedge_budget_limits_parse(const char *text, kedge_budget_limits *limits,
                                       kedge_error *error);
/* Their names and values as a JSON object: what GET /v1/limits tells. */
void kedge_budget_limits_write(const void *limits, kedge_json_writer *writer);
const char *kedge_budget_name(kedge_budget budget, kedge_budget_scope scope);

kedge_budgets *kedge_budgets_new(const kedge_environment *environment,
                                 const kedge_budget_limits *limits); /* NULL: no memory */
void kedge_budgets_free(kedge_budgets *budgets);
const kedge_budget_limits *kedge_budgets_limits(const kedge_budgets *budgets);

kedge_budget_owner kedge_budget_owner_of(const char *organization, const char *user);
/* The owner's account, to be released. False: too many users at once. */
bool kedge_budgets_open(kedge_budgets *budgets, const kedge_budget_owner *owner,
                        kedge_budget_account *account);
/* A second account of the same owner. */
kedge_budget_account kedge_budget_account_keep(const kedge_budget_account *account);
void kedge_budget_account_release(kedge_budget_account *account); /* makes it nobody's */

/* Takes one request of the rates. False, and nothing is taken, when a bucket is empty. */
bool kedge_budget_begin(const kedge_budget_account *account, kedge_budget_refusal *refusal);
/* Takes bytes of the rates. A bucket that has fewer is overdrawn, and requests are refused until it
 * has filled up again. */
void kedge_budget_charge(const kedge_budget_account *account, size_t bytes);
/* Takes `count` of a level, to be given back. False, and nothing is taken, when it is used up. */
bool kedge_budget_take(const kedge_budget_account *account, kedge_budget level, size_t count,
                       kedge_budget_refusal *refusal);
void kedge_budget_give(const kedge_budget_account *account, kedge_budget level, size_t count);
/* Count a refusal by a budget that is counted elsewhere; the name is one of the backend's. */
void kedge_budgets_refused(kedge_budgets *budgets, kedge_budget budget, kedge_budget_scope scope);
void kedge_budgets_refused_named(kedge_budgets *budgets, const char *name);
/* Appends Prometheus text: refusals by budget. */
void kedge_budgets_write_metrics(kedge_budgets *budgets, kedge_buffer *out);

#endif
