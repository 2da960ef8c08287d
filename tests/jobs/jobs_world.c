/* Stories, lines, damage. */
#include "tests/jobs/jobs_world.h"

#include "backend/api/api.h"
#include "backend/versioned/model/layout.h"
#include "common/gzip.h"
#include "tests/support/project.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- requests ---- */

int jobs_ask_by(kedge_backend *backend, const char *method, const char *path, const char *body,
                kedge_buffer *answer)
{
    static const kedge_identity admin = {
        .user = "root", .role = "admin", .organization = "*", .admin = true};
    kedge_api_response response = {.body = kedge_buffer_make(&kedge_allocator_default)};
    const kedge_api_request request = {.method = kedge_bytes_of(method),
                                       .path = kedge_bytes_of(path),
                                       .body = kedge_bytes_of(body),
                                       .identity = &admin};
    kedge_backend_handle(backend, &request, &response);
    if (answer != NULL)
        *answer = response.body;
    else
        kedge_buffer_free(&response.body);
    return response.status;
}

void jobs_ask(test_world *world, const char *method, const char *path, const char *body)
{
    kedge_buffer answer;
    int status = jobs_ask_by(world->backend, method, path, body, &answer);
    if (status >= 300) fail_msg("%s %s: %.*s", method, path, (int)answer.size, answer.data);
    kedge_buffer_free(&answer);
}

/* ---- lines ---- */

static kedge_status keep_line(void *context, kedge_bytes line, kedge_error *error)
{
    kept_lines *kept = context;
    assert_int_equal(kedge_json_check(line, 64, &kedge_allocator_default, error), KEDGE_OK);
    kedge_buffer_append_bytes(&kept->text, line);
    kedge_buffer_append_byte(&kept->text, '\n');
    return kedge_buffer_status(&kept->text, error);
}

void lines_begin(kept_lines *kept)
{
    kept->lines = (kedge_lines){keep_line, kept};
    kept->text = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_text(&kept->text, "");
}

void lines_end(kept_lines *kept)
{
    kedge_buffer_free(&kept->text);
}

/* ---- a story ---- */

void story_begin(jobs_story *story, uint64_t seed)
{
    *story = (jobs_story){.seed = seed, .pushes = seed + 1, .next = {1, 1, 1}};
}

static void add_mutation(jobs_story *story, push_builder *builder, const char *client, int64_t id)
{
    char item[16];
    char args[160];
    uint32_t kind = world_random(&story->seed) % 12;
    int value = (int)(world_random(&story->seed) % 1000);
    snprintf(item, sizeof item, "i%u", world_random(&story->seed) % 25);
    if (kind == 0) {
        snprintf(args, sizeof args, "{\"collection\":\"items\",\"id\":\"%s\"}", item);
        push_add_call(builder, client, id, "kedge.delete", args);
    } else if (kind <= 2) {
        push_add_large(builder, client, id, item, value, 9000);
    } else if (kind == 3) {
        push_add_call(builder, client, id, "no.such.mutator", "{}");
    } else if (kind == 4) {
        snprintf(args, sizeof args, "{\"name\":\"n%d\",\"kedge.meta\":{\"items\":[\"v\"]}}", value);
        push_add_call(builder, client, id, "kedge.project", args);
    } else if (kind == 5) {
        snprintf(args, sizeof args, "{\"collection\":\"other\",\"id\":\"%s\",\"value\":%d}", item,
                 value);
        push_add_call(builder, client, id, "kedge.put", args);
    } else {
        push_add(builder, client, id, item, value);
    }
}

void story_tell(jobs_story *story, test_world *world, int count)
{
    static const char *const clients[] = {"c0", "c1", "c2"};
    push_builder *builder = malloc(sizeof *builder);
    assert_non_null(builder);
    while (count > 0) {
        kedge_push_result result = {0};
        push_begin(builder);
        for (uint32_t n = 1 + world_random(&story->pushes) % 3; n > 0 && count > 0; n--, count--) {
            int client = (int)(world_random(&story->seed) % 3);
            add_mutation(story, builder, clients[client], story->next[client]++);
        }
        assert_int_equal(push_send(builder, world->backend, &ann, &result), KEDGE_OK);
        assert_int_equal(result.problem, KEDGE_PUSH_FINE);
    }
    free(builder);
}

/* ---- verify ---- */

const char *jobs_findings(test_world *world, const kedge_project_ref *ref)
{
    static char text[4000];
    kept_lines kept;
    kedge_verify_summary summary;
    kedge_error error = {0};
    size_t size = 0;
    int64_t count = 0;
    lines_begin(&kept);
    text[0] = '\0';
    kedge_backend *backend = world_new_backend(world);
    if (kedge_verify_project(HANDLE(backend, ref), &kept.lines, &summary, &error) != KEDGE_OK) {
        fail_msg("verify: %s: %s", error.code, error.message);
    }
    kedge_backend_free(backend);
    for (const char *at = kept.text.data; (at = strstr(at, "{\"finding\":\"")) != NULL; count++) {
        at += strlen("{\"finding\":\"");
        size += (size_t)snprintf(text + size, sizeof text - size, "%s%.*s", size > 0 ? " " : "",
                                 (int)strcspn(at, "\""), at);
        assert_true(size < sizeof text);
    }
    assert_int_equal(summary.findings, count);
    assert_non_null(strstr(kept.text.data, "{\"verified\":"));
    if (size > 0) print_message("%s", kept.text.data);
    lines_end(&kept);
    return text;
}

void jobs_check(test_world *world)
{
    assert_string_equal(jobs_findings(world, &notes), "");
}

/* ---- time ---- */

static int64_t ahead_ms;

