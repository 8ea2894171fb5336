// The kernel of second-order learners: one lane over some rows.
// Compiled once per instruction set, with UNITLESS_ISA naming it.
//
// A lane models the weights as normally distributed with mean v and covariance P. For a row z of weight h:
//   k = P z;  var = z'k;  m = v z;  the prediction is m, or m corrected for its uncertainty
//   scales grow (symmetric.hpp), which changes k, var and m
//   v += g k;  P -= f k k';  diag P += h drift
// The loss gives g and f: the length of the implicit step, and the curvature at its end.

#include "engine/newton/kernel.hpp"

#include "algorithm/implicit_logistic.hpp"
#include "algorithm/log_odds.hpp"
#include "algorithm/loss.hpp"
#include "algorithm/prediction.hpp"
#include "engine/newton/multinomial.hpp"
#include "engine/newton/symmetric.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {
namespace {

constexpr double pi_eighth = 0x1.921fb54442d18p-2;
constexpr double largest = 0x1p510;          // of m and var: their squares are finite
constexpr double most_information = 0x1p30;  // limit of h var of one row
constexpr double certain = 0x1p-44;          // of var, relative to its value before the first row

struct View {
    double m, variance;
};

struct Step {
    double g, f;
};

// L = (m - y)^2. The shrunk form of the posterior mean, m/(1 + var), is the prediction after learning the same row with
// the label 0 (Vovk; Azoury and Warmuth). It has less risk while little has been learned.
struct SquaredSteps {
    static void predict(const NewtonLane& lane, const NewtonRow& row, const View& view, bool extrapolate, double* to) {
        const auto limited = [&](double p) {
            return row.label_min <= row.label_max ? smaller(larger(p, row.label_min), row.label_max) : p;
        };
        to[0] = limited(view.m);
        to[1] = extrapolate || lane.how.drift > 0 ? to[0] : limited(view.m / (1.0 + view.variance));
    }
    static Step step(const NewtonRow& row, const View& view) {
        // A row that reduces var to almost nothing would leave only rounding errors. So its weight is limited.
        const bool holds = row.weight * view.variance <= most_information;
        const double h = holds ? row.weight : most_information / view.variance, f = h / (1.0 + h * view.variance);
        return {f * (row.y - view.m), f};
    }
};

// L = log(1 + e^(-y m)).
struct LogisticSteps {
    static void predict(const NewtonLane&, const NewtonRow& row, const View& view, bool extrapolate, double* to) {
        const double score = extrapolate ? view.m : view.m / square_root(1.0 + pi_eighth * view.variance);
        *to = with_offset(score, row.offset);
    }
    static Step step(const NewtonRow& row, const View& view) {
        const double s = implicit_logistic_slope(row.y * (view.m + row.offset), row.weight * view.variance);
        const double curvature = row.weight * (s * (1.0 - s));
        return {row.y * (row.weight * s), curvature / (1.0 + curvature * view.variance)};
    }
};

UNITLESS_INLINE View view_of(const NewtonLane& lane, const double* z, double one, std::size_t blocks, Bordered& k) {
    multiply(lane, z, one, blocks, k);
    const double variance = dot(k.of, z, blocks) + k.bias * one;  // >= 0 except for rounding
    return {dot(lane.v, z, blocks) + lane.bias_v[0] * one, larger(variance, 0.0)};
}

UNITLESS_INLINE void add(double* v, double factor, const double* k, std::size_t blocks) {
    for (std::size_t j = 0; j < blocks * 8; j += 8) (Vec8::load(v + j) + factor * Vec8::load(k + j)).store(v + j);
}

// P -= f k k'. Then adds the variance of the drift of the weights until the next row.
void narrow(const NewtonLane& lane, double f, Bordered& k, bool bias, const NewtonRow& row) {
    const std::size_t blocks = blocks_of(row.features);
    const double root = square_root(f);
    for (std::size_t j = 0; j < blocks * 8; j += 8) (root * Vec8::load(k.of + j)).store(k.of + j);
    k.bias *= root;
    subtract_square(lane, k, bias, blocks);
    if (bias) *lane.corner += row.weight * lane.how.bias_drift;
    if (!(lane.how.drift > 0)) return;
    const double more = row.weight * lane.how.drift;
    for (std::size_t i = 0; i < row.features; ++i) lane.half[half_entry(i, i)] += more;
}

template <class Steps>
std::size_t run_numbers(const NewtonLane& lane, const NewtonRows& rows, std::size_t each, double* predictions) {
    std::size_t sound = rows.count;
    const double one = rows.bias ? 1.0 : 0.0;
    Bordered k;
    for (std::size_t r = 0; r < rows.count; ++r, predictions += each) {
        const NewtonRow& row = rows.rows[r];
        const double* const z = rows.z + r * rows.stride;
        const std::size_t blocks = blocks_of(row.features);
        View view = view_of(lane, z, one, blocks, k);
        Steps::predict(lane, row, view, rows.extrapolate, predictions);
        if (!(row.weight > 0)) continue;
        if (row.first_growth < row.end_growth) [[unlikely]] {
            for (std::size_t i = row.first_growth; i < row.end_growth; ++i)
                grow(lane, rows.growths[i], rows.bias, row.features);
            view = view_of(lane, z, one, blocks, k);
        }
        Step step = Steps::step(row, view);
        if (view.variance <= certain / lane.how.prior) [[unlikely]]
            step = {};  // only rounding is left
        if (!(absolute(view.m) <= largest && view.variance <= largest && absolute(step.g) <= largest)) [[unlikely]] {
            sound = smaller(sound, r);
            continue;
        }
        add(lane.v, step.g, k.of, blocks);
        lane.bias_v[0] += step.g * k.bias;
        narrow(lane, step.f, k, rows.bias, row);
    }
    return sound;
}

// Heads that share P: o = V z are the scores of the softmax.
std::size_t run_classes(const NewtonLane& lane, const NewtonRows& rows, double* predictions, double* memory) {
    std::size_t sound = rows.count;
    const double one = rows.bias ? 1.0 : 0.0;
    const std::size_t heads = lane.heads;
    Bordered k;
    Multinomial softmax(heads, memory);
    const auto find_view = [&](const double* z, std::size_t blocks) {
        double most = 0;
        for (std::size_t head = 0; head < heads; ++head) {
            const double o = dot(lane.v + head * most_places, z, blocks) + lane.bias_v[head] * one;
            softmax.scores()[head] = o;
            most = absolute(o) <= most ? most : absolute(o);
        }
        multiply(lane, z, one, blocks, k);
        return View{most, larger(dot(k.of, z, blocks) + k.bias * one, 0.0)};
    };
    for (std::size_t r = 0; r < rows.count; ++r, predictions += heads) {
        const NewtonRow& row = rows.rows[r];
        const double* const z = rows.z + r * rows.stride;
        const std::size_t blocks = blocks_of(row.features);
        View view = find_view(z, blocks);
        const double certainty = rows.extrapolate ? 1.0 : 1.0 / square_root(1.0 + pi_eighth * view.variance);
        for (std::size_t head = 0; head < heads; ++head) predictions[head] = certainty * softmax.scores()[head];
        if (!(row.weight > 0)) continue;
        if (row.first_growth < row.end_growth) [[unlikely]] {
            for (std::size_t i = row.first_growth; i < row.end_growth; ++i)
                grow(lane, rows.growths[i], rows.bias, row.features);
            view = find_view(z, blocks);
        }
        if (!(view.m <= largest && view.variance <= largest)) [[unlikely]] {
            sound = smaller(sound, r);
            continue;
        }
        const double tau = row.weight * view.variance;
        softmax.solve(static_cast<std::size_t>(row.y), tau);
        for (std::size_t head = 0; head < heads; ++head) {
            const double g = row.weight * softmax.slope(head, tau);
            add(lane.v + head * most_places, g, k.of, blocks);
            lane.bias_v[head] += g * k.bias;
        }
        const double curvature = row.weight * softmax.curvature();
        narrow(lane, curvature / (1.0 + curvature * view.variance), k, rows.bias, row);
    }
    return sound;
}

std::size_t run(NewtonLoss loss, const NewtonLane& lane, const NewtonRows& rows, double* predictions, double* memory) {
    if (loss == NewtonLoss::squared) return run_numbers<SquaredSteps>(lane, rows, 2, predictions);
    if (loss == NewtonLoss::logistic) return run_numbers<LogisticSteps>(lane, rows, 1, predictions);
    return run_classes(lane, rows, predictions, memory);
}

void losses(NewtonLoss kind, const NewtonRows& rows, std::size_t heads, const double* predictions, double* loss) {
    const auto numbered = [](double x) { return x <= __DBL_MAX__ ? x : infinity; };
    if (kind == NewtonLoss::squared) {
        for (std::size_t r = 0; r < rows.count; ++r)
            for (std::size_t i = 2 * r; i < 2 * r + 2; ++i)
                loss[i] = numbered((predictions[i] - rows.rows[r].y) * (predictions[i] - rows.rows[r].y));
    } else if (kind == NewtonLoss::logistic) {
        const Logistic logistic{Options{}};
        for (std::size_t first = 0; first < rows.count; first += width) {
            const std::size_t some = smaller<std::size_t>(width, rows.count - first);
            double p[width] = {}, y[width], value[width];
            for (std::size_t i = 0; i < width; ++i) y[i] = i < some ? rows.rows[first + i].y : 1.0;
            for (std::size_t i = 0; i < some; ++i) p[i] = predictions[first + i];
            logistic.value(Vec8::load(p), Vec8::load(y)).store(value);
            for (std::size_t i = 0; i < some; ++i) loss[first + i] = numbered(value[i]);
        }
    } else {
        for (std::size_t r = 0; r < rows.count; ++r)
            loss[r] =
                numbered(multinomial_loss(predictions + r * heads, heads, static_cast<std::size_t>(rows.rows[r].y)));
    }
}

void find_log_odds(const double* scores, std::size_t heads, bool open, double* to) {
    open ? log_odds_of_open(scores, heads, to) : log_odds(scores, heads, to);
}

}  // namespace
}  // namespace UNITLESS_ISA

const NewtonKernel UNITLESS_OF_ISA(newton_kernel_) = {run, losses, find_log_odds};

}  // namespace unitless
