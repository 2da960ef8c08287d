/* The database of kedge.hpp, which includes this file. */
#ifndef KEDGE_DATABASE_HPP
#define KEDGE_DATABASE_HPP

#include <kedge/kedge.hpp>

namespace kedge
{

/* kedge_db. Cursors, batches and watches must end before it. After close(), and when it was moved
 * from, its functions fail with KEDGE_INVALID_ARGUMENT. */
class database
{
  public:
    database() = default;
    database(database &&other) noexcept
        : db_(std::exchange(other.db_, nullptr)), context_(std::move(other.context_))
    {
    }
    database &operator=(database &&other) noexcept
    {
        std::swap(db_, other.db_);
        std::swap(context_, other.context_);
        return *this;
    }
    /* In a callback of the database, or in a mutator, this cannot close it, and leaves it open for
     * ever, with its functions: close it on a thread of the app. */
    ~database()
    {
        (void)close();
    }

    kedge_db *c() const
    {
        return db_;
    }

    static result<database> open(options given)
    {
        database made;
        made.context_ = std::make_shared<detail::context>(std::move(given));
        if (!made.context_->has_texts())
            return error(KEDGE_INVALID_ARGUMENT, "text-invalid", "an option has a NUL inside");
        const kedge_options c = made.context_->for_c();
        kedge_error filled = {};
        const kedge_status status = kedge_open(&c, &made.db_, &filled);
        if (status != KEDGE_OK) return error(status, filled);
        made.context_->keep(made.context_);
        return result<database>(std::move(made));
    }

    /* Fails in a callback of the database and in a mutator, which would wait for themselves. */
    result<void> close()
    {
        if (db_ && detail::mutators_here > 0)
            return error(KEDGE_INVALID_ARGUMENT, "called-back",
                         "a mutator may only use its transaction");
        const kedge_status status = kedge_close(db_);
        if (status != KEDGE_OK)
            return error(status, "called-back", "a database cannot be closed in its callback");
        db_ = nullptr;
        return {};
    }

    /* ---- edits ---- */

    /* The sequence of the edit. */
    result<int64_t> mutate(std::string_view name, std::string_view args) const
    {
        int64_t sequence = 0;
        const detail::name text(name);
        return detail::give(
            [&](kedge_error *e) {
                return text.check(e, kedge_mutate, db_, text.text(), args.data(), args.size(),
                                  &sequence);
            },
            [&] { return sequence; });
    }
    result<void> cancel(int64_t sequence) const
    {
        return call(kedge_cancel, sequence);
    }
    result<batch> begin_batch() const
    {
        return make<batch>(kedge_batch_begin);
    }

    /* `base` absent: what is there now. The sequence; 0 when nothing changed. */
    result<int64_t> edit_text(std::string_view collection, std::string_view id,
                              std::string_view path, std::optional<std::string_view> base,
                              std::string_view text) const
    {
        int64_t sequence = 0;
        const detail::name of(collection), place(path), was(base.value_or("")), is(text);
        for (const detail::name *each : {&place, &was, &is})
            if (!each->sound()) return detail::name::refusal();
        return detail::give(
            [&](kedge_error *e) {
                return of.check(e, kedge_text_edit, db_, of.text(), id.data(), id.size(),
                                place.text(), base ? was.text() : nullptr, is.text(), &sequence);
            },
            [&] { return sequence; });
    }

    result<void> begin_undo(std::string_view label = {}) const
    {
        const detail::name text(label);
        return detail::run(
            [&](kedge_error *e) { return text.check(e, kedge_undo_begin, db_, text.text()); });
    }
    result<void> end_undo() const
    {
        return call(kedge_undo_end);
    }
    result<kedge_undo_result> undo() const
    {
        return fill(kedge_undo, KEDGE_UNDO_RESULT_INIT);
    }
    result<kedge_undo_result> redo() const
    {
        return fill(kedge_redo, KEDGE_UNDO_RESULT_INIT);
    }
    result<kedge_undo_state> undo_state() const
    {
        return fill(kedge_get_undo_state, KEDGE_UNDO_STATE_INIT);
    }

    /* ---- reads ---- */

    result<document> get(std::string_view collection, std::string_view id) const
    {
        const detail::name of(collection);
        kedge_document *found = nullptr;
        return detail::give(
            [&](kedge_error *e) {
                return of.check(e, kedge_get, db_, of.text(), id.data(), id.size(), &found);
            },
            [&] { return document(found); });
    }
    result<document> get_project() const
    {
        return make<document>(kedge_get_project);
    }

