// The core alone: every rule, loss and kernel over dense, sparse and named input, with values from the ends of the
// floating-point range, odd sizes, invalid input and divergence. Checks that all kinds of input give the same bits.

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "calls.hpp"
#include "encoding/word_counts.hpp"
#include "kinds.hpp"
#include "learner/learner.hpp"
#include "rows/ngrams.hpp"
#include "rows/words.hpp"
#include "simd/vec8.hpp"
#include "supported_kernels.hpp"

using namespace unitless;

namespace {

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

struct Data {
    std::size_t rows, columns;
    std::vector<double> x, y, weight;
    // The same data as compressed sparse rows, and as columns.
    std::vector<double> values;
    std::vector<std::int32_t> indices, starts;

    Data(std::size_t n, std::size_t d, LossKind loss, double spread) : rows(n), columns(d), x(n * d), y(n), weight(n) {
        std::mt19937_64 random(n * 31 + d);
        std::normal_distribution<double> normal;
        std::uniform_real_distribution<double> uniform;
        starts.push_back(0);
        for (std::size_t r = 0; r < n; ++r) {
            double score = 0;
            for (std::size_t j = 0; j < d; ++j) {
                const double plain = uniform(random) < 0.4 ? 0.0 : normal(random) * (r > n / 2 ? 3.0 : 1.0);
                score += plain * (j % 2 ? 1 : -1);
                const double value = plain * std::pow(10.0, spread * (2.0 * double(j) / double(d) - 1));
                x[r * d + j] = value;
                if (value != 0) {
                    values.push_back(value);
                    indices.push_back(static_cast<std::int32_t>(j));
                }
            }
            starts.push_back(static_cast<std::int32_t>(values.size()));
            const bool classes = loss == loss_of("logistic") || loss == loss_of("hinge");
            y[r] = classes ? (score > 0 ? 1 : -1) : loss == loss_of("poisson") ? std::floor(std::fabs(score)) : score;
            weight[r] = r % 7 == 3 ? 0.0 : 0.5 + uniform(random);
        }
    }

