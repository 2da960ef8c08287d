/* Edits that can be told apart wherever they turn up: see damage.h. */
#include "tests/damage/damage.h"

#include "common/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* splitmix64. The seed is mixed first: the stream of one seed is no part of another's. */
damage_dice damage_dice_make(uint64_t seed)
{
    return (damage_dice){mix(seed + 0x632be59bd9b4e019u)};
}

/* Scaled, so that the same seed hits about the same place of a file that came out a little
 * longer. */
uint64_t damage_draw(damage_dice *dice, uint64_t below)
{
    return ((mix(dice->state += 0x9e3779b97f4a7c15u) >> 32) * below) >> 32;
}

static kedge_status client_only(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                kedge_error *error)
{
    char id[64];
    size_t id_size = 0;
    (void)userdata;
    kedge_status status = kedge_args_text(args, args_size, "id", id, sizeof id, &id_size, error);
    kedge_bytes value;
    if (status != KEDGE_OK || !kedge_json_member((kedge_bytes){args, args_size}, "value", &value))
        return KEDGE_INVALID_ARGUMENT;
    return kedge_tx_put(tx, "local", id, id_size, value.data, value.size, error);
}

/* What the server has no mutator for, it rejects. */
const kedge_mutator damage_mutators[1] = {{"damage.client-only", 1, client_only, NULL}};

/* Most rows are small; some fill a good part of a page, some need pages of their own. */
static size_t text_size(long token)
{
    if (token >= DAMAGE_BIG_TOKENS) return 40000;
    if (token % 31 == 0) return 6000;
    return token % 7 == 0 ? 700 : 20 + (size_t)(token % 5) * 8;
}

size_t damage_value(long token, char *out)
{
    damage_dice dice = damage_dice_make((uint64_t)token);
    int head = snprintf(out, DAMAGE_VALUE_BYTES, "{\"text\":\"");
    size_t size = (size_t)head;
    for (size_t left = text_size(token); left > 0; left--)
        out[size++] = (char)('a' + damage_draw(&dice, 26));
    int tail = snprintf(out + size, DAMAGE_VALUE_BYTES - size, "\",\"token\":%ld}", token);
    return size + (size_t)tail;
}

static size_t edit_args(const damage_edit *edit, long token, char *out, size_t out_size)
{
    static char value[DAMAGE_VALUE_BYTES];
    damage_value(token, value);
    char id[32] = "shared";
    if (!edit->shared) (void)snprintf(id, sizeof id, "t%ld", token);
    int size = snprintf(out, out_size, "{\"collection\":\"%s\",\"id\":\"%s\",\"value\":%s}",
                        edit->shared ? "shared" : "edits", id, value);
    return (size_t)size;
}

kedge_status damage_make_edit(kedge_db *db, damage_ledger *ledger, long token, kedge_error *error)
{
    static char args[DAMAGE_VALUE_BYTES + 128];
    damage_edit *edit = &ledger->edits[token];
    int64_t sequence = 0;
    edit->known = true;
    size_t size = edit_args(edit, token, args, sizeof args);
    const char *name = edit->rejected ? damage_mutators[0].name : "kedge.put";
    kedge_status status = kedge_mutate(db, name, args, size, &sequence, error);
    if (status == KEDGE_OK) edit->sequence = sequence;
    return status;
}

static bool is_value_of(long token, const char *value, size_t value_size)
{
    static char expected[DAMAGE_VALUE_BYTES];
    size_t size = damage_value(token, expected);
    return size == value_size && memcmp(expected, value, size) == 0;
}

static bool known(const damage_ledger *ledger, int64_t token)
{
    return token > 0 && token < ledger->count && ledger->edits[token].known;
}

long damage_token_of(const damage_ledger *ledger, const char *collection, const char *id,
                     const char *value, size_t value_size)
{
    int64_t token = 0;
    if (strcmp(collection, "shared") == 0) {
        kedge_bytes text = {value, value_size};
        if (strcmp(id, "shared") != 0 ||
            kedge_json_check(text, 8, &kedge_allocator_default, NULL) != KEDGE_OK ||
            !kedge_json_member_integer(text, "token", &token))
            return 0;
    } else if (id[0] == 't') {
        char *end;
        token = strtol(id + 1, &end, 10);
        if (*end != '\0') return 0;
    }
    if (!known(ledger, token)) return 0;
    const damage_edit *edit = &ledger->edits[token];
    const char *place = edit->shared ? "shared" : edit->rejected ? "local" : "edits";
    if (strcmp(collection, place) != 0) return 0;
    return is_value_of((long)token, value, value_size) ? (long)token : 0;
}

long damage_token_of_args(const damage_ledger *ledger, const char *args, size_t args_size)
{
    static char expected[DAMAGE_VALUE_BYTES + 128];
    kedge_bytes text = {args, args_size};
    kedge_bytes value;
    int64_t token = 0;
    if (kedge_json_check(text, 8, &kedge_allocator_default, NULL) != KEDGE_OK ||
        !kedge_json_member(text, "value", &value) ||
        !kedge_json_member_integer(value, "token", &token) || !known(ledger, token))
        return 0;
    size_t size = edit_args(&ledger->edits[token], (long)token, expected, sizeof expected);
    return size == args_size && memcmp(expected, args, size) == 0 ? (long)token : 0;
}

long damage_token_of_sequence(const damage_ledger *ledger, int64_t sequence)
{
    for (long token = 1; token < ledger->count; token++)
        if (ledger->edits[token].ours && ledger->edits[token].sequence == sequence) return token;
    return 0;
}

static void append(damage_seen *seen, const char *head, const char *format, va_list arguments)
{
    char *at = seen->trace + seen->trace_size;
    size_t left = sizeof seen->trace - seen->trace_size;
    if (left < 512) return;
    int head_size = snprintf(at, left, "  %s", head);
    int size = vsnprintf(at + head_size, left - (size_t)head_size - 2, format, arguments);
    size_t whole = size < 0 ? 0 : strlen(at);
    for (size_t i = 0; i < whole; i++) /* damaged text goes to a terminal */
        if (at[i] < ' ' || at[i] > '~') at[i] = '?';
    at[whole] = '\n';
    at[whole + 1] = '\0';
    seen->trace_size += whole + 1;
}

void damage_note(damage_seen *seen, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    append(seen, "", format, arguments);
    va_end(arguments);
}

void damage_wrong(damage_seen *seen, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    append(seen, "WRONG: ", format, arguments);
    va_end(arguments);
    seen->wrong++;
}

void damage_endless(damage_seen *seen, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    append(seen, "ENDLESS: ", format, arguments);
    va_end(arguments);
    seen->endless++;
}
