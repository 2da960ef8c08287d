/* The handle of a project, for one call. */
#ifndef KEDGE_TESTS_SUPPORT_PROJECT_H
#define KEDGE_TESTS_SUPPORT_PROJECT_H

#include "backend/base/project.h"

/* Lives as long as the block that it stands in: where it is kept for longer, make a variable. */
#define HANDLE(backend, ref) ((const kedge_project[1]){kedge_project_of((backend), (ref))})
/* The project that most tests of the backend play in, `notes`. */
#define NOTES(world) HANDLE((world)->backend, &notes)

#endif
