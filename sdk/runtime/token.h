/* The bearer token: the app's function gives it on the worker thread, and it is kept until it is
 * refused. */
#ifndef KEDGE_SDK_RUNTIME_TOKEN_H
#define KEDGE_SDK_RUNTIME_TOKEN_H

#include <kedge/database.h>

typedef struct kedge_token {
    kedge_token_function function; /* NULL: requests carry no token */
    void *userdata;
    uint64_t gifts; /* how often the app gave one: two requests with one number had one token */
    bool known;
    char text[KEDGE_TOKEN_BYTES];
    char asked[KEDGE_TOKEN_BYTES]; /* what the app writes */
} kedge_token;

/* What a request carries; NULL: nothing. */
const char *kedge_token_text(const kedge_token *token);

/* Gets a new token from the app, in the place of the present one. KEDGE_UNAUTHORIZED
 * "token-missing", and the present one stays: there is no function, it failed, or its result cannot
 * be a token. */
kedge_status kedge_token_ask(kedge_token *token, kedge_error *error);

/* Wipes it: the server has refused it, or it may be another user's. */
void kedge_token_forget(kedge_token *token);

#endif
