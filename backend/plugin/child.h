/* The child's side: what runs in the process that loads the plugin. */
#ifndef KEDGE_BACKEND_PLUGIN_CHILD_H
#define KEDGE_BACKEND_PLUGIN_CHILD_H

#define KEDGE_CHILD_ARGUMENT "--mutator-child"
#define KEDGE_CHILD_SOCKET   3

/* Serves mutations from the socket until its other end closes; returns the exit code. */
int kedge_plugin_child_main(int socket_fd, const char *library_path);

#endif
