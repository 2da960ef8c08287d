/* The small parts of the HTTP front end: origins, tickets, deadlines of connections. */
#include "backend/front/origins.h"
#include "backend/http/connections.h"
#include "backend/http/tickets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static int64_t time_ms;

static int64_t told_time(void *context)
{
    (void)context;
    return time_ms;
}

static void test_only_loopback_names_are_loopback(void **state)
{
    (void)state;
    assert_true(kedge_host_is_loopback("localhost"));
    assert_true(kedge_host_is_loopback("127.0.0.1:7420"));
    assert_true(kedge_host_is_loopback("[::1]:80"));
    assert_false(kedge_host_is_loopback("localhost.example.com"));
    assert_false(kedge_host_is_loopback("127.0.0.1.example.com"));
    assert_false(kedge_host_is_loopback("127.0.0.1:80x"));
    assert_false(kedge_host_is_loopback("example.com:127"));
    assert_false(kedge_host_is_loopback("localhost:"));
    assert_true(kedge_origin_is_loopback("http://localhost:3000"));
    assert_false(kedge_origin_is_loopback("null"));
    assert_false(kedge_origin_is_loopback("ftp://localhost"));
}

static void test_an_origin_is_allowed_when_it_is_listed_or_loopback_in_open_mode(void **state)
{
    (void)state;
    kedge_cors_origins origins = {.allowed = {"https://app.example.com"}, .allowed_count = 1};
    assert_int_equal(kedge_cors_origins_check(&origins, NULL), KEDGE_OK);
    static const char *const wrong[] = {"foo",
                                        "https://",
                                        "https://app.example.com/",
                                        "null",
                                        "https://a.example,https://b.example",
                                        "*"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        kedge_error error = {0};
        kedge_cors_origins others = {.allowed = {"tauri://localhost", wrong[i]},
                                     .allowed_count = 2};
        assert_int_equal(kedge_cors_origins_check(&others, &error), KEDGE_INVALID_ARGUMENT);
        assert_non_null(strstr(error.message, wrong[i]));
    }
    assert_true(kedge_cors_origins_allow(&origins, "https://app.example.com"));
    assert_false(kedge_cors_origins_allow(&origins, "https://app.example.com.evil.example"));
    assert_false(kedge_cors_origins_allow(&origins, "http://localhost:3000"));
    origins.open = true;
    assert_true(kedge_cors_origins_allow(&origins, "http://localhost:3000"));
}

static void test_a_ticket_is_good_once_for_its_scope_and_a_minute(void **state)
{
    (void)state;
    kedge_environment environment = kedge_environment_system(NULL);
    environment.monotonic_ms = told_time;
    time_ms = 1000;
    kedge_tickets *tickets = kedge_tickets_new(&environment);
    kedge_bytes scope = KEDGE_BYTES("/v1/orgs/a/projects/p/");
    char ticket[KEDGE_TICKET_SIZE];
    int64_t expires_ms = 0;

    kedge_tickets_issue(tickets, scope, 77, ticket);
    assert_int_equal(strlen(ticket), KEDGE_TICKET_SIZE - 1);
    assert_true(kedge_tickets_redeem(tickets, scope, kedge_bytes_of(ticket), &expires_ms));
    assert_int_equal(expires_ms, 77);
    assert_false(kedge_tickets_redeem(tickets, scope, kedge_bytes_of(ticket), &expires_ms));

    kedge_tickets_issue(tickets, scope, 77, ticket);
    assert_false(kedge_tickets_redeem(tickets, KEDGE_BYTES("/v1/orgs/b/"), kedge_bytes_of(ticket),
                                      &expires_ms));
    assert_false(kedge_tickets_redeem(tickets, scope, kedge_bytes_of(ticket), &expires_ms));

    kedge_tickets_issue(tickets, scope, 77, ticket);
    time_ms += KEDGE_TICKET_LIFE_MS;
    assert_false(kedge_tickets_redeem(tickets, scope, kedge_bytes_of(ticket), &expires_ms));
    assert_false(kedge_tickets_redeem(tickets, scope, (kedge_bytes){NULL, 0}, &expires_ms));
    kedge_tickets_free(tickets);
}

/* Whether the other end of a socket pair sees the end of the connection. */
static bool is_shut(int peer)
{
    char byte;
    return recv(peer, &byte, 1, MSG_DONTWAIT) == 0;
}

static void test_a_connection_is_shut_when_it_is_late_and_no_sooner(void **state)
{
    (void)state;
    kedge_environment environment = kedge_environment_system(NULL);
    environment.monotonic_ms = told_time;
    time_ms = 1000;
    kedge_connections *connections = kedge_connections_new(&environment);
    int pair[3][2];
    kedge_server_connection *connection[3];
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair[i]), 0);
        connection[i] = kedge_server_connection_opened(connections, pair[i][0], 100);
    }
    kedge_server_connection_due(connections, connection[1], 200);
    kedge_server_connection_due(connections, connection[2], KEDGE_CONNECTION_UNHURRIED);

    time_ms = 1099;
    kedge_connections_cut_late(connections);
    assert_false(is_shut(pair[0][1]));
    time_ms = 1100;
    kedge_connections_cut_late(connections);
    assert_true(is_shut(pair[0][1]));
    assert_false(is_shut(pair[1][1]));
    kedge_server_connection_closed(connections, connection[1]);
    time_ms = 1000000;
    kedge_connections_cut_late(connections);
    assert_false(is_shut(pair[1][1]));
    assert_false(is_shut(pair[2][1]));

    kedge_server_connection_closed(connections, connection[2]);
    kedge_server_connection_closed(connections, connection[0]);
    kedge_connections_free(connections);
    for (size_t i = 0; i < 3; i++) {
        close(pair[i][0]);
        close(pair[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_loopback_names_are_loopback),
        cmocka_unit_test(test_an_origin_is_allowed_when_it_is_listed_or_loopback_in_open_mode),
        cmocka_unit_test(test_a_connection_is_shut_when_it_is_late_and_no_sooner),
        cmocka_unit_test(test_a_ticket_is_good_once_for_its_scope_and_a_minute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