static int64_t now_ahead(void *context)
{
    (void)context;
    kedge_environment system = kedge_environment_system(NULL);
    return system.now_ms(system.context) + ahead_ms;
}

void jobs_set_ahead(test_world *world, int64_t ms)
{
    ahead_ms = ms;
    world->environment.now_ms = now_ahead;
}

/* ---- what is derived ---- */

void jobs_delete_derived_above(test_world *world, int64_t through)
{
    const kedge_records *records = &world->store_records;
    kedge_key partition = kedge_key_partition(&notes);
    kedge_record_set set = {0};
    kedge_records_query query = {
        .partition = kedge_key_bytes(&partition), .limit = 1000, .consistent = true};
    assert_int_equal(records->vtable->query(records->self, &query, &set, NULL), KEDGE_OK);
    assert_false(set.more);
    for (size_t i = 0; i < set.count; i++) {
        const kedge_attribute *version = kedge_record_attribute(&set.records[i], "version");
        if (version == NULL || version->number <= through) continue;
        kedge_record_write write = {.kind = KEDGE_WRITE_DELETE,
                                    .record = {.key = set.records[i].key}};
        assert_int_equal(records->vtable->write(records->self, &write, NULL), KEDGE_OK);
    }
    kedge_record_set_free(&set);
}

/* ---- damage ---- */

static void find_record(test_world *world, const char *prefix, kedge_record_set *set)
{
    static kedge_key partition;
    char last[256];
    partition = kedge_key_partition(&notes);
    snprintf(last, sizeof last, "%s~", prefix);
    kedge_records_query query = {.partition = kedge_key_bytes(&partition),
                                 .sort_from = kedge_bytes_of(prefix),
                                 .sort_to = kedge_bytes_of(last),
                                 .limit = 1,
                                 .consistent = true};
    const kedge_records *records = &world->store_records;
    assert_int_equal(records->vtable->query(records->self, &query, set, NULL), KEDGE_OK);
    assert_int_equal(set->count, 1);
}

static void write_record(test_world *world, const kedge_record_write *write)
{
    const kedge_records *records = &world->store_records;
    assert_int_equal(records->vtable->write(records->self, write, NULL), KEDGE_OK);
}

void damage_delete(test_world *world, const char *prefix)
{
    kedge_record_set set = {0};
    find_record(world, prefix, &set);
    kedge_record_write write = {.kind = KEDGE_WRITE_DELETE, .record = {.key = set.records[0].key}};
    write_record(world, &write);
    kedge_record_set_free(&set);
}

static void change(test_world *world, const char *prefix, kedge_attribute attribute)
{
    kedge_record_set set = {0};
    kedge_attribute changed[KEDGE_RECORD_ATTRIBUTES_MAX];
    find_record(world, prefix, &set);
    kedge_record record = set.records[0];
    bool found = false;
    for (size_t i = 0; i < record.attribute_count; i++) {
        bool same = strcmp(record.attributes[i].name, attribute.name) == 0;
        found = found || same;
        changed[i] = same ? attribute : record.attributes[i];
    }
    assert_true(found);
    record.attributes = changed;
    kedge_record_write write = {.kind = KEDGE_WRITE_PUT, .record = record};
    write_record(world, &write);
    kedge_record_set_free(&set);
}

void damage_text(test_world *world, const char *prefix, const char *name, const char *text)
{
    change(world, prefix, (kedge_attribute){name, KEDGE_ATTRIBUTE_TEXT, kedge_bytes_of(text), 0});
}

void damage_number(test_world *world, const char *prefix, const char *name, int64_t number)
{
    change(world, prefix, (kedge_attribute){name, KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, number});
}

void damage_nothing_but_bytes(test_world *world, const char *prefix, const char *name)
{
    kedge_record_set set = {0};
    kedge_buffer plain = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer other = kedge_buffer_make(&kedge_allocator_default);
    find_record(world, prefix, &set);
    const kedge_attribute *found = kedge_record_attribute(&set.records[0], name);
    assert_non_null(found);
    assert_int_equal(found->type, KEDGE_ATTRIBUTE_BINARY);
    assert_int_equal(kedge_gunzip(found->bytes, 1000000, &plain, NULL), KEDGE_OK);
    assert_int_equal(kedge_gzip_quick(kedge_buffer_bytes(&plain), &other, NULL), KEDGE_OK);
    assert_false(kedge_bytes_equal(found->bytes, kedge_buffer_bytes(&other)));
    change(world, prefix,
           (kedge_attribute){name, KEDGE_ATTRIBUTE_BINARY, kedge_buffer_bytes(&other), 0});
    kedge_buffer_free(&plain);
    kedge_buffer_free(&other);
    kedge_record_set_free(&set);
}

void damage_blob(test_world *world, const char *prefix, const char *plain)
{
    const kedge_blobs *blobs = &world->store_blobs;
    kedge_blob_list list = {0};
    kedge_buffer compressed = kedge_buffer_make(&kedge_allocator_default);
    kedge_bytes none = {NULL, 0};
    assert_int_equal(kedge_gzip(kedge_bytes_of(plain), &compressed, NULL), KEDGE_OK);
    assert_int_equal(blobs->vtable->list(blobs->self, kedge_bytes_of(prefix), none, 1, &list, NULL),
                     KEDGE_OK);
    assert_int_equal(list.count, 1);
    kedge_bytes key = kedge_bytes_of(list.blobs[0].key);
    assert_int_equal(blobs->vtable->remove(blobs->self, key, NULL), KEDGE_OK);
    assert_int_equal(
        blobs->vtable->put_if_absent(blobs->self, key, kedge_buffer_bytes(&compressed), NULL),
        KEDGE_OK);
    kedge_blob_list_free(&list);
    kedge_buffer_free(&compressed);
}
