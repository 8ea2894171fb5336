// Prints one digest per configuration of all bits of a learner: its predictions while it learns and afterwards, and its
// snapshot. The output must be the same for every instruction set, compiler and architecture.
//
//   digests            runs every kernel that this machine supports, prints the digests and fails where two differ
//   digests baseline   runs only this kernel
//
// Data comes from a fixed integer generator and exact arithmetic, never from the C or C++ library, whose functions
// differ between machines.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "calls.hpp"
#include "kinds.hpp"
#include "learner/snapshot_fields.hpp"
#include "supported_kernels.hpp"
#include "text/csv_table.hpp"
#include "text/libsvm_text.hpp"
#include "text/vw_text.hpp"

using namespace unitless;

namespace {

// 64-bit FNV-1a over numbers as eight bytes, lowest byte first.
class Digest {
  public:
    void add(std::uint64_t x) {
        for (int i = 0; i < 8; ++i) state_ = (state_ ^ ((x >> (8 * i)) & 0xff)) * 0x100000001b3U;
    }
    // The payload of NaN is not specified by IEEE 754 and differs between processors.
    void add(double x) { add(x == x ? std::bit_cast<std::uint64_t>(x) : std::uint64_t{0x7ff8} << 48); }
    void add(const std::string& text) {
        add(std::uint64_t{text.size()});
        for (const char c : text) add(std::uint64_t{static_cast<unsigned char>(c)});
    }
    template <class T>
    void add(const std::vector<T>& all) {
        add(std::uint64_t{all.size()});
        for (const T& one : all) {
            if constexpr (std::is_integral_v<T>) {
                add(static_cast<std::uint64_t>(one));
            } else {
                add(one);
            }
        }
    }
    std::uint64_t value() const { return state_; }

  private:
    std::uint64_t state_ = 0xcbf29ce484222325U;
};

// The digest of all fields of a snapshot, in the order of their list.
class FieldDigest {
  public:
    explicit FieldDigest(Digest& to) : to_(to) {}

    template <class Field>
    void operator()(const char* name, const Field& field, Sound sound) {
        if constexpr (is_optional<Field>) {
            if (field) (*this)(name, *field, sound);
        } else {
            for_each_number(field, [&](const auto& number) { to_.add(static_cast<double>(number)); });
        }
    }
    template <class Field>
    void extra(const char* name, const Field& field, Sound sound) {
        (*this)(name, field, sound);
    }
    template <class Part>
    void part(const char*, const std::optional<Part>& part, const char*) {
        if (part) visit_fields(*this, *part);
    }
    void members(const std::vector<MemberState>& all) {
        for (const MemberState& member : all) {
            to_.add(member.name);
            visit_fields(*this, member.state);
        }
    }

  private:
    Digest& to_;
};

void add(Digest& to, const Snapshot& from) {
    FieldDigest fields(to);
    visit_fields(fields, from);
    to.add(static_cast<std::uint64_t>(from.labels.negative));
    to.add(static_cast<std::uint64_t>(from.encoder.space));
    to.add(std::uint64_t{from.encoder.columns});
    to.add(from.encoder.names);
}

// A linear congruential generator; only its high bits are good.
class Integers {
  public:
    std::uint32_t next() {
        state_ = state_ * 6364136223846793005U + 1442695040888963407U;
        return static_cast<std::uint32_t>(state_ >> 33);
    }
    std::int32_t below(std::int32_t end) { return static_cast<std::int32_t>(next() % static_cast<std::uint32_t>(end)); }

  private:
    std::uint64_t state_ = 2013;
};

enum class Labeling { numbers, signs, counts, classes };

struct Data {
    static constexpr std::int32_t class_count = 5;
    std::size_t rows, columns;
    std::vector<double> x, y, weight, values;
    std::vector<float> x32;
    std::vector<std::int32_t> whole, indices, starts;
    std::vector<std::string> names;

