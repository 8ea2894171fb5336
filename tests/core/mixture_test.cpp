// The mixture of experts alone: numbers of any size, powers of two, saving, one expert, and what a mixture is for.

#include "engine/shapes/mixture.hpp"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "base/errors.hpp"

using namespace unitless;

namespace {

using Kind = Mixture::Kind;
constexpr Kind kinds[] = {Kind::logistic, Kind::squared, Kind::classes, Kind::other};

int checks = 0, failures = 0;

void check(bool condition, const char* what) {
    ++checks;
    if (condition) return;
    ++failures;
    std::printf("FAILED: %s\n", what);
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

bool finite(const std::vector<double>& all) {
    for (const double x : all)
        if (!std::isfinite(x)) return false;
    return true;
}

struct Row {
    std::vector<double> experts, losses;
    double y, weight;
};

// Experts that are wrong each in its way, the later ones more.
struct Data {
    Kind kind;
    std::size_t experts, heads;
    std::vector<Row> rows;

    Data(Kind of, std::size_t count, std::size_t n) : kind(of), experts(count), heads(of == Kind::classes ? 4 : 1) {
        std::mt19937_64 random(count * 31 + n);
        std::normal_distribution<double> normal;
        for (std::size_t r = 0; r < n; ++r) {
            Row row{{}, {}, 0, r % 7 == 3 ? 0.0 : r % 5 == 1 ? 2.5 : 1.0};
            const double truth = normal(random);
            const auto label = random() % heads;
            row.y = kind == Kind::logistic  ? (truth > 0 ? 1.0 : -1.0)
                    : kind == Kind::classes ? static_cast<double>(label)
                                            : 10 + truth;
            for (std::size_t k = 0; k < experts; ++k) {
                const double noise = 0.2 + 0.3 * static_cast<double>(k);
                for (std::size_t h = 0; h < heads; ++h) {
                    const double middle = kind == Kind::logistic  ? 2 * truth
                                          : kind == Kind::classes ? (h == label ? 1.0 : -1.0)
                                                                  : row.y;
                    row.experts.push_back(middle + noise * normal(random));
                }
                row.losses.push_back(std::fabs(row.experts.back() - row.y));
            }
            rows.push_back(row);
        }
    }

    // What is said of all rows.
    std::vector<double> run(Mixture& mixture, double scale = 1) const {
        std::vector<double> all, said(heads);
        for (Row row : rows) {
            for (double& p : row.experts) p *= scale;
            for (double& loss : row.losses) loss *= scale;
            mixture.say(row.experts.data(), heads, said.data());
            mixture.learn(row.experts.data(), heads, row.y * scale, row.weight, row.losses.data());
            all.insert(all.end(), said.begin(), said.end());
        }
        return all;
    }
};

void saved_and_loaded(Kind kind, std::size_t experts) {
    const Data data(kind, experts, 60);
    Mixture whole(kind, experts), loaded(kind, experts);
    data.run(whole);
    loaded.load(whole.save());
    check(same_bits(whole.save(), loaded.save()), "a loaded mixture is the saved one");
    check(same_bits(data.run(whole), data.run(loaded)), "a loaded mixture goes on as the saved one");
    auto state = whole.save();
    for (const auto& bad : {std::vector<double>(), std::vector<double>(state.size() - 1), [&] {
                                state[2] = std::nan("");
                                return state;
                            }()}) {
        bool refused = false;
        try {
            loaded.load(bad);
        } catch (const InputError&) {
            refused = true;
        }
        check(refused && same_bits(whole.save(), loaded.save()), "what is not a state is refused");
    }
}

void powers_of_two(Kind kind) {
    const Data data(kind, 3, 200);
    Mixture plain(kind, 3);
    const auto said = data.run(plain);
    for (const int power : {-480, -3, 1, 480}) {
        Mixture scaled(kind, 3);
        auto expected = said;
        for (double& p : expected) p = std::ldexp(p, power);
        check(same_bits(expected, data.run(scaled, std::ldexp(1.0, power))), "powers of two change no other bit");
    }
}

void extremes(Kind kind, std::size_t experts) {
    std::mt19937_64 random(experts);
    const std::size_t heads = kind == Kind::classes ? 5 : 1;
    const double largest = kind == Kind::squared ? 1e150 : 1e300;
    const double sizes[] = {0, 1 / largest, 1e-9, 1, 30, 1e3, largest};
    const auto any = [&] { return sizes[random() % 7] * (random() % 2 ? 1 : -1); };
    Mixture mixture(kind, experts);
    std::vector<double> p(experts * heads), losses(experts), said(heads);
    for (int r = 0; r < 2000; ++r) {
        for (double& x : p) x = any();
        for (double& x : losses) x = random() % 20 ? std::fabs(any()) : INFINITY;
        const double y = kind == Kind::logistic  ? (random() % 2 ? 1.0 : -1.0)
                         : kind == Kind::classes ? static_cast<double>(random() % heads)
                                                 : any();
        mixture.say(p.data(), heads, said.data());
        mixture.learn(p.data(), heads, y, random() % 9 ? 1.0 : 1e6, losses.data());
        check(finite(said) && finite(mixture.save()), "all stays finite");
    }
}

void one_alone(Kind kind) {
    const Data data(kind, 1, 20);
    Mixture mixture(kind, 1);
    std::vector<double> own;
    for (const Row& row : data.rows) own.insert(own.end(), row.experts.begin(), row.experts.end());
    check(same_bits(own, data.run(mixture)), "one expert speaks for itself");
}

void better_than_its_parts() {
    std::mt19937_64 random(1);
    std::normal_distribution<double> normal;
    Mixture mixture(Kind::squared, 2);
    double mixed = 0, alone = 0;
    for (int r = 0; r < 1000; ++r) {
        const double a = normal(random), b = normal(random), p[2] = {2 * a + b, b}, y = a + b;
        double said = 0;
        mixture.say(p, 1, &said);
        mixture.learn(p, 1, y, 1.0, nullptr);
        mixed += (said - y) * (said - y);
        alone += (b - y) * (b - y);
    }
    check(mixed < 0.05 * alone, "two halves of the truth are put together");
}

}  // namespace

int main() {
    for (const Kind kind : kinds) {
        for (const std::size_t experts : {2, 3, 8}) {
            saved_and_loaded(kind, experts);
            extremes(kind, experts);
        }
        one_alone(kind);
    }
    powers_of_two(Kind::squared);
    powers_of_two(Kind::other);
    better_than_its_parts();
    std::printf("%d passed, %d failed\n", checks - failures, failures);
    return failures != 0;
}
