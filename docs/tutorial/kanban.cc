// The board of kanban.c in C++17: the same commands, the same folders.
#include <cjson/cJSON.h>
#include <kedge/kedge.h>

#include <cstdlib>
#include <iostream>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

using texts = std::vector<std::string>;

// What Kedge gives is freed where its owner ends.
template <auto free> struct freed_with {
    template <class T> void operator()(T *what) const { free(what); }
};
using database = std::unique_ptr<kedge_db, freed_with<kedge_close>>;
using rows = std::unique_ptr<kedge_query, freed_with<kedge_query_close>>;
using batch = std::unique_ptr<kedge_batch, freed_with<kedge_batch_free>>;
using list = std::unique_ptr<kedge_mutation_list, freed_with<kedge_mutation_list_close>>;

static database db;

// Calls a function of Kedge, which takes its error last; throws what it says.
template <class Function, class... Arguments> void call(Function function, Arguments... arguments)
{
    kedge_error error = {};
    if (function(arguments..., &error) != KEDGE_OK)
        throw std::runtime_error(std::string(error.code) + ": " + error.message);
}

static std::string quoted(const std::string &text)
{
    std::unique_ptr<cJSON, freed_with<cJSON_Delete>> made(cJSON_CreateString(text.c_str()));
    std::unique_ptr<char, freed_with<cJSON_free>> printed(cJSON_PrintUnformatted(made.get()));
    return printed.get();
}

// JSON from a format: ' is a quotation mark, $1 the first text, quoted, $2 the second.
static std::string json(const std::string &format, const texts &given)
{
    std::string made;
    for (size_t i = 0; i < format.size(); i++)
        if (format[i] == '$')
            made += quoted(given.at(static_cast<size_t>(format[++i] - '1')));
        else
            made += format[i] == '\'' ? '"' : format[i];
    return made;
}

static rows query(const std::string &sql, const texts &given)
{
    const std::string parameters = json("[$1,$2]", given);
    kedge_query *made = nullptr;
    call(kedge_query_open, db.get(), sql.data(), sql.size(), parameters.data(), parameters.size(),
         &made);
    return rows(made);
}

static bool next(const rows &from)
{
    return kedge_query_next(from.get(), nullptr) == KEDGE_OK;
}

static std::string text(const rows &from, int column)
{
    const char *found = kedge_query_text(from.get(), column, nullptr);
    return found != nullptr ? found : "";
}

// A place behind everything that is there, which no other copy makes, and the column of a card.
static void find_places(const std::string &card, texts &given)
{
    const rows found = query("SELECT coalesce(max(CASE id WHEN ?1 THEN value ->> 'in' END), ?2), "
                             "max(value ->> 'order') FROM kedge_items",
                             {card, ""});
    char place[KEDGE_ORDER_KEY_SIZE];
    next(found);
    given.push_back(text(found, 0));
    call(kedge_order_between, text(found, 1).c_str(), nullptr, std::random_device()(), place);
    given.insert(given.end() - 1, place);
}

// What the commands do: $3, $4, $5 are what is given, $6 is the last place, $7 the card's column.
// The server rejects a move when somebody else has moved the card meanwhile.
static const struct {
    std::string command, mutator, args;
} edits[] = {
    {"column", "kedge.put", "{'collection':'columns','id':$3,'value':{'text':$4,'order':$6}}"},
    {"card", "kedge.put",
     "{'collection':'cards','id':$3,'value':{'in':$4,'text':$5,'order':$6}}"},
    {"label", "kedge.merge", "{'collection':'cards','id':$3,'patch':{'labels':{$4:true}}}"},
    {"comment", "kedge.put",
     "{'collection':'comments','id':$6,'value':{'in':$3,'text':$4,'order':$6}}"},
    {"move", "kedge.patch",
     "{'collection':'cards','id':$3,'patch':[{'op':'test','path':'/in','value':$7},"
     "{'op':'replace','path':'/in','value':$4},{'op':'replace','path':'/order','value':$6}]}"},
};

// A card and its comments go as one.
static void delete_card(const std::string &card)
{
    const rows found = query("SELECT json_object('collection', collection, 'id', id) FROM "
                             "kedge_items WHERE id = ?1 OR value ->> 'in' = ?2",
                             {card, card});
    kedge_batch *made = nullptr;
    call(kedge_batch_begin, db.get(), &made);
    const batch deletions(made);
    while (next(found)) {
        const std::string args = text(found, 0);
        call(kedge_batch_add, deletions.get(), "kedge.delete", args.data(), args.size());
    }
    call(kedge_batch_commit, deletions.get(), nullptr);
}

// Columns, their cards, and the comments of each.
static void show(size_t level, const std::string &parent)
{
    static const texts levels = {"columns", "cards", "comments"};
    if (level == levels.size()) return;
    const rows found = query("SELECT id, value ->> 'text' || coalesce(' ' || (value ->> 'labels'), "
                             "'') FROM kedge_items WHERE collection = ?1 AND coalesce(value ->> "
                             "'in', '') = ?2 ORDER BY value ->> 'order', id",
                             {levels[level], parent});
    while (next(found)) {
        std::cout << std::string(level * 2, ' ') << text(found, 1) << '\n';
        show(level + 1, text(found, 0));
    }
}

// Edits that the server rejected, with the reason.
static void show_inbox()
{
    kedge_mutation_list *made = nullptr;
    call(kedge_rejected_open, db.get(), &made);
    const list rejected(made);
    kedge_mutation row = KEDGE_MUTATION_INIT;
    while (kedge_mutation_list_next(rejected.get(), &row, nullptr) == KEDGE_OK)
        std::cout << row.name << ", " << row.code << ": " << row.message << '\n';
}

static void run(texts given)
{
    kedge_options options = KEDGE_OPTIONS_INIT;
    kedge_db *opened = nullptr;
    options.path = given[0].c_str();
    options.url = std::getenv("KANBAN_URL");
    options.organization = "demo", options.project = "board";
    options.offline = true;
    call(kedge_open, &options, &opened);
    db.reset(opened);
    find_places(given[2], given);
    for (const auto &edit : edits) {
        if (given[1] != edit.command) continue;
        const std::string args = json(edit.args, given);
        call(kedge_mutate, db.get(), edit.mutator.c_str(), args.data(), args.size(), nullptr);
    }
    if (given[1] == "delete") delete_card(given[2]);
    if (given[1] == "inbox") show_inbox();
    if (given[1] == "show") show(0, "");
    if (given[1] == "sync") {
        call(kedge_set_online, db.get(), true);
        call(kedge_sync, db.get(), 10000);
    }
}

int main(int argc, char **argv)
{
    texts given = {"board", "show", "", "", ""};
    for (int i = 1; i < argc && i < 6; i++)
        given[static_cast<size_t>(i - 1)] = argv[i];
    try {
        run(given);
    } catch (const std::exception &failure) {
        std::cerr << failure.what() << '\n';
        return 1;
    }
    db.reset();
}
