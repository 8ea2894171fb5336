// Model files, from the core's side: a snapshot that was tampered with is refused, or gives a learner that can be used.
//
// An input: a byte for the kind of learner, then changes to a good snapshot of it, of 11 bytes each: which part, which
// entry (2 bytes), and what to write there (8 bytes).

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "calls.hpp"
#include "kinds.hpp"
#include "learner/learner.hpp"
#include "require.hpp"

using namespace unitless;

namespace {

constexpr std::size_t rows = 12, columns = 4;

struct Data {
    std::vector<double> x, y;
    NamedRows named;
    explicit Data(bool classes) {
        std::uint64_t state = 3;
        for (std::size_t r = 0; r < rows; ++r) {
            for (std::size_t j = 0; j < columns; ++j) {
                state = state * 6364136223846793005U + 1442695040888963407U;
                x.push_back(static_cast<double>(state >> 60) - 7);
                named.ids.push_back(static_cast<std::uint32_t>(j));
                named.values.push_back(x.back());
            }
            named.row_ends.push_back(named.ids.size());
            y.push_back(static_cast<double>(classes ? r % 3 : r % 2));
        }
        for (std::size_t j = 0; j < columns; ++j) {
            named.text.push_back(static_cast<char>('a' + j));
            named.name_ends.push_back(j + 1);
        }
    }
    DenseRows dense() const {
        return {reinterpret_cast<const char*>(x.data()), 8 * columns, Type::f64, nullptr, columns, rows};
    }
};

Setup setup_of(std::uint8_t kind) {
    Setup setup;
    setup.engine.options.rule = static_cast<RuleKind>(kind % 5);
    setup.engine.options.loss = kind & 8 ? loss_of("logistic") : loss_of("squared");
    setup.engine.average = kind & 16;
    switch (kind / 32) {
        case 1:
            setup.engine.rates = {0.1, 0.5, 2.0};
            setup.engine.last_rate = 2;
            setup.engine.selecting = Selecting::sweep;
            break;
        case 2:
            setup.engine.rates = {0.1, 0.5, 2.0};
            setup.engine.last_rate = 2;
            setup.engine.selecting = Selecting::follow;
            setup.label_unit = !(kind & 8);
            break;
        case 3:
            setup.engine.classes = 3;
            break;
        case 4:
            setup.engine.open = true;
            break;
        case 5:
            setup.encoder.pairs = Pairs::all;
            break;
        case 6:
            setup.encoder.center = true;
            setup.encoder.pairs = kind & 16 ? Pairs::ordered : Pairs::none;
            break;
        case 7:
            setup.encoder.bits = 3;
            break;
        default:
            break;
    }
    return setup;
}

// Writes a number into a vector; an index beyond it changes the length.
template <class T>
void write(std::vector<T>& to, std::size_t at, std::uint64_t bits) {
    if (to.empty() || at % 16 == 15) {
        to.resize(bits % 64);
        return;
    }
    T& entry = to[at % to.size()];
    if constexpr (std::is_same_v<T, double>) {
        entry = std::bit_cast<double>(bits);
    } else if constexpr (std::is_integral_v<T>) {
        entry = static_cast<T>(bits);
    } else if constexpr (std::is_same_v<T, std::string>) {
        entry.assign(reinterpret_cast<const char*>(&bits), bits % 9);
    } else {
        // Structures of plain numbers: one of their words. What is an enumeration must stay one.
        static_assert(std::is_trivially_copyable_v<T>);
        if constexpr (std::is_same_v<T, Center::Column>) {
            (at & 64 ? entry.mean : entry.weight) = std::bit_cast<double>(bits);
            entry.offset = at & 128 ? Offset::removed : Offset::kept;
        } else {
            std::memcpy(reinterpret_cast<char*>(&entry) + (at / 64 * 4) % sizeof(T), &bits, 4);
        }
    }
}

void change(Snapshot& s, const std::uint8_t* d) {
    const std::size_t at = d[1] * 256u + d[2];
    std::uint64_t bits;
    std::memcpy(&bits, d + 3, 8);
    const double number = std::bit_cast<double>(bits);
    switch (d[0] % 18) {
        case 0:
            *std::array{&s.engine.clock.t, &s.engine.clock.T, &s.engine.clock.N, &s.engine.clock.label_min,
                        &s.engine.clock.label_max}[at % 5] = number;
            break;
        case 1:
            s.engine.clock.examples = bits;
            break;
        case 2:
            s.labels.negative = static_cast<NegativeLabel>(bits % 3);
            break;
        case 3:
            s.encoder.space = static_cast<Space>(bits % 3);  // hashing is a matter of the setup
            break;
        case 4:
            s.encoder.columns = bits % 5000;  // more than that only takes memory
            break;
        case 5:
            return write(s.encoder.names, at, bits);
        case 6:
            return write(s.engine.slots, at, bits % 64);
        case 7:
            return write(s.engine.scale, at, bits);
        case 8:
            return write(s.engine.v, at, bits);
        case 9:
            return write(s.engine.H, at, bits);
        case 10:
            return write(s.engine.lanes, at, bits);
        case 11:
            return write(s.engine.scores, at, bits);
        case 12:
            return write(s.engine.followed, at, bits);
        case 13:
            return write(s.engine.errors, at, bits);
        case 14:
            *std::array{&s.labels.unit.center, &s.labels.unit.weight, &s.labels.unit.sum,
                        &s.labels.unit.square}[at % 4] = number;
            s.labels.unit.started = at & 128;
            break;
        case 15:
            return write(s.encoder.products, at, bits % 64);
        case 16:
            return write(s.encoder.center_features, at, bits % 64);
        default:
            return write(s.encoder.center, at, bits);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 1 || size > 1 + 11 * 20) return 0;
    const Setup setup = setup_of(data[0]);
    const bool classes = setup.engine.has_classes(), by_name = data[0] % 3 == 0 && !setup.encoder.center;
    const Data given(classes);
    const Labels labels{given.y.data(), nullptr, nullptr, setup.engine.open ? std::size_t{3} : 0};
    std::vector<double> p(rows * 128);
    Learner learner(setup, kernel_baseline);
    by_name ? learn(learner, given.named, labels, p) : learn(learner, given.dense(), labels, p);
    Snapshot snapshot = learner.snapshot();
    for (std::size_t at = 1; at + 11 <= size; at += 11) change(snapshot, data + at);
    if (snapshot.encoder.center.size() != snapshot.encoder.center_features.size())
        return 0;  // the reader of files sees to this

    Learner restored(setup, kernel_baseline);
    try {
        restored.restore(snapshot);
    } catch (const InputError&) {
        return 0;
    }
    restored.snapshot();
    require(restored.widths().predict <= 128 && restored.bytes() > 0, "a restored model has a sensible size");
    const Labels more{given.y.data(), nullptr};
    const auto attempt = [](const auto& action) {
        try {
            action();
        } catch (const InputError&) {
        } catch (const DivergedError&) {
        }
    };
    attempt([&] { predict(restored, given.dense(), false, p); });
    attempt([&] { predict(restored, given.named, true, p); });
    attempt([&] { learn(restored, given.dense(), more, p); });
    attempt([&] { learn(restored, given.named, more, p); });
    restored.snapshot();
    return 0;
}
