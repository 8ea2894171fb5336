// A batch of rows on its way through the lanes.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "base/memory.hpp"
#include "engine/averaging.hpp"
#include "engine/lanes/kernel.hpp"
#include "rows/kernel.hpp"

namespace unitless {

// The number of rows before the first label or weight whose square would overflow. `numbers`: labels are numbers, not
// classes.
inline std::size_t sane_rows(const Labels& labels, std::size_t rows, bool numbers) {
    for (std::size_t r = 0; r < rows; ++r) {
        const double h = weight_of(labels, r);
        if (labels.pace && !(labels.pace[r] <= __DBL_MAX__)) return r;
        if (h > 0x1p490 || (h > 0 && numbers && std::fabs(labels.y[r]) > 0x1p490)) return r;
    }
    return rows;
}

struct LaneBatch {
    std::vector<StagedRow> staged;
    std::vector<std::uint32_t> slots;
    std::vector<double> values, results, room;
    std::vector<std::size_t> diverged_at;  // by lane
    std::vector<Octet> octets;
    std::size_t room_each = 0;  // for each octet, or for each block of them
    Stage stage{};

    // What is to be done with the results.
    std::size_t rows = 0, row = 0, stride = 0;  // row: the number of the first, for messages
    std::size_t joined = 0;                     // heads that are there since the first row's class was met in it
    Labels labels{};
    LaneLabels lane_labels{};
    double* predictions = nullptr;
    double weight_before = 0;
    std::optional<Averaging::Step> look;  // after it
    std::vector<double> look_scales;      // by slot
    std::vector<char> in_play;            // by lane, after it: is the sum of its losses a number?

    void make_stage(const SparseInput& input) {
        const std::size_t entries =
            (input.rows ? end_of(input, input.rows - 1) - input.first : 0) + input.rows + row_margin;
        if (staged.size() < input.rows) staged.resize(input.rows);
        if (slots.size() < entries) slots.resize(entries);
        std::size_t longest = 0;
        for (std::size_t r = 0; r < input.rows; ++r) longest = std::max(longest, end_of(input, r) - begin_of(input, r));
        const std::size_t count = 3 * entries + longest + row_margin;
        if (values.size() < count) values.resize(count);
        const auto part = [&](std::size_t i) { return values.data() + i * entries; };
        stage = {staged.data(), slots.data(), part(0), part(1), part(2), part(3)};
    }

    const double* predicted() { return aligned(results, 0); }  // [row][lane]
    double* losses() { return aligned(results, 0) + rows * stride; }

    std::size_t bytes() const {
        return staged.capacity() * sizeof(StagedRow) + slots.capacity() * sizeof(std::uint32_t) +
               (values.capacity() + results.capacity() + room.capacity() + look_scales.capacity()) * sizeof(double);
    }
};

}  // namespace unitless
