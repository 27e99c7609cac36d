// Numbers that dwarf their neighbours, spread over them: what is rounded to 8 bits with one scale
// (KvType::kQ8) then has no number that sets the steps of the others (QuaRot, arXiv 2404.00456;
// docs/adr/0050-keys-without-outliers.md).
//
// A group of n numbers is multiplied by the Hadamard matrix of n over sqrt(n), which is orthonormal
// and its own inverse: products of two spread vectors are those of the vectors, and spreading
// twice is nothing but rounding. Where n is no power of two, the group is as many smaller ones as
// its largest power of two makes. A number that is none spreads, too.
//
// Pure. Threads: any.
#pragma once

#include <cstddef>

namespace pc {

// Of keys, and of the queries that meet them: groups are those that share a scale. x: [head_dim]
void spread_key(float* x, std::size_t head_dim);

// Of values, and of what is mixed of them: the group is the head. x: [head_dim]
void spread_value(float* x, std::size_t head_dim);

}  // namespace pc
