/* Checkers of versions: run on each when it is noted, and again on the last ones. */
#include "tests/sim/sim.h"

#include <inttypes.h>
#include <string.h>

const char *const sim_check_names[SIM_CHECKS] = {
    [SIM_I1] = "I1",   [SIM_I2] = "I2",   [SIM_I3] = "I3",   [SIM_I4] = "I4",
    [SIM_I5] = "I5",   [SIM_I6] = "I6",   [SIM_I7] = "I7",   [SIM_I8] = "I8",
    [SIM_I11] = "I11", [SIM_I12] = "I12", [SIM_I13] = "I13", [SIM_I14] = "I14",
    [SIM_I17] = "I17", [SIM_I18] = "I18", [SIM_I21] = "I21", [SIM_I22] = "I22"};

const char *const sim_check_words[SIM_CHECKS] = {[SIM_I1] = "one outcome for each (client, id)",
                                                 [SIM_I2] = "in id order, no gap, no other payload",
                                                 [SIM_I3] = "versions without gap, and unchanged",
                                                 [SIM_I4] = "a rejection blocks nothing",
                                                 [SIM_I5] = "a state is the fold of its deltas",
                                                 [SIM_I6] = "acknowledged mutations are kept",
                                                 [SIM_I7] = "reads are canonical + pending",
                                                 [SIM_I8] = "nothing moves backwards",
                                                 [SIM_I11] = "one client id per living copy",
                                                 [SIM_I12] = "another lineage: nothing doubled",
                                                 [SIM_I13] = "a pull is one version",
                                                 [SIM_I14] = "bodies are there",
                                                 [SIM_I17] = "no commit over a newer version",
                                                 [SIM_I18] = "converged once faults stopped",
                                                 [SIM_I21] = "no edit is shown twice",
                                                 [SIM_I22] = "lying files: told, bounded, unsent"};

static void count(sim_world *world, sim_check check)
{
    world->report->checks[check]++;
}

void check_i1_one_outcome(sim_world *world, const sim_version *version)
{
    for (size_t i = 0; i < version->decided_count; i++) {
        const sim_decided *decided = &version->decided[i];
        const sim_version *where = NULL;
        count(world, SIM_I1);
        bool twice = sim_oracle_decided(version->parent, decided->client, decided->id, &where);
        for (size_t j = 0; j < i && !twice; j++) {
            twice = version->decided[j].id == decided->id &&
                    strcmp(version->decided[j].client, decided->client) == 0;
            where = version;
        }
        if (twice)
            sim_violate(world, SIM_I1,
                        "(%.8s, %" PRId64 ") is decided in version %" PRId64 " and in %" PRId64,
                        decided->client, decided->id, where->number, version->number);
    }
}

/* The id that comes next for a client of mutation `at`, in this version or before it. */
static int64_t id_before(const sim_version *version, size_t at)
{
    for (size_t j = at; j-- > 0;)
        if (strcmp(version->decided[j].client, version->decided[at].client) == 0)
            return version->decided[j].id;
    return sim_oracle_lmid(version->parent, version->decided[at].client);
}

void check_i2_order(sim_world *world, const sim_version *version)
{
    for (size_t i = 0; i < version->decided_count; i++) {
        const sim_decided *decided = &version->decided[i];
        int64_t before = id_before(version, i);
        count(world, SIM_I2);
        if (decided->id != before + 1)
            sim_violate(world, SIM_I2, "version %" PRId64 ": %.8s's %" PRId64 " follows %" PRId64,
                        version->number, decided->client, decided->id, before);
    }
}

void check_i3_versions(sim_world *world, const sim_version *version)
{
    count(world, SIM_I3);
    int64_t before = version->parent == NULL ? 0 : version->parent->number;
    if (version->number != before + 1)
        sim_violate(world, SIM_I3, "version %" PRId64 " follows %" PRId64, version->number, before);
    for (const sim_version *at = version->all; at != NULL; at = at->all) {
        if (strcmp(at->lineage, version->lineage) != 0) continue;
        sim_violate(world, SIM_I3, "version %" PRId64 " has the lineage of %" PRId64,
                    version->number, at->number);
        return;
    }
}

void check_i3_unchanged(sim_world *world, int64_t back)
{
    const sim_version *at = world->oracle.head;
    for (; at != NULL && back-- > 0; at = at->parent) {
        uint64_t hash = 0;
        count(world, SIM_I3);
        if (!sim_oracle_record_hash(world, at->number, &hash))
            sim_violate(world, SIM_I3, "version %" PRId64 " is gone", at->number);
        else if (hash != at->record_hash)
            sim_violate(world, SIM_I3, "version %" PRId64 " has changed", at->number);
    }
}

/* Others committed while it slept: what they committed stands, and it saw what they did. */
void check_i17_paused(sim_world *world, sim_instance *instance)
{
    const sim_version *at = world->oracle.head;
    for (int i = 0; at != NULL && i < 8; i++, at = at->parent) {
        uint64_t hash = 0;
        count(world, SIM_I17);
        if (!sim_oracle_record_hash(world, at->number, &hash) || hash != at->record_hash)
            sim_violate(world, SIM_I17, "processor %u woke up and wrote over version %" PRId64,
                        instance->index, at->number);
    }
}

/* Whether the same mutation took effect before, under whatever (client, id). */
static const sim_version *applied_before(const sim_version *version, size_t at)
{
    const sim_decided *decided = &version->decided[at];
    size_t count_here = at;
    for (const sim_version *in = version; in != NULL; in = in->parent) {
        size_t end = in == version ? count_here : in->decided_count;
        for (size_t i = 0; i < end; i++) {
            const sim_decided *other = &in->decided[i];
            if (!other->rejected && !other->duplicate &&
                memcmp(other->uid, decided->uid, SIM_UID_SIZE) == 0 &&
                memcmp(other->digest, decided->digest, KEDGE_DIGEST_SIZE) == 0)
                return in;
        }
    }
    return NULL;
}

/* With a restore in the past it is I12's affair, without one I11's: twins and restored folders. */
void check_i12_nothing_doubled(sim_world *world, const sim_version *version)
{
    bool restored = world->restored;
    for (size_t i = 0; i < version->decided_count; i++) {
        if (version->decided[i].rejected || version->decided[i].duplicate) continue;
        sim_check check = restored ? SIM_I12 : SIM_I11;
        count(world, check);
        const sim_version *where = applied_before(version, i);
        if (where != NULL)
            sim_violate(world, check,
                        "a mutation of version %" PRId64 " takes effect again in %" PRId64
                        " as (%.8s, %" PRId64 ")",
                        where->number, version->number, version->decided[i].client,
                        version->decided[i].id);
    }
}

void check_i14_bodies(sim_world *world, const sim_version *version)
{
    for (size_t i = 0; i < version->change_count; i++) {
        const sim_change *change = &version->changes[i];
        uint8_t hash[KEDGE_SHA256_SIZE];
        if (!change->in_blobs) continue;
        count(world, SIM_I14);
        if (change->value == NULL) {
            sim_violate(world, SIM_I14, "version %" PRId64 " refers to a body that is not there",
                        version->number);
            continue;
        }
        kedge_sha256((kedge_bytes){change->value, change->value_size}, hash);
        if (memcmp(hash, change->hash, sizeof hash) != 0)
            sim_violate(world, SIM_I14, "version %" PRId64 " refers to a body of another hash",
                        version->number);
    }
}
