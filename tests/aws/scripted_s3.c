/* The scripted S3: routing, the object, its uploads, and the faults in front of them. */
#include "tests/aws/scripted_s3.h"
#include "common/base64.h"
#include "common/hash.h"
#include "tests/aws/damage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define S3_HEADERS "x-amz-request-id: 1\r\n"

/* A response before it is sent. `body` is borrowed. */
typedef struct reply {
    int status;
    char headers[512];
    kedge_bytes body;
    char text[1280]; /* room for a body, and what stands around it */
} reply;

/* ---- requests ---- */

static bool header_of(const scripted_request *request, const char *name, char *value, size_t size)
{
    char wanted[80];
    snprintf(wanted, sizeof wanted, "\r\n%s: ", name);
    const char *at = strcasestr(request->headers, wanted);
    if (at == NULL || at >= request->body) return false;
    at += strlen(wanted);
    snprintf(value, size, "%.*s", (int)strcspn(at, "\r"), at);
    return true;
}

static bool has(const scripted_request *request, const char *part)
{
    return strstr(request->target, part) != NULL;
}

/* What the trace calls the request. */
static void name_of(const scripted_request *request, char name[16])
{
    const char *part = strstr(request->target, "partNumber=");
    if (part != NULL)
        snprintf(name, 16, "PART%d", (int)strtol(part + 11, NULL, 10));
    else if (has(request, "uploads="))
        snprintf(name, 16, "CREATE");
    else if (has(request, "uploadId=") && request->method[0] == 'P')
        snprintf(name, 16, "COMPLETE");
    else if (has(request, "uploadId="))
        snprintf(name, 16, "ABORT");
    else if (has(request, "list-type"))
        snprintf(name, 16, "LIST");
    else if (has(request, "tagging"))
        snprintf(name, 16, "%.6s-TAGS", request->method);
    else
        snprintf(name, 16, "%s", request->method);
}

static bool is_sound(const scripted_request *request)
{
    char sent[80];
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_buffer expected = kedge_buffer_make(&kedge_allocator_default);
    if (!header_of(request, "x-amz-checksum-sha256", sent, sizeof sent)) return true;
    kedge_sha256((kedge_bytes){request->body, request->body_size}, hash);
    kedge_base64_encode((kedge_bytes){(const char *)hash, sizeof hash}, &expected);
    bool same = kedge_bytes_equal_text(kedge_buffer_bytes(&expected), sent);
    kedge_buffer_free(&expected);
    return same;
}

/* ---- the object ---- */

static void forget(s3_object *object)
{
    free(object->bytes);
    *object = (s3_object){0};
}

static void store(scripted_s3 *s3, s3_object *object, const char *bytes, size_t size,
                  const char *writer)
{
    char *copy = malloc(size + 1);
    assert_non_null(copy);
    if (size > 0) memcpy(copy, bytes, size);
    forget(object);
    *object = (s3_object){.bytes = copy, .size = size, .etag = ++s3->etags};
    snprintf(object->writer, sizeof object->writer, "%s", writer);
}

void scripted_s3_put(scripted_s3 *s3, const char *bytes, size_t size)
{
    store(s3, &s3->object, bytes, size, "another");
}

static void refuse(reply *out, int status, const char *code)
{
    out->status = status;
    snprintf(out->text, sizeof out->text,
             "<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>no</Message></Error>", code);
    out->body = kedge_bytes_of(out->text);
}

static void say(reply *out, const char *xml)
{
    out->status = 200;
    snprintf(out->text, sizeof out->text, "<?xml version=\"1.0\"?>\n%s", xml);
    out->body = kedge_bytes_of(out->text);
}

static void describe(const s3_object *object, reply *out)
{
    snprintf(out->headers, sizeof out->headers, "ETag: \"%d\"\r\nx-amz-meta-kedge-writer: %s\r\n",
             object->etag, object->writer);
}

