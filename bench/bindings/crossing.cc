/* What reads and edits cost in C++, for bindings.py, which says what is asked: crossing FOLDER. */
#include <kedge/kedge.hpp>

#include <ctime>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace
{

constexpr int items = 1000;
constexpr std::size_t large_bytes = 1000000;
const std::string text(large_bytes, 'x');

template <typename Value> Value must(kedge::result<Value> got)
{
    if (got) return std::move(*got);
    std::cerr << got.error().code() << ": " << got.error().message() << '\n';
    std::exit(1);
}

long long clock_us(clockid_t clock)
{
    timespec now;
    clock_gettime(clock, &now);
    return static_cast<long long>(now.tv_sec) * 1000000 + now.tv_nsec / 1000;
}

std::size_t put(const kedge::database &db, const std::string &id, int n, std::size_t text_size)
{
    std::string args = R"({"collection":"notes","id":")" + id + R"(","value":{"n":)" +
                       std::to_string(n) + R"(,"text":")";
    args.append(text, 0, text_size).append("\"}}");
    must(db.mutate("kedge.put", args));
    return args.size();
}

std::size_t get(const kedge::database &db, const std::string &id)
{
    return std::string(must(db.get("notes", id)).json()).size();
}

std::size_t scan(const kedge::database &db)
{
    std::size_t bytes = 0;
    kedge::scan_options options;
    options.prefix = "i";
    auto rows = must(db.scan("notes", options));
    while (rows.next())
        bytes += rows.id().size() + rows.value().size();
    return bytes;
}

std::size_t scan_texts(const kedge::database &db)
{
    std::size_t bytes = 0;
    kedge::scan_options options;
    options.prefix = "i";
    auto rows = must(db.scan("notes", options));
    while (rows.next())
        bytes += std::string(rows.id()).size() + std::string(rows.value()).size();
    return bytes;
}

std::size_t scan_kept(const kedge::database &db)
{
    std::size_t bytes = 0;
    std::vector<std::pair<std::string, std::string>> kept;
    kedge::scan_options options;
    options.prefix = "i";
    auto rows = must(db.scan("notes", options));
    while (rows.next())
        kept.emplace_back(rows.id(), rows.value());
    for (const auto &[id, value] : kept)
        bytes += id.size() + value.size();
    return bytes;
}

std::size_t work(const kedge::database &db, const std::string &name, int number)
{
    char id[16];
    std::snprintf(id, sizeof id, "i%03d", number % items);
    if (name == "mutate") return put(db, id, number, 100);
    if (name == "get") return get(db, id);
    if (name == "scan") return scan(db);
    if (name == "scan-texts") return scan_texts(db);
    if (name == "scan-kept") return scan_kept(db);
    if (name == "put-large") return put(db, "large", number, large_bytes);
    if (name == "get-large") return get(db, "large");
    std::exit(2);
}

} // namespace

int main(int count, char **arguments)
{
    if (count != 2) return 2;
    kedge::options options;
    options.path = arguments[1];
    options.organization = "demo";
    options.project = "bench";
    const auto db = must(kedge::database::open(std::move(options)));
    std::string name;
    int calls;
    while (std::cin >> name >> calls) {
        std::size_t bytes = 0;
        const auto started_us = clock_us(CLOCK_MONOTONIC);
        const auto cpu_us = clock_us(CLOCK_PROCESS_CPUTIME_ID);
        for (int i = 0; i < calls; i++)
            bytes += work(db, name, i);
        std::cout << clock_us(CLOCK_MONOTONIC) - started_us << ' '
                  << clock_us(CLOCK_PROCESS_CPUTIME_ID) - cpu_us << ' ' << bytes << " 0"
                  << std::endl;
    }
}
