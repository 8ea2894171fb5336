// Compiled once per instruction set, with UNITLESS_ISA naming it.

#include "rows/kernel.hpp"

#include "rows/dense_collect.hpp"
#include "rows/dense_input.hpp"
#include "rows/plain_rows.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {
namespace {

void collect(const DenseInput& input, std::uint32_t* slots, double* values, std::size_t* row_ends) {
    if (input.type == Type::f32) return collect_rows<float>(input, slots, values, row_ends);
    collect_rows<double>(input, slots, values, row_ends);
}

}  // namespace
}  // namespace UNITLESS_ISA

const RowKernel UNITLESS_OF_ISA(row_kernel_) = {are_plain, copy_below, collect, widen_block};

}  // namespace unitless
