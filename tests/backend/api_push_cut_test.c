/* A push whose body was cut off, at each byte of it. What is decided of it is up to the reader,
 * whatever stores are behind it, so these run on the stores in memory alone. */
#include "tests/backend/api_world.h"

#include <string.h>

static kedge_buffer push_of_five(void)
{
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_text(
        &text, "{\"clientGroupID\":\"g\",\"kedge\":{\"client\":\"c1\"},\"mutations\":[");
    for (int id = 1; id <= 5; id++) {
        kedge_buffer_append_format(&text,
                                   "%s{\"clientID\":\"c1\",\"id\":%d,\"name\":\"kedge.put\","
                                   "\"args\":{\"collection\":\"docs\",\"id\":\"a\","
                                   "\"value\":\"vvv\"},\"timestamp\":1}",
                                   id == 1 ? "" : ",", id);
    }
    kedge_buffer_append_text(&text, "],\"pushVersion\":1}");
    return text;
}

/* Whatever is cut off: the whole mutations of the prefix are decided, no other, and never half of
 * one. */
static void test_a_body_cut_at_any_byte_gives_the_whole_mutations_of_its_prefix(void **state)
{
    kedge_buffer push = push_of_five();
    const char *ends[6];
    const char *found = push.data;
    for (int id = 1; id <= 5; id++) {
        found = strstr(found, "\"timestamp\":1}");
        assert_non_null(found);
        found += strlen("\"timestamp\":1}");
        ends[id] = found;
    }
    const char *list = strstr(push.data, "[") + 1;
    for (size_t size = 0; size < push.size; size++) {
        api_world *world = api_world_new();
        world->truncated = true;
        api_ask(world, &ann, "POST", "/v1/orgs/acme/projects/notes/push",
                (kedge_bytes){push.data, size});
        world->truncated = false;
        int status = world->response.status;
        int whole = 0;
        while (whole < 5 && ends[whole + 1] <= push.data + size)
            whole++;
        if (push.data + size >= list) {
            assert_response_is(world, 503, "push-too-large");
        } else if (status != 413 && status != 400) {
            fail_msg("at %zu: %s", size, api_text(world));
        }
        api_get(world, "clients/c1/mutations/latest");
        if (whole == 0) {
            assert_response_is(world, 404, "mutation-not-found");
        } else {
            assert_int_equal(api_number(world, "id"), whole);
        }
        api_world_free(world);
    }
    kedge_buffer_free(&push);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_body_cut_at_any_byte_gives_the_whole_mutations_of_its_prefix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
