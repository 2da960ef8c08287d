/* kedge-admin: works on what a backend keeps, in its folder or on AWS, with the
 * backend's own code. */
#include "backend/admin/verbs.h"
#include "backend/plugin/plugin.h"
#include "backend/stores/stores.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The built-in mutators, and those of --mutators. */
static kedge_status open_registry(const kedge_environment *environment,
                                  const kedge_admin_line *line, kedge_plugin **plugin,
                                  kedge_registry **registry, kedge_error *error)
{
    const kedge_mutator *mutators = NULL;
    size_t count = 0;
    if (line->mutators != NULL) {
        kedge_plugin_options options = KEDGE_PLUGIN_OPTIONS_INIT;
        kedge_status status =
            kedge_plugin_start(environment, line->mutators, &options, plugin, error);
        if (status != KEDGE_OK) return status;
        kedge_plugin_mutators(*plugin, &mutators, &count);
    }
    return kedge_registry_new(environment->allocator, mutators, count, registry, error);
}

static int run(const kedge_environment *environment, const kedge_stores *stores,
               const kedge_admin_command *command, const kedge_admin_line *line)
{
    kedge_error error = {0};
    kedge_plugin *plugin = NULL;
    kedge_registry *registry = NULL;
    kedge_backend *backend = NULL;
    kedge_status status = open_registry(environment, line, &plugin, &registry, &error);
    if (status == KEDGE_OK) {
        kedge_backend_options options = {.environment = environment,
                                         .records = kedge_stores_records(stores),
                                         .blobs = kedge_stores_blobs(stores),
                                         .registry = registry,
                                         .failed = kedge_admin_warn};
        status = kedge_backend_new(&options, &backend, &error);
    }
    kedge_admin admin = {backend, stores, environment, environment->allocator, command, line};
    int code = status == KEDGE_OK ? command->run(&admin) : kedge_admin_complain(&error);
    kedge_backend_free(backend);
    kedge_registry_free(registry);
    kedge_plugin_stop(plugin);
    return code;
}

/* A new backend is made only when told so: the name of the folder may be mistyped. */
static kedge_stores_purpose purpose_of(const kedge_admin_command *command,
                                       const kedge_admin_line *line)
{
    if ((command->traits & KEDGE_ADMIN_LOCKS_DATA) != 0) return KEDGE_STORES_CHANGE;
    bool makes_data = (command->traits & KEDGE_ADMIN_MAKES_DATA) != 0;
    return makes_data && line->stores.create ? KEDGE_STORES_MAKE : KEDGE_STORES_VISIT;
}

/* Commands judge by this machine's clock. */
static void warn_of_clock(const kedge_stores *stores)
{
    kedge_error warning = {0};
    for (size_t i = 0; kedge_stores_warning(stores, i, &warning); i++) {
        if (strcmp(warning.code, "aws-clock-skewed") == 0)
            fprintf(stderr, "kedge-admin: warning: %s (%s)\n", warning.message, warning.code);
    }
}

static int open_and_run(const kedge_admin_command *command, const kedge_admin_line *line)
{
    kedge_error error = {0};
    kedge_stores *stores = NULL;
    kedge_environment environment = kedge_environment_system(NULL);
    if ((command->traits & (KEDGE_ADMIN_HAS_NO_DATA | KEDGE_ADMIN_OPENS_DATA_ITSELF)) != 0) {
        kedge_admin alone = {NULL, NULL, &environment, environment.allocator, command, line};
        return command->run(&alone);
    }
    if (kedge_stores_open(&environment, &line->stores, purpose_of(command, line), &stores,
                          &error) != KEDGE_OK) {
        return kedge_admin_complain(&error);
    }
    warn_of_clock(stores);
    int code = run(&environment, stores, command, line);
    kedge_stores_close(stores);
    return code;
}

static int print_help(void)
{
    kedge_buffer help = kedge_buffer_make(&kedge_allocator_default);
    kedge_admin_write_help(&help);
    int code = fputs(help.no_memory ? "" : help.data, stdout) < 0 ? KEDGE_ADMIN_NO_RESPONSE : 0;
    kedge_buffer_free(&help);
    return code;
}

int main(int argc, char **argv)
{
    int child = kedge_plugin_child_dispatch(argc, argv);
    if (child >= 0) return child;
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("kedge-admin %s\n", kedge_library_version());
        return 0;
    }
    umask(077); /* what it makes in a data folder is its user's alone */
    kedge_admin_line line;
    kedge_error error = {0};
    const kedge_admin_command *command = NULL;
    if (kedge_admin_parse(argc, argv, &line, &command, &error) != KEDGE_OK) {
        return kedge_admin_complain(&error);
    }
    if (line.help) return print_help();
    kedge_environment environment = kedge_environment_system(NULL);
    return kedge_admin_run_audited(&environment, command, &line, open_and_run);
}
