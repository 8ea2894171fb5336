#include "engine/shapes/mixture.hpp"

#include <algorithm>

#include "base/errors.hpp"
#include "engine/certainty.hpp"

namespace unitless {
namespace {

constexpr double walks[stackers] = {0.0, 1e-5};       // of weights, in variance a row: logistic, classes
constexpr double forgetting[stackers] = {1.0, 16.0};  // h of squared

double log_odds(double p, double q) { return smaller(most_certain, larger(-most_certain, log(p / q))); }

double share(double t) { return smaller(0.5, 1.0 / t); }

std::size_t checked(std::size_t experts) {
    if (experts == 0 || experts > most_experts)
        throw InputError("a mixture has 1 to " + std::to_string(most_experts) + " experts, not " +
                         std::to_string(experts));
    return experts;
}

}  // namespace

// ---------------------------------------------------------------------------------------------------------- logistic

Mixture::Logistic::Logistic(std::size_t experts)
    : n(experts), stacker{{experts, walks[0]}, {experts, walks[1]}}, top(experts + stackers) {}

// The speakers' log odds, and the experts' as the stackers take them, without the offset.
void Mixture::Logistic::speak(const double* experts, double offset, double* x, double* score) const {
    constexpr double limit = LogisticStacker::limit;
    for (std::size_t k = 0; k < n; ++k) {
        score[k] = experts[k];
        x[k] = smaller(limit, larger(-limit, experts[k] - offset));
    }
    for (std::size_t i = 0; i < stackers; ++i) score[n + i] = stacker[i].say(x, offset);
}

void Mixture::Logistic::say(const double* experts, std::size_t, double* said, double offset) const {
    SmallVector x;
    Speakers score;
    speak(experts, offset, x.data(), score.data());
    double up = 0, down = 0;  // the probabilities of +1 and -1: one minus the other would lose digits
    for (std::size_t k = 0; k < n + stackers; ++k) {
        const double e = exp(-absolute(score[k])), likely = 1.0 / (1.0 + e), unlikely = e * likely;
        up += top.weights()[k] * (score[k] > 0 ? likely : unlikely);
        down += top.weights()[k] * (score[k] > 0 ? unlikely : likely);
    }
    *said = log_odds(up, down);
}

void Mixture::Logistic::learn(const double* experts, std::size_t, double y, double weight, const double*, double t,
                              double offset) {
    SmallVector x;
    Speakers score, p;
    speak(experts, offset, x.data(), score.data());
    for (std::size_t k = 0; k < n + stackers; ++k) p[k] = inverse_of_one_plus_exp(-y * score[k]);
    top.learn(p.data(), weight, share(t));
    for (LogisticStacker& one : stacker) one.learn(x.data(), y, weight, offset);
}

template <class Each>
void Mixture::Logistic::numbers(Each each) {
    for (LogisticStacker& one : stacker) one.numbers(each);
    top.numbers(each);
}
bool Mixture::Logistic::sound() const { return top.sound() && stacker[0].sound() && stacker[1].sound(); }

// ----------------------------------------------------------------------------------------------------------- squared

Mixture::Squared::Squared(std::size_t experts)
    : n(experts), stacker{{experts, forgetting[0]}, {experts, forgetting[1]}}, top(experts + stackers) {}

// The experts' mean; x: what they are above it; said: what all speakers say. Relative to the first one the mean of
// equal numbers is that number.
double Mixture::Squared::speak(const double* experts, double* x, double* said) const {
    double sum = 0;
    for (std::size_t k = 1; k < n; ++k) sum += experts[k] - experts[0];
    const double mean = experts[0] + sum / static_cast<double>(n);
    for (std::size_t k = 0; k < n; ++k) {
        said[k] = experts[k];
        x[k] = experts[k] - mean;
    }
    for (std::size_t i = 0; i < stackers; ++i) {
        said[n + i] = mean + stacker[i].say(x);
        if (low <= high) said[n + i] = smaller(high, larger(low, said[n + i]));
    }
    return mean;
}

void Mixture::Squared::say(const double* experts, std::size_t, double* said, double) const {
    SmallVector x;
    Speakers all;
    const double mean = speak(experts, x.data(), all.data());
    double above = 0;
    for (std::size_t k = 0; k < n + stackers; ++k) above += top.weights()[k] * (all[k] - mean);
    *said = mean + above;
}

void Mixture::Squared::learn(const double* experts, std::size_t, double y, double weight, const double*, double t,
                             double) {
    SmallVector x{};
    Speakers error{};
    double label = 0;
    if (low <= high) {
        label = y - speak(experts, x.data(), error.data());
        double largest = 0;
        for (std::size_t k = 0; k < n + stackers; ++k) largest = larger(largest, absolute(error[k] -= y));
        const double ratio = unit.reach(largest), inverse = unit.inverse();
        if (ratio != 1.0) {
            for (SquaredStacker& one : stacker) one.change_unit(ratio * ratio);
            top.change_unit(ratio * ratio);
        }
        label *= inverse;
        for (std::size_t k = 0; k < n; ++k) x[k] *= inverse;
        for (std::size_t k = 0; k < n + stackers; ++k) error[k] *= inverse;
    }  // else the experts are taken to have said y
    Speakers loss;
    for (std::size_t k = 0; k < n + stackers; ++k) loss[k] = weight * (error[k] * error[k]);
    top.learn(loss.data(), t);
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
    top.numbers(each);
}
bool Mixture::Squared::sound() const { return unit.sound() && top.sound() && stacker[0].sound() && stacker[1].sound(); }
void Mixture::Squared::ready(double t) {
    for (SquaredStacker& one : stacker) one.ready();
    top.ready(t);
}

// ----------------------------------------------------------------------------------------------------------- classes

Mixture::Classes::Classes(std::size_t experts)
    : n(experts), stacker{{experts, walks[0]}, {experts, walks[1]}}, top(experts + stackers) {}

// What a row's speakers say, in memory of this thread that is kept for the next row.
struct Mixture::Classes::Row {
    double* x;      // [class][expert]: the log probabilities as the stackers take them
    double* p;      // [speaker][class]: probabilities
    double* spare;  // [class]

