/* The driver over a real store in a folder of its own, with a transport that only writes down what
 * is sent: the test answers as the server. Time moves by the test's calls. */
#ifndef KEDGE_TESTS_CORE_SCRIPTED_H
#define KEDGE_TESTS_CORE_SCRIPTED_H

#include "sdk/driver/driver.h"

#define LINEAGE "0123456789abcdef0123456789abcdef"

typedef struct sent_request {
    uint64_t number; /* 0: none is running */
    char method[8];
    char path[512];
    char token[64];
    char body[4096];
    char url[512];     /* "": the server's own */
    char headers[256]; /* of a request elsewhere: "name: value\n" each */
} sent_request;

typedef struct scripted {
    char folder[64];
    kedge_environment store_environment;
    kedge_environment environment; /* of the driver */
    kedge_registry *registry;
    kedge_store *store;
    kedge_driver *driver;
    int64_t now_ms;
    int64_t timer_ms; /* INT64_MAX: none */
    sent_request push;
    sent_request pull; /* and what runs in its place */
    int cancelled;
    bool stream_open;
    int changes;
    int64_t work_ms; /* that the store takes to apply a response */
    int tokens_asked;
    bool token_doubted; /* as it was asked for last */
    int synced;
    bool synced_ok;
    kedge_connection connection;
    kedge_error error;
} scripted;

/* Makes the folder, the store and the driver. `allocator` is the driver's. */
void scripted_open(scripted *s, const kedge_allocator *allocator);
void scripted_close(scripted *s);

int scripted_setup(void **state); /* open and started */
int scripted_teardown(void **state);

/* Puts {"n":n} under notes/`id` and tells the driver. */
void scripted_put(scripted *s, const char *id, int n);
/* Time passes until the timer, which fires. */
void scripted_timer(scripted *s);

/* Answers the running push, or what runs in the pull's channel. */
void scripted_respond_push(scripted *s, int status, const char *body);
void scripted_respond_pull(scripted *s, int status, const char *body);
void scripted_respond(scripted *s, uint64_t number, int status, const char *body);
/* A refusal with a problem document of this code. */
void scripted_refuse_push(scripted *s, int status, const char *code);
void scripted_refuse_pull(scripted *s, int status, const char *code);
/* A delta from `from` to `version` with this patch and these outcomes. */
void scripted_pulled(scripted *s, int from, int version, int lmid, const char *patch,
                     const char *outcomes);
/* {"id":…,"digest":…,"version":…,"outcome":"applied"} for the mutation that stands at `index` in
 * the push that was sent last. */
const char *scripted_outcome(const scripted *s, int index, int version, char *out, size_t size);

/* The value of an item as reads show it; "" when there is none. */
const char *scripted_get(scripted *s, const char *id, char *out, size_t size);

#endif
