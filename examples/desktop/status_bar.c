/* A dot, a sentence and a switch, which follow the status of sync. The switch turns at once; the
 * dot waits until there is a connection. */
#include "status_bar.h"

struct status_bar {
    desktop *app;
    GtkWidget *widget, *dot;
    GtkLabel *state, *detail;
    GtkSwitch *online;
    bool settling; /* the switch follows the status */
    kedge_sync_watch *watch;
};

static const struct {
    const char *name, *class;
} connections[] = {
    [KEDGE_OFFLINE] = {"Offline", "offline"},
    [KEDGE_FOLLOWER] = {"Another window syncs", "online"},
    [KEDGE_CONNECTING] = {"Connecting…", "connecting"},
    [KEDGE_ONLINE] = {"Online", "online"},
    [KEDGE_STOPPED] = {"Stopped", "stopped"},
};

static void on_status(void *userdata, const kedge_sync_status *status)
{
    status_bar *bar = userdata;
    const char *state[] = {"dot", connections[status->connection].class, NULL};
    gtk_widget_set_css_classes(bar->dot, state);
    gtk_label_set_text(bar->state, connections[status->connection].name);
    char *detail;
    if (status->pending > 0)
        detail = g_strdup_printf("%lld pending", (long long)status->pending);
    else if (status->connection == KEDGE_ONLINE)
        detail = g_strdup_printf("Version %lld", (long long)status->version);
    else
        detail = g_strdup("Nothing pending");
    gtk_label_set_text(bar->detail, detail);
    g_free(detail);
    bool failed = status->last_error.status != KEDGE_OK && status->connection != KEDGE_OFFLINE;
    gtk_widget_set_tooltip_text(bar->widget, failed ? status->last_error.message : NULL);
    bar->settling = true;
    gtk_switch_set_active(bar->online, status->connection != KEDGE_OFFLINE);
    bar->settling = false;
    desktop_refresh(bar->app);
}

static void on_switched(GtkSwitch *online, GParamSpec *property, gpointer data)
{
    (void)property;
    status_bar *bar = data;
    kedge_error error = {0};
    if (bar->settling) return;
    desktop_check(bar->app, kedge_set_online(bar->app->db, gtk_switch_get_active(online), &error),
                  &error);
}

void status_bar_toggle(status_bar *bar)
{
    gtk_switch_set_active(bar->online, !gtk_switch_get_active(bar->online));
}

status_bar *status_bar_new(desktop *app)
{
    status_bar *bar = g_new0(status_bar, 1);
    bar->app = app;
    bar->widget = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 8);
    gtk_widget_add_css_class(bar->widget, "status");
    bar->dot = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0);
    gtk_widget_set_valign(bar->dot, GTK_ALIGN_CENTER);
    bar->state = GTK_LABEL(gtk_label_new(NULL));
    bar->detail = GTK_LABEL(gtk_label_new(NULL));
    gtk_widget_add_css_class(GTK_WIDGET(bar->detail), "hint");
    gtk_widget_set_hexpand(GTK_WIDGET(bar->detail), TRUE);
    gtk_label_set_xalign(bar->detail, 0);
    bar->online = GTK_SWITCH(gtk_switch_new());
    gtk_widget_set_valign(GTK_WIDGET(bar->online), GTK_ALIGN_CENTER);
    gtk_widget_set_tooltip_text(GTK_WIDGET(bar->online), "Sync with the server (Ctrl+Shift+O)");
    gtk_accessible_update_property(GTK_ACCESSIBLE(bar->online), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                   "Online", -1);
    g_signal_connect(bar->online, "notify::active", G_CALLBACK(on_switched), bar);
    GtkWidget *parts[] = {bar->dot, GTK_WIDGET(bar->state), GTK_WIDGET(bar->detail),
                          GTK_WIDGET(bar->online)};
    for (size_t i = 0; i < G_N_ELEMENTS(parts); i++)
        gtk_box_append(GTK_BOX(bar->widget), parts[i]);
    kedge_error error = {0};
    desktop_check(app, kedge_watch_sync_status(app->db, on_status, bar, NULL, &bar->watch, &error),
                  &error);
    return bar;
}

GtkWidget *status_bar_widget(status_bar *bar)
{
    return bar->widget;
}

void status_bar_stop(status_bar *bar)
{
    kedge_sync_watch_free(bar->watch);
    bar->watch = NULL;
    bar->settling = true;
}

void status_bar_free(status_bar *bar)
{
    g_free(bar);
}
