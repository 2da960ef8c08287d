/* The checkers, one for each invariant, named by its number. Each counts its evaluations.
 *
 *   I1  each (client, id) has one outcome, in one version, for ever
 *   I2  mutations of a client are decided in id order with no gap; another payload is an error
 *   I3  versions are 1, 2, 3… without gap or fork; a version never changes
 *   I4  a rejection advances lmid and blocks nothing after it
 *   I5  the state at a version is the fold of all deltas up to it, byte for byte
 *   I6  what the API acknowledged is pending, or covered with its digest, or in the inbox
 *   I7  reads == canonical(version) + replay of pending; canonical == item with base laid over
 *   I8  version and lmid never move backwards; a delta goes only onto its own version
 *   I11 one client id per living copy; ids are never reused
 *   I12 another lineage: a new client id, nothing confirmed before it doubled
 *   I13 effects, lmid and version together; a pull is one version, its lmids are of it
 *   I14 every body that a retained version refers to is there and has its hash
 *   I17 a paused processor cannot commit over a newer version
 *   I18 once faults stop, everything reaches the same bytes within a bound
 *   I21 a prediction never shows an edit that the canonical state has
 *   I22 a client whose files lie says so, sends nothing that nobody made, and rotates in bounds */
#ifndef KEDGE_TESTS_SIM_CHECKS_H
#define KEDGE_TESTS_SIM_CHECKS_H

#include <kedge/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum sim_check {
    SIM_I1,
    SIM_I2,
    SIM_I3,
    SIM_I4,
    SIM_I5,
    SIM_I6,
    SIM_I7,
    SIM_I8,
    SIM_I11,
    SIM_I12,
    SIM_I13,
    SIM_I14,
    SIM_I17,
    SIM_I18,
    SIM_I21,
    SIM_I22,
    SIM_CHECKS
} sim_check;

extern const char *const sim_check_names[SIM_CHECKS];
extern const char *const sim_check_words[SIM_CHECKS];

struct sim_world;
struct sim_client;
struct sim_version;
struct sim_message;
struct sim_instance;

/* checks_version.c: when a version was noted. */
void check_i1_one_outcome(struct sim_world *world, const struct sim_version *version);
void check_i2_order(struct sim_world *world, const struct sim_version *version);
void check_i3_versions(struct sim_world *world, const struct sim_version *version);
void check_i12_nothing_doubled(struct sim_world *world, const struct sim_version *version);
void check_i14_bodies(struct sim_world *world, const struct sim_version *version);
/* The last versions are still what they were. */
void check_i3_unchanged(struct sim_world *world, int64_t back);
void check_i17_paused(struct sim_world *world, struct sim_instance *instance);

/* checks_answer.c: when the server gave a response, before the network touches it. */
void check_response_to(struct sim_world *world, const struct sim_message *message,
                       const struct sim_version *head_before);

/* checks_log.c: of a log project, when the server responded to a pull of the version `at`. */
struct kedge_wire_pull_response;
void check_log_pull(struct sim_world *world, const struct kedge_wire_pull_response *pull,
                    const struct sim_version *at);

/* checks_client.c, checks_edits.c, which look at it by checks_view.h: on a running client, between
 * its steps. */
void check_client(struct sim_client *client);
void check_i11_living_copies(struct sim_world *world);

/* checks_damage.c: on a running client whose prediction is that of the version `at`; when its
 * client id has changed; when its store refused to open; when a request arrives at the server. */
void check_i21_shown_once(struct sim_client *client, const struct sim_version *at);
/* Whether its cache went from `was` back to `at`, and its outbox asks with the next pull. */
bool sim_is_back_before_rotation(const struct sim_client *client, const struct sim_version *at,
                                 const struct sim_version *was);
/* The column that tells which pending rows are not predicted, or 0 where there is none. */
struct sqlite3;
const char *sim_withheld_column(struct sqlite3 *outbox);
void check_i22_rotation(struct sim_client *client);
void check_i22_set_aside(struct sim_client *client);
void check_i22_opened(struct sim_client *client, kedge_status status, const char *code);
void check_i22_sent(struct sim_world *world, const struct sim_message *message);

/* checks_end.c: when all is quiet, or ought to be. */
void check_i18_converged(struct sim_world *world);

#endif
