/* Runs the scenarios of bindings/conformance in C++17, with kedge.hpp. See
 * bindings/conformance/README.md.
 *
 * usage: runner SCENARIOS URL ORGANIZATION FOLDER */
#include "tests/bindings/cpp/mutators.hpp"
#include "tests/bindings/cpp/told.hpp"
#include "tests/bindings/values.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <poll.h>

namespace
{

using kedge::result;
using optional_text = std::optional<std::string_view>;

/* ---- one scenario ---- */

class runner;
using step_function = result<void> (runner::*)(const cJSON *step, cJSON *given);

class runner
{
  public:
    runner(std::string url, std::string organization, std::filesystem::path folder, int number)
        : url_(std::move(url)), organization_(std::move(organization)), folder_(std::move(folder)),
          project_("scenario" + std::to_string(number))
    {
    }

    void run(const cJSON *scenario)
    {
        int number = 0;
        const cJSON *step;
        cJSON_ArrayForEach(step, cJSON_GetObjectItemCaseSensitive(scenario, "steps"))
        {
            const kedge::json::tree given(cJSON_CreateObject());
            const auto found = steps().find(step_text(step, "do"));
            if (found == steps().end()) runner_fail("no such step", step_text(step, "do"));
            const result<void> done = (this->*found->second)(step, given.get());
            check_step(scenario, ++number, step, done.error().status(), &done.error().c(),
                       given.get());
        }
        std::cout << "ok " << number << " steps: " << step_text(scenario, "name") << "\n";
    }

    std::string end(const cJSON *scenario)
    {
        const cJSON *end = cJSON_GetObjectItemCaseSensitive(scenario, "end"), *name;
        const cJSON *names = cJSON_GetObjectItemCaseSensitive(end, "copies");
        const cJSON *wanted = cJSON_GetObjectItemCaseSensitive(end, "items");
        std::optional<std::string> first;
        for (int round = 0; round < 2; round++) /* the second brings what others pushed */
            cJSON_ArrayForEach(name, names)
            {
                copies_[name->valuestring].set_online(true).or_throw();
                copies_[name->valuestring].sync(WAIT_MS).or_throw();
            }
        cJSON_ArrayForEach(name, names)
        {
            const kedge::json::tree items(cJSON_CreateObject());
            const std::string bytes = state(copies_[name->valuestring], items.get());
            if (!is_same(wanted, items.get()))
                runner_fail(step_text(scenario, "name"), exact_json(items.get()));
            if (bytes != first.value_or(bytes))
                runner_fail(step_text(scenario, "name"), "the copies end with different bytes");
            first = bytes;
        }
        return first.value_or("");
    }

  private:
    kedge::database &db(const cJSON *step)
    {
        return copies_[step_text(step, "copy")];
    }
    std::string path(const cJSON *step, const char *member) const
    {
        return folder_ / step_text(step, member);
    }
    static optional_text text(const cJSON *step, const char *member)
    {
        const char *found = step_text_or_null(step, member);
        return found ? optional_text(found) : std::nullopt;
    }
    static std::optional<std::string> owned(const cJSON *step, const char *member)
    {
        return std::optional<std::string>(text(step, member));
    }
    static bool flag(const cJSON *step, const char *member)
    {
        return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(step, member));
    }
    static std::string json(const cJSON *step, const char *member)
    {
        const std::unique_ptr<char, decltype(&std::free)> made(step_json(step, member), std::free);
        return made.get();
    }
    static std::string args(const cJSON *step)
    {
        const char *raw = step_text_or_null(step, "args_text");
        return raw ? raw : json(step, "args");
    }
    static void number(cJSON *given, const char *member, int64_t value)
    {
        cJSON_AddNumberToObject(given, member, static_cast<double>(value));
    }
    static result<void> sequence(const result<int64_t> &made, cJSON *given)
    {
        if (made) number(given, "sequence", *made);
        return made.error();
    }

    /* Copies and edits. */

