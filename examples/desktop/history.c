/* The slider. The versions are read in GIO's pool of threads, since that waits for the server. The
 * app starts no thread: the result comes back to the main loop, as libkedge's callbacks do. */
#include "history.h"

#include "editor.h"
#include "replay.h"
#include "window.h"

struct history {
    desktop *app;
    GtkWidget *widget; /* a revealer */
    GtkStack *pages;   /* the slider, or what stands there while there is none */
    GtkScale *scale;
    GtkLabel *caption, *hint;
    GtkWidget *restore;
    GPtrArray *versions; /* note_version; NULL: not there yet */
    GCancellable *cancel;
    bool open;
    guint reading; /* tasks that have not come back */
};

/* What a task reads. It has its own copy of the id, and borrows the database. */
typedef struct reading {
    kedge_db *db;
    char *id;
    kedge_error error;
} reading;

static void free_reading(gpointer data)
{
    reading *asked = data;
    g_free(asked->id);
    g_free(asked);
}

static void free_versions(gpointer data)
{
    if (data) g_ptr_array_unref(data);
}

static void read_versions(GTask *task, gpointer source, gpointer data, GCancellable *cancel)
{
    (void)source;
    reading *asked = data;
    g_task_return_pointer(task, replay_note(asked->db, asked->id, cancel, &asked->error),
                          free_versions);
}

static char *when(int64_t created_ms)
{
    GDateTime *at = g_date_time_new_from_unix_local(created_ms / 1000);
    char *text = at ? g_date_time_format(at, "%e %b %Y, %H:%M:%S") : NULL;
    if (at) g_date_time_unref(at);
    return text ? g_strstrip(text) : g_strdup("");
}

/* The version under the slider. */
static const note_version *shown(const history *past, guint *place)
{
    *place = (guint)gtk_range_get_value(GTK_RANGE(past->scale));
    *place = MIN(*place, past->versions->len - 1);
    return g_ptr_array_index(past->versions, *place);
}

static void show_version(history *past)
{
    guint place = 0;
    const note_version *version = shown(past, &place);
    const note_version *before = place > 0 ? g_ptr_array_index(past->versions, place - 1) : NULL;
    char *time = when(version->created_ms);
    char *caption =
        g_strdup_printf("Version %lld  ·  %s  ·  %s  ·  %s", (long long)version->version,
                        version->what, version->own ? "this copy" : "another copy", time);
    gtk_label_set_text(past->caption, caption);
    gtk_widget_set_sensitive(past->restore, !version->deleted && place + 1 < past->versions->len);
    editor_show_past(past->app->editor, &version->value, before ? before->value.text : "");
    g_free(caption);
    g_free(time);
}

static void on_moved(GtkRange *range, gpointer data)
{
    (void)range;
    history *past = data;
    if (past->open && past->versions) show_version(past);
}

static void say(history *past, const char *text)
{
    gtk_label_set_text(past->hint, text);
    gtk_stack_set_visible_child_name(past->pages, "hint");
}

static void on_read(GObject *source, GAsyncResult *result, gpointer data)
{
    (void)source;
    history *past = data;
    GTask *task = G_TASK(result);
    const reading *asked = g_task_get_task_data(task);
    GPtrArray *versions = g_task_propagate_pointer(task, NULL);
    past->reading--;
    if (g_cancellable_is_cancelled(g_task_get_cancellable(task))) {
        free_versions(versions);
        return;
    }
    if (!versions) {
        say(past, asked->error.message);
        return;
    }
    past->versions = versions;
    if (versions->len == 0) {
        say(past, "The server has no version of this note yet.");
        return;
    }
    double last = versions->len - 1;
    gtk_range_set_range(GTK_RANGE(past->scale), 0, MAX(last, 1));
    gtk_widget_set_sensitive(GTK_WIDGET(past->scale), versions->len > 1);
    gtk_scale_clear_marks(past->scale);
    for (guint i = 0; i < versions->len && versions->len <= 50; i++)
        gtk_scale_add_mark(past->scale, i, GTK_POS_BOTTOM, NULL);
    gtk_range_set_value(GTK_RANGE(past->scale), versions->len > 1 ? last : 1);
    gtk_stack_set_visible_child_name(past->pages, "slider");
    gtk_widget_grab_focus(GTK_WIDGET(past->scale));
    show_version(past);
}

void history_open(history *past)
{
    history_close(past);
    past->open = true;
    past->cancel = g_cancellable_new();
    say(past, "Asking the server for the versions…");
    gtk_revealer_set_reveal_child(GTK_REVEALER(past->widget), TRUE);
    reading *asked = g_new0(reading, 1);
    asked->db = past->app->db;
    asked->id = g_strdup(editor_note(past->app->editor));
    GTask *task = g_task_new(NULL, past->cancel, on_read, past);
    g_task_set_check_cancellable(task, FALSE); /* the result would be lost, and on_read not count */
    g_task_set_task_data(task, asked, free_reading);
    past->reading++;
    g_task_run_in_thread(task, read_versions);
    g_object_unref(task);
}

