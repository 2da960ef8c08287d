/* The small parts of the HTTP front end: files, origins, tickets, deadlines of connections. */
#include "backend/front/file.h"
#include "backend/front/origins.h"
#include "backend/http/connections.h"
#include "backend/http/tickets.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
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

static void test_a_file_has_at_most_a_mebibyte(void **state)
{
    char path[] = "/tmp/kedge-file-XXXXXX";
    int file = mkstemp(path);
    (void)state;
    assert_true(file >= 0);
    for (int more = 0; more < 2; more++) {
        char *text = NULL;
        assert_int_equal(ftruncate(file, KEDGE_FILE_BYTES_MAX + more), 0);
        assert_int_equal(kedge_file_read(&kedge_allocator_default, path, &text, NULL),
                         more == 0 ? KEDGE_OK : KEDGE_IO);
        kedge_release(&kedge_allocator_default, text);
    }
    close(file);
    unlink(path);
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
    const kedge_budget_limits limits = kedge_budget_limits_default(false);
    const kedge_ticket_grant given = {
        .owner = kedge_budget_owner_of("a", "u"), .expires_ms = 77, .user = "u", .admin = true};
    kedge_ticket_grant grant = {.expires_ms = 0};
    kedge_budget_refusal refusal;

    assert_true(kedge_tickets_issue(tickets, &limits, scope, &given, ticket, &refusal));
    assert_int_equal(strlen(ticket), KEDGE_TICKET_SIZE - 1);
    assert_true(kedge_tickets_redeem(tickets, scope, kedge_bytes_of(ticket), &grant));
    assert_int_equal(grant.expires_ms, 77);
    assert_memory_equal(&grant.owner, &given.owner, sizeof given.owner);
    assert_string_equal(grant.user, "u");
    assert_true(grant.admin);
    assert_false(kedge_tickets_redeem(tickets, scope, kedge_bytes_of(ticket), &grant));

    assert_true(kedge_tickets_issue(tickets, &limits, scope, &given, ticket, &refusal));
    assert_false(
        kedge_tickets_redeem(tickets, KEDGE_BYTES("/v1/orgs/b/"), kedge_bytes_of(ticket), &grant));
    assert_false(kedge_tickets_redeem(tickets, scope, kedge_bytes_of(ticket), &grant));

    assert_true(kedge_tickets_issue(tickets, &limits, scope, &given, ticket, &refusal));
    time_ms += KEDGE_TICKET_LIFE_MS;
    assert_false(kedge_tickets_redeem(tickets, scope, kedge_bytes_of(ticket), &grant));
    assert_false(kedge_tickets_redeem(tickets, scope, (kedge_bytes){NULL, 0}, &grant));
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
    const kedge_connections_options options = {&environment, 10, 10, 0, false};
    kedge_connections *connections = kedge_connections_new(&options);
    int pair[3][2];
    kedge_server_connection *connection[3];
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair[i]), 0);
        connection[i] = kedge_server_connection_opened(connections, pair[i][0], NULL, 100);
    }
    kedge_server_connection_due(connections, connection[1], 200);
    kedge_server_connection_due(connections, connection[2], KEDGE_CONNECTION_UNHURRIED);

    time_ms = 1099;
    kedge_connections_look(connections);
    assert_false(is_shut(pair[0][1]));
    time_ms = 1100;
    kedge_connections_look(connections);
    assert_true(is_shut(pair[0][1]));
    assert_false(is_shut(pair[1][1]));
    kedge_server_connection_closed(connections, connection[1]);
    time_ms = 1000000;
    kedge_connections_look(connections);
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

/* A connection over the loopback device, of which the system tells what has moved. */
static void make_tcp_pair(int pair[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listening = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listening, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(listening, 1), 0);
    assert_int_equal(getsockname(listening, (struct sockaddr *)&address, &size), 0);
    pair[1] = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(pair[1], (struct sockaddr *)&address, size), 0);
    pair[0] = accept(listening, NULL, NULL);
    assert_true(pair[0] >= 0);
    close(listening);
}

/* The bytes are sent and have come. */
static void move(const int pair[2], const char *bytes, size_t size)
{
    char come[4096];
    size_t most = size < sizeof come ? size : sizeof come;
    assert_int_equal(send(pair[1], bytes, size, 0), size);
    assert_int_equal(recv(pair[0], come, most, MSG_PEEK | MSG_WAITALL), most);
    if (size == 1) assert_int_equal(recv(pair[0], come, 1, 0), 1);
}

