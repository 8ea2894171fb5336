// The instruction set of this translation unit.
//
// Kernels are compiled once per instruction set. All functions that they inline are in the inline namespace
// UNITLESS_ISA, so that the linker can never merge, for example, an AVX2 copy of a function into the baseline's code.
#pragma once

#ifndef UNITLESS_ISA
#define UNITLESS_ISA baseline
#endif

// The name of a table of functions for this instruction set: UNITLESS_OF_ISA(kernel_) is kernel_avx2, for example.
#define UNITLESS_JOIN_(a, b) a##b
#define UNITLESS_JOIN(a, b) UNITLESS_JOIN_(a, b)
#define UNITLESS_OF_ISA(table) UNITLESS_JOIN(table, UNITLESS_ISA)
#define UNITLESS_TEXT_(a) #a
#define UNITLESS_TEXT(a) UNITLESS_TEXT_(a)
#define UNITLESS_ISA_NAME UNITLESS_TEXT(UNITLESS_ISA)

// For the few functions between the update of one example and the prediction of the next. With sanitizers the compiler
// would take minutes, because they add checks to every inlined copy; so there the functions are not forced inline.
#if defined(UNITLESS_SANITIZED)
#define UNITLESS_INLINE inline
#define UNITLESS_INLINE_LAMBDA
#else
#define UNITLESS_INLINE __attribute__((always_inline)) inline
#define UNITLESS_INLINE_LAMBDA __attribute__((always_inline))
#endif
// For functions that are seldom called from these.
#define UNITLESS_RARE __attribute__((noinline, cold))
