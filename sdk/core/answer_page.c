/* The answers of GET snapshot and of POST clients/{client}/retire. */
#include "common/error.h"
#include "sdk/core/answer_read.h"

#include <string.h>

static kedge_status read_after(const kedge_member *member, kedge_page_answer *out,
                               kedge_error *error)
{
    out->last = kedge_answer_is_null(member);
    if (out->last) return KEDGE_OK;
    if (kedge_json_type_of(member->value) != KEDGE_JSON_STRING ||
        kedge_json_check(member->value, 1, NULL) != KEDGE_OK ||
        !kedge_json_to_text(member->value, &out->next_text)) {
        kedge_status status = kedge_buffer_status(&out->next_text, error);
        if (status != KEDGE_OK) return status;
        return kedge_answer_fail(KEDGE_PLACE(""), member, "a key or null", error);
    }
    kedge_status status = kedge_buffer_status(&out->next_text, error);
    if (status == KEDGE_OK) out->next = kedge_buffer_bytes(&out->next_text);
    return status;
}

kedge_status kedge_page_answer_decode(const kedge_allocator *allocator, kedge_bytes body,
                                      kedge_page_answer *out, kedge_error *error)
{
    enum { VERSION, LINEAGE, ITEMS, NEXT, DAMAGED, MEMBERS };
    kedge_place place = KEDGE_PLACE("");
    kedge_member members[MEMBERS] = {[VERSION] = {.name = "version"},
                                     [LINEAGE] = {.name = "lineage"},
                                     [ITEMS] = {.name = "items"},
                                     [NEXT] = {.name = "next"},
                                     [DAMAGED] = {.name = "damaged"}};
    out->items.text = kedge_buffer_make(allocator);
    out->next_text = kedge_buffer_make(allocator);
    kedge_status status = kedge_answer_members(place, body, members, MEMBERS, error);
    if (status == KEDGE_OK) {
        status = kedge_answer_integer(place, &members[VERSION], 0, &out->version, error);
    }
    if (status == KEDGE_OK) {
        status = kedge_answer_lineage(place, &members[LINEAGE], out->lineage, error);
    }
    if (status == KEDGE_OK) {
        status = kedge_answer_patch(place, &members[ITEMS], true, &out->items, error);
    }
    if (status == KEDGE_OK) status = read_after(&members[NEXT], out, error);
    if (status == KEDGE_OK) status = kedge_answer_damaged(&members[DAMAGED], &out->damaged, error);
    if (status == KEDGE_OK && !out->last && out->items.count == 0 && out->damaged.count == 0) {
        status = kedge_answer_fail(place, &members[ITEMS], "filled while more pages follow", error);
    }
    return status;
}

void kedge_page_answer_free(kedge_page_answer *answer)
{
    kedge_patch_free(&answer->items);
    if (answer->next_text.allocator != NULL) kedge_buffer_free(&answer->next_text);
}

static kedge_status read_earlier(kedge_place place, const kedge_member *member,
                                 kedge_client_marks *out, kedge_error *error)
{
    kedge_json_iterator walk = kedge_json_iterate(member->value);
    kedge_bytes key, value;
    while (kedge_json_next_member(&walk, &key, &value)) {
        kedge_client_mark *mark = &out->marks[out->count];
        bool fits = out->count < KEDGE_LIMIT_EARLIER_CLIENTS &&
                    kedge_json_to_chars(key, mark->client, sizeof mark->client) &&
                    kedge_json_to_integer(value, &mark->id) && mark->id >= 0;
        if (!fits) return kedge_answer_fail(place, member, "the lmids of clients", error);
        out->count++;
    }
    if (walk.failed) return kedge_answer_fail(place, member, "an object", error);
    return KEDGE_OK;
}

kedge_status kedge_retire_answer_decode(const kedge_allocator *allocator, kedge_bytes body,
                                        kedge_retire_answer *out, kedge_error *error)
{
    enum { VERSION, LINEAGE, LMID, OUTCOMES, NEXT, EARLIER, MEMBERS };
    kedge_place place = KEDGE_PLACE("");
    kedge_member members[MEMBERS] = {
        [VERSION] = {.name = "version"},    [LINEAGE] = {.name = "lineage"},
        [LMID] = {.name = "lmid"},          [OUTCOMES] = {.name = "outcomes"},
        [NEXT] = {.name = "outcomes_next"}, [EARLIER] = {.name = "earlier"}};
    out->outcomes.allocator = allocator;
    kedge_status status = kedge_answer_members(place, body, members, MEMBERS, error);
    if (status == KEDGE_OK) {
        status = kedge_answer_integer(place, &members[VERSION], 1, &out->version, error);
    }
    if (status == KEDGE_OK) {
        status = kedge_answer_lineage(place, &members[LINEAGE], out->lineage, error);
    }
    if (status == KEDGE_OK) {
        status = kedge_answer_integer(place, &members[LMID], 0, &out->lmid, error);
    }
    if (status == KEDGE_OK) {
        status = kedge_answer_outcomes(place, &members[OUTCOMES], &members[NEXT], out->lmid,
                                       out->version, &out->outcomes, error);
    }
    if (status == KEDGE_OK && members[EARLIER].value.data != NULL) {
        status = read_earlier(place, &members[EARLIER], &out->earlier, error);
    }
    return status;
}

void kedge_retire_answer_free(kedge_retire_answer *answer)
{
    kedge_outcome_list_free(&answer->outcomes);
}
