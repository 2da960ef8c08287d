/* Many puts at once: what is left unprocessed, and responses that are no responses. */
#include "tests/aws/dynamodb_world.h"

#define PUT(sort)                                                                                  \
    "{\"PutRequest\":{\"Item\":{\"pk\":{\"S\":\"p\"},\"sk\":{\"S\":\"" sort                        \
    "\"},\"n\":{\"N\":\"1\"}}}}"
#define LEFT(puts)    "{\"UnprocessedItems\":{\"t\":[" puts "]}}"
#define REQUEST(puts) "{\"RequestItems\":{\"t\":[" puts "]}}"

static kedge_status put_two(dynamodb_world *world, kedge_condition condition)
{
    static const kedge_attribute n = {.name = "n", .type = KEDGE_ATTRIBUTE_NUMBER, .number = 1};
    const kedge_record_write writes[] = {
        {.record = {{KEDGE_BYTES("p"), KEDGE_BYTES("a")}, &n, 1}, .condition = condition},
        {.record = {{KEDGE_BYTES("p"), KEDGE_BYTES("b")}, &n, 1}}};
    return world->records.vtable->put_many(world->records.self, writes, 2, &world->error);
}

static void test_puts_left_unprocessed_are_sent_again(void **state)
{
    static dynamodb_world world;
    (void)state;
    DYNAMODB_BEGIN(&world, RESPONSE(LEFT(PUT("b"))), RESPONSE("{\"UnprocessedItems\":{}}"));
    world.around.no_pauses = true;
    assert_int_equal(put_two(&world, KEDGE_IF_ANY), KEDGE_OK);
    assert_int_equal(requests(&world), 2);
    assert_string_equal(world.around.bodies[0], REQUEST(PUT("a") "," PUT("b")));
    assert_string_equal(world.around.bodies[1], REQUEST(PUT("b")));
    dynamodb_world_end(&world);
}

static void test_puts_left_unprocessed_to_the_end_are_busy(void **state)
{
    static dynamodb_world world;
    (void)state;
    DYNAMODB_BEGIN(&world, RESPONSE(LEFT(PUT("b"))));
    world.around.no_pauses = true;
    assert_int_equal(put_two(&world, KEDGE_IF_ANY), KEDGE_BUSY);
    assert_int_equal(requests(&world), 8);
    dynamodb_world_end(&world);
}

static void test_a_response_that_is_none_leaves_it_unknown(void **state)
{
    static const char *const bodies[] = {"{\"UnprocessedItems\":{\"t\":7}}", "[]", "{"};
    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        static dynamodb_world world;
        DYNAMODB_BEGIN(&world, RESPONSE(bodies[i]));
        world.around.no_pauses = true;
        assert_int_equal(put_two(&world, KEDGE_IF_ANY), KEDGE_UNAVAILABLE);
        dynamodb_world_end(&world);
    }
}

static void test_only_puts_without_conditions_are_sent(void **state)
{
    static dynamodb_world world;
    (void)state;
    DYNAMODB_BEGIN(&world, RESPONSE("{}"));
    assert_int_equal(put_two(&world, KEDGE_IF_ABSENT), KEDGE_INVALID_ARGUMENT);
    assert_int_equal(requests(&world), 0);
    dynamodb_world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_puts_left_unprocessed_are_sent_again),
        cmocka_unit_test(test_puts_left_unprocessed_to_the_end_are_busy),
        cmocka_unit_test(test_a_response_that_is_none_leaves_it_unknown),
        cmocka_unit_test(test_only_puts_without_conditions_are_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
