/* Builds the window, and has the commands with their keys. */
#include "window.h"

#include "editor.h"
#include "edits.h"
#include "history.h"
#include "inbox.h"
#include "marks.h"
#include "note_list.h"
#include "status_bar.h"
#include "style.h"

#include <string.h>

#define TOAST_MS   3500
#define LIST_WIDTH 300

bool desktop_check(desktop *app, kedge_status status, const kedge_error *error)
{
    if (status != KEDGE_OK) desktop_say(app, error->message);
    return status == KEDGE_OK;
}

static gboolean hide_toast(gpointer data)
{
    desktop *app = data;
    app->toast_timer = 0;
    gtk_revealer_set_reveal_child(app->toast_revealer, FALSE);
    return G_SOURCE_REMOVE;
}

void desktop_say(desktop *app, const char *message)
{
    gtk_label_set_text(app->toast, message);
    gtk_revealer_set_reveal_child(app->toast_revealer, TRUE);
    if (app->toast_timer) g_source_remove(app->toast_timer);
    app->toast_timer = g_timeout_add(TOAST_MS, hide_toast, app);
}

void desktop_open_note(desktop *app, const char *id)
{
    char *wanted = g_strdup(id); /* the caller's may go with the row that it stands in */
    history_close(app->history);
    bool other = g_strcmp0(wanted, editor_note(app->editor)) != 0;
    if (editor_commit(app->editor) && other) editor_show(app->editor, wanted);
    gtk_stack_set_visible_child_name(app->pages, "editor");
    note_list_select(app->list, editor_note(app->editor));
    desktop_refresh(app);
    g_free(wanted);
}

static void enable(desktop *app, const char *command, bool enabled)
{
    GAction *action = g_action_map_lookup_action(G_ACTION_MAP(app->window), command);
    g_simple_action_set_enabled(G_SIMPLE_ACTION(action), enabled);
}

void desktop_refresh(desktop *app)
{
    kedge_error error = {0};
    GHashTable *marks = marks_read(app->db, &error);
    if (!marks) {
        desktop_say(app, error.message);
        return;
    }
    note_list_mark(app->list, marks);
    editor_mark(app->editor, marks);
    g_hash_table_unref(marks);
    inbox_refresh(app->inbox);
    kedge_undo_state state = KEDGE_UNDO_STATE_INIT;
    if (desktop_check(app, kedge_get_undo_state(app->db, &state, &error), &error)) {
        enable(app, "undo", state.undo_count > 0);
        enable(app, "redo", state.redo_count > 0);
    }
    enable(app, "history", *editor_note(app->editor) != '\0');
    enable(app, "delete", *editor_note(app->editor) != '\0');
}

/* ---- commands ---- */

static void on_new(GSimpleAction *action, GVariant *parameter, gpointer data)
{
    (void)action;
    (void)parameter;
    desktop *app = data;
    char id[NOTES_ID_SIZE] = "";
    kedge_error error = {0};
    note empty = {"", "", ""};
    if (!editor_commit(app->editor)) return;
    if (!desktop_check(app, edit_add(app->db, id, &empty, &error), &error)) return;
    desktop_open_note(app, id);
    editor_focus_title(app->editor);
}

static void on_delete(GSimpleAction *action, GVariant *parameter, gpointer data)
{
    (void)action;
    (void)parameter;
    desktop *app = data;
    char *id = g_strdup(editor_note(app->editor));
    kedge_error error = {0};
    desktop_open_note(app, NULL);
    if (desktop_check(app, edit_delete(app->db, id, &error), &error))
        desktop_say(app, "Note deleted. Ctrl+Z brings it back.");
    desktop_refresh(app);
    g_free(id);
}

/* What was typed last is a group of its own first. */
static void take_back(desktop *app, const char *done,
                      kedge_status (*step)(kedge_db *, kedge_undo_result *, kedge_error *))
{
    history_close(app->history);
    if (!editor_commit(app->editor)) return;
    kedge_undo_state state = KEDGE_UNDO_STATE_INIT;
    kedge_undo_result result = KEDGE_UNDO_RESULT_INIT;
    kedge_error error = {0};
    bool known = kedge_get_undo_state(app->db, &state, NULL) == KEDGE_OK;
    if (desktop_check(app, step(app->db, &result, &error), &error) && known) {
        char *message = g_strdup_printf(
            "%s: %s%s", done, step == kedge_undo ? state.undo_label : state.redo_label,
            result.kept > 0 ? ". What others have changed since stays." : "");
        desktop_say(app, message);
        g_free(message);
    }
    desktop_refresh(app);
}

static void on_undo(GSimpleAction *action, GVariant *parameter, gpointer data)
{
    (void)action;
    (void)parameter;
    take_back(data, "Undone", kedge_undo);
}

static void on_redo(GSimpleAction *action, GVariant *parameter, gpointer data)
{
    (void)action;
    (void)parameter;
    take_back(data, "Done again", kedge_redo);
}

