/// \file
/// float16: __half, __half2, and their functions. hip_runtime.h has them already, because _Float16 is __half.
#pragma once

#include "hip_runtime.h"
