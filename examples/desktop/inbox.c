/* Cards for the rejected edits. They are built again only when something on them is different, so
 * that the keyboard stays where it is. */
#include "inbox.h"

#include "conflict.h"
#include "text_diff.h"
#include "window.h"

#include <string.h>

#define DELETED_MAX 256 /* notes that are remembered */
#define LINES_MAX   8   /* of a value on a card */

struct inbox {
    desktop *app;
    GtkStack *pages;
    GtkBox *cards;
    GtkWidget *button;
    GtkLabel *count;
    GHashTable *deleted; /* id -> JSON */
    GPtrArray *shown;    /* conflict */
    char *signature;     /* of what the cards show */
};

typedef enum way { TAKE_THEIRS, TAKE_MINE, MERGE } way;

/* The words of `value` that `other` lacks stand out. */
static PangoAttrList *emphasis(const char *other, const char *value)
{
    PangoAttrList *list = pango_attr_list_new();
    GArray *changes = text_diff(other, value);
    for (guint i = 0; i < changes->len; i++) {
        const text_change *change = &g_array_index(changes, text_change, i);
        if (change->new_length == 0) continue;
        PangoAttribute *bold = pango_attr_weight_new(PANGO_WEIGHT_BOLD);
        bold->start_index = (guint)(change->inserted - value);
        bold->end_index = bold->start_index + (guint)change->inserted_bytes;
        pango_attr_list_insert(list, bold);
    }
    g_array_unref(changes);
    return list;
}

static GtkWidget *new_label(const char *text, const char *class)
{
    GtkWidget *label = gtk_label_new(text);
    gtk_label_set_xalign(GTK_LABEL(label), 0);
    gtk_label_set_wrap(GTK_LABEL(label), TRUE);
    gtk_label_set_wrap_mode(GTK_LABEL(label), PANGO_WRAP_WORD_CHAR);
    if (class) gtk_widget_add_css_class(label, class);
    return label;
}

/* One side of a conflict. `value` NULL: there is none. */
static GtkWidget *new_side(const char *whose, const char *value, const char *other,
                           const char *none)
{
    GtkWidget *side = gtk_box_new(GTK_ORIENTATION_VERTICAL, 4);
    gtk_widget_add_css_class(side, "side");
    gtk_box_append(GTK_BOX(side), new_label(whose, "whose"));
    GtkWidget *label = new_label(value && *value ? value : none, value && *value ? NULL : "hint");
    gtk_label_set_lines(GTK_LABEL(label), LINES_MAX);
    gtk_label_set_ellipsize(GTK_LABEL(label), PANGO_ELLIPSIZE_END);
    if (value && other) {
        PangoAttrList *attributes = emphasis(other, value);
        gtk_label_set_attributes(GTK_LABEL(label), attributes);
        pango_attr_list_unref(attributes);
    }
    gtk_box_append(GTK_BOX(side), label);
    return side;
}

/* ---- what the buttons do ---- */

static void settle(inbox *box, const conflict *of, way chosen)
{
    static const char *const done[] = {"Theirs stays", "Yours is in", "Both are in"};
    desktop *app = box->app;
    char into[NOTES_ID_SIZE] = "";
    kedge_error error = {0};
    kedge_status status = chosen == TAKE_THEIRS ? conflict_take_theirs(app->db, of, &error)
                          : chosen == TAKE_MINE ? conflict_take_mine(app->db, of, &error)
                                                : conflict_merge(app->db, of, into, &error);
    if (!desktop_check(app, status, &error)) return;
    char *message = g_strdup_printf("%s: “%s”", done[chosen], of->name);
    desktop_say(app, message);
    g_free(message);
    if (*into) desktop_open_note(app, into);
    desktop_refresh(app);
}

/* The place of the card, and the way. */
typedef struct choice {
    inbox *box;
    guint place;
    way chosen;
} choice;

/* Not inside of the signal, whose button goes with the card. */
static gboolean run_choice(gpointer data)
{
    const choice *made = data;
    if (made->place < made->box->shown->len)
        settle(made->box, g_ptr_array_index(made->box->shown, made->place), made->chosen);
    return G_SOURCE_REMOVE;
}

