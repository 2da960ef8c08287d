/* Memory of a program of the backend: gives freed memory back to the system. */
#ifndef KEDGE_BACKEND_FRONT_MEMORY_H
#define KEDGE_BACKEND_FRONT_MEMORY_H

/* Once, when the program starts. */
void kedge_memory_begin(void);
/* Gives back free memory in whole pages, when there are KEDGE_MEMORY_FREE_BYTES or more of it. One
 * thread calls it from time to time. With much free memory, other threads that allocate may wait
 * for some ten milliseconds. */
void kedge_memory_give_back(void);
#define KEDGE_MEMORY_FREE_BYTES 67108864

#endif
