/* Reading the args of kedge.batch. */
#include "mutate/batch.h"

#include "common/error.h"
#include "common/names.h"

static const kedge_bytes null_args = {"null", 4};

static kedge_status refuse(kedge_error *error, size_t index, const char *why)
{
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "args-invalid",
                      "mutation %zu of the batch: %s", index, why);
}

static kedge_status check_members(kedge_bytes part, size_t index, kedge_error *error)
{
    kedge_bytes key, value;
    kedge_json_iterator members = kedge_json_iterate(part);
    while (kedge_json_next_member(&members, &key, &value)) {
        if (!kedge_json_text_equals(key, "name") && !kedge_json_text_equals(key, "args") &&
            !kedge_json_text_equals(key, "version"))
            return refuse(error, index,
                          "it has an unknown member; allowed are \"name\", \"args\", \"version\"");
    }
    return KEDGE_OK;
}

static kedge_status check_part(kedge_bytes part, size_t index, kedge_error *error)
{
    char name[KEDGE_LIMIT_NAME_BYTES + 1];
    kedge_bytes version;
    int64_t number = 1;
    kedge_error why = {0};
    if (kedge_json_type_of(part) != KEDGE_JSON_OBJECT)
        return refuse(error, index, "it must be an object {\"name\", \"args\"}");
    kedge_status status = check_members(part, index, error);
    if (status != KEDGE_OK) return status;
    if (!kedge_json_member_chars(part, "name", name, sizeof name))
        return refuse(error, index, "its \"name\" must be the name of a mutator");
    if (kedge_check_name("mutator", kedge_bytes_of(name), &why) != KEDGE_OK)
        return refuse(error, index, why.message);
    if (kedge_bytes_equal_text(kedge_bytes_of(name), KEDGE_BATCH_MUTATOR))
        return refuse(error, index, "it is a batch itself, which a batch must not have in it");
    if (kedge_json_member(part, "version", &version) &&
        (!kedge_json_to_integer(version, &number) || number < 1 || number > UINT32_MAX))
        return refuse(error, index, "its \"version\" must be an integer from 1 to 2^32 - 1");
    return KEDGE_OK;
}

static bool find_parts(kedge_bytes args, kedge_bytes *parts)
{
    kedge_bytes key;
    if (kedge_json_type_of(args) != KEDGE_JSON_OBJECT) return false;
    kedge_json_iterator members = kedge_json_iterate(args);
    if (!kedge_json_next_member(&members, &key, parts)) return false;
    kedge_bytes more;
    return kedge_json_text_equals(key, "mutations") &&
           kedge_json_type_of(*parts) == KEDGE_JSON_ARRAY &&
           !kedge_json_next_member(&members, &key, &more);
}

kedge_status kedge_batch_check(kedge_bytes args, kedge_error *error)
{
    kedge_bytes parts, part;
    size_t count = 0;
    if (!find_parts(args, &parts))
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "args-invalid",
                          "the args must be an object {\"mutations\"} with an array of "
                          "{\"name\", \"args\"}");
    kedge_json_iterator iterator = kedge_json_iterate(parts);
    while (kedge_json_next_element(&iterator, &part)) {
        if (count == KEDGE_LIMIT_BATCH_MUTATIONS)
            return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "batch-too-large",
                              "the batch has more than %d mutations", KEDGE_LIMIT_BATCH_MUTATIONS);
        kedge_status status = check_part(part, count++, error);
        if (status != KEDGE_OK) return status;
    }
    if (count > 0) return KEDGE_OK;
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "batch-empty",
                      "the batch has no mutation; 1 to %d are allowed",
                      KEDGE_LIMIT_BATCH_MUTATIONS);
}

kedge_json_iterator kedge_batch_iterate(kedge_bytes args)
{
    kedge_bytes parts = {"[]", 2};
    (void)find_parts(args, &parts);
    return kedge_json_iterate(parts);
}

bool kedge_batch_next(kedge_json_iterator *iterator, kedge_batch_part *part)
{
    kedge_bytes object;
    if (!kedge_json_next_element(iterator, &object)) return false;
    part->version = 1;
    (void)kedge_json_member_chars(object, "name", part->name, sizeof part->name);
    (void)kedge_json_member_integer(object, "version", &part->version);
    if (!kedge_json_member(object, "args", &part->args)) part->args = null_args;
    return true;
}
