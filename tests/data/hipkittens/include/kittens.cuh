// A stand-in for the header of HipKittens, in our own words: the same path, the macros that choose an architecture, and C++20.
// It has headers for CDNA 3 only, as one branch of HipKittens has.
#pragma once

#if defined(KITTENS_CDNA4)
#include "cdna4/tiles.cuh"
#elif defined(KITTENS_CDNA3)
#include "cdna3/tiles.cuh"
#else
#error "no architecture is chosen"
#endif
