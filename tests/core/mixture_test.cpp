// The mixture of an ensemble alone: numbers of any size, powers of two, saving, one member, and the benefit of mixing.

#include "ensemble/mixture.hpp"

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
    std::vector<double> members, losses;
    double y, weight;
};

// Members with different errors; later members are worse.
struct Data {
    Kind kind;
    std::size_t members, heads;
    std::vector<Row> rows;

    Data(Kind of, std::size_t count, std::size_t n) : kind(of), members(count), heads(of == Kind::classes ? 4 : 1) {
        std::mt19937_64 random(count * 31 + n);
        std::normal_distribution<double> normal;
        for (std::size_t r = 0; r < n; ++r) {
            Row row{{}, {}, 0, r % 7 == 3 ? 0.0 : r % 5 == 1 ? 2.5 : 1.0};
            const double truth = normal(random);
            const auto label = random() % heads;
            row.y = kind == Kind::logistic  ? (truth > 0 ? 1.0 : -1.0)
                    : kind == Kind::classes ? static_cast<double>(label)
                                            : 10 + truth;
            for (std::size_t k = 0; k < members; ++k) {
                const double noise = 0.2 + 0.3 * static_cast<double>(k);
                for (std::size_t h = 0; h < heads; ++h) {
                    const double middle = kind == Kind::logistic  ? 2 * truth
                                          : kind == Kind::classes ? (h == label ? 1.0 : -1.0)
                                                                  : row.y;
                    row.members.push_back(middle + noise * normal(random));
                }
                row.losses.push_back(std::fabs(row.members.back() - row.y));
            }
            rows.push_back(row);
        }
    }

    // The predictions of all rows.
    std::vector<double> run(Mixture& mixture, double scale = 1) const {
        std::vector<double> all, prediction(heads);
        for (Row row : rows) {
            for (double& p : row.members) p *= scale;
            for (double& loss : row.losses) loss *= scale;
            const Mixture::Row of{row.members.data(), heads};
            mixture.combine(of, prediction.data());
            mixture.learn(of, row.y * scale, row.weight, row.losses.data());
            all.insert(all.end(), prediction.begin(), prediction.end());
        }
        return all;
    }
};

void saved_and_loaded(Kind kind, std::size_t members) {
    const Data data(kind, members, 60);
    Mixture whole(kind, members), loaded(kind, members);
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
    const auto predictions = data.run(plain);
    for (const int power : {-480, -3, 1, 480}) {
        Mixture scaled(kind, 3);
        auto expected = predictions;
        for (double& p : expected) p = std::ldexp(p, power);
        check(same_bits(expected, data.run(scaled, std::ldexp(1.0, power))), "powers of two change no other bit");
    }
}

void extremes(Kind kind, std::size_t members) {
    std::mt19937_64 random(members);
    const std::size_t heads = kind == Kind::classes ? 5 : 1;
    const double largest = kind == Kind::squared ? 1e150 : 1e300;
    const double sizes[] = {0, 1 / largest, 1e-9, 1, 30, 1e3, largest};
    const auto any = [&] { return sizes[random() % 7] * (random() % 2 ? 1 : -1); };
    Mixture mixture(kind, members);
    std::vector<double> p(members * heads), losses(members), prediction(heads);
    for (int r = 0; r < 2000; ++r) {
        for (double& x : p) x = any();
        for (double& x : losses) x = random() % 20 ? std::fabs(any()) : INFINITY;
        const double y = kind == Kind::logistic  ? (random() % 2 ? 1.0 : -1.0)
                         : kind == Kind::classes ? static_cast<double>(random() % heads)
                                                 : any();
        mixture.combine({p.data(), heads}, prediction.data());
        mixture.learn({p.data(), heads}, y, random() % 9 ? 1.0 : 1e6, losses.data());
        check(finite(prediction) && finite(mixture.save()), "all stays finite");
    }
}

void one_alone(Kind kind) {
    const Data data(kind, 1, 20);
    Mixture mixture(kind, 1);
    std::vector<double> own;
    for (const Row& row : data.rows) own.insert(own.end(), row.members.begin(), row.members.end());
    check(same_bits(own, data.run(mixture)), "the prediction of a member that is alone is passed on");
}

void better_than_its_parts() {
    std::mt19937_64 random(1);
    std::normal_distribution<double> normal;
    Mixture mixture(Kind::squared, 2);
    double mixed = 0, alone = 0;
    for (int r = 0; r < 1000; ++r) {
        const double a = normal(random), b = normal(random), p[2] = {2 * a + b, b}, y = a + b;
        double prediction = 0;
        mixture.combine({p, 1}, &prediction);
        mixture.learn({p, 1}, y, 1.0, nullptr);
        mixed += (prediction - y) * (prediction - y);
        alone += (b - y) * (b - y);
    }
    check(mixed < 0.05 * alone, "two halves of the truth are put together");
}

}  // namespace

int main() {
    for (const Kind kind : kinds) {
        for (const std::size_t members : {2, 3, 7}) {
            saved_and_loaded(kind, members);
            extremes(kind, members);
        }
        one_alone(kind);
    }
    powers_of_two(Kind::squared);
    powers_of_two(Kind::other);
    better_than_its_parts();
    std::printf("%d passed, %d failed\n", checks - failures, failures);
    return failures != 0;
}
