// Compiled once per instruction set, with UNITLESS_ISA naming it.

#include "rows/kernel.hpp"

#include "rows/dense_collect.hpp"
#include "rows/dense_input.hpp"
#include "rows/sparse_entries.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {
namespace {

void collect(const DenseRows& input, std::uint32_t* slots, double* values, std::size_t* row_ends) {
    if (input.type == Type::f32) return collect_rows<float>(input, slots, values, row_ends);
    collect_rows<double>(input, slots, values, row_ends);
}

bool ordinary_rows(const SparseRows& input, std::size_t first, std::size_t end) {
    return input.wide_indices ? are_ordinary<std::int64_t>(input, first, end)
                              : are_ordinary<std::int32_t>(input, first, end);
}

bool copied_rows(const SparseRows& input, std::size_t first, std::size_t rows, std::size_t entries, std::uint32_t mask,
                 std::uint32_t* slots, double* values, std::size_t* row_ends) {
    return input.wide_indices ? copy_rows<std::int64_t>(input, first, rows, entries, mask, slots, values, row_ends)
                              : copy_rows<std::int32_t>(input, first, rows, entries, mask, slots, values, row_ends);
}

}  // namespace
}  // namespace UNITLESS_ISA

const RowKernel UNITLESS_OF_ISA(row_kernel_) = {collect, widen_block, ordinary_rows, copied_rows};

}  // namespace unitless
