/* A sound copy, the server's history, and what became of each edit: see damage.h. */
#include "tests/damage/damage.h"

#include "common/json.h"
#include "tests/support/history.h"

#include <stdio.h>
#include <string.h>

#define SYNC_TIMEOUT_MS 20000

typedef struct server_history {
    const damage_ledger *ledger;
    damage_seen *seen;
} server_history;

static void count_mutation(void *context, kedge_bytes mutation)
{
    server_history *history = context;
    kedge_bytes args, outcome;
    if (!kedge_json_member(mutation, "args", &args) ||
        !kedge_json_member(mutation, "outcome", &outcome) ||
        !kedge_json_text_equals(outcome, "applied"))
        return;
    long token = damage_token_of_args(history->ledger, args.data, args.size);
    kedge_bytes value;
    if (token)
        history->seen->applied[token]++;
    else if (kedge_json_member(args, "value", &value))
        damage_wrong(history->seen, "the server applied %.*s, which was never made",
                     (int)(args.size < 80 ? args.size : 80), args.data);
}

static bool read_history(kedge_db *db, const damage_ledger *ledger, damage_seen *seen)
{
    server_history history = {.ledger = ledger, .seen = seen};
    kedge_error error = {0};
    if (history_visit(db, SYNC_TIMEOUT_MS, count_mutation, &history, &error) == KEDGE_OK)
        return true;
    damage_wrong(seen, "the history: %s", error.message);
    return false;
}

void damage_read_server(const char *folder, const char *url, const damage_ledger *ledger,
                        damage_seen *seen)
{
    kedge_options options = damage_options(folder, url);
    kedge_db *db = NULL;
    kedge_error error = {0};
    options.offline = false;
    kedge_status status = kedge_open(&options, &db, &error);
    if (status == KEDGE_OK) status = kedge_sync(db, SYNC_TIMEOUT_MS, &error);
    if (status != KEDGE_OK)
        damage_wrong(seen, "a sound copy cannot sync: %s", error.message);
    else
        seen->judged =
            damage_read_all(db, ledger, seen, &seen->server) && read_history(db, ledger, seen);
    kedge_close(db);
}

/* ---- the outcome ---- */

/* What an app that is refused needs: which file, and what to do. */
static void judge_refusal(damage_seen *seen)
{
    static const char *const ways[] = {"kedge_repair", "put ", "newer", "another application"};
    const char *message = seen->refusal.message;
    bool file = strstr(message, "outbox.db") || strstr(message, "cache.db");
    bool way = false;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        way = way || strstr(message, ways[i]);
    if (file && way) return;
    seen->mute++;
    damage_note(seen, "MUTE: the refusal %s", file ? "does not say what to do" : "names no file");
}

static bool is_told(const damage_ledger *ledger, const damage_seen *seen, long token)
{
    if (seen->inboxed[token] || seen->listed[token]) return true;
    const damage_edit *edit = &ledger->edits[token];
    return edit->rejected ? edit->dismissed : seen->applied[token] > 0;
}

static void judge_edits(const damage_ledger *ledger, damage_seen *seen)
{
    int64_t missing = 0;
    for (long token = 1; token < ledger->count; token++) {
        if (seen->applied[token] > 1)
            damage_wrong(seen, "the server applied t%ld %d times", token, seen->applied[token]);
        if (!ledger->edits[token].ours || is_told(ledger, seen, token)) continue;
        /* A folder that is refused keeps what it had, and says so. */
        if (seen->refused && !seen->repaired && !ledger->edits[token].late) continue;
        missing++;
        if (missing < 6)
            damage_note(seen, "t%ld, sequence %lld%s, is nowhere", token,
                        (long long)ledger->edits[token].sequence,
                        ledger->edits[token].late ? ", made after the damage" : "");
    }
    int64_t told = seen->refused && !seen->repaired ? 0 : seen->unrecovered;
    if (told > 0) seen->set_aside = true;
    seen->overstated = told > missing;
    if (missing > told && seen->repaired && seen->nobody_knows) {
        seen->set_aside = true;
    } else if (missing > told) {
        seen->lost += (int)(missing - told);
        damage_note(seen, "LOST: %lld edits are nowhere, %lld are counted as unrecovered",
                    (long long)missing, (long long)told);
    }
}

const char *damage_difference(const damage_seen *seen)
{
    static char words[96];
    if (seen->view.disorder) return "reads by key, scans and queries do not agree";
    if (!seen->judged || !seen->synced || seen->pending != 0) return NULL;
    for (long token = 1; token < DAMAGE_TOKENS_MAX; token++) {
        if (seen->view.shown[token] == seen->server.shown[token]) continue;
        (void)snprintf(words, sizeof words, "t%ld is %s here and %s on the server", token,
                       seen->view.shown[token] ? "shown" : "missing",
                       seen->server.shown[token] ? "there" : "not");
        return words;
    }
    if (seen->view.shared == seen->server.shared) return NULL;
    (void)snprintf(words, sizeof words, "the shared item is t%ld here and t%ld on the server",
                   seen->view.shared, seen->server.shared);
    return words;
}

void damage_judge(const damage_ledger *ledger, damage_seen *seen)
{
    if (seen->refused) judge_refusal(seen);
    bool used = !seen->refused || seen->repaired;
    if (used && !seen->endless && !seen->finished)
        damage_endless(seen, "the folder opens, and its reads never work");
    if (used && !seen->endless && !seen->synced && !seen->waiting)
        damage_endless(seen, "no sync ends");
    /* Who was stopped cannot have told yet what is missing. */
    if (!seen->judged || seen->endless) return;
    judge_edits(ledger, seen);
    if (used && damage_difference(seen))
        damage_wrong(seen, "after a sync, %s", damage_difference(seen));
}
