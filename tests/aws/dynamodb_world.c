/* The records port on DynamoDB before a scripted server. */
#include "tests/aws/dynamodb_world.h"

void dynamodb_world_begin(dynamodb_world *world, const scripted_reply *replies, size_t count)
{
    client_world_begin(&world->around, replies, count);
    world->error = (kedge_error){0};
    assert_int_equal(
        kedge_dynamodb_records_open(world->around.client, "t", &world->records, &world->error),
        KEDGE_OK);
}

void dynamodb_world_end(dynamodb_world *world)
{
    world->records.vtable->close(world->records.self);
    client_world_end(&world->around);
}

static kedge_record_write write_of(kedge_write_kind kind, const char *sort,
                                   kedge_condition condition)
{
    static const kedge_attribute n = {.name = "n", .type = KEDGE_ATTRIBUTE_NUMBER, .number = 1};
    return (kedge_record_write){.kind = kind,
                                .record = {.key = {KEDGE_BYTES("p"), kedge_bytes_of(sort)},
                                           .attributes = &n,
                                           .attribute_count = kind == KEDGE_WRITE_PUT ? 1 : 0},
                                .condition = condition,
                                .expected = n};
}

kedge_status put(dynamodb_world *world, kedge_condition condition)
{
    kedge_record_write write = write_of(KEDGE_WRITE_PUT, "s", condition);
    return world->records.vtable->write(world->records.self, &write, &world->error);
}

kedge_status removal(dynamodb_world *world, kedge_condition condition)
{
    kedge_record_write write = write_of(KEDGE_WRITE_DELETE, "s", condition);
    return world->records.vtable->write(world->records.self, &write, &world->error);
}

kedge_status transact(dynamodb_world *world)
{
    kedge_record_write writes[] = {write_of(KEDGE_WRITE_PUT, "a", KEDGE_IF_ABSENT),
                                   write_of(KEDGE_WRITE_DELETE, "b", KEDGE_IF_EQUAL)};
    return world->records.vtable->transact(world->records.self, writes, 2, &world->error);
}

kedge_status get(dynamodb_world *world, kedge_record_set *set)
{
    kedge_record_key key = {KEDGE_BYTES("p"), KEDGE_BYTES("s")};
    return world->records.vtable->get(world->records.self, &key, true, set, &world->error);
}

size_t requests(dynamodb_world *world)
{
    pthread_mutex_lock(&world->around.mutex);
    size_t count = world->around.answered;
    pthread_mutex_unlock(&world->around.mutex);
    return count;
}
