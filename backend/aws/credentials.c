/* The provider: the chain of sources, what it found last, and when to look again.
 *
 * Of those who ask, one searches the chain. The others meanwhile get what is there as long as it is
 * good, else they wait for that search and share its end. */
#include "backend/aws/credential_sources.h"

#include "common/error.h"
#include "common/hash.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define REFRESH_BEFORE_MS    300000 /* the metadata of an instance has new ones that early */
#define REFRESH_JITTER_MS    60000
#define AGAIN_AFTER_MS       30000 /* when new ones were wanted, and could not be had */
#define AGAIN_JITTER_MS      30000
#define FORGET_NOT_BEFORE_MS 1000
#define NEVER_MS             INT64_MAX

struct kedge_aws_credentials_provider {
    kedge_aws_credentials_options options;
    kedge_wiping wiping;
    kedge_environment environment; /* the caller's, with memory that is wiped */
    char *profile;
    const char *container_host;
    int64_t try_ms;

    pthread_mutex_t lock;
    pthread_cond_t fetched;
    bool fetching;
    uint64_t fetches;         /* searches that have ended */
    kedge_status last_status; /* of the last one */
    kedge_error last_error;
    bool there;
    kedge_aws_credentials current;
    int64_t good_until_ms; /* wall clock */
    int64_t refresh_at_ms; /* wall clock */
    int64_t fetched_at_ms; /* the clock that only goes forward */
};

/* ---- making one ---- */

kedge_status kedge_aws_credentials_provider_new(const kedge_aws_credentials_options *options,
                                                kedge_aws_credentials_provider **provider,
                                                kedge_error *error)
{
    const kedge_allocator *allocator = options->environment->allocator;
    kedge_aws_credentials_provider *made = kedge_allocate(allocator, sizeof *made);
    if (made == NULL) return kedge_fail_no_memory(error);
    if (options->profile != NULL) {
        made->profile = kedge_copy_text(allocator, kedge_bytes_of(options->profile));
        if (made->profile == NULL) {
            kedge_release(allocator, made);
            return kedge_fail_no_memory(error);
        }
    }
    kedge_wiping_init(&made->wiping, allocator);
    made->environment = *options->environment;
    made->environment.allocator = &made->wiping.allocator;
    made->options = *options;
    made->options.profile = made->profile;
    made->container_host = KEDGE_AWS_CONTAINER_HOST;
    made->try_ms = KEDGE_AWS_LOCAL_TRY_MS;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->fetched, NULL);
    *provider = made;
    return KEDGE_OK;
}

void kedge_aws_credentials_provider_free(kedge_aws_credentials_provider *provider)
{
    if (provider == NULL) return;
    const kedge_allocator *allocator = provider->options.environment->allocator;
    pthread_cond_destroy(&provider->fetched);
    pthread_mutex_destroy(&provider->lock);
    kedge_release(allocator, provider->profile);
    kedge_cleanse(provider, sizeof *provider);
    kedge_release(allocator, provider);
}

void kedge_aws_credentials_provider_redirect(kedge_aws_credentials_provider *provider,
                                             const char *container_host, int64_t try_ms)
{
    provider->container_host = container_host;
    provider->try_ms = try_ms;
}

/* ---- the chain ---- */

/* Falling through to an instance's role would be another identity than the one that was meant. */
static kedge_status refuse_web_identity(kedge_aws_lookup *lookup,
                                        kedge_aws_credentials *credentials, kedge_error *error)
{
    (void)credentials;
    if (kedge_aws_variable(lookup->options, "AWS_WEB_IDENTITY_TOKEN_FILE")[0] == '\0') {
        return KEDGE_NOT_FOUND;
    }
    return kedge_fail(error, KEDGE_UNAUTHORIZED, "aws-credentials-unsupported",
                      "AWS_WEB_IDENTITY_TOKEN_FILE is set, and nothing else gives AWS credentials: "
                      "roles of a web identity are not supported; use EKS Pod Identity, or assume "
                      "the role before, and pass on its keys");
}

static kedge_status fail_missing(const kedge_aws_lookup *lookup, kedge_error *error)
{
    const char *profile = lookup->options->profile;
    if (profile == NULL) profile = kedge_aws_variable(lookup->options, "AWS_PROFILE");
    return kedge_fail(
        error, KEDGE_UNAUTHORIZED, "aws-credentials-missing",
        "no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or keys "
        "in a profile, or give the machine a role; there are none in the environment, "
        "profile %.32s, a container, the instance's metadata (%s)",
        profile[0] == '\0' ? "default" : profile, lookup->note);
}

/* A profile that was named by the caller goes before the environment's keys. */
static kedge_status search(kedge_aws_credentials_provider *provider,
                           kedge_aws_credentials *credentials, kedge_error *error)
{
    static const kedge_aws_source chain[] = {
        kedge_aws_from_environment, kedge_aws_from_profile,  kedge_aws_from_container,
        refuse_web_identity,        kedge_aws_from_instance,
    };
    kedge_aws_lookup lookup = {
        .options = &provider->options,
        .environment = &provider->environment,
        .container_host = provider->container_host,
        .try_ms = provider->try_ms,
    };
    for (size_t i = provider->profile == NULL ? 0 : 1; i < sizeof chain / sizeof chain[0]; i++) {
        kedge_status status = chain[i](&lookup, credentials, error);
        if (status != KEDGE_NOT_FOUND) return status;
    }
    return fail_missing(&lookup, error);
}

