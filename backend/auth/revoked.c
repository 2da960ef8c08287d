/* See revoked.h. Both lists are sorted once, and searched for each token. */
#include "backend/auth/revoked.h"

#include "common/error.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define TIME_MAX_S 253402300799 /* the end of the year 9999 */

/* The texts are borrowed from `json`. */
typedef struct revoked_user {
    const char *user;
    const char *organization; /* NULL: every one */
    int64_t before_s;
} revoked_user;

struct kedge_revoked {
    const kedge_allocator *allocator;
    json_t *json;
    const char **tokens;
    size_t token_count;
    revoked_user *users;
    size_t user_count;
};

static kedge_status refuse(kedge_error *error, const char *what)
{
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "revoked-invalid",
                      "the list of revoked tokens: %s", what);
}

/* ---- reading ---- */

static bool has_only(json_t *object, const char *const *names, size_t count)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(object, key, value)
    {
        bool known = false;
        for (size_t i = 0; i < count; i++) {
            known = known || strcmp(key, names[i]) == 0;
        }
        if (!known) return false;
    }
    return true;
}

static kedge_status read_user(json_t *value, revoked_user *user, kedge_error *error)
{
    static const char *const names[] = {"user", "organization", "before"};
    json_t *before = json_object_get(value, "before");
    json_t *organization = json_object_get(value, "organization");
    bool fine = json_is_object(value) && has_only(value, names, 3) && json_is_integer(before) &&
                json_is_string(json_object_get(value, "user")) &&
                (organization == NULL || json_is_string(organization)) &&
                json_integer_value(before) >= 0 && json_integer_value(before) <= TIME_MAX_S;
    if (!fine) {
        return refuse(error, "each of \"users\" needs \"user\", a text, and \"before\", seconds "
                             "since 1970, and may have \"organization\", a text");
    }
    user->user = json_string_value(json_object_get(value, "user"));
    user->organization = json_string_value(organization);
    user->before_s = json_integer_value(before);
    return KEDGE_OK;
}

static kedge_status read_tokens(kedge_revoked *revoked, json_t *array, kedge_error *error)
{
    size_t count = json_array_size(array);
    if (array != NULL && !json_is_array(array)) return refuse(error, "\"tokens\" is no array");
    if (count == 0) return KEDGE_OK;
    revoked->tokens = kedge_allocate(revoked->allocator, count * sizeof *revoked->tokens);
    if (revoked->tokens == NULL) return kedge_fail_no_memory(error);
    for (size_t i = 0; i < count; i++) {
        const char *id = json_string_value(json_array_get(array, i));
        if (id == NULL) return refuse(error, "each of \"tokens\" must be a text");
        revoked->tokens[revoked->token_count++] = id;
    }
    return KEDGE_OK;
}

static kedge_status read_users(kedge_revoked *revoked, json_t *array, kedge_error *error)
{
    size_t count = json_array_size(array);
    if (array != NULL && !json_is_array(array)) return refuse(error, "\"users\" is no array");
    if (count == 0) return KEDGE_OK;
    revoked->users = kedge_allocate(revoked->allocator, count * sizeof *revoked->users);
    if (revoked->users == NULL) return kedge_fail_no_memory(error);
    for (size_t i = 0; i < count; i++) {
        revoked_user *user = &revoked->users[i];
        kedge_status status = read_user(json_array_get(array, i), user, error);
        if (status != KEDGE_OK) return status;
        revoked->user_count++;
    }
    return KEDGE_OK;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int compare_users(const void *a, const void *b)
{
    return strcmp(((const revoked_user *)a)->user, ((const revoked_user *)b)->user);
}

kedge_status kedge_revoked_read(const kedge_allocator *allocator, const char *text,
                                kedge_revoked **revoked, kedge_error *error)
{
    static const char *const names[] = {"tokens", "users"};
    kedge_revoked *made = kedge_allocate(allocator, sizeof *made);
    if (made == NULL) return kedge_fail_no_memory(error);
    made->allocator = allocator;
    made->json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    kedge_status status = KEDGE_OK;
    if (!json_is_object(made->json) || !has_only(made->json, names, 2)) {
        status = refuse(error, "it must be a JSON object with \"tokens\", \"users\" or both, and "
                               "nothing else");
    }
    if (status == KEDGE_OK)
        status = read_tokens(made, json_object_get(made->json, "tokens"), error);
    if (status == KEDGE_OK) status = read_users(made, json_object_get(made->json, "users"), error);
    if (status != KEDGE_OK) {
        kedge_revoked_free(made);
        return status;
    }
    if (made->token_count > 0)
        qsort(made->tokens, made->token_count, sizeof *made->tokens, compare_texts);
    if (made->user_count > 0)
        qsort(made->users, made->user_count, sizeof *made->users, compare_users);
    *revoked = made;
    return KEDGE_OK;
}

void kedge_revoked_free(kedge_revoked *revoked)
{
    if (revoked == NULL) return;
    json_decref(revoked->json);
    kedge_release(revoked->allocator, revoked->tokens);
    kedge_release(revoked->allocator, revoked->users);
    kedge_release(revoked->allocator, revoked);
}

/* ---- asking ---- */

/* The first of the users that is not before the name in the order. */
static size_t find_user(const kedge_revoked *revoked, const char *name)
{
    size_t from = 0;
    size_t to = revoked->user_count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (strcmp(revoked->users[middle].user, name) < 0) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

bool kedge_revoked_has(const kedge_revoked *revoked, const kedge_revoked_token *token)
{
    if (token->id != NULL && revoked->token_count > 0 &&
        bsearch(&token->id, revoked->tokens, revoked->token_count, sizeof *revoked->tokens,
                compare_texts) != NULL) {
        return true;
    }
    for (size_t i = find_user(revoked, token->user); i < revoked->user_count; i++) {
        const revoked_user *user = &revoked->users[i];
        if (strcmp(user->user, token->user) != 0) break;
        bool here =
            user->organization == NULL || strcmp(user->organization, token->organization) == 0;
        if (here && token->made_s < user->before_s) return true;
    }
    return false;
}
