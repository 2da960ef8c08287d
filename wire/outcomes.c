/* See outcomes.h. */
#include "wire/outcomes.h"

#include "common/assert.h"
#include "common/error.h"
#include "wire/response.h"

#include <inttypes.h>
#include <kedge/limits.h>
#include <string.h>

/* ---- the list ---- */

kedge_wire_outcomes kedge_wire_outcomes_make(const kedge_allocator *allocator)
{
    return (kedge_wire_outcomes){.allocator = allocator};
}

static kedge_status grow(kedge_wire_outcomes *list, kedge_error *error)
{
    if (list->count < list->capacity) return KEDGE_OK;
    size_t capacity = list->capacity == 0 ? 16 : list->capacity * 2;
    void *rows = list->allocator->reallocate(list->allocator->context, list->rows,
                                             capacity * sizeof *list->rows);
    if (rows == NULL) return kedge_fail_no_memory(error);
    list->rows = rows;
    list->capacity = capacity;
    return KEDGE_OK;
}

kedge_status kedge_wire_outcomes_add(kedge_wire_outcomes *outcomes,
                                     const kedge_wire_outcome *outcome, kedge_error *error)
{
    kedge_status status = grow(outcomes, error);
    if (status == KEDGE_OK) outcomes->rows[outcomes->count++] = *outcome;
    return status;
}

void kedge_wire_outcomes_free(kedge_wire_outcomes *outcomes)
{
    kedge_release(outcomes->allocator, outcomes->rows);
    *outcomes = (kedge_wire_outcomes){.allocator = outcomes->allocator};
}

/* ---- writing ---- */

void kedge_wire_decision_write(kedge_json_writer *writer, kedge_wire_decision decision,
                               kedge_bytes code, kedge_bytes message)
{
    static const char names[][10] = {
        [KEDGE_WIRE_APPLIED] = "applied",
        [KEDGE_WIRE_REJECTED] = "rejected",
        [KEDGE_WIRE_DUPLICATE] = "duplicate",
        [KEDGE_WIRE_DUPLICATE_REJECTED] = "duplicate",
    };
    KEDGE_ASSERT((size_t)decision < sizeof names / sizeof names[0]);
    kedge_json_key(writer, "outcome");
    kedge_json_chars(writer, names[decision]);
    if (!kedge_wire_is_rejection(decision)) return;
    kedge_json_key(writer, "code");
    kedge_json_text(writer, code);
    kedge_json_key(writer, "message");
    kedge_json_text(writer, message);
}

static void write_row(kedge_json_writer *writer, const kedge_wire_outcome *row)
{
    char digest[KEDGE_DIGEST_HEX];
    kedge_hex_encode(row->digest, sizeof row->digest, digest);
    kedge_json_begin_object(writer);
    kedge_json_key(writer, "id");
    kedge_json_integer(writer, row->id);
    kedge_json_key(writer, "digest");
    kedge_json_chars(writer, digest);
    kedge_json_key(writer, "version");
    kedge_json_integer(writer, row->version);
    kedge_wire_decision_write(writer, row->decision, kedge_bytes_of(row->code),
                              kedge_bytes_of(row->message));
    kedge_json_end_object(writer);
}

void kedge_wire_outcomes_write(kedge_json_writer *writer, const kedge_wire_outcomes *outcomes)
{
    kedge_json_key(writer, "outcomes");
    kedge_json_begin_array(writer);
    for (size_t i = 0; i < outcomes->count; i++)
        write_row(writer, &outcomes->rows[i]);
    kedge_json_end_array(writer);
    kedge_json_key(writer, "outcomes_next");
    if (outcomes->next == 0) {
        kedge_json_null(writer);
    } else {
        kedge_json_integer(writer, outcomes->next);
    }
}

void kedge_wire_outcomes_request_write(const char *client_id, int64_t from, int64_t to,
                                       int64_t version, kedge_buffer *path)
{
    kedge_buffer_append_format(
        path, "clients/%s/mutations?from=%" PRId64 "&to=%" PRId64 "&version=%" PRId64, client_id,
        from, to, version);
}

void kedge_wire_outcomes_response_write(const kedge_wire_outcomes *outcomes, kedge_buffer *out)
{
    kedge_json_writer writer = kedge_json_write(out);
    kedge_json_begin_object(&writer);
    kedge_wire_outcomes_write(&writer, outcomes);
    kedge_json_end_object(&writer);
}

/* ---- reading ---- */

enum { ID, DIGEST, VERSION, OUTCOME, CODE, MESSAGE, MEMBERS };