    DenseRows dense() const {
        return {reinterpret_cast<const char*>(x.data()),
                static_cast<std::ptrdiff_t>(columns * 8),
                Type::f64,
                nullptr,
                columns,
                rows};
    }
    SparseRows compressed() const {
        return {values.data(), indices.data(), starts.data(), false, rows, columns, values.size()};
    }
    Labels labels() const { return {y.data(), weight.data()}; }
};

// Learns rows of names, one at a time.
std::vector<double> named(Learner& m, const Data& data) {
    NamedRows row;
    for (std::size_t j = 0; j < data.columns; ++j) {
        const std::string name = "feature " + std::to_string(j);
        row.text.insert(row.text.end(), name.begin(), name.end());
        row.name_ends.push_back(row.text.size());
        row.ids.push_back(static_cast<std::uint32_t>(j));
    }
    row.row_ends = {data.columns};
    std::vector<double> predictions, one;
    for (std::size_t r = 0; r < data.rows; ++r) {
        row.values.assign(data.x.data() + r * data.columns, data.x.data() + (r + 1) * data.columns);
        learn(m, row, Labels{&data.y[r], &data.weight[r]}, one);
        predictions.insert(predictions.end(), one.begin(), one.end());
    }
    return predictions;
}

Setup with_options(const Options& options) {
    Setup setup;
    setup.engine.options = options;
    return setup;
}

void all_ways_agree(const Kernel& kernel, const Setup& setup, const Data& data) {
    Learner dense(setup, kernel), sparse(setup, kernel), names(setup, kernel), frame(setup, kernel);
    const std::size_t size = data.rows * dense.widths().learn;
    std::vector<double> a(size), b(size), c(size), d(size);
    try {
        learn(dense, data.dense(), data.labels(), a);
    } catch (const DivergedError&) {
        return;  // plain steps may diverge; the Python tests check the state after that
    }
    Table table{{}, data.rows};
    for (std::size_t j = 0; j < data.columns; ++j) {
        TableColumn& column = table.columns.emplace_back();
        column.name = std::to_string(j);
        column.numbers = {reinterpret_cast<const char*>(data.x.data() + j),
                          static_cast<std::ptrdiff_t>(data.columns * 8), Type::f64, 0};
    }
    learn(frame, table, data.labels(), d);
    check(same_bits(a, d), "dense = frame");
    if (!setup.encoder.center) {  // sparse features are not centered
        learn(sparse, data.compressed(), data.labels(), b);
        c = named(names, data);
        check(same_bits(a, b), "dense = sparse");
        check(same_bits(a, c), "dense = named");
    }
    a.assign(data.rows * dense.widths().predict, 0.0);
    b = a;
    for (const bool extrapolate : {false, true}) {
        predict(dense, data.dense(), extrapolate, a);
        predict(setup.encoder.center ? dense : sparse, data.compressed(), extrapolate, b);
        check(same_bits(a, b), "dense = sparse when predicting");
    }
    Learner copy(setup, kernel);
    copy.restore(dense.snapshot());
    predict(copy, data.dense(), false, a);
    predict(dense, data.dense(), false, b);
    check(same_bits(a, b), "a restored learner is the same");
    if (!setup.engine.average) return;
    check(same_bits(dense.snapshot().engine.average, frame.snapshot().engine.average), "dense = frame on average");
    if (!setup.encoder.center) {
        check(same_bits(dense.snapshot().engine.average, sparse.snapshot().engine.average),
              "dense = sparse on average");
        check(same_bits(dense.snapshot().engine.average, names.snapshot().engine.average), "dense = named on average");
    }
    for (Learner* learner : {&dense, &sparse, &copy}) learner->keep_average(true);
    for (const bool extrapolate : {false, true}) {
        predict(dense, data.dense(), extrapolate, a);
        predict(setup.encoder.center ? copy : sparse, data.compressed(), extrapolate, b);
        check(same_bits(a, b), "dense = sparse when the average predicts");
    }
    copy.restore(dense.snapshot());
    check(copy.keeps_average(), "what is kept is restored");
}

// Tests lanes, classes, interactions, centering, targets.
void beyond_one_learner(const Kernel& kernel) {
    const std::vector<double> rates{0.02, 0.1, 0.5, 2.0, 7.0};
    for (const auto rule : {rule_of("ng"), rule_of("nag"), rule_of("snag")}) {
        for (const auto loss : {loss_of("squared"), loss_of("logistic"), loss_of("poisson")}) {
            for (const auto pairs : {Pairs::none, Pairs::all, Pairs::ordered}) {
                for (const bool center : {false, true}) {
                    Setup setup;
                    setup.engine.options.rule = rule;
                    setup.engine.options.loss = loss;
                    setup.engine.rates = rates;
                    setup.engine.last_rate = 4;
                    setup.engine.selecting = Selecting::sweep;
                    setup.encoder.pairs = pairs;
                    setup.encoder.center = center;
                    setup.engine.average = pairs != Pairs::ordered;
                    setup.label_unit = loss == loss_of("squared");
                    all_ways_agree(kernel, setup, Data(40, 6, loss, 3));
                    setup.engine.selecting = Selecting::follow;
                    setup.engine.first_rate = 1;
                    setup.engine.last_rate = 3;
                    all_ways_agree(kernel, setup, Data(pairs == Pairs::none ? 2600 : 90, 6, loss, 3));
                    Data classes(60, 5, loss_of("squared"), 3);
                    for (std::size_t r = 0; r < classes.rows; ++r) classes.y[r] = static_cast<double>(r * r % 11);
                    setup.label_unit = false;
                    setup.engine.classes = 11;
                    all_ways_agree(kernel, setup, classes);
                }
            }
        }
    }
    Setup open;
    open.engine.options.loss = loss_of("logistic");
    open.engine.open = true;
    Learner growing(open, kernel);
    Data data(40, 4, loss_of("squared"), 2);
    for (std::size_t r = 0; r < data.rows; ++r) data.y[r] = static_cast<double>(r / 20);
    std::vector<double> p(80);
    learn(growing, data.dense(), {data.y.data(), nullptr, nullptr, 2}, p);
    check(growing.widths().predict == 2, "classes join");
}

void bad_input(const Kernel& kernel) {
    Data data(50, 5, loss_of("squared"), 2);
    Learner m(Setup{}, kernel);
    std::vector<double> p(50);
    learn(m, data.dense(), data.labels(), p);
    const Snapshot before = m.snapshot();
    const auto refused = [&](const auto& action) {
        try {
            action();
        } catch (const InputError&) {
            check(m.snapshot().engine.v == before.engine.v &&
                      m.snapshot().engine.clock.examples == before.engine.clock.examples,
                  "a refused call changes nothing");
            return;
        }
        check(false, "bad input is refused");
    };
    Data worse = data;
    worse.x[49 * 5 + 4] = std::numeric_limits<double>::quiet_NaN();
    worse.values.back() = std::numeric_limits<double>::infinity();
    refused([&] { learn(m, worse.dense(), worse.labels(), p); });
    refused([&] { learn(m, worse.compressed(), worse.labels(), p); });
    worse = data;
    worse.indices[3] = 77;
    refused([&] { learn(m, worse.compressed(), worse.labels(), p); });
    worse = data;
    worse.starts[3] = -5;
    refused([&] { learn(m, worse.compressed(), worse.labels(), p); });
    worse = data;
    worse.y[7] = std::numeric_limits<double>::infinity();
    refused([&] { learn(m, worse.dense(), worse.labels(), p); });
}

void inverse_roots() {
    double worst = 0;
    for (int i = 0; i < 100000; ++i) {
        const double x = 1 + 3 * (i / 1e5);
        worst = std::fmax(worst, std::fabs(inverse_root(x) * std::sqrt(x) - 1));
    }
    check(worst < 1e-13, "1/sqrt to 1e-13");
    check(inverse_root(0.0) == 0, "1/sqrt of 0 is 0: no step");
}

void hashed(const Kernel& kernel) {
    Data data(80, 40, loss_of("squared"), 3);
    Setup setup;
    setup.encoder.bits = 4;
    for (const auto pairs : {Pairs::none, Pairs::all}) {
        setup.encoder.pairs = pairs;
        Learner a(setup, kernel), b(setup, kernel);
        std::vector<double> p(80), q(80);
        learn(a, data.dense(), data.labels(), p);
        learn(b, data.compressed(), data.labels(), q);
        check(same_bits(p, q), "hashed columns, dense = sparse");
        named(a, data);
    }
}

void words() {
    Words text;
    text.read("A film: NOT great_2, x 42 don't");
    std::string found;
    for (std::size_t i = 0; i < text.count(); ++i) found.append(text.word(i)).append(1, '|');
    for (std::size_t i = 0; i + 1 < text.count(); ++i) found.append(text.pair(i)).append(1, '|');
    check(found == "film|not|great_2|42|don|film not|not great_2|great_2 42|42 don|", "words and pairs");
    text.read("a ?");
    check(text.count() == 0, "no words");

    std::vector<std::string> names{"c=#7", "d=one", "cc=two"};
    WordCounts counts;
    for (std::size_t k = 0; k + 1 < WordCounts::most; ++k) names.push_back("c=" + std::to_string(k));
    check(!counts.full("c=", names), "one name is left");
    names.push_back("c=last");
    check(counts.full("c=", names) && !counts.full("d=", names), "all names are given");
    counts.rewind(names.size() - 1, names);
    names.pop_back();
    check(!counts.full("c=", names), "a name was taken back");
    names.push_back("d=more");
    check(!counts.full("c=", names), "names of other columns do not count");
    names.push_back("c=last");
    check(counts.full("c=", names), "all names are given again");
}

void ngrams() {
    Ngrams ngrams;
    const auto found = [&](std::string_view text) {
        std::string all;
        ngrams.read(text, [&](std::string_view ngram) { all.append(ngram).append(1, '|'); });
        return all;
    };
    check(found(" A \t") == "<a|a>|<a>|", "n-grams of one letter");
    check(found("Ab\nc") == "<a|ab|b>|<ab|ab>|<ab>|<c|c>|<c>|", "n-grams of two words");
    check(found("abcd") == "<a|ab|bc|cd|d>|<ab|abc|bcd|cd>|<abc|abcd|bcd>|<abcd|abcd>|<abcd>|", "n-grams and the word");
    check(found("\xc3\xa9t") == "<\xc3\xa9|\xc3\xa9t|t>|<\xc3\xa9t|\xc3\xa9t>|<\xc3\xa9t>|", "letters of two bytes");
    check(found(" ").empty() && found("").empty(), "no n-grams");
    check(!WordCounts::may_be_own("#12") && WordCounts::may_be_own("1#2"), "names that shared features have");
}

}  // namespace

