/* Looking things up among the versions that were noted. */
#include "tests/sim/sim.h"

#include <string.h>

const sim_version *sim_oracle_find(const sim_oracle *oracle, const char *lineage, int64_t number)
{
    for (const sim_version *at = oracle->newest; at != NULL; at = at->all)
        if (at->number == number && strcmp(at->lineage, lineage) == 0) return at;
    return NULL;
}

const sim_version *sim_oracle_ancestor(const sim_version *version, int64_t number)
{
    while (version != NULL && version->number > number)
        version = version->parent;
    return version != NULL && version->number == number ? version : NULL;
}

bool sim_oracle_descends(const sim_version *version, const sim_version *ancestor)
{
    if (ancestor == NULL) return true;
    return sim_oracle_ancestor(version, ancestor->number) == ancestor;
}

const sim_decided *sim_oracle_decided(const sim_version *version, const char *client, int64_t id,
                                      const sim_version **where)
{
    for (; version != NULL; version = version->parent) {
        for (size_t i = 0; i < version->decided_count; i++) {
            const sim_decided *decided = &version->decided[i];
            if (decided->id != id || strcmp(decided->client, client) != 0) continue;
            if (where != NULL) *where = version;
            return decided;
        }
    }
    return NULL;
}

const sim_decided *sim_oracle_decided_as(const sim_version *version, const uint8_t *uid,
                                         const uint8_t *digest, const sim_version **where)
{
    for (; version != NULL; version = version->parent) {
        for (size_t i = version->decided_count; i-- > 0;) {
            const sim_decided *decided = &version->decided[i];
            if (memcmp(decided->uid, uid, SIM_UID_SIZE) != 0) continue;
            if (memcmp(decided->digest, digest, KEDGE_DIGEST_SIZE) != 0) continue;
            if (decided->duplicate) continue;
            if (where != NULL) *where = version;
            return decided;
        }
    }
    return NULL;
}

int64_t sim_oracle_lmid(const sim_version *version, const char *client)
{
    int64_t lmid = 0;
    for (; version != NULL && lmid == 0; version = version->parent) {
        for (size_t i = version->decided_count; i-- > 0 && lmid == 0;)
            if (strcmp(version->decided[i].client, client) == 0) lmid = version->decided[i].id;
    }
    return lmid;
}

bool sim_oracle_retired(const sim_version *version, const char *client)
{
    for (; version != NULL; version = version->parent)
        if (strcmp(version->retired, client) == 0) return true;
    return false;
}