/* `fast`: ten seconds' worth of bytes at the pace comes; otherwise ten bytes a second. */
static void check_what_moves(bool fast, bool paced)
{
    static const char bytes[10 * KEDGE_CONNECTION_PACE_BYTES_S] = "";
    kedge_environment environment = kedge_environment_system(NULL);
    environment.monotonic_ms = told_time;
    const kedge_connections_options options = {&environment, 10, 10, 0, false};
    kedge_connections *connections = kedge_connections_new(&options);
    int64_t due_ms = 2000;
    int pair[2];
    time_ms = 1000;
    make_tcp_pair(pair);
    kedge_server_connection *connection =
        kedge_server_connection_opened(connections, pair[0], NULL, 1);
    if (paced)
        kedge_server_connection_paced(connections, connection, 1000, KEDGE_PACED_BODY);
    else
        kedge_server_connection_due(connections, connection, 1000);
    for (time_ms = 1000; time_ms < 1900; time_ms += 100) {
        kedge_connections_look(connections);
        if (!fast) move(pair, bytes, 1);
    }
    if (fast) {
        move(pair, bytes, sizeof bytes);
        kedge_connections_look(connections);
        if (paced) due_ms = time_ms + 1000;
    }
    time_ms = due_ms - 1;
    kedge_connections_look(connections);
    assert_false(is_shut(pair[1]));
    time_ms = due_ms;
    kedge_connections_look(connections);
    assert_true(is_shut(pair[1]));
    kedge_server_connection_closed(connections, connection);
    kedge_connections_free(connections);
    close(pair[0]);
    close(pair[1]);
}

static void test_what_moves_at_the_pace_puts_a_step_off_and_never_beyond_its_time(void **state)
{
    (void)state;
    check_what_moves(true, true);
    check_what_moves(false, true);
    check_what_moves(true, false);
}

static void test_tickets_of_one_organization_take_no_room_from_another(void **state)
{
    (void)state;
    kedge_environment environment = kedge_environment_system(NULL);
    environment.monotonic_ms = told_time;
    time_ms = 1000;
    kedge_tickets *tickets = kedge_tickets_new(&environment);
    kedge_budget_limits limits = kedge_budget_limits_default(false);
    limits.of[KEDGE_BUDGET_TICKETS][KEDGE_BUDGET_OF_USER] = 3;
    limits.of[KEDGE_BUDGET_TICKETS][KEDGE_BUDGET_OF_ORGANIZATION] = 5;
    const kedge_bytes scope = KEDGE_BYTES("b/p");
    const kedge_ticket_grant other = {.owner = kedge_budget_owner_of("b", "u"), .expires_ms = 1};
    char first[KEDGE_TICKET_SIZE];
    char ticket[KEDGE_TICKET_SIZE];
    kedge_budget_refusal refusal;
    kedge_ticket_grant grant;
    assert_true(kedge_tickets_issue(tickets, &limits, scope, &other, first, &refusal));
    time_ms += 1500;
    for (int i = 0; i < 3 * KEDGE_TICKETS_MAX; i++) {
        const kedge_ticket_grant flood = {.owner = kedge_budget_owner_of("a", i % 2 ? "u" : "v"),
                                          .expires_ms = 1};
        bool issued =
            kedge_tickets_issue(tickets, &limits, KEDGE_BYTES("a/p"), &flood, ticket, &refusal);
        assert_int_equal(issued, i < 5);
        if (issued) continue;
        assert_string_equal(refusal.name, i % 2 ? "organization_tickets" : "user_tickets");
        assert_int_equal(refusal.limit, refusal.scope == KEDGE_BUDGET_OF_USER ? 3 : 5);
        assert_int_equal(refusal.retry_after_s, KEDGE_TICKET_LIFE_MS / 1000);
    }
    assert_true(kedge_tickets_redeem(tickets, scope, kedge_bytes_of(first), &grant));
    time_ms += KEDGE_TICKET_LIFE_MS;
    const kedge_ticket_grant later = {.owner = kedge_budget_owner_of("a", "v"), .expires_ms = 1};
    assert_true(kedge_tickets_issue(tickets, &limits, scope, &later, ticket, &refusal));
    kedge_tickets_free(tickets);
}

static void
test_a_new_stranger_takes_the_place_of_the_first_one_that_is_not_worked_for(void **state)
{
    (void)state;
    kedge_environment environment = kedge_environment_system(NULL);
    environment.monotonic_ms = told_time;
    time_ms = 1000;
    kedge_budget_limits limits = kedge_budget_limits_default(false);
    limits.of[KEDGE_BUDGET_CONNECTIONS][KEDGE_BUDGET_OF_USER] = 1;
    kedge_budgets *budgets = kedge_budgets_new(&environment, &limits);
    const kedge_budget_owner owner = kedge_budget_owner_of("a", "u");
    kedge_budget_account account;
    assert_true(kedge_budgets_open(budgets, &owner, &account));
    const kedge_connections_options options = {&environment, 3, 1, 0, false};
    kedge_connections *connections = kedge_connections_new(&options);
    int pair[6][2];
    kedge_server_connection *connection[6];
    kedge_budget_refusal refusal;
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair[i]), 0);
    for (size_t i = 0; i < 4; i++) {
        connection[i] = kedge_server_connection_opened(connections, pair[i][0], NULL, 100);
        if (i == 0) /* a known one leaves the pool */
            assert_true(
                kedge_server_connection_known(connections, connection[0], &account, &refusal));
    }
    assert_false(kedge_server_connection_known(connections, connection[1], &account, &refusal));
    assert_string_equal(refusal.name, "user_connections");
    kedge_server_connection_due(connections, connection[1], KEDGE_CONNECTION_UNHURRIED);
    connection[4] = kedge_server_connection_opened(connections, pair[4][0], NULL, 100);
    connection[5] = kedge_server_connection_opened(connections, pair[5][0], NULL, 100);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(is_shut(pair[i][1]), i == 2 || i == 3);
    for (size_t i = 0; i < 6; i++)
        kedge_server_connection_closed(connections, connection[i]);
    assert_true(kedge_budget_take(&account, KEDGE_BUDGET_CONNECTIONS, 1, &refusal));
    kedge_budget_give(&account, KEDGE_BUDGET_CONNECTIONS, 1);
    kedge_budget_account_release(&account);
    kedge_connections_free(connections);
    kedge_budgets_free(budgets);
    for (size_t i = 0; i < 6; i++) {
        close(pair[i][0]);
        close(pair[i][1]);
    }
}