static void on_clicked(GtkButton *button, gpointer data)
{
    (void)button;
    choice *made = g_new(choice, 1);
    *made = *(choice *)data;
    g_idle_add_full(G_PRIORITY_DEFAULT, run_choice, made, g_free);
}

static void free_choice(gpointer data, GClosure *closure)
{
    (void)closure;
    g_free(data);
}

static GtkWidget *new_choice(inbox *box, guint place, way chosen, const char *text,
                             const char *tooltip)
{
    GtkWidget *button = gtk_button_new_with_mnemonic(text);
    gtk_widget_set_tooltip_text(button, tooltip);
    choice *made = g_new(choice, 1);
    *made = (choice){box, place, chosen};
    g_signal_connect_data(button, "clicked", G_CALLBACK(on_clicked), made, free_choice, 0);
    return button;
}

static GtkWidget *new_choices(inbox *box, guint place, const conflict *of)
{
    const char *put_back =
        of->theirs ? "Put what you wrote in its place" : "Bring the note back, as you wrote it";
    GtkBox *choices = GTK_BOX(gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 8));
    gtk_widget_set_halign(GTK_WIDGET(choices), GTK_ALIGN_END);
    gtk_box_append(choices,
                   new_choice(box, place, TAKE_THEIRS, "Take _theirs",
                              of->theirs ? "Keep what is there" : "The note stays deleted"));
    if (conflict_can_merge(of)) {
        gtk_box_append(choices, new_choice(box, place, MERGE, "Mer_ge",
                                           of->theirs ? "Put the words of both together"
                                                      : "What you wrote becomes a new note"));
    }
    GtkWidget *mine = new_choice(box, place, TAKE_MINE, "Take _mine",
                                 of->field == CONFLICT_OTHER ? "Try the edit once more" : put_back);
    gtk_widget_add_css_class(mine, "suggested-action");
    gtk_box_append(choices, mine);
    return GTK_WIDGET(choices);
}

/* ---- the cards ---- */

static GtkWidget *new_card(inbox *box, guint place, const conflict *of)
{
    static const char *const fields[] = {"Title", "Text", "Folder", "Edit"};
    GtkWidget *card = gtk_box_new(GTK_ORIENTATION_VERTICAL, 10);
    gtk_widget_add_css_class(card, "card");
    GtkWidget *top = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 8);
    GtkWidget *name = new_label(of->name, "note-title");
    gtk_widget_set_hexpand(name, TRUE);
    GtkWidget *field = gtk_label_new(fields[of->field]);
    gtk_widget_add_css_class(field, "badge");
    gtk_widget_add_css_class(field, "rejected");
    gtk_widget_set_valign(field, GTK_ALIGN_CENTER);
    gtk_box_append(GTK_BOX(top), name);
    gtk_box_append(GTK_BOX(top), field);
    GtkWidget *sides = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 10);
    gtk_box_set_homogeneous(GTK_BOX(sides), TRUE);
    gtk_box_append(GTK_BOX(sides), new_side("Mine", of->mine, of->theirs, "Empty"));
    gtk_box_append(GTK_BOX(sides),
                   new_side("Theirs", of->theirs, of->field == CONFLICT_OTHER ? NULL : of->mine,
                            !of->theirs                   ? "The note was deleted"
                            : of->field == CONFLICT_OTHER ? "What is there stays"
                                                          : "Empty"));
    gtk_box_append(GTK_BOX(card), top);
    gtk_box_append(GTK_BOX(card), new_label(of->reason, "hint"));
    gtk_box_append(GTK_BOX(card), sides);
    gtk_box_append(GTK_BOX(card), new_choices(box, place, of));
    return card;
}

static char *signature_of(const GPtrArray *conflicts)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < conflicts->len; i++) {
        const conflict *of = g_ptr_array_index(conflicts, i);
        g_string_append_printf(text, "%s\x1f%d\x1f%u\x1f%s\x1f%s\x1f%s\x1e", of->note, of->field,
                               of->sequences->len, of->name, of->mine,
                               of->theirs ? of->theirs : "\x1d");
    }
    return g_string_free(text, FALSE);
}

