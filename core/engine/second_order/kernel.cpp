// The kernel of second-order learners: one lane over some rows.
// Compiled once per instruction set, with UNITLESS_ISA naming it.
//
// A lane believes that the weights are normal with mean v and covariance P. A row z, of weight h:
//   k = P z;  var = z'k;  m = v z;  says m, or what its uncertainty makes of it
//   scales grow (symmetric.hpp), and k, var, m follow
//   v += g k;  P -= f k k';  diag P += h walk
// The loss says g and f: how far the implicit step goes, and the curvature at its end.

#include "engine/second_order/kernel.hpp"

#include "algorithm/loss.hpp"
#include "engine/second_order/multinomial.hpp"
#include "engine/second_order/symmetric.hpp"

namespace unitless {
inline namespace UNITLESS_ISA {
namespace {

constexpr double pi_eighth = 0x1.921fb54442d18p-2;
constexpr double largest = 0x1p510;   // of m and var: the square is a number
constexpr double most_told = 0x1p30;  // by one row, of h var
constexpr double certain = 0x1p-44;   // of var, beside what it was before the first row

struct View {
    double m, variance;
};

struct Step {
    double g, f;
};

// L = (m - y)^2. The posterior mean's shrunk form m/(1 + var) is what a prediction that knows its own row would say if
// the label were 0 (Vovk; Azoury and Warmuth): it is safer while little is known.
struct SquaredSteps {
    static void say(const SecondOrderLane& lane, const SecondOrderRow& row, const View& view, bool plain,
                    double* said) {
        const auto limited = [&](double p) {
            return row.label_min <= row.label_max ? smaller(larger(p, row.label_min), row.label_max) : p;
        };
        said[0] = limited(view.m);
        said[1] = plain || lane.how.walk > 0 ? said[0] : limited(view.m / (1.0 + view.variance));
    }
    static Step step(const SecondOrderRow& row, const View& view) {
        // A row that would leave nothing of var leaves rounding: then it counts as much as can be told.
        const double told = row.weight * view.variance <= most_told ? row.weight : most_told / view.variance;
        const double f = told / (1.0 + told * view.variance);
        return {f * (row.y - view.m), f};
    }
};

// The slope s = 1/(1 + e^(margin + delta)) after a step of delta = tau s: Newton's method within a bracket. Both ends
// of it move, so that it ends whatever the numbers are. The second derivative of delta - tau s is less than tau/10:
// after a step of Newton's of length `moved`, less than tau moved^2/20 is left. Nearly always two steps are enough.
inline double implicit_slope(double margin, double tau) {
    const double first = inverse_of_one_plus_exp(margin);
    double low = 0, high = tau * first;
    if (!(high > 0)) return first;
    if (high > 1) high = smaller(high, larger(-margin, 0.0) + log1p(tau));
    double delta = smaller(high, tau * first / (1.0 + tau * (first * (1.0 - first))));
    for (int i = 0; i < 100; ++i) {
        const double s = inverse_of_one_plus_exp(margin + delta), excess = delta - tau * s;
        (excess > 0 ? high : low) = delta;
        double next = delta - excess / (1.0 + tau * (s * (1.0 - s)));
        if (!(next >= low && next <= high)) next = 0.5 * (low + high);
        const double moved = absolute(next - delta);
        delta = next;
        if (0.05 * tau * (moved * moved) <= 1e-16 * delta) break;
    }
    return delta / tau;
}

// L = log(1 + e^(-y m)).
struct LogisticSteps {
    static void say(const SecondOrderLane&, const SecondOrderRow& row, const View& view, bool plain, double* said) {
        const double score = plain ? view.m : view.m / square_root(1.0 + pi_eighth * view.variance);
        said[0] = row.offset != 0 ? score + row.offset : score;
    }
    static Step step(const SecondOrderRow& row, const View& view) {
        const double s = implicit_slope(row.y * (view.m + row.offset), row.weight * view.variance);
        const double curvature = row.weight * (s * (1.0 - s));
        return {row.y * (row.weight * s), curvature / (1.0 + curvature * view.variance)};
    }
};

UNITLESS_INLINE View look(const SecondOrderLane& lane, const double* z, double one, std::size_t blocks, Bordered& k) {
    multiply(lane, z, one, blocks, k);
    const double variance = dot(k.of, z, blocks) + k.bias * one;  // not below 0, but for rounding
    return {dot(lane.v, z, blocks) + lane.bias_v[0] * one, larger(variance, 0.0)};
}

UNITLESS_INLINE void add(double* v, double factor, const double* k, std::size_t blocks) {
    for (std::size_t j = 0; j < blocks * 8; j += 8) (Vec8::load(v + j) + factor * Vec8::load(k + j)).store(v + j);
}

// P -= f k k', and what the weights may have moved until the next row.
void narrow(const SecondOrderLane& lane, double f, Bordered& k, bool bias, const SecondOrderRow& row) {
    const std::size_t blocks = blocks_of(row.features);
    const double root = square_root(f);
    for (std::size_t j = 0; j < blocks * 8; j += 8) (root * Vec8::load(k.of + j)).store(k.of + j);
    k.bias *= root;
    subtract_square(lane, k, bias, blocks);
    if (bias) *lane.corner += row.weight * lane.how.bias_walk;
    if (!(lane.how.walk > 0)) return;
    const double more = row.weight * lane.how.walk;
    for (std::size_t i = 0; i < row.features; ++i) lane.half[half_entry(i, i)] += more;
}

template <class Steps>
std::size_t run_numbers(const SecondOrderLane& lane, const SecondOrderRows& rows, std::size_t each, double* said) {
    std::size_t sound = rows.count;
    const double one = rows.bias ? 1.0 : 0.0;
    Bordered k;
    for (std::size_t r = 0; r < rows.count; ++r, said += each) {
        const SecondOrderRow& row = rows.rows[r];
        const double* const z = rows.z + r * rows.stride;
        const std::size_t blocks = blocks_of(row.features);
        View view = look(lane, z, one, blocks, k);
        Steps::say(lane, row, view, rows.plain, said);
        if (!(row.weight > 0)) continue;
        if (row.first_growth < row.end_growth) [[unlikely]] {
            for (std::size_t i = row.first_growth; i < row.end_growth; ++i)
                grow(lane, rows.growths[i], rows.bias, row.features);
            view = look(lane, z, one, blocks, k);
        }
        Step step = Steps::step(row, view);
        if (view.variance <= certain / lane.how.prior) [[unlikely]]
            step = {};  // what is left is rounding
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
std::size_t run_classes(const SecondOrderLane& lane, const SecondOrderRows& rows, double* said, double* memory) {
    std::size_t sound = rows.count;
    const double one = rows.bias ? 1.0 : 0.0;
    const std::size_t heads = lane.heads;
    Bordered k;
    Multinomial softmax(heads, memory);
    const auto look_at = [&](const double* z, std::size_t blocks) {
        double most = 0;
        for (std::size_t head = 0; head < heads; ++head) {
            const double o = dot(lane.v + head * most_places, z, blocks) + lane.bias_v[head] * one;
            softmax.scores()[head] = o;
            most = absolute(o) <= most ? most : absolute(o);
        }
        multiply(lane, z, one, blocks, k);
        return View{most, larger(dot(k.of, z, blocks) + k.bias * one, 0.0)};
    };
    for (std::size_t r = 0; r < rows.count; ++r, said += heads) {
        const SecondOrderRow& row = rows.rows[r];
        const double* const z = rows.z + r * rows.stride;
        const std::size_t blocks = blocks_of(row.features);
        View view = look_at(z, blocks);
        const double certainty = rows.plain ? 1.0 : 1.0 / square_root(1.0 + pi_eighth * view.variance);
        for (std::size_t head = 0; head < heads; ++head) said[head] = certainty * softmax.scores()[head];
        if (!(row.weight > 0)) continue;
        if (row.first_growth < row.end_growth) [[unlikely]] {
            for (std::size_t i = row.first_growth; i < row.end_growth; ++i)
                grow(lane, rows.growths[i], rows.bias, row.features);
            view = look_at(z, blocks);
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

std::size_t run(SecondOrderLoss loss, const SecondOrderLane& lane, const SecondOrderRows& rows, double* said,
                double* memory) {
    if (loss == SecondOrderLoss::squared) return run_numbers<SquaredSteps>(lane, rows, 2, said);
    if (loss == SecondOrderLoss::logistic) return run_numbers<LogisticSteps>(lane, rows, 1, said);
    return run_classes(lane, rows, said, memory);
}

void losses(SecondOrderLoss kind, const SecondOrderRows& rows, std::size_t heads, const double* said, double* loss) {
    const auto numbered = [](double x) { return x <= __DBL_MAX__ ? x : infinity; };
    if (kind == SecondOrderLoss::squared) {
        for (std::size_t r = 0; r < rows.count; ++r)
            for (std::size_t i = 2 * r; i < 2 * r + 2; ++i)
                loss[i] = numbered((said[i] - rows.rows[r].y) * (said[i] - rows.rows[r].y));
    } else if (kind == SecondOrderLoss::logistic) {
        const Logistic logistic{Options{}};
        for (std::size_t first = 0; first < rows.count; first += width) {
            const std::size_t some = smaller<std::size_t>(width, rows.count - first);
            double p[width] = {}, y[width], value[width];
            for (std::size_t i = 0; i < width; ++i) y[i] = i < some ? rows.rows[first + i].y : 1.0;
            for (std::size_t i = 0; i < some; ++i) p[i] = said[first + i];
            const auto evaluated = logistic.evaluate(Vec8::load(p), Vec8::load(y));
            logistic.value_of(evaluated.m, evaluated.small).store(value);
            for (std::size_t i = 0; i < some; ++i) loss[first + i] = numbered(value[i]);
        }
    } else {
        for (std::size_t r = 0; r < rows.count; ++r)
            loss[r] = numbered(multinomial_loss(said + r * heads, heads, static_cast<std::size_t>(rows.rows[r].y)));
    }
}

}  // namespace
}  // namespace UNITLESS_ISA

const SecondOrderKernel UNITLESS_OF_ISA(second_order_kernel_) = {run, losses, log_odds_of_classes};

}  // namespace unitless
