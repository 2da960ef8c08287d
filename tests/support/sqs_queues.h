/* A queue of a test's own, with its dead-letter queue, in the SQS
 * that AWS_ENDPOINT_URL_SQS names. */
#ifndef KEDGE_TESTS_SUPPORT_SQS_QUEUES_H
#define KEDGE_TESTS_SUPPORT_SQS_QUEUES_H

#include "backend/aws/sqs.h"

typedef struct sqs_queues {
    kedge_environment environment;
    kedge_aws_credentials_provider *credentials;
    kedge_aws_client *client;
    char name[64];
    char dead_letters[64];
} sqs_queues;

/* Makes a client with the system's clock and randomness, and names of queues, which are not made
 * yet. The struct must not move. */
kedge_status sqs_queues_begin(sqs_queues *queues, kedge_error *error);
/* Makes the queues and opens them. */
kedge_status sqs_queues_make(sqs_queues *queues, uint32_t receive_max, kedge_queue *queue,
                             kedge_error *error);
/* Deletes what was made, and frees the client. Ports over it are closed. */
void sqs_queues_end(sqs_queues *queues);

/* One request that the port does not have, about the queue of this name; `more` is members of the
 * request, each with its comma before it. */
kedge_status sqs_queues_run(sqs_queues *queues, const char *name, const char *operation,
                            const char *more, kedge_aws_response *response, kedge_error *error);
/* How many messages the queue has: those in flight, or those that are not; -1: it did not say. */
int64_t sqs_queues_count(sqs_queues *queues, bool in_flight);
/* Waits until none is in flight; false when some are after `deadline_ms`. */
bool sqs_queues_settle(sqs_queues *queues, int64_t deadline_ms);

#endif
