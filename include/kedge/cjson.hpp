/* kedge/cjson.h in C++17: mutators with cJSON trees. A program that includes it links libcjson. */
#ifndef KEDGE_CJSON_HPP
#define KEDGE_CJSON_HPP

#include <kedge/cjson.h>
#include <kedge/kedge.hpp>

namespace kedge::json
{

struct deleter {
    void operator()(cJSON *tree) const
    {
        cJSON_Delete(tree);
    }
};
using tree = std::unique_ptr<cJSON, deleter>;

/* ---- mutators ---- */

using function_type = std::function<result<void>(transaction &, const cJSON *args)>;

namespace detail
{
inline kedge_status on_mutation(kedge_tx *tx, const cJSON *args, void *userdata, kedge_error *error)
{
    return kedge::detail::call_mutator(tx, error, [&](transaction &of) {
        return (*static_cast<function_type *>(userdata))(of, args);
    });
}
} // namespace detail

/* A mutator whose args are a tree, and in which edit() may be called. */
inline kedge::mutator mutator(std::string_view name, uint32_t version, function_type function)
{
    return {name, version,
            [does = std::move(function)](transaction &tx, std::string_view args) mutable {
                kedge_json_mutator json = {detail::on_mutation, &does};
                return kedge::detail::run([&](kedge_error *e) {
                    return kedge_json_mutate(tx.c(), args.data(), args.size(), &json, e);
                });
            }};
}

/* ---- items: collections and ids have no NUL inside ---- */

inline result<tree> get(transaction &tx, std::string_view collection, std::string_view id)
{
    cJSON *value = nullptr;
    const kedge::detail::name of(collection), item(id);
    if (!item.sound()) return kedge::detail::name::refusal();
    return kedge::detail::give(
        [&](kedge_error *e) {
            return of.check(e, kedge_tx_get_json, tx.c(), of.text(), item.text(), &value);
        },
        [&] { return tree(value); });
}

/* What the mutator makes of it is written at its end. */
inline result<cJSON *> edit(transaction &tx, std::string_view collection, std::string_view id)
{
    cJSON *value = nullptr;
    const kedge::detail::name of(collection), item(id);
    if (!item.sound()) return kedge::detail::name::refusal();
    return kedge::detail::give(
        [&](kedge_error *e) {
            return of.check(e, kedge_tx_edit_json, tx.c(), of.text(), item.text(), &value);
        },
        [&] { return value; });
}

namespace detail
{
template <class Function>
result<void> change(Function function, transaction &tx, std::string_view collection,
                    std::string_view id, const cJSON *value)
{
    const kedge::detail::name of(collection), item(id);
    if (!item.sound()) return kedge::detail::name::refusal();
    return kedge::detail::run([&](kedge_error *e) {
        return of.check(e, function, tx.c(), of.text(), item.text(), value);
    });
}
} // namespace detail

inline result<void> put(transaction &tx, std::string_view collection, std::string_view id,
                        const cJSON *value)
{
    return detail::change(kedge_tx_put_json, tx, collection, id, value);
}
inline result<void> merge(transaction &tx, std::string_view collection, std::string_view id,
                          const cJSON *patch)
{
    return detail::change(kedge_tx_merge_json, tx, collection, id, patch);
}
inline result<void> patch(transaction &tx, std::string_view collection, std::string_view id,
                          const cJSON *operations)
{
    return detail::change(kedge_tx_patch_json, tx, collection, id, operations);
}
inline result<void> call(transaction &tx, std::string_view name, const cJSON *args)
{
    const kedge::detail::name named(name);
    return kedge::detail::run([&](kedge_error *e) {
        return named.check(e, kedge_tx_call_json, tx.c(), named.text(), args);
    });
}

/* ---- members ---- */

inline std::optional<std::string_view> member_text(const cJSON *object, const char *member)
{
    const char *text = kedge_member_text(object, member);
    return text ? std::optional<std::string_view>(text) : std::nullopt;
}

namespace detail
{
template <class T>
result<T> read(kedge_status (*function)(const cJSON *, const char *, T *, kedge_error *),
               const cJSON *object, const char *member)
{
    T value = {};
    return kedge::detail::give([&](kedge_error *e) { return function(object, member, &value, e); },
                               [&] { return value; });
}
template <class Function, class T>
result<void> set(Function function, cJSON *object, const char *member, T value)
{
    return kedge::detail::run([&](kedge_error *e) { return function(object, member, value, e); });
}
} // namespace detail

inline result<int64_t> member_integer(const cJSON *object, const char *member)
{
    return detail::read(kedge_member_integer, object, member);
}
inline result<double> member_number(const cJSON *object, const char *member)
{
    return detail::read(kedge_member_number, object, member);
}
inline result<bool> member_boolean(const cJSON *object, const char *member)
{
    return detail::read(kedge_member_boolean, object, member);
}

inline result<void> set(cJSON *object, const char *member, tree value)
{
    return detail::set(kedge_member_set, object, member, value.release());
}
inline result<void> set_text(cJSON *object, const char *member, std::string_view text)
{
    const kedge::detail::name value(text);
    return kedge::detail::run([&](kedge_error *e) {
        return value.check(e, kedge_member_set_text, object, member, value.text());
    });
}
inline result<void> set_number(cJSON *object, const char *member, double number)
{
    return detail::set(kedge_member_set_number, object, member, number);
}
inline result<void> set_boolean(cJSON *object, const char *member, bool value)
{
    return detail::set(kedge_member_set_boolean, object, member, value);
}

} // namespace kedge::json

#endif