static void on_toggle_online(GSimpleAction *action, GVariant *parameter, gpointer data)
{
    (void)action;
    (void)parameter;
    status_bar_toggle(((desktop *)data)->status);
}

/* The page of conflicts, or back to the note. */
static void on_inbox(GSimpleAction *action, GVariant *parameter, gpointer data)
{
    (void)action;
    (void)parameter;
    desktop *app = data;
    history_close(app->history);
    bool there = strcmp(gtk_stack_get_visible_child_name(app->pages), "inbox") == 0;
    if (editor_commit(app->editor))
        gtk_stack_set_visible_child_name(app->pages, there ? "editor" : "inbox");
}

/* From the past, or from the conflicts, back to the note. */
static void on_back(GSimpleAction *action, GVariant *parameter, gpointer data)
{
    (void)action;
    (void)parameter;
    desktop *app = data;
    history_close(app->history);
    gtk_stack_set_visible_child_name(app->pages, "editor");
}

static void on_history(GSimpleAction *action, GVariant *parameter, gpointer data)
{
    (void)action;
    (void)parameter;
    desktop *app = data;
    if (history_is_open(app->history)) {
        history_close(app->history);
        editor_focus_text(app->editor);
    } else if (editor_commit(app->editor)) {
        gtk_stack_set_visible_child_name(app->pages, "editor");
        history_open(app->history);
    }
}

static void on_list(GSimpleAction *action, GVariant *parameter, gpointer data)
{
    (void)action;
    (void)parameter;
    note_list_focus(((desktop *)data)->list);
}

static void on_text(GSimpleAction *action, GVariant *parameter, gpointer data)
{
    (void)action;
    (void)parameter;
    editor_focus_text(((desktop *)data)->editor);
}

static const struct {
    const char *name;
    void (*run)(GSimpleAction *action, GVariant *parameter, gpointer data);
    const char *keys[3];
} commands[] = {
    {"new", on_new, {"<Control>n", NULL}},
    {"delete", on_delete, {"<Control>Delete", NULL}},
    {"undo", on_undo, {"<Control>z", NULL}},
    {"redo", on_redo, {"<Control><Shift>z", "<Control>y", NULL}},
    {"online", on_toggle_online, {"<Control><Shift>o", NULL}},
    {"inbox", on_inbox, {"<Control>i", NULL}},
    {"history", on_history, {"<Control>h", NULL}},
    {"back", on_back, {"Escape", NULL}},
    {"list", on_list, {"<Control>l", NULL}},
    {"text", on_text, {"<Control>e", NULL}},
};

static void add_commands(desktop *app, GtkApplication *application)
{
    for (size_t i = 0; i < G_N_ELEMENTS(commands); i++) {
        GSimpleAction *action = g_simple_action_new(commands[i].name, NULL);
        g_signal_connect(action, "activate", G_CALLBACK(commands[i].run), app);
        g_action_map_add_action(G_ACTION_MAP(app->window), G_ACTION(action));
        g_object_unref(action);
        char *name = g_strconcat("win.", commands[i].name, NULL);
        gtk_application_set_accels_for_action(application, name, commands[i].keys);
        g_free(name);
    }
}

/* ---- what the window is made of ---- */

GtkWidget *window_icon_button(const char *icon, const char *tooltip, const char *command)
{
    GtkWidget *button = gtk_button_new_from_icon_name(icon);
    gtk_widget_set_tooltip_text(button, tooltip);
    gtk_widget_add_css_class(button, "flat");
    gtk_actionable_set_action_name(GTK_ACTIONABLE(button), command);
    gtk_accessible_update_property(GTK_ACCESSIBLE(button), GTK_ACCESSIBLE_PROPERTY_LABEL, tooltip,
                                   -1);
    return button;
}

GtkWidget *window_empty_page(const char *icon, const char *heading, const char *hint)
{
    GtkWidget *page = gtk_box_new(GTK_ORIENTATION_VERTICAL, 8);
    GtkWidget *image = gtk_image_new_from_icon_name(icon);
    GtkWidget *title = gtk_label_new(heading);
    GtkWidget *text = gtk_label_new(hint);
    gtk_image_set_pixel_size(GTK_IMAGE(image), 72);
    gtk_widget_set_margin_bottom(image, 10);
    gtk_widget_add_css_class(title, "heading");
    gtk_widget_add_css_class(text, "hint");
    gtk_widget_add_css_class(page, "empty");
    gtk_widget_set_valign(page, GTK_ALIGN_CENTER);
    gtk_widget_set_vexpand(page, TRUE);
    gtk_box_append(GTK_BOX(page), image);
    gtk_box_append(GTK_BOX(page), title);
    gtk_box_append(GTK_BOX(page), text);
    return page;
}