    Data(std::size_t n, std::size_t d, Labeling labeling, bool wide) : rows(n), columns(d) {
        Integers random;
        starts.push_back(0);
        // Units are spread over many orders of magnitude, and not only by powers of two.
        constexpr std::array<double, 8> units{1e-9, 0.7, 3e5, 1.0, 1e-3, 1234.5, 9e11, 0.01};
        for (std::size_t j = 0; j < d; ++j) names.push_back("column " + std::to_string(j));
        for (std::size_t r = 0; r < n; ++r) {
            std::int32_t score = 0;
            for (std::size_t j = 0; j < d; ++j) {
                const std::int32_t plain = random.below(10) < 4 ? 0 : (random.below(2001) - 1000) * (2 * r > n ? 3 : 1);
                score += plain * (j % 2 ? 1 : -1);
                const double value = plain * (wide ? units[j % units.size()] : 1.0 / 1024);
                whole.push_back(plain);
                x.push_back(value);
                x32.push_back(static_cast<float>(value));
                if (plain == 0) continue;
                values.push_back(value);
                indices.push_back(static_cast<std::int32_t>(j));
            }
            starts.push_back(static_cast<std::int32_t>(values.size()));
            const bool positive = score > 0;
            const std::int32_t size = positive ? score : -score;
            y.push_back(labeling == Labeling::numbers  ? score / 300.0
                        : labeling == Labeling::signs  ? (positive ? 1 : -1)
                        : labeling == Labeling::counts ? size / 500
                                                       : size / 400 % class_count);
            weight.push_back(r % 7 == 3 ? 0.0 : (512 + random.below(1024)) / 1024.0);
        }
    }
};

enum class Input { dense, dense32, columns, compressed, named, table };
constexpr std::array<const char*, 6> input_names{"dense", "dense32", "columns", "compressed", "named", "table"};

// The rows [first, last) in the given kind of input.
class Rows {
  public:
    Rows(const Data& data, Input input, std::size_t first, std::size_t last)
        : data_(data), input_(input), first_(first), rows_(last - first) {
        const std::size_t d = data.columns;
        if (input == Input::compressed)
            for (std::size_t r = first; r <= last; ++r) starts_.push_back(data.starts[r] - data.starts[first]);
        if (input == Input::named) {
            for (const std::string& name : data.names) {
                named_.text.insert(named_.text.end(), name.begin(), name.end());
                named_.name_ends.push_back(named_.text.size());
            }
            for (std::size_t r = first; r < last; ++r) {
                for (std::size_t j = 0; j < d; ++j) {
                    if (data.x[r * d + j] == 0 && r > 0) continue;
                    named_.ids.push_back(static_cast<std::uint32_t>(j));
                    named_.values.push_back(data.x[r * d + j]);
                }
                named_.row_ends.push_back(named_.ids.size());
            }
        }
        if (input == Input::columns) {  // columns of integers, some of them booleans
            table_.rows = rows_;
            for (std::size_t j = 0; j < d; ++j) {
                TableColumn& column = table_.columns.emplace_back();
                column.name = data.names[j];
                column.numbers = {reinterpret_cast<const char*>(data.whole.data() + first * d + j),
                                  static_cast<std::ptrdiff_t>(4 * d), Type::i32, 0, j % 3 == 2};
            }
        }
        if (input == Input::table) {
            table_.rows = rows_;
            table_.missing = true;
            for (std::size_t r = first; r < last; ++r)
                codes_.push_back(data.whole[r * d] % 4 == 3 ? -1 : (data.whole[r * d] & 3) % 3);
            for (std::size_t j = 0; j < d; ++j) {
                TableColumn& column = table_.columns.emplace_back();
                column.name = data.names[j];
                column.numbers = {reinterpret_cast<const char*>(data.x.data() + first * d + j),
                                  static_cast<std::ptrdiff_t>(8 * d), Type::f64, 0};
            }
            TableColumn& text = table_.columns.emplace_back();
            text.name = "job";
            text.codes = codes_.data();
            text.text = "clerkpilotcook";
            text.ends = ends_.data();
            text.values = 3;
        }
    }
    Rows(const Rows&) = delete;

    void learn(Learner& learner, std::size_t new_classes, std::vector<double>& to) const {
        const Labels labels{data_.y.data() + first_, data_.weight.data() + first_, nullptr, new_classes};
        using unitless::learn;
        if (input_ == Input::compressed) return learn(learner, compressed(), labels, to);
        if (input_ == Input::named) return learn(learner, named_, labels, to);
        if (input_ == Input::table || input_ == Input::columns) return learn(learner, table_, labels, to);
        learn(learner, dense(), labels, to);
    }
    void predict(Learner& learner, bool extrapolate, std::vector<double>& to) const {
        using unitless::predict;
        if (input_ == Input::compressed) return predict(learner, compressed(), extrapolate, to);
        if (input_ == Input::named) return predict(learner, named_, extrapolate, to);
        if (input_ == Input::table || input_ == Input::columns) return predict(learner, table_, extrapolate, to);
        predict(learner, dense(), extrapolate, to);
    }

