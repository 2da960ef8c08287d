/* kedge.hpp at its edges: handles that are closed or moved from, texts that C would cut, functions
 * of the app that throw, close() where it would wait for itself. Each is an error as a value, and
 * the process goes on.
 *
 * usage: edges FOLDER */
#include <kedge/cjson.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>

extern "C" const kedge_mutator *kedge_plugin_mutators(size_t *count);

/* While it is set, C++ has no memory on threads that do not begin in this file. */
static std::atomic<bool> starves = false;
static thread_local bool is_fed = false;

/* Not inline, for a compiler that would compare free() with an operator that it did not see. */
[[gnu::noinline]] void *operator new(std::size_t size)
{
    void *made = starves && !is_fed ? nullptr : std::malloc(size ? size : 1);
    if (!made) throw std::bad_alloc();
    return made;
}

[[gnu::noinline]] void operator delete(void *block) noexcept
{
    std::free(block);
}

[[gnu::noinline]] void operator delete(void *block, std::size_t) noexcept
{
    std::free(block);
}

namespace
{

using kedge::result;
using kedge::transaction;
using namespace std::string_view_literals;

void check(bool holds, const char *what)
{
    if (holds) return;
    std::cerr << "does not hold: " << what << "\n";
    std::exit(1);
}

void fails(const kedge::error &error, kedge_status status, std::string_view code, const char *what)
{
    if (error.status() == status && (code.empty() || error.code() == code) &&
        !error.message().empty())
        return;
    std::cerr << what << ": " << error.status_name() << ", " << error.code() << ": "
              << error.message() << "\n";
    std::exit(1);
}

/* What callbacks tell, on whichever thread. */
class box
{
  public:
    void put(std::string what)
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        last_ = std::move(what);
        changed_.notify_all();
    }
    void wait(std::string_view what)
    {
        std::unique_lock<std::mutex> lock(mutex_);
        check(changed_.wait_for(lock, std::chrono::seconds(20), [&] { return last_ == what; }),
              std::string(what).c_str());
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::string last_;
};

constexpr auto note = R"({"collection":"notes","id":"1","value":{"n":1}})";

kedge::options options_of(const std::string &path)
{
    kedge::options options;
    options.path = path;
    options.organization = "acme";
    options.project = "plan";
    return options;
}

void closed_handles(const std::string &path)
{
    auto db = kedge::database::open(options_of(path)).or_throw();
    db.mutate("kedge.put", note).or_throw();
    auto scan = db.scan("notes").or_throw();
    auto other = std::move(scan);
    check(other.next() && other.value() == "{\"n\":1}", "what was moved to goes on");
    check(!scan.next(), "what was moved from has no rows");
    fails(scan.error(), KEDGE_INVALID_ARGUMENT, "closed", "a scan that was moved from");
    check(!other.next() && other.error().ok(), "the end is no error");
    kedge::query query;
    check(!query.next() && !query.text(0) && query.column_count() == 0, "no query");
    fails(query.error(), KEDGE_INVALID_ARGUMENT, "closed", "no query");
    other.close();
    auto batch = db.begin_batch().or_throw();
    batch.close();
    fails(batch.add("kedge.put", note).error(), KEDGE_INVALID_ARGUMENT, "", "a closed batch");
    fails(batch.commit().error(), KEDGE_INVALID_ARGUMENT, "", "a closed batch");
    const kedge::document document = db.get("notes", "1").or_throw();
    check(document.id() == "1", "the document");
    check(kedge::document().json().empty(), "no document");
    check(kedge::database().loop_descriptor() == -1, "no database");
    /* documents live on their own; the database can be closed only once */
    db.close().or_throw();
    db.close().or_throw();
    fails(db.mutate("kedge.put", note).error(), KEDGE_INVALID_ARGUMENT, "", "a closed database");
    fails(db.get("notes", "1").error(), KEDGE_INVALID_ARGUMENT, "", "a closed database");
    fails(db.scan("notes").error(), KEDGE_INVALID_ARGUMENT, "", "a closed database");
    fails(db.status().error(), KEDGE_INVALID_ARGUMENT, "", "a closed database");
    fails(db.sync(0).error(), KEDGE_INVALID_ARGUMENT, "", "a closed database");
    fails(db.watch({}, [](const auto &) {}).error(), KEDGE_INVALID_ARGUMENT, "",
          "a closed database");
}

void texts(const std::string &path)
{
    const auto cut = "no\0tes"sv;
    auto bad = options_of(path);
    bad.user = std::string(cut);
    fails(kedge::database::open(bad).error(), KEDGE_INVALID_ARGUMENT, "text-invalid", "a user");
    bad = options_of(path);
    bad.schema_version = ".1";
    fails(kedge::database::open(bad).error(), KEDGE_INVALID_ARGUMENT, "invalid-name",
          "a schema version");
    const auto db = kedge::database::open(options_of(path)).or_throw();
    fails(db.get(cut, "1").error(), KEDGE_INVALID_ARGUMENT, "text-invalid", "a collection");
    fails(db.mutate(cut, note).error(), KEDGE_INVALID_ARGUMENT, "text-invalid", "a mutator");
    fails(db.begin_undo(cut).error(), KEDGE_INVALID_ARGUMENT, "text-invalid", "a label");
    fails(db.index("i", "notes", {std::string(cut)}).error(), KEDGE_INVALID_ARGUMENT,
          "text-invalid", "a path");
    fails(db.edit_text("notes", "1", "", "", cut).error(), KEDGE_INVALID_ARGUMENT, "text-invalid",
          "a text");
    fails(kedge::order_between({}, cut).error(), KEDGE_INVALID_ARGUMENT, "text-invalid", "a key");
    fails(kedge::repair(path, cut).error(), KEDGE_INVALID_ARGUMENT, "text-invalid", "a path");
    fails(db.mutate("kedge.put", "{\"text\":\"\xff\"}").error(), KEDGE_INVALID_JSON, "",
          "no UTF-8");
    fails(db.get("notes", "\xff").error(), KEDGE_INVALID_ARGUMENT, "", "an id that is no UTF-8");
    check(db.get("notes", "1"sv.substr(0, 0)).error().status() == KEDGE_NOT_FOUND, "an empty id");
}

/* Mutators that throw, that return an error of their own, and that use cJSON. */
void mutators(const std::string &path)
{
    auto options = options_of(path);
    auto &all = options.client_mutators;
    all.emplace_back("bad.throws", 1, [](transaction &tx, std::string_view) -> result<void> {
        tx.put("notes", "left", "1").or_throw();
        throw std::runtime_error("by mistake");
    });
    all.emplace_back("bad.number", 1,
                     [](transaction &, std::string_view) -> result<void> { throw 7; });
    all.emplace_back("bad.memory", 1, [](transaction &tx, std::string_view) -> result<void> {
        tx.put("notes", "left", "1").or_throw();
        throw std::bad_alloc();
    });
    all.push_back(
        kedge::json::mutator("bad.tree", 1, [](transaction &, const cJSON *) -> result<void> {
            throw std::bad_alloc();
        }));
    all.emplace_back("bad.nonsense", 1, [](transaction &, std::string_view) -> result<void> {
        return kedge::error(KEDGE_IO, "made up", "");
    });
    all.emplace_back("bad.nul", 1, [](transaction &tx, std::string_view) -> result<void> {
        fails(tx.reject("no\0code"sv, "a message").error(), KEDGE_INVALID_ARGUMENT, "text-invalid",
              "a code");
        return tx.reject("a-code", "a mess\0age"sv);
    });
    all.push_back(
        kedge::json::mutator("bad.json", 1, [](transaction &, const cJSON *) -> result<void> {
            throw std::runtime_error("by mistake");
        }));
    all.push_back(kedge::json::mutator(
        "good.json", 1, [](transaction &tx, const cJSON *args) -> result<void> {
            namespace json = kedge::json;
            const auto id = json::member_text(args, "id").value_or("");
            const auto flag = json::member_boolean(args, "flag");
            const auto number = json::member_number(args, "number");
            if (!flag || !number) return flag ? number.error() : flag.error();
            json::tree made(cJSON_CreateObject());
            if (auto set = json::set_boolean(made.get(), "flag", *flag); !set) return set;
            if (auto set = json::set_text(made.get(), "text", id); !set) return set;
            if (auto set = json::set(made.get(), "list", json::tree(cJSON_CreateArray())); !set)
                return set;
            if (auto put = json::put(tx, "notes", id, made.get()); !put) return put;
            const json::tree patch(cJSON_Parse(R"({"more":1})"));
            if (auto done = json::merge(tx, "notes", id, patch.get()); !done) return done;
            const json::tree steps(cJSON_Parse(R"([{"op":"remove","path":"/list"}])"));
            if (auto done = json::patch(tx, "notes", id, steps.get()); !done) return done;
            const json::tree add(
                cJSON_Parse(R"({"collection":"notes","id":"x","add":{"more":2}})"));
            if (auto done = json::call(tx, "kedge.increment", add.get()); !done) return done;
            const auto read = json::get(tx, "notes", id);
            check(read && json::member_integer(read->get(), "more").or_throw() == 3,
                  "what is read");
            return {};
        }));
    const auto db = kedge::database::open(std::move(options)).or_throw();
    for (const char *name : {"bad.throws", "bad.number", "bad.nonsense", "bad.json"})
        fails(db.mutate(name, "{}").error(), KEDGE_REJECTED, "mutator-failed", name);
    fails(db.mutate("bad.nul", "{}").error(), KEDGE_REJECTED, "text-invalid", "bad.nul");
    for (const char *name : {"bad.memory", "bad.tree"})
        fails(db.mutate(name, "{}").error(), KEDGE_NO_MEMORY, "out-of-memory", name);
    check(db.get("notes", "left").error().status() == KEDGE_NOT_FOUND, "nothing is left behind");
    fails(db.mutate("good.json", "{}").error(), KEDGE_REJECTED, "args-invalid", "no args");
    db.mutate("good.json", R"({"id":"x","flag":true,"number":0.5})").or_throw();
    check(db.get("notes", "x").or_throw().json() == R"({"flag":true,"more":3,"text":"x"})",
          "what was made");
}

/* What an error gives is there as long as its result; that of a result that ends at once is a
 * copy. */
void errors(const std::string &path)
{
    const auto db = kedge::database::open(options_of(path)).or_throw();
    const auto missing = db.get("notes", "1");
    const auto unknown = db.cancel(7);
    check(&missing.error() == &missing.error(), "an error is that of its result");
    const std::string_view code = missing.error().code(), message = missing.error().message();
    check(code == "item-not-found" && message.find("notes/1") != message.npos, "what it gives");
    check(&unknown.error() == &unknown.error(), "an error is that of its result");
    const kedge::error &copy = db.get("notes", "1").error(), &other = db.cancel(7).error();
    check(copy.code() == "item-not-found" && other.code() == "mutation-not-pending", "a copy");
    db.mutate("kedge.put", note).or_throw();
    const auto found = db.get("notes", "1");
    check(found.error().ok() && found.error().code().empty(), "no error");
}

void callbacks(const std::string &path)
{
    box logged, told;
    auto options = options_of(path);
    options.log = [&](kedge_log_level, std::string_view event, std::string_view message) {
        logged.put(std::string(event) + ": " + std::string(message));
        throw std::runtime_error("also the log");
    };
    auto db = kedge::database::open(std::move(options)).or_throw();
    auto bad = db.watch("notes", [](const kedge::changes &) {
                     throw std::runtime_error("no");
                 }).or_throw();
    db.mutate("kedge.put", note).or_throw();
    logged.wait("callback-failed: no");
    bad.close();
    const auto watch =
        db.watch({}, [&](const kedge::changes &) {
              fails(db.close().error(), KEDGE_INVALID_ARGUMENT, "called-back", "close");
              fails(db.sync(0).error(), KEDGE_NETWORK, "", "offline");
              told.put("called");
          }).or_throw();
    db.mutate("kedge.delete", R"({"collection":"notes","id":"1"})").or_throw();
    told.wait("called");
    try {
        (void)db.get("notes", "1").or_throw();
        check(false, "or_throw throws");
    } catch (const kedge::failure &failure) {
        check(failure.error().status() == KEDGE_NOT_FOUND, "what it throws");
    }
}

/* A mutator may not close or edit the database, which would wait for the call that runs the
 * mutator. */
void closes_in_a_mutator(const std::string &path)
{
    std::unique_ptr<kedge::database> db;
    auto options = options_of(path);
    options.client_mutators.emplace_back(
        "bad.close", 1, [&](transaction &, std::string_view) { return db->close(); });
    options.client_mutators.push_back(
        kedge::json::mutator("bad.tree", 1, [&](transaction &tx, const cJSON *) -> result<void> {
            fails(db->close().error(), KEDGE_INVALID_ARGUMENT, "called-back", "close");
            fails(db->mutate("bad.end", "1").error(), KEDGE_INVALID_ARGUMENT, "called-back",
                  "edit");
            return tx.put("notes", "1", "1");
        }));
    options.client_mutators.emplace_back("bad.end", 1,
                                         [&](transaction &, std::string_view) -> result<void> {
                                             db.reset();
                                             return {};
                                         });
    db = std::make_unique<kedge::database>(kedge::database::open(std::move(options)).or_throw());
    kedge_db *const c = db->c();
    fails(db->mutate("bad.close", "1").error(), KEDGE_REJECTED, "called-back", "close");
    db->mutate("bad.tree", "{}").or_throw();
    check(kedge_mutate(c, "bad.end", "1", 1, nullptr, nullptr) == KEDGE_OK, "it is open");
    check(kedge_close(c) == KEDGE_OK, "it can be closed in C");
}

/* A database that ends in its own callback stays open, and goes on to call its functions. */
void ends_in_its_callback(const std::string &path)
{
    box told, logged;
    auto options = options_of(path);
    options.log_level = KEDGE_LOG_DEBUG;
    const std::string prefix(100, 'x'); /* which the function has a copy of */
    options.log = [&logged, prefix](kedge_log_level, std::string_view event, std::string_view) {
        logged.put(prefix + std::string(event));
    };
    auto db =
        std::make_unique<kedge::database>(kedge::database::open(std::move(options)).or_throw());
    kedge_db *const c = db->c();
    auto watch = db->watch({}, [&](const kedge::changes &) {
                       db.reset();
                       told.put("ended");
                   }).or_throw();
    logged.wait(prefix + "started");
    db->mutate("kedge.put", note).or_throw();
    told.wait("ended");
    watch.close();
    check(kedge_set_online(c, false, nullptr) == KEDGE_OK, "it is open");
    check(kedge_close(c) == KEDGE_OK, "it can be closed in C");
    logged.wait(prefix + "stopped");
}

/* A dispatcher that throws when another thread has the work already: it runs once. */
void dispatches_twice(const std::string &path)
{
    box told;
    std::atomic<int> changed = 0;
    std::vector<std::thread> threads;
    auto options = options_of(path);
    options.dispatch = [&](const std::function<void()> &work) {
        threads.emplace_back(work);
        throw std::runtime_error("too late");
    };
    auto db = kedge::database::open(std::move(options)).or_throw();
    auto watch = db.watch({}, [&](const kedge::changes &) {
                       told.put(std::to_string(++changed));
                   }).or_throw();
    for (int i = 1; i <= 50; i++) {
        const std::string n = std::to_string(i);
        db.mutate("kedge.put", R"({"collection":"notes","id":"1","value":)" + n + "}").or_throw();
        told.wait(n);
    }
    watch.close();
    db.close().or_throw(); /* nothing is dispatched any more */
    for (std::thread &each : threads)
        each.join();
}

/* Kedge's thread has no memory when it dispatches: the work runs all the same, on that thread. */
void dispatches_without_memory(const std::string &path)
{
    box told;
    std::atomic<int> dispatched = 0;
    auto options = options_of(path);
    options.dispatch = [&](const std::function<void()> &work) {
        ++dispatched;
        work();
    };
    const auto db = kedge::database::open(std::move(options)).or_throw();
    const auto watch = db.watch({}, [&](const kedge::changes &) {
                             told.put(starves ? "lacks" : "has");
                         }).or_throw();
    starves = true;
    db.mutate("kedge.put", note).or_throw();
    told.wait("lacks");
    starves = false;
    check(dispatched == 0, "the dispatcher is not called without memory");
    db.mutate("kedge.delete", R"({"collection":"notes","id":"1"})").or_throw();
    told.wait("has");
    check(dispatched == 1, "it is called again");
}

/* A function that gives no token, and a dispatcher that throws: the work runs all the same. */
void gives_no_token(const std::string &path, std::function<std::optional<std::string>()> token,
                    const std::string &why)
{
    box told;
    auto options = options_of(path);
    options.url = "http://127.0.0.1:9"; /* nobody is asked before there is a token */
    options.token = std::move(token);
    options.dispatch = [](const std::function<void()> &) { throw std::runtime_error("no thread"); };
    const auto db = kedge::database::open(std::move(options)).or_throw();
    const auto watch = db.watch_status([&](const kedge_sync_status &status) {
                             told.put(status.last_error.message);
                         }).or_throw();
    told.wait("the app's token function returned \"unauthorized\": " + why);
}

void functions(const std::string &path)
{
    gives_no_token(
        path, []() -> std::optional<std::string> { throw std::runtime_error("no token"); },
        "no token");
    gives_no_token(
        path + "-nul", [] { return std::string("a\0b"sv); }, "the token has a NUL inside");
    gives_no_token(
        path + "-long", [] { return std::string(KEDGE_TOKEN_BYTES, 'x'); },
        "a token has at most " + std::to_string(KEDGE_TOKEN_BYTES - 1) + " bytes");
}

/* The app's side of docs/how-to/write-a-mutator.cc. */
void mutators_of_a_plugin(const std::string &path)
{
    size_t count;
    const kedge_mutator *mutators = kedge_plugin_mutators(&count);
    auto options = options_of(path);
    options.mutators.assign(mutators, mutators + count);
    const auto db = kedge::database::open(std::move(options)).or_throw();
    db.mutate("kedge.put", R"({"collection":"shelves","id":"1","value":{"count":5}})").or_throw();
    db.mutate("stock.take", R"({"id":"1","count":3})").or_throw();
    check(db.get("shelves", "1").or_throw().json() == R"({"count":2})", "the mutator of a plugin");
    fails(db.mutate("stock.take", R"({"id":"1","count":3})").error(), KEDGE_REJECTED, "not-enough",
          "takes too much");
}

} // namespace

int main(int count, char **arguments)
{
    check(count == 2, "usage: edges FOLDER");
    is_fed = true;
    const std::string folder = arguments[1];
    closed_handles(folder + "/closed");
    texts(folder + "/texts");
    mutators(folder + "/mutators");
    mutators_of_a_plugin(folder + "/plugin");
    errors(folder + "/errors");
    callbacks(folder + "/callbacks");
    ends_in_its_callback(folder + "/ends");
    closes_in_a_mutator(folder + "/mutator-ends");
    dispatches_twice(folder + "/twice");
    dispatches_without_memory(folder + "/starving");
    functions(folder + "/functions");
    check(kedge::library_version() == KEDGE_VERSION_STRING, "the version");
    std::cout << "ok\n";
}
