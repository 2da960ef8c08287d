/* The copies of a token that a request makes: none of them is still there when its memory is given
 * back. */
#include "sdk/net/net.h"
#include "tests/support/scripted_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SECRET "5ecret-0f-the-t0ken"

/* ---- memory that is looked at when it is given back ---- */

#define HEAD sizeof(max_align_t) /* holds the size of a block, in front of it */

static int found;  /* blocks with the secret */
static int copies; /* blocks that were given back */

static void *allocate(void *context, size_t size)
{
    (void)context;
    char *block = malloc(HEAD + size);
    if (block == NULL) return NULL;
    memcpy(block, &size, sizeof size);
    return block + HEAD;
}

static void release(void *context, void *block)
{
    (void)context;
    size_t size;
    char *start = (char *)block - HEAD;
    memcpy(&size, start, sizeof size);
    copies++;
    for (size_t at = 0; at + strlen(SECRET) <= size; at++) {
        if (memcmp((char *)block + at, SECRET, strlen(SECRET)) == 0) {
            found++;
            break;
        }
    }
    free(start);
}

static void *reallocate(void *context, void *block, size_t size)
{
    size_t had = 0;
    char *grown = allocate(context, size);
    if (grown == NULL || block == NULL) return grown;
    memcpy(&had, (char *)block - HEAD, sizeof had);
    memcpy(grown, block, had < size ? had : size);
    release(context, block);
    return grown;
}

static const kedge_allocator watched = {allocate, reallocate, release, NULL};

/* ---- requests ---- */

static bool told; /* the server has got the token */

static bool answer(void *context, const scripted_request *request)
{
    (void)context;
    told = told || strstr(request->headers, SECRET) != NULL;
    scripted_respond(request, 200, "Content-Type: application/json\r\n", "{}");
    return true;
}

static void note_done(void *context, const kedge_http_response *response)
{
    assert_int_equal(response->status, 200);
    *(bool *)context = true;
}

static kedge_status may_send(void *context, kedge_error *error)
{
    (void)context;
    (void)error;
    return KEDGE_OK;
}

/* Many bytes in front of the secret: the buffers grow for it. */
static void ask(kedge_http *http, kedge_net *net, size_t bytes)
{
    char token[2048];
    bool done = false;
    kedge_http_call *call = NULL;
    memset(token, 't', bytes);
    memcpy(token + bytes, SECRET, sizeof SECRET);
    assert_int_equal(kedge_net_ask(net, "GET", "limits", token, 10000, false, 65536, note_done,
                                   &done, &call, NULL),
                     KEDGE_OK);
    while (!done)
        assert_int_equal(kedge_http_poll(http, 1000, -1, NULL, NULL), KEDGE_OK);
}

static void test_no_memory_that_is_given_back_holds_the_token(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 40, 50, 60, 110, 120, 500, 1000};
    kedge_environment environment = kedge_environment_system(&watched);
    scripted_server *server = scripted_server_start(answer, NULL);
    const kedge_net_sink sink = {.may_send = may_send};
    kedge_http *http = NULL;
    kedge_net *net = NULL;
    assert_int_equal(kedge_http_new(&environment, 4, &http, NULL), KEDGE_OK);
    assert_int_equal(
        kedge_net_new(&environment, http, scripted_server_url(server), "o", "p", &sink, &net, NULL),
        KEDGE_OK);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        ask(http, net, sizes[i]);
    kedge_net_free(net);
    kedge_http_free(http);
    scripted_server_stop(server);
    assert_true(told);
    assert_true(copies > 0);
    assert_int_equal(found, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_memory_that_is_given_back_holds_the_token),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
