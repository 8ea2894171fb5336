// Calls of a learner with any kind of rows, and results in a vector.
#pragma once

#include <type_traits>
#include <vector>

#include "encoding/dense_source.hpp"
#include "encoding/named_source.hpp"
#include "encoding/sparse_source.hpp"
#include "encoding/table_source.hpp"
#include "learner/learner.hpp"

namespace unitless {

// Results in a vector that grows if necessary and never shrinks.
class Into final : public Results {
  public:
    explicit Into(std::vector<double>& to) : to_(to) {}
    double* allocate(std::size_t rows, std::size_t width) override {
        if (to_.size() < rows * width) to_.resize(rows * width);
        return to_.data();
    }

  private:
    std::vector<double>& to_;
};

inline DenseSource source_of(const DenseRows& rows) { return DenseSource(rows); }
inline SparseSource source_of(const SparseRows& rows) { return SparseSource(rows); }
inline NamedSource source_of(const NamedRows& rows) { return NamedSource(rows); }
inline TableSource source_of(const Table& rows) { return TableSource(rows); }

template <class Rows>
void learn(Learner& learner, const Rows& rows, const Labels& labels, std::vector<double>& to) {
    auto source = source_of(rows);
    Into results(to);
    learner.learn(source, labels, results);
}

template <class Rows>
void predict(Learner& learner, const Rows& rows, bool extrapolate, std::vector<double>& to) {
    auto source = source_of(rows);
    Into results(to);
    learner.predict(source, {.extrapolate = extrapolate}, nullptr, results);
}

}  // namespace unitless