static void put(scripted_s3 *s3, const scripted_request *request, reply *out)
{
    char condition[8] = "", writer[64] = "";
    header_of(request, "If-None-Match", condition, sizeof condition);
    header_of(request, "x-amz-meta-kedge-writer", writer, sizeof writer);
    if (strcmp(condition, "*") == 0 && s3->object.bytes != NULL) {
        refuse(out, 412, "PreconditionFailed");
        return;
    }
    store(s3, &s3->object, request->body, request->body_size, writer);
    out->status = 200;
    describe(&s3->object, out);
}

static void get(const scripted_s3 *s3, const scripted_request *request, reply *out)
{
    char range[64];
    unsigned long first = 0, last = 0;
    const s3_object *object = &s3->object;
    if (object->bytes == NULL) {
        refuse(out, 404, "NoSuchKey");
        return;
    }
    out->status = 200;
    out->body = (kedge_bytes){object->bytes, object->size};
    describe(object, out);
    if (!header_of(request, "Range", range, sizeof range) ||
        sscanf(range, "bytes=%lu-%lu", &first, &last) != 2)
        return;
    if (first >= object->size) {
        refuse(out, 416, "InvalidRange");
        return;
    }
    if (last >= object->size) last = object->size - 1;
    out->status = 206;
    out->body = (kedge_bytes){object->bytes + first, last - first + 1};
    size_t used = strlen(out->headers);
    snprintf(out->headers + used, sizeof out->headers - used,
             "Content-Range: bytes %lu-%lu/%zu\r\n", first, last, object->size);
}

/* ---- uploads ---- */

static void create(scripted_s3 *s3, const scripted_request *request, reply *out)
{
    s3->uploading = true;
    header_of(request, "x-amz-meta-kedge-writer", s3->upload_writer, sizeof s3->upload_writer);
    say(out, "<InitiateMultipartUploadResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
             "<Bucket>b</Bucket><UploadId>upload/1+=</UploadId></InitiateMultipartUploadResult>");
}

static void take_part(scripted_s3 *s3, const scripted_request *request, reply *out)
{
    size_t number = strtoul(strstr(request->target, "partNumber=") + 11, NULL, 10);
    if (!s3->uploading || number == 0 || number > S3_PARTS_MAX ||
        !has(request, "uploadId=upload%2F1%2B%3D")) {
        refuse(out, 404, "NoSuchUpload");
        return;
    }
    store(s3, &s3->parts[number - 1], request->body, request->body_size, "");
    out->status = 200;
    describe(&s3->parts[number - 1], out);
}

static void end_upload(scripted_s3 *s3)
{
    for (size_t i = 0; i < S3_PARTS_MAX; i++)
        forget(&s3->parts[i]);
    s3->uploading = false;
}

static void complete(scripted_s3 *s3, const scripted_request *request, reply *out)
{
    char condition[8] = "", wanted[64];
    kedge_buffer whole = kedge_buffer_make(&kedge_allocator_default);
    header_of(request, "If-None-Match", condition, sizeof condition);
    if (!s3->uploading) {
        refuse(out, 404, "NoSuchUpload");
        return;
    }
    if (!s3->ignores_condition && strcmp(condition, "*") == 0 && s3->object.bytes != NULL) {
        refuse(out, 412, "PreconditionFailed");
        return;
    }
    for (size_t i = 0; i < S3_PARTS_MAX && s3->parts[i].bytes != NULL; i++) {
        snprintf(wanted, sizeof wanted, "<PartNumber>%zu</PartNumber><ETag>&quot;%d&quot;</ETag>",
                 i + 1, s3->parts[i].etag);
        if (strstr(request->body, wanted) == NULL) refuse(out, 400, "InvalidPart");
        kedge_buffer_append(&whole, s3->parts[i].bytes, s3->parts[i].size);
    }
    if (out->status == 0) {
        store(s3, &s3->object, whole.data, whole.size, s3->upload_writer);
        end_upload(s3);
        say(out, "<CompleteMultipartUploadResult><ETag>\"e\"</ETag>"
                 "</CompleteMultipartUploadResult>");
    }
    kedge_buffer_free(&whole);
}

/* ---- tags and listings ---- */

