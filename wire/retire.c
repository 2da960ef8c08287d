/* See retire.h. */
#include "wire/retire.h"

#include "common/error.h"
#include "common/names.h"
#include "wire/response.h"

#include <string.h>

#define NATIVE_CLIENT_ID_SIZE 33 /* libkedge names its clients by 32 hexadecimal digits */

/* ---- the request ---- */

void kedge_wire_retire_path_write(const char *client_id, kedge_buffer *path)
{
    kedge_buffer_append_format(path, "clients/%s/retire", client_id);
}

void kedge_wire_retire_request_write(const kedge_wire_retire_request *request, kedge_buffer *out)
{
    kedge_json_writer writer = kedge_json_write(out);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "clientGroupID");
    kedge_json_chars(&writer, request->group_id);
    kedge_json_key(&writer, "lowest_pending");
    kedge_json_integer(&writer, request->lowest_pending);
    if (request->cookie.kind != KEDGE_WIRE_COOKIE_NULL) {
        kedge_json_key(&writer, "cookie");
        kedge_wire_cookie_write(&writer, &request->cookie);
    }
    if (request->earlier.count > 0) {
        kedge_json_key(&writer, "earlier");
        kedge_json_begin_array(&writer);
        for (size_t i = 0; i < request->earlier.count; i++)
            kedge_json_chars(&writer, request->earlier.marks[i].client_id);
        kedge_json_end_array(&writer);
    }
    kedge_json_end_object(&writer);
}

static bool is_listed(const kedge_wire_client_marks *list, size_t before)
{
    for (size_t i = 0; i < before; i++)
        if (strcmp(list->marks[i].client_id, list->marks[before].client_id) == 0) return true;
    return false;
}

static kedge_status read_earlier(kedge_bytes object, kedge_wire_client_marks *out,
                                 kedge_error *error)
{
    kedge_bytes list, client;
    out->count = 0;
    if (!kedge_json_member(object, "earlier", &list)) return KEDGE_OK;
    kedge_json_iterator iterator = kedge_json_iterate(list);
    bool fits = kedge_json_type_of(list) == KEDGE_JSON_ARRAY;
    while (fits && kedge_json_next_element(&iterator, &client)) {
        fits = out->count < KEDGE_LIMIT_EARLIER_CLIENTS;
        if (!fits) break;
        kedge_wire_client_mark *mark = &out->marks[out->count++];
        mark->id = 0;
        fits = kedge_json_to_chars(client, mark->client_id, sizeof mark->client_id) &&
               kedge_check_client_id(kedge_bytes_of(mark->client_id), NULL) == KEDGE_OK &&
               !is_listed(out, out->count - 1);
    }
    if (fits) return KEDGE_OK;
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "body-invalid",
                      "earlier must be an array of at most %d client ids, each once and 1 to 128"
                      " of A-Z a-z 0-9 _ -",
                      KEDGE_LIMIT_EARLIER_CLIENTS);
}

static kedge_status read_cookie(kedge_bytes object, kedge_wire_cookie *out, kedge_error *error)
{
    kedge_bytes cookie;
    *out = (kedge_wire_cookie){.kind = KEDGE_WIRE_COOKIE_NULL};
    if (!kedge_json_member(object, "cookie", &cookie)) return KEDGE_OK;
    if (kedge_wire_cookie_read(cookie, out) && out->kind != KEDGE_WIRE_COOKIE_OTHER)
        return KEDGE_OK;
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "body-invalid",
                      "cookie must be null or a cookie from the response of a pull");
}

kedge_status kedge_wire_retire_request_read(const kedge_wire_request *request,
                                            kedge_wire_retire_request *out, kedge_error *error)
{
    kedge_bytes object;
    kedge_status status = kedge_wire_request_object(request, &object, error);
    if (status == KEDGE_OK) {
        status = kedge_wire_request_client_id(object, "clientGroupID", "clientGroupID",
                                              out->group_id, error);
    }
    if (status == KEDGE_OK) {
        status = kedge_wire_request_integer(object, "lowest_pending", "lowest_pending", 0,
                                            &out->lowest_pending, error);
    }
    if (status == KEDGE_OK) status = read_cookie(object, &out->cookie, error);
    if (status == KEDGE_OK) status = read_earlier(object, &out->earlier, error);
    return status;
}