static GtkWidget *new_header(desktop *app)
{
    GtkWidget *header = gtk_header_bar_new();
    GtkWidget *title = gtk_label_new("Notes");
    gtk_widget_add_css_class(title, "window-title");
    gtk_header_bar_set_title_widget(GTK_HEADER_BAR(header), title);
    gtk_header_bar_pack_start(
        GTK_HEADER_BAR(header),
        window_icon_button("list-add-symbolic", "New note (Ctrl+N)", "win.new"));
    gtk_header_bar_pack_start(
        GTK_HEADER_BAR(header),
        window_icon_button("edit-undo-symbolic", "Undo (Ctrl+Z)", "win.undo"));
    gtk_header_bar_pack_start(
        GTK_HEADER_BAR(header),
        window_icon_button("edit-redo-symbolic", "Redo (Ctrl+Shift+Z)", "win.redo"));
    gtk_header_bar_pack_end(GTK_HEADER_BAR(header), inbox_button(app->inbox));
    return header;
}

static GtkWidget *new_toast(desktop *app)
{
    GtkWidget *revealer = gtk_revealer_new();
    GtkWidget *label = gtk_label_new(NULL);
    gtk_label_set_wrap(GTK_LABEL(label), TRUE);
    gtk_label_set_max_width_chars(GTK_LABEL(label), 70);
    gtk_widget_add_css_class(label, "toast");
    gtk_revealer_set_child(GTK_REVEALER(revealer), label);
    gtk_revealer_set_transition_type(GTK_REVEALER(revealer), GTK_REVEALER_TRANSITION_TYPE_SLIDE_UP);
    gtk_widget_set_halign(revealer, GTK_ALIGN_CENTER);
    gtk_widget_set_valign(revealer, GTK_ALIGN_END);
    gtk_widget_set_can_target(revealer, FALSE);
    app->toast = GTK_LABEL(label);
    app->toast_revealer = GTK_REVEALER(revealer);
    return revealer;
}

static GtkWidget *new_panes(desktop *app)
{
    GtkWidget *panes = gtk_paned_new(GTK_ORIENTATION_HORIZONTAL);
    GtkWidget *side = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
    gtk_widget_add_css_class(side, "sidebar");
    gtk_widget_set_size_request(side, LIST_WIDTH * 2 / 3, -1);
    app->pages = GTK_STACK(gtk_stack_new());
    gtk_widget_add_css_class(GTK_WIDGET(app->pages), "page");
    app->editor = editor_new(app);
    app->list = note_list_new(app);
    app->status = status_bar_new(app);
    gtk_box_append(GTK_BOX(side), note_list_widget(app->list));
    gtk_box_append(GTK_BOX(side), status_bar_widget(app->status));
    app->history = history_new(app);
    GtkWidget *open = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
    gtk_box_append(GTK_BOX(open), editor_widget(app->editor));
    gtk_box_append(GTK_BOX(open), history_widget(app->history));
    gtk_stack_add_named(app->pages, open, "editor");
    gtk_stack_add_named(app->pages, inbox_widget(app->inbox), "inbox");
    gtk_paned_set_start_child(GTK_PANED(panes), side);
    gtk_paned_set_end_child(GTK_PANED(panes), GTK_WIDGET(app->pages));
    gtk_paned_set_position(GTK_PANED(panes), LIST_WIDTH);
    gtk_paned_set_resize_start_child(GTK_PANED(panes), FALSE);
    gtk_paned_set_shrink_start_child(GTK_PANED(panes), FALSE);
    gtk_paned_set_shrink_end_child(GTK_PANED(panes), FALSE);
    return panes;
}

/* The window stays once when what was typed cannot be kept; the user was told why. */
static gboolean on_close(GtkWindow *window, gpointer data)
{
    (void)window;
    desktop *app = data;
    if (!editor_commit(app->editor) && !app->closing) {
        app->closing = true;
        return TRUE;
    }
    history_stop(app->history);
    note_list_stop(app->list);
    status_bar_stop(app->status);
    editor_stop(app->editor);
    return FALSE;
}

void window_free(desktop *app)
{
    if (app->toast_timer) g_source_remove(app->toast_timer);
    history_free(app->history);
    note_list_free(app->list);
    status_bar_free(app->status);
    editor_free(app->editor);
    inbox_free(app->inbox);
}

void window_show(desktop *app, GtkApplication *application)
{
    style_load();
    app->window = GTK_WINDOW(gtk_application_window_new(application));
    gtk_window_set_title(app->window, "Notes");
    gtk_window_set_default_size(app->window, 1000, 640);
    app->inbox = inbox_new(app);
    gtk_window_set_titlebar(app->window, new_header(app));
    add_commands(app, application);
    GtkWidget *overlay = gtk_overlay_new();
    gtk_overlay_add_overlay(GTK_OVERLAY(overlay), new_toast(app));
    gtk_overlay_set_child(GTK_OVERLAY(overlay), new_panes(app));
    gtk_window_set_child(app->window, overlay);
    g_signal_connect(app->window, "close-request", G_CALLBACK(on_close), app);
    desktop_refresh(app);
    gtk_window_present(app->window);
}