static kedge_status read_decision(kedge_wire_place place, kedge_wire_member *members,
                                  kedge_wire_outcome *row, kedge_error *error)
{
    kedge_bytes decision = members[OUTCOME].value;
    if (kedge_json_text_equals(decision, "applied")) {
        row->decision = KEDGE_WIRE_APPLIED;
        return KEDGE_OK;
    }
    bool duplicate = kedge_json_text_equals(decision, "duplicate");
    if (duplicate && members[CODE].value.data == NULL) {
        row->decision = KEDGE_WIRE_DUPLICATE;
        return KEDGE_OK;
    }
    if (!duplicate && !kedge_json_text_equals(decision, "rejected")) {
        return kedge_wire_response_fail(place, &members[OUTCOME],
                                        "'applied', 'rejected' or 'duplicate'", error);
    }
    row->decision = duplicate ? KEDGE_WIRE_DUPLICATE_REJECTED : KEDGE_WIRE_REJECTED;
    kedge_status status =
        kedge_wire_response_chars(place, &members[CODE], row->code, sizeof row->code, error);
    if (status != KEDGE_OK) return status;
    return kedge_wire_response_chars(place, &members[MESSAGE], row->message, sizeof row->message,
                                     error);
}

static kedge_status read_row(kedge_wire_place place, kedge_bytes object, kedge_wire_outcome *row,
                             kedge_error *error)
{
    kedge_wire_member members[MEMBERS] = {
        [ID] = {.name = "id"},           [DIGEST] = {.name = "digest"},
        [VERSION] = {.name = "version"}, [OUTCOME] = {.name = "outcome"},
        [CODE] = {.name = "code"},       [MESSAGE] = {.name = "message"},
    };
    kedge_status status = kedge_wire_response_members(place, object, members, MEMBERS, error);
    if (status == KEDGE_OK)
        status = kedge_wire_response_integer(place, &members[ID], 1, &row->id, error);
    if (status == KEDGE_OK) {
        status =
            kedge_wire_response_hex(place, &members[DIGEST], row->digest, KEDGE_DIGEST_SIZE, error);
    }
    if (status == KEDGE_OK) {
        status = kedge_wire_response_integer(place, &members[VERSION], 1, &row->version, error);
    }
    if (status == KEDGE_OK) status = read_decision(place, members, row, error);
    return status;
}

static kedge_status read_next(kedge_wire_place place, const kedge_wire_member *next,
                              kedge_wire_outcomes *list, kedge_error *error)
{
    int64_t id = 0;
    if (!kedge_wire_response_is_null(next)) {
        int64_t last = list->count == 0 ? 0 : list->rows[list->count - 1].id;
        kedge_status status = kedge_wire_response_integer(place, next, 1, &id, error);
        if (status != KEDGE_OK) return status;
        if (id <= last)
            return kedge_wire_response_fail(place, next, "after the last outcome", error);
    }
    list->next = id;
    return KEDGE_OK;
}

static kedge_status append(kedge_wire_place place, kedge_bytes object, int64_t id_max,
                           int64_t version_max, kedge_wire_outcomes *list, kedge_error *error)
{
    kedge_wire_outcome row = {0};
    kedge_status status = read_row(place, object, &row, error);
    if (status != KEDGE_OK) return status;
    if (row.id > id_max || (list->count > 0 && row.id <= list->rows[list->count - 1].id)) {
        return kedge_wire_response_fail(place, &(kedge_wire_member){"id", object},
                                        "in order and decided", error);
    }
    if (row.version > version_max) {
        return kedge_wire_response_fail(place, &(kedge_wire_member){"version", object},
                                        "at or below the response's version", error);
    }
    return kedge_wire_outcomes_add(list, &row, error);
}

kedge_status kedge_wire_outcomes_read(kedge_wire_place place, const kedge_wire_member *member,
                                      const kedge_wire_member *next, int64_t id_max,
                                      int64_t version_max, kedge_wire_outcomes *list,
                                      kedge_error *error)
{
    kedge_json_iterator iterator = kedge_json_iterate(member->value);
    kedge_bytes object;
    size_t index = 0;
    while (kedge_json_next_element(&iterator, &object)) {
        if (index == KEDGE_LIMIT_OUTCOMES_PER_PULL) {
            return kedge_wire_response_fail(place, member, "of at most 1,000 outcomes", error);
        }
        kedge_wire_place row = KEDGE_WIRE_PLACE_AT("outcomes", index++);
        kedge_status status = append(row, object, id_max, version_max, list, error);
        if (status != KEDGE_OK) return status;
    }
    if (iterator.failed)
        return kedge_wire_response_fail(place, member, "an array of outcomes", error);
    return read_next(place, next, list, error);
}

kedge_status kedge_wire_outcomes_response_read(kedge_bytes body, kedge_wire_outcomes *outcomes,
                                               kedge_error *error)
{
    enum { LIST, NEXT, ALL };
    kedge_wire_place place = KEDGE_WIRE_PLACE("");
    kedge_wire_member members[ALL] = {
        [LIST] = {.name = "outcomes"}, [NEXT] = {.name = "outcomes_next"}};
    size_t count = outcomes->count;
    kedge_status status = kedge_wire_response_members(place, body, members, ALL, error);
    if (status == KEDGE_OK) {
        status = kedge_wire_outcomes_read(place, &members[LIST], &members[NEXT], INT64_MAX,
                                          INT64_MAX, outcomes, error);
    }
    if (status != KEDGE_OK) outcomes->count = count;
    return status;
}