  private:
    const Data& data_;
    Input input_;
    std::size_t first_, rows_;
    std::vector<std::int32_t> starts_, codes_;
    std::array<std::int64_t, 4> ends_{0, 5, 10, 14};
    NamedRows named_;
    Table table_;

    DenseRows dense() const {
        const std::size_t d = data_.columns;
        if (input_ == Input::dense32)
            return {reinterpret_cast<const char*>(data_.x32.data() + first_ * d),
                    static_cast<std::ptrdiff_t>(4 * d),
                    Type::f32,
                    nullptr,
                    d,
                    rows_};
        return {reinterpret_cast<const char*>(data_.x.data() + first_ * d),
                static_cast<std::ptrdiff_t>(8 * d),
                Type::f64,
                nullptr,
                d,
                rows_};
    }
    SparseRows compressed() const {
        const auto at = static_cast<std::size_t>(data_.starts[first_]);
        return {data_.values.data() + at,
                data_.indices.data() + at,
                starts_.data(),
                false,
                rows_,
                data_.columns,
                static_cast<std::size_t>(starts_.back())};
    }
};

int refused = 0, diverged = 0;  // the numbers of runs that end early

// Learns in two calls, predicts, and restores a snapshot between them.
std::uint64_t run(const Kernel& kernel, const Setup& setup, const Data& data, Input input) {
    Digest digest;
    const std::size_t middle = data.rows / 3;
    const Rows first(data, input, 0, middle), second(data, input, middle, data.rows);
    std::vector<double> p(data.rows * 16);
    const auto take = [&](std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) digest.add(p[i]);
    };
    try {
        Learner learner(setup, kernel);
        const std::size_t joining = setup.engine.open ? static_cast<std::size_t>(Data::class_count) : 0;
        first.learn(learner, joining, p);
        take(middle * learner.widths().learn);
        const Snapshot snapshot = learner.snapshot();
        add(digest, snapshot);
        Learner restored(setup, kernel);
        restored.restore(snapshot);
        second.learn(restored, 0, p);
        take((data.rows - middle) * restored.widths().learn);
        add(digest, restored.snapshot());
        for (const bool extrapolate : {false, true}) {
            second.predict(restored, extrapolate, p);
            take((data.rows - middle) * restored.widths().predict);
        }
    } catch (const DivergedError& error) {  // at the same row on every machine
        ++diverged;
        digest.add(std::string(error.what()));
    } catch (const InputError& error) {  // invalid combinations are rejected with the same message
        ++refused;
        digest.add(std::string(error.what()));
    }
    return digest.value();
}

struct Configuration {
    std::string name;
    Setup setup;
    Labeling labeling;
    Input input;
    std::size_t rows, columns;
    bool wide;
};

enum class Width { single, sweep, follow, classes, joining };
constexpr std::array<const char*, 5> width_names{"single", "sweep", "follow", "classes", "joining"};
constexpr std::array<const char*, 4> pairs_names{"none", "all", "ordered", "listed"};

Configuration configuration(RuleKind rule, LossKind loss, Width width, bool center, bool target, Pairs pairs,
                            Input input) {
    Configuration to;
    to.name = std::string(name_of(rule)) + " " + facts_of(loss).name + " " +
              width_names[static_cast<std::size_t>(width)] + " center=" + (center ? "1" : "0") +
              " target=" + (target ? "1" : "0") + " pairs=" + pairs_names[static_cast<std::size_t>(pairs)] + " " +
              input_names[static_cast<std::size_t>(input)];
    Setup& setup = to.setup;
    setup.engine.options.rule = rule;
    setup.engine.options.loss = loss;
    setup.engine.options.learning_rate = 0.05;
    if (width == Width::sweep || width == Width::follow) {
        setup.engine.rates = {0.02, 0.1, 0.5, 2.0, 7.0};
        setup.engine.first_rate = width == Width::follow;
        setup.engine.last_rate = width == Width::follow ? 3 : 4;
        setup.engine.selecting = width == Width::follow ? Selecting::follow : Selecting::sweep;
    }
    const bool classes = width == Width::classes || width == Width::joining;
    if (width == Width::classes) setup.engine.classes = Data::class_count;
    setup.engine.open = width == Width::joining;
    setup.encoder.center = center;
    setup.label_unit = target;
    setup.encoder.pairs = pairs;
    if (pairs == Pairs::listed) {
        const bool named = input == Input::named || input == Input::table || input == Input::columns;
        const auto column = [&](std::int64_t j) {
            return named ? Selector{"column " + std::to_string(j), false, -1} : Selector{"", false, j};
        };
        setup.encoder.listed = {{{column(0)}, {column(1), column(2)}}, {{column(3)}, {column(3)}}};
    }
    to.labeling = classes                                                   ? Labeling::classes
                  : loss == loss_of("logistic") || loss == loss_of("hinge") ? Labeling::signs
                  : loss == loss_of("poisson")                              ? Labeling::counts
                                                                            : Labeling::numbers;
    to.input = input;
    to.rows = 40;
    to.columns = pairs == Pairs::none ? 11 : 5;
    to.wide = rule != rule_of("gd") && rule != rule_of("ag");
    return to;
}

