// A stand-in for CUDA on the host: kernels and the plug-in's host code, compiled as C++, run where
// no GPU is. Meant for tests: it is slow, and stricter than a GPU where it can be.
//
// Included by cuda/device/device.h alone. Threads: as CUDA's.
#pragma once

#include "cuda/standin/cublas.h"
#include "cuda/standin/kernels.h"
#include "cuda/standin/runtime.h"
#include "cuda/standin/vector_types.h"
