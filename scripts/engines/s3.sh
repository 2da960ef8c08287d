# Ceph as the S3 engine of a stack: one monitor, one storage daemon and the gateway, without manager, systemd or
# the ceph command. All listen on loopback, and trust each other.
S3_PROCESSES=(s3-gateway s3-storage s3-monitor) # in the order in which they are stopped
S3_PORTS=(s3 s3-monitor)

# A gateway that ended is started alone. With the storage in memory, or the first time, everything is made anew.
s3_start() {
  local data=$STACK/data/s3
  export CEPH_CONF=$data/ceph.conf
  if [ ! -e "$data/made" ] || { [ "$STACK_STORE" = memory ] && ! s3_storage_is_alive; }; then
    stop_processes 0 "${S3_PROCESSES[@]}"
    s3_make "$data" || return 1
  fi
  is_alive s3-monitor || spawn s3-monitor ceph-mon -f -i a
  is_alive s3-storage || spawn s3-storage ceph-osd -f -i 0
  is_alive s3-gateway || spawn s3-gateway radosgw -f -n client.gateway
  wait_healthy 60 s3_answers s3-gateway s3-storage s3-monitor || return 1
  [ -e "$data/made" ] || s3_make_user || return 1
  touch "$data/made"
}
s3_answers() { http_answers "$(port_of s3)" / 200; }
s3_storage_is_alive() { is_alive s3-monitor && is_alive s3-storage; }

# The monitor gets a ready-made map with the one storage daemon in it; that daemon can only be made while the
# monitor runs.
s3_make() {
  local data=$1 log=$STACK/logs/s3-make.log
  rm -rf "$data"
  mkdir -p "$data"/{monitor,storage,gateway,run}
  s3_configuration "$data" >"$CEPH_CONF"
  {
    monmaptool --create --fsid "$S3_CLUSTER" --addv a "[v1:127.0.0.1:$(port_of s3-monitor)]" "$data/monmap" &&
      osdmaptool --createsimple 1 "$data/osdmap" &&
      ceph-mon -i a --mkfs --monmap "$data/monmap" --osdmap "$data/osdmap"
  } >>"$log" 2>&1 || { s3_make_failed; return 1; }
  spawn s3-monitor ceph-mon -f -i a
  timeout 60 ceph-osd -i 0 --mkfs --osd-uuid "$(cat /proc/sys/kernel/random/uuid)" >>"$log" 2>&1 ||
    { s3_make_failed; return 1; }
}
s3_make_user() {
  timeout 60 radosgw-admin -n client.gateway user create --uid=kedge --display-name=kedge \
    --access-key="$STACK_ACCESS_KEY" --secret-key="$STACK_SECRET_KEY" >>"$STACK/logs/s3-make.log" 2>&1 ||
    { s3_make_failed; return 1; }
}
s3_make_failed() { tell "the S3 store cannot be made"; show_log s3-make; }

S3_CLUSTER=6b656467-6520-4733-8000-000000000001

# One copy of everything on one storage daemon, with as few pools, shards and threads as serve a test. A day of a
# bucket's lifecycle lasts five seconds.
#   rgw_gc_*                          what was deleted leaves the memory within a minute, not after two hours
#   tcp_nodelay                       without it each answer with a body waits 40 ms for our side's acknowledgement
#   ms_bind_msgr2, *_update_on_start  the second protocol, and a storage daemon that changes the map while it
#                                     starts, made some starts hang
s3_configuration() {
  local data=$1 store=memstore
  [ "$STACK_STORE" = memory ] || store=bluestore
  cat <<CONFIGURATION
[global]
fsid = $S3_CLUSTER
mon_host = v1:127.0.0.1:$(port_of s3-monitor)
public_network = 127.0.0.0/8
cluster_network = 127.0.0.0/8
ms_bind_msgr2 = false
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
auth_allow_insecure_global_id_reclaim = false
keyring = /dev/null
run_dir = $data/run
crash_dir = $data/run
admin_socket = $data/run/\$name.\$pid.asok
log_file = $STACK/logs/\$name.log
log_to_stderr = false
err_to_stderr = true
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 1
osd_pool_default_pgp_num = 1
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0
mon_allow_pool_size_one = true
mon_max_pg_per_osd = 1000
paxos_propose_interval = 0.02
paxos_min_wait = 0.01

[mon]
mon_data = $data/monitor
mon_cluster_log_file = $STACK/logs/cluster.log
mgr_initial_modules =

[osd]
osd_data = $data/storage
osd_objectstore = $store
memstore_device_bytes = 4294967296
bluestore_block_create = true
bluestore_block_size = 8589934592
bluestore_cache_autotune = false
bluestore_cache_size = 67108864
osd_crush_update_on_start = false
osd_class_update_on_start = false
osd_op_num_shards = 1
osd_op_num_threads_per_shard = 2

[client.gateway]
rgw_data = $data/gateway
rgw_frontends = beast endpoint=127.0.0.1:$(port_of s3) tcp_nodelay=1
rgw_enable_apis = s3
rgw_enable_ops_log = false
rgw_enable_usage_log = false
rgw_enable_quota_threads = false
rgw_run_sync_thread = false
rgw_dynamic_resharding = false
rgw_override_bucket_index_max_shards = 1
rgw_num_rados_handles = 1
rgw_thread_pool_size = 64
rgw_lc_debug_interval = 5
rgw_lc_max_objs = 1
rgw_gc_max_objs = 1
rgw_gc_obj_min_wait = 30
rgw_gc_processor_period = 30
rgw_gc_processor_max_time = 30
rgw_objexp_hints_num_shards = 1
rgw_data_log_num_shards = 1
rgw_md_log_max_shards = 1
CONFIGURATION
}
