/* kedge-desktop: opens a copy of a notes project, and a window on it. */
#include "desktop.h"
#include "dispatch.h"
#include "notes_mutators.h"

#include <stdlib.h>
#include <string.h>

enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

static kedge_status token_from_environment(void *userdata, char *buffer, size_t buffer_size)
{
    (void)userdata;
    const char *token = getenv("KEDGE_TOKEN");
    if (!token || strlen(token) >= buffer_size) return KEDGE_UNAUTHORIZED;
    memcpy(buffer, token, strlen(token) + 1);
    return KEDGE_OK;
}

/* The options of the terminal app, by the same names. False when one is wrong, with a message. */
static bool parse(int *argc, char ***argv, kedge_options *options)
{
    gboolean offline = FALSE;
    const GOptionEntry entries[] = {
        {"data", 0, 0, G_OPTION_ARG_FILENAME, &options->path, "The folder that keeps this copy",
         "DIR"},
        {"url", 0, 0, G_OPTION_ARG_STRING, &options->url, "The server; without it all is local",
         "URL"},
        {"org", 0, 0, G_OPTION_ARG_STRING, &options->organization, "The organization: demo",
         "NAME"},
        {"project", 0, 0, G_OPTION_ARG_STRING, &options->project, "The project: notes", "NAME"},
        {"offline", 0, 0, G_OPTION_ARG_NONE, &offline, "Do not sync until the switch is on", NULL},
        {NULL, 0, 0, G_OPTION_ARG_NONE, NULL, NULL, NULL},
    };
    GOptionContext *context = g_option_context_new("- notes that work without a network");
    GError *problem = NULL;
    g_option_context_add_main_entries(context, entries, NULL);
    g_option_context_set_description(
        context, "The environment variable KEDGE_TOKEN, when set, is sent as bearer token.");
    bool fine = g_option_context_parse(context, argc, argv, &problem);
    if (!fine) {
        g_printerr("kedge-desktop: %s; see --help\n", problem->message);
        g_clear_error(&problem);
    } else if (*argc > 1) {
        g_printerr("kedge-desktop: \"%s\" is not an option; see --help\n", (*argv)[1]);
        fine = false;
    } else if (!options->path) {
        g_printerr("kedge-desktop: --data DIR is missing: the folder that keeps this copy\n");
        fine = false;
    }
    g_option_context_free(context);
    options->offline = offline;
    return fine;
}

static void on_activate(GtkApplication *application, gpointer app)
{
    window_show(app, application);
}

int main(int argc, char **argv)
{
    kedge_options options = KEDGE_OPTIONS_INIT;
    options.organization = "demo";
    options.project = "notes";
    options.mutators = notes_mutators;
    options.mutator_count = notes_mutator_count;
    options.dispatch = dispatch_to_main_loop;
    if (getenv("KEDGE_TOKEN")) options.token = token_from_environment;
    if (!parse(&argc, &argv, &options)) return EXIT_USAGE;
    if (!gtk_init_check()) {
        g_printerr(
            "kedge-desktop: there is no display: DISPLAY or WAYLAND_DISPLAY must name one\n");
        return EXIT_FAILED;
    }

    desktop app = {0};
    kedge_error error = {0};
    if (kedge_open(&options, &app.db, &error) != KEDGE_OK) {
        g_printerr("kedge-desktop: %s (%s)\n", error.message, error.code);
        return EXIT_FAILED;
    }
    /* Each copy of the project has a window, so one user runs several. */
    GtkApplication *application = gtk_application_new("dev.kedge.Notes", G_APPLICATION_NON_UNIQUE);
    g_signal_connect(application, "activate", G_CALLBACK(on_activate), &app);
    int result = g_application_run(G_APPLICATION(application), 0, NULL);
    g_object_unref(application);
    (void)kedge_close(app.db);
    window_free(&app);
    dispatch_finish();
    return result;
}
