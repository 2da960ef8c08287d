/* The style sheet. */
#include "style.h"

#include <gtk/gtk.h>

static const char sheet[] =
    /* the list */
    ".sidebar, .sidebar list { background-color: mix(@theme_bg_color, @theme_base_color, 0.35); }"
    ".sidebar list { padding: 6px 8px 12px 8px; }"
    ".sidebar row { border-radius: 8px; padding: 9px 10px; margin: 1px 0; }"
    ".sidebar row:selected { background-color: alpha(@theme_selected_bg_color, 0.16);"
    "  color: @theme_fg_color; }"
    ".note-title { font-weight: 600; }"
    ".note-preview { font-size: 0.9em; }"
    ".folder-heading { font-size: 0.82em; font-weight: 700; letter-spacing: 0.3px;"
    "  padding: 12px 10px 4px 10px; }"
    ".note-preview, .folder-heading, .hint { color: alpha(@theme_fg_color, 0.62); }"
    /* badges */
    ".badge { border-radius: 999px; padding: 1px 8px; font-size: 0.8em; font-weight: 600;"
    "  letter-spacing: 0.4px; }"
    ".badge.pending { background-color: alpha(#e5a50a, 0.2);"
    "  color: mix(@theme_fg_color, #b5730a, 0.75); }"
    ".badge.rejected { background-color: alpha(#c01c28, 0.14);"
    "  color: mix(@theme_fg_color, #c01c28, 0.8); }"
    /* the open note */
    ".page { background-color: @theme_base_color; }"
    "entry.title { font-size: 1.85em; font-weight: 700; min-height: 46px; }"
    "entry.title, entry.folder { background: none; border: none; box-shadow: none; outline: none;"
    "  padding-left: 0; padding-right: 0; }"
    "entry.folder { min-height: 28px; font-size: 0.95em; }"
    "entry.folder image { margin-right: 7px; color: alpha(@theme_fg_color, 0.6); }"
    "textview, textview text { background: none; font-size: 1.06em; }"
    ".banner { padding: 6px 8px 6px 14px; margin: 8px 0 0 0; border-radius: 8px;"
    "  background-color: alpha(#c01c28, 0.09); }"
    ".history { padding: 10px 14px 12px 30px; border-top: 1px solid alpha(@theme_fg_color, 0.12);"
    "  background-color: mix(@theme_bg_color, @theme_base_color, 0.5); }"
    /* conflicts */
    ".inbox { padding: 32px 40px; }"
    ".inbox > .heading { font-size: 1.85em; font-weight: 700; }"
    ".card { border-radius: 12px; padding: 16px 18px; border: 1px solid alpha(@theme_fg_color, "
    "0.14);"
    "  background-color: mix(@theme_base_color, @theme_bg_color, 0.3); }"
    ".side { border-radius: 8px; padding: 10px 12px; background-color: @theme_base_color;"
    "  border: 1px solid alpha(@theme_fg_color, 0.1); }"
    ".whose { font-size: 0.82em; font-weight: 700; color: alpha(@theme_fg_color, 0.62); }"
    /* empty pages */
    ".empty image { color: alpha(@theme_fg_color, 0.28); }"
    ".empty .heading { font-size: 1.35em; font-weight: 700; }"
    /* the state of sync */
    ".status { padding: 8px 14px; border-top: 1px solid alpha(@theme_fg_color, 0.12); }"
    ".status .dot { min-width: 9px; min-height: 9px; border-radius: 999px;"
    "  background-color: alpha(@theme_fg_color, 0.35); }"
    ".status .dot.online { background-color: #2ea05a; }"
    ".status .dot.connecting { background-color: #e5a50a; }"
    ".status .dot.stopped { background-color: #c01c28; }"
    ".toast { background-color: mix(@theme_fg_color, @theme_base_color, 0.12);"
    "  color: @theme_base_color; border-radius: 999px; padding: 8px 18px; margin: 20px; }"
    "headerbar { background: mix(@theme_bg_color, @theme_base_color, 0.35); box-shadow: none;"
    "  border-bottom: 1px solid alpha(@theme_fg_color, 0.12); }"
    "headerbar .window-title { font-weight: 700; }";

void style_load(void)
{
    GtkCssProvider *provider = gtk_css_provider_new();
    gtk_css_provider_load_from_data(provider, sheet, -1);
    gtk_style_context_add_provider_for_display(gdk_display_get_default(),
                                               GTK_STYLE_PROVIDER(provider),
                                               GTK_STYLE_PROVIDER_PRIORITY_APPLICATION);
    g_object_unref(provider);
}