std::vector<Configuration> configurations() {
    std::vector<Configuration> all;
    const auto inputs = {Input::dense, Input::dense32, Input::columns, Input::compressed, Input::named, Input::table};
    const auto widths = {Width::single, Width::sweep, Width::follow, Width::classes, Width::joining};
    const auto losses = {loss_of("squared"), loss_of("logistic"), loss_of("hinge"), loss_of("quantile"),
                         loss_of("poisson")};
    for (const auto rule : {rule_of("gd"), rule_of("ag"), rule_of("ng"), rule_of("nag"), rule_of("snag")})
        for (const auto loss : losses) {
            for (const auto width : widths)
                for (const bool center : {false, true})
                    for (const bool target : {false, true})
                        for (const auto pairs : {Pairs::none, Pairs::all, Pairs::ordered, Pairs::listed})
                            for (const auto input : inputs) {
                                const bool classes = width == Width::classes || width == Width::joining;
                                const bool number = loss == loss_of("squared") || loss == loss_of("quantile");
                                if (target && (classes || !number)) continue;
                                all.push_back(configuration(rule, loss, width, center, target, pairs, input));
                            }
            // Long enough for rates to be dropped; and each option of a single learner.
            Configuration dropping =
                configuration(rule, loss, Width::follow, false, false, Pairs::none, Input::compressed);
            dropping.name += " long";
            dropping.rows = 2600;
            all.push_back(dropping);
            for (const auto input : inputs) {
                const Configuration plain = configuration(rule, loss, Width::single, false, false, Pairs::none, input);
                const auto variant = [&](const char* name, auto change) {
                    Configuration& other = all.emplace_back(plain);
                    other.name += name;
                    change(other.setup, other);
                };
                variant(" order=vw", [](Setup& s, auto&) { s.engine.options.order = Order::vw; });
                variant(" clip=labels", [](Setup& s, auto&) { s.engine.options.clip = Clip::labels; });
                variant(" clip=vw", [](Setup& s, auto&) { s.engine.options.clip = Clip::vw; });
                variant(" importance_aware=0", [](Setup& s, auto&) { s.engine.options.importance_aware = false; });
                variant(" bias=0", [](Setup& s, auto&) { s.engine.options.bias = false; });
                variant(" schedule=constant", [](Setup& s, auto&) { s.engine.options.schedule = Schedule::constant; });
                variant(" quantile=0.9", [](Setup& s, auto&) { s.engine.options.quantile = 0.9; });
                variant(" bits=3", [](Setup& s, auto&) { s.encoder.bits = 3; });
                variant(" bits=3 pairs", [](Setup& s, auto&) { s.encoder = {.bits = 3, .pairs = Pairs::all}; });
                variant(" wide", [](Setup&, Configuration& c) { c.columns = 300; });
            }
        }
    return all;
}

// ------------------------------------------------------------------------------------------- readers of text

std::string decimal_text(Integers& random) {
    std::string text = random.below(2) ? "-" : "";
    for (int i = random.below(12); i >= 0; --i) text += static_cast<char>('0' + random.below(10));
    if (random.below(3)) text += ".";
    if (text.back() == '.')
        for (int i = random.below(12); i >= 0; --i) text += static_cast<char>('0' + random.below(10));
    if (random.below(4) == 0) text += "e" + std::to_string(random.below(80) - 40);
    return text;
}

std::uint64_t digest_of(const TextRows& rows) {
    Digest digest;
    for (std::size_t i = 0; i < rows.features.names(); ++i) digest.add(std::string(rows.features.name(i)));
    digest.add(rows.features.ids);
    digest.add(rows.features.values);
    digest.add(rows.features.row_ends);
    digest.add(rows.label);
    digest.add(rows.weight);
    digest.add(rows.line);
    for (const auto& bad : rows.bad) digest.add(bad.problem);
    return digest.value();
}

