/* Kedge in C++17, header only, over the C API: handles that free themselves, std::string_view for
 * texts, errors as values. No function throws but or_throw(). What a function does, its limits and
 * its errors are those of the C function that it calls. */
#ifndef KEDGE_HPP
#define KEDGE_HPP

#include <kedge/result.hpp>

#include <atomic>
#include <cstdio>
#include <functional>
#include <memory>
#include <new>
#include <vector>

namespace kedge
{

/* ---- mutators: kedge/mutator.h ---- */

struct item_view {
    std::string_view id, value; /* borrowed until the next call */
};

/* kedge_tx: valid only during the mutator's call. What it gives is borrowed until the next call. */
class transaction
{
  public:
    explicit transaction(kedge_tx *tx) : tx_(tx)
    {
    }
    kedge_tx *c() const
    {
        return tx_;
    }
    const kedge_caller &caller() const
    {
        return *kedge_tx_caller(tx_);
    }

    result<std::string_view> get(std::string_view collection, std::string_view id) const
    {
        const char *value = nullptr;
        size_t size = 0;
        const detail::name name(collection);
        return detail::give(
            [&](kedge_error *e) {
                return name.check(e, kedge_tx_get, tx_, name.text(), id.data(), id.size(), &value,
                                  &size);
            },
            [&] { return std::string_view(value, size); });
    }

    /* The first item after the id `after`, or of all; nothing when there are no more. */
    result<std::optional<item_view>> next(std::string_view collection,
                                          std::optional<std::string_view> after = {}) const
    {
        const char *id = nullptr, *value = nullptr;
        size_t id_size = 0, size = 0;
        const detail::name name(collection);
        kedge_error error = {};
        const kedge_status status =
            name.check(&error, kedge_tx_next, tx_, name.text(), detail::data(after),
                       detail::size(after), &id, &id_size, &value, &size);
        if (status == KEDGE_DONE) return std::optional<item_view>();
        if (status != KEDGE_OK) return kedge::error(status, error);
        return std::optional<item_view>(item_view{{id, id_size}, {value, size}});
    }

    result<void> put(std::string_view collection, std::string_view id, std::string_view json) const
    {
        const detail::name name(collection);
        return detail::run([&](kedge_error *e) {
            return name.check(e, kedge_tx_put, tx_, name.text(), id.data(), id.size(), json.data(),
                              json.size());
        });
    }

    result<void> remove(std::string_view collection, std::string_view id) const
    {
        const detail::name name(collection);
        return detail::run([&](kedge_error *e) {
            return name.check(e, kedge_tx_delete, tx_, name.text(), id.data(), id.size());
        });
    }

    result<std::string_view> get_project() const
    {
        const char *value = nullptr;
        size_t size = 0;
        return detail::give(
            [&](kedge_error *e) { return kedge_tx_get_project(tx_, &value, &size, e); },
            [&] { return std::string_view(value, size); });
    }

    result<void> put_project(std::string_view json) const
    {
        return detail::run(
            [&](kedge_error *e) { return kedge_tx_put_project(tx_, json.data(), json.size(), e); });
    }

    /* Refuses the mutation: the mutator must return what this gives. `code` has only the characters
     * a to z, 0 to 9 and "-"; else the rejection is "mutator-failed", without the message. */
    result<void> reject(std::string_view code, std::string_view message) const
    {
        const detail::name code_text(code), message_text(message);
        if (!message_text.sound()) return detail::name::refusal();
        return detail::run([&](kedge_error *e) {
            return code_text.check(e, kedge_tx_reject, tx_, code_text.text(), message_text.text());
        });
    }

  private:
    kedge_tx *tx_;
};

/* kedge_args_text, kedge_args_integer: members of a JSON object, such as a mutator's args. */
inline result<std::string> args_text(std::string_view object, std::string_view member)
{
    std::string buffer(object.size() + 1, '\0'); /* no member is longer than the whole */
    size_t size = 0;
    const detail::name name(member);
    return detail::give(
        [&](kedge_error *e) {
            return name.check(e, kedge_args_text, object.data(), object.size(), name.text(),
                              buffer.data(), buffer.size(), &size);
        },
        [&] { return buffer.substr(0, size); });
}

inline result<int64_t> args_integer(std::string_view object, std::string_view member)
{
    int64_t value = 0;
    const detail::name name(member);
    return detail::give(
        [&](kedge_error *e) {
            return name.check(e, kedge_args_integer, object.data(), object.size(), name.text(),
                              &value);
        },
        [&] { return value; });
}

/* kedge_mutator: `args` is canonical JSON. A function that throws rejects its mutation with the
 * code mutator-failed; std::bad_alloc is the error out-of-memory, and rejects nothing. A mutator of
 * the C API is taken as it is: `mutators.emplace_back(of_c)`. */
struct mutator {
    using function_type = std::function<result<void>(transaction &, std::string_view args)>;