    result<void> open(const cJSON *step, cJSON *)
    {
        kedge::options options;
        options.path = path(step, "copy");
        if (!cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(step, "url"))) options.url = url_;
        options.organization = organization_;
        options.project = text(step, "project").value_or(project_);
        options.user = owned(step, "user");
        options.role = owned(step, "role");
        options.schema_version = owned(step, "schema_version");
        options.offline = flag(step, "offline");
        options.caller_driven = flag(step, "caller_driven");
        options.create_project = flag(step, "create_project");
        const cJSON *name;
        cJSON_ArrayForEach(name, cJSON_GetObjectItemCaseSensitive(step, "mutators"))
        {
            options.mutators.push_back(mutator_of(name->valuestring));
        }
        cJSON_ArrayForEach(name, cJSON_GetObjectItemCaseSensitive(step, "client_mutators"))
        {
            options.client_mutators.push_back(mutator_of(name->valuestring));
        }
        auto opened = kedge::database::open(std::move(options));
        if (!opened) return opened.error();
        db(step) = std::move(*opened);
        return {};
    }
    result<void> close(const cJSON *step, cJSON *)
    {
        return db(step).close();
    }
    result<void> mutate(const cJSON *step, cJSON *given)
    {
        return sequence(db(step).mutate(step_text(step, "name"), args(step)), given);
    }
    result<void> edit_text(const cJSON *step, cJSON *given)
    {
        return sequence(db(step).edit_text(step_text(step, "collection"), step_text(step, "id"),
                                           step_text(step, "path"), text(step, "base"),
                                           step_text(step, "text")),
                        given);
    }
    result<void> batch(const cJSON *step, cJSON *given)
    {
        auto made = db(step).begin_batch();
        if (!made) return made.error();
        const cJSON *edit;
        cJSON_ArrayForEach(edit, cJSON_GetObjectItemCaseSensitive(step, "edits"))
        {
            const auto added = made->add(step_text(edit, "name"), args(edit));
            if (!added) return added;
        }
        return sequence(made->commit(), given);
    }
    result<void> cancel(const cJSON *step, cJSON *)
    {
        return db(step).cancel(step_integer(step, "sequence", 0));
    }
    result<void> undo_begin(const cJSON *step, cJSON *)
    {
        return db(step).begin_undo(text(step, "label").value_or(""));
    }
    result<void> undo_end(const cJSON *step, cJSON *)
    {
        return db(step).end_undo();
    }
    static result<void> taken_back(const result<kedge_undo_result> &done, cJSON *given)
    {
        if (!done) return done.error();
        number(given, "sequence", done->sequence);
        number(given, "restored", done->restored);
        number(given, "kept", done->kept);
        return {};
    }
    result<void> undo(const cJSON *step, cJSON *given)
    {
        return taken_back(db(step).undo(), given);
    }
    result<void> redo(const cJSON *step, cJSON *given)
    {
        return taken_back(db(step).redo(), given);
    }
    result<void> undo_state(const cJSON *step, cJSON *given)
    {
        const auto state = db(step).undo_state();
        if (!state) return state.error();
        number(given, "undo_count", state->undo_count);
        number(given, "redo_count", state->redo_count);
        cJSON_AddBoolToObject(given, "open", state->open);
        cJSON_AddStringToObject(given, "undo_label", state->undo_label);
        cJSON_AddStringToObject(given, "redo_label", state->redo_label);
        return {};
    }
    result<void> repair(const cJSON *step, cJSON *given)
    {
        const auto report = kedge::repair(path(step, "copy"), path(step, "into"));
        if (!report) return report.error();
        number(given, "pending", report->pending);
        number(given, "rejected", report->rejected);
        number(given, "confirmed", report->confirmed);
        number(given, "damaged", report->damaged);
        number(given, "missing", report->missing);
        return {};
    }

    /* Reads. */

    static result<void> give(const result<kedge::document> &found, cJSON *given, const char *member)
    {
        if (found) give_json(given, member, std::string(found->json()).c_str());
        return found.error();
    }
    result<void> get(const cJSON *step, cJSON *given)
    {
        const auto found = db(step).get(step_text(step, "collection"), step_text(step, "id"));
        if (found) cJSON_AddStringToObject(given, "id", std::string(found->id()).c_str());
        return give(found, given, "value");
    }
    result<void> project(const cJSON *step, cJSON *given)
    {
        return give(db(step).get_project(), given, "value");
    }
    result<void> scan(const cJSON *step, cJSON *given)
    {
        auto rows = db(step).scan(step_text(step, "collection"),
                                  {text(step, "after"), text(step, "prefix"),
                                   step_integer(step, "limit", 0), flag(step, "descending")});
        if (!rows) return rows.error();
        cJSON *items = cJSON_AddArrayToObject(given, "items");
        while (rows->next()) {
            cJSON *pair = cJSON_CreateArray();
            cJSON_AddItemToArray(pair, cJSON_CreateString(std::string(rows->id()).c_str()));
            cJSON_AddItemToArray(pair, cJSON_Parse(std::string(rows->value()).c_str()));
            cJSON_AddItemToArray(items, pair);
        }
        return rows->error();
    }
    static cJSON *value_of(kedge::query &rows, int32_t column)
    {
        const kedge_column_type type = rows.type(column); /* before it is read as a text */
        const std::string text(rows.text(column).value_or(""));
        switch (type) {
        case KEDGE_COLUMN_INTEGER:
            return cJSON_CreateNumber(static_cast<double>(rows.integer(column)));
        case KEDGE_COLUMN_REAL:
            return cJSON_CreateNumber(rows.real(column));
        case KEDGE_COLUMN_TEXT:
            return cJSON_CreateString(text.c_str());
        case KEDGE_COLUMN_BLOB:
            return blob_object(text.data(), text.size());
        case KEDGE_COLUMN_NULL:
        default:
            return cJSON_CreateNull();
        }
    }
    result<void> query(const cJSON *step, cJSON *given)
    {
        const std::string parameters = json(step, "parameters");
        auto rows = db(step).query(step_text(step, "sql"), parameters.empty() ? "[]" : parameters);
        if (!rows) return rows.error();
        cJSON *columns = cJSON_AddArrayToObject(given, "columns");
        cJSON *list = cJSON_AddArrayToObject(given, "rows");
        for (int32_t i = 0; i < rows->column_count(); i++)
            cJSON_AddItemToArray(columns,
                                 cJSON_CreateString(std::string(rows->column_name(i)).c_str()));
        while (rows->next()) {
            cJSON *row = cJSON_CreateArray();
            for (int32_t i = 0; i < rows->column_count(); i++)
                cJSON_AddItemToArray(row, value_of(*rows, i));
            cJSON_AddItemToArray(list, row);
        }
        return rows->error();
    }
    result<void> index(const cJSON *step, cJSON *)
    {
        std::vector<std::string> paths;
        const cJSON *each;
        cJSON_ArrayForEach(each, cJSON_GetObjectItemCaseSensitive(step, "paths"))
        {
            paths.emplace_back(each->valuestring);
        }
        return db(step).index(step_text(step, "name"), step_text(step, "collection"), paths);
    }
    result<void> index_drop(const cJSON *step, cJSON *)
    {
        return db(step).drop_index(step_text(step, "name"));
    }
    result<void> indexes(const cJSON *step, cJSON *given)
    {
        auto list = db(step).indexes();
        if (!list) return list.error();
        cJSON *found = cJSON_AddArrayToObject(given, "indexes");
        while (list->next()) {
            cJSON *index = cJSON_CreateObject();
            cJSON_AddStringToObject(index, "name", std::string(list->name()).c_str());
            cJSON_AddStringToObject(index, "collection", std::string(list->collection()).c_str());
            give_json(index, "paths", std::string(list->paths()).c_str());
            cJSON_AddItemToArray(found, index);
        }
        return list->error();
    }
    result<void> order(const cJSON *step, cJSON *given)
    {
        const auto key =
            kedge::order_between(text(step, "before"), text(step, "after"),
                                 static_cast<uint32_t>(step_integer(step, "random", 0)));
        if (key) cJSON_AddStringToObject(given, "key", key->c_str());
        return key.error();
    }
    result<void> stats(const cJSON *step, cJSON *given)
    {
        const auto read = db(step).stats();
        if (!read) return read.error();
        number(given, "edits", read->edits);
        number(given, "edits_refused", read->edits_refused);
        number(given, "requests", read->requests);
        number(given, "pulls", read->pulls);
        return {};
    }

    /* Sync. */

    result<void> online(const cJSON *step, cJSON *)
    {
        return db(step).set_online(true);
    }
    result<void> offline(const cJSON *step, cJSON *)
    {
        return db(step).set_online(false);
    }
    static int32_t timeout(const cJSON *step)
    {
        return static_cast<int32_t>(step_integer(step, "timeout_ms", WAIT_MS));
    }
    result<void> sync(const cJSON *step, cJSON *)
    {
        return db(step).sync(timeout(step));
    }
    result<void> wait(const cJSON *step, cJSON *given)
    {
        static const char *const names[] = {"pending", "applied", "rejected"};
        const auto outcome = db(step).wait(step_integer(step, "sequence", 0), timeout(step));
        if (outcome) cJSON_AddStringToObject(given, "outcome", names[*outcome]);
        return outcome.error();
    }
    result<void> status(const cJSON *step, cJSON *given)
    {
        const auto read = db(step).status();
        if (read) give_status(given, &*read);
        return read.error();
    }
    static result<void> list(result<kedge::mutation_list> opened, cJSON *given)
    {
        if (!opened) return opened.error();
        cJSON *mutations = cJSON_AddArrayToObject(given, "mutations");
        while (opened->next())
            cJSON_AddItemToArray(mutations, mutation_object(&opened->mutation()));
        return opened->error();
    }
    result<void> pending(const cJSON *step, cJSON *given)
    {
        return list(db(step).pending(), given);
    }
    result<void> rejected(const cJSON *step, cJSON *given)
    {
        return list(db(step).rejected(), given);
    }
    result<void> dismiss(const cJSON *step, cJSON *)
    {
        return db(step).dismiss(step_integer(step, "sequence", 0));
    }
    result<void> dismiss_through(const cJSON *step, cJSON *given)
    {
        const auto dismissed = db(step).dismiss_through(step_integer(step, "sequence", 0));
        if (dismissed) cJSON_AddNumberToObject(given, "dismissed", static_cast<double>(*dismissed));
        return dismissed.error();
    }
    result<void> resubmit(const cJSON *step, cJSON *given)
    {
        return sequence(db(step).resubmit(step_integer(step, "sequence", 0)), given);
    }
    result<void> history(const cJSON *step, cJSON *given)
    {
        const auto limit = static_cast<int32_t>(step_integer(step, "limit", 10));
        return give(db(step).history(step_integer(step, "before", 0), limit, WAIT_MS), given,
                    "versions");
    }
    result<void> loop(const cJSON *step, cJSON *given)
    {
        using clock = std::chrono::steady_clock;
        const auto until = clock::now() + std::chrono::milliseconds(WAIT_MS);
        pollfd set = {db(step).loop_descriptor(), POLLIN, 0};
        for (;;) {
            const auto wait_ms = db(step).run_loop();
            if (!wait_ms) return wait_ms.error();
            const auto read = db(step).status();
            if (!read) return read.error();
            kedge::json::tree of(cJSON_CreateObject());
            give_status(of.get(), &*read);
            if (gives_match(cJSON_GetObjectItemCaseSensitive(step, "until"), of.get())) {
                give_status(given, &*read);
                return {};
            }
            if (clock::now() > until)
                return kedge::error(KEDGE_TIMEOUT, "timeout", "the status did not come");
            poll(&set, 1, std::min(*wait_ms, 1000));
        }
    }

    /* Watches. */

    std::shared_ptr<told> new_told(const cJSON *step)
    {
        return told_[step_text(step, "watch")] = std::make_shared<told>();
    }
    result<void> watch(const cJSON *step, cJSON *)
    {
        auto made = db(step).watch(text(step, "collection"),
                                   [to = new_told(step)](const kedge::changes &changes) {
                                       for (const kedge_change &each : changes)
                                           to->add(change_object(&each));
                                   });
        if (made) watches_[step_text(step, "watch")] = std::move(*made);
        return made.error();
    }
    result<void> keep(result<kedge::sync_watch> made, const cJSON *step)
    {
        if (made) sync_watches_[step_text(step, "watch")] = std::move(*made);
        return made.error();
    }
    result<void> watch_status(const cJSON *step, cJSON *)
    {
        return keep(db(step).watch_status([to = new_told(step)](const kedge_sync_status &status) {
            cJSON *object = cJSON_CreateObject();
            give_status(object, &status);
            to->set(object);
        }),
                    step);
    }
    result<void> watch_rejected(const cJSON *step, cJSON *)
    {
        return keep(db(step).watch_rejected([to = new_told(step)](const kedge_mutation &mutation) {
            to->add(mutation_object(&mutation));
        }),
                    step);
    }
    result<void> watch_query(const cJSON *step, cJSON *)
    {
        const std::string parameters = json(step, "parameters");
        auto made =
            db(step).watch_query(step_text(step, "sql"), parameters.empty() ? "[]" : parameters,
                                 [to = new_told(step)](const kedge_query_changes &changes) {
                                     to->add(result_object(&changes));
                                 });
        if (made) query_watches_[step_text(step, "watch")] = std::move(*made);
        return made.error();
    }
    result<void> wait_told(const cJSON *step, cJSON *given)
    {
        told_.at(step_text(step, "watch"))
            ->wait(cJSON_GetObjectItemCaseSensitive(step, "gives"), given);
        return {};
    }
    result<void> unwatch(const cJSON *step, cJSON *)
    {
        watches_.erase(step_text(step, "watch"));
        sync_watches_.erase(step_text(step, "watch"));
        query_watches_.erase(step_text(step, "watch"));
        return {};
    }

    static const std::map<std::string, step_function> &steps()
    {
        static const std::map<std::string, step_function> all = {
            {"open", &runner::open},
            {"close", &runner::close},
            {"repair", &runner::repair},
            {"mutate", &runner::mutate},
            {"text", &runner::edit_text},
            {"batch", &runner::batch},
            {"cancel", &runner::cancel},
            {"undo_begin", &runner::undo_begin},
            {"undo_end", &runner::undo_end},
            {"undo", &runner::undo},
            {"redo", &runner::redo},
            {"undo_state", &runner::undo_state},
            {"get", &runner::get},
            {"project", &runner::project},
            {"scan", &runner::scan},
            {"query", &runner::query},
            {"index", &runner::index},
            {"index_drop", &runner::index_drop},
            {"indexes", &runner::indexes},
            {"order", &runner::order},
            {"stats", &runner::stats},
            {"online", &runner::online},
            {"offline", &runner::offline},
            {"sync", &runner::sync},
            {"wait", &runner::wait},
            {"status", &runner::status},
            {"pending", &runner::pending},
            {"rejected", &runner::rejected},
            {"dismiss", &runner::dismiss},
            {"dismiss_through", &runner::dismiss_through},
            {"resubmit", &runner::resubmit},
            {"history", &runner::history},
            {"loop", &runner::loop},
            {"watch", &runner::watch},
            {"watch_status", &runner::watch_status},
            {"watch_rejected", &runner::watch_rejected},
            {"watch_query", &runner::watch_query},
            {"told", &runner::wait_told},
            {"unwatch", &runner::unwatch},
        };
        return all;
    }

    static std::string state(kedge::database &db, cJSON *items)
    {
        std::string bytes;
        auto rows =
            db.query("SELECT collection, id, value FROM kedge_items ORDER BY collection, id")
                .or_throw();
        while (rows.next()) {
            const std::string collection(*rows.text(0)), id(*rows.text(1)), value(*rows.text(2));
            bytes += collection + "\t" + id + "\t" + value + "\n";
            cJSON *of = cJSON_GetObjectItemCaseSensitive(items, collection.c_str());
            if (!of) of = cJSON_AddObjectToObject(items, collection.c_str());
            give_json(of, id.c_str(), value.c_str());
        }
        rows.error().ok() ? void() : runner_fail("end", rows.error().c().message);
        const auto project = db.get_project();
        if (project) bytes += std::string(project->json()) + "\n";
        return bytes;
    }

    std::string url_, organization_;
    std::filesystem::path folder_;
    std::string project_;
    std::map<std::string, kedge::database> copies_;
    std::map<std::string, std::shared_ptr<told>> told_;
    std::map<std::string, kedge::watch> watches_; /* which end before the copies */
    std::map<std::string, kedge::sync_watch> sync_watches_;
    std::map<std::string, kedge::query_watch> query_watches_;
};

} // namespace

int main(int count, char **arguments)
{
    if (count != 5) runner_fail("usage", "runner SCENARIOS URL ORGANIZATION FOLDER");
    const kedge::json::tree read(read_scenarios(arguments[1]));
    const std::filesystem::path folder = arguments[4];
    int number = 0;
    const cJSON *scenario;
    cJSON_ArrayForEach(scenario, cJSON_GetObjectItemCaseSensitive(read.get(), "scenarios"))
    {
        const std::string name = std::to_string(++number);
        std::filesystem::create_directory(folder / name);
        runner at(arguments[2], arguments[3], folder / name, number);
        at.run(scenario);
        std::ofstream(folder / (name + ".state"), std::ios::binary) << at.end(scenario);
    }
    std::cout << number << " scenarios passed\n";
    return number == 0;
}
