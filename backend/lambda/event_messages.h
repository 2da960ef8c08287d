/* A batch of messages of a FIFO queue, as Lambda's poller brings it, and the response that names
 * those that failed. What is done with them is in event_sqs.c and event_snapshots.c. */
#ifndef KEDGE_BACKEND_LAMBDA_EVENT_MESSAGES_H
#define KEDGE_BACKEND_LAMBDA_EVENT_MESSAGES_H

#include "backend/lambda/lambda.h"
#include "common/json.h"

#define KEDGE_EVENT_ID_SIZE      128
#define KEDGE_EVENT_RECEIPT_SIZE 2048

typedef struct kedge_event_message {
    char id[KEDGE_EVENT_ID_SIZE];
    char receipt[KEDGE_EVENT_RECEIPT_SIZE];
    kedge_buffer group;
    kedge_buffer body;
    int64_t sent_ms;
    int64_t receive_count;
    bool seen;   /* its group was served */
    bool failed; /* to be named */
} kedge_event_message;

typedef struct kedge_event_messages {
    kedge_event_message of[KEDGE_QUEUE_RECEIVE_MAX];
    size_t count;
} kedge_event_messages;

/* The name of the queue that the batch is of: the end of its ARN. False: it is no batch of SQS. */
bool kedge_event_messages_queue(kedge_bytes event, char *name, size_t size);
/* The caller initializes `messages` as empty. It is freed in any case. */
kedge_status kedge_event_messages_read(const kedge_allocator *allocator, kedge_bytes event,
                                       kedge_event_messages *messages, kedge_error *error);
void kedge_event_messages_free(kedge_event_messages *messages);

/* As the queue's port has it; borrows. */
kedge_queue_message kedge_event_message_of(kedge_event_message *message);

/* Appends {"batchItemFailures":[…]}. */
kedge_status kedge_event_messages_write(const kedge_event_messages *messages, kedge_buffer *out,
                                        kedge_error *error);

#endif