    mutator(std::string_view named, uint32_t numbered, function_type does)
        : name(named), version(numbered), function(std::move(does))
    {
    }
    mutator(const kedge_mutator &of_c) : name(of_c.name), version(of_c.version), c(of_c)
    {
    }

    std::string name;
    uint32_t version;
    function_type function;
    std::optional<kedge_mutator> c;
};

/* ---- opening: kedge/database.h ---- */

/* kedge_options. The functions run on the worker thread. What they throw is told to `log`. */
struct options {
    std::string path, organization, project;
    std::optional<std::string> url, ca_file, user, role, schema_version;
    std::vector<mutator> mutators, client_mutators;
    bool offline = false, create_project = false, caller_driven = false;
    int64_t server_wait_ms = 0;
    /* Gives nothing or throws: there is no token. last_error tells what() of what it throws. */
    std::function<std::optional<std::string>()> token;
    /* Must call what it gets exactly once. */
    std::function<void(std::function<void()>)> dispatch;
    std::function<void(kedge_log_level, std::string_view event, std::string_view message)> log;
    kedge_log_level log_level = KEDGE_LOG_ERROR;
    const kedge_allocator *allocator = nullptr;
};

namespace detail
{

/* How deep this thread is in mutators. */
inline thread_local int mutators_here = 0;

/* Runs a mutator of the app for C. One that could not have its memory is not rejected. */
template <class Function>
kedge_status call_mutator(kedge_tx *tx, kedge_error *error, Function function)
{
    struct depth {
        depth()
        {
            ++mutators_here;
        }
        ~depth()
        {
            --mutators_here;
        }
    } const here;
    const auto call = [&] {
        transaction of(tx);
        const result<void> done = function(of);
        return done.ok() ? KEDGE_OK : done.error().give(error);
    };
    const auto call_or_lack = [&]() -> kedge_status {
#if defined(__cpp_exceptions)
        try {
            return call();
        } catch (const std::bad_alloc &) {
            return kedge::error(KEDGE_NO_MEMORY, "out-of-memory", "the mutator has no memory")
                .give(error);
        }
#else
        return call();
#endif
    };
    return guarded(call_or_lack, [&](const char *message) {
        return kedge_tx_reject(tx, "mutator-failed", message, error);
    });
}

/* What C refers to as long as a database is open: its strings, functions and mutators. */
class context
{
  public:
    explicit context(options given) : options_(std::move(given))
    {
        fill(options_.mutators, mutators_);
        fill(options_.client_mutators, client_mutators_);
    }

    kedge_options for_c()
    {
        kedge_options c = KEDGE_OPTIONS_INIT;
        c.path = options_.path.c_str();
        c.organization = options_.organization.c_str();
        c.project = options_.project.c_str();
        c.url = text(options_.url);
        c.ca_file = text(options_.ca_file);
        c.user = text(options_.user);
        c.role = text(options_.role);
        c.schema_version = text(options_.schema_version);
        c.mutators = mutators_.data();
        c.mutator_count = mutators_.size();
        c.client_mutators = client_mutators_.data();
        c.client_mutator_count = client_mutators_.size();
        c.offline = options_.offline;
        c.create_project = options_.create_project;
        c.caller_driven = options_.caller_driven;
        c.server_wait_ms = options_.server_wait_ms;
        c.allocator = options_.allocator;
        c.log_level = options_.log_level;
        c.userdata = this;
        c.userdata_free = on_close;
        if (options_.token) c.token = on_token;
        if (options_.dispatch) c.dispatch = on_dispatch;
        if (options_.log) c.log = on_log;
        return c;
    }

    /* True when no text for C has a NUL inside. */
    bool has_texts() const
    {
        const auto sound = [](const std::string &each) { return each.find('\0') == each.npos; };
        for (const auto *each : {&options_.path, &options_.organization, &options_.project})
            if (!sound(*each)) return false;
        for (const auto *each : {&options_.url, &options_.ca_file, &options_.user, &options_.role,
                                 &options_.schema_version})
            if (*each && !sound(**each)) return false;
        for (const auto *each : {&options_.mutators, &options_.client_mutators})
            for (const mutator &one : *each)
                if (!sound(one.name)) return false;
        return true;
    }

