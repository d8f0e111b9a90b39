/* Which build of the core this CPU can run. */
#include "core.h"

#if defined(__x86_64__)
#include <cpuid.h>

/* Whether the system saves the wide registers when it changes tasks: bits 1 and 2 of XCR0. */
static u8 saves_wide_registers(void) {
    u32 low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & 6) == 6;
}

i32 cpu_level(void) {
    const u32 fma = 1u << 12, osxsave = 1u << 27, avx2 = 1u << 5, bmi2 = 1u << 8;
    u32 a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & (fma | osxsave)) != (fma | osxsave) || !saves_wide_registers()) return 2;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 2;
    return (b & (avx2 | bmi2)) == (avx2 | bmi2) ? 3 : 2;
}
#else
i32 cpu_level(void) { return 0; }
#endif
