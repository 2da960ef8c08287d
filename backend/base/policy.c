/* See policy.h. A policy is read once into rules; who asks holds a lock while it looks at them. */
#include "backend/base/policy.h"

#include "common/arena.h"
#include "common/error.h"
#include "common/json.h"
#include "common/names.h"
#include "mutate/batch.h"
#include "mutate/builtin.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define ROLE_SIZE  256
#define LIST_DEPTH 4
#define ALLOWED    "allowed is {\"roles\":{ROLE:[NAME,...],...},\"default\":[NAME,...]}"
#define NAMES                                                                                      \
    "allowed are at most 256 names of mutators, or beginnings of names followed by *, in an array"

/* What one role may call. */
typedef struct rule {
    const char *role;   /* NULL: the default */
    const char **names; /* the last byte of one may be '*' */
    size_t count;
} rule;

typedef struct rules {
    kedge_arena arena;
    kedge_bytes text; /* canonical */
    rule other;
    rule *roles;
    size_t count;
} rules;

struct kedge_policy {
    const kedge_allocator *allocator;
    pthread_rwlock_t lock; /* of what follows */
    rules rules;
};

/* ---- reading ---- */

static kedge_status refuse(kedge_error *error, const char *member, const char *role,
                           const char *allowed)
{
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "policy-invalid",
                      "the member \"%s%s%.100s\" of the policy is wrong: %s", member,
                      role[0] == '\0' ? "" : ".", role, allowed);
}

static bool is_builtin(const char *name)
{
    for (size_t i = 0; i < kedge_builtin_mutator_count; i++)
        if (strcmp(kedge_builtin_mutators[i].name, name) == 0) return true;
    return false;
}

/* A name, or the beginning of one and a '*'. A built-in one must exist: else it is misspelt. */
static bool is_name(const char *name)
{
    size_t size = strlen(name);
    if (size > 0 && name[size - 1] == '*')
        return size == 1 || kedge_check_name("mutator", (kedge_bytes){name, size - 1}, NULL) == 0;
    if (strncmp(name, "kedge.", strlen("kedge.")) == 0) return is_builtin(name);
    return kedge_check_name("mutator", (kedge_bytes){name, size}, NULL) == KEDGE_OK;
}

static kedge_status keep_text(rules *read, const char *text, const char **kept, kedge_error *error)
{
    kedge_bytes copy;
    if (!kedge_arena_copy(&read->arena, kedge_bytes_of(text), &copy))
        return kedge_fail_no_memory(error);
    *kept = copy.data;
    return KEDGE_OK;
}

static kedge_status read_names(rules *read, kedge_bytes array, const char *member, rule *out,
                               kedge_error *error)
{
    char name[KEDGE_LIMIT_NAME_BYTES + 2];
    kedge_bytes element;
    const char *role = out->role == NULL ? "" : out->role;
    if (kedge_json_type_of(array) != KEDGE_JSON_ARRAY) return refuse(error, member, role, NAMES);
    out->names = kedge_arena_take_array(&read->arena, KEDGE_POLICY_NAMES_MAX, sizeof *out->names);
    if (out->names == NULL) return kedge_fail_no_memory(error);
    kedge_json_iterator elements = kedge_json_iterate(array);
    while (kedge_json_next_element(&elements, &element)) {
        if (out->count == KEDGE_POLICY_NAMES_MAX ||
            !kedge_json_to_chars(element, name, sizeof name) || !is_name(name)) {
            return refuse(error, member, role, NAMES);
        }
        kedge_status status = keep_text(read, name, &out->names[out->count++], error);
        if (status != KEDGE_OK) return status;
    }
    return KEDGE_OK;
}

static kedge_status read_roles(rules *read, kedge_bytes object, kedge_error *error)
{
    char role[ROLE_SIZE];
    kedge_bytes key, value;
    if (kedge_json_type_of(object) != KEDGE_JSON_OBJECT)
        return refuse(error, "roles", "", "it must be an object with at most 256 roles");
    read->roles = kedge_arena_take_array(&read->arena, KEDGE_POLICY_ROLES_MAX, sizeof(rule));
    if (read->roles == NULL) return kedge_fail_no_memory(error);
    kedge_json_iterator members = kedge_json_iterate(object);
    while (kedge_json_next_member(&members, &key, &value)) {
        if (read->count == KEDGE_POLICY_ROLES_MAX || !kedge_json_to_chars(key, role, sizeof role))
            return refuse(error, "roles", "", "it has at most 256 roles of at most 255 bytes");
        rule *added = &read->roles[read->count++];
        kedge_status status = keep_text(read, role, &added->role, error);
        if (status == KEDGE_OK) status = read_names(read, value, "roles", added, error);
        if (status != KEDGE_OK) return status;
    }
    return KEDGE_OK;
}

static kedge_status read_members(rules *read, kedge_error *error)
{
    kedge_bytes key, value;
    char name[ROLE_SIZE] = "";
    bool given[2] = {false, false};
    kedge_status status = KEDGE_OK;
    if (kedge_json_type_of(read->text) != KEDGE_JSON_OBJECT)
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "policy-invalid",
                          "the policy is not a JSON object: " ALLOWED);
    kedge_json_iterator members = kedge_json_iterate(read->text);
    while (status == KEDGE_OK && kedge_json_next_member(&members, &key, &value)) {
        if (kedge_json_text_equals(key, "roles")) {
            given[0] = true;
            status = read_roles(read, value, error);
        } else if (kedge_json_text_equals(key, "default")) {
            given[1] = true;
            status = read_names(read, value, "default", &read->other, error);
        } else {
            (void)kedge_json_to_chars(key, name, sizeof name);
            status = refuse(error, name, "", "there is no such one; " ALLOWED);
        }
    }
    if (status == KEDGE_OK && !given[0]) status = refuse(error, "roles", "", "it is missing");
    if (status == KEDGE_OK && !given[1])
        status = refuse(error, "default", "", "it is missing; [] allows nothing, [\"*\"] all");
    return status;
}

