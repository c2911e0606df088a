// Stands in for the CUDA toolkit's header where there is no nvcc.
#pragma once
#include "simt.h"
