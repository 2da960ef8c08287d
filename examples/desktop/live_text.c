/* Applies what differs between the shown text and the new one, last change first, so that no change
 * moves the places of those in front of it. */
#include "live_text.h"

#include "text_diff.h"

char *live_text_of(GtkTextBuffer *buffer)
{
    GtkTextIter start;
    GtkTextIter end;
    gtk_text_buffer_get_bounds(buffer, &start, &end);
    return gtk_text_buffer_get_text(buffer, &start, &end, TRUE);
}

static guint place_of(GtkTextBuffer *buffer, GtkTextMark *mark, const GArray *changes)
{
    GtkTextIter at;
    gtk_text_buffer_get_iter_at_mark(buffer, &at, mark);
    return text_diff_place(changes, (guint)gtk_text_iter_get_offset(&at));
}

void live_text_update(GtkTextBuffer *buffer, const char *text)
{
    char *shown = live_text_of(buffer);
    GArray *changes = text_diff(shown, text);
    guint cursor = place_of(buffer, gtk_text_buffer_get_insert(buffer), changes);
    guint bound = place_of(buffer, gtk_text_buffer_get_selection_bound(buffer), changes);
    GtkTextIter start;
    GtkTextIter end;
    for (guint i = changes->len; i-- > 0;) {
        const text_change *change = &g_array_index(changes, text_change, i);
        gtk_text_buffer_get_iter_at_offset(buffer, &start, (int)change->old_at);
        gtk_text_buffer_get_iter_at_offset(buffer, &end,
                                           (int)(change->old_at + change->old_length));
        gtk_text_buffer_delete(buffer, &start, &end);
        gtk_text_buffer_insert(buffer, &start, change->inserted ? change->inserted : "",
                               (int)change->inserted_bytes);
    }
    if (changes->len > 0) {
        gtk_text_buffer_get_iter_at_offset(buffer, &start, (int)cursor);
        gtk_text_buffer_get_iter_at_offset(buffer, &end, (int)bound);
        gtk_text_buffer_select_range(buffer, &start, &end);
    }
    g_array_unref(changes);
    g_free(shown);
}

void live_line_update(GtkEditable *line, const char *text)
{
    const char *shown = gtk_editable_get_text(line);
    if (g_strcmp0(shown, text) == 0) return;
    char *before = g_strdup(shown);
    GArray *changes = text_diff(before, text);
    guint place = text_diff_place(changes, (guint)gtk_editable_get_position(line));
    gtk_editable_set_text(line, text);
    gtk_editable_set_position(line, (int)place);
    g_array_unref(changes);
    g_free(before);
}
