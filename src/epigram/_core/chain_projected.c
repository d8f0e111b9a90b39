#include "chain_projected.h"
#include "chain_step.h"

i64 sizeof_BallMemory(void) { return sizeof(BallMemory); }

/* A heap that lasted fewer steps reaches further next time, one of more steps less far. */
enum { OFTEN = 64, SELDOM = 512 };

typedef struct {
    i64 n_weights;
    f64 *keys, *heap_keys;
    i32 *heap_owners;
    f64 theta;      /* Theta */
    f64 sum, count; /* of all keys that are not zero */
    f64 limit;      /* largest key of the heap */
    i64 size;       /* of the heap */
    f64 margin;     /* how far beyond Theta the heap was to reach */
    i64 steps;      /* since it was made */
} Ball;

/* Add an entry to the heap. */
static void push(Ball *ball, f64 key, i64 owner) {
    i64 at = ball->size++;
    while (at > 0) {
        i64 parent = (at - 1) / 2;
        if (ball->heap_keys[parent] <= key) break;
        ball->heap_keys[at] = ball->heap_keys[parent];
        ball->heap_owners[at] = ball->heap_owners[parent];
        at = parent;
    }
    ball->heap_keys[at] = key;
    ball->heap_owners[at] = (i32)owner;
}

/* Remove the entry with the smallest key. */
static void pop(Ball *ball) {
    i64 n = --ball->size, at = 0;
    f64 key = ball->heap_keys[n];
    i32 owner = ball->heap_owners[n];
    while (2 * at + 1 < n) {
        i64 child = 2 * at + 1;
        if (child + 1 < n && ball->heap_keys[child + 1] < ball->heap_keys[child]) child++;
        if (key <= ball->heap_keys[child]) break;
        ball->heap_keys[at] = ball->heap_keys[child];
        ball->heap_owners[at] = ball->heap_owners[child];
        at = child;
    }
    ball->heap_keys[at] = key;
    ball->heap_owners[at] = owner;
}

/* Make the heap anew, of the keys a little beyond Theta, and add up all keys. */
static void rebuild(Ball *ball) {
    if (ball->steps < OFTEN) ball->margin *= 2.0;
    else if (ball->steps > SELDOM) ball->margin *= 0.5;
    ball->limit = ball->theta + ball->margin;
    ball->sum = ball->count = 0.0;
    ball->size = ball->steps = 0;
    for (i64 i = 0; i < ball->n_weights; i++) {
        f64 key = ball->keys[i];
        if (!(key > 0.0)) continue;
        ball->sum += key;
        ball->count += 1.0;
        if (key <= ball->limit) push(ball, key, i);
    }
}

/* Raise Theta to where the weights sum to the radius; weights whose key it passes are zero from now on. */
static void project(Ball *ball, f64 radius, f64 *w) {
    while (ball->sum - ball->count * ball->theta > radius) {
        f64 theta = (ball->sum - radius) / ball->count;
        while (ball->size > 0 && ball->heap_keys[0] <= smaller(theta, ball->limit)) {
            f64 key = ball->heap_keys[0];
            i64 owner = ball->heap_owners[0];
            pop(ball);
            if (ball->keys[owner] != key) continue;
            ball->keys[owner] = w[owner] = 0.0;
            ball->sum -= key;
            ball->count -= 1.0;
            theta = (ball->sum - radius) / ball->count;
        }
        if (theta <= ball->limit) {
            ball->theta = larger(ball->theta, theta);
            return;
        }
        ball->theta = ball->limit; /* all keys up to here are out; look further */
        rebuild(ball);
    }
}

/* The n weights from p on as they are now; the sign of a weight is kept in w. */
static void read_weights(i64 p, i64 n, const Ball *ball, f64 *w) {
    for (i64 i = p; i < p + n; i++) {
        if (!(ball->keys[i] > 0.0)) continue;
        f64 size = larger(0.0, ball->keys[i] - ball->theta);
        w[i] = w[i] > 0.0 ? size : -size;
    }
}

/* w -= eta g on the n weights from p on; their keys follow. */
static void descend(const f64 *g, f64 eta, const u8 *free, i64 p, i64 n, Ball *ball, f64 *w) {
    f64 sum = 0.0, count = 0.0;
    for (i64 i = 0; i < n; i++) {
        i64 k = p + i;
        if (!free[k]) continue;
        if (ball->keys[k] > 0.0) {
            sum -= ball->keys[k];
            count -= 1.0;
        }
        w[k] -= eta * g[i];
        f64 key = ball->keys[k] = w[k] != 0.0 ? fabs(w[k]) + ball->theta : 0.0;
        if (!(key > 0.0)) continue;
        sum += key;
        count += 1.0;
        if (key > ball->limit) continue;
        if (ball->size < 2 * ball->n_weights) {
            push(ball, key, k);
        } else {
            rebuild(ball); /* which adds up all keys, those of this row too */
            sum = count = 0.0;
        }
    }
    ball->sum += sum;
    ball->count += count;
}

/* Begin at w, which is projected first if it lies outside. */
static Ball enter(const BallMemory *memory, f64 radius, f64 *w) {
    Ball ball = {memory->n_weights, memory->keys, memory->heap_keys, memory->heap_owners, 0, 0, 0, 0, 0, 1e-3, OFTEN};
    for (i64 i = 0; i < ball.n_weights; i++) ball.keys[i] = fabs(w[i]);
    rebuild(&ball);
    project(&ball, radius, w);
    return ball;
}

/* One pass, projecting after each `every` steps and at the end; returns the losses met. */
f64 chain_projected_run(const Chains *a, const Layout *l, const Pass *plan, f64 radius, i64 every, i64 n_weights,
                         f64 *w, BallMemory *memory, Scratch *x, Step *step) {
    f64 loss = 0.0;
    i64 base = l->state_end, n_edges = n_weights - base, n_rows;
    Ball ball = enter(memory, radius, w);
    for (i64 k = 0; k < plan->n_steps; k++) {
        for (i64 at = k * plan->batch; at < step_end(plan, k); at++) {
            i64 s = plan->order[at];
            for (i64 m = a->rows_ptr[s]; m < a->rows_ptr[s + 1]; m++) {
                i64 p = a->rows[m];
                read_weights(p, row_length(l, p), &ball, w);
            }
        }
        read_weights(base, n_edges, &ball, w);
        loss += step_gradient(a, l, plan, k, w, x, step, &n_rows);
        for (i64 m = 0; m < n_rows; m++) {
            i64 p = step->rows[m];
            descend(step->g + step->slots[m], plan->rates[k], l->free, p, row_length(l, p), &ball, w);
        }
        descend(step->g, plan->rates[k], l->free, base, n_edges, &ball, w);
        ball.steps++;
        if ((k + 1) % every == 0 || k + 1 == plan->n_steps) project(&ball, radius, w);
    }
    read_weights(0, n_weights, &ball, w);
    return loss;
}
