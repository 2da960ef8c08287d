/* The memory of a program of the backend: what was freed goes back to the system. */
#ifndef KEDGE_BACKEND_FRONT_MEMORY_H
#define KEDGE_BACKEND_FRONT_MEMORY_H

/* Once, when the program starts. */
void kedge_memory_begin(void);
/* Gives back what is free in whole pages, when that is KEDGE_MEMORY_FREE_BYTES or more. One thread,
 * from time to time: when there is much, other threads that allocate may wait for some ten
 * milliseconds. */
void kedge_memory_give_back(void);
#define KEDGE_MEMORY_FREE_BYTES 67108864

#endif
