/* What a mutator's process may not do. */
#ifndef KEDGE_BACKEND_PLUGIN_CONFINE_H
#define KEDGE_BACKEND_PLUGIN_CONFINE_H

/* Confines the calling process for good. It gets a limit of memory and of open files, and cannot
 * write to files. It cannot start a process, run another program or leave its process group, so
 * that a kill by the server ends everything that it runs. Threads are allowed. The last three
 * limits need a kernel with system-call filters, on x86-64 or 64-bit ARM. A sanitizer build has
 * neither these three nor the limit of memory. */
void kedge_child_confine(void);

#endif
