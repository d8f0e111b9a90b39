/* The n-gram trie of the reranker: a node is (parent, token) in one open-addressing hash table, the root is 0. */
#include "rerank.h"

static inline i64 child_key(i64 node, i32 token) { return (i64)((u64)node << 32) | (i64)token; }

/* Slot of key in an open-addressing table of 2^b keys (empty = -1), or of the hole for it. */
static inline i64 slot_of(i64 size, const i64 *table_keys, i64 key) {
    u64 mixed = (u64)key * 0x9E3779B97F4A7C15ull;
    i64 mask = size - 1, place = (i64)((mixed ^ (mixed >> 29)) & (u64)mask);
    while (table_keys[place] != key && table_keys[place] != -1) place = (place + 1) & mask;
    return place;
}

i64 rerank_find_gram(i64 size, const i64 *table_keys, i64 key) { return slot_of(size, table_keys, key); }

/* Moves a hash table into an empty larger one. */
void rerank_rehash(i64 old_size, const i64 *old_keys, const i32 *old_nodes, i64 size, i64 *table_keys, i32 *table_nodes) {
    for (i64 i = 0; i < old_size; i++) {
        if (old_keys[i] == -1) continue;
        i64 place = slot_of(size, table_keys, old_keys[i]);
        table_keys[place] = old_keys[i];
        table_nodes[place] = old_nodes[i];
    }
}

/* Enters all windows of up to order tokens of the padded candidates into the trie. counts[node] is how often a node
 * occurs, keys[node] its (parent, token). Returns the new number of nodes. */
i64 rerank_insert_grams(i64 n, const i64 *token_ptr, i64 n_tokens, const i32 *tokens, i64 order, i64 n_nodes, i64 size,
                        i64 *table_keys, i32 *table_nodes, i64 room, i32 *counts, i64 *keys) {
    (void)n_tokens;
    (void)room;
    for (i64 c = 0; c < n; c++) {
        for (i64 j = token_ptr[c]; j < token_ptr[c + 1]; j++) {
            i64 node = 0, stop = smaller_i(j + order, token_ptr[c + 1]);
            for (i64 i = j; i < stop; i++) {
                i64 key = child_key(node, tokens[i]), place = slot_of(size, table_keys, key);
                if (table_keys[place] == -1) {
                    table_keys[place] = key;
                    table_nodes[place] = (i32)n_nodes;
                    keys[n_nodes++] = key;
                }
                node = table_nodes[place];
                counts[node]++;
            }
        }
    }
    return n_nodes;
}

/* The child of node by a token, or -1. */
static inline i64 child(i64 node, i32 token, i64 size, const i64 *table_keys, const i32 *table_nodes) {
    if (token < 0) return -1;
    i64 place = slot_of(size, table_keys, child_key(node, token));
    return table_keys[place] == -1 ? -1 : table_nodes[place];
}

/* Features of each candidate, one entry per occurrence; no room only counts. */
void rerank_walk_grams(i64 n, const i64 *token_ptr, i64 n_tokens, const i32 *tokens, i64 order, i64 size,
                       const i64 *table_keys, const i32 *table_nodes, i64 n_nodes, const i32 *node_feature, i64 *out_ptr,
                       i64 room, i32 *out_feature) {
    (void)n_tokens;
    (void)n_nodes;
    i64 count = 0;
    for (i64 c = 0; c < n; c++) {
        for (i64 j = token_ptr[c]; j < token_ptr[c + 1]; j++) {
            i64 node = 0, stop = smaller_i(j + order, token_ptr[c + 1]);
            for (i64 i = j; i < stop; i++) {
                node = child(node, tokens[i], size, table_keys, table_nodes);
                if (node < 0) break;
                if (node_feature[node] < 0) continue;
                if (room > 0) out_feature[count] = node_feature[node];
                count++;
            }
        }
        out_ptr[c + 1] = count;
    }
}

/* Adds the weights of all n-grams of each candidate to out. */
void rerank_score_grams(i64 n, const i64 *token_ptr, i64 n_tokens, const i32 *tokens, i64 order, i64 size,
                        const i64 *table_keys, const i32 *table_nodes, i64 n_nodes, const f64 *node_weight, f64 *out) {
    (void)n_tokens;
    (void)n_nodes;
    for (i64 c = 0; c < n; c++) {
        f64 total = 0.0;
        for (i64 j = token_ptr[c]; j < token_ptr[c + 1]; j++) {
            i64 node = 0, stop = smaller_i(j + order, token_ptr[c + 1]);
            for (i64 i = j; i < stop; i++) {
                node = child(node, tokens[i], size, table_keys, table_nodes);
                if (node < 0) break;
                total += node_weight[node];
            }
        }
        out[c] += total;
    }
}