static void respond_tags(scripted_s3 *s3, const scripted_request *request, reply *out)
{
    if (s3->object.bytes == NULL) {
        refuse(out, 404, "NoSuchKey");
        return;
    }
    if (strcmp(request->method, "PUT") == 0)
        snprintf(s3->tags, sizeof s3->tags, "%.*s", (int)request->body_size, request->body);
    if (strcmp(request->method, "DELETE") == 0) s3->tags[0] = '\0';
    say(out, s3->tags[0] == '\0' ? "<Tagging><TagSet/></Tagging>" : s3->tags);
}

#define CONTENTS(key)                                                                              \
    "<Contents><Key>" key "</Key><LastModified>2026-11-21T16:34:12.345Z</LastModified>"            \
    "<ETag>&quot;1&quot;</ETag><Size>7</Size></Contents>"

/* Three keys after "j", whatever is asked for. */
static void respond_list(reply *out)
{
    say(out, "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>b</Name>"
             "<Prefix></Prefix><IsTruncated>true</IsTruncated>" CONTENTS("k") CONTENTS("l%2B")
                 CONTENTS("m+%C3%A4") "</ListBucketResult>");
}

/* ---- responding ---- */

static void respond_well(scripted_s3 *s3, const scripted_request *request, const char *name,
                         reply *out)
{
    if (!is_sound(request)) {
        refuse(out, 400, "BadDigest");
    } else if (strcmp(name, "PUT") == 0) {
        put(s3, request, out);
    } else if (strcmp(name, "GET") == 0) {
        get(s3, request, out);
    } else if (strcmp(name, "HEAD") == 0) {
        out->status = s3->object.bytes == NULL ? 404 : 200;
        if (out->status == 200) describe(&s3->object, out);
    } else if (strcmp(name, "CREATE") == 0) {
        create(s3, request, out);
    } else if (strncmp(name, "PART", 4) == 0) {
        take_part(s3, request, out);
    } else if (strcmp(name, "COMPLETE") == 0) {
        complete(s3, request, out);
    } else if (strcmp(name, "LIST") == 0) {
        respond_list(out);
    } else if (strstr(name, "-TAGS") != NULL) {
        respond_tags(s3, request, out);
    } else if (strcmp(name, "ABORT") == 0) {
        end_upload(s3);
        out->status = 204;
    } else if (strcmp(name, "DELETE") == 0) {
        forget(&s3->object);
        out->status = 204;
    } else {
        refuse(out, 501, "NotImplemented");
    }
}

static void meddle(scripted_s3 *s3, s3_fault fault)
{
    if (fault == S3_OVERTAKEN) scripted_s3_put(s3, "another's", 9);
    if (fault != S3_REPLACED || s3->object.bytes == NULL) return;
    size_t size = s3->object.size;
    char *bytes = calloc(1, size + 1);
    assert_non_null(bytes);
    scripted_s3_put(s3, bytes, size);
    free(bytes);
}

static void send_reply(const scripted_request *request, const reply *out, size_t cut)
{
    char head[1024];
    bool bodiless = strcmp(request->method, "HEAD") == 0 || out->status == 204;
    int size = snprintf(head, sizeof head, "HTTP/1.1 %d Scripted\r\n%s", out->status, out->headers);
    size += snprintf(head + size, sizeof head - (size_t)size, "Content-Length: %zu\r\n\r\n",
                     bodiless ? 0 : out->body.size);
    scripted_send(request, head, (size_t)size);
    if (!bodiless) scripted_send(request, out->body.data, out->body.size - cut);
}

static void note(scripted_s3 *s3, const char *name, int status)
{
    size_t used = strlen(s3->trace);
    if (S3_TRACE_MAX - used < 32) return;
    const char *comma = used == 0 ? "" : ", ";
    if (status == 0)
        snprintf(s3->trace + used, S3_TRACE_MAX - used, "%s%s lost", comma, name);
    else
        snprintf(s3->trace + used, S3_TRACE_MAX - used, "%s%s %d", comma, name, status);
}

