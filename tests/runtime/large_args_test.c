/* Edits with args of the largest size, from one copy over a real server to another one, in projects
 * of both kinds. What is edited behind them is not held up. */
#include "http/http.h"
#include "tests/runtime/two_copies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <kedge/limits.h>

/* KEDGE_LIMIT_ARGS_BYTES, or a part of it. */
static size_t args_bytes;

/* ---- a log project ---- */

static void take_status(void *context, const kedge_http_response *response)
{
    *(int *)context = response->status;
}

static void create_log(const two_copies *at)
{
    char url[256];
    int status = -1;
    bool readable;
    kedge_http *http = NULL;
    snprintf(url, sizeof url, "%s/v1/orgs/acme/projects/plan", at->server.url);
    kedge_http_request request = {.method = "PUT",
                                  .url = url,
                                  .body = KEDGE_BYTES("{\"kind\":\"log\"}"),
                                  .deadline_ms = 30000,
                                  .response_bytes_max = 65536,
                                  .done = take_status,
                                  .context = &status};
    kedge_environment environment = kedge_environment_system(&kedge_allocator_default);
    assert_int_equal(kedge_http_new(&environment, 1, &http, NULL), KEDGE_OK);
    assert_int_equal(kedge_http_send(http, &request, NULL, NULL), KEDGE_OK);
    while (status < 0)
        assert_int_equal(kedge_http_poll(http, 1000, -1, &readable, NULL), KEDGE_OK);
    kedge_http_free(http);
    assert_int_equal(status, 201);
}

/* ---- large args ---- */

typedef struct large {
    char *args;
    size_t size;
    const char *value; /* in the args */
    size_t value_size;
} large;

/* kedge.put of a string below `arrays` nested arrays. The string is of escaped quotes, or of
 * characters that hardly compress. */
static large large_put(const char *id, size_t arrays, bool quotes, size_t size)
{
    large made = {.args = malloc(size + 1), .size = size};
    uint64_t random = size;
    assert_non_null(made.args);
    int front = snprintf(made.args, size, "{\"collection\":\"notes\",\"id\":\"%s\",\"value\":", id);
    size_t at = (size_t)front;
    made.value = made.args + at;
    made.value_size = size - at - 1;
    memset(made.args + at, '[', arrays);
    at += arrays;
    made.args[at++] = '"';
    size_t end = size - arrays - 2;
    for (; at < end; at++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        char byte = (char)('#' + (random >> 33) % 92);
        made.args[at] = byte == '\\' ? ' ' : byte;
    }
    for (size_t i = end; quotes && i >= (size_t)front + arrays + 3; i -= 2) {
        made.args[i - 2] = '\\';
        made.args[i - 1] = '"';
    }
    made.args[at++] = '"';
    memset(made.args + at, ']', arrays);
    memcpy(made.args + at + arrays, "}", 2);
    return made;
}

static void check_value(kedge_db *db, const char *id, const large *put)
{
    kedge_document *document = NULL;
    size_t size = 0;
    assert_int_equal(kedge_get(db, "notes", id, strlen(id), &document, NULL), KEDGE_OK);
    const char *json = kedge_document_json(document, &size);
    assert_int_equal(size, put->value_size);
    assert_memory_equal(json, put->value, size);
    kedge_document_free(document);
}

/* The edit, a small one behind it, and the other copy, which then edits, too. */
static void edit_both(const two_copies *at, const char *id, const large *put)
{
    kedge_error error = {0};
    if (kedge_mutate(at->here, "kedge.put", put->args, put->size, NULL, &error) != KEDGE_OK)
        fail_msg("%s", error.message);
    client_put(at->here, "after", id);
    two_copies_sync(at->here);
    assert_int_equal(client_status(at->here).pending, 0);
    assert_int_equal(client_status(at->here).rejected, 0);
    check_value(at->here, id, put);
    two_copies_sync(at->there);
    check_value(at->there, id, put);
    assert_string_equal(client_get(at->there, "after"), id);
    client_put(at->there, "back", id);
    two_copies_sync(at->there);
    two_copies_sync(at->here);
    assert_string_equal(client_get(at->here, "back"), id);
}

static void test_the_largest_args_reach_the_other_copy(void **state)
{
    large put = large_put("1", 0, false, args_bytes);
    edit_both(*state, "1", &put);
    free(put.args);
}

/* The second is stored as a string, in which each byte is escaped. */
static void test_the_largest_args_of_a_log_project_reach_the_other_copy(void **state)
{
    large put = large_put("1", 0, false, args_bytes - 100);
    create_log(*state);
    edit_both(*state, "1", &put);
    free(put.args);
    put = large_put("2", 63, true, args_bytes);
    edit_both(*state, "2", &put);
    free(put.args);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_largest_args_reach_the_other_copy, two_copies_open,
                                        two_copies_close),
        cmocka_unit_test_setup_teardown(test_the_largest_args_of_a_log_project_reach_the_other_copy,
                                        two_copies_open, two_copies_close),
    };
    long part = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
    if (part < 1) {
        (void)fprintf(stderr, "usage: %s KEDGE_SERVER PART\n", argv[0]);
        return 2;
    }
    two_copies_server = argv[1];
    args_bytes = KEDGE_LIMIT_ARGS_BYTES / (size_t)part;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
