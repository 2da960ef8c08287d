/* The blobs port on a real S3: what the contract of the port does not ask for. */
#include "backend/aws/s3.h"
#include "common/gzip.h"
#include "tests/support/engines.h"
#include "tests/support/s3_bucket.h"
#include "tests/support/scripted_server.h"

#include <curl/curl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct fixture {
    s3_bucket bucket;
    kedge_blobs blobs;
    kedge_error error;
} fixture;

static int start(void **state)
{
    static fixture f;
    f = (fixture){.bucket = {.made = false}};
    *state = &f;
    kedge_status status = s3_bucket_make(&f.bucket, &f.error);
    if (status == KEDGE_OK) status = kedge_s3_blobs_open(&f.bucket.options, &f.blobs, &f.error);
    if (status != KEDGE_OK) print_error("%s\n", f.error.message);
    return status == KEDGE_OK ? 0 : -1;
}

static int end(void **state)
{
    fixture *f = *state;
    f->blobs.vtable->close(f->blobs.self);
    s3_bucket_end(&f->bucket);
    return 0;
}

static void assert_status(fixture *f, kedge_status status, kedge_status expected)
{
    if (status != expected) print_error("%s: %s\n", f->error.code, f->error.message);
    assert_int_equal(status, expected);
}

static kedge_status put(fixture *f, const kedge_blobs *blobs, kedge_bytes key, kedge_bytes bytes)
{
    return blobs->vtable->put_if_absent(blobs->self, key, bytes, &f->error);
}

static void assert_blob(fixture *f, const kedge_blobs *blobs, kedge_bytes key, kedge_bytes expected)
{
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    assert_status(f, blobs->vtable->get(blobs->self, key, &out, &f->error), KEDGE_OK);
    assert_true(kedge_bytes_equal(kedge_buffer_bytes(&out), expected));
    kedge_buffer_free(&out);
}

/* ---- many writers ---- */

#define WRITERS 8
#define ROUNDS  50

typedef struct race {
    fixture *f;
    pthread_barrier_t gate; /* all writers enter a round together */
    atomic_int next;
    atomic_int winners[ROUNDS]; /* bits */
    atomic_int wrong;
} race;

static void *write_in_rounds(void *context)
{
    race *self = context;
    const kedge_blobs *blobs = &self->f->blobs;
    int me = atomic_fetch_add(&self->next, 1);
    char bytes[4096];
    memset(bytes, 'a' + me, sizeof bytes);
    for (int i = 0; i < ROUNDS; i++) {
        char key[32];
        int size = snprintf(key, sizeof key, "race/%d", i);
        pthread_barrier_wait(&self->gate);
        kedge_status status =
            blobs->vtable->put_if_absent(blobs->self, (kedge_bytes){key, (size_t)size},
                                         (kedge_bytes){bytes, sizeof bytes}, NULL);
        if (status == KEDGE_OK) atomic_fetch_or(&self->winners[i], 1 << me);
        if (status != KEDGE_OK && status != KEDGE_CONFLICT) atomic_fetch_add(&self->wrong, 1);
    }
    return NULL;
}

static void test_of_8_writers_in_50_rounds_exactly_one_wins_and_its_bytes_stay(void **state)
{
    race self = {.f = *state};
    pthread_t threads[WRITERS];
    pthread_barrier_init(&self.gate, NULL, WRITERS);
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_in_rounds, &self), 0);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&self.gate);
    assert_int_equal(atomic_load(&self.wrong), 0);
    for (int i = 0; i < ROUNDS; i++) {
        char key[32], bytes[4096];
        int size = snprintf(key, sizeof key, "race/%d", i);
        int winners = atomic_load(&self.winners[i]);
        assert_true(winners != 0 && (winners & (winners - 1)) == 0);
        memset(bytes, 'a' + __builtin_ctz((unsigned)winners), sizeof bytes);
        assert_blob(self.f, &self.f->blobs, (kedge_bytes){key, (size_t)size},
                    (kedge_bytes){bytes, sizeof bytes});
    }
}

/* ---- uploads in parts ---- */

static size_t count_uploads(fixture *f)
{
    kedge_aws_response response = {0};
    size_t count = 0;
    assert_status(f, s3_bucket_run(&f->bucket, "GET", "", "uploads", &response, &f->error),
                  KEDGE_OK);
    for (const char *at = response.body.data; (at = strstr(at, "<Upload>")) != NULL; at++)
        count++;
    kedge_aws_response_free(&response);
    return count;
}

