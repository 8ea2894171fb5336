#include "ensemble/mixture.hpp"

#include <algorithm>

#include "algorithm/log_odds.hpp"
#include "base/errors.hpp"

namespace unitless {
namespace {

constexpr double drifts[stackers] = {0.0, 1e-5};      // variance of the weights' drift per row: logistic, classes
constexpr double forgetting[stackers] = {1.0, 16.0};  // the h of the squared stackers

double share(double t) { return smaller(0.5, 1.0 / t); }

std::size_t checked(std::size_t members) {
    if (members == 0 || members > most_members)
        throw InputError("a mixture has 1 to " + std::to_string(most_members) + " members, not " +
                         std::to_string(members));
    return members;
}

}  // namespace

// ---------------------------------------------------------------------------------------------------------- logistic

Mixture::Logistic::Logistic(std::size_t members)
    : n(members), stacker{{members, drifts[0]}, {members, drifts[1]}}, weighting(members + stackers) {}

// Computes the candidates' log odds; x: the stackers' inputs, without the offset.
void Mixture::Logistic::find_candidates(const Row& row, double* x, double* score) const {
    constexpr double limit = LogisticStacker::limit;
    for (std::size_t k = 0; k < n; ++k) {
        score[k] = row.members[k];
        x[k] = smaller(limit, larger(-limit, row.members[k] - row.offset));
    }
    x[n] = last;
    for (std::size_t i = 0; i < stackers; ++i) score[n + i] = stacker[i].predict(x, row.offset);
}

void Mixture::Logistic::combine(const Row& row, double* prediction) const {
    SmallVector x;
    Candidates score;
    find_candidates(row, x.data(), score.data());
    double shares[2] = {0, 0}, odds[2];  // probabilities of +1 and -1: one minus the other would lose digits
    for (std::size_t k = 0; k < n + stackers; ++k) {
        const double e = exp(-absolute(score[k])), likely = 1.0 / (1.0 + e), unlikely = e * likely;
        shares[0] += weighting.weights()[k] * (score[k] > 0 ? likely : unlikely);
        shares[1] += weighting.weights()[k] * (score[k] > 0 ? unlikely : likely);
    }
    log_odds_of_shares(shares, 2, odds);
    *prediction = odds[0];
}

void Mixture::Logistic::learn(const Row& row, const Outcome& outcome) {
    SmallVector x;
    Candidates score, p;
    find_candidates(row, x.data(), score.data());
    for (std::size_t k = 0; k < n + stackers; ++k) p[k] = inverse_of_one_plus_exp(-outcome.y * score[k]);
    weighting.learn(p.data(), outcome.weight, share(outcome.t));
    for (LogisticStacker& one : stacker) one.learn(x.data(), outcome.y, outcome.weight, row.offset);
    last = outcome.y;
}

template <class Each>
void Mixture::Logistic::numbers(Each each) {
    each(last);
    for (LogisticStacker& one : stacker) one.numbers(each);
    weighting.numbers(each);
}
bool Mixture::Logistic::sound() const {
    return absolute(last) <= 1 && weighting.sound() && stacker[0].sound() && stacker[1].sound();
}

// ----------------------------------------------------------------------------------------------------------- squared

Mixture::Squared::Squared(std::size_t members)
    : n(members), stacker{{members, forgetting[0]}, {members, forgetting[1]}}, weighting(members + stackers) {}

// Returns the members' mean; x: their differences from it. Computing relative to the first member makes the mean of
// equal numbers exact.
double Mixture::Squared::find_candidates(const double* members, double* x, double* candidates) const {
    double sum = 0;
    for (std::size_t k = 1; k < n; ++k) sum += members[k] - members[0];
    const double mean = members[0] + sum / static_cast<double>(n);
    for (std::size_t k = 0; k < n; ++k) {
        candidates[k] = members[k];
        x[k] = members[k] - mean;
    }
    for (std::size_t i = 0; i < stackers; ++i) {
        candidates[n + i] = mean + stacker[i].predict(x);
        if (low <= high) candidates[n + i] = smaller(high, larger(low, candidates[n + i]));
    }
    return mean;
}

void Mixture::Squared::combine(const Row& row, double* prediction) const {
    SmallVector x;
    Candidates candidates;
    const double mean = find_candidates(row.members, x.data(), candidates.data());
    double above = 0;
    for (std::size_t k = 0; k < n + stackers; ++k) above += weighting.weights()[k] * (candidates[k] - mean);
    *prediction = mean + above;
}

void Mixture::Squared::learn(const Row& row, const Outcome& outcome) {
    const auto [y, weight, losses, t] = outcome;
    SmallVector x{};
    Candidates error{};
    double label = 0;
    if (low <= high) {
        label = y - find_candidates(row.members, x.data(), error.data());
        double largest = 0;
        for (std::size_t k = 0; k < n + stackers; ++k) largest = larger(largest, absolute(error[k] -= y));
        const double ratio = unit.reach(largest), inverse = unit.inverse();
        if (ratio != 1.0) {
            for (SquaredStacker& one : stacker) one.change_unit(ratio * ratio);
            weighting.change_unit(ratio * ratio);
        }
        label *= inverse;
        for (std::size_t k = 0; k < n; ++k) x[k] *= inverse;
        for (std::size_t k = 0; k < n + stackers; ++k) error[k] *= inverse;
    }  // otherwise the candidates count as having predicted y
    Candidates loss;
    for (std::size_t k = 0; k < n + stackers; ++k) loss[k] = weight * (error[k] * error[k]);
    weighting.learn(loss.data(), t);
    for (std::size_t i = 0; i < stackers; ++i) stacker[i].learn(x.data(), label, error[n + i], weight, t);
    const bool first = low > high;
    low = first ? y : smaller(low, y);
    high = first ? y : larger(high, y);
}

template <class Each>
void Mixture::Squared::numbers(Each each) {
    each(low);
    each(high);
    unit.numbers(each);
    for (SquaredStacker& one : stacker) one.numbers(each);
    weighting.numbers(each);
}
bool Mixture::Squared::sound() const {
    return unit.sound() && weighting.sound() && stacker[0].sound() && stacker[1].sound();
}
void Mixture::Squared::set_weights(double t) {
    for (SquaredStacker& one : stacker) one.set_weights();
    weighting.set_weights(t);
}

// ----------------------------------------------------------------------------------------------------------- classes

Mixture::Classes::Classes(std::size_t members)
    : n(members), stacker{{members, drifts[0]}, {members, drifts[1]}}, weighting(members + stackers) {}

// The candidates of a row, in thread-local scratch that is reused for the next row.
struct Mixture::Classes::Memory {
    double* x;      // [class][input of the stackers]: the members' log probabilities, whether it is the last label
    double* p;      // [candidate][class]: probabilities
    double* mixed;  // [class]

