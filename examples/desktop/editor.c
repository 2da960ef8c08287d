/* Takes over what is typed as edits of libkedge, and shows what other copies write in the note that
 * is open.
 *
 * `base` is the note as the fields showed it when they last agreed with the database. What differs
 * from it in the fields was typed here; what differs from it in the database was written elsewhere.
 * An edit names its base, so libkedge merges the two. The fields then show what came out. */
#include "editor.h"

#include "edits.h"
#include "inbox.h"
#include "live_text.h"
#include "marks.h"
#include "text_diff.h"
#include "window.h"

#include <string.h>

#define TITLE_CHARACTERS  120
#define ADDED             "added" /* the tag of words that a version has added */
#define FOLDER_CHARACTERS 40

struct editor {
    desktop *app;
    GtkStack *pages; /* the note, or the page for none */
    GtkEditable *title, *folder;
    GtkTextView *view;
    GtkTextBuffer *text;
    GtkLabel *pending;
    GtkWidget *banner; /* there is a conflict */
    char id[NOTES_ID_SIZE];
    note base;
    bool past;    /* the fields show an older version */
    bool loading; /* the fields change because of the database */
    guint pause;  /* the timer of EDITOR_PAUSE_MS, or 0 */
    kedge_watch_token *watch;
};

/* What the fields show. */
static note fields_of(editor *open)
{
    return (note){g_strdup(gtk_editable_get_text(open->title)), live_text_of(open->text),
                  g_strdup(gtk_editable_get_text(open->folder))};
}

static bool equal(const note *a, const note *b)
{
    return strcmp(a->title, b->title) == 0 && strcmp(a->text, b->text) == 0 &&
           strcmp(a->folder, b->folder) == 0;
}

/* Takes `now`, which the fields show from here on; the folder only with `folder`. */
static void settle(editor *open, note *now, bool folder)
{
    open->loading = true;
    live_line_update(open->title, now->title);
    if (folder) live_line_update(open->folder, now->folder);
    live_text_update(open->text, now->text);
    open->loading = false;
    note_clear(&open->base);
    open->base = *now;
}

static void stop_pause(editor *open)
{
    if (open->pause) g_source_remove(open->pause);
    open->pause = 0;
}

/* The note was deleted while somebody typed here: it comes back with what was typed. */
static kedge_status bring_back(editor *open, const note *typed, kedge_error *error)
{
    kedge_status status = edit_add(open->app->db, open->id, typed, error);
    if (status == KEDGE_OK)
        desktop_say(open->app, "Another copy deleted this note while you typed. It is back.");
    return status;
}

/* One edit for each field that differs from the base. */
static kedge_status edit_fields(editor *open, const note *typed, bool folder, kedge_error *error)
{
    kedge_db *db = open->app->db;
    kedge_status status = KEDGE_OK;
    if (strcmp(typed->text, open->base.text) != 0)
        status = edit_merged(db, open->id, "text", open->base.text, typed->text, error);
    if (status == KEDGE_OK && strcmp(typed->title, open->base.title) != 0)
        status = edit_title(db, open->id, open->base.title, typed->title, error);
    if (status == KEDGE_OK && folder && strcmp(typed->folder, open->base.folder) != 0)
        status = edit_folder(db, open->id, typed->folder, error);
    return status;
}

/* A folder counts once its field is left: on the way to it the note must not pass other folders. */
static bool commit(editor *open, bool folder)
{
    stop_pause(open);
    if (*open->id == '\0' || open->past) return true;
    kedge_error error = {0};
    note there;
    note typed = fields_of(open);
    kedge_status status = KEDGE_OK;
    if (!equal(&typed, &open->base)) {
        status = note_read(open->app->db, open->id, &there, &error);
        if (status == KEDGE_OK) {
            note_clear(&there);
            status = edit_fields(open, &typed, folder, &error);
        } else if (status == KEDGE_NOT_FOUND) {
            status = bring_back(open, &typed, &error);
        }
    }
    if (status == KEDGE_OK) status = note_read(open->app->db, open->id, &there, &error);
    if (status == KEDGE_OK) {
        settle(open, &there, folder);
        desktop_refresh(open->app);
    } else if (status == KEDGE_NOT_FOUND) {
        status = KEDGE_OK; /* nothing was typed into a note that is gone */
    }
    note_clear(&typed);
    return desktop_check(open->app, status, &error);
}