    /* C refers to it until the database is closed. */
    void keep(std::shared_ptr<context> self)
    {
        self_ = std::move(self);
    }

    /* Calls a function of the app; what it throws is told to the log. */
    template <class Function> void guard(const char *what, Function function) const
    {
        guarded(function, [&](const char *message) { tell(what, message); });
    }

  private:
    static const char *text(const std::optional<std::string> &given)
    {
        return given ? given->c_str() : nullptr;
    }

    static void fill(const std::vector<mutator> &from, std::vector<kedge_mutator> &to)
    {
        for (const mutator &each : from)
            to.push_back(each.c ? *each.c
                                : kedge_mutator{each.name.c_str(), each.version, on_mutation,
                                                const_cast<mutator *>(&each)});
    }

    void tell(const char *event, const char *message) const
    {
        if (!options_.log) return;
        guarded([&] { options_.log(KEDGE_LOG_ERROR, event, message); },
                [](const char *) { /* the log itself throws: nobody is left to tell */ });
    }

    static void on_close(void *userdata)
    {
        const auto last = std::move(static_cast<context *>(userdata)->self_);
    }

    static kedge_status on_mutation(kedge_tx *tx, const char *args, size_t size, void *userdata,
                                    kedge_error *error)
    {
        const auto *self = static_cast<const mutator *>(userdata);
        return call_mutator(tx, error, [&](transaction &of) {
            return self->function(of, std::string_view(args, size));
        });
    }

    static kedge_status on_token(void *userdata, char *buffer, size_t size)
    {
        const auto *self = static_cast<context *>(userdata);
        std::optional<std::string> token;
        guarded([&] { token = self->options_.token(); },
                [&](const char *message) {
                    self->tell("token-failed", message);
                    std::snprintf(buffer, size, "error: %s", message);
                });
        if (!token) return KEDGE_UNAUTHORIZED;
        if (token->find('\0') != token->npos) {
            self->tell("token-failed", "the token has a NUL inside");
            std::snprintf(buffer, size, "error: the token has a NUL inside");
            return KEDGE_UNAUTHORIZED;
        }
        if (token->size() >= size) {
            self->tell("token-failed", "the token is too long");
            std::snprintf(buffer, size, "error: a token has at most %zu bytes", size - 1);
            return KEDGE_UNAUTHORIZED;
        }
        buffer[token->copy(buffer, size - 1)] = '\0';
        return KEDGE_OK;
    }

    static void on_dispatch(void *userdata, void (*work)(void *), void *argument)
    {
        const auto *self = static_cast<context *>(userdata);
        /* Atomic: a dispatcher may throw after it has handed the work to a thread. */
        std::shared_ptr<std::atomic<bool>> done;
        bool taken = false;
        self->guard("dispatch-failed", [&] {
            done = std::make_shared<std::atomic<bool>>(false);
            self->options_.dispatch([done, work, argument] {
                if (!done->exchange(true)) work(argument);
            });
            taken = true;
        });
        /* The work must run once, also when there is no memory to tell whether it has. */
        if (!taken && !(done && done->exchange(true))) work(argument);
    }

    static void on_log(void *userdata, kedge_log_level level, const char *event,
                       const char *message)
    {
        const auto *self = static_cast<context *>(userdata);
        self->guard("log-failed", [&] { self->options_.log(level, event, message); });
    }

    options options_;
    std::vector<kedge_mutator> mutators_, client_mutators_;
    std::shared_ptr<context> self_; /* while the database is open */
};

/* A watch's function, which C keeps and frees. */
template <class... Told> struct watcher {
    std::shared_ptr<context> of;
    std::function<void(Told...)> function;

    static void free(void *userdata)
    {
        delete static_cast<watcher *>(userdata);
    }
    static void tell(void *userdata, Told... told)
    {
        auto *self = static_cast<watcher *>(userdata);
        self->of->guard("callback-failed", [&] { self->function(told...); });
    }
};

} // namespace detail

/* ---- what a database gives ---- */

/* kedge_document. What it gives is borrowed as long as it lives. */
class document : public detail::owner<kedge_document, kedge_document_free>
{
  public:
    using owner::owner;
    std::string_view json() const
    {
        return read(kedge_document_json);
    }
    std::string_view id() const
    {
        return read(kedge_document_id);
    }

