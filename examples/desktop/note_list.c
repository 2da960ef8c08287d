/* A list that follows a query: each call of the watch tells the rows that differ, and no other row
 * is touched. So the selection, the keyboard and the scroll stay. */
#include "note_list.h"

#include "marks.h"

#include <cjson/cJSON.h>
#include <string.h>

#define PREVIEW_CHARACTERS "120"
#define ROW                "note-row"

struct note_list {
    desktop *app;
    GtkWidget *widget;
    GtkListBox *box;
    GtkStack *pages; /* the list, or what stands there when it is empty */
    char *selected;  /* the id of the open note */
    bool settling;   /* the list changes its own selection */
    kedge_query_watch *watch;
};

/* What a row shows. Belongs to its GtkListBoxRow. */
typedef struct note_row {
    char *id, *folder;
    GtkLabel *title, *preview, *pending, *rejected;
} note_row;

static note_row *row_of(GtkListBoxRow *row)
{
    return row ? g_object_get_data(G_OBJECT(row), ROW) : NULL;
}

static void free_row(gpointer data)
{
    note_row *row = data;
    g_free(row->id);
    g_free(row->folder);
    g_free(row);
}

static GtkLabel *add_label(GtkWidget *box, const char *class)
{
    GtkWidget *label = gtk_label_new(NULL);
    gtk_label_set_xalign(GTK_LABEL(label), 0);
    gtk_label_set_ellipsize(GTK_LABEL(label), PANGO_ELLIPSIZE_END);
    gtk_widget_add_css_class(label, class);
    gtk_box_append(GTK_BOX(box), label);
    return GTK_LABEL(label);
}

static GtkLabel *add_badge(GtkWidget *box, const char *class)
{
    GtkLabel *badge = add_label(box, "badge");
    gtk_widget_add_css_class(GTK_WIDGET(badge), class);
    gtk_label_set_ellipsize(badge, PANGO_ELLIPSIZE_NONE);
    gtk_widget_set_valign(GTK_WIDGET(badge), GTK_ALIGN_CENTER);
    gtk_widget_set_visible(GTK_WIDGET(badge), FALSE);
    return badge;
}

static GtkWidget *new_row(void)
{
    note_row *row = g_new0(note_row, 1);
    GtkWidget *lines = gtk_box_new(GTK_ORIENTATION_VERTICAL, 3);
    GtkWidget *top = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6);
    row->title = add_label(top, "note-title");
    gtk_widget_set_hexpand(GTK_WIDGET(row->title), TRUE);
    row->rejected = add_badge(top, "rejected");
    gtk_label_set_text(row->rejected, "conflict");
    row->pending = add_badge(top, "pending");
    gtk_box_append(GTK_BOX(lines), top);
    row->preview = add_label(lines, "note-preview");
    gtk_label_set_single_line_mode(row->preview, TRUE);
    GtkWidget *widget = gtk_list_box_row_new();
    gtk_list_box_row_set_child(GTK_LIST_BOX_ROW(widget), lines);
    g_object_set_data_full(G_OBJECT(widget), ROW, row, free_row);
    return widget;
}

static const char *column(const cJSON *values, int index)
{
    const char *text = cJSON_GetStringValue(cJSON_GetArrayItem(values, index));
    return text ? text : "";
}

/* The columns: id, title, the start of the text, folder. */
static void fill_row(GtkListBoxRow *widget, const char *json)
{
    note_row *row = row_of(widget);
    cJSON *values = cJSON_Parse(json);
    g_free(row->id);
    g_free(row->folder);
    row->id = g_strdup(column(values, 0));
    row->folder = g_strdup(column(values, 3));
    const char *title = column(values, 1);
    char *preview = g_strdup(column(values, 2));
    g_strdelimit(preview, "\n\r\t", ' ');
    g_strstrip(preview);
    gtk_label_set_text(row->title, *title ? title : "Untitled");
    gtk_label_set_text(row->preview, *preview ? preview : "No text yet");
    g_free(preview);
    cJSON_Delete(values);
}

void note_list_mark(note_list *list, GHashTable *marks)
{
    GtkListBoxRow *widget;
    for (int i = 0; (widget = gtk_list_box_get_row_at_index(list->box, i)) != NULL; i++) {
        const note_row *row = row_of(widget);
        const note_marks *found = g_hash_table_lookup(marks, row->id);
        char *pending = g_strdup_printf("%u pending", found ? found->pending : 0);
        gtk_label_set_text(row->pending, pending);
        gtk_widget_set_visible(GTK_WIDGET(row->pending), found && found->pending > 0);
        gtk_widget_set_visible(GTK_WIDGET(row->rejected), found && found->rejected > 0);
        g_free(pending);
    }
}

static void select_row(note_list *list)
{
    GtkListBoxRow *found = NULL;
    GtkListBoxRow *widget;
    for (int i = 0; (widget = gtk_list_box_get_row_at_index(list->box, i)) != NULL; i++) {
        if (g_strcmp0(row_of(widget)->id, list->selected) == 0) found = widget;
    }
    list->settling = true;
    gtk_list_box_select_row(list->box, found);
    list->settling = false;
}

void note_list_select(note_list *list, const char *id)
{
    char *selected = g_strdup(id);
    g_free(list->selected);
    list->selected = selected;
    select_row(list);
}

void note_list_focus(note_list *list)
{
    GtkListBoxRow *row = gtk_list_box_get_selected_row(list->box);
    gtk_widget_grab_focus(row ? GTK_WIDGET(row) : GTK_WIDGET(list->box));
}

static void on_selected(GtkListBox *box, GtkListBoxRow *row, gpointer data)
{
    (void)box;
    note_list *list = data;
    if (!list->settling && row) desktop_open_note(list->app, row_of(row)->id);
}

