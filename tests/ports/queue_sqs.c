/* The queue port on a real SQS, with fresh queues for each test. */
#include "tests/ports/queue_table.h"
#include "tests/support/sqs_queues.h"

/* Base64 makes four bytes of three; the attributes take what is left of 1 MiB. */
#define ANY_BYTES_MAX 786000
#define SETTLE_MS     30000

static sqs_queues queues;

static kedge_status open_sqs(world *around, kedge_queue *queue, kedge_error *error)
{
    (void)around; /* its clock is not the engine's */
    kedge_status status = sqs_queues_begin(&queues, error);
    if (status != KEDGE_OK) return status;
    status = sqs_queues_make(&queues, QUEUE_TABLE_RECEIVE_MAX, queue, error);
    if (status != KEDGE_OK) sqs_queues_end(&queues);
    return status;
}

static void close_sqs(kedge_queue *queue)
{
    queue->vtable->close(queue->self);
    sqs_queues_end(&queues);
}

static void settle_sqs(const kedge_queue *queue)
{
    (void)queue;
    assert_true(sqs_queues_settle(&queues, SETTLE_MS));
}

const char *const queue_engine = "AWS_ENDPOINT_URL_SQS";

const queue_implementation queue_implementations[] = {
    {.name = "queue: SQS",
     .open = open_sqs,
     .close = close_sqs,
     .settle = settle_sqs,
     .any_bytes_max = ANY_BYTES_MAX},
    {0},
};