bool editor_commit(editor *open)
{
    return commit(open, true);
}

static gboolean on_pause(gpointer data)
{
    editor *open = data;
    open->pause = 0;
    commit(open, false);
    return G_SOURCE_REMOVE;
}

static void on_typed(GtkWidget *field, gpointer data)
{
    (void)field;
    editor *open = data;
    if (open->loading) return;
    stop_pause(open);
    /* Keys that wait come first: a window that could not run for a while has seen no pause. */
    open->pause =
        g_timeout_add_full(G_PRIORITY_DEFAULT_IDLE, EDITOR_PAUSE_MS, on_pause, open, NULL);
}

static void on_entered(GtkWidget *field, gpointer data)
{
    (void)field;
    editor *open = data;
    commit(open, true);
    gtk_widget_grab_focus(GTK_WIDGET(open->view));
}

static void on_left(GtkEventController *controller, gpointer data)
{
    (void)controller;
    commit(data, true);
}

/* Takes over what another copy, an undo or another part of the window has written. */
static void follow(editor *open)
{
    note now;
    kedge_error error = {0};
    kedge_status status = note_read(open->app->db, open->id, &now, &error);
    note typed = fields_of(open);
    bool dirty = !equal(&typed, &open->base);
    note_clear(&typed);
    if (status == KEDGE_OK && (dirty || equal(&now, &open->base))) {
        bool news = !equal(&now, &open->base);
        note_clear(&now);
        if (news) commit(open, false);
    } else if (status == KEDGE_OK) {
        settle(open, &now, true);
    } else if (status == KEDGE_NOT_FOUND && dirty) {
        commit(open, true);
    } else if (status == KEDGE_NOT_FOUND) {
        desktop_say(open->app, "This note was deleted");
        desktop_open_note(open->app, NULL);
    } else {
        desktop_check(open->app, status, &error);
    }
}

static void on_changes(void *userdata, const kedge_change *changes, size_t count)
{
    editor *open = userdata;
    bool mine = count == 0; /* the changes are not listed */
    for (size_t i = 0; i < count; i++) {
        if (strcmp(changes[i].id, open->id) == 0) mine = true;
        if (!changes[i].new_value && changes[i].old_value)
            inbox_remember(open->app->inbox, changes[i].id, changes[i].old_value);
    }
    if (mine && *open->id && !open->past) follow(open);
}

void editor_show(editor *open, const char *id)
{
    note now = {NULL, NULL, NULL};
    kedge_error error = {0};
    stop_pause(open);
    if (id && note_read(open->app->db, id, &now, &error) != KEDGE_OK) {
        desktop_check(open->app, error.status, &error);
        id = NULL;
    }
    g_strlcpy(open->id, id ? id : "", sizeof open->id);
    if (id) {
        open->loading = true; /* another note: its cursor starts at the top */
        gtk_text_buffer_set_text(open->text, "", 0);
        open->loading = false;
        settle(open, &now, true);
    }
    gtk_stack_set_visible_child_name(open->pages, id ? "note" : "none");
}

/* The fields can be read, and typed into unless they show the past. */
static void set_past(editor *open, bool past)
{
    open->past = past;
    gtk_editable_set_editable(open->title, !past);
    gtk_editable_set_editable(open->folder, !past);
    gtk_text_view_set_editable(open->view, !past); /* its cursor stays, for reading */
}

void editor_show_past(editor *open, const note *past, const char *text_before)
{
    GtkTextIter start;
    GtkTextIter end;
    set_past(open, true);
    open->loading = true;
    live_line_update(open->title, past->title);
    live_line_update(open->folder, past->folder);
    live_text_update(open->text, past->text);
    open->loading = false;
    gtk_text_buffer_get_bounds(open->text, &start, &end);
    gtk_text_buffer_remove_tag_by_name(open->text, ADDED, &start, &end);
    GArray *changes = text_diff(text_before, past->text);
    for (guint i = 0; i < changes->len; i++) {
        const text_change *change = &g_array_index(changes, text_change, i);
        gtk_text_buffer_get_iter_at_offset(open->text, &start, (int)change->new_at);
        gtk_text_buffer_get_iter_at_offset(open->text, &end,
                                           (int)(change->new_at + change->new_length));
        gtk_text_buffer_apply_tag_by_name(open->text, ADDED, &start, &end);
    }
    g_array_unref(changes);
}

