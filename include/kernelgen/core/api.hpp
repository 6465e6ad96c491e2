#pragma once

/// \file
/// What a shared libkernelgen exports: everything that the public headers declare, and nothing else.

/// Stands in front of the namespace's name in every public header. The library is compiled with hidden symbols; what
/// stands in a namespace with this attribute is visible all the same.
#if defined(__GNUC__)
#define KERNELGEN_API [[gnu::visibility("default")]]
#else
#define KERNELGEN_API
#endif
