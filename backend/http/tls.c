/* See tls.h. */
#include "backend/http/tls.h"

#include "common/error.h"

#include <gnutls/x509.h>
#include <pthread.h>
#include <string.h>

#define KEY_ID_SIZE 64

typedef struct tls_identity {
    gnutls_x509_crt_t *chain;
    unsigned chain_size;
    gnutls_x509_privkey_t key;
} tls_identity;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static tls_identity current; /* no chain: nothing was loaded */

static void free_identity(tls_identity *identity)
{
    for (unsigned i = 0; i < identity->chain_size; i++) {
        gnutls_x509_crt_deinit(identity->chain[i]);
    }
    gnutls_free(identity->chain);
    if (identity->key) gnutls_x509_privkey_deinit(identity->key);
    *identity = (tls_identity){.chain = NULL};
}

static kedge_status refuse(kedge_error *error, const char *what, int code)
{
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "certificate-invalid", "%s%s%s", what,
                      code < 0 ? ": " : "", code < 0 ? gnutls_strerror(code) : "");
}

static kedge_status check_pair(const tls_identity *identity, kedge_error *error)
{
    unsigned char of_certificate[KEY_ID_SIZE];
    unsigned char of_key[KEY_ID_SIZE];
    size_t certificate_size = sizeof of_certificate;
    size_t key_size = sizeof of_key;
    int code = gnutls_x509_crt_get_key_id(identity->chain[0], GNUTLS_KEYID_USE_SHA256,
                                          of_certificate, &certificate_size);
    if (code == 0) {
        code = gnutls_x509_privkey_get_key_id(identity->key, GNUTLS_KEYID_USE_SHA256, of_key,
                                              &key_size);
    }
    if (code < 0) return refuse(error, "the TLS key cannot be used", code);
    if (certificate_size == key_size && memcmp(of_certificate, of_key, key_size) == 0) {
        return KEDGE_OK;
    }
    return refuse(error,
                  "the TLS key is not that of the certificate, which must come first in its "
                  "file",
                  0);
}

static kedge_status read_identity(const char *certificate, const char *key, tls_identity *identity,
                                  kedge_error *error)
{
    const gnutls_datum_t certificate_text = {(unsigned char *)(uintptr_t)certificate,
                                             (unsigned)strlen(certificate)};
    const gnutls_datum_t key_text = {(unsigned char *)(uintptr_t)key, (unsigned)strlen(key)};
    int code = gnutls_x509_crt_list_import2(&identity->chain, &identity->chain_size,
                                            &certificate_text, GNUTLS_X509_FMT_PEM, 0);
    if (code < 0) return refuse(error, "the TLS certificate cannot be read", code);
    if (identity->chain_size == 0 || identity->chain_size > KEDGE_TLS_CHAIN_MAX) {
        return refuse(error, "the file of the TLS certificate has none, or more than 16", 0);
    }
    code = gnutls_x509_privkey_init(&identity->key);
    if (code < 0) return kedge_fail_no_memory(error);
    code = gnutls_x509_privkey_import2(identity->key, &key_text, GNUTLS_X509_FMT_PEM, NULL, 0);
    if (code < 0) return refuse(error, "the TLS key cannot be read", code);
    return check_pair(identity, error);
}

kedge_status kedge_tls_load(const char *certificate, const char *key, kedge_error *error)
{
    tls_identity identity = {.chain = NULL};
    kedge_status status = read_identity(certificate, key, &identity, error);
    if (status == KEDGE_OK) {
        pthread_mutex_lock(&mutex);
        tls_identity before = current;
        current = identity;
        identity = before;
        pthread_mutex_unlock(&mutex);
    }
    free_identity(&identity);
    return status;
}

int64_t kedge_tls_expires_s(void)
{
    pthread_mutex_lock(&mutex);
    int64_t expires_s =
        current.chain ? (int64_t)gnutls_x509_crt_get_expiration_time(current.chain[0]) : -1;
    pthread_mutex_unlock(&mutex);
    return expires_s;
}

void kedge_tls_unload(void)
{
    pthread_mutex_lock(&mutex);
    free_identity(&current);
    pthread_mutex_unlock(&mutex);
}

/* A copy of the chain and the key. All or nothing is made. */
static int copy_identity(const tls_identity *identity, gnutls_pcert_st **chain,
                         gnutls_privkey_t *key)
{
    unsigned count = 0;
    gnutls_pcert_st *copies = gnutls_calloc(identity->chain_size, sizeof *copies);
    int code = copies ? gnutls_privkey_init(key) : GNUTLS_E_MEMORY_ERROR;
    if (code < 0) {
        gnutls_free(copies);
        return code;
    }
    code = gnutls_privkey_import_x509(*key, identity->key, GNUTLS_PRIVKEY_IMPORT_COPY);
    while (code >= 0 && count < identity->chain_size) {
        code = gnutls_pcert_import_x509(&copies[count], identity->chain[count], 0);
        if (code >= 0) count++;
    }
    if (code >= 0) {
        *chain = copies;
        return 0;
    }
    for (unsigned i = 0; i < count; i++) {
        gnutls_pcert_deinit(&copies[i]);
    }
    gnutls_free(copies);
    gnutls_privkey_deinit(*key);
    return code;
}

int kedge_tls_retrieve(gnutls_session_t session, const struct gnutls_cert_retr_st *information,
                       gnutls_pcert_st **chain, unsigned *chain_size, gnutls_ocsp_data_st **ocsp,
                       unsigned *ocsp_size, gnutls_privkey_t *key, unsigned *flags)
{
    (void)session;
    (void)information;
    pthread_mutex_lock(&mutex);
    int code = current.chain ? copy_identity(&current, chain, key) : GNUTLS_E_NO_CERTIFICATE_FOUND;
    if (code == 0) *chain_size = current.chain_size;
    pthread_mutex_unlock(&mutex);
    if (code < 0) return -1;
    *ocsp = NULL;
    *ocsp_size = 0;
    *flags = GNUTLS_CERT_RETR_DEINIT_ALL;
    return 0;
}
