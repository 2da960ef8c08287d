/* As hello.c, in C++17: the note "cc". */
#include <kedge/kedge.hpp>

#include <cstdlib>
#include <iostream>

static int failed(const kedge::error &error)
{
    std::cerr << error.message() << '\n';
    return 1;
}

int main(int count, char **arguments)
{
    const char *given = std::getenv("KEDGE_TOKEN");
    if (count != 3 || given == nullptr) return 2;
    kedge::options options;
    options.path = arguments[1];
    options.url = arguments[2];
    options.organization = "acme";
    options.project = "todo";
    options.token = [given] { return std::optional<std::string>(given); };
    const auto db = kedge::database::open(std::move(options));
    if (!db) return failed(db.error());
    constexpr auto args = R"({"collection":"notes","id":"cc","value":{"text":"hi"}})";
    if (const auto made = db->mutate("kedge.put", args); !made) return failed(made.error());
    if (const auto synced = db->sync(30000); !synced) return failed(synced.error());
    const auto note = db->get("notes", "cc");
    if (!note) return failed(note.error());
    std::cout << note->json() << '\n';
}
