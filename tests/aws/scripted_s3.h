/* One object of S3 and its uploads, served over HTTP, with faults where a test puts them. What goes
 * well is answered as S3 does; bodies are held against the checksums that come with them. */
#ifndef KEDGE_TESTS_AWS_SCRIPTED_S3_H
#define KEDGE_TESTS_AWS_SCRIPTED_S3_H

#include "backend/aws/s3.h"
#include "tests/aws/client_world.h"

#define S3_STEPS_MAX 32
#define S3_PARTS_MAX 8
#define S3_TRACE_MAX 4096

typedef enum s3_fault {
    S3_GOOD,      /* as S3 answers */
    S3_LOST,      /* takes effect; the connection ends without a response */
    S3_NEVER,     /* the connection ends; no effect */
    S3_DAMAGED,   /* takes effect; the response's body is damaged somewhere */
    S3_CUT,       /* takes effect; the response's body ends in the middle */
    S3_RESPONSE,  /* no effect; the response is the step's, with the headers of S3 */
    S3_FOREIGN,   /* no effect; the response is the step's, without them */
    S3_OVERTAKEN, /* another's object is put first; then as S3 answers */
    S3_FOLLOWED, /* takes effect; another's object is put; the connection ends without a response */
    S3_REPLACED  /* the object is replaced by another's of the same size; then as S3 answers */
} s3_fault;

typedef struct s3_step {
    s3_fault fault;
    int status;
    const char *body;
    const char *headers;
} s3_step;

typedef struct s3_object {
    char *bytes; /* NULL: none */
    size_t size;
    char writer[64];
    int etag;
} s3_object;

typedef struct scripted_s3 {
    client_world world; /* its client goes to the server below */
    scripted_server *server;
    kedge_s3_options options;
    kedge_blobs blobs;
    kedge_error error;
    pthread_mutex_t mutex;
    s3_step steps[S3_STEPS_MAX]; /* by the number of the request; the last one for ever */
    size_t step_count;
    size_t requests;
    bool ignores_condition; /* of a completion */
    s3_object object;
    s3_object parts[S3_PARTS_MAX];
    bool uploading;
    char upload_writer[64];
    int etags;
    char tags[1024];          /* the object's, as they were put */
    uint64_t seed;            /* of damage */
    char last_head[4096];     /* of the last request */
    char trace[S3_TRACE_MAX]; /* "PUT 200", "CREATE 200", "PART2 200", …, joined by ", " */
} scripted_s3;

/* The server answers only within S3_CALL, so that the test may look at all of this and change it
 * between two calls. */
#define S3_CALL(s3, call) (scripted_s3_serve(s3), scripted_s3_halt(s3, call))
void scripted_s3_serve(scripted_s3 *s3);
kedge_status scripted_s3_halt(scripted_s3 *s3, kedge_status status); /* gives `status` */

void scripted_s3_begin(scripted_s3 *s3, const s3_step *steps, size_t step_count);
void scripted_s3_end(scripted_s3 *s3);
/* Puts an object of another writer. */
void scripted_s3_put(scripted_s3 *s3, const char *bytes, size_t size);

#define S3_BEGIN(s3, ...)                                                                          \
    do {                                                                                           \
        const s3_step steps_[] = {__VA_ARGS__};                                                    \
        scripted_s3_begin(s3, steps_, sizeof steps_ / sizeof steps_[0]);                           \
    } while (0)

#endif
