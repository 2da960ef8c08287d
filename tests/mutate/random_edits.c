/* Random edits of places. */
#include "tests/mutate/random_edits.h"

#include "common/json.h"
#include "tests/mutate/patch_whole.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define COST_MAX (UINT64_C(1) << 40)

/* ---- places ---- */

static size_t count_children(kedge_bytes container, bool array)
{
    size_t count = 0;
    kedge_bytes key, value;
    kedge_json_iterator children = kedge_json_iterate(container);
    while (array ? kedge_json_next_element(&children, &value)
                 : kedge_json_next_member(&children, &key, &value))
        count++;
    return count;
}

/* Appends a token: the text of a key is the same in JSON in and out of a pointer, but for two. */
static void append_token(kedge_buffer *out, kedge_bytes key)
{
    for (size_t i = 1; i + 1 < key.size; i++) {
        if (key.data[i] == '~')
            kedge_buffer_append_text(out, "~0");
        else if (key.data[i] == '/')
            kedge_buffer_append_text(out, "~1");
        else
            kedge_buffer_append_byte(out, key.data[i]);
    }
}

/* Takes a step to a child, or to none; returns its value. */
static kedge_bytes step(uint64_t *seed, kedge_bytes container, kedge_buffer *out)
{
    bool array = kedge_json_type_of(container) == KEDGE_JSON_ARRAY;
    size_t count = count_children(container, array);
    kedge_bytes key, value, none = {NULL, 0};
    kedge_json_iterator children = kedge_json_iterate(container);
    kedge_buffer_append_byte(out, '/');
    if (count == 0 || random_next(seed, 6) == 0) {
        if (!array)
            kedge_buffer_append_format(out, "new%u", (unsigned)random_next(seed, 1000));
        else if (random_next(seed, 2) == 0)
            kedge_buffer_append_byte(out, '-');
        else
            kedge_buffer_append_format(out, "%zu", count + (size_t)random_next(seed, 2));
        return none;
    }
    size_t place = (size_t)random_next(seed, count);
    if (array) {
        for (size_t i = 0; i <= place; i++)
            assert_true(kedge_json_next_element(&children, &value));
        kedge_buffer_append_format(out, "%zu", place);
    } else {
        for (size_t i = 0; i <= place; i++)
            assert_true(kedge_json_next_member(&children, &key, &value));
        append_token(out, key);
    }
    return value;
}

/* Appends a pointer, in quotes, and returns what it leads to, or nothing. */
static kedge_bytes random_pointer(uint64_t *seed, kedge_bytes target, kedge_buffer *out)
{
    kedge_buffer_append_byte(out, '"');
    if (random_next(seed, 100) > 0) {
        do {
            kedge_json_type type = kedge_json_type_of(target);
            if (type != KEDGE_JSON_ARRAY && type != KEDGE_JSON_OBJECT) break;
            target = step(seed, target, out);
        } while (target.size > 0 && random_next(seed, 4) > 0);
        if (random_next(seed, 40) == 0) {
            kedge_buffer_append_text(out, "/none");
            target.size = 0;
        }
    }
    kedge_buffer_append_byte(out, '"');
    return target;
}

/* ---- JSON Patch ---- */

static void append_new_value(uint64_t *seed, kedge_buffer *out)
{
    size_t bytes = (size_t)random_next(seed, random_next(seed, 12) == 0 ? 9000 : 100);
    random_value(seed, bytes, out);
}

static void write_operation(uint64_t *seed, kedge_bytes target, kedge_buffer *out)
{
    static const char *const names[] = {"add",     "add",  "replace", "remove", "remove",
                                        "replace", "move", "copy",    "move",   "test"};
    const char *name = names[random_next(seed, sizeof names / sizeof names[0])];
    kedge_buffer_append_byte(out, '{');
    if (name[0] == 'm' || name[0] == 'c') {
        kedge_buffer_append_text(out, "\"from\":");
        (void)random_pointer(seed, target, out);
        kedge_buffer_append_byte(out, ',');
    }
    kedge_buffer_append_format(out, "\"op\":\"%s\",\"path\":", name);
    kedge_bytes found = random_pointer(seed, target, out);
    if (name[0] == 'a' || name[2] == 'p' || name[0] == 't')
        kedge_buffer_append_text(out, ",\"value\":");
    if (name[0] == 't' && found.size > 0 && random_next(seed, 12) > 0)
        kedge_buffer_append_bytes(out, found);
    else if (name[0] == 'a' || name[2] == 'p' || name[0] == 't')
        append_new_value(seed, out);
    kedge_buffer_append_byte(out, '}');
}