    result<kedge::scan> scan(std::string_view collection, const scan_options &given = {}) const
    {
        kedge_scan_options c = KEDGE_SCAN_OPTIONS_INIT;
        c.after = detail::data(given.after);
        c.after_size = detail::size(given.after);
        c.prefix = detail::data(given.prefix);
        c.prefix_size = detail::size(given.prefix);
        c.limit = given.limit;
        c.descending = given.descending;
        const detail::name of(collection);
        kedge_scan *opened = nullptr;
        return detail::give(
            [&](kedge_error *e) {
                return of.check(e, kedge_scan_open, db_, of.text(), &c, &opened);
            },
            [&] { return kedge::scan(opened); });
    }

    /* `parameters`: a JSON array. */
    result<kedge::query> query(std::string_view sql, std::string_view parameters = "[]") const
    {
        return make<kedge::query>(kedge_query_open, sql.data(), sql.size(), parameters.data(),
                                  parameters.size());
    }

    result<void> index(std::string_view name, std::string_view collection,
                       const std::vector<std::string> &paths) const
    {
        const detail::name named(name), of(collection);
        std::vector<const char *> texts;
        for (const std::string &each : paths) {
            if (each.find('\0') != each.npos) return detail::name::refusal();
            texts.push_back(each.c_str());
        }
        if (!of.sound()) return detail::name::refusal();
        return detail::run([&](kedge_error *e) {
            return named.check(e, kedge_index, db_, named.text(), of.text(), texts.data(),
                               texts.size());
        });
    }
    result<void> drop_index(std::string_view name) const
    {
        const detail::name named(name);
        return detail::run(
            [&](kedge_error *e) { return named.check(e, kedge_index_drop, db_, named.text()); });
    }
    result<index_list> indexes() const
    {
        return make<index_list>(kedge_index_list_open);
    }
    result<kedge_stats> stats() const
    {
        return fill(kedge_get_stats, KEDGE_STATS_INIT);
    }

    /* ---- sync ---- */

    result<kedge_sync_status> status() const
    {
        return fill(kedge_get_sync_status, KEDGE_SYNC_STATUS_INIT);
    }
    result<void> set_online(bool online) const
    {
        return call(kedge_set_online, online);
    }
    result<void> sync(int32_t timeout_ms) const
    {
        return call(kedge_sync, timeout_ms);
    }
    result<kedge_outcome> wait(int64_t sequence, int32_t timeout_ms) const
    {
        kedge_outcome outcome = KEDGE_OUTCOME_PENDING;
        return detail::give(
            [&](kedge_error *e) { return kedge_wait(db_, sequence, timeout_ms, &outcome, e); },
            [&] { return outcome; });
    }
    result<mutation_list> pending() const
    {
        return make<mutation_list>(kedge_pending_open);
    }
    result<mutation_list> rejected() const
    {
        return make<mutation_list>(kedge_rejected_open);
    }
    result<void> dismiss(int64_t sequence) const
    {
        return call(kedge_rejected_dismiss, sequence);
    }
    /* How many. */
    result<size_t> dismiss_through(int64_t sequence) const
    {
        size_t dismissed = 0;
        return detail::give(
            [&](kedge_error *e) {
                return kedge_rejected_dismiss_through(db_, sequence, &dismissed, e);
            },
            [&] { return dismissed; });
    }
    /* The new sequence. */
    result<int64_t> resubmit(int64_t sequence) const
    {
        int64_t made = 0;
        return detail::give(
            [&](kedge_error *e) { return kedge_rejected_resubmit(db_, sequence, &made, e); },
            [&] { return made; });
    }
    /* A JSON array of versions. */
    result<document> history(int64_t before, int32_t limit, int32_t timeout_ms) const
    {
        return make<document>(kedge_history, before, limit, timeout_ms);
    }

    /* ---- watches: the function runs until what is returned ends ---- */