static void test_an_address_has_so_many_connections_and_no_more(void **state)
{
    (void)state;
    kedge_environment environment = kedge_environment_system(NULL);
    const kedge_connections_options options = {&environment, 4000, 1, 2, false};
    kedge_connections *connections = kedge_connections_new(&options);
    enum { ADDRESSES = 500 };
    kedge_server_connection *connection[2 * ADDRESSES];
    struct sockaddr_in address = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    const struct sockaddr *near = (const struct sockaddr *)&v6;
    int none = -1; /* no socket is shut in this test but those that are refused */
    for (size_t i = 0; i < 2 * ADDRESSES; i++) {
        address.sin_addr.s_addr = (uint32_t)(i / 2);
        connection[i] = kedge_server_connection_opened(connections, none,
                                                       (const struct sockaddr *)&address, 100);
        assert_non_null(connection[i]);
    }
    /* Every other address closes one, and may open one again. */
    for (size_t i = 0; i < 2 * ADDRESSES; i += 4)
        kedge_server_connection_closed(connections, connection[i]);
    for (size_t i = 0; i < 2 * ADDRESSES; i += 2) {
        address.sin_addr.s_addr = (uint32_t)(i / 2);
        kedge_server_connection *again = kedge_server_connection_opened(
            connections, none, (const struct sockaddr *)&address, 100);
        assert_int_equal(again != NULL, i % 4 == 0);
        if (again) connection[i] = again;
    }
    for (size_t i = 0; i < 2 * ADDRESSES; i++)
        kedge_server_connection_closed(connections, connection[i]);
    for (size_t i = 0; i < 3; i++) { /* an IPv6 peer has all addresses of its network */
        v6.sin6_addr.s6_addr[15] = (uint8_t)i;
        connection[i] = kedge_server_connection_opened(connections, none, near, 100);
        assert_int_equal(connection[i] != NULL, i < 2);
    }
    /* What a refused one has sent already is not read. */
    char byte;
    kedge_gate *gate = kedge_server_connection_gate(connection[2]);
    assert_int_equal(gate->state, KEDGE_GATE_BROKEN);
    kedge_gate_feed(gate, "GET / HTTP/1.1\r\n\r\n", 18);
    assert_int_equal(kedge_gate_take(gate, &byte, 1), 0);
    for (size_t i = 0; i < 3; i++)
        kedge_server_connection_closed(connections, connection[i]);
    kedge_connections_free(connections);
}

static void test_a_watched_connection_is_gone_when_its_peer_closes_it(void **state)
{
    (void)state;
    kedge_environment environment = kedge_environment_system(NULL);
    const kedge_connections_options options = {&environment, 10, 10, 0, false};
    kedge_connections *connections = kedge_connections_new(&options);
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    kedge_server_connection *connection =
        kedge_server_connection_opened(connections, pair[0], NULL, KEDGE_CONNECTION_UNHURRIED);
    kedge_server_connection_watch(connections, connection, true);
    kedge_connections_look(connections);
    assert_false(kedge_server_connection_is_gone(connection));
    kedge_server_connection_watch(connections, connection, false);
    close(pair[1]);
    kedge_connections_look(connections);
    assert_false(kedge_server_connection_is_gone(connection));
    kedge_server_connection_watch(connections, connection, true);
    kedge_connections_look(connections);
    assert_true(kedge_server_connection_is_gone(connection));
    kedge_server_connection_closed(connections, connection);
    kedge_connections_free(connections);
    close(pair[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_file_has_at_most_a_mebibyte),
        cmocka_unit_test(test_only_loopback_names_are_loopback),
        cmocka_unit_test(test_an_origin_is_allowed_when_it_is_listed_or_loopback_in_open_mode),
        cmocka_unit_test(test_a_connection_is_shut_when_it_is_late_and_no_sooner),
        cmocka_unit_test(test_what_moves_at_the_pace_puts_a_step_off_and_never_beyond_its_time),
        cmocka_unit_test(test_a_watched_connection_is_gone_when_its_peer_closes_it),
        cmocka_unit_test(test_a_ticket_is_good_once_for_its_scope_and_a_minute),
        cmocka_unit_test(test_tickets_of_one_organization_take_no_room_from_another),
        cmocka_unit_test(
            test_a_new_stranger_takes_the_place_of_the_first_one_that_is_not_worked_for),
        cmocka_unit_test(test_an_address_has_so_many_connections_and_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
