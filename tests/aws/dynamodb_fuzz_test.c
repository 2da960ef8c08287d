/* Whole responses of DynamoDB, damaged: every call of the port ends, and gives nothing that was not
 * asked for. */
#include "tests/aws/dynamodb_world.h"

#include "backend/ports/records_support.h"
#include "tests/aws/damage.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 2000

/* A server that answers each request with a damaged form of the right response. */
typedef struct damaging {
    client_world around;
    kedge_records records;
    scripted_server *server;
    uint64_t seed;
    atomic_size_t answered;
} damaging;

#define ITEM(sort)                                                                                 \
    "{\"pk\":{\"S\":\"p\"},\"sk\":{\"S\":\"" sort "\"},\"n\":{\"N\":\"-7\"},"                      \
    "\"t\":{\"S\":\"a\\u00e4\\n\"},\"b\":{\"B\":\"AAECAwQ=\"}}"
#define KEY(sort) "{\"pk\":{\"S\":\"p\"},\"sk\":{\"S\":\"" sort "\"}}"

static const char *right_response(const char *headers)
{
    if (strstr(headers, ".GetItem") != NULL) return "{\"Item\":" ITEM("a") "}";
    if (strstr(headers, ".Query") != NULL)
        return "{\"Items\":[" ITEM("a") "," ITEM("b") "],\"Count\":2,\"LastEvaluatedKey\":" KEY(
            "b") "}";
    if (strstr(headers, ".BatchGetItem") != NULL)
        return "{\"Responses\":{\"t\":[" ITEM("a") "," ITEM(
            "b") "]},\"UnprocessedKeys\":{\"t\":"
                 "{\"Keys\":[" KEY("c") "]}},\"ConsumedCapacity\":[{\"CapacityUnits\":1.5}]}";
    return "{\"__type\":\"x#TransactionCanceledException\",\"CancellationReasons\":["
           "{\"Code\":\"None\"},{\"Code\":\"ConditionalCheckFailed\",\"Message\":\"no\"}]}";
}

static bool respond_damaged(void *context, const scripted_request *request)
{
    damaging *self = context;
    const char *right = right_response(request->headers);
    bool refused = strstr(right, "__type") != NULL;
    size_t size = strlen(right);
    char body[1024];
    memcpy(body, right, size);
    /* One connection, one request at a time: nobody else is here. */
    for (uint32_t i = damage_random(&self->seed) % 4; i > 0 && size > 0; i--)
        size = damage(body, size, &self->seed);
    if (size > 0 && damage_random(&self->seed) % 2 == 0) { /* what the client lets through */
        body[0] = '{';
        body[size - 1] = '}';
    }
    char head[128];
    snprintf(head, sizeof head, "HTTP/1.1 %d OK\r\nContent-Length: %zu\r\n\r\n",
             refused ? 400 : 200, size);
    scripted_send(request, head, strlen(head));
    scripted_send(request, body, size);
    self->answered++;
    return true;
}

static int start(void **state)
{
    static damaging self;
    static const scripted_reply none = {.status = 500};
    memset(&self, 0, sizeof self);
    *state = &self;
    self.seed = 7;
    client_world_begin(&self.around, &none, 1);
    self.around.no_pauses = true;
    self.server = scripted_server_start(respond_damaged, &self);
    kedge_aws_client_options options = {.connections_max = 1};
    options.endpoints[KEDGE_AWS_DYNAMODB] = scripted_server_url(self.server);
    client_world_open(&self.around, options);
    return kedge_dynamodb_records_open(self.around.client, "t", &self.records, NULL) == KEDGE_OK
               ? 0
               : -1;
}

static int end(void **state)
{
    damaging *self = *state;
    self->records.vtable->close(self->records.self);
    client_world_end(&self->around);
    scripted_server_stop(self->server);
    return 0;
}

/* What stands in a set is of the partition p, in whole. */
static void check_set(kedge_status status, kedge_record_set *set)
{
    if (status != KEDGE_OK) assert_null(set->records);
    for (size_t i = 0; i < set->count; i++) {
        assert_true(kedge_bytes_equal_text(set->records[i].key.partition, "p"));
        assert_int_equal(kedge_record_key_check(&set->records[i].key, NULL), KEDGE_OK);
        for (size_t k = 0; k < set->records[i].attribute_count; k++)
            assert_non_null(set->records[i].attributes[k].name);
    }
    kedge_record_set_free(set);
}

static void test_no_damaged_response_does_more_than_fail(void **state)
{
    damaging *self = *state;
    const kedge_records_vtable *calls = self->records.vtable;
    const kedge_record_key keys[] = {{KEDGE_BYTES("p"), KEDGE_BYTES("a")},
                                     {KEDGE_BYTES("p"), KEDGE_BYTES("b")},
                                     {KEDGE_BYTES("p"), KEDGE_BYTES("c")}};
    const kedge_records_query wanted = {.partition = KEDGE_BYTES("p"), .limit = 10};
    kedge_record_write writes[2] = {{.kind = KEDGE_WRITE_DELETE, .record = {.key = keys[0]}},
                                    {.kind = KEDGE_WRITE_DELETE, .record = {.key = keys[1]}}};
    size_t fine = 0;
    kedge_dynamodb_records_measure(&self->records);
    for (int round = 0; round < ROUNDS; round++) {
        kedge_record_set set = {0};
        kedge_status status = calls->get(self->records.self, &keys[0], true, &set, NULL);
        fine += status == KEDGE_OK;
        check_set(status, &set);
        status = calls->query(self->records.self, &wanted, &set, NULL);
        check_set(status, &set);
        /* The same response each time: the second one holds records that came already. */
        status = calls->batch_get(self->records.self, keys, 3, true, &set, NULL);
        check_set(status, &set);
        assert_int_not_equal(calls->transact(self->records.self, writes, 2, NULL), KEDGE_OK);
    }
    print_message("%zu answers, %zu of %d reads went well\n", atomic_load(&self->answered), fine,
                  ROUNDS);
    assert_true(fine > ROUNDS / 10 && fine < ROUNDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_no_damaged_response_does_more_than_fail, start, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