void history_close(history *past)
{
    if (!past->open) return;
    past->open = false;
    history_stop(past);
    g_clear_object(&past->cancel);
    g_clear_pointer(&past->versions, g_ptr_array_unref);
    gtk_revealer_set_reveal_child(GTK_REVEALER(past->widget), FALSE);
    editor_show_present(past->app->editor);
}

bool history_is_open(const history *past)
{
    return past->open;
}

void history_restore(history *past)
{
    guint place = 0;
    kedge_error error = {0};
    if (!past->versions || past->versions->len == 0) return;
    const note_version *version = shown(past, &place);
    desktop *app = past->app;
    if (version->deleted) return;
    if (desktop_check(app, edit_restore(app->db, editor_note(app->editor), &version->value, &error),
                      &error)) {
        char *message =
            g_strdup_printf("The note is as it was in version %lld", (long long)version->version);
        desktop_say(app, message);
        g_free(message);
        history_close(past);
    }
    desktop_refresh(app);
}

static GtkWidget *new_slider(history *past)
{
    GtkWidget *page = gtk_box_new(GTK_ORIENTATION_VERTICAL, 2);
    GtkWidget *row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 8);
    past->scale = GTK_SCALE(gtk_scale_new_with_range(GTK_ORIENTATION_HORIZONTAL, 0, 1, 1));
    gtk_scale_set_draw_value(past->scale, FALSE);
    gtk_scale_set_digits(past->scale, 0);
    gtk_range_set_increments(GTK_RANGE(past->scale), 1, 1);
    gtk_accessible_update_property(GTK_ACCESSIBLE(past->scale), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                   "Versions", -1);
    g_signal_connect(past->scale, "value-changed", G_CALLBACK(on_moved), past);
    past->caption = GTK_LABEL(gtk_label_new(NULL));
    gtk_label_set_xalign(past->caption, 0);
    gtk_widget_set_margin_start(GTK_WIDGET(past->caption), 14); /* below the start of the slider */
    gtk_label_set_ellipsize(past->caption, PANGO_ELLIPSIZE_END);
    gtk_widget_set_hexpand(GTK_WIDGET(past->caption), TRUE);
    past->restore = gtk_button_new_with_label("Restore");
    gtk_widget_set_tooltip_text(past->restore, "Make the note as it was in this version");
    g_signal_connect_swapped(past->restore, "clicked", G_CALLBACK(history_restore), past);
    gtk_box_append(GTK_BOX(row), GTK_WIDGET(past->caption));
    gtk_box_append(GTK_BOX(row), past->restore);
    gtk_box_append(GTK_BOX(page), GTK_WIDGET(past->scale));
    gtk_box_append(GTK_BOX(page), row);
    return page;
}

history *history_new(desktop *app)
{
    history *past = g_new0(history, 1);
    past->app = app;
    past->widget = gtk_revealer_new();
    GtkWidget *bar = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 8);
    gtk_widget_add_css_class(bar, "history");
    past->pages = GTK_STACK(gtk_stack_new());
    past->hint = GTK_LABEL(gtk_label_new(NULL));
    gtk_label_set_xalign(past->hint, 0);
    gtk_label_set_wrap(past->hint, TRUE);
    gtk_widget_add_css_class(GTK_WIDGET(past->hint), "hint");
    gtk_stack_add_named(past->pages, GTK_WIDGET(past->hint), "hint");
    gtk_stack_add_named(past->pages, new_slider(past), "slider");
    gtk_widget_set_hexpand(GTK_WIDGET(past->pages), TRUE);
    GtkWidget *close =
        window_icon_button("window-close-symbolic", "Back to the present (Ctrl+H)", "win.history");
    gtk_widget_set_valign(close, GTK_ALIGN_START);
    gtk_box_append(GTK_BOX(bar), GTK_WIDGET(past->pages));
    gtk_box_append(GTK_BOX(bar), close);
    gtk_revealer_set_child(GTK_REVEALER(past->widget), bar);
    gtk_revealer_set_transition_type(GTK_REVEALER(past->widget),
                                     GTK_REVEALER_TRANSITION_TYPE_SLIDE_UP);
    return past;
}

GtkWidget *history_widget(history *past)
{
    return past->widget;
}

void history_stop(history *past)
{
    if (past->cancel) g_cancellable_cancel(past->cancel);
}

void history_free(history *past)
{
    while (past->reading > 0)
        g_main_context_iteration(NULL, TRUE);
    g_clear_object(&past->cancel);
    g_clear_pointer(&past->versions, g_ptr_array_unref);
    g_free(past);
}
