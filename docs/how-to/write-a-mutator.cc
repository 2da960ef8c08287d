/* stock.take in C++, for the app and for the server's plugin. */
#include <kedge/cjson.hpp>

#include <new>

extern "C" KEDGE_API const kedge_mutator *kedge_plugin_mutators(size_t *count);

using kedge::result;
namespace json = kedge::json;

/* {"id": string, "count": integer}: takes pieces from a shelf, never more than there are. */
static result<void> take(kedge::transaction &tx, const cJSON *args)
{
    const auto id = json::member_text(args, "id");
    if (!id) return tx.reject("args-invalid", "id is a text");
    const auto count = json::member_integer(args, "count");
    if (!count) return count.error(); /* rejected, with this reason */
    const auto shelf = json::edit(tx, "shelves", *id);
    if (!shelf) return shelf.error();
    const auto left = json::member_integer(*shelf, "count");
    if (!left) return left.error();
    if (*count < 1 || *count > *left)
        return tx.reject("not-enough", "there are not that many pieces");
    return json::set_number(*shelf, "count", static_cast<double>(*left - *count));
}

/* What C calls. No exception may leave it: on the server it would end the process of the plugin. */
template <result<void> (*mutate)(kedge::transaction &, const cJSON *)>
static kedge_status call(kedge_tx *tx, const cJSON *args, void *, kedge_error *error)
{
    try {
        kedge::transaction of(tx);
        return mutate(of, args).error().give(error);
    } catch (const std::bad_alloc &) {
        return KEDGE_NO_MEMORY; /* never rejected: it runs again */
    } catch (const std::exception &thrown) {
        return kedge_tx_reject(tx, "mutator-failed", thrown.what(), error);
    } catch (...) {
        return kedge_tx_reject(tx, "mutator-failed", "it threw no std::exception", error);
    }
}

static const kedge_mutator mutators[] = {KEDGE_JSON_MUTATOR("stock.take", 1, call<take>)};

const kedge_mutator *kedge_plugin_mutators(size_t *count)
{
    *count = sizeof mutators / sizeof mutators[0];
    return mutators;
}
