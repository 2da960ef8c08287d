/* The inbox of an app: how many edits were rejected and why, and what becomes of them. */
#include <kedge/kedge.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REASONS_MAX 16

typedef struct reason {
    char code[64];
    int64_t edits;
} reason;

kedge_status count_rejected(kedge_db *db, reason reasons[REASONS_MAX], size_t *count,
                            kedge_error *error);
kedge_status answer_rejected(kedge_db *db, const char *code, bool again, kedge_error *error);

static void count_one(reason reasons[REASONS_MAX], size_t *count, const char *code)
{
    size_t at = 0;
    while (at < *count && strcmp(reasons[at].code, code) != 0)
        at++;
    if (at == REASONS_MAX) return; /* an app has few codes */
    if (at == *count) {
        reasons[at] = (reason){.edits = 0};
        snprintf(reasons[at].code, sizeof reasons[at].code, "%s", code);
        (*count)++;
    }
    reasons[at].edits++;
}

/* "3 edits: item-not-found". Show them as one message, and not as one for each edit. */
kedge_status count_rejected(kedge_db *db, reason reasons[REASONS_MAX], size_t *count,
                            kedge_error *error)
{
    kedge_mutation_list *list = NULL;
    kedge_mutation edit = KEDGE_MUTATION_INIT;
    kedge_status status = kedge_rejected_open(db, &list, error);
    if (status != KEDGE_OK) return status;
    *count = 0;
    while ((status = kedge_mutation_list_next(list, &edit, error)) == KEDGE_OK)
        count_one(reasons, count, edit.code);
    kedge_mutation_list_close(list);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

/* The sequences of the edits with this code. The caller frees them, also after a failure. */
static kedge_status find_rejected(kedge_db *db, const char *code, int64_t **sequences,
                                  size_t *count, kedge_error *error)
{
    kedge_mutation_list *list = NULL;
    kedge_mutation edit = KEDGE_MUTATION_INIT;
    kedge_status status = kedge_rejected_open(db, &list, error);
    if (status != KEDGE_OK) return status;
    while ((status = kedge_mutation_list_next(list, &edit, error)) == KEDGE_OK) {
        if (strcmp(edit.code, code) != 0) continue;
        int64_t *more = realloc(*sequences, (*count + 1) * sizeof **sequences);
        if (more == NULL) break;
        more[(*count)++] = edit.sequence;
        *sequences = more;
    }
    kedge_mutation_list_close(list); /* before the inbox is changed */
    if (status == KEDGE_OK && error != NULL)
        *error = (kedge_error){KEDGE_NO_MEMORY, "out-of-memory", "the list needs more memory"};
    if (status == KEDGE_OK) return KEDGE_NO_MEMORY;
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

/* Makes all edits with this code again, or dismisses them. Each is durable by itself, so an app
 * that ends in between goes on with the rest. Call it on a thread that may wait. */
kedge_status answer_rejected(kedge_db *db, const char *code, bool again, kedge_error *error)
{
    int64_t *sequences = NULL;
    size_t count = 0;
    kedge_status status = find_rejected(db, code, &sequences, &count, error);
    for (size_t i = 0; i < count && status == KEDGE_OK; i++) {
        status = again ? kedge_rejected_resubmit(db, sequences[i], NULL, error)
                       : kedge_rejected_dismiss(db, sequences[i], error);
        /* Refused here, too: it stays in the inbox. Or another window has answered it. */
        if (status == KEDGE_REJECTED || status == KEDGE_NOT_FOUND) status = KEDGE_OK;
    }
    free(sequences);
    return status;
}
