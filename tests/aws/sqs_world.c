/* The queue port over a server that answers as a test tells it to. */
#include "tests/aws/sqs_world.h"

#include "common/hash.h"

#include <stdio.h>
#include <string.h>

#define TEXTS     8
#define TEXT_SIZE 4096

static char *next_text(void)
{
    static char texts[TEXTS][TEXT_SIZE];
    static size_t next;
    return texts[next++ % TEXTS];
}

void sqs_world_open(sqs_world *world)
{
    const kedge_sqs_options options = {.client = world->around.client, .queue = "q.fifo"};
    kedge_status status = kedge_sqs_queue_open(&options, &world->queue, &world->error);
    if (status != KEDGE_OK) print_error("%s\n", world->error.message);
    assert_int_equal(status, KEDGE_OK);
}

void sqs_world_end(sqs_world *world)
{
    if (world->queue.vtable != NULL) world->queue.vtable->close(world->queue.self);
    client_world_end(&world->around);
}

kedge_status sqs_world_send(sqs_world *world, const char *body)
{
    return world->queue.vtable->send(world->queue.self, KEDGE_BYTES("o"), KEDGE_BYTES("g"),
                                     KEDGE_BYTES("name"), kedge_bytes_of(body), &world->error);
}

kedge_status sqs_world_receive(sqs_world *world, kedge_queue_batch *batch)
{
    return world->queue.vtable->receive(world->queue.self, 10, 1500, 0, NULL, batch, &world->error);
}

const char *sqs_world_message(const char *id, const char *group, const char *body, const char *md5)
{
    char right[KEDGE_MD5_HEX];
    char *text = next_text();
    kedge_md5_hex(kedge_bytes_of(body), right);
    snprintf(text, TEXT_SIZE,
             "{\"MessageId\":\"%s\",\"ReceiptHandle\":\"handle-%s\",\"Body\":\"%s\","
             "\"MD5OfBody\":\"%s\",\"Attributes\":{\"MessageGroupId\":\"%s\","
             "\"SentTimestamp\":\"1700000000000\",\"ApproximateReceiveCount\":\"1\"}}",
             id, id, body, md5 == NULL ? right : md5, group);
    return text;
}

const char *sqs_world_messages(const char *first, ...)
{
    char *text = next_text();
    va_list more;
    size_t used = (size_t)snprintf(text, TEXT_SIZE, "{\"Messages\":[");
    va_start(more, first);
    for (const char *at = first; at != NULL; at = va_arg(more, const char *))
        used += (size_t)snprintf(text + used, TEXT_SIZE - used, "%s%s", at == first ? "" : ",", at);
    va_end(more);
    snprintf(text + used, TEXT_SIZE - used, "]}");
    return text;
}

const char *sqs_world_sent(const char *body)
{
    char md5[KEDGE_MD5_HEX];
    char *text = next_text();
    kedge_md5_hex(kedge_bytes_of(body), md5);
    snprintf(text, TEXT_SIZE, "{\"MessageId\":\"m\",\"MD5OfMessageBody\":\"%s\"}", md5);
    return text;
}
