/* The mutators of the scenarios in C++. stock.take is also the server's. */
#include "tests/bindings/cpp/mutators.hpp"
#include "tests/bindings/values.h"

#include <kedge/cjson.hpp>

#include <stdexcept>

using kedge::result;
using kedge::transaction;
using optional_text = std::optional<std::string_view>;

namespace
{

kedge::mutator take()
{
    return kedge::json::mutator(
        "stock.take", 1, [](transaction &tx, const cJSON *args) -> result<void> {
            const auto id = kedge::json::member_text(args, "id");
            const auto count = kedge::json::member_integer(args, "count");
            if (!count) return count.error();
            const auto shelf = kedge::json::edit(tx, "shelves", id.value_or(""));
            if (!shelf) return shelf.error();
            const auto left = kedge::json::member_integer(*shelf, "count");
            if (!left) return left.error();
            if (*count < 1 || *count > *left)
                return tx.reject("not-enough", "there are not that many pieces");
            return kedge::json::set_number(*shelf, "count", static_cast<double>(*left - *count));
        });
}

kedge::mutator append_line()
{
    return {"lines.append", 1, [](transaction &tx, std::string_view args) -> result<void> {
                std::string last = "0";
                for (bool more = true; more;) {
                    const auto item =
                        tx.next("lines", last == "0" ? optional_text() : optional_text(last));
                    if (!item) return item.error();
                    more = item->has_value();
                    if (more) last = (*item)->id;
                }
                const auto text = kedge::args_text(args, "text");
                if (!text) return text.error();
                std::string id = std::to_string(std::stoi(last) + 1);
                id.insert(0, 4 - id.size(), '0');
                const kedge::json::tree value(cJSON_CreateString(text->c_str()));
                return kedge::json::put(tx, "lines", id, value.get());
            }};
}

kedge::mutator sign_log()
{
    return {"log.sign", 1, [](transaction &tx, std::string_view) -> result<void> {
                const auto record = tx.get_project();
                if (!record && record.error().status() != KEDGE_NOT_FOUND) return record.error();
                const auto before =
                    record ? kedge::args_integer(*record, "signed") : result<int64_t>(0);
                const kedge_caller &caller = tx.caller();
                const auto done = tx.put_project(
                    std::string("{\"by\":\"") + caller.user + "/" + caller.role +
                    "\",\"signed\":" + std::to_string((before ? *before : 0) + 1) + "}");
                return done ? tx.remove("log", "last") : done;
            }};
}

kedge::mutator fail_log()
{
    return {"log.fail", 1, [](transaction &tx, std::string_view) -> result<void> {
                tx.put("log", "failed", "true").or_throw();
                throw std::out_of_range("by mistake");
            }};
}

} // namespace

kedge::mutator mutator_of(std::string_view name)
{
    static const std::vector<kedge::mutator> all = {take(), append_line(), sign_log(), fail_log()};
    for (const auto &each : all)
        if (each.name == name) return each;
    runner_fail("no such mutator", std::string(name).c_str());
}
