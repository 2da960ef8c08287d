/* Lists of outcomes: of a pull, of a retire, and of GET clients/{c}/mutations. */
#include "common/error.h"
#include "sdk/core/answer_read.h"

#include <kedge/limits.h>
#include <string.h>

enum { ID, DIGEST, VERSION, OUTCOME, CODE, MESSAGE, MEMBERS };

static kedge_status grow(kedge_outcome_list *list, kedge_error *error)
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

static kedge_status read_decision(kedge_place place, kedge_member *members, kedge_outcome_row *row,
                                  kedge_error *error)
{
    kedge_bytes decision = members[OUTCOME].value;
    if (kedge_json_text_equals(decision, "applied")) {
        row->decision = KEDGE_DECISION_APPLIED;
        return KEDGE_OK;
    }
    bool duplicate = kedge_json_text_equals(decision, "duplicate");
    if (duplicate && members[CODE].value.data == NULL) {
        row->decision = KEDGE_DECISION_DUPLICATE;
        return KEDGE_OK;
    }
    if (!duplicate && !kedge_json_text_equals(decision, "rejected")) {
        return kedge_answer_fail(place, &members[OUTCOME], "'applied', 'rejected' or 'duplicate'",
                                 error);
    }
    row->decision = KEDGE_DECISION_REJECTED;
    kedge_status status =
        kedge_answer_chars(place, &members[CODE], row->code, sizeof row->code, error);
    if (status != KEDGE_OK) return status;
    return kedge_answer_chars(place, &members[MESSAGE], row->message, sizeof row->message, error);
}

static kedge_status read_row(kedge_place place, kedge_bytes object, kedge_outcome_row *row,
                             kedge_error *error)
{
    kedge_member members[MEMBERS] = {
        [ID] = {.name = "id"},           [DIGEST] = {.name = "digest"},
        [VERSION] = {.name = "version"}, [OUTCOME] = {.name = "outcome"},
        [CODE] = {.name = "code"},       [MESSAGE] = {.name = "message"},
    };
    kedge_status status = kedge_answer_members(place, object, members, MEMBERS, error);
    if (status == KEDGE_OK) status = kedge_answer_integer(place, &members[ID], 1, &row->id, error);
    if (status == KEDGE_OK) {
        status = kedge_answer_hex(place, &members[DIGEST], row->digest, KEDGE_DIGEST_SIZE, error);
    }
    if (status == KEDGE_OK) {
        status = kedge_answer_integer(place, &members[VERSION], 1, &row->version, error);
    }
    if (status == KEDGE_OK) status = read_decision(place, members, row, error);
    return status;
}

static kedge_status read_next(kedge_place place, const kedge_member *next, kedge_outcome_list *list,
                              kedge_error *error)
{
    int64_t id = 0;
    if (!kedge_answer_is_null(next)) {
        int64_t last = list->count == 0 ? 0 : list->rows[list->count - 1].id;
        kedge_status status = kedge_answer_integer(place, next, 1, &id, error);
        if (status != KEDGE_OK) return status;
        if (id <= last) return kedge_answer_fail(place, next, "behind the last outcome", error);
    }
    list->next = id;
    return KEDGE_OK;
}

static kedge_status append(kedge_place place, kedge_bytes object, int64_t id_max,
                           int64_t version_max, kedge_outcome_list *list, kedge_error *error)
{
    kedge_outcome_row row = {0};
    kedge_status status = read_row(place, object, &row, error);
    if (status != KEDGE_OK) return status;
    if (row.id > id_max || (list->count > 0 && row.id <= list->rows[list->count - 1].id)) {
        return kedge_answer_fail(place, &(kedge_member){"id", object}, "in order and decided",
                                 error);
    }
    if (row.version > version_max) {
        return kedge_answer_fail(place, &(kedge_member){"version", object},
                                 "at or below the answer's version", error);
    }
    status = grow(list, error);
    if (status == KEDGE_OK) list->rows[list->count++] = row;
    return status;
}

kedge_status kedge_answer_outcomes(kedge_place place, const kedge_member *member,
                                   const kedge_member *next, int64_t id_max, int64_t version_max,
                                   kedge_outcome_list *list, kedge_error *error)
{
    kedge_json_iterator walk = kedge_json_iterate(member->value);
    kedge_bytes object;
    size_t index = 0;
    while (kedge_json_next_element(&walk, &object)) {
        if (index == KEDGE_LIMIT_OUTCOMES_PER_PULL) {
            return kedge_answer_fail(place, member, "of at most 1,000 outcomes", error);
        }
        kedge_place row = KEDGE_PLACE_AT("outcomes", index++);
        kedge_status status = append(row, object, id_max, version_max, list, error);
        if (status != KEDGE_OK) return status;
    }
    if (walk.failed) return kedge_answer_fail(place, member, "an array of outcomes", error);
    return read_next(place, next, list, error);
}

kedge_status kedge_outcomes_decode(kedge_bytes body, kedge_outcome_list *outcomes,
                                   kedge_error *error)
{
    enum { LIST, NEXT, ALL };
    kedge_place place = KEDGE_PLACE("");
    kedge_member members[ALL] = {[LIST] = {.name = "outcomes"}, [NEXT] = {.name = "outcomes_next"}};
    size_t count = outcomes->count;
    kedge_status status = kedge_answer_members(place, body, members, ALL, error);
    if (status == KEDGE_OK) {
        status = kedge_answer_outcomes(place, &members[LIST], &members[NEXT], INT64_MAX, INT64_MAX,
                                       outcomes, error);
    }
    if (status != KEDGE_OK) outcomes->count = count;
    return status;
}

void kedge_outcome_list_free(kedge_outcome_list *list)
{
    if (list->allocator != NULL) kedge_release(list->allocator, list->rows);
    *list = (kedge_outcome_list){.allocator = list->allocator};
}