static void test_a_blob_of_40_mebibytes_goes_in_parts_and_comes_back(void **state)
{
    fixture *f = *state;
    size_t size = 40 << 20;
    char *bytes = malloc(size);
    assert_non_null(bytes);
    for (size_t i = 0; i < size; i += 8)
        memcpy(bytes + i, &(uint64_t){i * 0x9e3779b97f4a7c15u}, 8);
    assert_status(f, put(f, &f->blobs, KEDGE_BYTES("big"), (kedge_bytes){bytes, size}), KEDGE_OK);
    assert_blob(f, &f->blobs, KEDGE_BYTES("big"), (kedge_bytes){bytes, size});
    bytes[0]++;
    assert_status(f, put(f, &f->blobs, KEDGE_BYTES("big"), (kedge_bytes){bytes, size}),
                  KEDGE_CONFLICT);
    bytes[0]--;
    assert_blob(f, &f->blobs, KEDGE_BYTES("big"), (kedge_bytes){bytes, size});
    assert_int_equal(count_uploads(f), 0);
    free(bytes);
}

/* ---- what a blob says of itself ---- */

static void assert_header(const kedge_aws_response *response, const char *name,
                          const char *expected)
{
    kedge_bytes value = {0};
    assert_true(kedge_aws_response_header(response, name, &value));
    assert_true(kedge_bytes_equal_text(value, expected));
}

static void assert_gzipped_json(fixture *f, const char *key, size_t size)
{
    kedge_aws_response response = {0};
    kedge_buffer packed = kedge_buffer_make(&kedge_allocator_default);
    char *text = malloc(size);
    assert_non_null(text);
    for (size_t i = 0; i < size; i++) /* its gzip is as large */
        text[i] = (char)kedge_random_u64(&f->bucket.environment);
    assert_int_equal(kedge_gzip((kedge_bytes){text, size}, &packed, &f->error), KEDGE_OK);
    kedge_bytes bytes = kedge_buffer_bytes(&packed);
    assert_status(f, put(f, &f->blobs, kedge_bytes_of(key), bytes), KEDGE_OK);
    assert_status(f, s3_bucket_run(&f->bucket, "HEAD", key, NULL, &response, &f->error), KEDGE_OK);
    assert_header(&response, "Content-Type", "application/json");
    assert_header(&response, "Content-Encoding", "gzip");
    assert_blob(f, &f->blobs, kedge_bytes_of(key), bytes);
    kedge_aws_response_free(&response);
    kedge_buffer_free(&packed);
    free(text);
}

static void test_a_blob_of_gzipped_json_says_so_and_comes_back_as_it_is(void **state)
{
    assert_gzipped_json(*state, "small.json.gz", 1000);
    assert_gzipped_json(*state, "large.json.gz", KEDGE_S3_MULTIPART_BYTES + 1);
}

/* ---- listings ---- */

#define KEYS    2500
#define KEY_MAX 40

typedef struct keys {
    fixture *f;
    char texts[KEYS][KEY_MAX + 1];
    atomic_size_t next;
    atomic_int wrong;
} keys;

/* A key out of characters that something on the way could take for something else. */
static void make_key(size_t number, char key[KEY_MAX + 1])
{
    static const char *const parts[] = {"a",
                                        "A",
                                        "_",
                                        "+",
                                        " ",
                                        "%",
                                        "%2B",
                                        "/",
                                        "//",
                                        ".",
                                        "..",
                                        "&",
                                        "=",
                                        "?",
                                        "#",
                                        "<",
                                        ">",
                                        "\"",
                                        "'",
                                        "\\",
                                        "\x01",
                                        "\x1f",
                                        "\x7f",
                                        "\xc3\xa4",
                                        "\xe2\x82\xac",
                                        "\xef\xbf\xbd",
                                        "~",
                                        "*",
                                        ":",
                                        ";",
                                        "\n",
                                        "\r\n",
                                        "\xef\xbf\xbf",
                                        "\xc2\x85",
                                        "]]>",
                                        "\t",
                                        "!",
                                        "@",
                                        "$",
                                        ",",
                                        "\xc3\x9f",
                                        "e\xcc\x81",
                                        "\xf0\x9f\x98\x80"};
    uint64_t state = number * 0x9e3779b97f4a7c15u + 1;
    size_t size = 0, count = 1 + number % 6;
    for (size_t i = 0; i < count; i++) {
        state = (state ^ (state >> 29)) * 0xbf58476d1ce4e5b9u;
        const char *part = parts[(state >> 33) % (sizeof parts / sizeof parts[0])];
        memcpy(key + size, part, strlen(part));
        size += strlen(part);
    }
    /* Keys are all different. */
    snprintf(key + size, KEY_MAX + 1 - size, "%zx", number);
}

