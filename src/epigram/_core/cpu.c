/* Which build of the core this CPU can run. */
#include "core.h"

#if defined(__x86_64__)
#include <cpuid.h>

/* Which registers the system saves when it changes tasks: XCR0. Bits 1 and 2 are those of AVX, 5 to 7 those of AVX-512. */
static u32 saved_registers(void) {
    u32 low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

i32 cpu_level(void) {
    const u32 fma = 1u << 12, osxsave = 1u << 27, v3 = 1u << 5 | 1u << 8; /* AVX2, BMI2 */
    const u32 v4 = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;  /* AVX-512 F, DQ, CD, BW, VL */
    const u32 vbmi2 = 1u << 6; /* not part of v4: CPUs without it lower their clock for wide registers */
    u32 a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & (fma | osxsave)) != (fma | osxsave)) return 2;
    u32 saved = saved_registers();
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & v3) != v3 || (saved & 0x06) != 0x06) return 2;
    return (b & v4) == v4 && (c & vbmi2) && (saved & 0xE6) == 0xE6 ? 4 : 3;
}
#else
i32 cpu_level(void) { return 0; }
#endif

/* Checksum of the headers that this library was compiled from; the build defines it. */
#ifndef EPIGRAM_HEADERS
#define EPIGRAM_HEADERS 0
#endif
u32 headers_digest(void) { return EPIGRAM_HEADERS; }
