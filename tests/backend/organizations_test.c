/* Organizations: each that has a project is listed once, by name; none that has no project. */
#include "tests/backend/world.h"

#include "backend/versioned/model/layout.h"
#include "backend/versioned/projects/fork.h"
#include "backend/versioned/projects/organizations.h"
#include "tests/support/project.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MANY 2400 /* a shard has more of them than one query gives */

static void create(test_world *world, const char *organization, const char *project)
{
    kedge_project_ref ref = {kedge_bytes_of(organization), kedge_bytes_of(project)};
    bool created = false;
    int64_t created_ms = 0;
    assert_int_equal(
        kedge_project_create(HANDLE(world->backend, &ref), &created, &created_ms, NULL), KEDGE_OK);
}

/* The project's record goes, as by the first step of a deletion. */
static void remove_project(test_world *world, const char *organization, const char *project)
{
    kedge_key partition = kedge_key_organization(kedge_bytes_of(organization));
    kedge_key sort = kedge_key_project(kedge_bytes_of(project));
    const kedge_record_write write = {
        .kind = KEDGE_WRITE_DELETE,
        .record = {.key = {kedge_key_bytes(&partition), kedge_key_bytes(&sort)}}};
    const kedge_records *records = &world->store_records;
    assert_int_equal(records->vtable->write(records->self, &write, NULL), KEDGE_OK);
}

static kedge_status unmark(test_world *world, const char *organization)
{
    kedge_project_ref ref = {kedge_bytes_of(organization), KEDGE_BYTES("p")};
    return kedge_organization_unmark(HANDLE(world->backend, &ref), NULL);
}

/* ---- the list ---- */

static kedge_status add_name(void *context, kedge_bytes name, kedge_error *error)
{
    (void)error;
    kedge_buffer_append_bytes(context, name);
    kedge_buffer_append_byte(context, ' ');
    return KEDGE_OK;
}

/* All of them, in pages. */
static void list_all(test_world *world, uint32_t limit, kedge_buffer *names)
{
    char after[KEDGE_LIMIT_NAME_BYTES + 1] = "";
    kedge_buffer_clear(names);
    for (bool more = true; more;) {
        size_t before = names->size;
        assert_int_equal(kedge_organization_list(world->backend, kedge_bytes_of(after), limit,
                                                 add_name, names, &more, NULL),
                         KEDGE_OK);
        assert_true(!more || names->size > before);
        if (!more) return;
        const char *last = names->data + names->size - 1;
        while (last > names->data && last[-1] != ' ')
            last--;
        snprintf(after, sizeof after, "%.*s", (int)(names->data + names->size - 1 - last), last);
    }
}

static void check_list(test_world *world, const char *wanted)
{
    kedge_buffer names = kedge_buffer_make(&kedge_allocator_default);
    for (uint32_t limit = 1; limit < 10; limit += 4) {
        list_all(world, limit, &names);
        assert_string_equal(names.size == 0 ? "" : names.data, wanted);
    }
    kedge_buffer_free(&names);
}

static void test_each_organization_is_listed_once_and_by_name(void **state)
{
    test_world *world = *state;
    create(world, "zeta", "p");
    create(world, "Zeta", "p");
    create(world, "beta", "p");
    create(world, "beta", "q");
    create(world, "beta", "p");
    create(world, "acm", "p");
    create(world, "acmee", "p");
    check_list(world, "Zeta acm acme acmee beta zeta ");
}

/* Names do not come in the order of their shards, and a shard has several pages. */
static void test_many_organizations_are_listed_whole_by_pages_of_any_size(void **state)
{
    test_world *world = *state;
    const uint32_t limits[] = {1000, 999, 37};
    kedge_buffer names = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer wanted = kedge_buffer_make(&kedge_allocator_default);
    const kedge_records *records = &world->store_records;
    kedge_buffer_append_text(&wanted, "acme ");
    for (int i = 0; i < MANY; i++) {
        char name[16];
        kedge_organization_marker marker;
        snprintf(name, sizeof name, "org%05d", i);
        kedge_record_write write = kedge_organization_mark(kedge_bytes_of(name), "t", &marker);
        assert_int_equal(records->vtable->write(records->self, &write, NULL), KEDGE_OK);
        kedge_buffer_append_format(&wanted, "%s ", name);
    }
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        list_all(world, limits[i], &names);
        assert_string_equal(names.data, wanted.data);
    }
    kedge_buffer_free(&names);
    kedge_buffer_free(&wanted);
}