static void *put_keys(void *context)
{
    keys *self = context;
    const kedge_blobs *blobs = &self->f->blobs;
    for (size_t i; (i = atomic_fetch_add(&self->next, 1)) < KEYS;) {
        kedge_error error = {0};
        if (blobs->vtable->put_if_absent(blobs->self, kedge_bytes_of(self->texts[i]),
                                         KEDGE_BYTES("x"), &error) == KEDGE_OK)
            continue;
        print_error("%s: %s\n", self->texts[i], error.message);
        atomic_fetch_add(&self->wrong, 1);
    }
    return NULL;
}

static int order(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* Visits all pages and compares them with the sorted keys from `first` on. */
static void assert_pages_in_order(keys *self, uint32_t limit, const char *after, size_t first)
{
    fixture *f = self->f;
    char behind[KEY_MAX + 1];
    bool more = true;
    snprintf(behind, sizeof behind, "%s", after);
    for (size_t at = first; more;) {
        kedge_blob_list list = {0};
        assert_status(f,
                      f->blobs.vtable->list(f->blobs.self, (kedge_bytes){0}, kedge_bytes_of(behind),
                                            limit, &list, &f->error),
                      KEDGE_OK);
        assert_true(list.count <= limit && at + list.count <= KEYS);
        for (size_t i = 0; i < list.count; i++)
            assert_string_equal(list.blobs[i].key, self->texts[at + i]);
        at += list.count;
        more = list.more;
        assert_int_equal(more, at < KEYS);
        assert_true(list.count > 0 || !more);
        if (list.count > 0) snprintf(behind, sizeof behind, "%s", list.blobs[list.count - 1].key);
        kedge_blob_list_free(&list);
    }
}

static void test_2500_odd_keys_are_listed_in_byte_order_page_by_page(void **state)
{
    static keys self;
    pthread_t threads[WRITERS];
    self.f = *state;
    for (size_t i = 0; i < KEYS; i++)
        make_key(i, self.texts[i]);
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, put_keys, &self), 0);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&self.wrong), 0);
    qsort(self.texts, KEYS, sizeof self.texts[0], order);
    assert_pages_in_order(&self, 1000, "", 0);
    assert_pages_in_order(&self, 73, "", 0);
    for (size_t i = 0; i < KEYS; i += 83)
        assert_pages_in_order(&self, 1000, self.texts[i], i + 1);
}

/* ---- prefixes ---- */

static void test_ports_under_two_prefixes_do_not_meet(void **state)
{
    fixture *f = *state;
    kedge_blobs left, right;
    kedge_blob_list list = {0};
    kedge_s3_options options = f->bucket.options;
    options.prefix = "left/";
    assert_status(f, kedge_s3_blobs_open(&options, &left, &f->error), KEDGE_OK);
    options.prefix = "right/+ /";
    assert_status(f, kedge_s3_blobs_open(&options, &right, &f->error), KEDGE_OK);
    assert_status(f, put(f, &left, KEDGE_BYTES("k"), KEDGE_BYTES("left")), KEDGE_OK);
    assert_status(f, put(f, &right, KEDGE_BYTES("k"), KEDGE_BYTES("right")), KEDGE_OK);
    assert_status(f, put(f, &right, KEDGE_BYTES("l"), KEDGE_BYTES("more")), KEDGE_OK);
    assert_blob(f, &left, KEDGE_BYTES("k"), KEDGE_BYTES("left"));
    assert_blob(f, &f->blobs, KEDGE_BYTES("right/+ /k"), KEDGE_BYTES("right"));
    assert_status(
        f, right.vtable->list(right.self, (kedge_bytes){0}, KEDGE_BYTES("k"), 10, &list, &f->error),
        KEDGE_OK);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.blobs[0].key, "l");
    kedge_blob_list_free(&list);
    char key[KEDGE_BLOB_KEY_BYTES_MAX];
    memset(key, 'k', sizeof key);
    assert_status(f, put(f, &left, (kedge_bytes){key, sizeof key - 5}, KEDGE_BYTES("x")), KEDGE_OK);
    assert_status(f, put(f, &left, (kedge_bytes){key, sizeof key - 4}, KEDGE_BYTES("x")),
                  KEDGE_LIMIT_EXCEEDED);
    left.vtable->close(left.self);
    right.vtable->close(right.self);
}

/* ---- tags ---- */

