// Stands in for headers of the CUDA toolkit where there is no nvcc, by their names.
#pragma once
#include "simt.h"
