/* What DynamoDB's refusals mean to the port. What throttles a request as a whole never comes here:
 * kedge_aws_call tries again.
 *
 * A cancelled transaction has a reason for each of its writes. Several may differ: what can never
 * succeed is told before a condition that did not hold, and that before what is only for now. */
#include "backend/aws/dynamodb_internal.h"

#include <string.h>

/* Of several meanings the last one here is the one that is told. */
typedef enum meaning { FOR_NOW, CONDITION, TOO_LARGE, INVALID, NO_TABLE, OTHER } meaning;

static const struct {
    const char *code;
    meaning means;
} meanings[] = {
    {"ConditionalCheckFailedException", CONDITION},
    {"ItemCollectionSizeLimitExceededException", TOO_LARGE},
    {"ValidationException", INVALID},
    {"ResourceNotFoundException", NO_TABLE},
    /* reasons of a cancelled transaction */
    {"ConditionalCheckFailed", CONDITION},
    {"TransactionConflict", FOR_NOW},
    {"ProvisionedThroughputExceeded", FOR_NOW},
    {"ThrottlingError", FOR_NOW},
    {"ItemCollectionSizeLimitExceeded", TOO_LARGE},
    {"ValidationError", INVALID},
};

static const kedge_dynamodb_refusal refusals[] = {
    [FOR_NOW] = {KEDGE_BUSY, "aws-throttled", true},
    [CONDITION] = {KEDGE_CONFLICT, "condition-failed", false},
    [TOO_LARGE] = {KEDGE_LIMIT_EXCEEDED, "record-too-large", false},
    [INVALID] = {KEDGE_INVALID_ARGUMENT, "aws-refused", false},
    [NO_TABLE] = {KEDGE_IO, "aws-table-missing", false},
    [OTHER] = {KEDGE_IO, "aws-refused", false},
};

static meaning meaning_of(const char *code, const char *message)
{
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++) {
        if (strcmp(meanings[i].code, code) != 0) continue;
        /* "Item size has exceeded the maximum allowed size" and the like. */
        bool about_size = strstr(message, "size") != NULL && strstr(message, "exceed") != NULL;
        return meanings[i].means == INVALID && about_size ? TOO_LARGE : meanings[i].means;
    }
    return OTHER;
}

static bool next_reason(kedge_json_iterator *reasons, char code[96], char message[256])
{
    kedge_bytes reason;
    if (!kedge_json_next_element(reasons, &reason)) return false;
    if (!kedge_json_member_chars(reason, "Code", code, 96)) code[0] = '\0';
    if (!kedge_json_member_chars(reason, "Message", message, 256)) message[0] = '\0';
    return true;
}

static meaning meaning_of_cancellation(kedge_bytes body)
{
    char code[96], message[256];
    kedge_bytes list;
    bool found = false;
    meaning worst = FOR_NOW;
    if (kedge_json_check(body, KEDGE_LIMIT_JSON_DEPTH, &kedge_allocator_default, NULL) !=
            KEDGE_OK ||
        !kedge_json_member(body, "CancellationReasons", &list))
        return OTHER;
    kedge_json_iterator reasons = kedge_json_iterate(list);
    while (next_reason(&reasons, code, message)) {
        if (strcmp(code, "None") == 0) continue;
        meaning means = meaning_of(code, message);
        if (means > worst) worst = means;
        found = true;
    }
    return found && !reasons.failed ? worst : OTHER;
}

kedge_dynamodb_refusal kedge_dynamodb_refusal_of(const kedge_aws_response *response)
{
    if (strcmp(response->code, "TransactionCanceledException") == 0)
        return refusals[meaning_of_cancellation(kedge_buffer_bytes(&response->body))];
    return refusals[meaning_of(response->code, response->message)];
}