    Memory(std::size_t members, std::size_t classes) {
        static thread_local std::vector<double> memory;
        const std::size_t count = (members + 1 + members + stackers + 1) * classes;
        if (memory.size() < count) memory.resize(count);
        x = memory.data();
        p = x + (members + 1) * classes;
        mixed = p + (members + stackers) * classes;
    }
};

Mixture::Classes::Memory Mixture::Classes::find_candidates(const Row& row) const {
    constexpr double least = -30.0;
    const std::size_t heads = row.heads;
    Memory memory(n, heads);
    for (std::size_t k = 0; k < n; ++k) {
        const double* const score = row.members + k * heads;
        double* const p = memory.p + k * heads;
        double sum = 0;
        for (std::size_t c = 0; c < heads; ++c) sum += p[c] = inverse_of_one_plus_exp(-score[c]);
        for (std::size_t c = 0; c < heads; ++c) {
            p[c] = sum > 0 ? p[c] / sum : 1.0 / static_cast<double>(heads);
            memory.x[c * (n + 1) + k] = larger(least, log(p[c]));
        }
    }
    for (std::size_t c = 0; c < heads; ++c) memory.x[c * (n + 1) + n] = static_cast<double>(c) == last ? 1.0 : 0.0;
    for (std::size_t i = 0; i < stackers; ++i) stacker[i].predict(memory.x, heads, memory.p + (n + i) * heads);
    return memory;
}

void Mixture::Classes::combine(const Row& row, double* prediction) const {
    const Memory memory = find_candidates(row);
    for (std::size_t c = 0; c < row.heads; ++c) {
        double p = 0;
        for (std::size_t k = 0; k < n + stackers; ++k) p += weighting.weights()[k] * memory.p[k * row.heads + c];
        memory.mixed[c] = p;
    }
    log_odds_of_shares(memory.mixed, row.heads, prediction);
    if (row.heads == 1) prediction[0] = most_certain;  // only one class is known
}

void Mixture::Classes::learn(const Row& row, const Outcome& outcome) {
    const double y = outcome.y;
    if (!(y >= 0 && y < static_cast<double>(row.heads))) return;  // no member knows the class
    const auto label = static_cast<std::size_t>(y);
    const Memory memory = find_candidates(row);
    Candidates p;
    for (std::size_t k = 0; k < n + stackers; ++k) p[k] = memory.p[k * row.heads + label];
    weighting.learn(p.data(), outcome.weight, share(outcome.t));
    for (ClassStacker& one : stacker) one.learn(memory.x, row.heads, label, outcome.weight, memory.mixed);
    last = y;
}

template <class Each>
void Mixture::Classes::numbers(Each each) {
    each(last);
    for (ClassStacker& one : stacker) one.numbers(each);
    weighting.numbers(each);
}
bool Mixture::Classes::sound() const {
    return last >= -1 && weighting.sound() && stacker[0].sound() && stacker[1].sound();
}

// ------------------------------------------------------------------------------------------------------------- other

Mixture::Other::Other(std::size_t members) : n(members), weighting(members) {}

void Mixture::Other::combine(const Row& row, double* prediction) const {
    for (std::size_t h = 0; h < row.heads; ++h) {
        const double* const own = row.members + h;
        double above = 0;
        for (std::size_t k = 1; k < n; ++k) above += weighting.weights()[k] * (own[k * row.heads] - *own);
        prediction[h] = *own + above;
    }
}

void Mixture::Other::learn(const Row&, const Outcome& outcome) {
    Candidates loss;
    double largest = 0;
    for (std::size_t k = 0; k < n; ++k) {
        const double own = outcome.losses[k];
        loss[k] = own < __DBL_MAX__ ? larger(0.0, own) : __DBL_MAX__;  // a loss may be infinite
        largest = larger(largest, loss[k]);
    }
    const double ratio = unit.reach(largest), inverse = unit.inverse();
    if (ratio != 1.0) weighting.change_unit(ratio);
    for (std::size_t k = 0; k < n; ++k) loss[k] = outcome.weight * (loss[k] * inverse);
    weighting.learn(loss.data(), outcome.t);
}

template <class Each>
void Mixture::Other::numbers(Each each) {
    unit.numbers(each);
    weighting.numbers(each);
}
bool Mixture::Other::sound() const { return unit.sound() && weighting.sound(); }
void Mixture::Other::set_weights(double t) { weighting.set_weights(t); }

// ----------------------------------------------------------------------------------------------------------- mixture

Mixture::Any Mixture::made(Kind kind, std::size_t members) {
    switch (kind) {
        case Kind::logistic:
            return Logistic(members);
        case Kind::squared:
            return Squared(members);
        case Kind::classes:
            return Classes(members);
        default:
            return Other(members);
    }
}

Mixture::Mixture(Kind kind, std::size_t members) : kind_(kind), members_(checked(members)), of_(made(kind, members)) {}

void Mixture::combine(const Row& row, double* prediction) const {
    if (members_ == 1) {
        std::copy_n(row.members, row.heads, prediction);
        return;
    }
    std::visit([&](const auto& of) { of.combine(row, prediction); }, of_);
}

void Mixture::learn(const Row& row, double y, double weight, const double* losses) {
    if (members_ == 1 || !(weight > 0)) return;
    rows_ += 1.0;
    std::visit([&](auto& of) { of.learn(row, {y, weight, losses, rows_}); }, of_);
}

template <class Each>
void Mixture::numbers(Each each) {
    each(rows_);
    std::visit([&](auto& of) { of.numbers(each); }, of_);
}

void Mixture::restart() {
    std::visit([](auto& of) { of.restart(); }, of_);
    rows_ = 0;
}

std::vector<double> Mixture::save() const {
    std::vector<double> all = {static_cast<double>(kind_), static_cast<double>(members_)};
    Mixture copy = *this;
    copy.numbers([&](double& x) { all.push_back(x); });
    return all;
}

void Mixture::load(const std::vector<double>& numbers) {
    Mixture loaded(kind_, members_);
    std::size_t at = 2;
    bool sound = numbers.size() == loaded.save().size() && numbers[0] == static_cast<double>(kind_) &&
                 numbers[1] == static_cast<double>(members_);
    if (sound)
        loaded.numbers([&](double& x) {
            x = numbers[at++];
            sound = sound && is_finite(x);
        });
    sound = sound && loaded.rows_ >= 0 && std::visit([](const auto& of) { return of.sound(); }, loaded.of_);
    if (!sound) throw InputError("the state of the mixture is malformed");
    std::visit([&](auto& of) { of.set_weights(loaded.rows_ + 1.0); }, loaded.of_);
    *this = loaded;
}

}  // namespace unitless
