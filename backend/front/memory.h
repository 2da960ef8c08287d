/* The memory of a program of the backend: what was freed goes back to the system. */
#ifndef KEDGE_BACKEND_FRONT_MEMORY_H
#define KEDGE_BACKEND_FRONT_MEMORY_H

/* Once, when the program starts. */
void kedge_memory_begin(void);
/* Gives back what is free, when that is KEDGE_MEMORY_FREE_BYTES or more. Any thread, from time to
 * time: other threads may wait for it for some milliseconds when they allocate. */
void kedge_memory_give_back(void);
#define KEDGE_MEMORY_FREE_BYTES 67108864

#endif
