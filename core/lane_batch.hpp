// A batch of rows on its way through the lanes: staged by one thread, run by others meanwhile.
#pragma once

#include <vector>

#include "kernel.hpp"
#include "memory.hpp"
#include "workers.hpp"

namespace unitless {

struct LaneBatch {
    std::vector<StagedRow> staged;
    std::vector<std::uint32_t> slots;
    std::vector<double> values, results, room;
    std::vector<std::size_t> diverged_at;  // by lane
    std::vector<Octet> octets;
    Stage stage{};
    Workers::Job job;

    // What is to be done with the results.
    bool running = false;
    std::size_t rows = 0, row = 0, stride = 0;  // row: the number of the first, for messages
    Labels labels{};
    double* predictions = nullptr;
    double weight_before = 0;
    std::uint64_t examples_before = 0, examples_after = 0;

    void make_stage(const SparseInput& input) {
        const std::size_t entries = (input.rows ? input.end(input.rows - 1) - input.first : 0) + input.rows + 1;
        if (staged.size() < input.rows) staged.resize(input.rows);
        if (slots.size() < entries) slots.resize(entries);
        if (values.size() < 3 * entries) values.resize(3 * entries);
        stage = {staged.data(), slots.data(), values.data(), values.data() + entries, values.data() + 2 * entries};
    }

    const double* predicted() { return aligned(results, 0); }  // [row][lane]
    const double* losses() { return predicted() + rows * stride; }

    std::size_t bytes() const {
        return staged.capacity() * sizeof(StagedRow) + slots.capacity() * sizeof(std::uint32_t) +
               (values.capacity() + results.capacity() + room.capacity()) * sizeof(double);
    }
};

}  // namespace unitless