static void test_a_tag_keeps_what_xml_would_change(void **state)
{
    fixture *f = *state;
    kedge_bytes key = KEDGE_BYTES("k"), name = KEDGE_BYTES("a & <b> \"c\" 'd'");
    kedge_bytes value = KEDGE_BYTES("]]> &amp;\t\xc3\xa4  x");
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    const kedge_blobs_vtable *vtable = f->blobs.vtable;
    assert_status(f, put(f, &f->blobs, key, KEDGE_BYTES("x")), KEDGE_OK);
    assert_status(f, vtable->tag(f->blobs.self, key, name, value, &f->error), KEDGE_OK);
    assert_status(
        f, vtable->tag(f->blobs.self, key, KEDGE_BYTES("other"), KEDGE_BYTES("1"), &f->error),
        KEDGE_OK);
    assert_status(f, vtable->get_tag(f->blobs.self, key, name, &out, &f->error), KEDGE_OK);
    assert_true(kedge_bytes_equal(kedge_buffer_bytes(&out), value));
    kedge_buffer_free(&out);
}

/* ---- grants ---- */

typedef struct upload {
    kedge_bytes bytes;
    size_t given;
} upload;

static size_t give(char *room, size_t size, size_t count, void *context)
{
    upload *self = context;
    size_t left = self->bytes.size - self->given;
    size_t bytes = size * count < left ? size * count : left;
    memcpy(room, self->bytes.data + self->given, bytes);
    self->given += bytes;
    return bytes;
}

static size_t take(char *data, size_t size, size_t count, void *context)
{
    (void)data;
    (void)context;
    return size * count;
}

/* A PUT of these bytes by somebody who has nothing but the grant, or less: without its headers. */
static long put_by(const kedge_blob_grant *grant, size_t header_count, kedge_bytes bytes)
{
    long status = 0;
    upload sent = {bytes, 0};
    char header[128];
    struct curl_slist *headers = curl_slist_append(NULL, "Expect:");
    CURL *easy = curl_easy_init();
    assert_non_null(easy);
    for (size_t i = 0; i < header_count; i++) {
        snprintf(header, sizeof header, "%s: %s", grant->headers[i].name, grant->headers[i].value);
        headers = curl_slist_append(headers, header);
    }
    curl_easy_setopt(easy, CURLOPT_URL, grant->url.data);
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(easy, CURLOPT_READFUNCTION, give);
    curl_easy_setopt(easy, CURLOPT_READDATA, &sent);
    curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)bytes.size);
    assert_int_equal(curl_easy_perform(easy), CURLE_OK);
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_cleanup(easy);
    curl_slist_free_all(headers);
    return status;
}

static void test_a_grant_uploads_one_blob_of_one_size_and_nothing_else(void **state)
{
    fixture *f = *state;
    static const char *const odd[] = {"plain", "a b+c/%2F&?=#~", "a/../b", "\xc3\xa4\n"};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        kedge_blob_grant grant = {.url = kedge_buffer_make(&kedge_allocator_default)};
        kedge_blob_upload wanted = {
            .key = kedge_bytes_of(odd[i]), .size_bytes = 8, .lifetime_ms = 60000};
        kedge_sha256(KEDGE_BYTES("uploaded"), wanted.sha256);
        assert_status(f, f->blobs.vtable->presign_put(f->blobs.self, &wanted, &grant, &f->error),
                      KEDGE_OK);
        assert_int_equal(put_by(&grant, grant.header_count, KEDGE_BYTES("another")), 403);
        assert_int_equal(put_by(&grant, 0, KEDGE_BYTES("uploaded")), 403);
        for (int time = 0; time < 2; time++) /* a response may have been lost */
            assert_int_equal(put_by(&grant, grant.header_count, KEDGE_BYTES("uploaded")), 200);
        assert_blob(f, &f->blobs, wanted.key, KEDGE_BYTES("uploaded"));
        kedge_buffer_free(&grant.url);
    }
}

/* ---- responses that are lost ---- */

/* Passes a request without a body on to the engine, as it came, since its signature speaks of it;
 * true when it was answered 204. */
static bool pass_on(const scripted_request *request)
{
    const char *engine = getenv("AWS_ENDPOINT_URL_S3");
    CURL *line = curl_easy_init();
    size_t size = (size_t)(request->body - request->headers), moved = 0;
    char response[4096] = "";
    curl_socket_t descriptor = CURL_SOCKET_BAD;
    curl_easy_setopt(line, CURLOPT_URL, engine);
    curl_easy_setopt(line, CURLOPT_CONNECT_ONLY, 1L);
    bool passed = curl_easy_perform(line) == CURLE_OK &&
                  curl_easy_getinfo(line, CURLINFO_ACTIVESOCKET, &descriptor) == CURLE_OK &&
                  curl_easy_send(line, request->headers, size, &moved) == CURLE_OK && moved == size;
    struct pollfd readable = {.fd = descriptor, .events = POLLIN};
    passed = passed && poll(&readable, 1, 10000) == 1 &&
             curl_easy_recv(line, response, sizeof response - 1, &moved) == CURLE_OK;
    curl_easy_cleanup(line);
    return passed && strncmp(response, "HTTP/1.1 204 ", 13) == 0;
}

