/* The queue port over a server that answers as a test tells it to, and short forms of its calls. */
#ifndef KEDGE_TESTS_AWS_SQS_WORLD_H
#define KEDGE_TESTS_AWS_SQS_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backend/aws/sqs.h"
#include "tests/aws/client_world.h"

#define URL        "http://sqs.test/1/q.fifo"
#define DEAD_URL   "http://sqs.test/1/d.fifo"
#define FOUND      "{\"QueueUrl\":\"" URL "\"}"
#define DEAD_FOUND "{\"QueueUrl\":\"" DEAD_URL "\"}"
#define POLICY                                                                                     \
    "\"{\\\"deadLetterTargetArn\\\":\\\"arn:aws:sqs:eu-west-1:1:d.fifo\\\","                       \
    "\\\"maxReceiveCount\\\":3}\""
#define ATTRIBUTES                                                                                 \
    "{\"Attributes\":{\"FifoQueue\":\"true\",\"MaximumMessageSize\":\"262144\","                   \
    "\"RedrivePolicy\":" POLICY "}}"
#define NO_QUEUE                                                                                   \
    "{\"__type\":\"com.amazonaws.sqs#QueueDoesNotExist\",\"message\":\"no such queue\"}"
#define STALE                                                                                      \
    "{\"__type\":\"com.amazonaws.sqs#ReceiptHandleIsInvalid\",\"message\":\"it is not valid\"}"
/* What AWS says of the receipt of a delivery whose visibility has ended. */
#define EXPIRED                                                                                    \
    "{\"__type\":\"com.amazon.coral.service#InvalidParameterValueException\",\"message\":\"Value " \
    "h for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.\"}"
#define EMPTY "{\"Messages\":[]}"

/* What an opening of the queue q.fifo asks for, in the order of its requests. */
#define OPENING                                                                                    \
    {200, NULL, FOUND, 0}, {200, NULL, ATTRIBUTES, 0},                                             \
    {                                                                                              \
        200, NULL, DEAD_FOUND, 0                                                                   \
    }
#define OPENINGS 3 /* how many these are */

typedef struct sqs_world {
    client_world around;
    kedge_queue queue;
    kedge_error error;
} sqs_world;

/* Opens the queue on a script that begins with OPENING. */
void sqs_world_open(sqs_world *world);
void sqs_world_end(sqs_world *world);

kedge_status sqs_world_send(sqs_world *world, const char *body);
kedge_status sqs_world_receive(sqs_world *world, kedge_queue_batch *batch);

/* A message of a receive's response, with the right MD5 unless `md5` is another. Static storage,
 * for the last eight calls. */
const char *sqs_world_message(const char *id, const char *group, const char *body, const char *md5);
/* A receive's response with these messages; NULL ends them. Static storage, as above. */
const char *sqs_world_messages(const char *first, ...);
/* The response to a send of this body. */
const char *sqs_world_sent(const char *body);

#define BEGIN_SQS(world, ...)                                                                      \
    do {                                                                                           \
        memset((world), 0, sizeof *(world));                                                       \
        BEGIN(&(world)->around, OPENING, __VA_ARGS__);                                             \
        sqs_world_open(world);                                                                     \
    } while (0)

#endif
