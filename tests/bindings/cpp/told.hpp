/* What a watch of a scenario has told, and no step has asked for. */
#ifndef KEDGE_TESTS_BINDINGS_CPP_TOLD_HPP
#define KEDGE_TESTS_BINDINGS_CPP_TOLD_HPP

#include "tests/bindings/values.h"

#include <kedge/cjson.hpp>

#include <chrono>
#include <condition_variable>
#include <mutex>

constexpr int32_t WAIT_MS = 20000; /* for anything that must happen by itself */

struct told {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<cJSON *> events;
    kedge::json::tree status;

    ~told()
    {
        for (cJSON *each : events)
            cJSON_Delete(each);
    }
    void add(cJSON *event)
    {
        const std::lock_guard<std::mutex> lock(mutex);
        events.push_back(event);
        changed.notify_all();
    }
    void set(cJSON *now)
    {
        const std::lock_guard<std::mutex> lock(mutex);
        status.reset(now);
        changed.notify_all();
    }
    void wait(const cJSON *wanted, cJSON *given)
    {
        const char *name = told_list(wanted);
        const cJSON *list = cJSON_GetObjectItemCaseSensitive(wanted, name);
        const auto count = static_cast<size_t>(cJSON_GetArraySize(list));
        std::unique_lock<std::mutex> lock(mutex);
        changed.wait_for(lock, std::chrono::milliseconds(WAIT_MS), [&] {
            return list ? events.size() >= count : status && gives_match(wanted, status.get());
        });
        cJSON *taken = list ? cJSON_AddArrayToObject(given, name) : nullptr;
        for (size_t left = count; left > 0 && !events.empty(); left--) {
            cJSON_AddItemToArray(taken, events.front());
            events.erase(events.begin());
        }
        for (const cJSON *each = status ? status->child : nullptr; each; each = each->next)
            cJSON_AddItemToObject(given, each->string, cJSON_Duplicate(each, true));
    }
};

#endif