void editor_show_present(editor *open)
{
    GtkTextIter start;
    GtkTextIter end;
    if (!open->past) return;
    gtk_text_buffer_get_bounds(open->text, &start, &end);
    gtk_text_buffer_remove_tag_by_name(open->text, ADDED, &start, &end);
    open->loading = true; /* what was typed is an edit already, and the base has it */
    live_line_update(open->title, open->base.title);
    live_line_update(open->folder, open->base.folder);
    live_text_update(open->text, open->base.text);
    open->loading = false;
    set_past(open, false);
    if (*open->id) follow(open);
}

const char *editor_note(const editor *open)
{
    return open->id;
}

void editor_mark(editor *open, GHashTable *marks)
{
    const note_marks *found = g_hash_table_lookup(marks, open->id);
    char *pending = g_strdup_printf("%u pending", found ? found->pending : 0);
    gtk_label_set_text(open->pending, pending);
    gtk_widget_set_visible(GTK_WIDGET(open->pending), found && found->pending > 0);
    gtk_widget_set_visible(open->banner, found && found->rejected > 0);
    g_free(pending);
}

void editor_focus_title(editor *open)
{
    gtk_widget_grab_focus(GTK_WIDGET(open->title));
    gtk_editable_select_region(open->title, 0, -1);
}

void editor_focus_text(editor *open)
{
    gtk_widget_grab_focus(GTK_WIDGET(open->view));
}

static GtkEditable *new_line(editor *open, const char *class, const char *placeholder, int max)
{
    GtkWidget *line = gtk_entry_new();
    gtk_widget_add_css_class(line, class);
    gtk_entry_set_placeholder_text(GTK_ENTRY(line), placeholder);
    gtk_entry_set_max_length(GTK_ENTRY(line), max);
    gtk_editable_set_enable_undo(GTK_EDITABLE(line), FALSE);
    gtk_accessible_update_property(GTK_ACCESSIBLE(line), GTK_ACCESSIBLE_PROPERTY_LABEL, placeholder,
                                   -1);
    g_signal_connect(line, "changed", G_CALLBACK(on_typed), open);
    g_signal_connect(line, "activate", G_CALLBACK(on_entered), open);
    GtkEventController *focus = gtk_event_controller_focus_new();
    g_signal_connect(focus, "leave", G_CALLBACK(on_left), open);
    gtk_widget_add_controller(line, focus);
    return GTK_EDITABLE(line);
}

static GtkLabel *new_badge(const char *text, const char *class)
{
    GtkWidget *badge = gtk_label_new(text);
    gtk_widget_add_css_class(badge, "badge");
    gtk_widget_add_css_class(badge, class);
    gtk_widget_set_valign(badge, GTK_ALIGN_CENTER);
    gtk_widget_set_visible(badge, FALSE);
    return GTK_LABEL(badge);
}

/* The folder, the badges, and what can be done with the note. */
static GtkWidget *new_tools(editor *open)
{
    GtkWidget *tools = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 8);
    open->folder = new_line(open, "folder", "Folder", FOLDER_CHARACTERS);
    gtk_entry_set_icon_from_icon_name(GTK_ENTRY(open->folder), GTK_ENTRY_ICON_PRIMARY,
                                      "folder-symbolic");
    gtk_editable_set_max_width_chars(open->folder, 18);
    open->pending = new_badge(NULL, "pending");
    GtkWidget *space = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0);
    gtk_widget_set_hexpand(space, TRUE);
    gtk_box_append(GTK_BOX(tools), GTK_WIDGET(open->folder));
    gtk_box_append(GTK_BOX(tools), GTK_WIDGET(open->pending));
    gtk_box_append(GTK_BOX(tools), space);
    gtk_box_append(GTK_BOX(tools), window_icon_button("document-open-recent-symbolic",
                                                      "History (Ctrl+H)", "win.history"));
    gtk_box_append(GTK_BOX(tools),
                   window_icon_button("user-trash-symbolic", "Delete this note", "win.delete"));
    return tools;
}

