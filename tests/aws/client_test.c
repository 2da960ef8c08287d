/* Calls to AWS: what is sent, and what each kind of answer comes to. */
#include "tests/aws/client_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define OK_JSON                                                                                    \
    {                                                                                              \
        .status = 200, .body = "{}"                                                                \
    }

static kedge_status call(client_world *world, kedge_aws_request request, kedge_aws_answer *answer,
                         kedge_error *error)
{
    return kedge_aws_call(world->client, &request, answer, error);
}

static void test_a_request_goes_out_signed(void **state)
{
    client_world world;
    kedge_aws_answer answer = {0};
    (void)state;
    BEGIN(&world, {.status = 200, .headers = "X-Given: yes\r\n", .body = "{\"a\":1}"});
    assert_int_equal(
        call(&world, request_for(KEDGE_AWS_DYNAMODB, "dynamodb:GetItem"), &answer, NULL), KEDGE_OK);
    kedge_bytes value;
    assert_true(kedge_aws_answer_header(&answer, "x-given", &value));
    assert_true(kedge_bytes_equal_text(value, "yes"));
    assert_true(kedge_bytes_equal_text(kedge_buffer_bytes(&answer.body), "{\"a\":1}"));
    assert_false(answer.earlier_unknown);
    const char *head = world.requests[0];
    assert_non_null(strstr(head, "POST / HTTP/1.1\r\n"));
    assert_non_null(strstr(head, "Authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"));
    assert_non_null(strstr(head, "/eu-west-1/dynamodb/aws4_request"));
    assert_non_null(strstr(head, "SignedHeaders=content-type;host;x-amz-date;x-amz-target"));
    assert_null(strstr(head, "Accept-Encoding"));
    kedge_aws_answer_free(&answer);
    client_world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_request_goes_out_signed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
