/* Decides from the two meta rows alone whether the prediction in the cache fits the outbox, and
 * which of the two files is older. */
#include "sdk/store/store_internal.h"

#include <string.h>

bool kedge_prediction_fits(const kedge_outbox_meta *outbox, const kedge_cache_meta *cache)
{
    return strcmp(outbox->client, cache->client) == 0 && outbox->revision == cache->revision &&
           outbox->last_sequence == cache->reflected_sequence && cache->lmid <= outbox->highest_id;
}

bool kedge_prediction_outbox_is_older(const kedge_outbox_meta *outbox,
                                      const kedge_cache_meta *cache)
{
    return cache->revision > outbox->revision ||
           cache->reflected_sequence > outbox->last_sequence ||
           cache->revision < outbox->ask_settled;
}

void kedge_prediction_doubt(const kedge_outbox_meta *outbox, kedge_cache_meta *cache)
{
    if (kedge_prediction_outbox_is_older(outbox, cache)) cache->lmid = 0;
}

void kedge_prediction_count_lost(kedge_outbox_meta *outbox, const kedge_cache_meta *cache)
{
    int64_t lost = cache->reflected_sequence - outbox->last_sequence;
    if (lost <= 0) return;
    outbox->unrecovered += lost;
    outbox->last_sequence = cache->reflected_sequence;
    outbox->sent_through = outbox->highest_id; /* not known, so that no edit can be cancelled */
    /* What the sequence told, the revision tells from now on. */
    if (outbox->revision >= cache->revision) outbox->ask_settled = ++outbox->revision;
}
