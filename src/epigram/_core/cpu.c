/* Which build of the core this CPU can run. */
#include "core.h"

i32 cpu_level(void) {
#if defined(__x86_64__) || defined(_M_X64)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) return 3;
    return 2;
#else
    return 0;
#endif
}
