/* The table: what kedge_dynamodb_check says about one that is missing, other or not ready yet, and
 * how one is made. */
#include "tests/aws/dynamodb_world.h"

#include <string.h>

#define DEFINED(name, type) "{\"AttributeName\":\"" name "\",\"AttributeType\":\"" type "\"}"
#define PART(name, role)    "{\"AttributeName\":\"" name "\",\"KeyType\":\"" role "\"}"
#define KEYS(hash, range)   "\"KeySchema\":[" PART(hash, "HASH") "," PART(range, "RANGE") "]"
#define DEFINITIONS                                                                                \
    "\"AttributeDefinitions\":[" DEFINED("pk", "S") "," DEFINED("sk", "S") "," DEFINED(            \
        "inverted", "S") "," DEFINED("id", "S") "," DEFINED("other", "N") "]"
#define INDEX(name, keys, projection, state)                                                       \
    "\"GlobalSecondaryIndexes\":[{\"IndexName\":\"" name "\"," keys                                \
    ",\"Projection\":{\"ProjectionType\":\"" projection "\"},\"IndexStatus\":\"" state "\"}]"
#define TABLE(state, keys, index)                                                                  \
    "{\"Table\":{\"TableStatus\":\"" state "\"," DEFINITIONS "," keys "," index "}}"

#define RIGHT_KEYS  KEYS("pk", "sk")
#define INDEX_KEYS  KEYS("inverted", "pk")
#define RIGHT_INDEX INDEX("inverted", INDEX_KEYS, "ALL", "ACTIVE")
#define RIGHT       TABLE("ACTIVE", RIGHT_KEYS, RIGHT_INDEX)