    /* `collection` absent: all. */
    result<kedge::watch> watch(std::optional<std::string_view> collection,
                               std::function<void(const changes &)> function) const
    {
        using watcher = detail::watcher<const changes &>;
        const detail::name of(collection.value_or(""));
        kedge_watch_token *token = nullptr;
        auto told = std::make_unique<watcher>(watcher{context_, std::move(function)});
        const auto tell = [](void *userdata, const kedge_change *first, size_t count) {
            watcher::tell(userdata, changes{first, count});
        };
        return detail::give(
            [&](kedge_error *e) {
                return of.check(e, kedge_watch, db_, collection ? of.text() : nullptr, tell,
                                told.get(), watcher::free, &token);
            },
            [&] {
                (void)told.release(); /* C frees it */
                return kedge::watch(token);
            });
    }
    result<sync_watch> watch_status(std::function<void(const kedge_sync_status &)> function) const
    {
        return watch_one<sync_watch>(std::move(function), kedge_watch_sync_status);
    }
    result<sync_watch> watch_rejected(std::function<void(const kedge_mutation &)> function) const
    {
        return watch_one<sync_watch>(std::move(function), kedge_watch_rejected);
    }
    /* The whole result, and then the rows that differ. `parameters`: a JSON array. */
    result<query_watch> watch_query(std::string_view sql, std::string_view parameters,
                                    std::function<void(const kedge_query_changes &)> function) const
    {
        return watch_one<query_watch>(std::move(function), kedge_watch_query, sql.data(),
                                      sql.size(), parameters.data(), parameters.size());
    }

    /* ---- the caller-driven mode ---- */

    /* After how many milliseconds to call it again at the latest. */
    result<int32_t> run_loop() const
    {
        int32_t wait_ms = 0;
        return detail::give([&](kedge_error *e) { return kedge_loop_run(db_, &wait_ms, e); },
                            [&] { return wait_ms; });
    }
    int loop_descriptor() const
    {
        return db_ ? kedge_loop_descriptor(db_) : -1;
    }

  private:
    template <class Function, class... Arguments>
    result<void> call(Function function, Arguments... arguments) const
    {
        return detail::run([&](kedge_error *e) { return function(db_, arguments..., e); });
    }

    template <class T>
    result<T> fill(kedge_status (*function)(kedge_db *, T *, kedge_error *), T made) const
    {
        return detail::give([&](kedge_error *e) { return function(db_, &made, e); },
                            [&] { return made; });
    }

    /* What a function gives in its last output before the error. */
    template <class Made, class Function, class... Arguments>
    result<Made> make(Function function, Arguments... arguments) const
    {
        typename Made::pointer_type made = nullptr;
        return detail::give([&](kedge_error *e) { return function(db_, arguments..., &made, e); },
                            [&] { return Made(made); });
    }

    /* A watch whose function of C takes the arguments, then the callback and its userdata. */
    template <class Watch, class Told, class Function, class... Arguments>
    result<Watch> watch_one(std::function<void(const Told &)> told, Function function,
                            Arguments... arguments) const
    {
        using watcher = detail::watcher<const Told &>;
        typename Watch::pointer_type made = nullptr;
        auto kept = std::make_unique<watcher>(watcher{context_, std::move(told)});
        const auto tell = [](void *userdata, const Told *of) { watcher::tell(userdata, *of); };
        return detail::give(
            [&](kedge_error *e) {
                return function(db_, arguments..., tell, kept.get(), watcher::free, &made, e);
            },
            [&] {
                (void)kept.release(); /* C frees it */
                return Watch(made);
            });
    }

    kedge_db *db_ = nullptr;
    std::shared_ptr<detail::context> context_;
};

/* ---- without a database ---- */

/* kedge_order_between: a key between `before` and `after`. */
inline result<std::string> order_between(std::optional<std::string_view> before,
                                         std::optional<std::string_view> after, uint32_t random = 0)
{
    char key[KEDGE_ORDER_KEY_SIZE] = "";
    const detail::name low(before.value_or("")), high(after.value_or(""));
    if (!high.sound()) return detail::name::refusal();
    return detail::give(
        [&](kedge_error *e) {
            return low.check(e, kedge_order_between, low.text(), high.text(), random, &key[0]);
        },
        [&] { return std::string(key); });
}

inline result<kedge_repair_report> repair(std::string_view path, std::string_view new_path)
{
    kedge_repair_report report = KEDGE_REPAIR_REPORT_INIT;
    const detail::name from(path), to(new_path);
    if (!to.sound()) return detail::name::refusal();
    return detail::give(
        [&](kedge_error *e) {
            return from.check(e, kedge_repair, from.text(), to.text(), &report);
        },
        [&] { return report; });
}

/* The version of the library that runs. */
inline std::string_view library_version()
{
    return kedge_library_version();
}

} // namespace kedge

#endif