static GtkWidget *new_banner(void)
{
    GtkWidget *banner = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 8);
    gtk_widget_add_css_class(banner, "banner");
    GtkWidget *label = gtk_label_new("The server could not take an edit of this note.");
    gtk_label_set_xalign(GTK_LABEL(label), 0);
    gtk_label_set_ellipsize(GTK_LABEL(label), PANGO_ELLIPSIZE_END);
    gtk_widget_set_hexpand(label, TRUE);
    GtkWidget *button = gtk_button_new_with_label("Resolve…");
    gtk_actionable_set_action_name(GTK_ACTIONABLE(button), "win.inbox");
    gtk_box_append(GTK_BOX(banner), label);
    gtk_box_append(GTK_BOX(banner), button);
    gtk_widget_set_visible(banner, FALSE);
    return banner;
}

static GtkWidget *new_text(editor *open)
{
    open->view = GTK_TEXT_VIEW(gtk_text_view_new());
    open->text = gtk_text_view_get_buffer(open->view);
    gtk_text_buffer_set_enable_undo(open->text, FALSE);
    gtk_text_buffer_create_tag(open->text, ADDED, "background", "rgba(46,160,90,0.22)", NULL);
    gtk_text_view_set_wrap_mode(open->view, GTK_WRAP_WORD_CHAR);
    gtk_text_view_set_pixels_below_lines(open->view, 3);
    gtk_text_view_set_pixels_inside_wrap(open->view, 3);
    gtk_text_view_set_bottom_margin(open->view, 24);
    gtk_text_view_set_accepts_tab(open->view, FALSE);
    gtk_accessible_update_property(GTK_ACCESSIBLE(open->view), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                   "Text", -1);
    g_signal_connect(open->text, "changed", G_CALLBACK(on_typed), open);
    GtkWidget *scroller = gtk_scrolled_window_new();
    gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scroller), GTK_WIDGET(open->view));
    gtk_widget_set_vexpand(scroller, TRUE);
    return scroller;
}

editor *editor_new(desktop *app)
{
    editor *open = g_new0(editor, 1);
    open->app = app;
    open->base = (note){g_strdup(""), g_strdup(""), g_strdup("")};
    GtkWidget *page = gtk_box_new(GTK_ORIENTATION_VERTICAL, 6);
    gtk_widget_set_margin_start(page, 44);
    gtk_widget_set_margin_end(page, 32);
    gtk_widget_set_margin_top(page, 26);
    open->title = new_line(open, "title", "Title", TITLE_CHARACTERS);
    gtk_box_append(GTK_BOX(page), GTK_WIDGET(open->title));
    gtk_box_append(GTK_BOX(page), new_tools(open));
    open->banner = new_banner();
    gtk_box_append(GTK_BOX(page), open->banner);
    GtkWidget *text = new_text(open);
    gtk_widget_set_margin_top(text, 14);
    gtk_box_append(GTK_BOX(page), text);
    open->pages = GTK_STACK(gtk_stack_new());
    gtk_stack_add_named(open->pages,
                        window_empty_page("document-edit-symbolic", "No note is open",
                                          "Choose one from the list, or make a new one."),
                        "none");
    gtk_stack_add_named(open->pages, page, "note");
    gtk_widget_set_vexpand(GTK_WIDGET(open->pages), TRUE);
    kedge_error error = {0};
    desktop_check(app, kedge_watch(app->db, "notes", on_changes, open, NULL, &open->watch, &error),
                  &error);
    return open;
}

GtkWidget *editor_widget(editor *open)
{
    return GTK_WIDGET(open->pages);
}

void editor_stop(editor *open)
{
    stop_pause(open);
    kedge_watch_free(open->watch);
    open->watch = NULL;
    open->id[0] = '\0';
}

void editor_free(editor *open)
{
    note_clear(&open->base);
    g_free(open);
}
