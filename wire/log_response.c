/* The responses and events of event logs. See log.h. */
#include "wire/log.h"

#include "common/assert.h"
#include "common/error.h"
#include "common/hash.h"
#include "wire/problem.h"
#include "wire/response.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void write_integer(kedge_json_writer *writer, const char *name, int64_t value)
{
    kedge_json_key(writer, name);
    kedge_json_integer(writer, value);
}

/* null for -1. */
static void write_number(kedge_json_writer *writer, const char *name, int64_t number)
{
    kedge_json_key(writer, name);
    if (number < 0)
        kedge_json_null(writer);
    else
        kedge_json_integer(writer, number);
}

static void write_text(kedge_json_writer *writer, const char *name, kedge_bytes text)
{
    if (text.size == 0) return;
    kedge_json_key(writer, name);
    kedge_json_text(writer, text);
}

static kedge_status read_number(kedge_wire_place place, const kedge_wire_member *member,
                                int64_t *out, kedge_error *error)
{
    *out = -1;
    if (kedge_wire_response_is_null(member)) return KEDGE_OK;
    return kedge_wire_response_integer(place, member, 0, out, error);
}

/* ---- append ---- */

void kedge_wire_log_appended_write(const kedge_wire_log_appended *response, kedge_buffer *out)
{
    kedge_json_writer writer = kedge_json_write(out);
    kedge_json_begin_object(&writer);
    write_integer(&writer, "number", response->number);
    kedge_json_key(&writer, "before");
    kedge_json_boolean(&writer, response->before);
    kedge_json_end_object(&writer);
}

kedge_status kedge_wire_log_appended_read(kedge_bytes body, kedge_wire_log_appended *out,
                                          kedge_error *error)
{
    kedge_wire_place place = KEDGE_WIRE_PLACE("");
    kedge_wire_member members[] = {{.name = "number"}, {.name = "before"}};
    kedge_status status = kedge_wire_response_members(place, body, members, 2, error);
    if (status == KEDGE_OK)
        status = kedge_wire_response_integer(place, &members[0], 0, &out->number, error);
    if (status == KEDGE_OK)
        status = kedge_wire_response_boolean(place, &members[1], &out->before, error);
    return status;
}

/* ---- entries ---- */

void kedge_wire_log_page_begin(kedge_json_writer *writer)
{
    kedge_json_begin_object(writer);
    kedge_json_key(writer, "entries");
    kedge_json_begin_array(writer);
}

void kedge_wire_log_entry_write(kedge_json_writer *writer, const kedge_wire_log_entry *entry)
{
    char id[2 * KEDGE_WIRE_LOG_ID_SIZE + 1];
    kedge_hex_encode(entry->id, sizeof entry->id, id);
    kedge_json_begin_object(writer);
    write_integer(writer, "number", entry->number);
    write_integer(writer, "created", entry->created_s);
    kedge_json_key(writer, "type");
    kedge_json_text(writer, entry->type);
    write_integer(writer, "version", entry->version);
    kedge_json_key(writer, "id");
    kedge_json_chars(writer, id);
    kedge_json_key(writer, "body");
    kedge_json_raw(writer, entry->body);
    write_text(writer, "snapshot", entry->snapshot);
    write_text(writer, "history", entry->history);
    write_text(writer, "pending", entry->pending);
    kedge_json_end_object(writer);
}

void kedge_wire_log_page_end(kedge_json_writer *writer, const kedge_wire_log_page *page)
{
    kedge_json_end_array(writer);
    write_number(writer, "next", page->next);
    write_number(writer, "last_snapshot", page->last_snapshot);
    kedge_json_key(writer, "reload");
    kedge_json_boolean(writer, page->reload);
    kedge_json_end_object(writer);
}

static kedge_status read_text(kedge_wire_place place, const kedge_wire_member *member, bool must,
                              kedge_buffer *text, kedge_bytes *out, kedge_error *error)
{
    *out = (kedge_bytes){NULL, 0};
    if (member->value.data == NULL && !must) return KEDGE_OK;
    size_t start = text->size;
    if (kedge_json_check_string(member->value, NULL) == KEDGE_OK)
        (void)kedge_json_to_text(member->value, text);
    if (text->size == start)
        return kedge_wire_response_fail(place, member, "a string that is not empty", error);
    *out = (kedge_bytes){text->data + start, text->size - start};
    return KEDGE_OK;
}

static kedge_status read_body(const kedge_allocator *allocator, kedge_wire_place place,
                              const kedge_wire_member *member, kedge_bytes *out, kedge_error *error)
{
    kedge_status status =
        member->value.data == NULL
            ? KEDGE_INVALID_JSON
            : kedge_json_check(member->value, KEDGE_LIMIT_JSON_DEPTH, allocator, NULL);
    if (status == KEDGE_NO_MEMORY) return kedge_fail_no_memory(error);
    if (status != KEDGE_OK) return kedge_wire_response_fail(place, member, "a JSON value", error);
    *out = member->value;
    return KEDGE_OK;
}

