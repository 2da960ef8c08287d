/* The queue port on SQS FIFO.
 *
 * A group is the message group, as it is when it is made of the characters that SQS takes, else
 * under a name with its SHA-256 (the group then travels in a message attribute). Bodies are bytes:
 * text that SQS takes goes as it is, anything else as base64 with an attribute that says so. The
 * queue's redrive policy moves what was received too often to the dead-letter queue. */
#ifndef KEDGE_BACKEND_AWS_SQS_H
#define KEDGE_BACKEND_AWS_SQS_H

#include "backend/aws/client.h"
#include "backend/ports/queue.h"

typedef struct kedge_sqs_options {
    kedge_aws_client *client; /* must outlive the port */
    const char *queue;        /* a name that ends in ".fifo", or a URL */
    const char *dead_letters; /* the same of the dead-letter queue; NULL: from the redrive policy */
    /* What a message may take, base64 and attributes counted: more is KEDGE_LIMIT_EXCEEDED. 0: as
     * much as the queue allows, at most 1 MiB. */
    uint32_t message_bytes_max;
} kedge_sqs_options;

/* Finds the queues' URLs: does requests. KEDGE_NOT_FOUND "aws-queue-missing", KEDGE_UNSUPPORTED
 * "aws-queue-kind" (no FIFO queue, or no redrive policy), and the failures of kedge_aws_call. */
kedge_status kedge_sqs_queue_open(const kedge_sqs_options *options, kedge_queue *queue,
                                  kedge_error *error);
/* How often the redrive policy of an open queue lets a message be received. */
uint32_t kedge_sqs_receive_max(const kedge_queue *queue);
/* Makes both queues by their names (FIFO, high throughput, 14 days of retention) with a redrive
 * policy; those that are there stay as they are. `dead_letters` NULL: "x-dead-letters.fifo" for
 * "x.fifo". */
kedge_status kedge_sqs_create(const kedge_sqs_options *options, uint32_t receive_max,
                              kedge_error *error);

#endif