  private:
    std::string_view read(const char *(*function)(const kedge_document *, size_t *)) const
    {
        size_t size = 0;
        const char *text = get() ? function(get(), &size) : "";
        return {text, size};
    }
};

/* kedge_scan: `while (scan.next()) use(scan.id(), scan.value());`. Then error() says whether that
 * was the end or a failure. What it gives is borrowed until the next call. */
class scan : public detail::cursor<kedge_scan, kedge_scan_close>
{
  public:
    using cursor::cursor;
    bool next()
    {
        return step([&](kedge_error *e) {
            return kedge_scan_next(get(), &id_, &id_size_, &value_, &value_size_, e);
        });
    }
    std::string_view id() const
    {
        return {id_, id_size_};
    }
    std::string_view value() const
    {
        return {value_, value_size_};
    }

  private:
    const char *id_ = "", *value_ = "";
    size_t id_size_ = 0, value_size_ = 0;
};

/* kedge_scan_options. */
struct scan_options {
    std::optional<std::string_view> after, prefix;
    int64_t limit = 0;
    bool descending = false;
};

/* kedge_query, used as a scan. Columns count from 0. */
class query : public detail::cursor<kedge_query, kedge_query_close>
{
  public:
    using cursor::cursor;
    bool next()
    {
        return step([&](kedge_error *e) { return kedge_query_next(get(), e); });
    }
    int32_t column_count() const
    {
        return get() ? kedge_query_column_count(get()) : 0;
    }
    std::string_view column_name(int32_t column) const
    {
        return get() ? kedge_query_column_name(get(), column) : "";
    }
    kedge_column_type type(int32_t column) const
    {
        return get() ? kedge_query_column_type(get(), column) : KEDGE_COLUMN_NULL;
    }
    /* Nothing for an SQL NULL; the bytes of a blob. */
    std::optional<std::string_view> text(int32_t column)
    {
        size_t size = 0;
        const char *found = get() ? kedge_query_text(get(), column, &size) : nullptr;
        return found ? std::optional<std::string_view>({found, size}) : std::nullopt;
    }
    int64_t integer(int32_t column)
    {
        return get() ? kedge_query_integer(get(), column) : 0;
    }
    double real(int32_t column)
    {
        return get() ? kedge_query_real(get(), column) : 0;
    }
};

/* kedge_mutation_list, used as a scan. */
class mutation_list : public detail::cursor<kedge_mutation_list, kedge_mutation_list_close>
{
  public:
    using cursor::cursor;
    bool next()
    {
        return step([&](kedge_error *e) { return kedge_mutation_list_next(get(), &mutation_, e); });
    }
    const kedge_mutation &mutation() const
    {
        return mutation_;
    }

  private:
    kedge_mutation mutation_ = KEDGE_MUTATION_INIT;
};

/* kedge_index_list, used as a scan. `paths` is a JSON array. */
class index_list : public detail::cursor<kedge_index_list, kedge_index_list_close>
{
  public:
    using cursor::cursor;
    bool next()
    {
        return step(
            [&](kedge_error *e) { return kedge_index_list_next(get(), &name_, &of_, &paths_, e); });
    }
    std::string_view name() const
    {
        return name_;
    }
    std::string_view collection() const
    {
        return of_;
    }
    std::string_view paths() const
    {
        return paths_;
    }

  private:
    const char *name_ = "", *of_ = "", *paths_ = "";
};

/* kedge_batch: edits that are made together. The mutators that commit() runs must not close it. */
class batch : public detail::owner<kedge_batch, kedge_batch_free>
{
  public:
    using owner::owner;
    result<void> add(std::string_view name, std::string_view args)
    {
        const detail::name text(name);
        return detail::run([&](kedge_error *e) {
            return text.check(e, kedge_batch_add, get(), text.text(), args.data(), args.size());
        });
    }
    result<int64_t> commit()
    {
        int64_t sequence = 0;
        return detail::give([&](kedge_error *e) { return kedge_batch_commit(get(), &sequence, e); },
                            [&] { return sequence; });
    }
};

/* A watch: its function is called until this object ends. */
class watch : public detail::owner<kedge_watch_token, kedge_watch_free>
{
  public:
    using owner::owner;
};
class sync_watch : public detail::owner<kedge_sync_watch, kedge_sync_watch_free>
{
  public:
    using owner::owner;
};

class query_watch : public detail::owner<kedge_query_watch, kedge_query_watch_free>
{
  public:
    using owner::owner;
};

/* The changes of one commit; none means: read everything again. Borrowed during the call. */
struct changes {
    const kedge_change *first;
    size_t count;
    const kedge_change *begin() const
    {
        return first;
    }
    const kedge_change *end() const
    {
        return first + count;
    }
};

} // namespace kedge

#include <kedge/database.hpp>

#endif