static void test_a_table_is_what_it_must_be_or_the_difference_is_named(void **state)
{
    static const struct {
        const char *body;
        kedge_status expected;
        const char *words;
    } cases[] = {
        {RIGHT, KEDGE_OK, ""},
        {TABLE("UPDATING", RIGHT_KEYS, RIGHT_INDEX), KEDGE_OK, ""},
        {TABLE("CREATING", RIGHT_KEYS, RIGHT_INDEX), KEDGE_UNAVAILABLE, "CREATING"},
        {TABLE("DELETING", RIGHT_KEYS, RIGHT_INDEX), KEDGE_UNAVAILABLE, "DELETING"},
        {TABLE("ACTIVE", RIGHT_KEYS, INDEX("inverted", INDEX_KEYS, "ALL", "CREATING")),
         KEDGE_UNAVAILABLE, "index inverted of the table t"},
        {TABLE("ACTIVE", KEYS("id", "sk"), RIGHT_INDEX), KEDGE_UNSUPPORTED,
         "the partition key of the table t is id (S); it must be pk (S)"},
        {TABLE("ACTIVE", KEYS("pk", "other"), RIGHT_INDEX), KEDGE_UNSUPPORTED,
         "the sort key of the table t is other (N); it must be sk (S)"},
        {TABLE("ACTIVE", "\"KeySchema\":[" PART("pk", "HASH") "]", RIGHT_INDEX), KEDGE_UNSUPPORTED,
         "the sort key of the table t is none; it must be sk (S)"},
        {TABLE("ACTIVE", RIGHT_KEYS, INDEX("inverted", KEYS("sk", "pk"), "ALL", "ACTIVE")),
         KEDGE_UNSUPPORTED,
         "the partition key of the index inverted of the table t is sk (S); it must be inverted"},
        {TABLE("ACTIVE", RIGHT_KEYS, INDEX("inverted", KEYS("inverted", "sk"), "ALL", "ACTIVE")),
         KEDGE_UNSUPPORTED, "the sort key of the index inverted of the table t is sk"},
        {TABLE("ACTIVE", RIGHT_KEYS, INDEX("inverted", INDEX_KEYS, "KEYS_ONLY", "ACTIVE")),
         KEDGE_UNSUPPORTED, "does not project all attributes"},
        {TABLE("ACTIVE", RIGHT_KEYS, INDEX("another", INDEX_KEYS, "ALL", "ACTIVE")),
         KEDGE_UNSUPPORTED, "no global index inverted"},
        {"{\"Table\":{\"TableStatus\":\"ACTIVE\"}}", KEDGE_UNSUPPORTED, "no global index"},
        {"{\"Table\":7}", KEDGE_UNAVAILABLE, "not ready"},
        {"{}", KEDGE_UNAVAILABLE, "describes no table"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static dynamodb_world world;
        DYNAMODB_BEGIN(&world, RESPONSE(cases[i].body));
        kedge_status status = kedge_dynamodb_check(world.around.client, "t", &world.error);
        if (status != cases[i].expected || strstr(world.error.message, cases[i].words) == NULL)
            fail_msg("%s: %s: %s", cases[i].body, kedge_status_name(status), world.error.message);
        dynamodb_world_end(&world);
    }
}

static void test_a_missing_table_is_named_with_its_region(void **state)
{
    static dynamodb_world world;
    (void)state;
    DYNAMODB_BEGIN(&world, REFUSAL("ResourceNotFoundException"));
    assert_int_equal(kedge_dynamodb_check(world.around.client, "t", &world.error), KEDGE_NOT_FOUND);
    assert_string_equal(world.error.code, "aws-table-missing");
    assert_non_null(strstr(world.error.message, "table t in the region eu-west-1"));
    dynamodb_world_end(&world);
}

static void test_a_new_table_is_waited_for(void **state)
{
    static dynamodb_world world;
    (void)state;
    DYNAMODB_BEGIN(&world, RESPONSE("{}"), REFUSAL("ResourceNotFoundException"),
                   RESPONSE(TABLE("CREATING", RIGHT_KEYS, RIGHT_INDEX)), RESPONSE(RIGHT));
    assert_int_equal(kedge_dynamodb_create(world.around.client, "t", &world.error), KEDGE_OK);
    assert_int_equal(world.error.status, KEDGE_OK);
    assert_int_equal(requests(&world), 4);
    const char *body = world.around.bodies[0];
    assert_non_null(strstr(world.around.requests[0], "DynamoDB_20120810.CreateTable\r\n"));
    assert_non_null(strstr(body, "\"BillingMode\":\"PAY_PER_REQUEST\""));
    assert_non_null(strstr(body, RIGHT_KEYS));
    assert_non_null(strstr(body, INDEX_KEYS ",\"Projection\":{\"ProjectionType\":\"ALL\"}"));
    dynamodb_world_end(&world);
}

static void test_a_table_that_is_there_is_only_checked(void **state)
{
    static dynamodb_world world;
    (void)state;
    DYNAMODB_BEGIN(&world, REFUSAL("ResourceInUseException"),
                   RESPONSE(TABLE("ACTIVE", KEYS("id", "sk"), RIGHT_INDEX)));
    assert_int_equal(kedge_dynamodb_create(world.around.client, "t", &world.error),
                     KEDGE_UNSUPPORTED);
    assert_string_equal(world.error.code, "aws-table-schema");
    dynamodb_world_end(&world);
}

static void test_a_table_that_may_not_be_made_is_not_waited_for(void **state)
{
    static dynamodb_world world;
    (void)state;
    DYNAMODB_BEGIN(&world, REFUSAL("AccessDeniedException"));
    assert_int_equal(kedge_dynamodb_create(world.around.client, "t", &world.error),
                     KEDGE_FORBIDDEN);
    assert_non_null(strstr(world.error.message, "dynamodb:CreateTable"));
    assert_int_equal(requests(&world), 1);
    dynamodb_world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_table_is_what_it_must_be_or_the_difference_is_named),
        cmocka_unit_test(test_a_missing_table_is_named_with_its_region),
        cmocka_unit_test(test_a_new_table_is_waited_for),
        cmocka_unit_test(test_a_table_that_is_there_is_only_checked),
        cmocka_unit_test(test_a_table_that_may_not_be_made_is_not_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