/* A click on the note that is open leads back to it from another page. */
static void on_activated(GtkListBox *box, GtkListBoxRow *row, gpointer data)
{
    (void)box;
    note_list *list = data;
    desktop_open_note(list->app, row_of(row)->id);
}

/* A folder's name above its first note. */
static void head_folder(GtkListBoxRow *row, GtkListBoxRow *before, gpointer data)
{
    (void)data;
    const char *folder = row_of(row)->folder;
    if (before && strcmp(row_of(before)->folder, folder) == 0) {
        gtk_list_box_row_set_header(row, NULL);
        return;
    }
    GtkWidget *heading = gtk_label_new(*folder ? folder : "No folder");
    gtk_label_set_xalign(GTK_LABEL(heading), 0);
    gtk_label_set_ellipsize(GTK_LABEL(heading), PANGO_ELLIPSIZE_END);
    gtk_widget_add_css_class(heading, "folder-heading");
    gtk_list_box_row_set_header(row, heading);
}

/* Rows that have other values at the same places are filled again where they are. */
static bool fill_in_place(note_list *list, const kedge_query_changes *changes)
{
    for (size_t i = 0; i < changes->count; i++) {
        if (changes->rows[i].old_position != changes->rows[i].new_position) return false;
    }
    for (size_t i = 0; i < changes->count; i++) {
        fill_row(gtk_list_box_get_row_at_index(list->box, (int)changes->rows[i].new_position),
                 changes->rows[i].new_row);
    }
    return true;
}

/* The rows that leave are looked up before the first one does: old places count in the old list. */
static void move_rows(note_list *list, const kedge_query_changes *changes)
{
    GHashTable *gone = g_hash_table_new(g_direct_hash, g_direct_equal);
    for (size_t i = 0; i < changes->count; i++) {
        if (!changes->rows[i].old_row) continue;
        g_hash_table_add(
            gone, gtk_list_box_get_row_at_index(list->box, (int)changes->rows[i].old_position));
    }
    GHashTableIter iterator;
    gpointer widget = NULL;
    g_hash_table_iter_init(&iterator, gone);
    while (g_hash_table_iter_next(&iterator, &widget, NULL))
        gtk_list_box_remove(list->box, GTK_WIDGET(widget));
    g_hash_table_unref(gone);
    for (size_t i = 0; i < changes->count; i++) {
        if (!changes->rows[i].new_row) continue;
        GtkWidget *row = new_row();
        fill_row(GTK_LIST_BOX_ROW(row), changes->rows[i].new_row);
        gtk_list_box_insert(list->box, row, (int)changes->rows[i].new_position);
    }
}

static void on_changes(void *userdata, const kedge_query_changes *changes)
{
    note_list *list = userdata;
    if (changes->error) {
        desktop_say(list->app, changes->error->message);
        return;
    }
    GtkWidget *focus = gtk_window_get_focus(list->app->window);
    bool focused = focus && gtk_widget_is_ancestor(focus, GTK_WIDGET(list->box));
    list->settling = true;
    if (!fill_in_place(list, changes)) move_rows(list, changes);
    list->settling = false;
    gtk_list_box_invalidate_headers(list->box);
    gtk_stack_set_visible_child_name(list->pages, changes->row_count > 0 ? "list" : "empty");
    select_row(list);
    if (focused) note_list_focus(list);
    desktop_refresh(list->app);
}

static GtkWidget *empty_list(void)
{
    GtkWidget *label = gtk_label_new("No notes yet.\nCtrl+N makes the first one.");
    gtk_label_set_justify(GTK_LABEL(label), GTK_JUSTIFY_CENTER);
    gtk_widget_add_css_class(label, "hint");
    return label;
}

note_list *note_list_new(desktop *app)
{
    static const char sql[] =
        "SELECT id, value ->> 'title', substr(value ->> 'text', 1, " PREVIEW_CHARACTERS "),"
        " value ->> 'folder' FROM notes ORDER BY 4, 2 COLLATE NOCASE, 1";
    note_list *list = g_new0(note_list, 1);
    list->app = app;
    list->box = GTK_LIST_BOX(gtk_list_box_new());
    gtk_list_box_set_selection_mode(list->box, GTK_SELECTION_SINGLE);
    gtk_list_box_set_header_func(list->box, head_folder, NULL, NULL);
    g_signal_connect(list->box, "row-selected", G_CALLBACK(on_selected), list);
    g_signal_connect(list->box, "row-activated", G_CALLBACK(on_activated), list);
    GtkWidget *scroller = gtk_scrolled_window_new();
    gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(scroller), GTK_POLICY_NEVER,
                                   GTK_POLICY_AUTOMATIC);
    gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scroller), GTK_WIDGET(list->box));
    list->pages = GTK_STACK(gtk_stack_new());
    gtk_stack_add_named(list->pages, empty_list(), "empty");
    gtk_stack_add_named(list->pages, scroller, "list");
    gtk_widget_set_vexpand(GTK_WIDGET(list->pages), TRUE);
    list->widget = GTK_WIDGET(list->pages);
    kedge_error error = {0};
    desktop_check(app,
                  kedge_watch_query(app->db, sql, sizeof sql - 1, NULL, 0, on_changes, list, NULL,
                                    &list->watch, &error),
                  &error);
    return list;
}

GtkWidget *note_list_widget(note_list *list)
{
    return list->widget;
}

void note_list_stop(note_list *list)
{
    kedge_query_watch_free(list->watch);
    list->watch = NULL;
    list->settling = true;
}

void note_list_free(note_list *list)
{
    g_free(list->selected);
    g_free(list);
}