/* Each operation is made for what those before it leave. */
void random_operations(uint64_t *seed, kedge_bytes target, kedge_buffer *out)
{
    uint64_t cost;
    size_t count = 1 + (size_t)random_next(seed, random_next(seed, 4) == 0 ? 12 : 2);
    kedge_buffer now = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer operation = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_bytes(&now, target);
    kedge_buffer_append_byte(out, '[');
    for (size_t i = 0; i < count; i++) {
        kedge_buffer next = kedge_buffer_make(&kedge_allocator_default);
        kedge_buffer_clear(&operation);
        kedge_buffer_append_byte(&operation, '[');
        write_operation(seed, kedge_buffer_bytes(&now), &operation);
        kedge_buffer_append_byte(&operation, ']');
        kedge_status status =
            patch_whole(&kedge_allocator_default, kedge_buffer_bytes(&now),
                        kedge_buffer_bytes(&operation), COST_MAX, &cost, &next, NULL);
        bool taken = status == KEDGE_OK || random_next(seed, 12) == 0;
        if (taken && out->data[out->size - 1] != '[') kedge_buffer_append_byte(out, ',');
        if (taken) kedge_buffer_append(out, operation.data + 1, operation.size - 2);
        if (status == KEDGE_OK) {
            kedge_buffer_free(&now);
            now = next;
        } else {
            kedge_buffer_free(&next);
        }
    }
    kedge_buffer_append_byte(out, ']');
    kedge_buffer_free(&operation);
    kedge_buffer_free(&now);
}

/* ---- texts ---- */

/* Appends the string with a word put in somewhere. */
static void append_edited(uint64_t *seed, kedge_bytes string, kedge_buffer *out)
{
    size_t at = string.size - 1;
    if (memchr(string.data, '\\', string.size) == NULL)
        at = 1 + (size_t)random_next(seed, string.size - 1);
    kedge_buffer_append(out, string.data, at);
    kedge_buffer_append_format(out, " w%u ", (unsigned)random_next(seed, 50));
    kedge_buffer_append(out, string.data + at, string.size - at);
}

void random_text_edit(uint64_t *seed, kedge_bytes target, kedge_buffer *out)
{
    kedge_bytes found = {NULL, 0};
    kedge_buffer path = kedge_buffer_make(&kedge_allocator_default);
    for (int i = 0; i < 20 && kedge_json_type_of(found) != KEDGE_JSON_STRING; i++) {
        kedge_buffer_clear(&path);
        found = random_pointer(seed, target, &path);
        if (found.size == 0 && random_next(seed, 3) == 0) break;
    }
    if (kedge_json_type_of(found) != KEDGE_JSON_STRING) found = KEDGE_BYTES("\"\"");
    kedge_buffer_append_text(out, "\"base\":");
    if (random_next(seed, 4) == 0)
        append_edited(seed, found, out);
    else
        kedge_buffer_append_bytes(out, found);
    kedge_buffer_append_text(out, ",\"path\":");
    kedge_buffer_append_bytes(out, kedge_buffer_bytes(&path));
    kedge_buffer_append_text(out, ",\"text\":");
    append_edited(seed, found, out);
    kedge_buffer_free(&path);
}

/* ---- restores ---- */

void random_restore(uint64_t *seed, kedge_bytes target, kedge_buffer *out)
{
    kedge_buffer path = kedge_buffer_make(&kedge_allocator_default);
    kedge_bytes found = random_pointer(seed, target, &path);
    if (path.size == 2 && random_next(seed, 3) > 0) { /* seldom the whole item */
        kedge_buffer_clear(&path);
        found = random_pointer(seed, target, &path);
    }
    bool number = kedge_json_type_of(found) == KEDGE_JSON_NUMBER;
    bool text = kedge_json_type_of(found) == KEDGE_JSON_STRING && random_next(seed, 2) == 0;
    if (number && random_next(seed, 2) == 0)
        kedge_buffer_append_format(out, "\"add\":%u,", (unsigned)random_next(seed, 50));
    if (text) {
        kedge_buffer_append_text(out, "\"expected\":");
        append_edited(seed, found, out);
        kedge_buffer_append_byte(out, ',');
    } else if (found.size > 0 && random_next(seed, 8) > 0) {
        kedge_buffer_append_text(out, "\"expected\":");
        kedge_buffer_append_bytes(out, found);
        kedge_buffer_append_byte(out, ',');
    }
    kedge_buffer_append_text(out, "\"path\":");
    kedge_buffer_append_bytes(out, kedge_buffer_bytes(&path));
    if (text) {
        kedge_buffer_append_text(out, ",\"text\":true,\"value\":");
        append_edited(seed, found, out);
    } else if (!number && random_next(seed, 4) > 0) {
        kedge_buffer_append_text(out, ",\"value\":");
        append_new_value(seed, out);
    }
    kedge_buffer_free(&path);
}

