/* A backend for benchmarks, over metered ports and called through kedge_backend_handle, and clients
 * that push mutations to it. */
#ifndef KEDGE_BENCH_STAGE_H
#define KEDGE_BENCH_STAGE_H

#include "backend/api/api.h"
#include "backend/ports/meter.h"

#include <stdio.h>

#define BENCH_ITEM_ID_SIZE 24

typedef struct bench_stage {
    kedge_environment environment;
    kedge_registry *registry;
    kedge_meter *meter;
    kedge_backend *backend;
    kedge_backend_options options;
} bench_stage;

/* The caller still owns the ports. This function, and each one below, ends the program when
 * anything fails. */
void bench_stage_open(bench_stage *stage, const kedge_environment *environment,
                      kedge_records records, kedge_blobs blobs, kedge_queue queue,
                      kedge_cadence cadence);
/* Replaces the backend by one that has nothing in memory, as a new process has. */
void bench_stage_restart(bench_stage *stage);
void bench_stage_close(bench_stage *stage);

/* Makes a request on the project bench/{project}; anything but 2xx ends the program. `response`
 * is NULL or gets the body. */
kedge_cost bench_ask(bench_stage *stage, const char *method, const char *project, const char *path,
                     kedge_bytes body, kedge_buffer *response);

/* A client with a user of its own. Its mutations are numbered from 1. */
typedef struct bench_client {
    char id[33];
    char user[24];
    int64_t next;
} bench_client;

void bench_client_make(bench_client *client, uint64_t number);

/* One push of a native client: begin, mutations, end. */
void bench_push_begin(kedge_buffer *body, const bench_client *client);
void bench_push_mutation(kedge_buffer *body, bench_client *client, const char *name,
                         const char *args);
void bench_push_end(kedge_buffer *body, const bench_client *client);
/* A whole push as the user of the client. */
kedge_cost bench_push(bench_stage *stage, const char *project, const bench_client *client,
                      kedge_bytes body);

/* Args of a mutation of item `number`. kedge.put of a value of some 150 bytes, the same each
 * time. */
void bench_args_put(kedge_buffer *args, uint32_t number);
/* kedge.put of such a value that is another one for each edit. */
void bench_args_write(kedge_buffer *args, uint32_t number, uint64_t edit);
/* kedge.merge of a text that is another one for each edit. */
void bench_args_edit(kedge_buffer *args, uint32_t number, uint64_t edit);

#endif
