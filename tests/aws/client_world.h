/* A client of AWS against a server that answers as a test tells it to, or against real engines. */
#ifndef KEDGE_TESTS_AWS_CLIENT_WORLD_H
#define KEDGE_TESTS_AWS_CLIENT_WORLD_H

#include "backend/aws/client.h"
#include "tests/support/scripted_server.h"

#include <pthread.h>

#define SCRIPT_MAX    64
#define REPLY_LATE_MS 400

/* One response of the script. */
typedef struct scripted_reply {
    int status;          /* 0: as `action` says */
    const char *headers; /* lines that end in CRLF, or NULL */
    const char *body;    /* or NULL */
    enum {
        REPLY_WHOLE,
        REPLY_HANG,       /* never answers */
        REPLY_LATE,       /* answers after REPLY_LATE_MS */
        REPLY_CUT,        /* ends in the middle of the body */
        REPLY_CLOSE,      /* closes without a response */
        REPLY_CLOSE_AFTER /* answers, and closes the connection */
    } action;
} scripted_reply;

/* A client with its server. The script's responses go out in order, the last one for ever. */
typedef struct client_world {
    kedge_environment environment;
    int64_t clock_ahead_ms; /* of this machine's wall clock before the system's */
    bool no_pauses;         /* the random part of every backoff is 0 */
    const char *token;      /* the session token of the environment, or NULL */
    const char *next_token; /* the same, once a request was answered */
    kedge_aws_credentials_provider *credentials;
    kedge_aws_client *client;
    scripted_server *server;
    pthread_mutex_t mutex;
    scripted_reply script[SCRIPT_MAX];
    size_t script_size;
    size_t answered;
    char requests[SCRIPT_MAX][4096]; /* the heads of the first ones */
    char bodies[SCRIPT_MAX][4096];   /* the beginnings of their bodies */
    /* The last observation, and how many there were. */
    char observed_action[64];
    char observed_code[96];
    int observed_status;
    uint32_t observed_tries;
    uint32_t observed;
} client_world;

void client_world_begin(client_world *world, const scripted_reply *script, size_t script_size);
void client_world_end(client_world *world);
/* Starts a client anew with options of the test's own; endpoints that are NULL are the server's. */
void client_world_open(client_world *world, kedge_aws_client_options options);

/* A small request of each service: GetItem, PutItem, GetObject, PutObject, SendMessage. */
kedge_aws_request request_for(kedge_aws_service service, const char *action);

#define BEGIN(world, ...)                                                                          \
    do {                                                                                           \
        const scripted_reply script_[] = {__VA_ARGS__};                                            \
        client_world_begin(world, script_, sizeof script_ / sizeof script_[0]);                    \
    } while (0)

#endif
