/* The records that claim a project's name while an import creates the project in several steps.
 *
 *   ProjectVersion#pv_999999999998   importing (text): the id of the export that is being imported;
 *                                    token (text): random, of this import under this name, or of
 *                                    its discarding; discarding (number): 1 from then on
 *   Discarded                        token (text): random, of the last import that was discarded
 *
 * The first is put under the condition that there is no such project. A project that is created in
 * one step is put under the condition that the first record is absent. The second record is kept: a
 * writer that relies on existing blobs creates its project under the condition that no import was
 * discarded since it found them. */
#ifndef KEDGE_BACKEND_PROJECTS_NAME_CLAIM_H
#define KEDGE_BACKEND_PROJECTS_NAME_CLAIM_H

#include "backend/base/backend.h"
#include "backend/base/project.h"
#include "backend/versioned/model/layout.h"

#define KEDGE_IMPORT_ID_SIZE 65 /* an export's id, with its end */

typedef struct kedge_name_claim {
    bool importing;
    bool discarding; /* and the records that it has put are being removed */
    char id[KEDGE_IMPORT_ID_SIZE];
    char token[KEDGE_LINEAGE_HEX];
} kedge_name_claim;

/* By a consistent read. */
kedge_status kedge_name_claim_read(const kedge_project *project, kedge_name_claim *claim,
                                   kedge_error *error);
/* The token of the last import that was discarded; "": none ever was. */
kedge_status kedge_name_discarded_read(const kedge_project *project, char token[KEDGE_LINEAGE_HEX],
                                       kedge_error *error);

#endif