int main() {
    inverse_roots();
    words();
    ngrams();
    for (const auto& [name, kernel] : supported_kernels()) {
        for (const auto rule : {rule_of("gd"), rule_of("ag"), rule_of("ng"), rule_of("nag"), rule_of("snag")}) {
            const bool unscaled = rule == rule_of("gd") || rule == rule_of("ag");
            for (const auto loss :
                 {loss_of("squared"), loss_of("logistic"), loss_of("hinge"), loss_of("quantile"), loss_of("poisson")}) {
                for (const bool aware : {true, false}) {
                    for (const auto order : {Order::paper, Order::vw}) {
                        Options options;
                        options.rule = rule;
                        options.loss = loss;
                        options.importance_aware = aware;
                        options.order = order;
                        options.clip = loss == loss_of("squared") ? Clip::labels : Clip::none;
                        options.learning_rate = 0.05;
                        options.bias = aware;
                        for (const std::size_t columns : {1, 7, 8, 9, 30}) {
                            Setup setup = with_options(options);
                            setup.engine.average = columns != 7;
                            all_ways_agree(*kernel, setup, Data(40, columns, loss, unscaled ? 0 : 100));
                        }
                    }
                }
            }
        }
        all_ways_agree(*kernel, Setup{}, Data(30, 3, loss_of("squared"), 305));
        all_ways_agree(*kernel, Setup{}, Data(3, 3000, loss_of("squared"), 10));
        beyond_one_learner(*kernel);
        bad_input(*kernel);
        hashed(*kernel);
    }
    std::printf("%d passed, %d failed\n", checks - failures, failures);
    return failures != 0;
}