/* ---- keeping what was found ---- */

static int64_t now_of(const kedge_aws_credentials_provider *provider)
{
    return provider->environment.now_ms(provider->environment.context);
}

static int64_t monotonic_of(const kedge_aws_credentials_provider *provider)
{
    return provider->environment.monotonic_ms(provider->environment.context);
}

static int64_t jitter(const kedge_aws_credentials_provider *provider, int64_t most_ms)
{
    return (int64_t)(kedge_random_u64(&provider->environment) % (uint64_t)(most_ms + 1));
}

static int64_t again_at(const kedge_aws_credentials_provider *provider, int64_t now_ms)
{
    return now_ms + AGAIN_AFTER_MS + jitter(provider, AGAIN_JITTER_MS);
}

/* What was just fetched is handed out even when it looks expired: our clock may be the wrong one,
 * and the service judges. */
static void keep(kedge_aws_credentials_provider *provider, const kedge_aws_credentials *found)
{
    int64_t now_ms = now_of(provider);
    int64_t expires_ms = found->expires_ms;
    provider->current = *found;
    provider->there = true;
    provider->fetched_at_ms = monotonic_of(provider);
    provider->good_until_ms = NEVER_MS;
    provider->refresh_at_ms = NEVER_MS;
    if (expires_ms == 0) return;
    provider->refresh_at_ms = expires_ms - REFRESH_BEFORE_MS + jitter(provider, REFRESH_JITTER_MS);
    if (provider->refresh_at_ms <= now_ms) provider->refresh_at_ms = again_at(provider, now_ms);
    provider->good_until_ms = expires_ms;
    if (expires_ms <= now_ms) provider->good_until_ms = provider->refresh_at_ms;
}

/* What to say to those who get nothing. */
static void write_message(kedge_aws_credentials_provider *provider, int64_t now_ms)
{
    kedge_error why = provider->last_error;
    if (!provider->there) return;
    kedge_fail(&provider->last_error, why.status, "aws-credentials-expired",
               "the AWS credentials expired %lld s ago, and new ones cannot be had: %.160s",
               (long long)((now_ms - provider->current.expires_ms) / 1000), why.message);
}

/* Searches the chain with the lock released. Old credentials that are still good make up for a
 * failed search. */
static kedge_status fetch(kedge_aws_credentials_provider *provider)
{
    kedge_aws_credentials found = {0};
    kedge_error why = {0};
    provider->fetching = true;
    pthread_mutex_unlock(&provider->lock);
    kedge_status status = search(provider, &found, &why);
    pthread_mutex_lock(&provider->lock);
    int64_t now_ms = now_of(provider);
    provider->fetching = false;
    provider->fetches++;
    provider->last_error = why;
    if (status == KEDGE_OK) {
        keep(provider, &found);
    } else if (provider->there && now_ms < provider->good_until_ms) {
        provider->refresh_at_ms = again_at(provider, now_ms);
        status = KEDGE_OK;
    } else {
        write_message(provider, now_ms);
    }
    provider->last_status = status;
    pthread_cond_broadcast(&provider->fetched);
    kedge_cleanse(&found, sizeof found);
    return status;
}

static kedge_status wait_for_fetch(kedge_aws_credentials_provider *provider)
{
    uint64_t before = provider->fetches;
    while (provider->fetches == before) {
        pthread_cond_wait(&provider->fetched, &provider->lock);
    }
    return provider->last_status;
}

kedge_status kedge_aws_credentials_get(kedge_aws_credentials_provider *provider,
                                       kedge_aws_credentials *credentials, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    pthread_mutex_lock(&provider->lock);
    int64_t now_ms = now_of(provider);
    bool good = provider->there && now_ms < provider->good_until_ms;
    bool due = now_ms >= provider->refresh_at_ms;
    if (!good && provider->fetching) {
        status = wait_for_fetch(provider);
    } else if (!good || (due && !provider->fetching)) {
        status = fetch(provider);
    }
    if (status == KEDGE_OK) {
        *credentials = provider->current;
    } else if (error != NULL) {
        *error = provider->last_error;
    }
    pthread_mutex_unlock(&provider->lock);
    return status;
}

/* Several requests may come back refused with the same old credentials: those that are later than
 * the first must not throw away what was fetched for it. */
void kedge_aws_credentials_forget(kedge_aws_credentials_provider *provider)
{
    pthread_mutex_lock(&provider->lock);
    bool fresh = monotonic_of(provider) - provider->fetched_at_ms < FORGET_NOT_BEFORE_MS;
    if (provider->current.expires_ms == 0 || !fresh) provider->there = false;
    pthread_mutex_unlock(&provider->lock);
}
