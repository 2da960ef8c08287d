/* A shopping list that works offline: shopping FOLDER list|add|take|inbox|sync [WHAT]. */
#include <kedge/kedge.hpp>

#include <cstdlib>
#include <iostream>

using kedge::result;

/* list.take {"id"}: takes a thing, unless somebody else has taken it. */
static result<void> take(kedge::transaction &tx, std::string_view args)
{
    const auto id = kedge::args_text(args, "id");
    if (!id) return id.error();
    const auto thing = tx.get("things", *id);
    if (!thing) return thing.error();
    if (*thing != R"("wanted")") return tx.reject("taken", "somebody has taken it");
    return tx.put("things", *id, R"("taken")");
}

static result<void> list(const kedge::database &db)
{
    auto things = db.scan("things");
    if (!things) return things.error();
    while (things->next())
        std::cout << things->id() << ": " << things->value() << '\n';
    return things->error();
}

static result<void> inbox(const kedge::database &db)
{
    auto rejected = db.rejected();
    if (!rejected) return rejected.error();
    while (rejected->next())
        std::cout << rejected->mutation().args << " " << rejected->mutation().message << '\n';
    return rejected->error();
}

static result<void> sync(const kedge::database &db)
{
    const auto online = db.set_online(true);
    return online ? db.sync(10000) : online;
}

static result<void> run(std::string folder, std::string_view command, const std::string &what)
{
    kedge::options options;
    options.path = std::move(folder);
    options.organization = "demo";
    options.project = "shopping";
    if (const char *url = std::getenv("SHOPPING_URL")) options.url = url;
    options.offline = true;
    options.client_mutators.emplace_back("list.take", 1, take); /* the server needs no code */
    const auto db = kedge::database::open(std::move(options));
    if (!db) return db.error();
    if (command == "list") return list(*db);
    if (command == "inbox") return inbox(*db);
    if (command == "sync") return sync(*db);
    if (command == "take") return db->mutate("list.take", R"({"id":")" + what + "\"}").error();
    return db
        ->mutate("kedge.put", R"({"collection":"things","value":"wanted","id":")" + what + "\"}")
        .error();
}

int main(int count, char **words)
{
    const auto done = run(count > 1 ? words[1] : "list", count > 2 ? words[2] : "list",
                          count > 3 ? words[3] : "");
    if (!done) std::cout << done.error().code() << ": " << done.error().message() << '\n';
}
