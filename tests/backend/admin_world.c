/* See admin_world.h. */
#include "tests/backend/admin_world.h"

#include "mutate/registry.h"
#include "tests/support/temporary.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS_MAX 20

const char *admin_program;
const char *admin_plugin;

/* Of this name the plugin has one, too. */
static kedge_status count_up(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                             kedge_error *error)
{
    (void)args, (void)args_size, (void)userdata;
    return kedge_tx_put(tx, "c", "count", 5, "1", 1, error);
}

static const kedge_mutator mutators[] = {{"count_up", 3, count_up, NULL}};

int admin_set_up(void **state)
{
    folder_world *folder = calloc(1, sizeof *folder);
    assert_non_null(folder);
    assert_true(temporary_folder(folder->folder, sizeof folder->folder, "admin"));
    api_world *world = &folder->world;
    world->environment = kedge_environment_system(NULL);
    world->response.body = kedge_buffer_make(world->environment.allocator);
    assert_int_equal(
        kedge_embedded_open(&world->environment, folder->folder, true, &folder->ports, NULL),
        KEDGE_OK);
    assert_int_equal(
        kedge_registry_new(world->environment.allocator, mutators, 1, &world->registry, NULL),
        KEDGE_OK);
    kedge_backend_options options = {.environment = &world->environment,
                                     .records = kedge_embedded_records(folder->ports),
                                     .blobs = kedge_embedded_blobs(folder->ports),
                                     .registry = world->registry,
                                     .create_projects = true};
    assert_int_equal(kedge_backend_new(&options, &world->backend, NULL), KEDGE_OK);
    api_put(world, "c1", 1, "docs/a", "{\"n\":1}");
    api_put(world, "c1", 2, "docs/-x y", "2");
    api_put(world, "c2", 1, "docs/a", "{\"n\":3}");
    *state = folder;
    return 0;
}

int admin_tear_down(void **state)
{
    char command[128];
    folder_world *folder = *state;
    cJSON_Delete(folder->json);
    cJSON_Delete(folder->world.json);
    kedge_buffer_free(&folder->world.response.body);
    kedge_backend_free(folder->world.backend);
    kedge_registry_free(folder->world.registry);
    kedge_embedded_close(folder->ports);
    snprintf(command, sizeof command, "rm -rf '%s'", folder->folder);
    int result = system(command);
    free(folder);
    return result;
}

/* ---- running the program ---- */

static void read_all(int file, char *text, size_t size)
{
    size_t used = 0;
    ssize_t got;
    while (used + 1 < size && (got = read(file, text + used, size - 1 - used)) > 0)
        used += (size_t)got;
    text[used] = '\0';
    close(file);
}

int run_words(folder_world *folder, char *const words[])
{
    int out[2];
    int complaints[2];
    pid_t child;
    posix_spawn_file_actions_t files;
    assert_int_equal(pipe(out), 0);
    assert_int_equal(pipe(complaints), 0);
    assert_int_equal(posix_spawn_file_actions_init(&files), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&files, complaints[1], STDERR_FILENO), 0);
    assert_int_equal(posix_spawn_file_actions_addclose(&files, out[0]), 0);
    assert_int_equal(posix_spawn_file_actions_addclose(&files, complaints[0]), 0);
    /* It copies no memory, as a fork does. */
    assert_int_equal(posix_spawn(&child, admin_program, &files, NULL, words, environ), 0);
    posix_spawn_file_actions_destroy(&files);
    close(out[1]);
    close(complaints[1]);
    read_all(out[0], folder->text, sizeof folder->text);
    read_all(complaints[0], folder->complaint, sizeof folder->complaint);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    cJSON_Delete(folder->json);
    folder->json = cJSON_Parse(folder->text);
    return WEXITSTATUS(status);
}

int run(folder_world *folder, const char *line)
{
    char text[1024];
    char *words[WORDS_MAX] = {(char *)(uintptr_t)admin_program, (char *)(uintptr_t) "--data",
                              folder->folder};
    size_t count = 3;
    assert_true(strlen(line) < sizeof text);
    memcpy(text, line, strlen(line) + 1);
    char *rest = text;
    while (rest != NULL && *rest != '\0' && count + 1 < WORDS_MAX) {
        words[count++] = strsep(&rest, "|");
    }
    return run_words(folder, words);
}

void check_number(folder_world *folder, const char *path, int64_t value)
{
    api_world view = {.json = folder->json};
    view.response.body.data = folder->text;
    view.response.body.size = strlen(folder->text);
    if (folder->json == NULL) fail_msg("%s %s", folder->text, folder->complaint);
    assert_int_equal(api_number(&view, path), value);
}

void check_string(folder_world *folder, const char *path, const char *value)
{
    api_world view = {.json = folder->json};
    view.response.body.data = folder->text;
    view.response.body.size = strlen(folder->text);
    if (folder->json == NULL) fail_msg("%s %s", folder->text, folder->complaint);
    assert_string_equal(api_string(&view, path), value);
}
