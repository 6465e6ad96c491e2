#pragma once

/// \file
/// The attribute that exports the public headers' declarations, and nothing else, from a shared libkernelgen.

/// Stands before the namespace's name in every public header. The library is compiled with hidden symbols; this
/// attribute makes the contents of the namespace visible.
#if defined(__GNUC__)
#define KERNELGEN_API [[gnu::visibility("default")]]
#else
#define KERNELGEN_API
#endif
