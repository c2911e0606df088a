// Stands in for the CUDA toolkit's header where there is no nvcc.
#pragma once
#include "cuda_pipeline_primitives.h"

#include "cuda/pipeline"