void inbox_refresh(inbox *box)
{
    kedge_error error = {0};
    GPtrArray *conflicts = conflicts_read(box->app->db, box->deleted, &error);
    if (!conflicts) {
        desktop_say(box->app, error.message);
        return;
    }
    char *signature = signature_of(conflicts);
    g_ptr_array_unref(box->shown);
    box->shown = conflicts;
    if (strcmp(signature, box->signature) == 0) {
        g_free(signature);
        return;
    }
    g_free(box->signature);
    box->signature = signature;
    GtkWidget *child;
    while ((child = gtk_widget_get_first_child(GTK_WIDGET(box->cards))) != NULL)
        gtk_box_remove(box->cards, child);
    for (guint i = 0; i < conflicts->len; i++)
        gtk_box_append(box->cards, new_card(box, i, g_ptr_array_index(conflicts, i)));
    gtk_stack_set_visible_child_name(box->pages, conflicts->len > 0 ? "cards" : "none");
    char *count = g_strdup_printf("%u", conflicts->len);
    gtk_label_set_text(box->count, count);
    gtk_widget_set_visible(GTK_WIDGET(box->count), conflicts->len > 0);
    g_free(count);
}

void inbox_remember(inbox *box, const char *id, const char *json)
{
    if (g_hash_table_size(box->deleted) >= DELETED_MAX) g_hash_table_remove_all(box->deleted);
    g_hash_table_replace(box->deleted, g_strdup(id), g_strdup(json));
}

static GtkWidget *new_button(inbox *box)
{
    GtkWidget *content = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6);
    box->count = GTK_LABEL(gtk_label_new("0"));
    gtk_widget_add_css_class(GTK_WIDGET(box->count), "badge");
    gtk_widget_add_css_class(GTK_WIDGET(box->count), "rejected");
    gtk_widget_set_valign(GTK_WIDGET(box->count), GTK_ALIGN_CENTER);
    gtk_widget_set_visible(GTK_WIDGET(box->count), FALSE);
    gtk_box_append(GTK_BOX(content), gtk_image_new_from_icon_name("mail-unread-symbolic"));
    gtk_box_append(GTK_BOX(content), GTK_WIDGET(box->count));
    GtkWidget *button =
        window_icon_button("mail-unread-symbolic", "Conflicts (Ctrl+I)", "win.inbox");
    gtk_button_set_child(GTK_BUTTON(button), content);
    return button;
}

inbox *inbox_new(desktop *app)
{
    inbox *box = g_new0(inbox, 1);
    box->app = app;
    box->deleted = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    box->shown = g_ptr_array_new();
    box->signature = g_strdup("");
    box->button = new_button(box);
    GtkWidget *page = gtk_box_new(GTK_ORIENTATION_VERTICAL, 4);
    gtk_widget_add_css_class(page, "inbox");
    gtk_box_append(GTK_BOX(page), new_label("Conflicts", "heading"));
    gtk_box_append(
        GTK_BOX(page),
        new_label("The server could not take these edits. None of them is lost: say what "
                  "becomes of each.",
                  "hint"));
    box->cards = GTK_BOX(gtk_box_new(GTK_ORIENTATION_VERTICAL, 14));
    gtk_widget_set_margin_top(GTK_WIDGET(box->cards), 14);
    gtk_box_append(GTK_BOX(page), GTK_WIDGET(box->cards));
    GtkWidget *scroller = gtk_scrolled_window_new();
    gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(scroller), GTK_POLICY_NEVER,
                                   GTK_POLICY_AUTOMATIC);
    gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scroller), page);
    box->pages = GTK_STACK(gtk_stack_new());
    gtk_stack_add_named(box->pages,
                        window_empty_page("emblem-ok-symbolic", "No conflicts",
                                          "An edit that the server cannot take waits here."),
                        "none");
    gtk_stack_add_named(box->pages, scroller, "cards");
    return box;
}

GtkWidget *inbox_widget(inbox *box)
{
    return GTK_WIDGET(box->pages);
}

GtkWidget *inbox_button(inbox *box)
{
    return box->button;
}

void inbox_free(inbox *box)
{
    g_hash_table_unref(box->deleted);
    g_ptr_array_unref(box->shown);
    g_free(box->signature);
    g_free(box);
}