/* ---- the response ---- */

void kedge_wire_retire_response_write(const kedge_wire_retire_response *response, kedge_buffer *out)
{
    kedge_json_writer writer = kedge_json_write(out);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "version");
    kedge_json_integer(&writer, response->version);
    kedge_json_key(&writer, "lineage");
    kedge_json_chars(&writer, response->lineage);
    kedge_json_key(&writer, "lmid");
    kedge_json_integer(&writer, response->lmid);
    kedge_wire_outcomes_write(&writer, &response->outcomes);
    kedge_json_key(&writer, "earlier");
    kedge_json_begin_object(&writer);
    for (size_t i = 0; i < response->earlier.count; i++) {
        kedge_json_key(&writer, response->earlier.marks[i].client_id);
        kedge_json_integer(&writer, response->earlier.marks[i].id);
    }
    kedge_json_end_object(&writer);
    kedge_json_end_object(&writer);
}

static kedge_status read_lmids(kedge_wire_place place, const kedge_wire_member *member,
                               kedge_wire_client_marks *out, kedge_error *error)
{
    kedge_json_iterator iterator = kedge_json_iterate(member->value);
    kedge_bytes key, value;
    while (kedge_json_next_member(&iterator, &key, &value)) {
        kedge_wire_client_mark *mark = &out->marks[out->count];
        bool fits = out->count < KEDGE_LIMIT_EARLIER_CLIENTS &&
                    kedge_json_to_chars(key, mark->client_id, NATIVE_CLIENT_ID_SIZE) &&
                    kedge_json_to_integer(value, &mark->id) && mark->id >= 0;
        if (!fits) return kedge_wire_response_fail(place, member, "the lmids of clients", error);
        out->count++;
    }
    if (iterator.failed) return kedge_wire_response_fail(place, member, "an object", error);
    return KEDGE_OK;
}

kedge_status kedge_wire_retire_response_read(const kedge_allocator *allocator, kedge_bytes body,
                                             kedge_wire_retire_response *out, kedge_error *error)
{
    enum { VERSION, LINEAGE, LMID, OUTCOMES, NEXT, EARLIER, MEMBERS };
    kedge_wire_place place = KEDGE_WIRE_PLACE("");
    kedge_wire_member members[MEMBERS] = {
        [VERSION] = {.name = "version"},    [LINEAGE] = {.name = "lineage"},
        [LMID] = {.name = "lmid"},          [OUTCOMES] = {.name = "outcomes"},
        [NEXT] = {.name = "outcomes_next"}, [EARLIER] = {.name = "earlier"}};
    out->outcomes.allocator = allocator;
    kedge_status status = kedge_wire_response_members(place, body, members, MEMBERS, error);
    if (status == KEDGE_OK) {
        status = kedge_wire_response_integer(place, &members[VERSION], 1, &out->version, error);
    }
    if (status == KEDGE_OK) {
        status = kedge_wire_response_lineage(place, &members[LINEAGE], out->lineage, error);
    }
    if (status == KEDGE_OK) {
        status = kedge_wire_response_integer(place, &members[LMID], 0, &out->lmid, error);
    }
    if (status == KEDGE_OK) {
        status = kedge_wire_outcomes_read(place, &members[OUTCOMES], &members[NEXT], out->lmid,
                                          out->version, &out->outcomes, error);
    }
    if (status == KEDGE_OK && members[EARLIER].value.data != NULL) {
        status = read_lmids(place, &members[EARLIER], &out->earlier, error);
    }
    return status;
}

void kedge_wire_retire_response_free(kedge_wire_retire_response *response)
{
    kedge_wire_outcomes_free(&response->outcomes);
}