static kedge_status read_entry(kedge_wire_place place, kedge_bytes object, kedge_buffer *text,
                               kedge_wire_log_entry *out, kedge_error *error)
{
    enum { NUMBER, CREATED, TYPE, VERSION, ID, BODY, SNAPSHOT, HISTORY, PENDING, MEMBERS };
    kedge_wire_member members[MEMBERS] = {[NUMBER] = {.name = "number"},
                                          [CREATED] = {.name = "created"},
                                          [TYPE] = {.name = "type"},
                                          [VERSION] = {.name = "version"},
                                          [ID] = {.name = "id"},
                                          [BODY] = {.name = "body"},
                                          [SNAPSHOT] = {.name = "snapshot"},
                                          [HISTORY] = {.name = "history"},
                                          [PENDING] = {.name = "pending"}};
    kedge_status status = kedge_wire_response_members(place, object, members, MEMBERS, error);
    if (status == KEDGE_OK)
        status = kedge_wire_response_integer(place, &members[NUMBER], 0, &out->number, error);
    if (status == KEDGE_OK)
        status = kedge_wire_response_integer(place, &members[CREATED], 0, &out->created_s, error);
    if (status == KEDGE_OK)
        status = read_text(place, &members[TYPE], true, text, &out->type, error);
    if (status == KEDGE_OK)
        status = kedge_wire_response_integer(place, &members[VERSION], 1, &out->version, error);
    if (status == KEDGE_OK)
        status = kedge_wire_response_hex(place, &members[ID], out->id, sizeof out->id, error);
    if (status == KEDGE_OK)
        status = read_body(text->allocator, place, &members[BODY], &out->body, error);
    if (status == KEDGE_OK)
        status = read_text(place, &members[SNAPSHOT], false, text, &out->snapshot, error);
    if (status == KEDGE_OK)
        status = read_text(place, &members[HISTORY], false, text, &out->history, error);
    if (status == KEDGE_OK)
        status = read_text(place, &members[PENDING], false, text, &out->pending, error);
    return status;
}

static size_t count_elements(kedge_bytes array)
{
    size_t count = 0;
    kedge_bytes value;
    kedge_json_iterator iterator = kedge_json_iterate(array);
    while (kedge_json_next_element(&iterator, &value))
        count++;
    return count;
}

/* The texts are never longer than the body, so that their buffer stays where it is. */
static kedge_status read_entries(const kedge_wire_member *member, kedge_bytes body,
                                 kedge_wire_log_entries *out, kedge_error *error)
{
    kedge_bytes value;
    kedge_json_iterator iterator = kedge_json_iterate(member->value);
    size_t count = count_elements(member->value);
    if (kedge_json_type_of(member->value) != KEDGE_JSON_ARRAY)
        return kedge_wire_response_fail(KEDGE_WIRE_PLACE(""), member, "an array", error);
    out->entries = kedge_allocate(out->allocator, (count + 1) * sizeof *out->entries);
    if (out->entries == NULL || kedge_buffer_reserve(&out->text, body.size) == NULL)
        return kedge_fail_no_memory(error);
    while (kedge_json_next_element(&iterator, &value)) {
        kedge_wire_place place = KEDGE_WIRE_PLACE_AT("entries", out->count);
        KEDGE_ASSERT(out->count < count);
        kedge_status status =
            read_entry(place, value, &out->text, &out->entries[out->count], error);
        if (status != KEDGE_OK) return status;
        out->count++;
    }
    if (!iterator.failed) return KEDGE_OK;
    return kedge_wire_response_fail(KEDGE_WIRE_PLACE(""), member, "an array", error);
}

kedge_status kedge_wire_log_entries_read(const kedge_allocator *allocator, kedge_bytes body,
                                         kedge_wire_log_entries *out, kedge_error *error)
{
    enum { ENTRIES, NEXT, LAST, RELOAD, MEMBERS };
    kedge_wire_place place = KEDGE_WIRE_PLACE("");
    kedge_wire_member members[MEMBERS] = {[ENTRIES] = {.name = "entries"},
                                          [NEXT] = {.name = "next"},
                                          [LAST] = {.name = "last_snapshot"},
                                          [RELOAD] = {.name = "reload"}};
    out->allocator = allocator;
    out->text = kedge_buffer_make(allocator);
    kedge_status status = kedge_wire_response_members(place, body, members, MEMBERS, error);
    if (status == KEDGE_OK) status = read_number(place, &members[NEXT], &out->page.next, error);
    if (status == KEDGE_OK)
        status = read_number(place, &members[LAST], &out->page.last_snapshot, error);
    if (status == KEDGE_OK)
        status = kedge_wire_response_boolean(place, &members[RELOAD], &out->page.reload, error);
    if (status == KEDGE_OK) status = read_entries(&members[ENTRIES], body, out, error);
    return status;
}