static void test_an_organization_whose_only_project_is_a_fork_is_listed(void **state)
{
    test_world *world = *state;
    kedge_fork fork = {.done = false};
    kedge_project_ref to = {KEDGE_BYTES("acme"), KEDGE_BYTES("twin")};
    world_put(world, "c1", 1, "a", 1);
    remove_project(world, "acme", "notes");
    assert_int_equal(unmark(world, "acme"), KEDGE_OK);
    check_list(world, "");
    create(world, "acme", "notes");
    assert_int_equal(unmark(world, "acme"), KEDGE_OK);
    assert_int_equal(kedge_fork_project(NOTES(world), world_head(world),
                                        HANDLE(world->backend, &to), &fork, NULL),
                     KEDGE_OK);
    remove_project(world, "acme", "notes");
    assert_int_equal(unmark(world, "acme"), KEDGE_OK);
    check_list(world, "acme ");
}

static void test_a_store_that_does_not_answer_gives_no_list(void **state)
{
    test_world *world = *state;
    kedge_buffer names = kedge_buffer_make(&kedge_allocator_default);
    bool more = false;
    for (uint64_t at = 1; at <= KEDGE_ORGANIZATION_SHARDS; at++) {
        world_arm(world, WORLD_FAULT_BEFORE, at, false, false);
        assert_int_not_equal(kedge_organization_list(world->backend, (kedge_bytes){NULL, 0}, 10,
                                                     add_name, &names, &more, NULL),
                             KEDGE_OK);
    }
    world_disarm(world);
    kedge_buffer_free(&names);
}

/* ---- the marker ---- */

static void test_a_marker_goes_with_the_last_project(void **state)
{
    test_world *world = *state;
    create(world, "beta", "p");
    create(world, "beta", "q");
    remove_project(world, "beta", "p");
    assert_int_equal(unmark(world, "beta"), KEDGE_OK);
    check_list(world, "acme beta ");
    remove_project(world, "beta", "q");
    assert_int_equal(unmark(world, "beta"), KEDGE_OK);
    check_list(world, "acme ");
    assert_int_equal(unmark(world, "beta"), KEDGE_OK);
    create(world, "beta", "q");
    check_list(world, "acme beta ");
}

static void make_another(test_world *world)
{
    create(world, "beta", "late");
}

/* In front of each port call of the removal. */
static void test_a_project_that_comes_meanwhile_keeps_the_marker(void **state)
{
    test_world *world = *state;
    uint64_t at = 1;
    for (bool meddled = true; meddled; at++) {
        create(world, "beta", "p");
        remove_project(world, "beta", "p");
        world->meddle = make_another;
        world->meddle_at = atomic_load(&world->calls) + at;
        assert_int_equal(unmark(world, "beta"), KEDGE_OK);
        meddled = world->meddle == NULL;
        world->meddle = NULL;
        check_list(world, meddled ? "acme beta " : "acme ");
        remove_project(world, "beta", "late");
    }
    assert_int_equal(at, 5); /* it has three calls */
}

static void test_a_marker_that_is_missing_is_put_again_while_its_project_is_there(void **state)
{
    test_world *world = *state;
    const kedge_version *creation;
    bool marked = true;
    assert_int_equal(kedge_version_load_creation(NOTES(world), &creation, NULL), KEDGE_OK);
    remove_project(world, "acme", "notes");
    assert_int_equal(unmark(world, "acme"), KEDGE_OK);
    assert_int_equal(kedge_organization_mark_again(NOTES(world), creation->lineage, NULL),
                     KEDGE_OK);
    assert_int_equal(kedge_organization_is_marked(NOTES(world), &marked, NULL), KEDGE_OK);
    assert_false(marked);
    kedge_version_release(creation);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_BOTH(test_each_organization_is_listed_once_and_by_name),
        OVER_MEMORY(test_many_organizations_are_listed_whole_by_pages_of_any_size),
        OVER_ALL(test_an_organization_whose_only_project_is_a_fork_is_listed),
        OVER_MEMORY(test_a_store_that_does_not_answer_gives_no_list),
        OVER_BOTH(test_a_marker_goes_with_the_last_project),
        OVER_BOTH(test_a_project_that_comes_meanwhile_keeps_the_marker),
        OVER_MEMORY(test_a_marker_that_is_missing_is_put_again_while_its_project_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
