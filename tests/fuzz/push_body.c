/* Fuzz target: the body of a push. What was read of one and written again, as for the queue, is
 * read as the same. */
#include "backend/api/push.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void check_same(const kedge_push_mutation *a, const kedge_push_mutation *b)
{
    FUZZ_CHECK(kedge_bytes_equal(a->client, b->client) && a->id == b->id);
    FUZZ_CHECK(kedge_bytes_equal(a->name, b->name) && kedge_bytes_equal(a->args, b->args));
    FUZZ_CHECK(memcmp(a->digest, b->digest, sizeof a->digest) == 0);
    FUZZ_CHECK((a->invalid_code == NULL) == (b->invalid_code == NULL));
}

static void check_copy(const kedge_push_request *read, const kedge_identity *identity)
{
    kedge_push_request again = {0};
    kedge_buffer copy = kedge_buffer_make(&kedge_allocator_default);
    kedge_wire_push_request_copy(&read->wire, &copy);
    FUZZ_CHECK(kedge_push_body_read(&kedge_allocator_default, kedge_buffer_bytes(&copy), identity,
                                    &again, NULL) == KEDGE_OK);
    FUZZ_CHECK(read->push.count == again.push.count);
    for (size_t i = 0; i < again.push.count; i++)
        check_same(&read->push.mutations[i], &again.push.mutations[i]);
    kedge_push_request_free(&again);
    kedge_buffer_free(&copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const kedge_identity ann = {.user = "ann", .role = "member", .organization = "acme"};
    kedge_bytes body = {(const char *)data, size};
    kedge_push_request request = {0};
    if (kedge_push_body_read(&kedge_allocator_default, body, &ann, &request, NULL) == KEDGE_OK)
        check_copy(&request, &ann);
    kedge_push_request_free(&request);
    return 0;
}
