/* Where a program keeps its data: in a folder, or on AWS.
 *
 *   --data DIR                                    the embedded folder (backend/embedded)
 *   --table T --bucket B [--queue Q] [--snapshots Q] [--region R] [--profile P] [--create]
 *                                                 DynamoDB, S3 and SQS (backend/aws)
 *
 * Every program that opens a backend takes these options, through this module. */
#ifndef KEDGE_BACKEND_STORES_H
#define KEDGE_BACKEND_STORES_H

#include "backend/ports/blobs.h"
#include "backend/ports/queue.h"
#include "backend/ports/records.h"
#include "backend/ports/stream.h"
#include "common/environment.h"

/* Borrowed; NULL: not given. */
typedef struct kedge_stores_options {
    const char *data;
    const char *table;
    const char *bucket;
    const char *queue;
    const char *snapshots;
    const char *region;
    const char *profile;
    bool create;
    /* Set by the program, no option of the command line: with a queue of snapshots, the stream has
     * the changes of records whose partition keys begin so. The stream of a DynamoDB table has the
     * changes of all. NULL: no stream. */
    const char *changes_of;
} kedge_stores_options;

/* For the help text of a program. */
extern const char kedge_stores_help[];

/* The place for the value of the option `name` ("--table"); NULL: it is none of these. */
const char **kedge_stores_option(kedge_stores_options *options, const char *name);
/* The same for an option without a value. */
bool *kedge_stores_flag(kedge_stores_options *options, const char *name);
/* KEDGE_INVALID_ARGUMENT "usage": what is missing, or does not go together. */
kedge_status kedge_stores_check(const kedge_stores_options *options, kedge_error *error);

typedef enum kedge_stores_purpose {
    KEDGE_STORES_SERVE,  /* a folder is made when absent, and locked */
    KEDGE_STORES_MAKE,   /* a folder is made when absent; others may use it */
    KEDGE_STORES_CHANGE, /* a folder must be there, and is locked */
    KEDGE_STORES_VISIT   /* a folder must be there; others may use it */
} kedge_stores_purpose;

typedef struct kedge_stores kedge_stores;

/* With the options of a command line that passed kedge_stores_check. On AWS everything is checked
 * by a request each (kedge_aws_open), whatever the purpose; only --create makes what is missing.
 * The environment variable KEDGE_AWS_ACTIONS names a file that each distinct IAM action is appended
 * to. `environment` must outlive it. */
kedge_status kedge_stores_open(const kedge_environment *environment,
                               const kedge_stores_options *options, kedge_stores_purpose purpose,
                               kedge_stores **stores, kedge_error *error);
void kedge_stores_close(kedge_stores *stores); /* NULL is allowed */

/* Borrowed until the close. What their calls would cost on AWS is counted, for a folder as well
 * (backend/ports/meter.h). */
kedge_records kedge_stores_records(const kedge_stores *stores);
kedge_blobs kedge_stores_blobs(const kedge_stores *stores);
/* vtable NULL: there is none (AWS without --queue). */
kedge_queue kedge_stores_queue(const kedge_stores *stores);
/* The same for requests of snapshots (--snapshots), and for the stream that was wanted. */
kedge_queue kedge_stores_snapshots(const kedge_stores *stores);
kedge_stream kedge_stores_stream(const kedge_stores *stores);

/* The folder, or "TABLE BUCKET": for a log. */
const char *kedge_stores_name(const kedge_stores *stores);
/* Gets the warning number `index`, from 0 on: a fault in spite of which the stores work. False when
 * there are no more. */
bool kedge_stores_warning(const kedge_stores *stores, size_t index, kedge_error *warning);
/* How far AWS's clock is ahead of this machine's, as its last response told; negative: behind. 0 of
 * a folder. */
int64_t kedge_stores_skew_ms(const kedge_stores *stores);
/* Appends the counters of the meter, and of calls to AWS, as Prometheus text. The server's
 * `write_metrics`. */
void kedge_stores_write_metrics(void *stores, kedge_buffer *out);

#endif