std::uint64_t vw_digest() {
    Integers random;
    std::string text;
    for (int row = 0; row < 500; ++row) {
        text += decimal_text(random) + (row % 5 ? " |a" : " 2 'tag|b:3");
        for (int i = random.below(20); i >= 0; --i) {
            text += " name_" + std::to_string(random.below(60));  // one number per statement, which fixes their order
            if (i % 3) text += ":" + decimal_text(random);
        }
        text += row % 50 == 7 ? " bad:value\n" : "\n";
    }
    return digest_of(VwReader().read(text.data(), text.size(), true));
}

std::uint64_t libsvm_digest() {
    Integers random;
    std::string text;
    for (int row = 0; row < 500; ++row) {
        text += decimal_text(random);
        for (int i = 1 + random.below(9); i < 90; i += 1 + random.below(9))
            text += " " + std::to_string(i) + ":" + decimal_text(random);
        text += row % 50 == 7 ? " 3:x\n" : row % 50 == 9 ? " # comment\n" : "\n";
    }
    return digest_of(LibsvmReader(false).read(text.data(), text.size(), true));
}

std::uint64_t csv_digest(bool quotes) {
    Integers random;
    std::string text;
    for (int row = 0; row < 500; ++row) {
        for (int j = 0; j < 20; ++j) text += std::to_string(random.below(j % 3 ? 10 : 100000)) + ",";
        for (int j = 0; j < 4; ++j) text += (random.below(20) ? decimal_text(random) : "NA") + ",";
        text += quotes && row % 3 == 0 ? "\"a \"\"b\"\", c\"," : "word" + std::to_string(random.below(30)) + ",";
        text += random.below(2) ? "true\n" : "0\r\n";
    }
    std::vector<CsvKind> kinds(24, CsvKind::number);
    kinds.push_back(CsvKind::text);
    kinds.push_back(CsvKind::boolean);
    const auto table = CsvReader(kinds, ',').read(text.data(), text.size());
    Digest digest;
    if (!table) {
        std::fprintf(stderr, "FAILED: the CSV reader refuses plain text\n");
        std::exit(1);
    }
    for (std::size_t i = 0; i < table->rows * table->number_count; ++i) digest.add(table->numbers[i]);
    for (const auto& column : table->texts) {
        digest.add(column.codes);
        digest.add(column.offsets);
        digest.add(std::string(column.text.begin(), column.text.end()));
    }
    return digest.value();
}

}  // namespace

int main(int count, char** arguments) {
    auto kernels = supported_kernels();
    if (count > 1) {
        std::erase_if(kernels, [&](const auto& kernel) { return std::strcmp(kernel.first, arguments[1]) != 0; });
        if (kernels.empty()) {
            std::fprintf(stderr, "This machine does not support the kernel %s.\n", arguments[1]);
            return 2;
        }
    }
    int failures = 0;
    Digest overall;
    const auto print = [&](const std::string& name, std::uint64_t digest) {
        std::printf("%016llx  %s\n", static_cast<unsigned long long>(digest), name.c_str());
        overall.add(digest);
    };
    const auto all = configurations();
    for (const auto& c : all) {
        const Data data(c.rows, c.columns, c.labeling, c.wide);
        const std::uint64_t digest = run(*kernels[0].second, c.setup, data, c.input);
        print(c.name, digest);
        for (std::size_t k = 1; k < kernels.size(); ++k) {
            if (run(*kernels[k].second, c.setup, data, c.input) == digest) continue;
            ++failures;
            std::fprintf(stderr, "FAILED: %s and %s differ: %s\n", kernels[0].first, kernels[k].first, c.name.c_str());
        }
    }
    print("text vw", vw_digest());
    print("text libsvm", libsvm_digest());
    print("text csv", csv_digest(false));
    print("text csv quoted", csv_digest(true));
    std::printf("%016llx  all\n", static_cast<unsigned long long>(overall.value()));
    std::fprintf(stderr, "%zu configurations of learners on", all.size());
    for (const auto& kernel : kernels) std::fprintf(stderr, " %s", kernel.first);
    std::fprintf(stderr, ": %d differ; of all runs %d diverge and %d are refused\n", failures, diverged, refused);
    return failures != 0;
}
