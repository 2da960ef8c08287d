/* From the login of an app to the option `token`. */
#include <kedge/kedge.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Who is logged in. The app writes it, and Kedge's thread reads it. */
typedef struct login {
    pthread_mutex_t lock;
    char token[KEDGE_TOKEN_BYTES]; /* "": nobody is logged in */
    const char *user, *role;       /* the token's `sub` and `role` */
} login;

kedge_status open_logged_in(kedge_options *options, login *who, kedge_db **db, kedge_error *error);
bool must_log_in(const kedge_sync_status *status);
kedge_status logged_in(kedge_db *db, login *who, const char *token, kedge_error *error);

/* The option `token`. An app that can renew a token asks its login service here. */
static kedge_status give_token(void *userdata, char *buffer, size_t buffer_size)
{
    login *who = userdata;
    kedge_status status = KEDGE_UNAUTHORIZED; /* there is none */
    pthread_mutex_lock(&who->lock);
    size_t size = strlen(who->token);
    if (size > 0 && size < buffer_size) {
        memcpy(buffer, who->token, size + 1);
        status = KEDGE_OK;
    }
    pthread_mutex_unlock(&who->lock);
    return status;
}

/* `who` must live until kedge_close has returned. */
kedge_status open_logged_in(kedge_options *options, login *who, kedge_db **db, kedge_error *error)
{
    options->token = give_token;
    options->userdata = who;
    options->user = who->user;
    options->role = who->role;
    return kedge_open(options, db, error);
}

/* Call it where the app watches the status: kedge_watch_sync_status. */
bool must_log_in(const kedge_sync_status *status)
{
    return status->connection == KEDGE_STOPPED && status->last_error.status == KEDGE_UNAUTHORIZED;
}

/* The same user has logged in again. */
kedge_status logged_in(kedge_db *db, login *who, const char *token, kedge_error *error)
{
    pthread_mutex_lock(&who->lock);
    snprintf(who->token, sizeof who->token, "%s", token);
    pthread_mutex_unlock(&who->lock);
    return kedge_set_online(db, true, error);
}
