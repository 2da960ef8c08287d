/* Fuzz target: what the client reads of the server's responses: pulls, pages, retirements,
 * outcomes, by the first byte of the input. Each value of a patch that was read is I-JSON. */
#include "tests/fuzz/fuzz.h"
#include "wire/page.h"
#include "wire/pull.h"
#include "wire/retire.h"

#include <stdlib.h>

static void check_patch(const kedge_wire_patch *patch)
{
    for (size_t i = 0; i < patch->count; i++) {
        if (patch->operations[i].kind == KEDGE_WIRE_PATCH_PUT)
            FUZZ_CHECK(kedge_json_check(patch->operations[i].value, KEDGE_LIMIT_JSON_DEPTH,
                                        &kedge_allocator_default, NULL) == KEDGE_OK);
    }
}

static void read_pull(kedge_bytes body)
{
    kedge_wire_pull_response response = {0};
    if (kedge_wire_pull_response_read(&kedge_allocator_default, body, &response, NULL) == KEDGE_OK)
        check_patch(&response.patch);
    kedge_wire_pull_response_free(&response);
}

static void read_page(kedge_bytes body)
{
    kedge_wire_page_response response = {0};
    if (kedge_wire_page_response_read(&kedge_allocator_default, body, &response, NULL) == KEDGE_OK)
        check_patch(&response.items);
    kedge_wire_page_response_free(&response);
}

static void read_retire(kedge_bytes body)
{
    kedge_wire_retire_response response = {0};
    (void)kedge_wire_retire_response_read(&kedge_allocator_default, body, &response, NULL);
    kedge_wire_retire_response_free(&response);
}

static void read_outcomes(kedge_bytes body)
{
    kedge_wire_outcomes outcomes = {.allocator = &kedge_allocator_default};
    if (kedge_wire_outcomes_response_read(body, &outcomes, NULL) == KEDGE_OK) {
        for (size_t i = 1; i < outcomes.count; i++)
            FUZZ_CHECK(outcomes.rows[i - 1].id < outcomes.rows[i].id);
    }
    kedge_allocator_default.release(kedge_allocator_default.context, outcomes.rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    kedge_bytes body = {(const char *)data + 1, size - 1};
    switch (data[0]) {
    case 'p':
        read_pull(body);
        break;
    case 'g':
        read_page(body);
        break;
    case 'r':
        read_retire(body);
        break;
    case 'o':
        read_outcomes(body);
        break;
    default:
        break;
    }
    return 0;
}
