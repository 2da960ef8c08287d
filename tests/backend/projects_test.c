/* Projects: made once, listed in order, found by name over all organizations. */
#include "tests/backend/world.h"

#include "tests/support/project.h"

#include <stdio.h>
#include <string.h>

typedef struct names {
    char text[4000];
    size_t size;
    int count;
} names;

static kedge_status add_name(void *context, kedge_bytes name, const kedge_project_found *found,
                             kedge_error *error)
{
    (void)error;
    names *list = context;
    assert_true(found->created_ms > 0);
    list->size += (size_t)snprintf(list->text + list->size, sizeof list->text - list->size, "%.*s ",
                                   (int)name.size, name.data);
    list->count++;
    return KEDGE_OK;
}

static bool create(test_world *world, const char *organization, const char *project)
{
    kedge_project_ref ref = {kedge_bytes_of(organization), kedge_bytes_of(project)};
    bool created = false;
    int64_t created_ms = 0;
    assert_int_equal(
        kedge_project_create(HANDLE(world->backend, &ref), &created, &created_ms, NULL), KEDGE_OK);
    assert_true(created_ms > 0);
    return created;
}

static void test_a_project_is_created_once(void **state)
{
    test_world *world = *state;
    assert_true(create(world, "acme", "plans"));
    assert_false(create(world, "acme", "plans"));
    assert_true(create(world, "other", "plans"));
}

static void test_a_project_with_a_bad_name_is_refused(void **state)
{
    test_world *world = *state;
    kedge_project_ref ref = {KEDGE_BYTES("acme"), KEDGE_BYTES("a/b")};
    kedge_error error = {0};
    bool created = false;
    int64_t created_ms = 0;
    assert_int_equal(
        kedge_project_create(HANDLE(world->backend, &ref), &created, &created_ms, &error),
        KEDGE_INVALID_ARGUMENT);
    assert_string_equal(error.code, "invalid-name");
}

static void test_projects_are_listed_in_pages_by_name(void **state)
{
    test_world *world = *state;
    names list = {.size = 0};
    bool more = false;
    create(world, "acme", "c");
    create(world, "acme", "a");
    create(world, "acme", "b");
    create(world, "acmeb", "z");
    assert_int_equal(kedge_project_list(world->backend, KEDGE_BYTES("acme"), (kedge_bytes){NULL, 0},
                                        2, add_name, &list, &more, NULL),
                     KEDGE_OK);
    assert_string_equal(list.text, "a b ");
    assert_true(more);
    assert_int_equal(kedge_project_list(world->backend, KEDGE_BYTES("acme"), KEDGE_BYTES("b"), 100,
                                        add_name, &list, &more, NULL),
                     KEDGE_OK);
    assert_string_equal(list.text, "a b c notes ");
    assert_false(more);
}

static void test_the_organizations_of_a_project_are_found(void **state)
{
    test_world *world = *state;
    names list = {.size = 0};
    for (int i = 0; i < 12; i++) {
        char organization[16];
        snprintf(organization, sizeof organization, "org%02d", i);
        create(world, organization, "shared");
        create(world, organization, "other");
    }
    assert_int_equal(
        kedge_project_organizations(world->backend, KEDGE_BYTES("shared"), add_name, &list, NULL),
        KEDGE_OK);
    assert_int_equal(list.count, 12);
    assert_non_null(strstr(list.text, "org00 org01 "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_BOTH(test_a_project_is_created_once),
        OVER_BOTH(test_a_project_with_a_bad_name_is_refused),
        OVER_BOTH(test_projects_are_listed_in_pages_by_name),
        OVER_BOTH(test_the_organizations_of_a_project_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
