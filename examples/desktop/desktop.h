/* The notes app as a window: GTK 4 around libkedge, on the same projects as the terminal app.
 *
 *   main.c        options, opening the copy, the end
 *   dispatch.c    libkedge's callbacks run in GLib's main loop
 *   window.c      the header bar, the panes, the commands with their keys
 *   note_list.c   the list: follows a query, and has a badge for what is pending and rejected
 *   editor.c      the open note: takes over what is typed, and what other copies write
 *   status_bar.c  the connection and the switch for it
 *   inbox.c       the page of conflicts
 *   conflict.c    what a conflict is: mine, theirs, and the ways out of it
 *   history.c     the slider over the versions of the open note
 *   replay.c      the versions of a note, made again from the project's history
 *   edits.c       what each edit does
 *   marks.c       which notes have pending and rejected edits
 *   live_text.c   fields that take over another text while somebody types in them
 *   text_diff.c   what differs between two texts, and where the cursor belongs
 *   style.c       how it looks
 *
 * All of it runs on one thread. libkedge's worker hands its callbacks to that thread. */
#ifndef DESKTOP_H
#define DESKTOP_H

#include <gtk/gtk.h>
#include <kedge/kedge.h>

typedef struct editor editor;
typedef struct history history;
typedef struct inbox inbox;
typedef struct note_list note_list;
typedef struct status_bar status_bar;

/* The window and what is in it. */
typedef struct desktop {
    kedge_db *db;
    GtkWindow *window;
    GtkStack *pages; /* beside the list */
    GtkLabel *toast;
    GtkRevealer *toast_revealer;
    guint toast_timer;
    bool closing; /* the user has tried to close it, and what was typed could not be kept */
    note_list *list;
    editor *editor;
    history *history;
    inbox *inbox;
    status_bar *status;
} desktop;

/* Builds the window around the open database, and shows it. */
void window_show(desktop *app, GtkApplication *application);
/* Frees what belongs to the window, after it was closed and the database, too. */
void window_free(desktop *app);

/* Shows a note, or the page for none with `id` NULL. What was typed before is taken over first. */
void desktop_open_note(desktop *app, const char *id);
/* Tells the user something in passing. */
void desktop_say(desktop *app, const char *message);
/* Tells why something failed; does nothing for KEDGE_OK. True for KEDGE_OK. */
bool desktop_check(desktop *app, kedge_status status, const kedge_error *error);
/* Marks, and the commands that can be used, follow what the database says. */
void desktop_refresh(desktop *app);

#endif
