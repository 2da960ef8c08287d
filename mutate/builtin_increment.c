/* kedge.increment {collection, id, add}: adds numbers to members of an item. Increments of two
 * copies add up, in whatever order the server decides them. */
#include "mutate/builtin_args.h"
#include "mutate/json_members.h"
#include "mutate/json_merge.h"
#include "mutate/transaction.h"

#include <math.h>

#define SHOWN_BYTES 64 /* of a key in a message */

static kedge_status refuse_member(kedge_tx *tx, kedge_error *error, const char *code,
                                  kedge_bytes key, const char *why)
{
    int shown = key.size < SHOWN_BYTES ? (int)key.size : SHOWN_BYTES;
    return kedge_builtin_refuse(tx, error, code, "the member %.*s %s", shown, key.data, why);
}

/* `old` is empty when the item lacks the member, which then counts as 0. */
static kedge_status write_sum(kedge_tx *tx, kedge_bytes key, kedge_bytes old, kedge_bytes add,
                              kedge_buffer *patch, kedge_error *error)
{
    double a = 0, b = 0;
    if (old.size > 0 && !kedge_json_to_number(old, &a))
        return refuse_member(tx, error, "increment-of-no-number", key, "of the item is no number");
    kedge_json_to_number(add, &b);
    double sum = a + b;
    if (!isfinite(sum) ||
        (kedge_json_is_integer(a) && kedge_json_is_integer(b) && !kedge_json_is_integer(sum)))
        return refuse_member(
            tx, error, "increment-out-of-range", key,
            "would leave the numbers that are exact: integers of at most 2^53 - 1");
    char text[KEDGE_JSON_NUMBER_SIZE];
    kedge_buffer_append(patch, text, kedge_json_format_number(sum, text));
    return KEDGE_OK;
}

/* Appends a merge patch with the sums. Recurses as deep as `add` is nested: at most
 * KEDGE_LIMIT_JSON_DEPTH. */
static kedge_status write_sums(kedge_tx *tx, kedge_bytes target, kedge_bytes add,
                               kedge_buffer *patch, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    bool comma = false;
    kedge_json_members old = kedge_json_members_start(target);
    kedge_json_members more = kedge_json_members_start(add);
    kedge_buffer_append_byte(patch, '{');
    for (; more.more && status == KEDGE_OK; kedge_json_members_advance(&more)) {
        while (old.more && kedge_json_key_compare(old.key, more.key) < 0)
            kedge_json_members_advance(&old);
        bool found = old.more && kedge_json_key_compare(old.key, more.key) == 0;
        kedge_bytes value = found ? old.value : (kedge_bytes){NULL, 0};
        if (comma) kedge_buffer_append_byte(patch, ',');
        comma = true;
        kedge_buffer_append_bytes(patch, more.key);
        kedge_buffer_append_byte(patch, ':');
        switch (kedge_json_type_of(more.value)) {
        case KEDGE_JSON_NUMBER:
            status = write_sum(tx, more.key, value, more.value, patch, error);
            break;
        case KEDGE_JSON_OBJECT:
            if (found && kedge_json_type_of(value) != KEDGE_JSON_OBJECT)
                return refuse_member(tx, error, "increment-of-no-number", more.key,
                                     "of the item is no object");
            status = write_sums(tx, found ? value : KEDGE_BYTES("{}"), more.value, patch, error);
            break;
        default:
            return refuse_member(tx, error, "args-invalid", more.key,
                                 "of \"add\" must be a number, or an object of such");
        }
    }
    kedge_buffer_append_byte(patch, '}');
    return status;
}

/* Reads what `add` is added to: of a large item only the members that it names. */
static kedge_status read_target(kedge_tx *tx, const kedge_builtin_item *item,
                                kedge_json_rope **rope, kedge_buffer *picked, kedge_bytes *target,
                                kedge_error *error)
{
    kedge_error why = {0};
    kedge_status status =
        kedge_tx_get_rope(tx, item->collection, item->id, item->id_size, rope, error);
    if (status != KEDGE_OK) return status;
    if (*rope == NULL) {
        status = kedge_tx_get(tx, item->collection, item->id, item->id_size, &target->data,
                              &target->size, error);
        return status == KEDGE_NOT_FOUND ? KEDGE_OK : status;
    }
    if (kedge_json_rope_type(*rope) != KEDGE_JSON_OBJECT) {
        *target = KEDGE_BYTES("[]");
        return KEDGE_OK;
    }
    kedge_json_rope_pick(*rope, item->extra, picked);
    if (kedge_buffer_status(picked, &why) != KEDGE_OK) return kedge_tx_postpone(tx, &why, error);
    *target = kedge_buffer_bytes(picked);
    return KEDGE_OK;
}

static kedge_status write_target(kedge_tx *tx, const kedge_builtin_item *item,
                                 const kedge_json_rope *rope, kedge_bytes target, kedge_bytes patch,
                                 kedge_error *error)
{
    if (rope != NULL)
        return kedge_tx_merge_rope(tx, item->collection, item->id, item->id_size, rope, patch,
                                   error);
    kedge_error why = {0};
    kedge_buffer merged = kedge_buffer_make(kedge_tx_allocator(tx));
    kedge_json_merge(target, patch, &merged);
    kedge_status status = kedge_buffer_status(&merged, &why) == KEDGE_OK
                              ? kedge_tx_put(tx, item->collection, item->id, item->id_size,
                                             merged.data, merged.size, error)
                              : kedge_tx_postpone(tx, &why, error);
    kedge_buffer_free(&merged);
    return status;
}

kedge_status kedge_builtin_increment(kedge_tx *tx, const char *args, size_t args_size,
                                     void *userdata, kedge_error *error)
{
    (void)userdata;
    kedge_builtin_item item;
    kedge_status status =
        kedge_builtin_read_item(tx, (kedge_bytes){args, args_size}, "add", &item, error);
    if (status != KEDGE_OK) return status;
    if (kedge_json_type_of(item.extra) != KEDGE_JSON_OBJECT)
        return kedge_builtin_refuse(tx, error, "args-invalid",
                                    "the member \"add\" of the args must be an object of numbers");

    kedge_error why = {0};
    kedge_bytes target = KEDGE_BYTES("{}");
    kedge_json_rope *rope;
    kedge_buffer picked = kedge_buffer_make(kedge_tx_allocator(tx));
    kedge_buffer patch = kedge_buffer_make(kedge_tx_allocator(tx));
    status = read_target(tx, &item, &rope, &picked, &target, error);
    if (status == KEDGE_OK && kedge_json_type_of(target) != KEDGE_JSON_OBJECT)
        status = kedge_builtin_refuse(tx, error, "increment-of-no-number", "the item is no object");
    if (status == KEDGE_OK) status = write_sums(tx, target, item.extra, &patch, error);
    if (status == KEDGE_OK && kedge_buffer_status(&patch, &why) != KEDGE_OK)
        status = kedge_tx_postpone(tx, &why, error);
    if (status == KEDGE_OK)
        status = write_target(tx, &item, rope, target, kedge_buffer_bytes(&patch), error);
    kedge_buffer_free(&patch);
    kedge_buffer_free(&picked);
    return status;
}