void kedge_wire_log_entries_free(kedge_wire_log_entries *entries)
{
    kedge_buffer_free(&entries->text);
    kedge_release(entries->allocator, entries->entries);
    entries->entries = NULL;
    entries->count = 0;
}

/* ---- conflicts ---- */

/* The problem document, open after its last member. */
void kedge_wire_log_conflict_begin(kedge_json_writer *writer, int64_t next, const char *detail,
                                   bool entries)
{
    kedge_wire_problem_write(409, "log-conflict", detail, writer->buffer);
    if (writer->buffer->size > 0) kedge_buffer_truncate(writer->buffer, writer->buffer->size - 1);
    writer->comma = true;
    write_integer(writer, "next", next);
    if (!entries) return;
    kedge_json_key(writer, "page");
    kedge_wire_log_page_begin(writer);
}

void kedge_wire_log_conflict_end(kedge_json_writer *writer, const kedge_wire_log_page *page)
{
    if (page != NULL) kedge_wire_log_page_end(writer, page);
    kedge_json_end_object(writer);
}

kedge_status kedge_wire_log_conflict_read(kedge_bytes body, int64_t *next, kedge_error *error)
{
    kedge_wire_place place = KEDGE_WIRE_PLACE("");
    kedge_wire_member members[] = {{.name = "next"}};
    kedge_status status = kedge_wire_response_members(place, body, members, 1, error);
    if (status != KEDGE_OK) return status;
    return kedge_wire_response_integer(place, &members[0], 0, next, error);
}

/* ---- a log ---- */

void kedge_wire_log_info_write(const kedge_wire_log_info *info, kedge_buffer *out)
{
    kedge_json_writer writer = kedge_json_write(out);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "log");
    kedge_json_text(&writer, info->log);
    write_integer(&writer, "created", info->created_s);
    write_integer(&writer, "segment", info->segment);
    write_integer(&writer, "first", info->first);
    write_integer(&writer, "next", info->next);
    write_number(&writer, "last_snapshot", info->last_snapshot);
    write_text(&writer, "snapshot", info->snapshot);
    kedge_json_end_object(&writer);
}

kedge_status kedge_wire_log_info_read(kedge_bytes body, kedge_wire_log_info *out,
                                      kedge_error *error)
{
    enum { LOG, CREATED, SEGMENT, FIRST, NEXT, LAST, SNAPSHOT, MEMBERS };
    kedge_wire_place place = KEDGE_WIRE_PLACE("");
    kedge_wire_member members[MEMBERS] = {
        [LOG] = {.name = "log"},           [CREATED] = {.name = "created"},
        [SEGMENT] = {.name = "segment"},   [FIRST] = {.name = "first"},
        [NEXT] = {.name = "next"},         [LAST] = {.name = "last_snapshot"},
        [SNAPSHOT] = {.name = "snapshot"},
    };
    const struct {
        int member;
        int64_t *out;
    } numbers[] = {{CREATED, &out->created_s},
                   {SEGMENT, &out->segment},
                   {FIRST, &out->first},
                   {NEXT, &out->next}};
    out->snapshot_text[0] = '\0';
    kedge_status status = kedge_wire_response_members(place, body, members, MEMBERS, error);
    if (status == KEDGE_OK) {
        status = kedge_wire_response_chars(place, &members[LOG], out->name_text,
                                           sizeof out->name_text, error);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] && status == KEDGE_OK; i++) {
        status = kedge_wire_response_integer(place, &members[numbers[i].member], 0, numbers[i].out,
                                             error);
    }
    if (status == KEDGE_OK) status = read_number(place, &members[LAST], &out->last_snapshot, error);
    if (status == KEDGE_OK && members[SNAPSHOT].value.data != NULL) {
        status = kedge_wire_response_chars(place, &members[SNAPSHOT], out->snapshot_text,
                                           sizeof out->snapshot_text, error);
    }
    out->log = kedge_bytes_of(out->name_text);
    out->snapshot = kedge_bytes_of(out->snapshot_text);
    return status;
}

/* ---- events ---- */

size_t kedge_wire_log_event_write(int64_t number, char out[KEDGE_WIRE_EVENT_BYTES_MAX])
{
    KEDGE_ASSERT(number >= 0);
    int size = snprintf(out, KEDGE_WIRE_EVENT_BYTES_MAX,
                        "event: appended\ndata: {\"number\":%" PRId64 "}\n\n", number);
    return (size_t)size;
}

bool kedge_wire_log_event_read(kedge_bytes event, kedge_bytes data, int64_t *number)
{
    return kedge_bytes_equal_text(event, "appended") &&
           kedge_json_check(data, KEDGE_LIMIT_JSON_DEPTH, &kedge_allocator_default, NULL) ==
               KEDGE_OK &&
           kedge_json_member_integer(data, "number", number) && *number >= 0;
}