/* ---- args of mutations ---- */

static void begin_item(kedge_buffer *args, const char *id)
{
    kedge_buffer_append_format(args, "{\"collection\":\"notes\",\"id\":\"%s\",", id);
}

void random_begin_args(kedge_buffer *args, const char *id, const char *member)
{
    begin_item(args, id);
    kedge_buffer_append_format(args, "\"%s\":", member);
}

void random_merge(uint64_t *seed, const char *id, kedge_bytes item, kedge_buffer *args)
{
    random_begin_args(args, id, "patch");
    if (random_next(seed, 60) == 0)
        kedge_buffer_append_text(args, "[0]");
    else
        random_patch(seed, item, args);
    kedge_buffer_append_byte(args, '}');
}

static void write_increment(uint64_t *seed, const char *id, kedge_bytes item, kedge_buffer *args)
{
    random_begin_args(args, id, "add");
    random_add(seed, item, args);
    kedge_buffer_append_byte(args, '}');
}

void random_put(uint64_t *seed, const char *id, kedge_buffer *args)
{
    random_begin_args(args, id, "value");
    size_t bytes = random_next(seed, 5) == 0 ? 100 : 16000 + random_next(seed, 60000);
    if (random_next(seed, 6) == 0)
        random_array(seed, bytes, args);
    else
        random_object(seed, bytes, args);
    kedge_buffer_append_byte(args, '}');
}

static void write_put(uint64_t *seed, const char *id, kedge_bytes item, kedge_buffer *args)
{
    (void)item;
    random_put(seed, id, args);
}

static void write_delete(uint64_t *seed, const char *id, kedge_bytes item, kedge_buffer *args)
{
    (void)seed, (void)item;
    begin_item(args, id);
    args->data[args->size - 1] = '}';
}

static void write_patch(uint64_t *seed, const char *id, kedge_bytes item, kedge_buffer *args)
{
    random_begin_args(args, id, "patch");
    random_operations(seed, item, args);
    kedge_buffer_append_byte(args, '}');
}

static void write_text(uint64_t *seed, const char *id, kedge_bytes item, kedge_buffer *args)
{
    begin_item(args, id);
    random_text_edit(seed, item, args);
    kedge_buffer_append_byte(args, '}');
}

static void write_restore(uint64_t *seed, const char *id, kedge_bytes item, kedge_buffer *args)
{
    size_t count = 1 + random_next(seed, 4);
    kedge_buffer_append_text(args, "{\"changes\":[");
    for (size_t i = 0; i < count; i++) {
        if (i > 0) kedge_buffer_append_byte(args, ',');
        begin_item(args, id);
        random_restore(seed, item, args);
        kedge_buffer_append_byte(args, '}');
        if (random_next(seed, 6) == 0) id = "b";
    }
    kedge_buffer_append_text(args, "]}");
}

const char *random_mutation(uint64_t *seed, const char *id, kedge_bytes item, kedge_buffer *args)
{
    static const struct {
        const char *name;
        void (*write)(uint64_t *, const char *, kedge_bytes, kedge_buffer *);
        uint64_t weight;
    } mutations[] = {
        {"kedge.patch", write_patch, 16},    {"kedge.text", write_text, 8},
        {"kedge.restore", write_restore, 8}, {"kedge.increment", write_increment, 8},
        {"kedge.put", write_put, 4},         {"kedge.delete", write_delete, 1},
        {"kedge.merge", random_merge, 35},
    };
    size_t i = 0;
    for (uint64_t at = random_next(seed, 80); at >= mutations[i].weight; i++)
        at -= mutations[i].weight;
    mutations[i].write(seed, id, item, args);
    return mutations[i].name;
}
