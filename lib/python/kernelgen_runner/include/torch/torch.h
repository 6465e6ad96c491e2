// In place of torch's own, when compiler.py says so.
#pragma once
#include "../kernelgen/light_torch.h"
