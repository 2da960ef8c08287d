// The board of kanban.c in C++17: the same commands, the same folders.
#include <kedge/cjson.hpp>

#include <cstdlib>
#include <iostream>
#include <random>
#include <vector>

using texts = std::vector<std::string>;

static std::string quoted(const std::string &text)
{
    const kedge::json::tree made(cJSON_CreateString(text.c_str()));
    const std::unique_ptr<char, decltype(&cJSON_free)> printed(cJSON_PrintUnformatted(made.get()),
                                                               cJSON_free);
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

static kedge::query query(const kedge::database &db, std::string_view sql, const texts &given)
{
    return db.query(sql, json("[$1,$2]", given)).or_throw();
}

static std::string text(kedge::query &from, int column)
{
    return std::string(from.text(column).value_or(""));
}

// A place after everything that is there, which no other copy makes, and the column of a card.
static void find_places(const kedge::database &db, const std::string &card, texts &given)
{
    kedge::query found = query(db,
                               "SELECT coalesce(max(CASE id WHEN ?1 THEN value ->> 'in' END), ?2), "
                               "max(value ->> 'order') FROM kedge_items",
                               {card, ""});
    found.next();
    given.push_back(kedge::order_between(text(found, 1), {}, std::random_device()()).or_throw());
    given.push_back(text(found, 0));
}

// What the commands do: $3, $4, $5 are what is given, $6 is the last place, $7 the card's column.
// The server rejects a move when somebody else has moved the card meanwhile.
static const struct {
    std::string command, mutator, args;
} edits[] = {
    {"column", "kedge.put", "{'collection':'columns','id':$3,'value':{'text':$4,'order':$6}}"},
    {"card", "kedge.put", "{'collection':'cards','id':$3,'value':{'in':$4,'text':$5,'order':$6}}"},
    {"label", "kedge.merge", "{'collection':'cards','id':$3,'patch':{'labels':{$4:true}}}"},
    {"comment", "kedge.put",
     "{'collection':'comments','id':$6,'value':{'in':$3,'text':$4,'order':$6}}"},
    {"move", "kedge.patch",
     "{'collection':'cards','id':$3,'patch':[{'op':'test','path':'/in','value':$7},"
     "{'op':'replace','path':'/in','value':$4},{'op':'replace','path':'/order','value':$6}]}"},
};

// A card and its comments go as one.
static void delete_card(const kedge::database &db, const std::string &card)
{
    kedge::query found = query(db,
                               "SELECT json_object('collection', collection, 'id', id) FROM "
                               "kedge_items WHERE id = ?1 OR value ->> 'in' = ?2",
                               {card, card});
    kedge::batch deletions = db.begin_batch().or_throw();
    while (found.next())
        deletions.add("kedge.delete", text(found, 0)).or_throw();
    deletions.commit().or_throw();
}

// Columns, their cards, and the comments of each.
static void show(const kedge::database &db, size_t level = 0, const std::string &parent = "")
{
    static const texts levels = {"columns", "cards", "comments"};
    if (level == levels.size()) return;
    kedge::query found =
        query(db,
              "SELECT id, value ->> 'text' || coalesce(' ' || (value ->> 'labels'), '') FROM "
              "kedge_items WHERE collection = ?1 AND coalesce(value ->> 'in', '') = ?2 "
              "ORDER BY value ->> 'order', id",
              {levels[level], parent});
    while (found.next()) {
        std::cout << std::string(level * 2, ' ') << text(found, 1) << '\n';
        show(db, level + 1, text(found, 0));
    }
}

// Edits that the server rejected, with the reason.
static void show_inbox(const kedge::database &db)
{
    kedge::mutation_list rejected = db.rejected().or_throw();
    while (rejected.next()) {
        const kedge_mutation &edit = rejected.mutation();
        std::cout << edit.name << ", " << edit.code << ": " << edit.message << '\n';
    }
}

static void run(texts given)
{
    kedge::options options;
    options.path = given[0];
    if (const char *url = std::getenv("KANBAN_URL")) options.url = url;
    options.organization = "demo", options.project = "board";
    options.offline = true;
    const kedge::database db = kedge::database::open(std::move(options)).or_throw();
    find_places(db, given[2], given);
    for (const auto &edit : edits)
        if (given[1] == edit.command) db.mutate(edit.mutator, json(edit.args, given)).or_throw();
    if (given[1] == "delete") delete_card(db, given[2]);
    if (given[1] == "inbox") show_inbox(db);
    if (given[1] == "show") show(db);
    if (given[1] == "sync") {
        db.set_online(true).or_throw();
        db.sync(10000).or_throw();
    }
}

int main(int argc, char **argv)
{
    texts given = {"board", "show", "", "", ""};
    for (int i = 1; i < argc && i < 6; i++)
        given[static_cast<size_t>(i - 1)] = argv[i];
    try {
        run(given);
    } catch (const kedge::failure &failure) {
        std::cerr << failure.what() << '\n';
        return 1;
    }
}
