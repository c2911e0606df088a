// Found in place of the CUDA toolkit's where there is no nvcc.
#pragma once
#include "simt.h"