/* Of bodies that stand in the reply itself: XML. */
static void damage_reply(scripted_s3 *s3, reply *out)
{
    if (out->body.data != out->text) return;
    for (uint32_t i = damage_random(&s3->seed) % 4; i > 0 && out->body.size > 0; i--) {
        size_t room = sizeof out->text - out->body.size;
        if (room >= DAMAGE_GROWTH_MAX)
            out->body.size = damage(out->text, out->body.size, &s3->seed);
    }
}

/* With the mutex held, so that requests are answered one after the other. */
static bool respond_step(scripted_s3 *s3, const scripted_request *request, const s3_step *step)
{
    char name[16];
    reply out = {0};
    name_of(request, name);
    meddle(s3, step->fault);
    if (step->fault == S3_RESPONSE || step->fault == S3_FOREIGN) {
        out.status = step->status;
        out.body = kedge_bytes_of(step->body);
        snprintf(out.headers, sizeof out.headers, "%s", step->headers == NULL ? "" : step->headers);
    } else if (step->fault != S3_NEVER) {
        respond_well(s3, request, name, &out);
    }
    if (step->fault == S3_FOLLOWED) scripted_s3_put(s3, "another's", 9);
    bool lost = step->fault == S3_LOST || step->fault == S3_NEVER || step->fault == S3_FOLLOWED;
    note(s3, name, lost ? 0 : out.status);
    if (lost) return false;
    if (step->fault != S3_FOREIGN) {
        size_t used = strlen(out.headers);
        snprintf(out.headers + used, sizeof out.headers - used, S3_HEADERS);
    }
    if (step->fault == S3_DAMAGED) damage_reply(s3, &out);
    send_reply(request, &out, step->fault == S3_CUT ? 1 : 0);
    return step->fault != S3_CUT;
}

static bool response(void *context, const scripted_request *request)
{
    scripted_s3 *s3 = context;
    pthread_mutex_lock(&s3->mutex);
    size_t number = s3->requests++;
    const s3_step *step = &s3->steps[number < s3->step_count ? number : s3->step_count - 1];
    snprintf(s3->last_head, sizeof s3->last_head, "%.*s", (int)(request->body - request->headers),
             request->headers);
    bool keep = respond_step(s3, request, step);
    pthread_mutex_unlock(&s3->mutex);
    return keep;
}

/* ---- the world ---- */

void scripted_s3_serve(scripted_s3 *s3)
{
    pthread_mutex_unlock(&s3->mutex);
}

kedge_status scripted_s3_halt(scripted_s3 *s3, kedge_status status)
{
    pthread_mutex_lock(&s3->mutex);
    return status;
}

void scripted_s3_begin(scripted_s3 *s3, const s3_step *steps, size_t step_count)
{
    const scripted_reply nothing = {.status = 500};
    memset(s3, 0, sizeof *s3);
    assert_true(step_count <= S3_STEPS_MAX);
    memcpy(s3->steps, steps, step_count * sizeof *steps);
    s3->step_count = step_count;
    pthread_mutex_init(&s3->mutex, NULL);
    pthread_mutex_lock(&s3->mutex);
    s3->server = scripted_server_start(response, s3);
    client_world_begin(&s3->world, &nothing, 1);
    s3->world.no_pauses = true;
    client_world_open(&s3->world,
                      (kedge_aws_client_options){
                          .endpoints = {[KEDGE_AWS_S3] = scripted_server_url(s3->server)}});
    s3->options =
        (kedge_s3_options){.client = s3->world.client, .bucket = "bucket", .path_style = true};
    assert_int_equal(kedge_s3_blobs_open(&s3->options, &s3->blobs, &s3->error), KEDGE_OK);
}

void scripted_s3_end(scripted_s3 *s3)
{
    scripted_s3_serve(s3);
    s3->blobs.vtable->close(s3->blobs.self);
    client_world_end(&s3->world);
    scripted_server_stop(s3->server);
    forget(&s3->object);
    end_upload(s3);
    pthread_mutex_destroy(&s3->mutex);
}
