/* What a mutator's process may not do. */
#ifndef KEDGE_BACKEND_PLUGIN_CONFINE_H
#define KEDGE_BACKEND_PLUGIN_CONFINE_H

/* For the calling process, for good: it gets a limit of memory and of files, writes to no file,
 * starts no process, becomes no other program and leaves no group of processes, so that what the
 * server kills is all that there is. Threads are allowed. That it starts no process, becomes no
 * other program and leaves no group needs a kernel with filters of system calls, on x86-64 or
 * 64-bit ARM; a sanitizer's build goes without these three, and without the limit of memory. */
void kedge_child_confine(void);

#endif
