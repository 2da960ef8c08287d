/* Every initialiser of the headers, in C++17 with all warnings as errors; and the values that each
 * gives. */
#include <kedge/cjson.h>
#include <kedge/kedge.h>

#include <cstdio>
#include <cstdlib>

static kedge_status add(kedge_tx *tx, const cJSON *args, void *, kedge_error *error)
{
    return kedge_tx_put_json(tx, "notes", kedge_member_text(args, "id"), args, error);
}

static const kedge_mutator mutators[] = {KEDGE_JSON_MUTATOR("notes.add", 1, add)};

static void check(kedge_status status, const kedge_error &error)
{
    if (status == KEDGE_OK) return;
    std::fprintf(stderr, "%s: %s\n", error.code, error.message);
    std::exit(1);
}

static void check(bool holds, const char *what)
{
    if (holds) return;
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::exit(1);
}

int main(int, char **arguments)
{
    static const char args[] = R"({"id":"a","text":"hi"})";
    kedge_options options = KEDGE_OPTIONS_INIT;
    kedge_scan_options range = KEDGE_SCAN_OPTIONS_INIT;
    kedge_sync_status status = KEDGE_SYNC_STATUS_INIT;
    kedge_mutation mutation = KEDGE_MUTATION_INIT;
    kedge_repair_report report = KEDGE_REPAIR_REPORT_INIT;
    kedge_stats stats = KEDGE_STATS_INIT;
    kedge_undo_result undone = KEDGE_UNDO_RESULT_INIT;
    kedge_undo_state undoable = KEDGE_UNDO_STATE_INIT;
    kedge_error error = {};
    check(options.url == nullptr && options.allocator == nullptr && !options.offline, "options");
    check(range.limit == 0 && range.prefix == nullptr, "scan options");
    check(undone.size == sizeof undone && undone.sequence == 0, "undo result");
    check(undoable.size == sizeof undoable, "undo state");
    check(report.size == sizeof report && report.missing == 0, "report");

    kedge_db *db = nullptr;
    options.path = arguments[1];
    options.organization = "acme";
    options.project = "plan";
    options.mutators = mutators;
    options.mutator_count = 1;
    check(kedge_open(&options, &db, &error), error);
    check(kedge_mutate(db, "notes.add", args, sizeof args - 1, nullptr, &error), error);

    kedge_scan *scan = nullptr;
    const char *value = nullptr;
    check(kedge_scan_open(db, "notes", &range, &scan, &error), error);
    check(kedge_scan_next(scan, nullptr, nullptr, &value, nullptr, &error), error);
    std::puts(value);
    kedge_scan_close(scan);

    check(kedge_get_sync_status(db, &status, &error), error);
    check(kedge_get_stats(db, &stats, &error), error);
    check(stats.edits == 1 && stats.outbox_bytes > 0, "the stats");
    check(status.pending == 1 && status.last_error.status == KEDGE_OK, "one edit is pending");
    kedge_mutation_list *list = nullptr;
    check(kedge_pending_open(db, &list, &error), error);
    check(kedge_mutation_list_next(list, &mutation, &error), error);
    check(mutation.sequence == 1 && !mutation.withheld, "the pending edit");
    kedge_mutation_list_close(list);
    kedge_close(db);
    return 0;
}
