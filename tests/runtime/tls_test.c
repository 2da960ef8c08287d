/* TLS against a real server: a certificate that nobody trusts gets no request, and no token. */
#include "http/http.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

/* Takes one connection, answers 200 when the handshake ends well, and keeps what was asked. */
typedef struct tls_server {
    pthread_t thread;
    int socket;
    int port;
    SSL_CTX *context;
    bool shaken;
    bool offered_http_2; /* by the client, in the handshake */
    char request[1024];
} tls_server;

static int choose_protocol(SSL *ssl, const unsigned char **chosen, unsigned char *chosen_size,
                           const unsigned char *offered, unsigned size, void *context)
{
    tls_server *server = context;
    (void)ssl;
    for (unsigned at = 0; at < size; at += 1U + offered[at]) {
        if (offered[at] == 2 && memcmp(offered + at + 1, "h2", 2) == 0)
            server->offered_http_2 = true;
        *chosen = offered + at + 1;
        *chosen_size = offered[at];
    }
    return SSL_TLSEXT_ERR_OK; /* the last one */
}

/* For the name "localhost", signed by itself. */
static void certify(SSL_CTX *context)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    X509_NAME *name = X509_get_subject_name(certificate);
    assert_non_null(key);
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"localhost", -1, -1,
                               0);
    X509_set_issuer_name(certificate, name);
    assert_true(X509_sign(certificate, key, EVP_sha256()) > 0);
    assert_int_equal(SSL_CTX_use_certificate(context, certificate), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(context, key), 1);
    X509_free(certificate);
    EVP_PKEY_free(key);
}

static void *serve(void *context)
{
    static const char response[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
    tls_server *server = context;
    int connection = accept(server->socket, NULL, NULL);
    if (connection < 0) return NULL;
    SSL *ssl = SSL_new(server->context);
    SSL_set_fd(ssl, connection);
    server->shaken = SSL_accept(ssl) == 1;
    if (server->shaken && SSL_read(ssl, server->request, (int)sizeof server->request - 1) > 0) {
        SSL_write(ssl, response, (int)sizeof response - 1);
        SSL_shutdown(ssl);
    }
    SSL_free(ssl);
    close(connection);
    return NULL;
}

static void start_server(tls_server *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    *server = (tls_server){.socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    server->context = SSL_CTX_new(TLS_server_method());
    assert_non_null(server->context);
    certify(server->context);
    SSL_CTX_set_alpn_select_cb(server->context, choose_protocol, server);
    assert_int_equal(bind(server->socket, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(server->socket, 1), 0);
    assert_int_equal(getsockname(server->socket, (struct sockaddr *)&address, &size), 0);
    server->port = ntohs(address.sin_port);
    assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

static void stop_server(tls_server *server)
{
    shutdown(server->socket, SHUT_RDWR);
    assert_int_equal(pthread_join(server->thread, NULL), 0);
    close(server->socket);
    SSL_CTX_free(server->context);
}

typedef struct ending {
    bool done;
    int status;
    kedge_error error;
} ending;

static void done(void *context, const kedge_http_response *response)
{
    *(ending *)context =
        (ending){.done = true, .status = response->status, .error = response->error};
}

/* Asks the server with a token; `ca_file` NULL: with the system's authorities. */
static ending ask(tls_server *server, const char *ca_file)
{
    char url[64];
    ending end = {0};
    kedge_http *http = NULL;
    kedge_environment environment = kedge_environment_system(NULL);
    kedge_http_header token = {"Authorization", "Bearer secret"};
    snprintf(url, sizeof url, "https://localhost:%d/", server->port);
    assert_int_equal(kedge_http_new(&environment, 1, &http, NULL), KEDGE_OK);
    if (ca_file != NULL) assert_int_equal(kedge_http_trust(http, ca_file, NULL), KEDGE_OK);
    kedge_http_request request = {.method = "GET",
                                  .url = url,
                                  .headers = &token,
                                  .header_count = 1,
                                  .deadline_ms = 10000,
                                  .response_bytes_max = 1024,
                                  .done = done,
                                  .context = &end};
    assert_int_equal(kedge_http_send(http, &request, NULL, NULL), KEDGE_OK);
    for (int turn = 0; turn < 2000 && !end.done; turn++)
        assert_int_equal(kedge_http_poll(http, 1000, -1, NULL, NULL), KEDGE_OK);
    kedge_http_free(http);
    assert_true(end.done);
    return end;
}

static void test_a_server_whose_certificate_is_not_trusted_gets_nothing(void **state)
{
    (void)state;
    tls_server server;
    start_server(&server);
    ending end = ask(&server, NULL);
    stop_server(&server);
    assert_int_equal(end.status, 0);
    assert_int_equal(end.error.status, KEDGE_PROTOCOL);
    assert_string_equal(end.error.code, "tls-failed");
    assert_string_equal(server.request, "");
}

static void write_certificate(const tls_server *server, const char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(PEM_write_X509(file, SSL_CTX_get0_certificate(server->context)), 1);
    assert_int_equal(fclose(file), 0);
}

static void test_the_certificates_of_a_file_are_trusted_and_no_others(void **state)
{
    (void)state;
    tls_server one;
    tls_server other;
    char path[] = "/tmp/kedge_ca_XXXXXX";
    int made = mkstemp(path);
    assert_true(made >= 0);
    close(made);
    start_server(&one);
    start_server(&other);
    write_certificate(&one, path);
    ending trusted = ask(&one, path);
    ending refused = ask(&other, path);
    stop_server(&one);
    stop_server(&other);
    unlink(path);
    assert_int_equal(trusted.status, 200);
    assert_non_null(strstr(one.request, "Bearer secret"));
    assert_int_equal(refused.status, 0);
    assert_string_equal(refused.error.code, "tls-failed");
    assert_string_equal(other.request, "");
}

/* A dead connection of HTTP/2 would be used again after a request has timed out on it. */
static void test_a_connection_is_not_shared_by_requests(void **state)
{
    (void)state;
    tls_server server;
    char path[] = "/tmp/kedge_ca_XXXXXX";
    int made = mkstemp(path);
    assert_true(made >= 0);
    close(made);
    start_server(&server);
    write_certificate(&server, path);
    ending end = ask(&server, path);
    stop_server(&server);
    unlink(path);
    assert_int_equal(end.status, 200);
    assert_false(server.offered_http_2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_server_whose_certificate_is_not_trusted_gets_nothing),
        cmocka_unit_test(test_the_certificates_of_a_file_are_trusted_and_no_others),
        cmocka_unit_test(test_a_connection_is_not_shared_by_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