    Row(std::size_t experts, std::size_t classes) {
        static thread_local std::vector<double> memory;
        const std::size_t count = (experts + experts + stackers + 1) * classes;
        if (memory.size() < count) memory.resize(count);
        x = memory.data();
        p = x + experts * classes;
        spare = p + (experts + stackers) * classes;
    }
};

Mixture::Classes::Row Mixture::Classes::speak(const double* experts, std::size_t heads) const {
    constexpr double least = -30.0;
    Row row(n, heads);
    for (std::size_t k = 0; k < n; ++k) {
        const double* const score = experts + k * heads;
        double* const p = row.p + k * heads;
        double sum = 0;
        for (std::size_t c = 0; c < heads; ++c) sum += p[c] = inverse_of_one_plus_exp(-score[c]);
        for (std::size_t c = 0; c < heads; ++c) {
            p[c] = sum > 0 ? p[c] / sum : 1.0 / static_cast<double>(heads);
            row.x[c * n + k] = larger(least, log(p[c]));
        }
    }
    for (std::size_t i = 0; i < stackers; ++i) stacker[i].say(row.x, heads, row.p + (n + i) * heads);
    return row;
}

void Mixture::Classes::say(const double* experts, std::size_t heads, double* said, double) const {
    const Row row = speak(experts, heads);
    std::size_t first = 0;
    for (std::size_t c = 0; c < heads; ++c) {
        double p = 0;
        for (std::size_t k = 0; k < n + stackers; ++k) p += top.weights()[k] * row.p[k * heads + c];
        row.spare[c] = p;
        if (p > row.spare[first]) first = c;
    }
    double rest = 0;  // of the likeliest: 1 minus its probability would lose digits
    for (std::size_t c = 0; c < heads; ++c)
        if (c != first) rest += row.spare[c];
    for (std::size_t c = 0; c < heads; ++c) said[c] = log_odds(row.spare[c], c == first ? rest : 1.0 - row.spare[c]);
}

void Mixture::Classes::learn(const double* experts, std::size_t heads, double y, double weight, const double*, double t,
                             double) {
    if (!(y >= 0 && y < static_cast<double>(heads))) return;  // a class that no expert has heard of
    const auto label = static_cast<std::size_t>(y);
    const Row row = speak(experts, heads);
    Speakers p;
    for (std::size_t k = 0; k < n + stackers; ++k) p[k] = row.p[k * heads + label];
    top.learn(p.data(), weight, share(t));
    for (ClassStacker& one : stacker) one.learn(row.x, heads, label, weight, row.spare);
}

template <class Each>
void Mixture::Classes::numbers(Each each) {
    for (ClassStacker& one : stacker) one.numbers(each);
    top.numbers(each);
}
bool Mixture::Classes::sound() const { return top.sound() && stacker[0].sound() && stacker[1].sound(); }

// ------------------------------------------------------------------------------------------------------------- other

Mixture::Other::Other(std::size_t experts) : n(experts), top(experts) {}

void Mixture::Other::say(const double* experts, std::size_t heads, double* said, double) const {
    for (std::size_t h = 0; h < heads; ++h) {
        double above = 0;
        for (std::size_t k = 1; k < n; ++k) above += top.weights()[k] * (experts[k * heads + h] - experts[h]);
        said[h] = experts[h] + above;
    }
}

void Mixture::Other::learn(const double*, std::size_t, double, double weight, const double* losses, double t, double) {
    Speakers loss;
    double largest = 0;
    for (std::size_t k = 0; k < n; ++k) {
        loss[k] = losses[k] < __DBL_MAX__ ? larger(0.0, losses[k]) : __DBL_MAX__;  // a loss may be beyond all numbers
        largest = larger(largest, loss[k]);
    }
    const double ratio = unit.reach(largest), inverse = unit.inverse();
    if (ratio != 1.0) top.change_unit(ratio);
    for (std::size_t k = 0; k < n; ++k) loss[k] = weight * (loss[k] * inverse);
    top.learn(loss.data(), t);
}

template <class Each>
void Mixture::Other::numbers(Each each) {
    unit.numbers(each);
    top.numbers(each);
}
bool Mixture::Other::sound() const { return unit.sound() && top.sound(); }
void Mixture::Other::ready(double t) { top.ready(t); }

// ----------------------------------------------------------------------------------------------------------- mixture

Mixture::Any Mixture::made(Kind kind, std::size_t experts) {
    switch (kind) {
        case Kind::logistic:
            return Logistic(experts);
        case Kind::squared:
            return Squared(experts);
        case Kind::classes:
            return Classes(experts);
        default:
            return Other(experts);
    }
}

Mixture::Mixture(Kind kind, std::size_t experts) : kind_(kind), experts_(checked(experts)), of_(made(kind, experts)) {}

void Mixture::say(const double* experts, std::size_t heads, double* said, double offset) const {
    if (experts_ == 1) {
        std::copy_n(experts, heads, said);
        return;
    }
    std::visit([&](const auto& of) { of.say(experts, heads, said, offset); }, of_);
}

void Mixture::learn(const double* experts, std::size_t heads, double y, double weight, const double* losses,
                    double offset) {
    if (experts_ == 1 || !(weight > 0)) return;
    rows_ += 1.0;
    std::visit([&](auto& of) { of.learn(experts, heads, y, weight, losses, rows_, offset); }, of_);
}

template <class Each>
void Mixture::numbers(Each each) {
    each(rows_);
    std::visit([&](auto& of) { of.numbers(each); }, of_);
}

std::vector<double> Mixture::save() const {
    std::vector<double> all = {static_cast<double>(kind_), static_cast<double>(experts_)};
    Mixture copy = *this;
    copy.numbers([&](double& x) { all.push_back(x); });
    return all;
}

void Mixture::load(const std::vector<double>& numbers) {
    Mixture loaded(kind_, experts_);
    std::size_t at = 2;
    bool sound = numbers.size() == loaded.save().size() && numbers[0] == static_cast<double>(kind_) &&
                 numbers[1] == static_cast<double>(experts_);
    if (sound)
        loaded.numbers([&](double& x) {
            x = numbers[at++];
            sound = sound && is_finite(x);
        });
    sound = sound && loaded.rows_ >= 0 && std::visit([](const auto& of) { return of.sound(); }, loaded.of_);
    if (!sound) throw InputError("the state of the mixture of experts is malformed");
    std::visit([&](auto& of) { of.ready(loaded.rows_ + 1.0); }, loaded.of_);
    *this = loaded;
}

}  // namespace unitless
