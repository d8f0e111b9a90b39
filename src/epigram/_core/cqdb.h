/* String tables of CRFsuite's model files ("constant quark database"): hashes of the keys, and tables of buckets.
 *
 * A key is hashed with its closing zero byte by Bob Jenkins's lookup3 (2006), started at 0. The low byte of the hash names
 * one of 256 tables, the rest the first bucket to try in it; a table has two buckets a key, and a full one sends on to the
 * next. A bucket is a hash and where the key's record is, 0 for an empty one.
 */
#include "core.h"

void cqdb_hash_keys(i64 n, const i64 ptr[n + 1], i64 n_bytes, const u8 keys[n_bytes], u32 hashes[n]);
void cqdb_fill_buckets(i64 n, const u32 hashes[n], const u32 records[n], const i64 table_ptr[257], i64 n_buckets,
                       u32 buckets[2 * n_buckets]);