typedef struct losing {
    fixture *fixture;
    int removals;
    bool removed;
} losing;

/* A removal takes effect, another writer finds the key free, and the response is lost. */
static bool lose_removal(void *context, const scripted_request *request)
{
    losing *self = context;
    fixture *f = self->fixture;
    bool first = self->removals++ == 0;
    self->removed = pass_on(request);
    if (first) put(f, &f->blobs, KEDGE_BYTES("k"), KEDGE_BYTES("wanted"));
    return false;
}

static void test_a_removal_whose_response_is_lost_takes_nothing_that_was_put_since(void **state)
{
    fixture *f = *state;
    losing lossy = {.fixture = f};
    kedge_aws_client *client = NULL;
    kedge_blobs blobs;
    scripted_server *proxy = scripted_server_start(lose_removal, &lossy);
    const kedge_aws_client_options through = {
        .environment = &f->bucket.environment,
        .credentials = f->bucket.credentials,
        .region = kedge_aws_client_region(f->bucket.client),
        .endpoints = {[KEDGE_AWS_S3] = scripted_server_url(proxy)}};
    assert_status(f, kedge_aws_client_new(&through, &client, &f->error), KEDGE_OK);
    kedge_s3_options options = f->bucket.options;
    options.client = client;
    assert_status(f, kedge_s3_blobs_open(&options, &blobs, &f->error), KEDGE_OK);
    assert_status(f, put(f, &f->blobs, KEDGE_BYTES("k"), KEDGE_BYTES("garbage")), KEDGE_OK);
    kedge_status status = blobs.vtable->remove(blobs.self, KEDGE_BYTES("k"), &f->error);
    blobs.vtable->close(blobs.self);
    kedge_aws_client_free(client);
    scripted_server_stop(proxy);
    assert_true(lossy.removed);
    assert_blob(f, &f->blobs, KEDGE_BYTES("k"), KEDGE_BYTES("wanted"));
    assert_status(f, status, KEDGE_UNAVAILABLE);
    assert_int_equal(lossy.removals, 1);
}

/* ---- the bucket ---- */

static void test_a_bucket_is_checked_and_made_once(void **state)
{
    fixture *f = *state;
    kedge_s3_options options = f->bucket.options;
    assert_status(f, kedge_s3_check(&options, &f->error), KEDGE_OK);
    assert_status(f, kedge_s3_create(&options, &f->error), KEDGE_OK);
    options.bucket = "kedge-test-no-such-bucket";
    assert_status(f, kedge_s3_check(&options, &f->error), KEDGE_NOT_FOUND);
    assert_string_equal(f->error.code, "aws-bucket-missing");
    kedge_blobs blobs;
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    assert_status(f, kedge_s3_blobs_open(&options, &blobs, &f->error), KEDGE_OK);
    assert_status(f, blobs.vtable->get(blobs.self, KEDGE_BYTES("k"), &out, &f->error), KEDGE_IO);
    assert_status(f, put(f, &blobs, KEDGE_BYTES("k"), KEDGE_BYTES("x")), KEDGE_IO);
    assert_string_equal(f->error.code, "aws-bucket-missing");
    kedge_buffer_free(&out);
    blobs.vtable->close(blobs.self);
}

#define on_a_bucket(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        on_a_bucket(test_of_8_writers_in_50_rounds_exactly_one_wins_and_its_bytes_stay),
        on_a_bucket(test_a_blob_of_40_mebibytes_goes_in_parts_and_comes_back),
        on_a_bucket(test_a_blob_of_gzipped_json_says_so_and_comes_back_as_it_is),
        on_a_bucket(test_2500_odd_keys_are_listed_in_byte_order_page_by_page),
        on_a_bucket(test_ports_under_two_prefixes_do_not_meet),
        on_a_bucket(test_a_tag_keeps_what_xml_would_change),
        on_a_bucket(test_a_grant_uploads_one_blob_of_one_size_and_nothing_else),
        on_a_bucket(test_a_removal_whose_response_is_lost_takes_nothing_that_was_put_since),
        on_a_bucket(test_a_bucket_is_checked_and_made_once),
    };
    int missing = engines_missing("AWS_ENDPOINT_URL_S3");
    if (missing != 0) return missing;
    return cmocka_run_group_tests_name("S3", tests, NULL, NULL);
}