static kedge_status read_rules(const kedge_allocator *allocator, const char *text, rules *out,
                               kedge_error *error)
{
    kedge_error wrong = {0};
    rules read = {.arena = kedge_arena_make(allocator)};
    kedge_buffer canonical = kedge_buffer_make(allocator);
    kedge_status status =
        kedge_json_normalize(kedge_bytes_of(text), LIST_DEPTH, &canonical, &wrong);
    if (status == KEDGE_NO_MEMORY) {
        status = kedge_fail_no_memory(error);
    } else if (status != KEDGE_OK) {
        status = kedge_fail(error, KEDGE_INVALID_ARGUMENT, "policy-invalid",
                            "the policy is not JSON: %.100s; " ALLOWED, wrong.message);
    } else if (!kedge_arena_copy(&read.arena, kedge_buffer_bytes(&canonical), &read.text)) {
        status = kedge_fail_no_memory(error);
    }
    if (status == KEDGE_OK) status = read_members(&read, error);
    kedge_buffer_free(&canonical);
    if (status != KEDGE_OK) {
        kedge_arena_free(&read.arena);
        return status;
    }
    *out = read;
    return KEDGE_OK;
}

kedge_status kedge_policy_new(const kedge_allocator *allocator, const char *text,
                              kedge_policy **policy, kedge_error *error)
{
    kedge_policy *made = kedge_allocate(allocator, sizeof *made);
    if (made == NULL) return kedge_fail_no_memory(error);
    made->allocator = allocator;
    kedge_status status = read_rules(allocator, text, &made->rules, error);
    if (status != KEDGE_OK) {
        kedge_release(allocator, made);
        return status;
    }
    pthread_rwlock_init(&made->lock, NULL);
    *policy = made;
    return KEDGE_OK;
}

kedge_status kedge_policy_set(kedge_policy *policy, const char *text, bool *changed,
                              kedge_error *error)
{
    rules read;
    kedge_status status = read_rules(policy->allocator, text, &read, error);
    if (status != KEDGE_OK) return status;
    pthread_rwlock_wrlock(&policy->lock);
    rules before = policy->rules;
    policy->rules = read;
    pthread_rwlock_unlock(&policy->lock);
    *changed = !kedge_bytes_equal(before.text, read.text);
    kedge_arena_free(&before.arena);
    return KEDGE_OK;
}

void kedge_policy_free(kedge_policy *policy)
{
    if (policy == NULL) return;
    pthread_rwlock_destroy(&policy->lock);
    kedge_arena_free(&policy->rules.arena);
    kedge_release(policy->allocator, policy);
}

/* ---- asking ---- */

static const rule *rule_of(const rules *of, const char *role)
{
    for (size_t i = 0; i < of->count; i++)
        if (strcmp(of->roles[i].role, role) == 0) return &of->roles[i];
    return &of->other;
}

static bool allows(const rule *of, kedge_bytes name)
{
    if (kedge_bytes_equal_text(name, "kedge.noop")) return true;
    for (size_t i = 0; i < of->count; i++) {
        const char *allowed = of->names[i];
        size_t size = strlen(allowed);
        bool begins = allowed[size - 1] == '*';
        if (begins ? kedge_bytes_start_with(name, (kedge_bytes){allowed, size - 1})
                   : kedge_bytes_equal_text(name, allowed)) {
            return true;
        }
    }
    return false;
}

static void tell(const rule *of, const char *role, kedge_bytes name,
                 char message[KEDGE_POLICY_MESSAGE_SIZE])
{
    int size = snprintf(
        message, KEDGE_POLICY_MESSAGE_SIZE, "the role \"%.64s\" may not call %.*s; it may call %s",
        role, (int)(name.size < 64 ? name.size : 64), name.data, of->count == 0 ? "nothing" : "");
    for (size_t i = 0; i < of->count && size < KEDGE_POLICY_MESSAGE_SIZE; i++)
        size += snprintf(message + size, (size_t)(KEDGE_POLICY_MESSAGE_SIZE - size), "%s%s",
                         i == 0 ? "" : ", ", of->names[i]);
}

static bool refuses_one(const rule *of, const char *role, kedge_bytes name,
                        char message[KEDGE_POLICY_MESSAGE_SIZE])
{
    if (allows(of, name)) return false;
    tell(of, role, name, message);
    return true;
}

/* Args that are no batch's are rejected by the mutator, whoever has sent them. */
static bool refuses_part(const rule *of, const char *role, kedge_bytes args,
                         char message[KEDGE_POLICY_MESSAGE_SIZE])
{
    kedge_batch_part part;
    bool refused = false;
    if (kedge_batch_check(args, NULL) != KEDGE_OK) return false;
    kedge_json_iterator parts = kedge_batch_iterate(args);
    while (!refused && kedge_batch_next(&parts, &part))
        refused = refuses_one(of, role, kedge_bytes_of(part.name), message);
    return refused;
}

bool kedge_policy_refuses(kedge_policy *policy, const char *role, kedge_bytes name,
                          kedge_bytes args, char message[KEDGE_POLICY_MESSAGE_SIZE])
{
    if (policy == NULL) return false;
    pthread_rwlock_rdlock(&policy->lock);
    const rule *of = rule_of(&policy->rules, role);
    bool refused = kedge_bytes_equal_text(name, KEDGE_BATCH_MUTATOR)
                       ? refuses_part(of, role, args, message)
                       : refuses_one(of, role, name, message);
    pthread_rwlock_unlock(&policy->lock);
    return refused;
}
